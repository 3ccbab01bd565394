"""Tests that an answer counts wherever a kernel would find it: merged, moved, copied, or without metadata."""

import copy
import json

import pytest
from conftest import cell_of, graded_only
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.utils import compute_checksum, determine_grade
from own_assignments import graded
from submissions import ANSWERS, LIMITS, NAME, POINTS, earned, insert_before, verdicts_on

from autograder.nbgrader_plugin.intake.repair import KEY, grade_id, load
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in

CODE = [name for name in ANSWERS if not name.startswith("q")]
SHORT = graded_only(NAME)
SOFTMAX = ANSWERS["softmax"]


@pytest.fixture
def repaired(tmp_path):
    def read(submitted, release=SHORT, tests=None):
        path = tmp_path / f"{NAME}.ipynb"
        path.write_text(json.dumps(submitted), encoding="utf-8")
        return load(path, release, tests=tests or {})

    return read


def notes(notebook):
    return [note["text"] for note in notebook.metadata[KEY]["notes"]]


def folder(notebook, name):
    return notebook.cells.index(cell_of(notebook, name))


def merged(into, *names):
    """Return right answers with these cells merged into another, as JupyterLab's Shift+M does."""
    notebook = filled_in(SHORT, ANSWERS)
    texts = [cell_of(notebook, name).source for name in (into, *names)]
    cell_of(notebook, into).source = "\n\n".join(texts)
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell) not in names]
    return notebook


def defined_once(notebook, *names):
    """Return whether what a kernel finds at the end under these names is an answer, and not a blank cell."""
    found = {}
    for cell in notebook.cells:
        for name in names if cell.cell_type == "code" else ():
            if f"def {name}(" in cell.source or f"class {name}(" in cell.source or f"{name} =" in cell.source:
                found[name] = cell.source
    return len(found) == len(names) and not any("NotImplementedError" in text for text in found.values())


MERGED = {
    "two answers": ("softmax", "simple_attention"),
    "all answers": tuple(CODE),
    "an answer and a question": ("softmax", "q5_2"),
    "an answer behind a test": ("test_q5_1", "simple_attention"),
    "answers and the tests between them": ("softmax", "test_softmax", "simple_attention", "test_simple_attention"),
    "everything in the set-up": ("setup", *CODE),
}


@pytest.mark.parametrize("names", MERGED.values(), ids=MERGED)
def test_merged_answers_are_not_overwritten_by_a_blank_cell(repaired, names):
    notebook = repaired(merged(*names))
    assert defined_once(notebook, *(name for name in names if name in ANSWERS))
    assert [grade_id(cell) for cell in SHORT.cells] == [name for cell in notebook.cells if (name := grade_id(cell))]


def test_merged_answers_earn_full_marks_and_a_failure_names_its_cause(template, repaired):
    from conftest import with_hidden_tests

    marks = earned(verdicts_on(with_hidden_tests(repaired(merged(*CODE))), template))
    assert marks == POINTS
    broken = merged("softmax", "simple_attention")
    cell_of(broken, "softmax").source = "1 / 0\n" + cell_of(broken, "softmax").source
    verdicts = verdicts_on(with_hidden_tests(repaired(broken)), template)
    assert "ZeroDivisionError" in verdicts["simple_attention"].remark


BLANK = cell_of(SHORT, "softmax").source
COPIES = {
    "as handed out": BLANK,
    "with another comment": BLANK.replace("# YOUR CODE HERE", "# todo"),
    "without its docstring": "def softmax(scores, dim=-1):\n    raise NotImplementedError("
    + BLANK.partition("raise NotImplementedError(")[2],
}


@pytest.mark.parametrize("with_metadata", [True, False])
@pytest.mark.parametrize("blank", COPIES.values(), ids=COPIES)
def test_a_blank_copy_below_an_answer_is_taken_out(repaired, blank, with_metadata):
    notebook = filled_in(SHORT, ANSWERS)
    spare = copy.deepcopy(cell_of(notebook, "softmax")) if with_metadata else new_code_cell()
    spare.source = blank
    notebook.cells.insert(folder(notebook, "softmax") + 1, spare)
    found = repaired(notebook)
    assert defined_once(found, "softmax")
    assert "there 2 times; the last answered one counts" in notes(found)[0]


