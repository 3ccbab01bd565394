"""nbgrader's configuration for this course. All nbgrader commands that run in this folder use it.

Notebooks are written in `solutions/` and released to `course/`. `classroom/`, which git ignores, holds a term's data.
"""

import sys
from pathlib import Path

COURSE = "transformer_exercises"  # the package of exercises; must be a literal, because this file is parsed, not run
ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # a copy of the repository uses its own package, installed or not

from autograder.nbgrader_plugin.configuration import configure  # noqa: E402

c = get_config()  # noqa: F821
configure(c, ROOT, source="solutions", release="course")
c.CourseDirectory.course_id = "transformers"
