#!/usr/bin/env bash
# Guess:   sentencepiece trains on all the lines that it is given; or it skips those of more than max_sentence_length =
#          4192 letters.
# Fact:    it skips lines of more than 4192 bytes. A Bangla letter has three: a paragraph of 1,700 letters is left out,
#          where one of 4,000 in English is used. Only the log says so, and training goes on with what remains.
# Matters: notebook 02 compares what a vocabulary costs by language, on English, Igbo and Bangla. Trained on paragraphs,
#          the Bangla part would be missing first, and the comparison would blame the script.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check sentencepiece==0.2.3 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import io
from importlib.metadata import version

import sentencepiece

print("sentencepiece", version("sentencepiece"))
def train(lines, **settings):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, hard_vocab_limit=False, minloglevel=2, **settings
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


for name, text in (("English", "the mother cooks rice in the house "), ("Bangla", "মা ঘরে ভাত রান্না করছেন ")):
    for length in (1_300, 1_700, 4_000):
        line = (text * 200)[:length]
        model = train([line] * 3 + ["x"] * 3, vocab_size=60, model_type="bpe", character_coverage=1.0)
        print(f"{name}, lines of {length}: {'used' if model.unk_id() not in model.encode(text) else 'skipped'}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'English, lines of 4000: used' "$folder/said"
grep -qxF 'Bangla, lines of 1300: used' "$folder/said"
grep -qxF 'Bangla, lines of 1700: skipped' "$folder/said"
grep -qxF 'Bangla, lines of 4000: skipped' "$folder/said"
