#!/usr/bin/env bash
# Guess:   importing a table of students adds what is new, and refuses a table with a bad line as a whole.
# Fact:    an empty cell erases the name or address that the gradebook had, where a missing column keeps it. A line
#          without an id ends the command there, with a traceback: the students above it are in, those below are not.
# Matters: docs/canvas-and-moodle.md tells instructors to import lists from other systems, which hold empty addresses
#          and a first line for points.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check nbgrader==0.9.6 setuptools==84.2.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import os
import pathlib
import subprocess
import sys
from importlib.metadata import version

print("nbgrader", version("nbgrader"))
os.chdir(sys.argv[1])


def run(*command):
    return subprocess.run(["nbgrader", "db", "student", *command], capture_output=True, text=True)


for name, table in (
    ("full", "id,first_name,email\nada,Ada,ada@example.org\n"),
    ("no column", "id,first_name\nada,Ada\n"),
    ("empty cell", "id,first_name,email\nada,Ada,\n"),
    ("no id", "id,first_name\nbola,Bola\n,Nobody\nchi,Chi\n"),
):
    pathlib.Path("students.csv").write_text(table)
    status = run("import", "students.csv").returncode
    listed = [line for line in run("list").stdout.splitlines() if " -- " in line]
    print(f"{name}: exit status {status};", "; ".join(listed))
PY
mkdir "$folder/course"
python "$folder/probe.py" "$folder/course" | tee "$folder/said"
grep -qxF 'full: exit status 0; ada (None, Ada) -- ada@example.org, None' "$folder/said"
grep -qxF 'no column: exit status 0; ada (None, Ada) -- ada@example.org, None' "$folder/said"
grep -qxF 'empty cell: exit status 0; ada (None, Ada) -- None, None' "$folder/said"
grep -qxF 'no id: exit status 1; ada (None, Ada) -- None, None; bola (None, Bola) -- None, None' "$folder/said"
