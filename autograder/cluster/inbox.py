"""What has been handed in, seen by looking: exchanges live on network drives, where the system reports no changes.

`Folders` looks through `submitted/`, `Exchange` through nbgrader's inbound folder. What is still being copied is left
alone until it rests.
"""

from __future__ import annotations

import glob
import itertools
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from nbgrader.utils import notebook_hash, parse_utc

from ..nbgrader_plugin.converters import settings

RESTING = 0.2  # seconds without a change, after which what looks whole is taken to be so,
STALLED = 5.0  # and what does not
AT_ONCE = 0.02  # seconds that one look through old submissions may take; the rest is looked at the next time
MANY = 20_000  # files of one submission that are looked at
TIMESTAMP, SECRET = "timestamp.txt", "submission_secret.txt"  # nbgrader's; written last, in this order

Look = tuple[tuple[str, int, int, int], ...]  # of each file: name, size, times of change


def look_at(folder: Path) -> Look:
    """What tells that a submission has changed. Raises FileNotFoundError if there is none."""
    found = [("", 0, folder.lstat().st_mtime_ns, 0)]
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            try:
                about = os.lstat(os.path.join(place, name))
            except OSError:
                continue
            path = os.path.relpath(os.path.join(place, name), folder)
            found.append((path, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
        if len(found) > MANY:
            break
    return tuple(found)


def came(look: Look) -> float:
    """When the last of these files was put there, by the wall clock."""
    return max(changed or modified for _, _, modified, changed in look) / 1e9


def looks_whole(folder: Path) -> bool:
    """Whether there are notebooks, and each one ends as notebooks do."""
    notebooks = [path for path in folder.glob("*.ipynb") if stat.S_ISREG(path.lstat().st_mode)]
    return bool(notebooks) and all(_end_of(path).rstrip().endswith(b"}") for path in notebooks)


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 64))
        return file.read(64)


@dataclass
class _Seen:
    look: Look
    since: float
    told: bool = False


class Resting:
    """Tells when what lies in folders is no longer being written."""

    def __init__(self, whole: Callable[[Path], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self.whole, self.clock = whole, clock
        self._seen: dict[Path, _Seen] = {}

    def restless(self) -> list[Path]:
        """Folders that have to be looked at again soon."""
        return [path for path, seen in self._seen.items() if not seen.told]

    def look(self, folder: Path) -> Look | None:
        """What is there, if it rests and has not been told of yet."""
        now = self.clock()
        try:
            look = look_at(folder)
            seen = self._seen.get(folder)
            if seen is None or seen.look != look:
                self._seen[folder] = _Seen(look, now)
            elif not seen.told and now - seen.since >= RESTING:
                seen.told = now - seen.since >= STALLED or self.whole(folder)
                return look if seen.told else None
        except OSError:  # gone, or not for us
            self._seen.pop(folder, None)
        return None


class Folders:
    """`submitted/STUDENT/ASSIGNMENT/`. New folders are seen at once, changes inside of old ones after a while."""

    def __init__(self, submitted: Path, assignments: Iterable[str], without: Iterable[str] = ()) -> None:
        self.submitted, self.assignments = submitted, tuple(assignments)
        self._without = set(without)
        self._resting = Resting(looks_whole)
        self._known: dict[Path, int] = {}  # with the folder's time of change
        self._where = 0

    def arrivals(self) -> Iterator[tuple[str, str, float]]:
        """Students, assignments and times of what came or changed since the last call."""
        there = self._listed()
        new = [path for path, changed in there.items() if self._known.get(path) != changed]
        self._known = there
        first = dict.fromkeys([*new, *self._resting.restless()])
        for path in itertools.chain(first, self._some_others(first)):
            look = self._resting.look(path)
            if look is not None:
                yield path.parent.name, path.name, came(look)

    def restless(self) -> bool:
        return bool(self._resting.restless())

    def _listed(self) -> dict[Path, int]:
        found = {}
        for student in _folders(self.submitted):
            if student.name.startswith(".") or student.name in self._without:
                continue
            for assignment in self.assignments:
                path = os.path.join(student.path, assignment)
                try:
                    about = os.lstat(path)
                except OSError:
                    continue
                if stat.S_ISDIR(about.st_mode):
                    found[Path(path)] = about.st_mtime_ns
        return found

    def _some_others(self, first: dict[Path, None]) -> Iterator[Path]:
        """All, if that is quick; else those whose turn it is. A file may change and its folder's time stay."""
        paths, started = list(self._known), time.monotonic()
        for _ in range(len(paths)):
            self._where = (self._where + 1) % len(paths)
            if paths[self._where] not in first:
                yield paths[self._where]
            if time.monotonic() - started > AT_ONCE:
                return


def _folders(place: Path) -> list[os.DirEntry]:
    try:
        with os.scandir(place) as entries:
            return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


class _Collect(ExchangeCollect):
    """nbgrader's, which follows no links: who owns them may read less than who collects."""

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        size = sum(about[1] for about in look_at(Path(src)))
        if size > 1000 * self.coursedir.max_dir_size:
            raise ExchangeError(f"{size} bytes are too many; {1000 * self.coursedir.max_dir_size} are allowed")

        def left_out(folder: str, names: list[str]) -> set[str]:
            modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
            return {name for name, mode in modes.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))}

        shutil.copytree(src, dest, symlinks=True, ignore=left_out, copy_function=_copy)
        for path in [Path(dest), *Path(dest).rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)  # whatever the student's were


