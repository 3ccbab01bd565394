"""Tests that nbgrader's ordinary assignments get nbgrader's marks, with nothing of this course and without PyTorch."""

import contextlib
import re
import shutil
import sqlite3
from pathlib import Path

import nbformat
import nbgrader
import pytest
from conftest import ROOT
from nbformat.v4 import new_notebook
from nbgrader.utils import determine_grade
from own_assignments import MARKS, PENALTIES, graded, rows, run

from autograder.nbgrader_plugin.formgrader import written_answers
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.nbgrader_plugin.marking.own_tests import ON_STDERR, lines_in, reasons
from autograder.nbgrader_plugin.marking.tampering import find_signs
from autograder.sandbox.limits import Limits

pytestmark = pytest.mark.slow  # whole classes
QUICKSTART = Path(nbgrader.__file__).parent / "docs" / "source" / "user_guide" / "source"
SECOND = ROOT / "tests" / "second_course"
CONFIGURATION = """
import sys
from pathlib import Path

c = get_config()
c.CourseDirectory.course_id = "Another course"
c.IncludeHeaderFooter.header = "source/header.ipynb"
c.AssignLatePenalties.plugin_class = "late.HourlyPenalty"
sys.path.insert(0, str(Path(__file__).parent))
"""
PENALTY = """
from nbgrader.plugins import BasePlugin

class HourlyPenalty(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return total_seconds_late / 3600
"""


ALL_KINDS = new_notebook(
    metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    cells=[
        graded("value", "### BEGIN SOLUTION\nvalue = 0.5\n### END SOLUTION", answer=True),
        graded("number", "import sys, warnings\nvalue", 2),
        graded("integer", "int(value * 4)", 4),
        graded("nothing", "None", 2),
        graded("negative", "-value", 2),
        graded("printed", "print(value)", 2),
        graded("shown", "display(value)", 2),
        graded("both", "print('a')\ndisplay(1)\nvalue", 2),
        graded("nan", "float('nan')", 2),
        graded("numpy", "import numpy as np\nnp.float64(value)", 2),
        graded("warned", "warnings.warn('x')\nvalue", 2),
        graded("stderr", "print('x', file=sys.stderr)\nvalue", 2),
        graded("free", "value", 0.5),
        graded(
            "hidden", "assert value\n### BEGIN HIDDEN TESTS\nassert value == 0.5, 'a half'\n### END HIDDEN TESTS", 2
        ),
        graded("autotest", "### HASHED AUTOTEST value\n### AUTOTEST [value, 1]", 2),
        graded("written", "### BEGIN SOLUTION\nBecause.\n### END SOLUTION", 3, answer=True, by_hand=True, text=True),
        graded("drawn", "### BEGIN SOLUTION\nprint(1)\n### END SOLUTION", 3, answer=True, by_hand=True),
        graded("job", "Do it.\n=== BEGIN MARK SCHEME ===\nYes\n=== END MARK SCHEME ===", 5, task=True, text=True),
    ],
)
SQUARES = "def squares(n):\n    if n < 1:\n        raise ValueError(n)\n    return [i ** 2 for i in range(1, n + 1)]"
STDERR = ON_STDERR.removesuffix(":")
RIGHT = {"squares": SQUARES, "sum_of_squares": "def sum_of_squares(n):\n    return sum(squares(n))"}
RIGHT |= {"value": "value = 0.5", "part-a": "Because *so*: é张 <b>x</b>", "written": "Half.", "drawn": "print(3)"}
ANSWERS = {
    "blank": {},
    "right": RIGHT,  # an hour and a half late
    "wrong": RIGHT | {"squares": SQUARES.replace("n + 1", "n"), "value": "value = -1", "part-a": ""},
    "warns": RIGHT | {"squares": "import warnings\n" + SQUARES.replace("    if", "    warnings.warn('!')\n    if")},
    "raises": {"squares": "def squares(n):\n    return 1 / 0", "value": "value = None\n%time 1\n!echo hi"},
    "renamed": RIGHT,  # the cell `squares` bears another name: stock gives up, and so gives no mark
    "half": {"squares": "def squares(n) return\nopen('jupyter.png', 'rb').read()"},  # one of the three notebooks only
    "too_much": RIGHT | {"value": "value = 1.5"},  # 6 of 4 points: stock gives up as well
}


