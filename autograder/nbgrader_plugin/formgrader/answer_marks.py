"""Read a class's answers to one question with their marks, and save marks only over those that a person has seen.

Everything is in nbgrader's tables: points as `manual_score`, items and note as `manual_comment`.
"""

import functools
import hashlib
import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    Notebook,
    SolutionCell,
    SourceCell,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session, aliased


@dataclass(frozen=True)
class Seen:
    """A mark and the answer that it is for, as a page shows them."""

    points: float | None  # given by a person
    comment: str | None
    digest: str  # of the answer


@dataclass(frozen=True)
class Answer:
    grade: str  # ids in the gradebook
    comment: str
    submission: str
    student: str
    source: str
    kind: str  # of its cell: markdown or code
    attachments: Any
    seen: Seen
    auto: float | None  # points without a person: 0 for an answer that came back as it was handed out
    waits: bool


@dataclass(frozen=True)
class Question:
    assignment: str
    notebook: str
    name: str
    points: float
    released: str  # the cell as it was handed out
    answers: tuple[Answer, ...]

    def groups(self) -> list[list[Answer]]:
        """Return the answers in groups of equal ones, groups of several first. Empty ones are equal to each other."""
        found: dict[tuple[str, str], list[Answer]] = {}
        for answer in self.answers:
            found.setdefault((answer.kind, "" if self.is_empty(answer) else bare(answer)), []).append(answer)
        return sorted(found.values(), key=lambda group: len(group) == 1)

    def is_empty(self, answer: Answer) -> bool:
        """Return True for an answer without text, or with the text that was handed out."""
        return bare(answer) in ("", _bare(answer.kind, self.released))


@dataclass(frozen=True)
class Mark:
    answer: Answer
    points: float | None
    comment: str | None


def bare(answer: Answer) -> str:
    """Return an answer's text for comparison: without differences in white space, except in code."""
    return _bare(answer.kind, answer.source)


def _bare(kind: str, source: str) -> str:
    source = unicodedata.normalize("NFC", source)
    return source.strip() if kind == "code" else " ".join(source.split())


def questions(engine: Engine, assignment: str, notebook: str) -> list[tuple[str, int]]:
    """Return the notebook's questions that a person marks, and how many answers to each wait."""
    answered = aliased(SolutionCell)
    rows = (
        select(GradeCell.name, Grade.needs_manual_grade)
        .join(Notebook, Notebook.id == GradeCell.notebook_id)
        .join(Assignment, Assignment.id == Notebook.assignment_id)
        .join(answered, (answered.notebook_id == Notebook.id) & (answered.name == GradeCell.name))
        .outerjoin(Grade, Grade.cell_id == GradeCell.id)
        .where(Assignment.name == assignment, Notebook.name == notebook)
        .order_by(GradeCell.name)
    )
    waiting: dict[str, int] = {}
    with Session(engine) as db:
        for name, waits in db.execute(rows):
            waiting[name] = waiting.get(name, 0) + bool(waits)
    return list(waiting.items())


def question(engine: Engine, course: Any, assignment: str, notebook: str, name: str) -> Question | None:
    """Return a question with all answers that are in the gradebook and in `autograded/`; None if it is no such one."""
    with Session(engine) as db:
        of_notebook = (Assignment.name == assignment, Notebook.name == notebook)
        cell = db.execute(
            select(GradeCell.max_score, SourceCell.source)
            .join(Notebook, Notebook.id == GradeCell.notebook_id)
            .join(Assignment, Assignment.id == Notebook.assignment_id)
            .outerjoin(SourceCell, (SourceCell.notebook_id == Notebook.id) & (SourceCell.name == GradeCell.name))
            .where(*of_notebook, GradeCell.name == name)
        ).first()
        if cell is None or name not in dict(questions(engine, assignment, notebook)):
            return None
        about = aliased(BaseCell)
        rows = db.execute(
            select(Grade, Comment, SubmittedNotebook.id, SubmittedAssignment.student_id)
            .join(BaseCell, BaseCell.id == Grade.cell_id)
            .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
            .join(Assignment, Assignment.id == Notebook.assignment_id)
            .join(Comment, Comment.notebook_id == Grade.notebook_id)
            .join(about, (about.id == Comment.cell_id) & (about.name == BaseCell.name))
            .where(*of_notebook, BaseCell.name == name)
            .order_by(SubmittedNotebook.id)  # random, as in nbgrader's list: names stay unknown
        )
        answers = list(_answers(course, assignment, notebook, name, rows))
    return Question(assignment, notebook, name, cell[0], cell[1] or "", tuple(answers))


def _answers(course: Any, assignment: str, notebook: str, name: str, rows: Iterable[Any]) -> Iterator[Answer]:
    for grade, comment, submission, student in rows:
        path = Path(course.format_path(course.autograded_directory, student, assignment), f"{notebook}.ipynb")
        try:
            cell = _cell(str(path), path.stat().st_mtime_ns, name)
        except (OSError, ValueError):  # not marked yet, or being written
            continue
        if cell is not None:
            kind, source, attachments = cell
            digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
            seen = Seen(grade.manual_score, comment.manual_comment, digest)
            ids = (grade.id, comment.id, submission, student)
            yield Answer(*ids, source, kind, attachments, seen, grade.auto_score, grade.needs_manual_grade)


@functools.lru_cache(maxsize=4096)
def _cell(path: str, changed: int, name: str) -> tuple[str, str, Any] | None:
    """Return kind, source and attachments of a marked notebook's cell. `changed` is the file's time."""
    for cell in json.loads(Path(path).read_text("utf-8"))["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == name:
            return cell["cell_type"], "".join(cell["source"]), cell.get("attachments")
    return None


def save(engine: Engine, marks: Iterable[Mark]) -> bool:
    """Save all marks; or none, and return False, if one of them is not as its answer was seen."""
    with Session(engine) as db:
        for mark in marks:
            seen = mark.answer.seen
            waits = mark.points is None and mark.answer.auto is None
            points = (
                update(Grade)
                .where(Grade.id == mark.answer.grade, Grade.manual_score.is_not_distinct_from(seen.points))
                .values(manual_score=mark.points, needs_manual_grade=waits)
            )
            comment = (
                update(Comment)
                .where(Comment.id == mark.answer.comment, Comment.manual_comment.is_not_distinct_from(seen.comment))
                .values(manual_comment=mark.comment)
            )
            for change in (points, comment):  # a statement each: no other process's can come between look and write
                done: Any = db.execute(change, execution_options={"synchronize_session": False})
                if done.rowcount != 1:
                    db.rollback()
                    return False
        db.commit()
        return True
