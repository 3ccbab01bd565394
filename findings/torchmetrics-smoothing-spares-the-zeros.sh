#!/usr/bin/env bash
# Guess:   BLEU with smooth=True gives a number above 0 where no 4-gram agrees; that is what smoothing is for.
# Fact:    in torchmetrics it is 0 all the same, in BLEUScore as in SacreBLEUScore, since the test for a zero comes
#          first. Smoothing changes only scores that needed none: 66.9 becomes 75.2. sacrebleu gives 34.6 for the zero
#          by its default and 42.8 by adding one.
# Matters: notebook 11 smooths as sacrebleu does. Its first translator has no 4-gram right, and would have 0 there,
#          however near it comes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torchmetrics==1.9.0 sacrebleu==2.6.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from sacrebleu.metrics import BLEU
from torchmetrics.text import BLEUScore, SacreBLEUScore

print(*(f"{name} {version(name)}" for name in ("torchmetrics", "sacrebleu")))
for name, ours, reference in (
    ("no 4-gram", "a b c x d e f y", "a b c d e f g h"),
    ("one 4-gram", "a b c d x", "a b c d y"),
):
    plain, smooth, other = (
        100 * metric([ours], [[reference]]).item()
        for metric in (SacreBLEUScore(), SacreBLEUScore(smooth=True), BLEUScore(smooth=True))
    )
    theirs, added = (BLEU(smooth_method=how).corpus_score([ours], [[reference]]).score for how in ("exp", "add-k"))
    print(f"{name}: torchmetrics {plain:.1f}, smooth {smooth:.1f} and {other:.1f}; sacrebleu {theirs:.1f} and {added:.1f}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'no 4-gram: torchmetrics 0.0, smooth 0.0 and 0.0; sacrebleu 34.6 and 42.8' "$folder/said"
grep -qxF 'one 4-gram: torchmetrics 66.9, smooth 75.2 and 75.2; sacrebleu 66.9 and 75.2' "$folder/said"
