"""Tests that cells of the student's run in the state of the process that they find in Jupyter."""

import copy

import pytest
from conftest import NOTEBOOKS, graded_only, read
from nbformat.v4 import new_code_cell
from submissions import ANSWERS, FILES, LIMITS, NAME, POINTS, answers, earned, insert_before, mark, mended, verdicts_on

from autograder.judge.process_state import EVERYTHING, MOVING_LINE, RANDOM, SETTINGS, SURROUNDINGS, ProcessState
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in
from autograder.sandbox.limits import Limits
from autograder.spec.course import in_notebook

IMPORTS = (
    "import os, sys, random, warnings\nimport numpy as np, torch\nfrom torch import nn\nimport matplotlib.pyplot as plt"
)
DEFINES = """
def go_up():
    os.chdir('..')

class Layer(nn.Module):
    def __init__(self):
        self.q = nn.Linear(2, 2)
"""
TOUCHED = {
    "": [
        "y = 2 * x\nprint(y)",
        "def f(x):\n    return os.getcwd(), torch.rand(2)",
        "model(x).sum().backward()",
        "1 +",
        "torch.randn(2, generator=g)",
        "g = torch.Generator().manual_seed(5)",
        "np.random.default_rng(0)",
        "%time f()",
        "torch.set_printoptions(precision=2)",
        "%matplotlib inline",
        "%%capture\nf()",
        "plt.plot([1, 2])",
        "import json",
        "os.path.join(a, b)",
        "import os\n\nos._exit(1)",
        "warnings.filterwarnings('ignore')",
        "class Net(nn.Module):\n    def g(self):\n        open('x')",
        "a %= 2",
    ],
    SURROUNDINGS: [
        "%cd ..",
        "cd ..",
        "  %cd data",
        "os.chdir('/tmp')",
        "from os import chdir\nchdir('..')",
        "!mkdir out",
        "!cd data; ls",
        "sys.path = [p for p in sys.path if p]",
        "os.environ['X'] = '1'",
        "%env X=1",
        "go_up()",
        "f = lambda: go_up()\nf()",
        "with open('a') as file:\n    pass",
        "Path(p).write_text('')",
        "%%writefile a.py\nx",
    ],
    RANDOM: [
        "torch.manual_seed(0)",
        "w = torch.rand(2)",
        "np.random.rand(2)",
        "random.seed(1)",
        "nn.Linear(2, 2)",
        "Layer()",
        "w.normal_()",
        "nn.init.zeros_(w)",
        "@nn.Linear(2, 2)\ndef f():\n    pass",
    ],
    SETTINGS: [
        "torch.set_default_dtype(torch.float64)",
        "torch.set_grad_enabled(False)",
        "warnings.simplefilter('error')",
        "plt.rcParams['font.size'] = 20",
        "plt.style.use('ggplot')",
        "%config InlineBackend.figure_format = 'svg'",
    ],
}
DOUBTS = [
    "import pandas",
    "from seaborn import *",
    "exec(text)",
    "%run other.py",
    "%load_unknown",
    "__import__('os')",
    "files = !ls",
]
DOUBTS += ["get_ipython().run_line_magic('cd', '..')"]


@pytest.mark.parametrize(("part", "source"), [(part, one) for part, each in TOUCHED.items() for one in each])
def test_the_touched_part_of_the_state_is_read_from_the_source(part, source):
    state = ProcessState([IMPORTS, DEFINES, source], [IMPORTS], {"torch", "numpy", "matplotlib"})
    assert state.touched_by(source) == ({part} if part else set())


@pytest.mark.parametrize("source", DOUBTS)
def test_what_cannot_be_known_touches_everything(source):
    assert ProcessState([source], [], {"torch"}).touched_by(source) == EVERYTHING


def test_given_cells_depend_on_files_by_modules_that_lie_beside():
    given = ["import torch\nfrom my_tools import draw", "draw([1])", "torch.zeros(2)"]
    state = ProcessState(given, given, {"torch"})
    assert [SURROUNDINGS in state.depends_on(source) for source in given] == [True, True, False]


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


def test_own_cells_find_the_state_that_running_all_cells_leaves(template):
    """Also what a given cell has drawn from the random numbers, and a name of a test that they can see."""
    release = read("course", NAME)
    release.cells = [cell for cell in release.cells if grade_id(cell) or cell.id == "linear-check"]
    probed = insert_before(filled_in(release, ANSWERS), "recall_step", PROBE)
    [at] = [at for at, cell in enumerate(probed.cells) if cell.source == PROBE]
    marked, every = mended(copy.deepcopy(probed), release), copy.deepcopy(probed)
    every.cells = [new_code_cell(cell.source) for cell in probed.cells[: at + 1] if cell.cell_type == "code"]
    for notebook in (marked, every):
        NotebookMarker(notebook, template, FILES, LIMITS).run()
    assert marked.cells[at].outputs[0].text == every.cells[-1].outputs[0].text != ""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_without_cells_of_their_own_nothing_more_runs(template, name):
    release = read("course", name)
    marker = NotebookMarker(mended(filled_in(release, answers(name)), release), template, None, LIMITS)
    assert marker._sharing_state() == set()


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
