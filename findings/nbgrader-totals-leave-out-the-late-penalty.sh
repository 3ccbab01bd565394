#!/usr/bin/env bash
# Guess:   the gradebook's totals and averages are those of the grades that nbgrader exports.
# Fact:    the export subtracts the penalty for lateness; a student's total and an assignment's average, which
#          Formgrader shows, do not. The average is that of the submissions: students who handed nothing in are not in
#          it.
# Matters: this course's instructors read both, Formgrader's pages and the exported table, and a late student has two
#          marks.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check nbgrader==0.9.6 setuptools==84.2.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import datetime
import os
import tempfile
from importlib.metadata import version

from nbgrader.api import Gradebook

print("nbgrader", version("nbgrader"))

with tempfile.TemporaryDirectory() as folder, Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
    gradebook.add_assignment("ps1", duedate=datetime.datetime(2026, 1, 1))
    gradebook.add_notebook("one", "ps1")
    gradebook.add_grade_cell("test", "one", "ps1", max_score=10, cell_type="code")
    for student in ("ada", "bola", "chi"):
        gradebook.add_student(student)
    for student, penalty in (("ada", 0), ("bola", 4)):
        gradebook.add_submission("ps1", student)
        gradebook.find_grade("test", "one", "ps1", student).auto_score = 8
        gradebook.find_submission_notebook("one", "ps1", student).late_submission_penalty = penalty
    gradebook.db.commit()
    submission = gradebook.find_submission("ps1", "bola")
    print("exported:", submission.score - submission.late_submission_penalty)
    print("student's total:", gradebook.find_student("bola").score)
    print("average:", gradebook.average_assignment_score("ps1"))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'exported: 4.0' "$folder/said"
grep -qxF 'student'\''s total: 8.0' "$folder/said"
grep -qxF 'average: 8.0' "$folder/said"
