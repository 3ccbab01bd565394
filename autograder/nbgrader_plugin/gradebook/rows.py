"""Read a notebook's rows of the gradebook in a few queries: nbgrader's own, one for each cell, take longer."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Self

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.api import Assignment, BaseCell, Comment, Grade, Gradebook, GradeCell, Notebook, SourceCell


class Rows:
    """Stand-in for a `Gradebook` that serves rows read beforehand, and passes other calls on to the gradebook."""

    def __init__(self, gradebook: Gradebook, **rows: dict[str, Any]) -> None:
        """`rows` holds rows by name, each group under the gradebook's method that finds one, such as `find_grade`."""
        self.gradebook, self.rows = gradebook, rows
        self.db = self

    @classmethod
    def of_submission(cls, gradebook: Gradebook, notebook: str, assignment: str, student: str) -> Self:
        sheet = gradebook.find_submission_notebook(notebook, assignment, student)
        grades, comments = by_cell(gradebook, Grade, sheet), by_cell(gradebook, Comment, sheet)
        return cls(gradebook, find_grade=grades, find_comment=comments)

    @classmethod
    def of_release(cls, gradebook: Gradebook, notebook: str, assignment: str) -> Self:
        def found(kind: Any) -> dict[str, Any]:
            cells = gradebook.db.query(kind.name, kind).join(kind.notebook).join(Notebook.assignment)
            return dict(cells.filter(Notebook.name == notebook, Assignment.name == assignment).all())

        return cls(gradebook, find_source_cell=found(SourceCell), find_graded_cell=found(GradeCell))

    def __getattr__(self, method: str) -> Callable[..., Any]:
        find, rows = getattr(self.gradebook, method), self.rows.get(method, {})
        return lambda name, *about: rows.get(name) or find(name, *about)

    def commit(self) -> None:
        """Do nothing: the caller commits once, at the end."""


def tests_of(db_url: str, assignment: str) -> dict[str, list[NotebookNode]]:
    """Return the code cells of an assignment's notebooks that give points, as they were generated, by notebook."""
    found = defaultdict(list)
    with Gradebook(db_url) as gradebook:
        cells = gradebook.db.query(Notebook.name, SourceCell).join(SourceCell.notebook).join(Notebook.assignment)
        graded = {(cell.notebook_id, cell.name) for cell in gradebook.db.query(GradeCell)}
        for notebook, cell in cells.filter(Assignment.name == assignment, SourceCell.cell_type == "code"):
            if (cell.notebook_id, cell.name) in graded:
                about = {"grade_id": cell.name, "grade": True, "solution": False}
                found[notebook].append(new_code_cell(cell.source, metadata={"nbgrader": about}))
    return found


def by_cell(gradebook: Gradebook, kind: Any, sheet: Any) -> dict[str, Any]:
    """Return a submitted notebook's grades or comments, by the cell's grade_id."""
    cells = gradebook.db.query(BaseCell.name, kind).join(BaseCell, BaseCell.id == kind.cell_id)
    return dict(cells.filter(kind.notebook_id == sheet.id).all())
