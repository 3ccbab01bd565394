"""Tests that nbgrader runs an instructor's own test cells, and that a cell marks a course exercise if it says so."""

import copy

import nbformat
import pytest
from conftest import cell_of
from nbgrader.utils import determine_grade
from own_assignments import graded
from submissions import LIMITS

from autograder.nbgrader_plugin.hidden_tests import exercise_of, refuse_unknown_names
from autograder.nbgrader_plugin.intake.repair import _cells, grade_id, repair
from autograder.nbgrader_plugin.marking import notebook_marker
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker, zero_everywhere
from autograder.sample_class import filled_in
from autograder.spec.course import exercise

ENCODE = "def encode(text):\n    return [shift + ord(letter) for letter in text]"  # not what notebook 02 asks for
WRONG = "def encode(text):\n    return [ord(letter) for letter in text]"
OWN_TEST = 'assert encode("ab") == [98, 99], "every letter is moved on by one"'
HIDDEN = '\n### BEGIN HIDDEN TESTS\nassert encode("") == []\n### END HIDDEN TESTS'
SOFTMAX, POINTS = exercise("softmax").source, exercise("softmax").points


def check(name):
    return f'\n### BEGIN HIDDEN TESTS\nfrom autograder import check\n\ncheck("{name}")\n### END HIDDEN TESTS'


def notebook(*cells):
    return nbformat.v4.new_notebook(cells=list(cells))


def marked(template, source, answers, change=lambda submitted: None):
    """Return a notebook marked as nbgrader has it: by grade_id the number it reads, and by grade_id the verdicts."""
    release = copy.deepcopy(source)
    for cell in release.cells:
        cell.source = cell.source.partition("\n### BEGIN HIDDEN TESTS")[0]
    submitted = filled_in(release, answers)
    change(submitted)
    read = nbformat.NotebookNode(cells=_cells(submitted.cells), metadata=nbformat.NotebookNode())
    repaired = repair(read, release, [])
    whole = {grade_id(cell): cell.source for cell in source.cells if grade_id(cell) and cell.metadata.nbgrader.locked}
    for cell in repaired.cells:
        cell.source = whole.get(grade_id(cell), cell.source)
    verdicts = NotebookMarker(repaired, template, limits=LIMITS).run()
    nbformat.validate(repaired)
    return numbers(repaired), verdicts, repaired


def numbers(marked_notebook):
    tests = [cell for cell in marked_notebook.cells if grade_id(cell) and cell.metadata.nbgrader.grade]
    return {grade_id(cell): determine_grade(cell)[0] for cell in tests}


OTHER_COURSE = notebook(
    nbformat.v4.new_code_cell("shift = 1"),
    graded("encode", "def encode(text):\n    raise NotImplementedError", answer=True),
    graded("test_encode", OWN_TEST + HIDDEN, points=4),
)


@pytest.mark.parametrize(
    ("answer", "mark", "output"),
    [
        (ENCODE, 4, ""),
        (WRONG, 0, "AssertionError: every letter is moved on by one"),
        ("def encode(text):\n    return [98, 99]", 0, "AssertionError"),  # the hidden test
    ],
)
def test_another_courses_test_cell_is_run_whatever_its_grade_id(template, answer, mark, output):
    marks, verdicts, done = marked(template, OTHER_COURSE, {"encode": answer})
    assert marks == {"test_encode": mark}
    assert not verdicts
    blank = copy.deepcopy(OTHER_COURSE)
    assert not zero_everywhere(blank, "because")
    assert numbers(blank) == {"test_encode": 0}
    shown = str(done.cells[-1].outputs)
    assert output in shown
    assert 'encode(""' not in shown, "the hidden tests are shown"


def fork(*tests):
    return notebook(
        nbformat.v4.new_code_cell("import torch"),
        graded("softmax", "def softmax(scores, dim=-1):\n    raise NotImplementedError", answer=True),
        graded("encode", "def encode(text):\n    raise NotImplementedError", answer=True),
        *tests,
    )


def test_several_test_cells_may_mark_one_exercise(template):
    tests = fork(
        graded("test_softmax", "1" + check("softmax"), POINTS),
        graded("test_encode", OWN_TEST.replace("98, 99", "97, 98"), 4),
        graded("again", "1" + check("softmax"), 1),
        graded("test_attention", "1" + check("softmax"), 7),
    )
    marks, verdicts, _ = marked(template, tests, {"softmax": SOFTMAX, "encode": WRONG})
    assert marks == {"test_softmax": POINTS, "test_encode": 4, "again": 1, "test_attention": 7}
    marked_softmax = dict.fromkeys(("test_softmax", "again", "test_attention"), "softmax")
    for found in (verdicts, zero_everywhere(tests, "because")):
        assert {name: verdict.exercise for name, verdict in found.items()} == marked_softmax
    assert set(numbers(tests).values()) == {0}


