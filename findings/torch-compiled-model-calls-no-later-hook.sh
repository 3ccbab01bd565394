#!/usr/bin/env bash
# Guess:   a forward hook sees what its layer computes, whenever it is registered.
# Fact:    a hook that is registered on an inner layer of a compiled model after the first call is not called, and there
#          is no warning, until something else makes torch compile again: another batch size, for example.
# Matters: notebooks 10 and 11 look into models with hooks. On a compiled one such a picture is empty, or that of the
#          one batch that had another size.
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

model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
compiled = torch.compile(model, backend="eager")
compiled(torch.ones(4, 2))
seen = []
model[0].register_forward_hook(lambda *_: seen.append(1))
for name, call, size in (("compiled", compiled, 4), ("as written", model, 4), ("compiled, another size", compiled, 3)):
    seen.clear()
    call(torch.ones(size, 2))
    print(f"{name}: {len(seen)} calls")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'compiled: 0 calls' "$folder/said"
grep -qxF 'as written: 1 calls' "$folder/said"
grep -qxF 'compiled, another size: 1 calls' "$folder/said"