def hand_in(folder: Path, student: str, answers: dict[str, str], assignment: str = "ps1") -> None:
    location = folder / "submitted" / student / assignment
    shutil.copytree(folder / "release" / assignment, location)
    for path in location.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            cell.source = answers.get(grade_id(cell), cell.source)
            if student == "renamed" and grade_id(cell) == "squares":
                cell.metadata.nbgrader.grade_id = "another"
        nbformat.write(notebook, path)
    if student == "right":
        (location / "timestamp.txt").write_text("2026-01-01 13:30:00 UTC")
    if student == "half":
        for name in ("problem2.ipynb", "kinds.ipynb"):
            (location / name).unlink()


def page(folder: Path, student: str, notebook: str = "problem1") -> str:
    text = (folder / "feedback" / student / "ps1" / f"{notebook}.html").read_text("utf-8")
    return re.sub(r"<[^>]*>", "", text.partition("</style>")[2])


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    stock, ours = (tmp_path_factory.mktemp("ordinary") / name for name in ("stock", "ours"))
    shutil.copytree(QUICKSTART, stock / "source", ignore=shutil.ignore_patterns("ps1_autotest", "*.html"))
    shutil.copy(QUICKSTART.parent / "autotests.yml", stock)
    nbformat.write(ALL_KINDS, stock / "source" / "ps1" / "kinds.ipynb")
    (stock / "nbgrader_config.py").write_text(CONFIGURATION)
    (stock / "late.py").write_text(PENALTY)
    run(stock, "nbgrader", "generate_assignment", "ps1")
    run(stock, "nbgrader", "db", "assignment", "add", "ps1", "--duedate", "2026-01-01 12:00:00 UTC")
    for student, answers in ANSWERS.items():
        hand_in(stock, student, answers)
    ours = stock.parent / "ours"
    shutil.copytree(stock, ours)
    run(stock, "nbgrader", "autograde", "ps1", fails=True)  # two students whom it cannot mark
    output = run(ours, "autograder", "grade", "--workers=1", "ps1")
    assert f"{len(ANSWERS)} marked, 0 unchanged, 0 failed" in output
    return stock, ours


def test_every_mark_is_stock_nbgraders(marked):
    stock, ours = marked
    reference_result, own = rows(stock, MARKS, 3), rows(ours, MARKS, 3)
    assert set(reference_result) == set(own)
    differ = {key for key in own if reference_result[key] != own[key]}
    assert {student for student, _, _ in differ} == {"renamed", "too_much"}
    assert {reference_result[key][0] for key in differ} == {None}
    assert own["renamed", "problem1", "correct_squares"][0] == 1
    assert own["too_much", "kinds", "integer"][0] == 0
    assert own["wrong", "kinds", "free"][0] == 0.5  # stock's rule: a negative number is no number of points
    assert rows(stock, PENALTIES, 2) == rows(ours, PENALTIES, 2)
    assert rows(ours, PENALTIES, 2)["right", "kinds"] == (1.5,)
    kept = nbformat.read(ours / "autograded" / "right" / "ps1" / "problem2.ipynb", as_version=4)
    assert [cell.source for cell in kept.cells if grade_id(cell) == "part-a"] == [RIGHT["part-a"]]


def test_a_page_says_what_failed_and_where_and_shows_no_hidden_test(ours):
    raised = page(ours, "raises")
    assert "ZeroDivisionError: division by zero" in raised
    assert "in squares, line 2: return 1 / 0" in raised
    assert "in correct_squares, line 2: assert squares(1) == [1]" in raised
    assert "Another course" in raised
    assert "AssertionError: a half" in page(ours, "too_much", "kinds")
    assert "value == 0.5" not in page(ours, "too_much", "kinds")
    assert "which is no number of points from 0 to 4" in page(ours, "too_much", "kinds")
    assert "Something was written to stderr" in page(ours, "warns")
    assert re.search("There is no problem2.ipynb|no notebook", page(ours, "half", "problem2"))


