"""Tests that a manual mark survives marking again, and that a changed answer asks for another review."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import compute_checksum
from sqlalchemy import event
from sqlalchemy.engine import Engine

from autograder.batch.marking import writing_preprocessors
from autograder.nbgrader_plugin.gradebook.manual_grades import SaveMarks
from autograder.nbgrader_plugin.preprocessors import RestoreCells

NAME = "05-attention"


def notebook(written="Because of the variance.", code="return 7", points=2.0):
    def about(name, **more):
        usual = {"grade_id": name, "schema_version": 3, "locked": False, "task": False, "grade": False, "points": 4}
        return {"nbgrader": usual | more}

    shown = [new_output("execute_result", data={"text/plain": str(points)})]
    cells = [
        new_code_cell(code, metadata=about("softmax", solution=True)),
        new_code_cell("check('softmax')", metadata=about("test_softmax", grade=True, solution=False), outputs=shown),
        new_markdown_cell(written, metadata=about("written_scaling", grade=True, solution=True)),
    ]
    blank = nbformat.NotebookNode(cells[2] | {"source": "YOUR ANSWER HERE"})
    cells[2].metadata.nbgrader["checksum"] = compute_checksum(blank)
    return new_notebook(cells=cells)


def made(folder, cells):
    """Make a gradebook in which Amina hands in these cells. Return its address, and a preprocessor's resources."""
    url = f"sqlite:///{folder}/{len(cells)}.db"
    with Gradebook(url, "transformers") as book:
        book.add_assignment(NAME)
        book.add_notebook(NAME, NAME)
        for cell in cells:
            about = cell.metadata.nbgrader
            kept = {"cell_type": cell.cell_type, "source": cell.source, "checksum": compute_checksum(cell)}
            book.add_source_cell(about.grade_id, NAME, NAME, **kept)
            if about.grade:
                book.add_grade_cell(about.grade_id, NAME, NAME, max_score=4, cell_type=cell.cell_type)
            if about.solution:
                book.add_solution_cell(about.grade_id, NAME, NAME)
        book.add_student("amina")
        book.add_submission(NAME, "amina")
    return url, {"nbgrader": {"notebook": NAME, "assignment": NAME, "student": "amina", "db_url": url}}


@pytest.fixture
def mark(tmp_path):
    """Save a marked notebook into a gradebook; return which grades ask for a person then."""
    url, resources = made(tmp_path, notebook().cells)

    def save(given=None, **changes):
        SaveMarks().preprocess(given or notebook(**changes), resources)
        with Gradebook(url, "transformers") as book:
            [submitted] = book.find_submission(NAME, "amina").notebooks
            return {grade.name for grade in submitted.grades if grade.needs_manual_grade}

    save.url = url
    return save


def by_hand(mark, score=1.5, name="written_scaling"):
    with Gradebook(mark.url, "transformers") as book:
        grade = book.find_grade(name, NAME, NAME, "amina")
        grade.manual_score, grade.needs_manual_grade = score, False
        book.find_comment("written_scaling", NAME, NAME, "amina").manual_comment = "And the gradients?"
        book.db.commit()


def scores(mark):
    with Gradebook(mark.url, "transformers") as book:
        [submitted] = book.find_submission(NAME, "amina").notebooks
        assert {one.comment for one in submitted.comments} >= {"And the gradients?"}
        return {grade.name: grade.score for grade in submitted.grades}


def test_an_unchanged_answer_keeps_its_mark_and_does_not_ask_again(mark):
    assert mark(written="YOUR ANSWER HERE") == set()
    for _ in range(2):
        assert mark() == {"written_scaling"}, "nobody has marked it"
    by_hand(mark)
    for _ in range(2):
        assert mark(code="return 8", points=3.0) == set(), "another exercise changed, not this answer"
    assert scores(mark) == {"written_scaling": 1.5, "test_softmax": 3.0}


def test_a_changed_answer_keeps_its_mark_and_waits_for_a_person(mark):
    mark()
    by_hand(mark)
    for _ in range(2):  # the second time nobody has looked yet
        assert mark(written="Because of the variance!") == {"written_scaling"}
    assert mark(written="Because of the variance!") == {"written_scaling"}, "marked again, but nobody has looked"
    assert scores(mark)["written_scaling"] == 1.5
    by_hand(mark, 2.0)
    assert mark(written="Because of the variance!") == set()
    assert scores(mark)["written_scaling"] == 2.0


def test_without_digests_a_marked_answer_waits_for_a_person(mark):
    mark()
    by_hand(mark)
    with Gradebook(mark.url, "transformers") as book:
        book.db.connection().exec_driver_sql("DROP TABLE mark_given_for")
        book.db.commit()
    assert mark() == {"written_scaling"}, "it may have changed"


def test_a_notebook_that_cannot_be_saved_changes_no_mark(mark):
    mark()
    by_hand(mark)
    strange = notebook(points=3.0)
    strange.cells[2].metadata.nbgrader["grade_id"] = "not_in_the_gradebook"
    with pytest.raises(MissingEntry):
        mark(strange)
    assert scores(mark)["test_softmax"] == 2.0


@pytest.mark.parametrize(
    ("change", "asks"),
    [({}, False), ({"written": "Else."}, False), ({"code": "return 9"}, True), ({"points": 3.0}, True)],
    ids=["nothing", "another answer", "the code", "what the judge gives"],
)
def test_a_raised_mark_waits_for_a_person_when_its_answer_changed(mark, change, asks):
    mark()
    by_hand(mark, 4.0, "test_softmax")
    assert ("test_softmax" in mark(**change)) == asks
    assert scores(mark)["test_softmax"] == 4.0


def test_a_mark_waits_for_a_person_when_the_answer_it_names_changed(mark):
    def another(**changes):
        given = notebook(**changes)
        given.cells[1].source = '### BEGIN HIDDEN TESTS\ncheck("written_scaling")\n### END HIDDEN TESTS'
        return mark(given)

    another()
    by_hand(mark, 4.0, "test_softmax")
    assert "test_softmax" not in another(code="return 9")
    assert "test_softmax" in another(written="Else.")


def statements(folder, exercises):
    """Return how many SQL statements it takes to restore and to save so many exercises, the second time."""
    cells, output = [], []
    for number in range(exercises):
        for cell, name in zip(notebook().cells[:2], (f"e{number}", f"test_e{number}"), strict=True):
            cell.metadata.nbgrader.grade_id = name
            cell.metadata.nbgrader.checksum = compute_checksum(cell)
            cells.append(cell)
    _, resources = made(folder, cells)

    def hear(connection, cursor, statement, *_):
        output.append(statement)

    SaveMarks().preprocess(new_notebook(cells=cells), resources)
    event.listen(Engine, "before_cursor_execute", hear)
    try:
        RestoreCells().preprocess(new_notebook(cells=cells), resources)
        SaveMarks().preprocess(new_notebook(cells=cells), resources)
    finally:
        event.remove(Engine, "before_cursor_execute", hear)
    return len(output)


def test_thirty_exercises_take_as_many_statements_as_three(tmp_path):
    assert statements(tmp_path, 30) == statements(tmp_path, 3)
    others = [object, "nbgrader.preprocessors.AssignLatePenalties"]
    assert writing_preprocessors([others[0], SaveMarks, others[1]])[0] is SaveMarks, "marking on all cores saves so too"
