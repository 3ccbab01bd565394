"""Tests of how the engine finds the course that it marks, and of what it does without any."""

import os
import subprocess
import sys

from conftest import ROOT

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
    """What an expression gives in a folder where courses of these names are installed."""
    if settings:
        (folder / "nbgrader_config.py").write_text(settings)
    program = PROGRAM.format(names=names, asked=asked)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
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


MODULES = [
    *("autograder.cli", "autograder.nbgrader_plugin.preprocessors", "autograder.nbgrader_plugin.report.data"),
    *("autograder.nbgrader_plugin.marking.notebook_marker", "autograder.judge.diagnosis.signature_store"),
    *("autograder.sandbox.session", "autograder.sandbox.template", "autograder.untrusted.warm_up"),
]


def test_pytorch_is_imported_for_tensors_only(tmp_path):
    loaded = "[m for m in {} if __import__(m) and 'torch' in __import__('sys').modules]"
    assert found(tmp_path, loaded.format(MODULES)) == "[]"
