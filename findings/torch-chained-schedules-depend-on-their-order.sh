#!/usr/bin/env bash
# Guess:   ChainedScheduler of a warm-up and a cosine gives the product of the two, in any order.
# Fact:    so it is for a cosine that falls to 0. One with a floor (eta_min) works from the rate that it finds, so the
#          product no longer holds, the order matters, and the middle of the training has more than either product or
#          plan.
# Matters: notebook 09 has learning_rate written: warm-up, then a cosine down to a floor. Put together from torch's
#          schedulers in the way that suggests itself, it is another curve.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
from torch.optim.lr_scheduler import ChainedScheduler, CosineAnnealingLR, LinearLR

print("torch", torch.__version__.partition("+")[0])


def rates(make):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler, rates = make(optimizer), []
    for _ in range(9):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


for floor in (0.0, 0.1):
    warm = lambda optimizer: LinearLR(optimizer, 0.1, total_iters=4)
    cosine = lambda optimizer: CosineAnnealingLR(optimizer, 8, eta_min=floor)
    print("floor", floor)
    print("  product     ", *(f"{a * b:.3f}" for a, b in zip(rates(warm), rates(cosine), strict=True)))
    print("  warm, cosine", *(f"{x:.3f}" for x in rates(lambda o: ChainedScheduler([warm(o), cosine(o)]))))
    print("  cosine, warm", *(f"{x:.3f}" for x in rates(lambda o: ChainedScheduler([cosine(o), warm(o)]))))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF '  product      0.100 0.314 0.478 0.560 0.550 0.378 0.232 0.134 0.100' "$folder/said"
grep -qxF '  warm, cosine 0.100 0.316 0.486 0.574 0.563 0.386 0.236 0.135 0.100' "$folder/said"
grep -qxF '  cosine, warm 0.100 0.325 0.507 0.606 0.601 0.409 0.247 0.138 0.100' "$folder/said"
grep -qxF '  cosine, warm 0.100 0.313 0.469 0.536 0.500 0.309 0.146 0.038 0.000' "$folder/said"