@pytest.fixture
def ours(marked, tmp_path):
    return shutil.copytree(marked[1], tmp_path / "ours")  # which a test may change


def test_text_on_stderr_fails_unless_a_setting_lets_it_pass(ours):
    """With the reason in the report; a change of the setting counts as a change."""
    assert mark_of_warns(ours) == 0
    assert "by nbgrader's rule counts as a failure" in " ".join(run(ours, "autograder", "report").split())
    with (ours / "nbgrader_config.py").open("a") as file:
        file.write("\nc.Judge.stderr_fails = False\n")
    assert "1 marked, 0 unchanged" in run(ours, "autograder", "grade", "--workers=1", "ps1", "--student", "warns")
    assert mark_of_warns(ours) == 1
    assert "UserWarning: !" in page(ours, "warns")


def mark_of_warns(folder: Path) -> object:
    return rows(folder, MARKS, 3)["warns", "problem1", "correct_squares"][0]


def test_nothing_is_left_in_the_course_and_a_changed_test_is_marked_anew(ours):
    assert {path.name for path in (ours / "submitted").iterdir()} == set(ANSWERS)
    with contextlib.closing(sqlite3.connect(ours / "gradebook.db")) as gradebook:
        assert {row[0] for row in gradebook.execute("SELECT id FROM student")} == set(ANSWERS)
    assert not (ours / "classroom").exists()
    assert f"0 marked, {len(ANSWERS)} unchanged" in run(ours, "autograder", "grade", "--workers=1", "ps1")
    path = ours / "source" / "ps1" / "kinds.ipynb"
    path.write_text(path.read_text().replace("'a half'", "'the half of 1'"))
    run(ours, "nbgrader", "generate_assignment", "ps1", "--force")
    assert "1 marked, 0 unchanged" in run(ours, "autograder", "grade", "--workers=1", "ps1", "--student", "too_much")
    assert "AssertionError: the half of 1" in page(ours, "too_much", "kinds")


def test_an_answer_below_its_wholly_hidden_test_earns_its_points(tmp_path):
    """Its released text is empty: what it needs is read from the gradebook."""
    hidden = "### BEGIN HIDDEN TESTS\nassert squares(2) == [1, 4]\n### END HIDDEN TESTS"
    stub = "def squares(n):\n    ### BEGIN SOLUTION\n    return []\n    ### END SOLUTION"
    (folder := tmp_path / "ours" / "source" / "ps1").mkdir(parents=True)
    cells = [graded("squares", stub, answer=True), graded("correct_squares", hidden, 2)]
    nbformat.write(new_notebook(metadata=ALL_KINDS.metadata, cells=cells), folder / "problem1.ipynb")
    ours = folder.parents[1]
    (ours / "nbgrader_config.py").write_text("c = get_config()")
    run(ours, "nbgrader", "generate_assignment", "ps1")
    hand_in(ours, "ada", RIGHT)
    path = ours / "submitted" / "ada" / "ps1" / "problem1.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.reverse()
    nbformat.write(notebook, path)
    run(ours, "autograder", "grade", "--workers=1", "ps1")
    assert rows(ours, MARKS, 3)["ada", "problem1", "correct_squares"][0] == 2
    assert "[1, 4]" not in page(ours, "ada")


