"""A folder to teach in, with one small assignment."""

import contextlib
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_notebook
from own_assignments import graded

from autograder.nbgrader_plugin import converters


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("once") / "teaching"
    cells = [
        graded("total", "### BEGIN SOLUTION\ntotal = 6\n### END SOLUTION", answer=True),
        graded("test_total", "assert total == 6", 2),
    ]
    (folder / "source" / "sums").mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells), folder / "source" / "sums" / "sums.ipynb")
    (folder / "nbgrader_config.py").write_text('c = get_config()\nc.CourseDirectory.course_id = "Sums"\n')
    with contextlib.chdir(folder):
        converters.register_assignments(settings(), ["sums"])
    return folder


@pytest.fixture
def course(released, tmp_path, monkeypatch):
    """Return a folder to teach in, with a small assignment `sums` that amina and bayo have handed in."""
    folder = tmp_path / "teaching"
    shutil.copytree(released, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COURSE_CLASSROOM", "classroom")
    for student in ("amina", "bayo"):
        hand_in(folder, f"{student}/sums")
    return folder


def hand_in(folder: Path, where: str) -> None:
    shutil.copytree(folder / "source" / "sums", folder / "submitted" / where)


def settings():
    return converters.settings("classroom")
