#!/usr/bin/env bash
# Guess:   clip_grad_norm_ with an infinite entry among the gradients raises an error, or leaves the finite ones as they
#          are.
# Fact:    it divides by the infinite norm: the infinite entry becomes NaN and all others, of all layers, exactly 0.
#          With a NaN entry everything becomes NaN. Only error_if_nonfinite=True raises.
# Matters: notebook 09 clips gradients and prints their norm. After such a step the damage is where nobody looks: one
#          weight is NaN, the rest moved by momentum alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
from torch import nn

print("torch", torch.__version__.partition("+")[0])

for bad in (float("inf"), float("nan")):
    first, second = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))
    first.grad, second.grad = torch.tensor([1.0, bad]), torch.tensor([2.0])
    nn.utils.clip_grad_norm_([first, second], 1.0)
    print(f"{bad}: {first.grad.tolist()} {second.grad.tolist()}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'inf: [0.0, nan] [0.0]' "$folder/said"
grep -qxF 'nan: [nan, nan] [nan]' "$folder/said"
