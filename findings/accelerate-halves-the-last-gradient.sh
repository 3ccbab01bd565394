#!/usr/bin/env bash
# Guess:   with gradients accumulated over four batches, the step at the end of the data takes the mean of the batches
#          that are left, or waits for the next epoch.
# Fact:    it takes the step, and divides by four whatever is left: of ten batches the last two count half, of nine the
#          last one a quarter. It comes once an epoch, and the scheduler steps as if it were a whole one.
# Matters: notebook 09 names gradient accumulation, and readers who train on their own text have few batches: with five
#          batches and four a step, every second step is a quarter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check accelerate==1.15.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

import torch
from accelerate import Accelerator
from torch import nn

print(*(f"{name} {version(name).partition('+')[0]}" for name in ("accelerate", "torch")))
for batches in (8, 9, 10):
    accelerator = Accelerator(gradient_accumulation_steps=4, cpu=True)
    model = nn.Linear(1, 1, bias=False)
    data = torch.utils.data.DataLoader(torch.ones(batches, 1), batch_size=1)
    model, optimizer, data = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1.0), data)
    gradients = []
    for x in data:  # the gradient of each batch is 1, and so is the mean of any of them
        with accelerator.accumulate(model):
            accelerator.backward(model(x).mean())
            if accelerator.sync_gradients:
                gradients.append(model.weight.grad.item())
            optimizer.step()
            optimizer.zero_grad()
    print(f"{batches} batches:", *gradients)
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF '8 batches: 1.0 1.0' "$folder/said"
grep -qxF '9 batches: 1.0 1.0 0.25' "$folder/said"
grep -qxF '10 batches: 1.0 1.0 0.5' "$folder/said"
