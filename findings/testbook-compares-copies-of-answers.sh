#!/usr/bin/env bash
# Guess:   a test written with testbook sees what the function in the notebook returns.
# Fact:    it sees a copy that has been through JSON: a tuple is a list and equals no tuple, a key 1 is the text 1, NaN
#          is the text nan. A right answer fails the test of equality, and a list where a tuple was asked for passes
#          the other one.
# Matters: many courses test notebooks in this way. In notebook 02 merge_pair returns a tuple and count_pairs has
#          tuples for keys, so this course carries answers with their types (autograder/untrusted/wire.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check testbook==0.4.2 nbformat==5.11.1 ipykernel==7.4.0 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import sys
from importlib.metadata import version

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from testbook import testbook

print("testbook", version("testbook"))
source = "def pair(): return (1, 2)\ndef counts(): return {1: 7}\ndef nothing(): return float('nan')"
nbformat.write(new_notebook(cells=[new_code_cell(source)]), sys.argv[1])
with testbook(sys.argv[1], execute=True) as notebook:
    pair, counts, nothing = (notebook.ref(name)() for name in ("pair", "counts", "nothing"))
print("a tuple:", pair, pair == (1, 2))
print("a key 1:", dict(counts), counts == {1: 7})
print("NaN:", repr(nothing))
PY
python "$folder/probe.py" "$folder/notebook.ipynb" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'a tuple: [1, 2] False' "$folder/said"
grep -qxF "a key 1: {'1': 7} False" "$folder/said"
grep -qxF "NaN: 'nan'" "$folder/said"
