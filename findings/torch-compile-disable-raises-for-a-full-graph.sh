#!/usr/bin/env bash
# Guess:   TORCH_COMPILE_DISABLE=1 does what its name says: torch.compile gives back the function as it was written.
# Fact:    with fullgraph=True the first call raises RuntimeError ("found no compiled frames"). TORCHDYNAMO_DISABLE=1
#          does give back the very function, with fullgraph=True as well.
# Matters: answers under @torch.compile are marked as they are written, in a sandbox without a compiler; which of the
#          two variables is set there decides whether a right answer with fullgraph=True earns its points.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/compiled.py" <<'PY'
import sys
import torch

def double(x):
    return 2 * x

compiled = torch.compile(double, fullgraph=True)
print("torch", torch.__version__, "python", sys.version.split()[0])
print("the function itself:", compiled is double)
try:
    print("its result:", compiled(torch.ones(1)).item())
except RuntimeError as error:
    print("raised:", str(error).splitlines()[0])
PY
for variable in TORCH_COMPILE_DISABLE TORCHDYNAMO_DISABLE; do
    echo "== $variable=1"
    env "$variable=1" python "$folder/compiled.py" | tee "$folder/$variable"
done
grep -q "raised: torch.compile with fullgraph=True found no compiled frames" "$folder/TORCH_COMPILE_DISABLE"
grep -q "its result: 2.0" "$folder/TORCHDYNAMO_DISABLE"
grep -q "the function itself: True" "$folder/TORCHDYNAMO_DISABLE"
