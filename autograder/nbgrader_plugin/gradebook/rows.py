"""Read a notebook's rows of the gradebook in a few queries, and write them in one transaction.

nbgrader's preprocessors query one cell after the other and commit after each: for a notebook of forty cells that takes
longer than marking a right answer.
"""

from __future__ import annotations

from typing import Any

from nbgrader.api import Assignment, BaseCell, Comment, Grade, Gradebook, GradeCell, Notebook, SourceCell
from sqlalchemy.orm import Query


class Rows:
    """Stand-in for a `Gradebook` that serves rows read beforehand, and asks the gradebook for all others.

    `commit` does nothing here: nothing is written before `gradebook.db.commit()`.
    """

    def __init__(self, gradebook: Gradebook) -> None:
        self.gradebook = gradebook
        self.db = self
        self.grades: dict[str, Grade] = {}
        self.comments: dict[str, Comment] = {}
        self.source_cells: dict[str, SourceCell] = {}
        self.grade_cells: dict[str, GradeCell] = {}

    @classmethod
    def of_submission(cls, gradebook: Gradebook, notebook: str, assignment: str, student: str) -> Rows:
        """Return the marks and comments of a student's notebook."""
        rows = cls(gradebook)
        submitted = gradebook.find_submission_notebook(notebook, assignment, student)
        for kind, found in ((Grade, rows.grades), (Comment, rows.comments)):
            cells = gradebook.db.query(BaseCell.name, kind).join(BaseCell, BaseCell.id == kind.cell_id)
            found.update(cells.filter(kind.notebook_id == submitted.id).all())
        return rows

    @classmethod
    def of_release(cls, gradebook: Gradebook, notebook: str, assignment: str) -> Rows:
        """Return the cells of a released notebook."""
        rows = cls(gradebook)
        for kind, found in ((SourceCell, rows.source_cells), (GradeCell, rows.grade_cells)):
            cells: Query[Any] = gradebook.db.query(kind.name, kind).join(Notebook, Notebook.id == kind.notebook_id)
            cells = cells.join(Assignment, Assignment.id == Notebook.assignment_id)
            found.update(cells.filter(Notebook.name == notebook, Assignment.name == assignment).all())
        return rows

    def find_grade(self, name: str, *about: str) -> Any:
        return self.grades.get(name) or self.gradebook.find_grade(name, *about)

    def find_comment(self, name: str, *about: str) -> Any:
        return self.comments.get(name) or self.gradebook.find_comment(name, *about)

    def find_source_cell(self, name: str, *about: str) -> Any:
        return self.source_cells.get(name) or self.gradebook.find_source_cell(name, *about)

    def find_graded_cell(self, name: str, *about: str) -> Any:
        return self.grade_cells.get(name) or self.gradebook.find_graded_cell(name, *about)

    def commit(self) -> None:
        """Do nothing: the caller commits once, at the end."""