@pytest.mark.parametrize("first", [True, False])
def test_of_a_split_answer_the_piece_with_its_name_is_the_answer(template, repaired, first):
    from conftest import with_hidden_tests

    notebook = filled_in(SHORT, ANSWERS | {"softmax": "def softmax(scores, dim=-1):\n    return shares(scores, dim)"})
    piece = copy.deepcopy(cell_of(notebook, "softmax"))  # as JupyterLab splits a cell: with all its metadata
    piece.source, piece.id = SOFTMAX.replace("def softmax", "def shares"), "piece"
    notebook.cells.insert(folder(notebook, "softmax") + (not first), piece)
    found = repaired(notebook)
    assert notes(found) == []
    assert cell_of(found, "softmax").source.startswith("def softmax")
    assert earned(verdicts_on(with_hidden_tests(found), template)) == POINTS


@pytest.mark.parametrize("with_metadata", [True, False])
def test_an_answer_above_its_blank_cell_counts(repaired, with_metadata):
    notebook = filled_in(SHORT, {name: source for name, source in ANSWERS.items() if name not in ("softmax", "q5_1")})
    insert_before(notebook, "softmax", SOFTMAX, 'q5_1: str = "B"')
    if not with_metadata:
        for cell in notebook.cells:
            cell.metadata.clear()
    assert defined_once(repaired(notebook), "softmax")
    assert "q5_1 = None" not in "".join(cell.source for cell in repaired(notebook).cells)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("q5_1", 'q5_1: str = "B"'),
        ("q5_1", 'q5_1, q5_2 = "B", "C"'),
        ("softmax", "if True:\n" + "".join(f"    {line}\n" for line in SOFTMAX.splitlines())),
        ("softmax", "try:\n    softmax = torch.softmax\nexcept NameError:\n    pass"),
        ("softmax", "from my_answers import softmax"),
        ("softmax", f"%%time\n{SOFTMAX}"),
    ],
)
def test_answers_without_metadata_are_found_without_a_note(repaired, name, source):
    notebook = filled_in(SHORT, ANSWERS | {name: source})
    for cell in notebook.cells:
        cell.metadata.clear()
    found = repaired(notebook)
    assert notes(found) == []
    assert cell_of(found, name).source == source.strip("\n") or cell_of(found, name).source == source


def test_many_missing_cells_make_one_sentence(repaired):
    notebook = filled_in(SHORT, ANSWERS)
    notebook.cells = [cell for cell in notebook.cells if not (grade_id(cell) or "").startswith("test_")]
    [note] = notes(repaired(notebook))
    assert note.startswith(f"{sum((grade_id(cell) or '').startswith('test_') for cell in SHORT.cells)} cells (“test_")
    assert note.endswith("were missing and have been put back.")


def test_what_a_student_adds_to_a_locked_cell_is_kept_if_answers_need_it(repaired):
    notebook = filled_in(SHORT, ANSWERS | {"softmax": SOFTMAX.replace("torch", "t")})
    cell_of(notebook, "setup").source += "\nimport torch as t"
    cell_of(notebook, "embeddings").source += "\nnobody_needs = 1"
    found = repaired(notebook)
    after = found.cells[folder(found, "setup") + 1]
    assert (after.source, grade_id(after)) == ("import torch as t", None)
    assert "nobody_needs" not in "".join(cell.source for cell in found.cells)


DOUBLE, TRIPLE = "def double(n):\n    return n + n", "def triple(n):\n    return n + double(n)"
SUMS = new_notebook(
    metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    cells=[
        graded("cell-0a", "import math"),
        graded(
            "cell-1f",
            "def double(n):\n    '''Twice n.'''\n    # YOUR CODE HERE\n    raise NotImplementedError()",
            answer=True,
        ),
        graded("cell-2c", "assert double(2) == 4", 2),
        graded("cell-3e", "# YOUR CODE HERE\nraise NotImplementedError()", answer=True),
        graded("cell-4d", "assert triple(2) == 6\nassert math.isclose(half, 0.5)", 3),
    ],
)
SUMS.metadata["name"] = "sums"
BARE = {
    "tests kept": ["import math", DOUBLE, "assert double(2) == 4", TRIPLE + "\nhalf = 0.5", "triple(1)"],
    "tests deleted": ["import math", DOUBLE, TRIPLE, "half = 1 / 2", "print(triple(3))"],
    "one cell": [f"import math\n{DOUBLE}\n{TRIPLE}\nhalf = 0.5"],
    "a helper below": [
        "import math",
        TRIPLE,
        "half = 0.5",
        "def double(n):\n    return twice(n)",
        "def twice(n):\n    return 2 * n",
    ],
    "tests above": ["import math", "assert double(2) == 4", SUMS.cells[4].source, DOUBLE, TRIPLE, "half = 0.5"],
    "another set-up": ["from math import *", "import math, sys", DOUBLE, TRIPLE, "x, half = 1, 0.5"],
}


