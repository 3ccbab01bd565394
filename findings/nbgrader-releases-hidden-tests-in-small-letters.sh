#!/usr/bin/env bash
# Guess:   a region of hidden tests whose delimiter is written otherwise than documented is an error, or is taken out.
# Fact:    without the spaces after ### it is taken out; in small letters it stays in what students get, without a word.
#          Of solutions this is harmless: a cell without a region is replaced whole.
# Matters: docs/your-own-assignments.md teaches hidden tests for assignments of one's own: one letter decides who reads
#          them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check nbgrader==0.9.6 setuptools==84.2.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.preprocessors import ClearHiddenTests

print("nbgrader", version("nbgrader"))
settings = {"grade": True, "grade_id": "test", "locked": True, "points": 1, "schema_version": 3}
for begin, end in (("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"), ("###BEGIN HIDDEN TESTS", "###END HIDDEN TESTS"),
                   ("### begin hidden tests", "### end hidden tests")):
    cell = new_code_cell(
        f"assert shown\n{begin}\nassert hidden\n{end}",
        metadata={"nbgrader": {**settings, "solution": False, "task": False}},
    )
    notebook, _ = ClearHiddenTests().preprocess(new_notebook(cells=[cell]), {})
    print(f"{begin}: {'released' if 'assert hidden' in notebook.cells[0].source else 'taken out'}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF '### BEGIN HIDDEN TESTS: taken out' "$folder/said"
grep -qxF '###BEGIN HIDDEN TESTS: taken out' "$folder/said"
grep -qxF '### begin hidden tests: released' "$folder/said"
