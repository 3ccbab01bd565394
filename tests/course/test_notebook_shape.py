"""Tests that notebooks ask of a reader what can be asked in a sitting or two, and that it is counted right."""

import statistics

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.cell_counts import cells, sittings, words
from autograder.spec.course import notebook_path, notebooks
from autograder.workload import RUNNING, minutes_by_sitting, minutes_in_all, opening, sitting_lengths
from autograder.workload import notebook as workload_of
from tools.notebook_shape import faults, report


@pytest.mark.parametrize("name", notebooks())
def test_a_notebook_keeps_within_its_bounds(name):
    print(report(notebook_path(name)))  # pytest shows it where the test fails, and with -rP
    assert not faults(notebook_path(name))


OPENING = """# 6. Masking

It takes away what a model must not see. [How marking works for all notebooks](../START.md) is said once.

**You will be able to**
- say why.

**You need** notebook 05. **Time:** about 0 minutes to read and try, 0 to answer; the rest is yours.
"""
BOX = """### Exercise: both

Three words more.

> **`both(a) -> Tensor`**
> · 3 points · easy · 20 minutes
>
> Blocked where `a` is.
>
> **By hand** one.

<details><summary>Hint 1</summary>Look at a first.</details>
"""
ANSWER = 'def both(a):\n    """Return both."""\n    ### BEGIN SOLUTION\n    return a\n    ### END SOLUTION'
QUESTION = "## 2. Two\n\n### Question 6.1 (1 point)\n\nWhich one?\n\n- **A** This.\n- **B** That.\n"
PRACTICE = "### Check yourself: one\n\nWhy so?\n\n<details><summary>Open</summary>Because it is.</details>\n"
WRITTEN = "### Written answer: no mask (3 points, about 12 minutes)\n\nExplain it.\n"
STOPPING = "**A good place to stop.** What you have: a mask. What comes: more."
GRADED = {"grade_id": "test", "grade": True, "solution": False}


def asked(**about):
    return {"nbgrader": {"grade": False, "solution": True} | about}


def small():
    """Return a notebook of one exercise, one question and two sittings."""
    made = [
        new_markdown_cell(OPENING.replace("How marking works for", "What holds for"), id="opening"),
        new_code_cell("from masking_tools import show\n\nimport torch", id="setup"),
        new_markdown_cell(BOX, id="box"),
        new_code_cell(ANSWER, id="both", metadata=asked(grade_id="both")),
        new_code_cell("assert both(1)\n", id="test", metadata={"nbgrader": GRADED}),
        new_code_cell("assert 1 + 1 == 2", id="claimed", metadata={"tags": ["claim"]}),
        new_markdown_cell(STOPPING, id="stop", metadata={"tags": ["stop"]}),
        new_markdown_cell(QUESTION, id="question"),
        new_code_cell("q6_1 = 'A'", id="q6_1", metadata=asked(grade_id="q6_1")),
        new_markdown_cell(PRACTICE, id="practice"),
        new_markdown_cell("**Predict** the loss.", id="guess"),
        new_code_cell("x = 1\n\nshow(x)", id="drawn", metadata={"jupyter": {"source_hidden": True}}),
        new_code_cell("x = 2  # YOUR LINE HERE", id="line"),
        new_markdown_cell(WRITTEN, id="written"),
        new_markdown_cell("### BEGIN SOLUTION\nlong\n### END SOLUTION", id="w", metadata=asked(grade=True)),
    ]
    return new_notebook(cells=made, metadata={RUNNING: 140})


def test_points_follow_minutes():
    rates = {task.name: task.points / task.minutes for name in notebooks() for task in workload_of(name).tasks}
    usual = statistics.median(rates.values())
    # The minutes are those that readers needed, so the first exercises of a kind give fewer points for them
    assert not {name: rate for name, rate in rates.items() if not usual / 2.5 <= rate <= 2 * usual}


