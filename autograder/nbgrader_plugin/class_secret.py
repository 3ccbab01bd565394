"""Keep a class's secret, from which inputs are drawn for each submission, in a file next to the gradebook."""

import os
import re
import secrets
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from nbgrader.api import Grade, Gradebook
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.engine import make_url

from ..files import private
from .gradebook.locking import locked

FILE = "marking_secret.key"
ABOUT = """\
# Inputs of checks are drawn from this number for each hand-in, and the order of cases follows from it. Keep it with
# the gradebook, also in the backup: with another one the marks are the same, and signs in the report may differ.
"""
CONTENT = re.compile(r"^([0-9a-f]{64})(?: made (\d{4}-\d\d-\d\d) after marks)?$", re.MULTILINE)

REMEDY = "Bring it back from a backup, or remove it: the next marking makes a new one, and the report says so."
MISSING = f"The class's secret ({FILE}) is missing: bring it back from a backup, or the next marking makes a new one."
LATE = f"The class's secret ({FILE}) was missing though there were marks, and was made anew"


class SecretError(Exception):
    """Raised when a class's secret cannot be read or made; the text is a sentence with file, cause and remedy."""


@dataclass(frozen=True)
class ClassSecret:
    """A class's secret; `late` is the day on which it was made if the gradebook had marks already, else ""."""

    key: bytes
    late: str = ""
    new: bool = False  # whether it was made just now

    @property
    def remark(self) -> str:
        """Return a sentence if earlier marks were made without this secret, else ""."""
        return (
            f"{LATE} on {self.late}: what was marked before cannot be checked with its inputs again."
            if self.late
            else ""
        )


def path_of(course: CourseDirectory) -> Path:
    """Return the path of the secret: next to the gradebook, or in the folder of the term's data if that is no file."""
    url = make_url(course.db_url)
    if url.get_backend_name() == "sqlite" and url.database:
        return Path(course.root, url.database).parent / FILE
    return Path(course.format_path(course.submitted_directory, "x", "y")).parents[2] / FILE


def read_secret(course: CourseDirectory) -> ClassSecret | None:
    """Return the class's secret, or None if there is none yet. Raise SecretError if it cannot be read."""
    path = path_of(course)
    try:
        found = CONTENT.search(path.read_text("ascii"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it is no text"
        raise SecretError(f"The class's secret, {path}, cannot be read ({why}). {REMEDY}") from error
    if found is None:
        raise SecretError(f"The class's secret, {path}, is empty or damaged. {REMEDY}")
    return ClassSecret(bytes.fromhex(found[1]), found[2] or "")


def ready_secret(course: CourseDirectory) -> ClassSecret:
    """Return the class's secret; make it if there is none. Raise SecretError if it cannot be read or made."""
    path = path_of(course)
    with locked(course.db_url):
        made, new = read_secret(course), False
        if made is None:
            late = f" made {date.today().isoformat()} after marks" if _has_marks(course) else ""
            try:
                new = _write_new(path, f"{ABOUT}{secrets.token_hex(32)}{late}\n")
            except OSError as error:
                why = os.strerror(error.errno or 0)
                raise SecretError(
                    f"The class's secret cannot be written to {path} ({why}): make that folder writable."
                ) from error
            made = read_secret(course)
    if made is None:
        raise SecretError(f"The class's secret, {path}, is a link that leads nowhere. {REMEDY}")
    private(path, course.groupshared)  # a copy from a backup may be open to others
    return replace(made, new=new)


def _write_new(path: Path, text: str) -> bool:
    """Write a file for its owner only. Return False if one is there (databases on servers have no lock)."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    return True


def _has_marks(course: CourseDirectory) -> bool:
    with Gradebook(course.db_url, course.course_id) as gradebook:
        return gradebook.db.query(Grade).filter(Grade.auto_score.is_not(None)).first() is not None
