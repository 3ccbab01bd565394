#!/usr/bin/env bash
# Guess:   sentencepiece gives back the text that it was given: "lossless", but for spaces; and its NFKC, like NFC,
#          composes letters.
# Fact:    Bangla's য়, ড় and ঢ় as single code points come back as two each, in NFC too: they are excluded from
#          composition. The text looks the same, is longer, and is not equal. Igbo's letters are composed: other code
#          points there, too.
# Matters: notebook 11 compares strings and n-grams, and its Bangla comes from keyboards that write either form.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check sentencepiece==0.2.3 tokenizers==0.23.3 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import io
from importlib.metadata import version
import unicodedata

import sentencepiece

print("sentencepiece", version("sentencepiece"))
from tokenizers.normalizers import NFC
def train(lines, **settings):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, hard_vocab_limit=False, minloglevel=2, **settings
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


for name, text in (("Bangla", "মেয়েটি পড়ে গাঢ়"), ("Igbo", "ụlọ ọma")):
    given = text
    for single in "\u09df\u09dc\u09dd":
        given = given.replace(unicodedata.normalize("NFC", single), single)
    if name == "Igbo":
        given = unicodedata.normalize("NFD", text)
    model = train([given] * 20, vocab_size=60, model_type="bpe", character_coverage=1.0)
    back = model.decode(model.encode(given))
    print(f"{name}: {len(given)} code points, back {len(back)}, NFC of tokenizers {len(NFC().normalize_str(given))}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'Bangla: 14 code points, back 17, NFC of tokenizers 17' "$folder/said"
grep -qxF 'Igbo: 10 code points, back 7, NFC of tokenizers 7' "$folder/said"
