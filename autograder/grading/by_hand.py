"""What people have marked does not ask to be marked again, as long as it is what they saw.

nbgrader keeps their marks and comments when a notebook is marked again, but then calls each of them unfinished, because
it does not know whether the answer has changed. So the gradebook remembers that: a table of our own, in which each mark
has a digest of what it was given for. No answer can be read out of it.
"""

from __future__ import annotations

import hashlib
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import SaveAutoGrades
from sqlalchemy import Column, MetaData, String, Table, delete, insert, select
from sqlalchemy.schema import CreateTable

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
        self._answers = {}
        for cell in nb.cells:
            about = cell.metadata.get("nbgrader", {})
            if about.get("solution"):
                self._answers[about["grade_id"]] = cell.source
        self._has_table = False
        return super().preprocess(nb, resources)

    def _add_score(self, cell: NotebookNode, resources: Any) -> None:
        name = cell.metadata.nbgrader["grade_id"]
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        finished = grade.manual_score is not None and not grade.needs_manual_grade
        super()._add_score(cell, resources)
        answer = self._answers.get(name.removeprefix("test_"), "")
        digest = hashlib.sha256(repr((answer, grade.auto_score)).encode("utf-8", "surrogatepass")).hexdigest()
        if self._remembered(grade.id, digest) and finished:
            grade.needs_manual_grade = False
        self.gradebook.db.commit()

    def _remembered(self, grade_id: str, digest: str) -> bool:
        """Whether this is what the mark was given for; from now on it is."""
        db, mine = self.gradebook.db, GIVEN_FOR.c.grade_id == grade_id
        if not self._has_table:
            db.execute(CreateTable(GIVEN_FOR, if_not_exists=True))
            self._has_table = True
        known = db.execute(select(GIVEN_FOR.c.digest).where(mine)).scalar()
        if known != digest:
            db.execute(delete(GIVEN_FOR).where(mine))
            db.execute(insert(GIVEN_FOR).values(grade_id=grade_id, digest=digest))
        return bool(known == digest)
