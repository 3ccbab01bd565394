#!/usr/bin/env bash
# Guess:   pytest --nbval, which compares outputs with what is stored, fails where cells print and nothing is stored.
# Fact:    it fails if the cell has a count. A cleared notebook has neither outputs nor counts: all its cells are run
#          and none is compared, and the test passes, whatever they print.
# Matters: this course tests its solutions by nbval. A notebook that somebody saved with cleared outputs would be tested
#          no more and look well; the release refuses one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check nbval==0.11.0 nbformat==5.11.1 ipykernel==7.4.0 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

print("nbval", version("nbval"))
path = Path(sys.argv[1]) / "test.ipynb"
for name, count, stored in (
    ("stored", 1, "a\n"), ("other stored", 1, "b\n"), ("none stored", 1, None), ("cleared", None, None)
):
    outputs = [new_output("stream", text=stored)] if stored else []
    notebook = new_notebook(cells=[new_code_cell("print('a')", execution_count=count, outputs=outputs)])
    notebook.metadata.kernelspec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    nbformat.write(notebook, path)
    ran = subprocess.run([sys.executable, "-m", "pytest", "--nbval", "-q", path], capture_output=True, text=True)
    print(f"{name}: {'passes' if ran.returncode == 0 else 'fails'}")
PY
python "$folder/probe.py" "$folder" | tee "$folder/said"
grep -qxF 'stored: passes' "$folder/said"
grep -qxF 'other stored: fails' "$folder/said"
grep -qxF 'none stored: fails' "$folder/said"
grep -qxF 'cleared: passes' "$folder/said"
