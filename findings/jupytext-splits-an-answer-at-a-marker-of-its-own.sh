#!/usr/bin/env bash
# Guess:   a notebook that goes through jupytext's percent format comes back with the same cells: lines that look like a
#          marker are escaped, as magics are.
# Fact:    a code cell with a line "# %%" comes back as two. nbgrader's metadata stay with the part above the line,
#          which is empty if it was the first: the answer is in a cell without a name.
# Matters: VS Code and Spyder run parts of a file between such lines, so students write them into answers. Marking must
#          find the answer in the other cell.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check jupytext==1.19.6 nbformat==5.11.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

import jupytext
from nbformat.v4 import new_code_cell, new_notebook

print("jupytext", version("jupytext"))
answer = new_code_cell("# %% mine\ndef double(x):\n    return 2 * x", metadata={"nbgrader": {"grade_id": "double"}})
text = jupytext.writes(new_notebook(cells=[answer]), "py:percent")
for cell in jupytext.reads(text, "py:percent").cells:
    print(cell.metadata.get("nbgrader", {}).get("grade_id"), repr(cell.source))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'double '\'''\''' "$folder/said"
grep -qxF 'None '\''def double(x):\n    return 2 * x'\''' "$folder/said"
