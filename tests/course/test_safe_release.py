"""Tests that `autograder release` writes all that is asked for, or nothing: neither half of it nor over lost ids."""

import shutil
import sys

import nbformat
import pytest
from conftest import ROOT, missing
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from typer.testing import CliRunner

from autograder import cli, files
from autograder.authoring import text_of
from autograder.nbgrader_plugin import converters
from autograder.nbgrader_plugin.converters import settings
from autograder.nbgrader_plugin.release.generate import Refused, without_gradebook

pytestmark = pytest.mark.slow  # whole releases
NAME, OTHER = "05-attention", "06-masking"
FIGURE = "heat-map-simple"  # on the start page
WHY = {"grade": True, "grade_id": "why", "locked": False, "points": 2, "schema_version": 3, "solution": True}


@pytest.fixture
def course(tmp_path):
    root = tmp_path / "course"
    for name in ("solutions", "course"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns(*files.LEFT))
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return root


def release(root, monkeypatch, *options):
    """Run the command in this process; return its status and what it prints."""
    monkeypatch.setattr(cli, "ROOT", root)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COURSE_CLASSROOM", "classroom")
    monkeypatch.chdir(root)
    done = CliRunner().invoke(cli.app, ["release", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, " ".join(done.output.split())


def path_of(root, name=NAME, folder="solutions"):
    return root / folder / name / f"{name}.ipynb"


def change(root, edit, name=NAME):
    notebook = nbformat.read(path_of(root, name), as_version=4)
    edit(notebook)
    path_of(root, name).write_bytes(text_of(notebook))


def replace(root, old, new, name=NAME):
    path, text = path_of(root, name), path_of(root, name).read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def renumber(notebook):
    """Renumber the ids, as nbstripout does, but for the figure's."""
    for number, cell in enumerate(notebook.cells):
        cell.id = cell.id if cell.id == FIGURE else str(number)


def without_outputs(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None


def without_figure(notebook):
    next(cell for cell in notebook.cells if cell.id == FIGURE).outputs = []


def hand_in_and_ask_more(root, monkeypatch):
    assert release(root, monkeypatch, OTHER)[0] == 0
    with gradebook_of(root) as book, book.db.no_autoflush:
        book.add_student("ada")
        book.add_submission(OTHER, "ada")
    change(root, lambda notebook: notebook.cells.append(new_markdown_cell("Why?", metadata={"nbgrader": WHY})), OTHER)


def out_of_order(*_):
    raise NbGraderException("the disk is full")


def gradebook_of(root):
    return Gradebook(f"sqlite:///{root}/classroom/gradebook.db", "transformers")


def rewrite(notebook, location=2):
    """Write another text into a cell that is to be released, and leave what is to be tidied."""
    assert notebook.cells[location].cell_type == "markdown"
    notebook.cells[location].source = "Another sentence."
    notebook.metadata.widgets = {}


# What goes wrong in a release of both notebooks, and what is said of it
FAULTS = {
    "a hidden test": (
        lambda root, _: replace(root, 'check(\\"causal_mask\\")', 'check(\\"casual_mask\\")', OTHER),
        "06-masking could not be released",
        "say check('casual_mask')",
    ),
    "the start page's figure": (
        lambda root, _: change(root, without_figure),
        f"The cell '{FIGURE}' of 05-attention.ipynb has no figure in its output",
        f"`autograder run-solutions {NAME}`",
    ),
    "the start page's cell": (
        lambda root, _: replace(root, f'"{FIGURE}"', '"other-id"'),
        f"05-attention.ipynb has no cell with the id '{FIGURE}'",
        "pictures.json",
    ),
    "all outputs": (
        lambda root, _: change(root, without_outputs, OTHER),
        "06-masking.ipynb has no outputs",
        f"`autograder run-solutions {OTHER}`",
    ),
    "an opening": (lambda root, _: replace(root, "**Time", "**Duration", OTHER), "The first cell of 06-masking.ipynb"),
    "ids": (
        lambda root, _: change(root, renumber),
        "cells of 05-attention.ipynb differ from the last release",
        f"`git checkout HEAD solutions/{NAME}`",
        "--new-ids",
    ),
    "git's merge": (
        lambda root, _: replace(root, "{\n", "<<<<<<< HEAD\n{\n", OTHER),
        f"{OTHER}.ipynb holds both sides of a merge",
    ),
    "nbdime's merge": (
        lambda root, _: replace(root, "# 6. Masking", "<<<<<<< local\\n# 6. Masking", OTHER),
        f"{OTHER}.ipynb holds both sides of a merge",
    ),
    "an edited start page": (
        lambda root, _: (root / "course" / "START.md").write_text("Done: 1, 2"),
        "Somebody wrote in",
        "START.md",
    ),
    "an edited release": (
        lambda root, _: (root / "course" / OTHER / "notes.txt").write_text("mine"),
        "Somebody wrote in",
        "notes.txt",
        f"autograder release {OTHER} --overwrite",
    ),
    "a gradebook that cannot be written": (
        lambda _, monkeypatch: monkeypatch.setattr(converters, "enter_in_gradebook", out_of_order),
        f"{NAME} could not be released: the disk is full",
    ),
    "a gradebook with hand-ins": (hand_in_and_ask_more, f"{OTHER} is handed in", "why came or went"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_where_one_thing_is_wrong_nothing_is_written(fault, course, monkeypatch):
    damage, *message = FAULTS[fault]
    damage(course, monkeypatch)
    change(course, rewrite)
    (course / "solutions" / OTHER / "notebook_tools.py").write_text("an older one")
    before = files.contents(course)
    status, output = release(course, monkeypatch, NAME, OTHER)
    assert status == 1
    assert not missing(output, *message)
    assert files.contents(course) == before


def test_what_is_right_is_written_as_a_whole(course, monkeypatch):
    change(course, rewrite)
    change(course, renumber)
    (course / "solutions" / OTHER / "notebook_tools.py").write_text("an older one")
    (course / "course" / OTHER / "notes.txt").write_text("mine")
    status, output = release(course, monkeypatch, NAME, OTHER, "--overwrite", "--new-ids")
    assert (status, missing(output, f"{NAME}: {NAME}.ipynb written", f"{OTHER}: notebook_tools.py written")) == (0, [])
    assert "widgets" not in path_of(course).read_text("utf-8")
    cells = nbformat.read(path_of(course, folder="course"), as_version=4).cells
    assert (cells[0].id, cells[3].source) == ("0", "Another sentence.")
    assert path_of(course, OTHER, "course").read_bytes() == path_of(ROOT, OTHER, "course").read_bytes()
    tools = [course / folder / OTHER / "notebook_tools.py" for folder in ("solutions", "course")]
    assert {path.read_bytes() for path in tools} == {(ROOT / "solutions" / OTHER / "notebook_tools.py").read_bytes()}
    assert not (course / "course" / OTHER / "notes.txt").exists()
    assert [path.read_text() for path in course.glob("classroom/replaced/*/*/notes.txt")] == ["mine"]
    assert {path.name for path in (course / "course").iterdir()} == {path.name for path in (ROOT / "course").iterdir()}
    for name in (NAME, OTHER):
        known = files.read_manifest(course / "course" / files.MANIFESTS / f"{name}.json")
        folder = course / "course" / name
        assert not files.edited_by_user(folder, files.files(folder), known)
    with gradebook_of(course) as book:
        assert {assignment.name for assignment in book.assignments} == {NAME, OTHER}


def generate(root, monkeypatch):
    """Run nbgrader's own command in this process."""
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", [*sys.path])
    app = settings("classroom")
    app.coursedir.assignment_id = NAME
    without_gradebook(GenerateAssignment(coursedir=app.coursedir, parent=app, force=True)).start()


def test_new_ids_stop_nbgraders_own_command_before_it_empties_the_folder(course, monkeypatch):
    change(course, renumber)
    before = files.contents(course / "course")
    with pytest.raises(Refused, match=r"of the 98 cells of 05-attention\.ipynb differ"):
        generate(course, monkeypatch)
    assert files.contents(course / "course") == before


def test_an_author_may_add_remove_split_move_and_rewrite_cells(course, monkeypatch):
    def work(notebook):
        texts = [cell for cell in notebook.cells if cell.cell_type == "markdown" and len(cell.source) > 500]
        for cell in texts[-8:]:
            location, half = notebook.cells.index(cell), cell.source.index("\n\n")
            notebook.cells.insert(location + 1, new_markdown_cell(cell.source[half:].strip()))
            cell.source = cell.source[:half]
        rewrite(notebook)
        notebook.cells.insert(2, new_markdown_cell("A new cell."))
        notebook.cells.remove(next(cell for cell in notebook.cells if "claim" in cell.metadata.get("tags", [])))
        for cell in notebook.cells[20:50]:  # cut and pasted, JupyterLab gives them new ids
            cell.id = f"new-{cell.id}"

    change(course, work)
    generate(course, monkeypatch)
    assert not missing(path_of(course, folder="course").read_text("utf-8"), "A new cell.", "Another sentence.")
