"""Records of marked submissions in `marked/<assignment>/`, written last: a second run marks only what has changed."""

import contextlib
import functools
import hashlib
import json
import os
import platform
import urllib.parse
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import filelock

from ..files import files, make_private, only_for_owner, private, write_private
from ..judge.diagnosis import mistake_costs
from ..nbgrader_plugin.converters import settings
from ..nbgrader_plugin.privacy import groupshared
from ..plain_output import escaped
from ..spec.course import NO_COURSE, course, home, notebooks, root, sources, topics_of
from .tasks import Submission

FOLDER = "marked"
HISTORY = "history.jsonl"
ENGINE = Path(__file__).parents[1]
MAX_NAME = 255 - len(".4194304.part")  # bytes of a student's file without its suffix, of which this is the longest
CHANGES = {  # what a key has a hash of, and the reason to mark again if that has changed
    "submission": "another version was handed in",
    "settings": "nbgrader_config.py has changed",
    "costs": "costs.toml has changed",
    "source": "the source notebook has changed",
    "release": "the released notebook has changed",
    "course": "an exercise of the course has changed",
    "engine": "autograder is another version",
    "libraries": "Python or a library is another version",
    "secret": "the class has another secret",
}
LIBRARIES = ("torch", "numpy", "nbgrader", "nbconvert", "nbformat")  # of any course; `Course.preload` names its own


def lock(classroom: Path, name: str) -> filelock.FileLock:
    """Return the lock of this name, such as an assignment's, which its marking process holds."""
    path = _in_private_folder(classroom / FOLDER / f"{name}.lock")
    return filelock.FileLock(path, timeout=0, mode=0o660 if groupshared() else 0o600)


def _in_private_folder(path: Path) -> Path:
    """Make the folder above a file, the owner's only or the group's; return the path."""
    with only_for_owner(groupshared()):
        path.parent.mkdir(parents=True, exist_ok=True)
    private(path.parent, groupshared())
    return path


def key_of(submission: Submission, environment: str) -> str:
    """Return hashes of a submission and of the class's secret, after those of the `environment` that marks it."""
    found = hashlib.sha256()
    found.update(repr((submission.troubles, sorted(submission.refused.items()), submission.whole)).encode())
    for name, content in sorted(submission.files.items()):
        found.update(f"\0{name!r} {len(content)}\0".encode())
        found.update(content)
    secret = hashlib.sha256(submission.secret).hexdigest()
    return f"{environment} secret={secret} submission={found.hexdigest()}"


@functools.cache
def environment_of(assignment: str) -> str:
    """Return hashes of all else that marks depend on, each after its name in CHANGES."""
    app = settings(os.environ.get("COURSE_CLASSROOM", "classroom"))
    folders = app.coursedir
    written = {Path(folders.format_path(folders.source_directory, ".", assignment))}
    released = Path(folders.format_path(folders.release_directory, ".", assignment))
    code = {"engine": [*ENGINE.rglob("*.py")], "course": list[Path]()}
    if course() is not NO_COURSE:
        own = topics_of(assignment) if assignment in notebooks() else ()
        others = {home() / topic for topic in set(course().topics) - set(own)}
        code["course"] = [path for path in home().rglob("*.py") if not others & {*path.parents}]
        written.add(sources() / assignment)  # where the course is installed, the configured one is a copy
    settings_hash = hashlib.sha256(repr(sorted(app.config.Judge.items())).encode())  # some may be a user's own
    libraries = "\n".join([f"python {platform.python_version()}", *_library_versions()])
    hashes = {
        "settings": _hash([root() / "nbgrader_config.py"], settings_hash),
        "costs": _hash([root() / mistake_costs.FILE]),
        "source": _hash(sorted(written)),
        "release": _hash([released]),
        **{name: _hash(paths) for name, paths in code.items()},
        "libraries": hashlib.sha256(libraries.encode()).hexdigest(),
    }
    return " ".join(f"{name}={value}" for name, value in hashes.items())


def _hash(paths: Iterable[Path], found: Any = None) -> str:
    """Return a hash of these files and of those in these folders, added to `found`."""
    found = found or hashlib.sha256()
    for path in sorted(file for top in paths for file in files(top, frozenset())):
        found.update(f"\0{path.name}\0".encode())
        found.update(path.read_bytes())
    return str(found.hexdigest())


def _library_versions() -> list[str]:
    """Return the versions of the installed libraries that marks depend on, found by the names of their modules."""
    versions = []
    for name in sorted({*LIBRARIES, *(module.partition(".")[0] for module in course().preload)}):
        with contextlib.suppress(metadata.PackageNotFoundError):  # not installed, or a module of Python's own
            versions.append(f"{name} {metadata.version(name)}")
    return versions


