"""Check, before the first student is marked, that the names are known and the disk has free space.

The process that marks tests the sandbox, with its first submission: see `Judge.start_for`.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.coursedir import CourseDirectory

from ..close_names import did_you_mean
from ..nbgrader_plugin.class_secret import SecretError, ready_secret
from ..nbgrader_plugin.converters import assignments
from ..nbgrader_plugin.gradebook.roster import NAMES, Unusable, read
from ..nbgrader_plugin.intake.overlooked import overlooked
from ..nbgrader_plugin.intake.student_folder import folders_in, shown

ROOM = 16 * 2**20  # bytes that marking needs on the disk besides what the submissions take


class NotReady(Exception):
    """Raised where nobody can be marked; the text is a sentence that says why, and what to do."""


def chosen_assignments(app: NbGraderApp, wanted: Sequence[str], everything: bool) -> list[str]:
    """Return the assignments to mark, those named or all that somebody has handed in. Raise NotReady if there are none.

    The message names what is close to an unknown name.
    """
    coursedir = app.coursedir
    try:
        known = assignments(app, wanted)
    except ValueError as reason:
        raise NotReady(str(reason)) from None
    handed_in = [name for name in known if has_handed_in(coursedir, name)]
    if not handed_in:
        what = "nothing is" if everything or not wanted else f"{', '.join(wanted)} is not"
        message = f"{what} handed in below {coursedir.submitted_directory}/: it has STUDENT/ASSIGNMENT/ for each."
        lies_there = overlooked(Path(coursedir.root, coursedir.submitted_directory), assignments(app))
        raise NotReady("\n".join([message, *lies_there]))
    if not wanted and not everything:
        raise NotReady(f"name an assignment, or say --all; handed in: {', '.join(handed_in)}")
    return list(dict.fromkeys(wanted)) or handed_in


def has_handed_in(coursedir: CourseDirectory, assignment: str, pattern: str = "*") -> bool:
    """Return True if a student whose name is of this pattern has a folder of this assignment."""
    top = Path(coursedir.root, coursedir.submitted_directory)
    return any(os.path.lexists(top / name / assignment) for name in folders_in(top, pattern))


def require_student(coursedir: CourseDirectory, classroom: Path, pattern: str) -> None:
    """Raise NotReady if no student's folder has a name of this pattern; name one that is close."""
    top = Path(coursedir.root, coursedir.submitted_directory)
    if folders_in(top, pattern):
        return
    listed = set[str]()
    with contextlib.suppress(Unusable):
        table = read(classroom / NAMES)
        listed = {table.cell(row, "id") for row in table.rows}
    if pattern in listed:
        raise NotReady(
            f"{pattern} has handed in nothing: there is no folder {pattern}/ in {coursedir.submitted_directory}/."
        )
    close = did_you_mean(pattern, {*folders_in(top, "*"), *listed})
    raise NotReady(f"there is no student “{shown(pattern)}” in {coursedir.submitted_directory}/.{close}")


def require_secret(coursedir: CourseDirectory) -> str:
    """Make the class's secret if there is none. Return a sentence if there were marks already. Raise NotReady."""
    try:
        secret = ready_secret(coursedir)
    except SecretError as reason:
        raise NotReady(str(reason)) from None
    return secret.remark if secret.new else ""


def require_room(folders: Iterable[Path]) -> None:
    """Raise NotReady if one of these folders cannot take a file of ROOM bytes."""
    for folder in folders:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(ROOM))
                file.flush()
        except OSError as error:
            free = f"; {shutil.disk_usage(folder).free / 2**20:.0f} MiB are free" if folder.is_dir() else ""
            raise NotReady(
                f"{folder} cannot take what marking writes ({os.strerror(error.errno or 0)}{free}). Nothing was marked "
                "and nothing is lost: make room or name another folder, and give the same command again."
            ) from None
