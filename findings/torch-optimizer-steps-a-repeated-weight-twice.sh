#!/usr/bin/env bash
# Guess:   an optimizer that is given one parameter twice, as a list of two layers with a tied weight gives it, refuses
#          it or takes it once.
# Fact:    in two groups it is refused; in one list it is only warned about, and each step moves it twice: SGD by double
#          the gradient. AdamW counts two steps, and decays twice.
# Matters: notebook 09 ties weights, and its readers collect parameters in lists of their own to leave some without
#          decay. `model.parameters()` does not repeat them; `[*a.parameters(), *b.parameters()]` does.
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

weight = nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight, weight], lr=1.0)
weight.grad = torch.full((1,), 0.25)
optimizer.step()
print("SGD moved by", 1.0 - weight.item())
optimizer = torch.optim.AdamW([weight, weight], lr=0.1)
optimizer.step()
print("AdamW counts", int(optimizer.state[weight]["step"]))
try:
    torch.optim.SGD([{"params": [weight]}, {"params": [weight]}], lr=1.0)
except ValueError as error:
    print("two groups:", error)
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'SGD moved by 0.5' "$folder/said"
grep -qxF 'AdamW counts 2' "$folder/said"
grep -qxF 'two groups: some parameters appear in more than one parameter group' "$folder/said"
