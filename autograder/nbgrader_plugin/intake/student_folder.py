"""What lies in a student's folder, looked at as what a stranger put there.

Regular files and folders are taken. Links of both kinds, pipes, devices and sockets are never opened, so that nothing
is read that its author could not read, and nothing waits for ever. Most submissions hold only what they should, and are
read where they lie. If one does not, nbgrader is shown another folder, with a clean copy of that submission.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.utils import parse_utc

MAX_FILES = 2_000  # of one submission
MAX_TOTAL = 512 * 2**20  # bytes of one submission
MAX_FOLDERS = 12  # one in the other
MAX_STAMP = 100  # characters of a time stamp
STAMP = "timestamp.txt"

KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


class NotAFile(Exception):
    """What stands there is not a file that can be read; the sentence says what it is."""


@dataclass
class Submission:
    """One student's folder for an assignment: what is wrong with it, and the files in it that can be taken."""

    student: str
    folder: Path
    troubles: list[str] = field(default_factory=list)  # sentences for the instructor
    refused: dict[str, str] = field(default_factory=dict)  # by name of a file at the top: a sentence for the student
    taken: list[str] = field(default_factory=list)  # relative paths
    whole: str | None = None  # why nothing of it can be taken


def is_meant(name: str, wanted: str) -> bool:
    """Whether a pattern of nbgrader's means this name. One with brackets is no match for itself, but means itself."""
    return name == wanted or fnmatch.fnmatchcase(name, wanted)


def students_in(top: Path, wanted: str) -> list[str]:
    """The folders in a folder of students that a pattern means; nbgrader's own listing misses some names."""
    return [name for name in sorted(os.listdir(top)) if is_meant(name, wanted)] if top.is_dir() else []


def kind_of(about: os.stat_result) -> str | None:
    """What something is, if it is neither a folder nor a file with one name."""
    for test, name in KINDS:
        if test(about.st_mode):
            return name
    return "a hard link" if stat.S_ISREG(about.st_mode) and about.st_nlink > 1 else None


def read(path: Path, most: int) -> bytes:
    """The content of a regular file. Raises `NotAFile` for anything else, and for what has more than `most` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotAFile(f"“{shown(path.name)}” cannot be read ({error.strerror}).") from None
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        kind = kind_of(about) or ("" if stat.S_ISREG(about.st_mode) else "a folder")
        if kind:
            raise NotAFile(_not_taken(path.name, kind))
        content = file.read(most + 1)
    if len(content) > most:
        raise NotAFile(f"“{shown(path.name)}” is larger than {most:,} bytes.")
    return content


def is_file(path: Path) -> bool:
    """Whether a regular file with one name stands there."""
    try:
        about = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(about.st_mode) and kind_of(about) is None


def shown(name: str, most: int = 200) -> str:
    """A name, or a line with names, as it can be printed anywhere."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)[:most]


def unlistable(name: str) -> str | None:
    """Why nbgrader cannot have a student of this name."""
    if any(0xD800 <= ord(c) <= 0xDFFF for c in name):
        return "its name is not valid UTF-8"
    if not name.isprintable():
        return "its name has control characters"
    return "its name has a brace" if "{" in name or "}" in name else None  # nbgrader fills in paths by `format`


def look(student: str, folder: Path) -> Submission:
    """Everything in a student's folder for an assignment, by what it is; nothing is opened but the time stamp."""
    found = Submission(student, folder)
    for place in (folder.parent, folder):
        about = os.lstat(place)
        if not stat.S_ISDIR(about.st_mode):
            found.whole = _not_taken(place.name, kind_of(about) or "a file, not a folder")
            found.troubles.append(found.whole)
            return found
    total = 0
    for relative, about in _walk(folder):
        kind = kind_of(about)
        total += about.st_size
        if not kind and (len(found.taken) >= MAX_FILES or total > MAX_TOTAL):
            found.troubles.append(f"There are more than {MAX_FILES:,} files or {MAX_TOTAL // 2**20} MiB in it.")
            break
        if not kind and shown(relative) != relative:
            kind = "a file with a name that cannot be written"
        if not kind and relative == STAMP and not _is_time(folder / STAMP):
            kind = "no point in time"
        if kind:
            sentence = _not_taken(relative, kind)
            found.troubles.append(sentence)
            found.refused[relative] = sentence
        else:
            found.taken.append(relative)
    return found


def _walk(folder: Path, depth: int = 0, under: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """All files and what else is none, notebooks first; folders are entered, but never through a link."""
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: (not entry.name.endswith(".ipynb"), entry.name))
    for entry in inside:
        about = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(about.st_mode):
            yield under + entry.name, about
        elif depth < MAX_FOLDERS:
            with contextlib.suppress(PermissionError):
                yield from _walk(folder / entry.name, depth + 1, f"{under}{entry.name}/")


def _is_time(path: Path) -> bool:
    try:
        text = read(path, MAX_STAMP).decode("utf-8").strip()
        if text:
            parse_utc(text)
    except Exception:  # whatever the parser of dates makes of it
        return False
    return True


def _not_taken(name: str, kind: str) -> str:
    if kind == "no point in time":
        return f"“{shown(name)}” holds no point in time, so none is known for this submission."
    return f"“{shown(name)}” is {kind}. It was not opened: only files themselves can be handed in."


def copy(submission: Submission, goal: Path) -> None:
    """Copy what can be taken of a submission."""
    goal.mkdir(parents=True)
    for relative in submission.taken:
        target = goal / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(submission.folder / relative, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as original, target.open("wb") as written:
                shutil.copyfileobj(original, written)
        except OSError as error:
            submission.troubles.append(f"“{shown(relative)}” could not be copied ({error.strerror}).")
