#!/usr/bin/env bash
# Guess:   after clip_grad_norm_(parameters, 1.0) gradients whose norm was larger have norm 1, to the precision of their
#          dtype; a loop that multiplies by max_norm / norm gives the same gradients.
# Fact:    torch divides by norm + 1e-6. In float64 the clipped norm falls short of 1 by up to one part in a million,
#          ten orders of magnitude more than the dtype's rounding, and the more so the smaller the norm was.
# Matters: this course asks for clipping in a training step and accepts it written by hand. A comparison of weights in
#          float64 may only be made where nothing is clipped, or it costs the marks of a right answer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/clip.py" <<'PY'
import torch

print("torch", torch.__version__.partition("+")[0])
for length in (1.5, 100.0):
    parameter = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    parameter.grad = torch.tensor([0.6, 0.8], dtype=torch.float64) * length
    by_hand = parameter.grad / parameter.grad.norm()
    torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    short = 1.0 - parameter.grad.norm().item()
    print(f"norm {length:g}: clipped to 1 less {short:.2g}; by hand to 1 less {abs(1.0 - by_hand.norm().item()):.0g}")
PY
python -W ignore "$folder/clip.py" | tee "$folder/said"
grep -qE "^norm 1.5: clipped to 1 less 6.7e-07; by hand to 1 less (0|1e-16|2e-16)$" "$folder/said"
grep -qE "^norm 100: clipped to 1 less 1e-08; by hand to 1 less (0|1e-16|2e-16)$" "$folder/said"
