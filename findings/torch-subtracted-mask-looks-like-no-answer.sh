#!/usr/bin/env bash
# Guess:   1 - mask, with a boolean mask, raises RuntimeError, as it did up to torch 2.13, or TypeError as in NumPy. The
#          line that stops is an answer with a mistake, and `except NotImplementedError` lets it pass.
# Fact:    torch 2.14 raises NotImplementedError there, and for -mask and mask - mask: the error with which nbgrader's
#          blank answers stop. What catches that error to say "not answered yet" says it of the commonest slip with masks.
# Matters: notebooks 05 to 09 and 11, whose masks are True where blocked; the judge, which must tell an exercise without
#          an answer from a wrong one, and did so by the error's text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.14.1 numpy==2.4.6 nbgrader==0.9.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/mask.py" <<'PY'
import numpy
import torch
from nbgrader.preprocessors import ClearSolutions

print("torch", torch.__version__.partition("+")[0])
print("a blank answer of nbgrader:", ClearSolutions().code_stub["python"].split("\n")[-1])
mask = torch.tensor([False, True])
for name, compute in (
    ("numpy -mask", lambda: -mask.numpy()),
    ("torch -mask", lambda: -mask),
    ("torch 1 - mask", lambda: 1 - mask),
    ("torch mask - mask", lambda: mask - mask),
):
    try:
        compute()
    except Exception as error:
        print(f"{name}: {type(error).__name__}, of {type(error).__base__.__name__}")
PY
python "$folder/mask.py" | tee "$folder/said"
grep -qxF 'a blank answer of nbgrader: raise NotImplementedError()' "$folder/said"
grep -qxF 'numpy -mask: TypeError, of Exception' "$folder/said"
grep -qxF 'torch -mask: NotImplementedError, of RuntimeError' "$folder/said"
grep -qxF 'torch 1 - mask: NotImplementedError, of RuntimeError' "$folder/said"
grep -qxF 'torch mask - mask: NotImplementedError, of RuntimeError' "$folder/said"