@dataclass
class CacheEntry:
    """A marked submission: its key, and the files that were written for it."""

    key: str
    handed_in: str  # the time in the submission's timestamp
    manual_digest: str  # digest of the manual marks and comments when the feedback was written
    files: dict[str, list[int]] = field(default_factory=dict)  # written files: [size, mtime in ns] by classroom path


class MarkingCache:
    """The entries of one assignment."""

    def __init__(self, classroom: Path, assignment: str) -> None:
        self.classroom, self.assignment = classroom, assignment
        self.folder = classroom / FOLDER / assignment

    def of(self, student: str, key: str, handed_in: str) -> CacheEntry | None:
        """Return the entry of this submission, or None if there is none or a file it names has changed."""
        entry = self._read(student)
        return None if entry is None or self._outdated(entry, key, handed_in) else entry

    def reasons(self, student: str, key: str, handed_in: str) -> list[str]:
        """Return why this submission is to be marked; nothing if it is marked already."""
        entry = self._read(student)
        if entry is not None:
            return self._outdated(entry, key, handed_in)
        failed = self._path(student).with_suffix(".log").is_file()
        return ["marking it failed the last time" if failed else "not marked yet"]

    def _read(self, student: str) -> CacheEntry | None:
        try:
            entry = CacheEntry(**json.loads(self._path(student).read_text("utf-8")))
            return entry if entry.files and isinstance(entry.key, str) else None
        except (OSError, ValueError, TypeError, AttributeError):  # missing, truncated, or of another format
            return None

    def _outdated(self, entry: CacheEntry, key: str, handed_in: str) -> list[str]:
        """Return what has changed since an entry was written."""
        before, now = ({*one.split(" ")} for one in (entry.key, key))
        known = {part.partition("=")[0] for part in before}
        changed = [CHANGES[name] for name in CHANGES if name in {part.partition("=")[0] for part in now - before}]
        if entry.key != key and not known & set(CHANGES):
            changed = ["an older version of autograder marked it"]
        if entry.handed_in != handed_in:
            changed.append("the time when it was handed in, or the due date, has changed")
        if not all(size_and_mtime(self.classroom / name) == what for name, what in entry.files.items()):
            changed.append("a marked notebook or a feedback page was changed or removed")
        return changed

    def write(self, student: str, entry: CacheEntry) -> None:
        """Write an entry atomically: a concurrent reader, or a kill, finds the old one or the new one."""
        path = _in_private_folder(self._path(student))
        part = path.with_suffix(f".{os.getpid()}.part")
        make_private(part, groupshared())
        part.write_text(json.dumps(asdict(entry)), "utf-8")
        os.replace(part, path)
        path.with_suffix(".log").unlink(missing_ok=True)

    def forget(self, student: str) -> None:
        self._path(student).unlink(missing_ok=True)

    def log_marking(self, student: str, seconds: float, earned: float | None, points: float | None) -> None:
        about = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "student": student}
        line = about | {"assignment": self.assignment, "seconds": round(seconds, 3), "earned": earned, "points": points}
        path = _in_private_folder(self.classroom / FOLDER / HISTORY)
        make_private(path, groupshared())
        with path.open("a", encoding="utf-8") as history:
            history.write(json.dumps(line) + "\n")

    def log_failure(self, student: str, why: str) -> tuple[str, Path]:
        """Write an error to the student's log. Return its last line and the log's path."""
        path = _in_private_folder(self._path(student).with_suffix(".log"))
        write_private(path, escaped(why).encode(errors="replace"), groupshared())
        lines = [line.strip() for line in why.splitlines() if line.strip()]
        return lines[-1] if lines else "no reason was given", path

    def add(self, entry: CacheEntry, paths: Iterable[str | Path]) -> None:
        for path in paths:
            if (what := size_and_mtime(Path(path))) is not None:
                entry.files[os.path.relpath(path, self.classroom)] = what

    def _path(self, student: str) -> Path:
        name = urllib.parse.quote(os.fsencode(student), safe="")
        if len(name) > MAX_NAME:  # no quoted name has a "+", so this one is no other student's
            name = f"{name[: MAX_NAME - 65]}+{hashlib.sha256(name.encode()).hexdigest()}"
        return self.folder / f"{name}.json"


def size_and_mtime(path: Path) -> list[int] | None:
    """Return a file's [size, mtime in ns], which change when it is rewritten; None if it cannot be read."""
    try:
        about = path.stat()
    except OSError:
        return None
    return [about.st_size, about.st_mtime_ns]