def test_what_a_reader_meets_is_counted():
    found = {cell.name: cell for cell in cells(small())}
    assert "claimed" not in found
    kinds = "prose provided exercise answer test stop question choice practice prose folded provided written text"
    assert " ".join(cell.kind for cell in found.values()) == kinds
    assert [name for name, cell in found.items() if cell.typed] == ["both", "line"]
    active = [name for name, cell in found.items() if cell.active]
    assert active == ["both", "question", "practice", "guess", "line", "written"]
    box = found["box"]
    assert (box.words, box.task_words, box.folded, box.minutes) == (7, 14, 4, 20)
    assert (found["question"].words, found["question"].task_words, found["practice"].task_words) == (2, 6, 6)
    assert (found["guess"].predictions, found["guess"].words, found["written"].minutes) == (1, 3, 12)
    assert (found["setup"].lines, found["drawn"].lines, found["line"].lines) == (2, 2, 1)
    assert "return a" not in found["both"].source
    assert words("[two words](of/an/address) <b>and</b> – **two** `more`") == 5


def test_what_a_helper_prints_is_prose():
    messages = nbformat.v4.new_output("stream", text="three words more")
    drawn = nbformat.v4.new_output("display_data", data={"text/html": "<style>b {x: y}</style><b>and</b> two"})
    for source, wanted in (("tell()", 5), ("print(tell())", 2)):
        [cell] = cells(new_notebook(cells=[new_code_cell(source, outputs=[messages, drawn])]))
        assert cell.words == wanted


def test_minutes_are_computed_from_what_is_read_run_decided_and_answered():
    notebook = small()
    looking, doing = minutes_in_all(notebook)
    text = sum(cell.words for cell in cells(notebook))
    assert looking == pytest.approx(text / 130 + 3 / 15 + 140 / 60 + 3 * 2)
    assert doing == 1.25 * (20 + 12)
    first, second = minutes_by_sitting(notebook)
    assert [len(part) for part in sittings(cells(notebook))] == [6, 8]
    assert (first.doing, second.doing) == (25, 15)
    assert first.looking + second.looking == pytest.approx(looking)
    notebook.cells[0].source = opening(notebook)
    assert "about 10 minutes to read and try, 40 to answer; the rest is yours" in notebook.cells[0].source
    assert sitting_lengths(notebook) == [25, 25]


WRONG = [  # a cell, what is changed in it, and what is said then
    ("guess", "loss", "loss" + " more" * 180, "guess: 183 words in one cell, 180 at most"),
    ("box", "Blocked", "Blocked" + " more" * 107, "box: 121 words in the exercise, 120 at most"),
    ("both", "Return both", "Return both" + " more" * 145, "box: 268 words in box and docstring, 160 at most"),
    ("question", "one?", "one?" + " more" * 150, "question: 156 words in the question, 150 at most"),
    ("box", "**By hand**", "By hand", "box: 0 examples by hand; there should be one"),
    ("box", "<details>", "<summary>Hint</summary>" * 2 + "<details>", "box: 3 hints, 2 at most"),
    ("line", "x = 2", "x = 2" + "\nx += 1" * 25, "line: 26 lines of provided code in one cell, 25 at most"),
    ("setup", "import show", "import *", "the first code cell has no line `from …_tools import` with the names"),
    ("stop", "What comes", "Then", "stop: begins with “**A good place to stop.**"),
    ("opening", "../START.md", "#", "the opening has no link to START.md"),
    ("opening", "What holds for", "How marking works for", "the opening has marking rules"),
    ("opening", "- say why.", "- say why.\n" * 5, "objectives: 5 of 4"),
]
OVER = ("cells: 104 of 90", "words in view, outside boxes and questions: ")  # an optional notebook is as long as it is


def test_what_is_over_a_bound_is_named(tmp_path):
    path, notebook = tmp_path / "06-masking.ipynb", small()
    nbformat.write(notebook, path)
    assert not faults(path)
    for name, old, new, _ in WRONG:
        [cell] = [cell for cell in notebook.cells if cell.id == name]
        cell.source = cell.source.replace(old, new)
    notebook.cells += [new_markdown_cell("more " * 160) for _ in range(90)]
    nbformat.write(notebook, path)
    (tmp_path / "masking_tools.py").write_text("x = 1\n\n" * 121)
    always = ("lines of its tools: 121 of 120", "most cells with nothing to type", *(output for *_, output in WRONG))
    found = faults(path)
    assert [output for output in (*OVER, *always) if not any(fault.startswith(output) for fault in found)] == []
    found = faults(path.rename(tmp_path / "06-masking-further.ipynb"))
    assert [output for output in (*OVER, *always) if not any(fault.startswith(output) for fault in found)] == list(OVER)