_Collect.__name__ = ExchangeCollect.__name__  # by which its settings are found


def _copy(source: str, target: str) -> str:
    return shutil.copy2(source, target, follow_symlinks=False)


class Exchange:
    """nbgrader's exchange: collects what is newest of each student, and releases feedback."""

    def __init__(
        self, place: str, assignments: Iterable[str], say: Callable[[str], None], without: Iterable[str] = ()
    ) -> None:
        """`say` hears what nbgrader warns of, such as that somebody hands in under another's name."""
        self._app: NbGraderApp = settings(place)
        self._without = {*without, ""}
        self._relay = logging.Handler(logging.WARNING)
        self._relay.emit = lambda record: say(" ".join(record.getMessage().split()))  # type: ignore[method-assign]
        self.assignments = set(assignments)
        course = self._app.coursedir
        self._root = Path(_Collect(coursedir=course, parent=self._app).root, course.course_id)
        self._inbound = self._root / "inbound"
        self._resting = Resting(_handed_in)
        self._listed = 0  # the inbound folder's time of change
        self._newest: dict[tuple[str, str], tuple[datetime, Path]] = {}

    def collect(self) -> Iterator[tuple[str, str, float | str]]:
        """Put into `submitted/` what came: students, assignments, and when it came or why it is not there."""
        paths = dict.fromkeys([*self._news(), *self._resting.restless()])
        newest = {path: who for who, (_, path) in self._newest.items()} if paths else {}
        for path in paths:
            look = self._resting.look(path)
            if look is None or path not in newest:  # or a newer one has come meanwhile
                continue
            student, assignment = newest[path]
            try:
                self._run(_Collect, student, assignment, update=True)
                yield student, assignment, came(look)
            except (Exception, SystemExit) as error:  # whatever a student has made of the folder and its timestamp
                yield student, assignment, f"what was handed in could not be collected: {error}"

    def restless(self) -> bool:
        return bool(self._resting.restless())

    def _news(self) -> list[Path]:
        """Submissions that are newer than what is in `submitted/`, and not known yet."""
        try:
            changed = self._inbound.stat().st_mtime_ns
        except OSError:
            return []
        if changed == self._listed:
            return []
        news = {}
        for entry in _folders(self._inbound):
            who, when = _record(entry.name)
            if when is None or who[1] not in self.assignments or who[0].startswith(".") or who[0] in self._without:
                continue
            if who not in self._newest or when > self._newest[who][0]:
                self._newest[who] = when, Path(entry.path)
                news[who] = Path(entry.path)
        self._listed = changed
        return [path for who, path in news.items() if not self._is_collected(*who)]

    def _is_collected(self, student: str, assignment: str) -> bool:
        """What is there says so. A timestamp that nobody can read would keep all later ones out: it goes."""
        course = self._app.coursedir
        folder = course.format_path(course.submitted_directory, student, assignment)
        try:
            there = course.get_existing_timestamp(folder)
        except (Exception, SystemExit):
            Path(folder, TIMESTAMP).unlink(missing_ok=True)
            return False
        return there is not None and there >= self._newest[student, assignment][0]

    def _run(self, kind: type, student: str, assignment: str, **options: Any) -> None:
        course = self._app.coursedir
        course.student_id, course.assignment_id = glob.escape(student), assignment
        work = kind(coursedir=course, parent=self._app, **options)
        work.log.addHandler(self._relay)  # while it works: all that nbgrader does in a process has one log
        try:
            work.start()
        finally:
            work.log.removeHandler(self._relay)

    # --- feedback -----------------------------------------------------------------------------------------------------

    def came_through(self, student: str, assignment: str) -> bool:
        course = self._app.coursedir
        return Path(course.format_path(course.submitted_directory, student, assignment), SECRET).is_file()

    def is_released(self, student: str, assignment: str) -> bool:
        """Whether the pages that stand in `feedback/` are those that the student can fetch."""
        folder = self._feedback(student, assignment)
        try:
            secret = (folder / SECRET).read_text()
            pages = {
                page: self._root / "feedback" / f"{notebook_hash(secret=secret, notebook_id=page.stem)}.html"
                for page in folder.glob("*.html")
            }
            return all(there.stat().st_mtime_ns >= page.stat().st_mtime_ns for page, there in pages.items())
        except (OSError, ValueError):
            return False

    def release(self, student: str, assignment: str) -> None:
        """Raises ExchangeError with a sentence if it cannot be done."""
        folder = self._feedback(student, assignment)
        for name in (TIMESTAMP, SECRET):
            if not (folder / name).is_file():
                raise ExchangeError(f"what was handed in has no {name}")
        try:
            self._run(ExchangeReleaseFeedback, student, assignment)
        except (Exception, SystemExit) as error:
            raise ExchangeError(str(error)) from error

    def _feedback(self, student: str, assignment: str) -> Path:
        course = self._app.coursedir
        return Path(course.format_path(course.feedback_directory, student, assignment))


def _handed_in(folder: Path) -> bool:
    """`nbgrader submit` has written its last file."""
    return any(name == SECRET and size for name, size, _, _ in look_at(folder))


def _record(name: str) -> tuple[tuple[str, str], datetime | None]:
    """Who, what and when, as nbgrader reads it from a folder's name."""
    parts = name.rsplit("+", 3)
    try:
        return (parts[0], parts[1]), parse_utc(parts[2])
    except (IndexError, ValueError, OverflowError):
        return (name, ""), None
