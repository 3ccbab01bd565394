#!/usr/bin/env bash
# Guess:   a TorchDispatchMode sees the operations of torch under the names by which they were called: a layer norm as
#          native_layer_norm, a softmax as _softmax, so an RMS norm as rms_norm.
# Fact:    an RMS norm reaches the mode as pow, mean, add_, rsqrt and mul, on a CPU. A TorchFunctionMode sees the name
#          rms_norm, but only of a call from Python: in a scripted function neither mode sees it, and it does a softmax.
# Matters: this course bans torch's own norms and softmax in the exercises that rebuild them, by the names that run. With
#          one mode alone, nn.RMSNorm would earn the points of writing it, or a scripted softmax those of softmax.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/modes.py" <<'PY'
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Operations(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        operations.add(func.__name__.partition(".")[0])
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        functions.add(func.__name__)
        return func(*args, **(kwargs or {}))


@torch.jit.script
def scripted_softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


@torch.jit.script
def scripted_rms_norm(x: torch.Tensor) -> torch.Tensor:
    return torch.rms_norm(x, [4])


x = torch.ones(2, 4)
print("torch", torch.__version__.partition("+")[0])
for name, call in {
    "layer_norm": lambda: F.layer_norm(x, (4,)),
    "rms_norm": lambda: F.rms_norm(x, (4,)),
    "softmax": lambda: torch.softmax(x, -1),
    "scripted rms_norm": lambda: scripted_rms_norm(x),
    "scripted softmax": lambda: scripted_softmax(x),
}.items():
    operations, functions = set(), set()
    with Operations():
        call()
    with Functions():
        call()
    print(f"{name}: operations {sorted(operations)}, functions {sorted(functions)}")
PY
python -W ignore "$folder/modes.py" | tee "$folder/said"
grep -qx "layer_norm: operations \['native_layer_norm'\], functions \['layer_norm'\]" "$folder/said"
grep -qx "rms_norm: operations \['add_', 'mean', 'mul', 'pow', 'rsqrt'\], functions \['rms_norm'\]" "$folder/said"
grep -qx "softmax: operations \['_softmax'\], functions \['softmax'\]" "$folder/said"
grep -qx "scripted rms_norm: operations \['add_', 'mean', 'mul', 'pow', 'rsqrt'\], functions \[\]" "$folder/said"
grep -qx "scripted softmax: operations \['_softmax'\], functions \[\]" "$folder/said"
