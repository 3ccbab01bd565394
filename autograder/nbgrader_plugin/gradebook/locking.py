"""Let several nbgrader processes use one gradebook: create rows under a lock that two may need at the same moment."""

import contextlib
import functools
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import nbgrader.api
from nbgrader.api import Base, Gradebook, Student
from sqlalchemy import MetaData, create_engine, insert, inspect, select, text
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import NullPool

from ...files import make_private
from ..privacy import groupshared

LOCK_TIMEOUT = 600.0  # seconds that a process waits for its turn
ADVISORY_LOCK = int.from_bytes(b"autograd")  # the number of the lock in a PostgreSQL database

_engine = functools.lru_cache(maxsize=16)(create_engine)  # one engine per URL
_held: set[str] = set()  # gradebooks that this process has locked


@contextlib.contextmanager
def locked(db_url: str) -> Iterator[None]:
    """Run the `with` block in one process at a time, where the database is SQLite or PostgreSQL. May be nested."""
    url = make_url(db_url)
    lock = {"sqlite": _lock_sqlite, "postgresql": _lock_postgresql}.get(url.get_backend_name())
    if lock is None or not url.database or db_url in _held:
        yield
        return
    with lock(url):
        _held.add(db_url)
        try:
            yield
        finally:
            _held.remove(db_url)


@contextlib.contextmanager
def _lock_sqlite(url: URL) -> Iterator[None]:
    path = Path(f"{url.database}.turn")
    make_private(path, groupshared())  # anyone who can read it can hold the lock
    with contextlib.closing(sqlite3.connect(path, LOCK_TIMEOUT, isolation_level=None)) as turn:
        turn.execute("BEGIN EXCLUSIVE")
        yield


@contextlib.contextmanager
def _lock_postgresql(url: URL) -> Iterator[None]:
    """Hold an advisory lock on a separate connection, since nbgrader opens and closes others meanwhile."""
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as turn:
        turn.execute(text(f"SET lock_timeout = {int(LOCK_TIMEOUT * 1000)}"))
        turn.execute(text("SELECT pg_advisory_lock(:number)"), {"number": ADVISORY_LOCK})
        yield


def share_engines() -> None:
    """Let nbgrader's `Gradebook` objects share an engine for each URL, and look for all tables at once.

    Marking a notebook opens several of them, which would each make an engine and look for every table by itself.
    Marking patches nothing else.
    """
    nbgrader.api.create_engine = _engine
    Base.metadata.create_all = _create_missing


def _create_missing(bind: Engine) -> None:
    if not set(Base.metadata.tables) <= set(inspect(bind).get_table_names()):
        MetaData.create_all(Base.metadata, bind)


def make_ready(db_url: str, course_id: str, students: Iterable[str] = ()) -> None:
    """Create the gradebook's tables, its course and these students, unless they exist."""
    students = set(students)
    with locked(db_url):
        Gradebook(db_url).close()  # creates the tables, and the default course, which nbgrader's preprocessors use
        with Gradebook(db_url, course_id) as gradebook:
            for attempt in range(3):
                known = {student.id for student in gradebook.db.query(Student.id)}
                gradebook.db.add_all(Student(id=student) for student in sorted(students - known))
                try:
                    gradebook.db.commit()
                    return
                except IntegrityError:  # another process, such as Formgrader, has just created one of them
                    gradebook.db.rollback()
                    if attempt == 2:
                        raise


def is_released(db_url: str, course_id: str, assignment: str) -> bool:
    """Return True if the gradebook has the assignment and its notebooks."""
    with Gradebook(db_url, course_id) as gradebook:
        return any(known.name == assignment and known.notebooks for known in gradebook.assignments)


def released(db_url: str, assignment: str) -> bytes:
    """Return a compressed SQLite file: a gradebook with this assignment's rows that marking reads, and no marks."""
    tables = Base.metadata.tables
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "released.db")
        target, source = create_engine(f"sqlite:///{path}"), create_engine(db_url)
        Base.metadata.create_all(target)
        with target.begin() as here, source.connect() as there:

            def copied(name: str, column: str, values: Iterable[Any]) -> Sequence[Any]:
                table = tables[name]
                if rows := there.execute(select(table).where(table.c[column].in_(list(values)))).mappings().all():
                    here.execute(insert(table), [dict(row) for row in rows])
                return rows

            found = copied("assignment", "name", [assignment])
            copied("course", "id", {row["course_id"] for row in found})
            notebooks = [row["id"] for row in copied("notebook", "assignment_id", [row["id"] for row in found])]
            cells = [row["id"] for row in copied("base_cell", "notebook_id", notebooks)]
            for kind in ("grade_cells", "solution_cells", "task_cells"):
                copied(kind, "id", cells)
            copied("source_cell", "notebook_id", notebooks)
        target.dispose()
        source.dispose()
        return zlib.compress(path.read_bytes())
