#!/usr/bin/env bash
# Guess:   with the same n-grams of letters and the same beta, three libraries give one chrF for a corpus, as they sum
#          counts for BLEU.
# Fact:    50, 86 and 97 for a right sentence of 24 letters and a wrong one of 6. nltk, whose corpus_bleu sums counts,
#          takes the mean of the sentences here. sacrebleu sums counts. torchmetrics sums counts, but leaves out the
#          reference of a sentence in which nothing agrees, so that it costs no recall. All three ignore spaces:
#          without any, the score stays 100.
# Matters: notebook 11 computes BLEU over a corpus, by sums. Readers meet chrF next, which is the usual score for Igbo
#          and Bangla; a number without its library says little.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torchmetrics==1.9.0 sacrebleu==2.6.0 nltk==3.10.4 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from nltk.translate.chrf_score import corpus_chrf
from sacrebleu.metrics import CHRF
from torchmetrics.text import CHRFScore

print(*(f"{name} {version(name)}" for name in ("sacrebleu", "torchmetrics", "nltk")))
references = ["abcdefghij klmnop qrstuvw", "abc def"]
for name, ours in (
    ("all right", references),
    ("no spaces", [text.replace(" ", "") for text in references]),
    ("one wrong", [references[0], "xyz uvw"]),
):
    scores = (
        CHRF().corpus_score(ours, [references]).score,
        100 * CHRFScore(n_word_order=0)(ours, [[text] for text in references]).item(),
        100 * corpus_chrf(references, ours, beta=2.0),
    )
    print(name, *(round(score, 1) for score in scores))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'all right 100.0 100.0 100.0' "$folder/said"
grep -qxF 'no spaces 100.0 100.0 100.0' "$folder/said"
grep -qxF 'one wrong 86.2 96.8 50.0' "$folder/said"
