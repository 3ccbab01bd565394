"""Tests that a changed folder, import path or setting costs an answer nothing that it does not cost in Jupyter."""

import copy

import pytest
from conftest import NOTEBOOKS, graded_only, read
from nbformat.v4 import new_code_cell
from submissions import ANSWERS, FILES, LIMITS, NAME, POINTS, answers, earned, insert_before, mark, mended, verdicts_on

from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.marking.advice import MOVING_LINE
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in
from autograder.sandbox.limits import Limits
from autograder.spec.course import in_notebook

EVERY_PART = """
import os, sys, warnings, torch
os.makedirs("out")
os.chdir("out")
sys.path = [entry for entry in sys.path if entry]
warnings.simplefilter("error")
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_grad_enabled(False)
"""


@pytest.mark.parametrize("source", ["%cd ..", EVERY_PART], ids=["cd", "every part"])
def test_right_answers_keep_their_marks_below_a_changed_state(template, short, source):
    _, verdicts = mark(template, short, ANSWERS, extra={"softmax": source})
    assert earned(verdicts) == POINTS


@pytest.mark.long
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_in_every_notebook_right_answers_survive_a_changed_folder(template, name):
    release = read("course", name) if "gpt2" in name else graded_only(name)
    points = {declared.name: declared.points for declared in in_notebook(name)}
    first = next(one for one in points if not one.startswith("q"))
    submitted = insert_before(filled_in(release, answers(name)), first, "%cd ..")
    assert earned(verdicts_on(mended(submitted, release), template, Limits())) == points


PROBE = "import os\nprint(os.path.basename(os.getcwd()), torch.rand(1).item(), tuple(layer.q_proj.weight.shape))"


def test_own_cells_find_what_the_cells_that_they_need_leave(template):
    """Also the random numbers that a test has drawn whose names they use, and the folder as it is there in Jupyter."""
    release = read("course", NAME)
    release.cells = [cell for cell in release.cells if grade_id(cell) or cell.id == "linear-check"]
    probed = insert_before(filled_in(release, ANSWERS), "recall_step", PROBE, "%cd ..")
    [at] = [at for at, cell in enumerate(probed.cells) if cell.source == PROBE]
    marked, every = mended(copy.deepcopy(probed), release), copy.deepcopy(probed)
    every.cells = [new_code_cell(cell.source) for cell in probed.cells[: at + 1] if cell.cell_type == "code"]
    for notebook in (marked, every):
        NotebookMarker(notebook, template, FILES, LIMITS).run()
    found, expected = marked.cells[at].outputs[0].text.split(), every.cells[-1].outputs[0].text.split()
    assert (found[0], found[2:]) == (expected[0], expected[2:])


@pytest.mark.parametrize(
    ("line", "failing", "error"),
    [
        ("%cd ..", "open('stories.txt')", "FileNotFoundError"),
        ("cd ..", "open('stories.txt')", "FileNotFoundError"),
        ("import sys\nsys.path.remove('')", "import attention_tools", "ModuleNotFoundError"),
    ],
)
def test_a_failure_behind_a_changed_folder_names_the_line(template, short, line, failing, error):
    submitted = insert_before(filled_in(short, ANSWERS), "softmax", line, failing)
    notebook = mended(submitted, short)
    marker = NotebookMarker(notebook, template, None, LIMITS)
    marker.run()
    message = line if "cd" in line else "A cell of yours"
    [cell] = [cell for cell in notebook.cells if cell.source == failing]
    assert any(message in str(output.get("text")) for output in cell.outputs)
    assert message in marker.remarks[0]
    assert error in marker.remarks[0]


def test_a_failure_after_going_back_names_nothing(template, short):
    submitted = insert_before(filled_in(short, ANSWERS), "softmax", "%cd ..", "%cd -", "open('none.txt')")
    marker = NotebookMarker(mended(submitted, short), template, None, LIMITS)
    marker.run()
    assert marker.remarks == []


def test_a_long_line_of_blanks_is_read_in_one_pass():
    blanks = " \t" * 100_000
    assert not MOVING_LINE.search(blanks)
    assert MOVING_LINE.findall(f"{blanks}\n  % cd ..\n x; os.chdir ('..')") == ["  % cd ..", " x; os.chdir ('..')"]
