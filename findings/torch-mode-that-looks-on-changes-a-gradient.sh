#!/usr/bin/env bash
# Guess:   a TorchDispatchMode that hands every operation on as it is changes no number, gradients included.
# Fact:    while any such mode is on, torch computes the gradients of max, min and median over a whole tensor by another
#          formula, with a mask: a NaN that arrives there spreads to all entries, instead of reaching only the one that
#          was picked. Values stay the same, and so does amax.
# Matters: this course recognises a mistake by the gradients of its answer. Watched for a ban, a softmax that subtracts the
#          whole tensor's maximum gave NaN in other places than unwatched, and lost its name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/gradient.py" <<'PY'
import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class LooksOn(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


print("torch", torch.__version__.partition("+")[0])
for name, mode in (("no mode", contextlib.nullcontext), ("a mode that looks on", LooksOn)):
    x = torch.tensor([0.0, 200.0, -150.0], requires_grad=True)
    with mode():
        (x.max() * float("nan")).backward()
    print(f"{name}: {x.grad.tolist()}")
PY
python -W ignore "$folder/gradient.py" | tee "$folder/said"
grep -qx "no mode: \[0.0, nan, 0.0\]" "$folder/said"
grep -qx "a mode that looks on: \[nan, nan, nan\]" "$folder/said"
