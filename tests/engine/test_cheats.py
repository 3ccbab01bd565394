"""Tests that no cheat, each a real notebook, gains a mark over the same answers without it or learns a secret."""

import os

import nbformat
import pytest
from conftest import with_hidden_tests
from programs import cells
from submissions import ANSWERS, FULL, POINTS, earned, insert_before, verdicts_on

from autograder.judge.formatting import MIME
from autograder.nbgrader_plugin.hidden_tests import exercise_of
from autograder.nbgrader_plugin.intake.repair import Note, _cells, grade_id, repair
from autograder.nbgrader_plugin.marking.notices import verdict_in
from autograder.nbgrader_plugin.marking.tampering import find_signs
from autograder.sample_class import filled_in
from autograder.spec.course import question_or_exercise

CELLS = {"setup", "helpers"}
CELLS |= {f"{test}{name}" for name in ("q5_1", "softmax", "simple_attention") for test in ("", "test_")}
SECRET = f"secret-{os.getpid()}-of-the-grader"
WRONG = {
    "softmax": "def softmax(scores, dim=-1):\n    return scores",
    "simple_attention": "def simple_attention(x):\n    return x * 0",
    "q5_1": f'q5_1 = "{next(letter for letter in "ABCD" if letter != question_or_exercise("q5_1").key)}"',
}
PARTLY_RIGHT = {"the visible examples": {"softmax": 1.5}, "no gradients come back": {"softmax": 3.5}}
UNNOTICED = {
    # nothing in their source sets them apart from honest cells
    "shadowed names",
    "print a mark",
    "clear the outputs",
    "show a rubric",
    "update an earlier display",
    "a background thread",
    "an oversized reply",
    "an endless reply",
    "NaN",
    "meta tensors",
    "assigned",
    "the visible examples",
    "a malformed reply",
    "a forged reply",
    "a number formatter",
    "files named like modules",
    "solutions in the repository",
    "other kernels",
    "a string that equals every letter",
}


CHEATS = {}  # cells by name, each with the answer to softmax that goes with it, if one does
for title, source in cells("cheating/cheats"):
    name, softmax, _ = title.partition(": softmax")
    cheat, _ = CHEATS.get(name, ("", ""))
    source = source.replace("MIME", MIME)
    CHEATS[name] = (cheat, source) if softmax else (source, "")
SEEKS = dict(cells("cheating/seeks")) | {  # those with commands of the shell are no Python
    "the environment": """import os
print(os.environ, open('/proc/self/environ').read(), open('/proc/1/environ').read())
!env""",
    "solutions in the repository": "!find / -name '*.ipynb' -not -path '/proc/*' 2>/dev/null; ls ~ .. ../.. /tmp/*",
    "other kernels": "!ls ~/.local/share/jupyter/runtime /run /tmp; cat /tmp/*.json",
}


def locked(notebook):
    return [cell for cell in notebook.cells if (grade_id(cell) or "").startswith("test_")]


def on_tests(change):
    return lambda notebook: [change(cell, notebook) for cell in locked(notebook)]


def claims(**settings):
    """Return a change by which each graded cell claims these metadata for itself."""
    return lambda notebook: [one.metadata.nbgrader.update(settings) for one in notebook.cells if grade_id(one)]


def copy_test(cell, notebook):
    notebook.cells.insert(notebook.cells.index(cell), nbformat.v4.new_code_cell("4.0", metadata=cell.metadata))


def swap_tests(notebook):
    """Put the right question's name on an easier test."""
    a, b = (cell.metadata.nbgrader for cell in locked(notebook)[:2])
    a.grade_id, b.grade_id = b.grade_id, a.grade_id


def own_test_cell(notebook):
    graded = {"grade": True, "solution": False, "locked": True, "points": 100, "grade_id": "bonus", "schema_version": 3}
    notebook.cells.append(nbformat.v4.new_code_cell("100.0", metadata={"nbgrader": graded | {"task": False}}))


def other_kernel(notebook):
    notebook.metadata["kernelspec"] = {"name": "mine", "display_name": "mine", "language": "sh"}
    notebook.metadata["autograder"] = {"problem": "give full marks"}


def tag_everything(notebook):
    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution", "raises-exception", "remove-cell"]


READY = nbformat.v4.new_output("execute_result", data={"text/plain": "4.0", MIME: {"earned": 4}})
NOTICED = {
    "points": claims(points=1000),
    "no grade cell": claims(grade=False, solution=True),
    "unlocked": claims(locked=False),
    "a task": claims(task=True, grade=True, solution=False),
    "tags": tag_everything,
    "a test cell of its own": own_test_cell,
}
FORGERIES = NOTICED | {
    "a future version": claims(schema_version=99),
    "tests removed": on_tests(lambda cell, notebook: notebook.cells.remove(cell)),
    "tests emptied": on_tests(lambda cell, _: cell.update(source="4.0")),
    "tests renamed": on_tests(lambda cell, _: cell.metadata.nbgrader.update(grade_id="test_nothing")),
    "tests swapped": swap_tests,
    "tests turned into text": on_tests(lambda cell, _: cell.update(cell_type="markdown")),
    "tests copied": on_tests(copy_test),
    "outputs already there": on_tests(lambda cell, _: cell.update(outputs=[READY])),
    "another kernel": other_kernel,
}


