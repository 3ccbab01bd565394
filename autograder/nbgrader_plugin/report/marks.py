"""Read a class from the gradebook's tables directly: nbgrader's class `Gradebook` would write into it."""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import Assignment, BaseCell, Grade, Notebook, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import Session

from ...spec.course import release, root
from ..converters import refuse_elsewhere, settings


class NoClass(Exception):
    """Raised when there is no class to report on; the message says why and what to do."""


@dataclass(frozen=True)
class CellMark:
    cell: str  # its grade_id, with the notebook's name if another notebook of the assignment has the same
    earned: float  # a manual mark replaces the judge's
    points: float
    waits: bool  # a person must still mark it


@dataclass
class Sheet:
    student: str
    penalty: float = 0.0
    cells: list[CellMark] = field(default_factory=list)

    @property
    def raw(self) -> float:
        return sum(cell.earned for cell in self.cells)

    @property
    def total(self) -> float:
        """Return the mark as nbgrader exports it: the points less the late penalty, at least 0."""
        return max(0.0, self.raw - self.penalty)

    @property
    def points(self) -> float:
        return sum(cell.points for cell in self.cells)

    @property
    def waiting(self) -> int:
        """Return the number of answers that a person must still mark."""
        return sum(cell.waits for cell in self.cells)

    @property
    def waiting_points(self) -> float:
        """Return the points of the cells that a person must still mark."""
        return sum(cell.points for cell in self.cells if cell.waits)


def folders(classroom: Path | None, db_url: str | None) -> CourseDirectory:
    """Return these folders and gradebook; None means the configured one. Raise NoCourse if none is configured."""
    if classroom is not None and db_url is not None:
        own = {f"{step}_directory": str(classroom / step) for step in ("submitted", "autograded")}
        return CourseDirectory(root=str(root()), release_directory=str(release()), db_url=db_url, **own)
    refuse_elsewhere()
    usual = os.environ.get("COURSE_CLASSROOM", "classroom")
    found = settings(str(classroom or usual)).coursedir
    os.environ["COURSE_CLASSROOM"] = usual
    found.db_url = db_url or found.db_url
    return found


def read_marks(db_url: str, only: str | None = None) -> tuple[dict[str, str], dict[str, list[Sheet]]]:
    """Return students' names by id, and sheets by assignment (or those of `only` one).

    Raise NoClass if there is no readable gradebook.
    """
    try:
        url = make_url(db_url)
    except ArgumentError:
        raise NoClass(f"{db_url!r} is no database's URL, such as sqlite:///classroom/gradebook.db") from None
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise NoClass(f"there is no gradebook at {url.database}; mark something first: autograder grade NOTEBOOK")
    shown = url.render_as_string(hide_password=True)
    try:
        engine = create_engine(url)
        if not inspect(engine).has_table("submitted_assignment"):
            raise NoClass(f"the database {shown} holds no gradebook; mark something first")
    except ImportError as error:
        raise NoClass(f"the database {shown} needs a driver that is not installed: {error}") from error
    except SQLAlchemyError as error:
        raise NoClass(f"the database {shown} cannot be opened: {getattr(error, 'orig', error)}") from error
    try:
        with Session(engine) as session:
            students = session.execute(select(Student.id, Student.first_name, Student.last_name).order_by(Student.id))
            names = {student: " ".join(filter(None, parts)) for student, *parts in students}
            known = session.scalars(select(Assignment.name).order_by(Assignment.name)).all()
            return names, {name: _sheets(session, name) for name in known if only in (None, name)}
    except SQLAlchemyError as error:
        raise NoClass(f"the gradebook in {shown} cannot be read: {getattr(error, 'orig', error)}") from error
    finally:
        engine.dispose()


def _sheets(session: Session, assignment: str) -> list[Sheet]:
    submitted = (
        select(SubmittedAssignment.id, SubmittedAssignment.student_id, SubmittedAssignment.late_submission_penalty)
        .join(SubmittedAssignment.assignment)
        .where(Assignment.name == assignment)
        .order_by(SubmittedAssignment.student_id)
    )
    sheets = {own: Sheet(student, penalty or 0.0) for own, student, penalty in session.execute(submitted)}
    cells = (
        select(
            *(SubmittedAssignment.id, Notebook.name, BaseCell.name),
            *(Grade.score, Grade.max_score, Grade.needs_manual_grade),
        )
        .select_from(Grade)
        .join(Grade.cell)
        .join(Grade.notebook)
        .join(SubmittedNotebook.notebook)
        .join(SubmittedNotebook.assignment)
        .join(SubmittedAssignment.assignment)
        .where(Assignment.name == assignment)
        .order_by(BaseCell.name)
    )
    rows = session.execute(cells).all()
    notebooks = Counter(cell for _, cell in {(notebook, cell) for _, notebook, cell, *_ in rows})
    for own, notebook, cell, earned, points, waits in rows:
        name = cell if notebooks[cell] == 1 else f"{notebook}: {cell}"
        sheets[own].cells.append(CellMark(name, float(earned), float(points), bool(waits)))
    return list(sheets.values())
