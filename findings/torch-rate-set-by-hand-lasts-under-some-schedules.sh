#!/usr/bin/env bash
# Guess:   a learning rate that is set in optimizer.param_groups is overwritten by the scheduler's next step; or else it
#          counts from then on.
# Fact:    it depends on the scheduler. LambdaLR computes from the first rate and overwrites it; StepLR and
#          CosineAnnealingLR multiply what they find, so it lasts to the end.
# Matters: notebook 09's further part schedules the rate with LambdaLR, and readers lower it by hand when a loss jumps:
#          with one scheduler that is for one step, with another for good.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
from torch.optim import lr_scheduler

print("torch", torch.__version__.partition("+")[0])

for name, make in (
    ("LambdaLR", lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)),
    ("StepLR", lambda optimizer: lr_scheduler.StepLR(optimizer, 100)),
    ("CosineAnnealingLR", lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 1000)),
):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(optimizer)
    optimizer.step()
    scheduler.step()
    optimizer.param_groups[0]["lr"] = 0.01
    optimizer.step()
    scheduler.step()
    print(f"{name}: {optimizer.param_groups[0]['lr']:.3f}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'LambdaLR: 1.000' "$folder/said"
grep -qxF 'StepLR: 0.010' "$folder/said"
grep -qxF 'CosineAnnealingLR: 0.010' "$folder/said"
