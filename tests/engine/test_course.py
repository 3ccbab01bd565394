"""Tests of how the engine finds the course that it marks, and of what it does without any."""

from conftest import python

PROGRAM = """
import importlib.metadata as metadata
installed = [metadata.EntryPoint(name, f"{{name}}:COURSE", "autograder.courses") for name in {names!r}]
metadata.entry_points = lambda **_: installed
from autograder.spec import course
try:
    print({asked})
except course.NoCourse as reason:
    print("NoCourse:", reason)
"""


def found(folder, asked, *names, settings=""):
    """Return what an expression gives in a folder where courses of these names are installed."""
    if settings:
        (folder / "nbgrader_config.py").write_text(settings)
    done = python("-c", PROGRAM.format(names=names, asked=asked), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_course_nothing_is_an_exercise_and_who_needs_one_is_told_how_to_get_it(tmp_path):
    assert found(tmp_path, "len(course.names()), course.notebooks(), course.uses_torch()") == "0 () False"
    assert found(tmp_path, "course.root()") == str(tmp_path.resolve())
    assert found(tmp_path, "course.home()").startswith("NoCourse: No course is installed")


def test_of_several_courses_the_configuration_names_one(tmp_path):
    assert found(tmp_path, "course.course().package", "transformer_exercises") == "transformer_exercises"
    both = ("transformer_exercises", "another")
    said = found(tmp_path, "course.course()", *both)
    assert said.startswith('NoCourse: No course is named: write COURSE = "its name"')
    assert "another, transformer_exercises" in said
    named = found(tmp_path, "course.course().package", *both, settings='COURSE = "transformer_exercises"\n')
    assert named == "transformer_exercises"


def test_pytorch_and_what_is_as_slow_are_imported_when_something_is_marked(tmp_path):
    modules = [
        *("autograder.cli", "autograder.nbgrader_plugin.preprocessors", "autograder.nbgrader_plugin.report.data"),
        *("autograder.nbgrader_plugin.marking.notebook_marker", "autograder.judge.diagnosis.signature_store"),
        *("autograder.sandbox.session", "autograder.sandbox.template", "autograder.untrusted.warm_up"),
        *("autograder.nbgrader_plugin.feedback.exporter", "autograder.nbgrader_plugin.gradebook.locking"),
    ]
    slow = {"torch", "transformers", "matplotlib"}
    loaded = f"[m for m in {{}} if __import__(m) and {slow} & set(__import__('sys').modules)]"
    assert found(tmp_path, loaded.format(modules)) == "[]"
