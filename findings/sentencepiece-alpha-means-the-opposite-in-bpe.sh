#!/usr/bin/env bash
# Guess:   the alpha of sampling, in encode(..., enable_sampling=True, alpha=...), means more or less chance alike for
#          all kinds of model.
# Fact:    for BPE it is the share of merges that are left out: 0 is the usual text, 1 is single letters. For Unigram it
#          is an inverse temperature: 0 takes all ways to cut alike, and a large one is the usual text.
# Matters: notebook 02 trains both kinds' ideas on one text; a setting that is copied from one to the other turns a
#          little noise into letters.
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


sentencepiece.set_random_generator_seed(0)
text = "Nne m na-esi nri ụtụtụ. Ụmụaka na-agụ akwụkwọ n'ụlọ. Anyị ga-aga ahịa echi."
for kind in ("bpe", "unigram"):
    model = train([text] * 20, vocab_size=80, model_type=kind)
    usual = model.encode(text, out_type=str)
    for alpha in (0.0, 1.0, 100.0) if kind == "unigram" else (0.0, 1.0):
        given = {"out_type": str, "enable_sampling": True, "alpha": alpha, "nbest_size": -1}
        draws = [model.encode(text, **given) for _ in range(20)]
        same = all(len(pieces) == len(usual) for pieces in draws)
        letters = all(len(piece.replace("▁", "")) < 2 for pieces in draws for piece in pieces)
        print(f"{kind}, alpha={alpha:g}: {'as usual' if same else 'single letters' if letters else 'other pieces'}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'bpe, alpha=0: as usual' "$folder/said"
grep -qxF 'bpe, alpha=1: single letters' "$folder/said"
grep -qxF 'unigram, alpha=0: other pieces' "$folder/said"
grep -qxF 'unigram, alpha=100: as usual' "$folder/said"
