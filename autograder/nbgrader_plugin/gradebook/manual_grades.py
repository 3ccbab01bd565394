"""What people have marked does not ask to be marked again, as long as it is what they saw.

nbgrader keeps their marks and comments when a notebook is marked again, but then calls each of them unfinished, because
it does not know whether the answer has changed. So the gradebook remembers that: a table of our own, in which each mark
has a digest of what it was given for. No answer can be read out of it.
"""

from __future__ import annotations

import hashlib
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import SaveAutoGrades
from sqlalchemy import Column, MetaData, String, Table, delete, insert, select
from sqlalchemy.schema import CreateTable

from ..hidden_tests import exercise_of
from .rows import Rows

GIVEN_FOR = Table(
    "mark_given_for",
    MetaData(),
    Column("grade_id", String(32), primary_key=True),  # of nbgrader's table `grade`
    Column("digest", String(64), nullable=False),
)


class SaveMarks(SaveAutoGrades):
    """SaveAutoGrades that knows what is unchanged since a person marked it.

    A written answer is unchanged if its words are; the mark of an exercise, if the answer's code is and the judge would
    still give as many points. Before anybody has marked it, after a change, and in a gradebook that has no digest of it
    yet, it is as nbgrader has it.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        about = resources["nbgrader"]
        self.notebook_id, self.assignment_id, self.student_id = (
            about[part] for part in ("notebook", "assignment", "student")
        )
        self._answers = {}
        for cell in nb.cells:
            graded = cell.metadata.get("nbgrader", {})
            if graded.get("solution"):
                self._answers[graded["grade_id"]] = cell.source
        self._digests: dict[str, str] = {}
        with Gradebook(about["db_url"]) as gradebook:
            self.gradebook = Rows.of_submission(gradebook, self.notebook_id, self.assignment_id, self.student_id)
            self._known = self._remembered(gradebook)
            for number, cell in enumerate(nb.cells):
                nb.cells[number], resources = self.preprocess_cell(cell, resources, number)
            self._remember(gradebook)
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

    def _remembered(self, gradebook: Gradebook) -> dict[str, str]:
        """What the marks of this notebook were given for, by their ids."""
        gradebook.db.execute(CreateTable(GIVEN_FOR, if_not_exists=True))
        marks = [grade.id for grade in self.gradebook.grades.values()]
        known = select(GIVEN_FOR.c.grade_id, GIVEN_FOR.c.digest).where(GIVEN_FOR.c.grade_id.in_(marks))
        return {row.grade_id: row.digest for row in gradebook.db.execute(known)}

    def _remember(self, gradebook: Gradebook) -> None:
        new = {mark: digest for mark, digest in self._digests.items() if self._known.get(mark) != digest}
        if new:
            gradebook.db.execute(delete(GIVEN_FOR).where(GIVEN_FOR.c.grade_id.in_(new)))
            gradebook.db.execute(
                insert(GIVEN_FOR), [{"grade_id": mark, "digest": digest} for mark, digest in new.items()]
            )