def test_given_cells_of_an_instructors_run_beside_an_exercise_too(template):
    """Also those of which nothing needs a name: a test may read what they write."""
    writes = graded("ready", "_ = open('shift.txt', 'w').write('1')")  # the course's first cell is named so, too
    writes.metadata.nbgrader = {"grade_id": "ready", "grade": False, "solution": False, "locked": True}
    tests = fork(
        writes,
        graded("test_softmax", "1" + check("softmax"), POINTS),
        graded("test_encode", "assert encode('a') == [96 + int(open('shift.txt').read())]", 4),
    )
    marks, _, _ = marked(template, tests, {"softmax": SOFTMAX, "encode": WRONG})
    assert marks == {"test_softmax": POINTS, "test_encode": 4}


def test_a_given_cell_of_the_course_runs_for_an_own_hidden_test(template, monkeypatch):
    monkeypatch.setattr(notebook_marker, "given_cells", lambda _: {"start = 96", "unneeded = 1 / 0"})
    hidden = HIDDEN.replace('("") == []', '("a") == [start + 1]')
    tests = fork(
        nbformat.v4.new_code_cell("start = 96"),
        nbformat.v4.new_code_cell("unneeded = 1 / 0"),
        graded("test_softmax", "1" + check("softmax"), POINTS),
        graded("test_encode", OWN_TEST.replace("98, 99", "97, 98") + hidden, 4),
    )
    marks, _, done = marked(template, tests, {"softmax": SOFTMAX, "encode": WRONG})
    assert marks == {"test_softmax": POINTS, "test_encode": 4}
    assert [cell.source for cell in done.cells[3:5] if cell.execution_count] == ["start = 96"]


def claims_in_the_answer(submitted):
    cell = cell_of(submitted, "encode")
    cell.source += check("softmax")
    cell.metadata.nbgrader.update(grade=True, solution=False, locked=True, points=100)


BESIDE = [nbformat.v4.new_code_cell(check("softmax")), graded("test_softmax", check("softmax"), points=100)]
EMPTY = "pass\n### BEGIN HIDDEN TESTS\npass\n### END HIDDEN TESTS"
CLAIMS = {
    "in a test cell": lambda submitted: cell_of(submitted, "test_encode").update(source=check("softmax")),
    "beside it": lambda submitted: submitted.cells.extend(copy.deepcopy(BESIDE)),
    "in the answer": claims_in_the_answer,
    "takes it away": lambda submitted: cell_of(submitted, "again").update(source=EMPTY),
}


@pytest.mark.parametrize("change", CLAIMS.values(), ids=CLAIMS)
def test_a_student_cannot_say_which_exercise_a_cell_marks(template, change):
    tests = fork(graded("test_encode", OWN_TEST, 4), graded("again", "1" + check("softmax"), 1))
    wrong = "def softmax(scores, dim=-1):\n    return scores * 0"
    marks, verdicts, _ = marked(template, tests, {"softmax": wrong, "encode": WRONG}, change)
    assert marks["test_encode"] == 0
    assert marks["again"] < 1
    assert set(marks) == {"test_encode", "again"}
    assert {name: verdict.exercise for name, verdict in verdicts.items()} == {"again": "softmax"}


@pytest.mark.parametrize(
    "source",
    [
        OWN_TEST,
        'check("softmax")\n' + OWN_TEST,  # a function of their own, where students see it
        OWN_TEST + HIDDEN,
        OWN_TEST + HIDDEN.replace("assert", '# check("softmax")\nassert'),
    ],
)
def test_a_cell_without_a_hidden_line_marks_no_exercise(source):
    assert exercise_of(graded("test_softmax", source, 4)) is None


def test_a_check_that_names_no_exercise_is_refused():
    cells = fork(graded("test_encode", "1" + check("encod"), 4)).cells
    with pytest.raises(ValueError, match=r"^05/05\.ipynb: .*“test_encode” say check\('encod'\).* again\.$"):
        refuse_unknown_names(cells, "05/05.ipynb")
    refuse_unknown_names(OTHER_COURSE.cells, "05/05.ipynb")


def test_a_question_of_another_notebook_is_refused_with_its_notebook():
    cells = fork(graded("test_q6_1", "1" + check("q6_1"), 1)).cells  # of a class when questions had other numbers
    with pytest.raises(ValueError, match=r"that question is in 06-masking.* its marks stay as they are"):
        refuse_unknown_names(cells, "05-attention/05-attention.ipynb")
    refuse_unknown_names(cells, "06-masking/06-masking.ipynb")
    refuse_unknown_names(cells, "mine/mine.ipynb")
