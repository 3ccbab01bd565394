#!/usr/bin/env bash
# Guess:   a command whose configuration raises an error stops; or else what stands above the error counts.
# Fact:    nbgrader prints a traceback, forgets the whole file, the lines above the error too, and goes on with its
#          defaults: another folder, no late penalties, exit status 0.
# Matters: marks given so are wrong and look right. This course's own commands ask traitlets to raise instead; nbgrader's,
#          which instructors use beside them, do not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check nbgrader==0.9.6 traitlets==5.16.1 setuptools==84.2.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
mkdir "$folder/course"
cat > "$folder/course/nbgrader_config.py" <<'PY'
c = get_config()
c.CourseDirectory.submitted_directory = "handed_in"
c.AssignLatePenalties.plugin_class = "late_days.LateDays"
late = free_days + 1
PY
cat > "$folder/read.py" <<'PY'
import sys
from importlib.metadata import version

from nbgrader.apps import NbGraderApp

app = NbGraderApp()
app.initialize([])
print("python", sys.version.split()[0], "nbgrader", version("nbgrader"), "traitlets", version("traitlets"))
print("submissions are looked for in:", app.coursedir.submitted_directory)
print("late penalties:", dict(app.config.AssignLatePenalties))
PY
cd "$folder/course"
JUPYTER_CONFIG_DIR="$folder" python "$folder/read.py" 2> "$folder/errors" | tee "$folder/said"
tail -n 1 "$folder/errors"
grep -q "NameError: name 'free_days' is not defined" "$folder/errors"
grep -qx "submissions are looked for in: submitted" "$folder/said"
grep -qx "late penalties: {}" "$folder/said"
