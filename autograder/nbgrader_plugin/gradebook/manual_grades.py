"""Keep a manual mark finished when a notebook is marked again, by a digest of the answer that it was given for."""

import hashlib
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import is_solution
from sqlalchemy import Column, MetaData, String, Table, delete, insert, select
from sqlalchemy.schema import CreateTable

from ..hidden_tests import exercise_of
from .rows import Rows

GIVEN_FOR = Table(
    "mark_given_for",
    MetaData(),
    Column("grade_id", String(32), primary_key=True),  # id in nbgrader's table `grade`
    Column("digest", String(64), nullable=False),
)


class SaveMarks(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, except that a manual mark stays finished if answer and judge's points are the same."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        about = resources["nbgrader"]
        self.notebook_id, self.assignment_id = about["notebook"], about["assignment"]
        self.student_id = about["student"]
        self._answers = {cell.metadata.nbgrader.grade_id: cell.source for cell in nb.cells if is_solution(cell)}
        self._digests: dict[str, str] = {}  # of the answers that the marks are given for, by the marks' ids
        with Gradebook(about["db_url"]) as gradebook:
            self.gradebook = Rows.of_submission(gradebook, self.notebook_id, self.assignment_id, self.student_id)
            gradebook.db.execute(CreateTable(GIVEN_FOR, if_not_exists=True))
            marks = [grade.id for grade in self.gradebook.rows["find_grade"].values()]
            known = gradebook.db.execute(select(GIVEN_FOR).where(GIVEN_FOR.c.grade_id.in_(marks)))
            self._known = {row.grade_id: row.digest for row in known}
            nb, resources = NbGraderPreprocessor.preprocess(self, nb, resources)
            if new := {mark: digest for mark, digest in self._digests.items() if self._known.get(mark) != digest}:
                gradebook.db.execute(delete(GIVEN_FOR).where(GIVEN_FOR.c.grade_id.in_(new)))
                rows = [{"grade_id": mark, "digest": digest} for mark, digest in new.items()]
                gradebook.db.execute(insert(GIVEN_FOR), rows)
            gradebook.db.commit()
        return nb, resources

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        name = cell.metadata.nbgrader["grade_id"]
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        finished = grade.manual_score is not None and not grade.needs_manual_grade
        super()._add_score(cell, resources)
        answer = self._answers.get(exercise_of(cell) or name.removeprefix("test_"), "")
        digest = hashlib.sha256(repr((answer, grade.auto_score)).encode("utf-8", "surrogatepass")).hexdigest()
        self._digests[grade.id] = digest
        if self._known.get(grade.id) == digest and finished:
            grade.needs_manual_grade = False
