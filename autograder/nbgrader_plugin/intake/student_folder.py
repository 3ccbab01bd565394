"""Inspect a student's folder safely: links, pipes, devices and sockets are never opened, and left out of copies."""

import contextlib
import fnmatch
import functools
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from ...plain_output import escaped
from . import timestamps
from .size_limits import MAX_FILES, MAX_FOLDERS, MAX_STAMP, MAX_TOTAL

STAMP = "timestamp.txt"  # nbgrader takes the time of submission from this file

KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


class NotAFile(Exception):
    """Raised for a path that is no readable file; the message says what it is."""


@dataclass
class Submission:
    student: str
    folder: Path  # of the student, for an assignment
    troubles: list[str] = field(default_factory=list)  # sentences for the instructor
    refused: dict[str, str] = field(default_factory=dict)  # by name of a file at the top: a sentence for the student
    taken: list[str] = field(default_factory=list)  # relative paths
    whole: str | None = None  # why no file of it can be taken
    stamp: timestamps.Stamp = field(default_factory=timestamps.Stamp)

    @functools.cached_property
    def digest(self) -> str:
        """Return a hash of the accepted files without the time stamp: equal submissions have equal hashes."""
        found = hashlib.sha256()
        for name in sorted(set(self.taken) - {STAMP}):
            with contextlib.suppress(NotAFile):  # it changed after the folder was listed
                content = read(self.folder / name, MAX_TOTAL)
                found.update(f"\0{name!r} {len(content)}\0".encode())
                found.update(content)
        return found.hexdigest()


def folders_in(top: Path, wanted: str) -> list[str]:
    """Return the names in a folder that match or equal a pattern of nbgrader's: brackets do not match themselves."""
    names = sorted(os.listdir(top)) if top.is_dir() else []
    return [name for name in names if name == wanted or fnmatch.fnmatchcase(name, wanted)]


def kind_of(about: os.stat_result) -> str | None:
    """Return the kind of a link, pipe, socket or device; None for a folder or a file with one name."""
    linked = stat.S_ISREG(about.st_mode) and about.st_nlink > 1
    return "a hard link" if linked else KINDS.get(stat.S_IFMT(about.st_mode))


def read(path: Path, limit: int) -> bytes:
    """Return the content of a regular file. Raise NotAFile for anything else, or if it has more than `limit` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotAFile(f"“{shown(path.name)}” cannot be read ({error.strerror}).") from None
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        kind = kind_of(about) or ("" if stat.S_ISREG(about.st_mode) else "a folder")
        if kind:
            raise NotAFile(_not_taken(path.name, kind))
        content = file.read(limit + 1)
    if len(content) > limit:
        raise NotAFile(f"“{shown(path.name)}” is larger than {limit:,} bytes.")
    return content


def is_file(path: Path) -> bool:
    """Return True if `path` is a regular file with one name."""
    try:
        about = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(about.st_mode) and kind_of(about) is None


def shown(name: str, limit: int = 200) -> str:
    """Return a name, or a line with names, with unprintable characters escaped, cut to `limit` characters."""
    return escaped(name, kept="")[:limit]


def invalid_name(name: str) -> str | None:
    """Return why nbgrader cannot have a student of this name; None if it can."""
    if any(0xD800 <= ord(c) <= 0xDFFF for c in name):
        return "its name is not valid UTF-8"
    if not name.isprintable():
        return "its name has control characters"
    return "its name has a brace" if "{" in name or "}" in name else None  # nbgrader builds paths with `str.format`


def inspect_folder(student: str, folder: Path, files: Set[str] = frozenset()) -> Submission:
    """Return a student's submission with each file accepted or refused. Open no file but the time stamp.

    `files` holds the relative paths of the course's own files: nbgrader writes them over files, not over folders.
    """
    found = Submission(student, folder)
    for path in (folder.parent, folder):
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            found.whole = _not_taken(path.name, kind_of(status) or "a file, not a folder")
            found.troubles.append(found.whole)
            return found
    total = 0
    for relative, about in _walk(folder, {STAMP, *files}):
        kind = kind_of(about) or ("a folder, not a file" if stat.S_ISDIR(about.st_mode) else None)
        if not kind and any(name.startswith(f"{relative}/") for name in files):
            kind = "a file, not a folder"
        total += about.st_size
        if not kind and (len(found.taken) >= MAX_FILES or total > MAX_TOTAL):
            found.troubles.append(f"There are more than {MAX_FILES:,} files or {MAX_TOTAL // 2**20} MiB in it.")
            break
        if not kind and shown(relative) != relative:
            kind = "a file with a name that cannot be written"
        refusal = _not_taken(relative, kind) if kind else None
        if relative == STAMP:
            stamp = read_stamp(folder)
            found.stamp = stamp or timestamps.Stamp(doubt="it holds no point in time")
            if not kind and stamp is None:
                refusal = f"“{STAMP}” holds no point in time, so none is known for this submission."
        if refusal:
            found.refused[relative] = refusal
            found.troubles.append(refusal)
        else:
            found.taken.append(relative)
    return found


def _walk(folder: Path, files: Set[str], depth: int = 0, under: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield (path, status) of all but folders, notebooks first, and of folders with the path of one of `files`.

    Never enter a folder by a link.
    """
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: (not entry.name.endswith(".ipynb"), entry.name))
    for entry in inside:
        about = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(about.st_mode) or under + entry.name in files:
            yield under + entry.name, about
        elif depth < MAX_FOLDERS:
            with contextlib.suppress(PermissionError):
                yield from _walk(folder / entry.name, files, depth + 1, f"{under}{entry.name}/")


def read_stamp(folder: Path) -> timestamps.Stamp | None:
    """Return a folder's time stamp; None if it is missing or cannot be read."""
    try:
        return timestamps.read(read(folder / STAMP, MAX_STAMP).decode("utf-8-sig"))
    except (NotAFile, OSError, ValueError):  # a folder; not UTF-8; not a time
        return None


def _not_taken(name: str, kind: str) -> str:
    return f"“{shown(name)}” is {kind}. It was not opened: only files themselves can be handed in."


def copy(submission: Submission, target: Path) -> None:
    """Copy a submission's accepted files to `target`; add a trouble for each file that cannot be copied."""
    target.mkdir(parents=True)
    for relative in submission.taken:
        path = target / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(submission.folder / relative, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as original, path.open("wb") as copied:
                shutil.copyfileobj(original, copied)
        except OSError as error:
            submission.troubles.append(f"“{shown(relative)}” could not be copied ({error.strerror}).")