def failed_tests(notebook, template):
    NotebookMarker(notebook, template, None, LIMITS).run()
    return [
        grade_id(cell) for cell in notebook.cells if any(one.output_type == "error" for one in cell.get("outputs", []))
    ]


@pytest.mark.parametrize("sources", BARE.values(), ids=BARE)
def test_in_own_assignments_answers_are_recognised_by_their_names(template, repaired, sources):
    found = repaired(new_notebook(cells=list(map(new_code_cell, sources))), SUMS)
    assert failed_tests(found, template) == []
    assert sorted(filter(None, map(grade_id, found.cells))) == sorted(map(grade_id, SUMS.cells))


HIDDEN = {"cell-2c": "assert double(2) == 4", "cell-4d": "assert triple(2) == 6\nassert half == 0.5"}
ALL_HIDDEN = copy.deepcopy(SUMS)
for hidden in HIDDEN:
    cell_of(ALL_HIDDEN, hidden).source = ""
WITH_HIDDEN = {
    "an answer below its test": ["import math", "", "", DOUBLE, TRIPLE + "\nhalf = 0.5"],
    "empty cells of one's own": ["", "import math", DOUBLE, "", TRIPLE + "\nhalf = 0.5", "", ""],
    "tests deleted": ["import math", DOUBLE, TRIPLE, "half = 0.5"],
}


@pytest.mark.parametrize("sources", WITH_HIDDEN.values(), ids=WITH_HIDDEN)
def test_wholly_hidden_tests_run_after_the_answers_that_they_need(template, repaired, sources):
    found = repaired(new_notebook(cells=list(map(new_code_cell, sources))), ALL_HIDDEN, HIDDEN)
    assert [cell_of(found, name).source for name in HIDDEN] == ["", ""]
    for name, source in HIDDEN.items():
        cell_of(found, name).source = source
    assert failed_tests(found, template) == []
    assert sorted(filter(None, map(grade_id, found.cells))) == sorted(map(grade_id, SUMS.cells))


PLOT = new_notebook(
    metadata=SUMS.metadata,
    cells=[
        new_markdown_cell("Draw it."),
        graded("plot", "# YOUR CODE HERE\nraise NotImplementedError()", 2, answer=True, by_hand=True),
        new_markdown_cell("Thank you."),
        graded("double", "def double(n):\n    raise NotImplementedError()", answer=True),
    ],
)
PLOT.cells[1].metadata.nbgrader.checksum = compute_checksum(PLOT.cells[1])


@pytest.mark.parametrize("place", [1, 2])
def test_a_drawing_without_metadata_waits_for_a_person(repaired, place):
    cells = [new_markdown_cell("Draw it."), new_markdown_cell("Thank you."), new_code_cell(DOUBLE)]
    assert determine_grade(cell_of(repaired(new_notebook(cells=cells), PLOT), "plot")) == (0, 2)
    cells.insert(place, new_code_cell("print('a drawing')"))
    found = repaired(new_notebook(cells=cells), PLOT)
    assert determine_grade(cell_of(found, "plot")) == (None, 2)
    assert "print('a drawing')" in [cell.source for cell in found.cells]
    assert "look for your answer in your other cells of code" in "".join(notes(found)) or place == 1


def test_the_first_and_the_last_answer_are_found_without_metadata(repaired):
    release = copy.deepcopy(PLOT)
    release.cells.insert(0, graded("why", "YOUR ANSWER HERE", 2, answer=True, by_hand=True, text=True))
    release.cells.append(graded("last", "# YOUR CODE HERE", 2, answer=True, by_hand=True))
    texts = ["So it is.", "Draw it.", "print('a drawing')", "Thank you.", DOUBLE, "print('the end')"]
    kinds = [new_markdown_cell if text.endswith(".") else new_code_cell for text in texts]
    found = repaired(new_notebook(cells=[kind(text) for kind, text in zip(kinds, texts, strict=True)]), release)
    assert [cell.source for cell in found.cells] == texts
    assert [grade_id(cell) for cell in found.cells] == ["why", None, "plot", None, "double", "last"]
    assert notes(found) == []


