"""An instructor's own course: one sheet in plain Python, with one named mistake (docs/your-own-assignments.md)."""

COURSE = "counting"  # the package beside this file that says which mistakes are known; leave it out if there is none

from autograder.nbgrader_plugin.configuration import mark_with_autograder

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "Counting words"
mark_with_autograder(c)
