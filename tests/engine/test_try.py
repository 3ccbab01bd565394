"""Tests that `autograder try` says of a notebook what marking says of it."""

import copy
import json

import pytest
from conftest import NOTEBOOKS, cell_of, graded_only, read, with_hidden_tests
from submissions import ANSWERS, FULL, NAME, POINTS, insert_before, verdicts_on
from typer.testing import CliRunner

from autograder.batch.marking import mark_file
from autograder.cli import app
from autograder.nbgrader_plugin.intake.repair import load
from autograder.nbgrader_plugin.marking.notices import verdict_in
from autograder.sample_class import filled_in, sample_class, submitted_notebook
from autograder.sandbox.limits import Limits

QUICK = "04-positional-encoding"  # it has the fewest exercises
LONG = [pytest.param(name, marks=() if name == QUICK else pytest.mark.long) for name in NOTEBOOKS]


def tried(path, name):
    """Return the points that `try` finds in a notebook, by exercise."""
    cells = json.loads(mark_file(path, name).notebooks[f"{name}.ipynb"])["cells"]
    found = filter(None, (verdict_in(cell) for cell in cells if cell["cell_type"] == "code"))
    return {verdict["exercise"]: verdict["earned"] for verdict in found}


def marked(path, name, template):
    notebook = load(path, read("course", name))
    notebook.metadata["name"] = name
    return {one: found.earned for one, found in verdicts_on(with_hidden_tests(notebook), template, Limits()).items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_the_sample_class_is_marked_alike_both_ways(template, tmp_path, name):
    for submission in sample_class(name):
        path = tmp_path / f"{submission.student}.ipynb"
        path.write_text(json.dumps(submitted_notebook(submission, read("course", name))), encoding="utf-8")
        assert tried(path, name) == marked(path, name, template) == submission.deserved


def helper_in_its_own_cell():
    with_helper = "def softmax(scores, dim=-1):\n    return shares((scores - scores.amax(dim, True)).exp(), dim)"
    helper = "def shares(t, dim):\n    return t / t.sum(dim, keepdim=True)"
    return insert_before(filled_in(FULL, ANSWERS | {"softmax": with_helper}), "softmax", helper)


def old_try_above():
    notebook = filled_in(FULL, ANSWERS)
    cell = cell_of(notebook, "softmax")
    old = copy.deepcopy(cell)
    old.source = "def softmax(scores, dim=-1):\n    return scores.exp() / scores.exp().sum()"
    notebook.cells.insert(notebook.cells.index(cell), old)
    return notebook


FORMS = {
    "a helper in a cell of its own": (helper_in_its_own_cell, "utf-8"),
    "an old try in a copy above": (old_try_above, "utf-8"),
    "UTF-16": (lambda: filled_in(FULL, ANSWERS), "utf-16"),
}


@pytest.mark.parametrize(("make", "encoding"), FORMS.values(), ids=FORMS)
def test_right_answers_in_any_form_get_full_marks(template, tmp_path, make, encoding):
    path = tmp_path / "another name.ipynb"
    path.write_text(json.dumps(make()), encoding=encoding)
    assert tried(path, NAME) == POINTS


def test_it_prints_the_rubric_and_what_was_repaired(template, tmp_path):
    notebook = graded_only(NAME)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "test_softmax"]
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(filled_in(notebook, ANSWERS)))
    output = CliRunner().invoke(app, ["try", "softmax", str(path)])
    assert output.exit_code == 0
    assert output.output.startswith("softmax: 4 of 4 points\n")
    assert "“test_softmax” was missing" in output.output
    path.write_text("this is my homework")
    assert "not a notebook" in CliRunner().invoke(app, ["try", "softmax", str(path)]).output
