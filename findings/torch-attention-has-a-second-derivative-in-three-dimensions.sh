#!/usr/bin/env bash
# Guess:   scaled_dot_product_attention can be differentiated twice, or cannot, whatever the number of dimensions.
# Fact:    on a CPU the second derivative exists for (batch, time, width) and raises an error for the same numbers as
#          (batch, 1, time, width), and with dropout, a mask or not. So does the forward mode of torch.func.
# Matters: notebook 05 gives it three dimensions and 07 four. A check of an answer by the curvature of its loss runs
#          with attention written by hand, and stops with torch's own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
import torch.nn.functional as F
from torch.autograd.functional import hessian

print("torch", torch.__version__.partition("+")[0])


def loss(x):
    return F.scaled_dot_product_attention(x, x, x).pow(2).sum()


torch.manual_seed(0)
x = torch.randn(1, 3, 2)
for name, given in (("three dimensions", x), ("four dimensions", x[None])):
    twice = lambda: hessian(loss, given)
    forward = lambda: torch.func.jvp(loss, (given,), (given,))
    for how, compute in (("twice", twice), ("forward", forward)):
        try:
            compute()
            print(f"{name}, {how}: computed")
        except RuntimeError as error:
            print(f"{name}, {how}: {type(error).__name__}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'three dimensions, twice: computed' "$folder/said"
grep -qxF 'three dimensions, forward: computed' "$folder/said"
grep -qxF 'four dimensions, twice: RuntimeError' "$folder/said"
grep -qxF 'four dimensions, forward: NotImplementedError' "$folder/said"