STEPS = new_notebook(
    metadata=SUMS.metadata,
    cells=[
        new_markdown_cell("Print it."),
        graded("cell-9a", "raise NotImplementedError()", answer=True),
        graded("cell-9b", "assert 'print' in In[-2]\ntry:\n    x = 1\nexcept OSError as e:\n    raise e", 1),
        new_markdown_cell("Any number."),
        graded("f", "def f(n):\n    raise NotImplementedError()", answer=True),
        graded("cell-9d", "assert f(1) == 1", 1),
        new_markdown_cell("Negative ones, too."),
        graded("cell-9e", "def f(n):\n    raise NotImplementedError()", answer=True),
        graded("cell-9f", "assert f(-1) == 1", 1),
        new_code_cell(""),
    ],
)
STEP_ANSWERS = {
    "cell-9a": "print(1)",
    "f": "def f(n):\n    return n",
    "cell-9e": "def f(n):\n    return abs(n)",
}


@pytest.mark.parametrize("tests_kept", [True, False])
def test_answers_that_no_name_tells_apart_are_found_by_their_place(repaired, tests_kept):
    notebook = filled_in(STEPS, STEP_ANSWERS)
    kept = [cell for cell in notebook.cells if tests_kept or not cell.metadata.get("nbgrader", {}).get("grade")]
    for cell in kept:
        cell.metadata.clear()
    notebook.cells = [one for cell in kept for one in (new_code_cell(""), cell)]
    found = repaired(notebook, STEPS)
    found_cells = [cell for cell in found.cells if cell.source]
    assert [grade_id(cell) for cell in found_cells] == [grade_id(cell) for cell in STEPS.cells if cell.source]
    assert {name: cell_of(found, name).source for name in STEP_ANSWERS} == STEP_ANSWERS


@pytest.mark.parametrize("with_ids", [True, False])
def test_a_test_copied_above_its_answer_counts_below_it(template, repaired, with_ids):
    notebook = filled_in(SUMS, {"cell-1f": DOUBLE, "cell-3e": TRIPLE + "\nhalf = 0.5"})
    pasted = copy.deepcopy(cell_of(notebook, "cell-2c"))
    pasted.id = "pasted"
    notebook.cells.insert(1, pasted)
    if not with_ids:
        for cell in notebook.cells:
            cell.pop("id")
    found = repaired(notebook, SUMS)
    assert failed_tests(found, template) == []
    assert len(found.cells) == len(SUMS.cells)
    assert "there 2 times; the handed-out one counts" in notes(found)[0]


def test_a_test_runs_after_a_helper_that_stands_below_it(repaired):
    leaning = {
        "softmax": "def softmax(scores, dim=-1):\n    return normalised(scores.exp(), dim)",
        "SelfAttention": ANSWERS["SelfAttention"] + "\nnormalised(torch.ones(2), 0)",
    }
    notebook = filled_in(SHORT, ANSWERS | leaning)
    below = folder(notebook, "test_softmax") + 1
    helper = "def normalised(exps, dim):\n    return exps / total(exps, dim)"
    notebook.cells[below:below] = [
        new_code_cell(helper),
        new_code_cell("total = lambda exps, dim: exps.sum(dim=dim, keepdim=True)"),
    ]
    found = repaired(notebook)
    texts = [cell.source for cell in found.cells]
    assert folder(found, "softmax") < texts.index(helper) < folder(found, "test_softmax")
    names = [grade_id(cell) for cell in found.cells if grade_id(cell)]
    assert names == [grade_id(cell) for cell in SHORT.cells if grade_id(cell)]


def test_of_copied_set_up_cells_the_first_counts(repaired):
    notebook = filled_in(SHORT, ANSWERS)
    for cell in notebook.cells:
        cell.pop("id")
    notebook.cells.append(copy.deepcopy(cell_of(notebook, "setup")))
    found = repaired(notebook)
    assert folder(found, "setup") == folder(SHORT, "setup")