def test_what_is_not_python_or_not_there_is_refused_in_a_sentence(ours):
    output = run(ours, "autograder", "grade", "ps2", fails=True)
    assert output == "there is no assignment 'ps2'. Did you mean ps1?\n"
    for folder in ("source", "release"):
        (ours / folder / "r").mkdir()
        other = new_notebook(metadata={"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}})
        nbformat.write(other, ours / folder / "r" / "sheet.ipynb")
    shutil.copytree(ours / "release" / "r", ours / "submitted" / "right" / "r")
    output = run(ours, "autograder", "grade", "r", fails=True)
    assert "r/sheet.ipynb is written in R, and autograder marks Python notebooks only" in output
    assert "Traceback" not in output
    old = ours / "release" / "ps1" / "problem2.ipynb"
    old.write_text((released := old.read_text()).replace('"schema_version": 3', '"schema_version": 1'))
    output = run(ours, "autograder", "grade", "ps1", fails=True)
    assert "ps1/problem2.ipynb comes from an older nbgrader" in output
    assert "Traceback" not in output
    old.write_text(released)
    (ours / "nbgrader_config.py").write_text(f"{CONFIGURATION}\nc.ClearHiddenTests.begin_test_delimeter = 'SECRET'")
    assert "nbgrader's own marks of hidden tests only" in run(ours, "autograder", "grade", "ps1", fails=True)


def test_a_second_course_names_a_mistake_and_plain_nbgrader_marks_it_too(tmp_path):
    """The example of docs/your-own-assignments.md."""
    folder = tmp_path / "counting"
    shutil.copytree(SECOND, folder)
    assert "ps1.ipynb has no outputs" in run(folder, "autograder", "release", fails=True)
    run(folder, "autograder", "run-solutions")
    assert "1 notebooks are released into release/" in run(folder, "autograder", "release")
    lines = ("def word_count(text):", "    counts = {}", "    for word in text%s.split():")
    count = "\n".join([*lines, "        counts[word] = counts.get(word, 0) + 1", "    return counts"])
    commonest = "def commonest(text):\n    counts = word_count(text)\n    return max(counts, key=counts.get)"
    right = {"word_count": count % ".lower()", "commonest": f"{commonest} if counts else None"}
    hand_in(folder, "ada", right | {"why": "It is no meaning."})
    hand_in(folder, "ben", {"word_count": count % "", "commonest": commonest})
    assert "2 marked" in run(folder, "autograder", "grade", "--workers=1", "--all")
    marks = {(student, cell): row[0] for (student, _, cell), row in rows(folder, MARKS, 3).items()}
    expected = {"ada": (2, 1, None), "ben": (1, 0, 0)}
    cells = ("test_word_count", "test_commonest", "why")
    assert marks == {(who, cell): mark for who in expected for cell, mark in zip(cells, expected[who], strict=True)}
    assert "“The” and “the” are counted apart" in page(folder, "ben", "ps1")
    assert "ValueError: max() arg is an empty sequence" in page(folder, "ben", "ps1")
    assert "has no commonest one" not in page(folder, "ben", "ps1")
    report = run(folder, "autograder", "report")
    assert "case kept: 1 student" in report
    run(folder, "nbgrader", "autograde", "ps1", "--force", "--student", "ben")
    assert {(student, cell): row[0] for (student, _, cell), row in rows(folder, MARKS, 3).items()} == marks


def test_formgrader_shows_the_sample_answer_where_there_is_no_course(monkeypatch):
    monkeypatch.setattr(written_answers, "notebooks", tuple)
    monkeypatch.setattr(written_answers, "home", lambda: pytest.fail("there is no course"))
    panel = written_answers.panel_for(SECOND / "source" / "ps1" / "ps1.ipynb", "why", "/written")
    assert "Because case says where a word stands" in panel


def test_an_endless_answer_uses_the_whole_time_limit_only_once(template):
    source = (
        "import time\ndef loops():\n    time.sleep(600)\ndef fine():\n    return 1\ndef calls():\n    return loops()"
    )
    tests = ["assert loops()", "assert calls()", "assert fine() == 1", "loops()\n1"]
    cells = [graded("answer", source, answer=True)]
    cells += [graded(f"test_{number}", test, 1) for number, test in enumerate(tests)]
    notebook = new_notebook(cells=cells)
    NotebookMarker(notebook, template, limits=Limits(cell=8, grace=2)).run()
    assert [determine_grade(cell)[0] for cell in notebook.cells[1:]] == [0, 0, 1, 0]
    limits = [re.findall(r"limit of (\d+) seconds", str(cell.outputs[-1:])) for cell in notebook.cells[1:]]
    assert [found[:1] for found in limits] == [["8"], ["2"], [], ["2"]]
    assert notebook.cells[1].outputs[-1].traceback == [
        "CellTimeoutError: This cell was stopped at its time limit of 8 seconds.",
        "in test_0, line 1: assert loops()",
        "in answer, line 3: time.sleep(600)",
    ]


def test_points_after_too_many_outputs_do_not_count(template):
    tests = [f"for n in range({many}):\n    display(n)\n0.25" for many in (400, 1500)]
    tests.append(f"import sys\nprint(1, file=sys.stderr)\n{tests[0]}")
    notebook = new_notebook(cells=[graded(f"test_{number}", test, 1) for number, test in enumerate(tests)])
    NotebookMarker(notebook, template, limits=Limits(cell=20)).run()
    assert [determine_grade(cell)[0] for cell in notebook.cells] == [0.25, 0, 0]
    assert max(len(cell.outputs) for cell in notebook.cells) < 310, "the flood costs the grader little"


WARNS = "import sys\nprint('old', file=sys.stderr)\n"


@pytest.mark.parametrize("stderr_fails", [True, False])
def test_an_error_is_said_first_and_a_warning_after_it(template, stderr_fails):
    tests = [WARNS + "{}['dya']", WARNS, WARNS + "0.5", WARNS + "7"]
    cells = [graded(f"test_{number}", test, 1) for number, test in enumerate(tests)]
    NotebookMarker(new_notebook(cells=cells), template, stderr_fails=stderr_fails).run()
    marks = [determine_grade(cell)[0] for cell in cells]
    output = [[line.partition(": ")[0] for line in reasons(cell)] for cell in cells]
    error = ["KeyError", "in test_0, line 3"]
    if stderr_fails:
        assert marks == [0, 0, 0, 0]
        assert output == [[*error, STDERR], [STDERR], [STDERR], [STDERR]]
        assert [one.output_type for one in cells[0].outputs] == ["error", "stream"]
    else:
        assert marks == [0, 1, 0.5, 0]
        assert output == [error, [], [], ["ValueError"]]
    assert all("old" in str(cell.outputs) for cell in cells), "what was written is shown"


def test_a_traceback_names_lines_that_students_have_and_no_others():
    test = graded("test", "assert f(1)\n### BEGIN HIDDEN TESTS\nassert f(2) == 77\n### END HIDDEN TESTS", 1)
    cells = [graded("f", "def f(n):\n    return 1 / n", answer=True), test]
    trace = "Cell In[2], line 3\n----> 3 assert f(2) == 77\n"
    trace += "Cell In[1], line 2, in f(n)\n      1 def f(n):\n----> 2     return 1 / n\n"
    assert lines_in(trace, cells) == ["in f, line 2: return 1 / n"]
    assert lines_in(trace.replace("f(2) == 77", "f(1)"), cells)[0] == "in test, line 1: assert f(1)"


@pytest.mark.parametrize(
    ("cheat", "mark"),
    [  # the table in SECURITY.md; what earns 1 here is open, and it is in the report
        ("import IPython\nIPython.core.interactiveshell.InteractiveShell.showtraceback = lambda *a, **k: None", 0),
        ("import IPython\nIPython.core.interactiveshell.InteractiveShell.showtraceback = None", 0),
        ("import os\nos._exit(0)", 0),
        ("class Yes:\n    def __eq__(self, other): return True\ndef f():\n    return Yes()", 1),
        ("get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])", 1),
    ],
)
def test_cheats_in_an_assertion_earn_what_is_said(template, cheat, mark):
    cells = [graded("f", f"def f():\n    pass\n{cheat}", answer=True), graded("test_f", "assert f() == 1", 1)]
    notebook = new_notebook(cells=cells)
    NotebookMarker(notebook, template, limits=Limits(cell=8, grace=2)).run()
    assert determine_grade(cells[1])[0] == mark
    if mark:
        assert find_signs(notebook), "nothing in the report tells of it"
