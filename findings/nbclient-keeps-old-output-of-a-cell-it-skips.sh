#!/usr/bin/env bash
# Guess:   after `nbconvert --execute` all outputs are those of this run.
# Fact:    a cell with the tag skip-execution is not run and keeps what was stored in it, count and all; nothing marks
#          it. Exported as a script, the same cell does run.
# Matters: this course stores outputs and tests them by running everything anew. One tag, which editors offer, turns a
#          figure into a picture that no code makes any more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check nbclient==0.11.0 nbconvert==7.17.2 nbformat==5.11.1 ipykernel==7.4.0 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from nbclient import NotebookClient
from nbconvert import PythonExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output

print(*(f"{name} {version(name)}" for name in ("nbclient", "nbconvert")))
old = [new_output("stream", text="old\n")]
notebook = new_notebook(
    cells=[
        new_code_cell("print('new')", outputs=old, execution_count=7, metadata={"tags": ["skip-execution"]}),
        new_code_cell("print('new')", outputs=old, execution_count=8),
    ]
)
NotebookClient(notebook).execute()
for cell in notebook.cells:
    print(cell.execution_count, cell.outputs[0].text.strip())
print("in the script:", PythonExporter().from_notebook_node(notebook)[0].count("print('new')"))
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF '7 old' "$folder/said"
grep -qxF '1 new' "$folder/said"
grep -qxF 'in the script: 2' "$folder/said"
