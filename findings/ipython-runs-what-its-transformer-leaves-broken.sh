#!/usr/bin/env bash
# Guess:   what IPython's TransformerManager makes of a cell is what runs, so a cell that is no Python after it is a
#          syntax error in a notebook, too.
# Fact:    a cell of the single line `cd ..`, without a percent sign, stays as it is in the transformer, is no Python, and
#          runs: another stage takes it for the magic %cd. With a second line in the cell it is a syntax error.
# Matters: a tool that reads notebooks by this transformer, as this course's does, believes that such a cell did nothing,
#          while it moved the kernel to another folder, where the cells below find neither modules nor files.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ipython==9.18.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/lone.py" <<'PY'
import ast, contextlib, io, os, sys
import IPython
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell

print("ipython", IPython.__version__, "python", sys.version.split()[0])
shell = InteractiveShell.instance()
for cell in ("cd ..", "cd ..\nx = 1"):
    made = TransformerManager().transform_cell(cell)
    try:
        ast.parse(made)
        parsed = "Python"
    except SyntaxError:
        parsed = "no Python"
    before = os.getcwd()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        ran = shell.run_cell(cell, silent=True).success
    print(f"{cell!r}: transformed to {made!r}, {parsed}; ran: {ran}; moved: {os.getcwd() != before}")
PY
mkdir -p "$folder/below"
cd "$folder/below"
HOME=$folder IPYTHONDIR=$folder/ipython python "$folder/lone.py" 2>&1 | tee "$folder/said"
grep -q "^'cd \.\.': transformed to 'cd \.\.\\\\n', no Python; ran: True; moved: True" "$folder/said"
grep -q "no Python; ran: False; moved: False" "$folder/said"
