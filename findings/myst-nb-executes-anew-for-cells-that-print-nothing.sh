#!/usr/bin/env bash
# Guess:   with nb_execution_mode auto, myst-nb takes the outputs of a notebook that has been executed, and executes
#          one that has not.
# Fact:    it executes the whole notebook if one single cell has no output. A cell with a function or an import has
#          none, however often it was executed, so nearly every notebook runs anew and its stored outputs are replaced.
# Matters: all notebooks of this course are stored with outputs, some of them of minutes of training or of a published
#          model. A book made from them computes them again, or fails where the model is missing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check myst-nb==1.4.0 nbformat==5.11.1 ipykernel==7.4.0 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

print("myst-nb", version("myst-nb"))
notebook, page = Path(sys.argv[1]), Path(sys.argv[1]).with_suffix(".html")
kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
trained = new_code_cell(
    "print('a new', 'loss')", outputs=[new_output("stream", text="the stored loss\n")], execution_count=2
)
function = new_code_cell("def train(): ...", execution_count=1)
for name, cells in (("outputs only", [trained]), ("a function and outputs", [function, trained])):
    nbformat.write(new_notebook(cells=cells, metadata=kernel), notebook)
    command = ["mystnb-docutils-html", "--nb-execution-mode=auto", notebook, page]
    subprocess.run(command, cwd=notebook.parent, check=True, capture_output=True)
    text = page.read_text("utf-8")
    print(f"{name}: stored {'the stored loss' in text}, new {'a new loss' in text}")
PY
python "$folder/probe.py" "$folder/notebook.ipynb" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'outputs only: stored True, new False' "$folder/said"
grep -qxF 'a function and outputs: stored False, new True' "$folder/said"