@pytest.fixture(scope="module")
def tiny():
    """Return the release with two exercises and a question: each notebook is marked in half a second."""
    notebook = FULL.copy()
    notebook.cells = [cell for cell in FULL.cells if grade_id(cell) in CELLS]
    return notebook


@pytest.fixture(scope="module")
def honest(template, tiny):
    return submit(template, tiny)[1]


@pytest.fixture(scope="module", autouse=True)
def a_secret():
    os.environ["GRADEBOOK_PASSWORD"] = SECRET
    yield
    del os.environ["GRADEBOOK_PASSWORD"]


def submit(template, release, cheat="", answers=WRONG, forge=None):
    """Mark a submission from its raw JSON on, as the exporter reads it: notebook, marks, and what was noticed."""
    submitted = filled_in(release, answers)
    if cheat:
        insert_before(submitted, "q5_1", cheat)
    if forge:
        forge(submitted)
    notes: list[Note] = []
    read = nbformat.NotebookNode(cells=_cells(submitted.cells), metadata=nbformat.NotebookNode())
    notebook = with_hidden_tests(repair(read, release, notes))
    found = find_signs(notebook, notes)
    return notebook, earned(verdicts_on(notebook, template)), found


def assert_nothing_learnt(notebook):
    """See that the student's own cells show no check, key, reference, verdict or variable of the grader's."""
    own = [cell for cell in notebook.cells if cell.cell_type == "code" and exercise_of(cell) is None]
    shown = str([cell.outputs for cell in own])
    question = question_or_exercise("q5_1")
    for secret in (SECRET, "BEGIN HIDDEN", 'check("softmax")', *question.explanations.values()):
        assert secret not in shown.replace("re.findall", ""), secret[:60]
    for name in ("softmax", "simple_attention"):
        exercise = question_or_exercise(name)
        lines = [line.strip() for line in exercise.source.split("\n") if line.startswith("    ") and "=" in line]
        assert not any(line in shown for line in lines)
        assert not any(check.title in shown for check in exercise.checks)
    assert all(verdict_in(cell) is None for cell in own)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gains_nothing(template, tiny, honest, name):
    cheat, softmax = CHEATS[name]
    notebook, marks, _ = submit(template, tiny, cheat, WRONG | ({"softmax": softmax} if softmax else {}))
    allowed = honest | PARTLY_RIGHT.get(name, {})
    assert all(marks[exercise] <= allowed[exercise] for exercise in honest), (marks, honest)
    assert_nothing_learnt(notebook)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEKS)
def test_a_search_finds_nothing(template, tiny, honest, name):
    notebook, marks, _ = submit(template, tiny, SEEKS[name])
    assert marks == honest
    assert_nothing_learnt(notebook)


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("right", [["softmax"], ["q5_1", "simple_attention"]], ids=" and ".join)
def test_a_forged_notebook_is_marked_as_if_it_were_not(template, tiny, honest, name, right):
    """Neither do wrong answers gain, nor do right ones lose; and forged metadata are noticed."""
    answers = WRONG | {one: ANSWERS[one] for one in right}
    notebook, marks, found = submit(template, tiny, answers=answers, forge=FORGERIES[name])
    assert marks == honest | {one: POINTS[one] for one in right}
    graded = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert {exercise_of(cell): cell.metadata.nbgrader.points for cell in graded} == {one: POINTS[one] for one in marks}
    assert name not in NOTICED or any("release count" in one.what for one in found)


def test_no_cheat_leaves_files_for_the_next_student(template, tiny):
    files = dict(cells("cheating/files"))
    notebook, _, _ = submit(template, tiny, files["left"])
    assert "wrote" in str([cell.get("outputs") for cell in notebook.cells])
    notebook, marks, _ = submit(template, tiny, files["found"], answers={})
    assert "False []" in str([cell.get("outputs") for cell in notebook.cells])
    assert set(marks.values()) == {0.0}


def test_no_cheat_keeps_a_library_equivalent_for_a_later_cell(template, tiny):
    cheat = dict(cells("cheating/kept"))
    _, marks, _ = submit(template, tiny, cheat.pop("before"), WRONG | cheat)
    assert marks["simple_attention"] == 0


@pytest.mark.parametrize("name", [name for name in (*CHEATS, *SEEKS) if name not in UNNOTICED])
def test_the_instructor_is_told_where_to_look(name):
    sources = CHEATS.get(name) or [SEEKS[name]]
    cells = [nbformat.v4.new_code_cell(source) for source in sources if source]
    [first, *_] = find_signs(nbformat.v4.new_notebook(cells=cells))
    assert first.cell >= 1
    assert first.line


def test_honest_notebooks_are_not_suspected(solution):
    assert find_signs(solution) == []
