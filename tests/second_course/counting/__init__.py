"""A course of one sheet, which the engine finds by `COURSE` in nbgrader_config.py."""

from autograder.spec.course import Course

COURSE = Course(
    title="Counting words",
    package="counting",
    notebooks=("ps1",),  # the sheets with exercises of their own; others are marked by their assertions alone
    topics=("words",),
    imports="",
    preload=(),
)
