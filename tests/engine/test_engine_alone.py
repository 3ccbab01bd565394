"""Tests that the engine names nothing of this course, and that its commands say where a course is missing.

The workflow `check` installs the engine alone and runs every command there: `.ci/engine_alone.py`.
"""

import re

import pytest
from conftest import ROOT
from typer.testing import CliRunner

from autograder.cli import app
from autograder.spec import course

ENGINE = ROOT / "autograder"
FILES = [path for path in sorted(ENGINE.rglob("*")) if path.suffix in (".py", ".j2", ".js", ".css", ".json")]
LIBRARIES = {"tokenizers", "transformers", "huggingface_hub", "ipywidgets"}
# What is left, and why
ALLOWED = {
    "untrusted/warm_up.py": {"LayerNorm", "softmax"},  # PyTorch's
}


def names_of_the_course() -> set[str]:
    """Return the names of notebooks, exercises and questions, but for ordinary words, and of the course's libraries."""
    names = {*course.notebooks(), *course.names(), course.course().package}
    return {name for name in names if not (name.isalpha() and name.islower())} | {"softmax"} | LIBRARIES


def test_the_engine_names_nothing_of_the_course():
    names, found = names_of_the_course(), {}
    for path in FILES:
        words = set(re.findall(r"\w+(?:-\w+)*", path.read_text("utf-8")))
        if named := {word for word in words if word in names or "gpt" in word.lower()}:
            found[path.relative_to(ENGINE).as_posix()] = named
    assert found == ALLOWED


@pytest.mark.parametrize(
    "command",
    [
        "plan",
        "mistakes NAME",
        "mistakes --costs",
        "try NAME nbgrader_config.py",
        "try-mistakes",
        "run-solutions",
        "release",
        "init FOLDER",
        "learn --folder FOLDER",
        "demo",
    ],
)
def test_a_command_that_needs_a_course_says_that_there_is_none(command, monkeypatch, tmp_path):
    monkeypatch.setattr(course, "course", lambda: course.NO_COURSE)
    words = command.replace("FOLDER", str(tmp_path / "new")).split()
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, course.NoCourse), result.output
    assert not (tmp_path / "new").exists()
