"""nbgrader's configuration for this course. Every nbgrader command, run from this folder, does the right thing with it.

Written once in `solutions/`, released to `course/`, and a term's working data in `classroom/` (which git ignores).
"""

import sys
from pathlib import Path

COURSE = "transformer_exercises"  # the package of exercises; read without running this file
ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # so that a copy of the repository marks with its own package, installed or not

from autograder.nbgrader_plugin.configuration import configure  # noqa: E402

c = get_config()  # noqa: F821
configure(c, ROOT, source="solutions", release="course")
c.CourseDirectory.course_id = "transformers"
