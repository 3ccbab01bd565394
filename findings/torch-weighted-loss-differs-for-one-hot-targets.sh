#!/usr/bin/env bash
# Guess:   cross_entropy gives the same loss for ids and for the same targets as one-hot probabilities.
# Fact:    without class weights it does. With them, ids divide by the sum of the weights that were met, and
#          probabilities by the number of rows. A row that ignore_index=-100 leaves out has no counterpart.
# Matters: notebook 11 has a smoothed loss compared with torch's and gives padding the weight nothing. Weights for
#          classes, which readers know from classification, show the difference at once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
import torch.nn.functional as F

print("torch", torch.__version__.partition("+")[0])

torch.manual_seed(0)
logits = torch.randn(4, 3)
ids = torch.tensor([0, 1, 2, 0])
one_hot = F.one_hot(ids, 3).float()
for name, weight in (("no weights", None), ("weights", torch.tensor([1.0, 2.0, 3.0]))):
    by_ids = F.cross_entropy(logits, ids, weight).item()
    by_one_hot = F.cross_entropy(logits, one_hot, weight).item()
    print(f"{name}: one-hot is {by_one_hot / by_ids:.3f} times as much")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'no weights: one-hot is 1.000 times as much' "$folder/said"
grep -qxF 'weights: one-hot is 1.750 times as much' "$folder/said"
