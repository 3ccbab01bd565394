"""Find new submissions by polling, since an exchange may be on a network drive, where the system reports no changes."""

import contextlib
import glob
import itertools
import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.exchange import ExchangeError
from nbgrader.utils import notebook_hash

from ..nbgrader_plugin.converters import settings
from ..nbgrader_plugin.feedback.release_feedback import SECRET, ReleaseFeedback
from ..nbgrader_plugin.intake import student_folder, timestamps
from ..nbgrader_plugin.intake.exchange_collect import Collect, another_owner, refusal

SETTLED_AFTER = 0.2  # seconds without a change after which a folder that looks complete counts as complete
STALLED_AFTER = 5.0  # the same for a folder that does not look complete
SCAN_SECONDS = 0.02  # seconds that one scan of old submissions may take; the next scan continues
MAX_FILES = 20_000  # after about so many files of one submission the scan stops

Snapshot = tuple[tuple[str, int, int, int], ...]  # for each file: name, size, mtime and ctime in ns


def snapshot(folder: Path) -> Snapshot:
    """Return names, sizes and times of a folder's files, to compare. Raise FileNotFoundError if there is no folder."""
    found = [("", 0, folder.lstat().st_mtime_ns, 0)]
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            with contextlib.suppress(OSError):
                about = os.lstat(os.path.join(parent, name))
                path = os.path.relpath(os.path.join(parent, name), folder)
                found.append((path, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
        if len(found) > MAX_FILES:
            break
    return tuple(found)


def last_change(look: Snapshot) -> float:
    """Return the time at which the last of these files was written, in seconds since the epoch."""
    return max(changed or modified for _, _, modified, changed in look) / 1e9


def looks_complete(folder: Path) -> bool:
    """Return True if the folder has notebooks and each one ends with a closing brace."""
    notebooks = [path for path in folder.glob("*.ipynb") if stat.S_ISREG(path.lstat().st_mode)]
    for path in notebooks:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 64))
            if not file.read(64).rstrip().endswith(b"}"):
                return False
    return bool(notebooks)


@dataclass
class _Seen:
    look: Snapshot
    since: float
    reported: bool = False


class Settling:
    """Detects when the files in a folder are no longer being written."""

    def __init__(self, whole: Callable[[Path], bool], clock: Callable[[], float] = time.monotonic) -> None:
        self.whole, self.clock = whole, clock
        self._seen: dict[Path, _Seen] = {}

    def unsettled(self) -> list[Path]:
        """Return the folders that are not yet reported and must be checked again soon."""
        return [path for path, seen in self._seen.items() if not seen.reported]

    def look(self, folder: Path) -> Snapshot | None:
        """Return the folder's state if it stopped changing and was not reported yet, else None."""
        now = self.clock()
        try:
            look = snapshot(folder)
            seen = self._seen.get(folder)
            if seen is None or seen.look != look:
                self._seen[folder] = _Seen(look, now)
            elif not seen.reported and now - seen.since >= SETTLED_AFTER:
                seen.reported = now - seen.since >= STALLED_AFTER or self.whole(folder)
                return look if seen.reported else None
        except OSError:  # removed, or not readable
            self._seen.pop(folder, None)
        return None


class Folders:
    """Polls `submitted/STUDENT/ASSIGNMENT/`. New folders are seen at once, changes inside old ones after a while."""

    def __init__(self, submitted: Path, assignments: Iterable[str], without: Iterable[str] = ()) -> None:
        self.submitted, self.assignments = submitted, tuple(assignments)
        self._without = set(without)
        self.settling = Settling(looks_complete)
        self._known: dict[Path, int] = {}  # mtime of each folder, in ns
        self._where = 0

    def arrivals(self) -> Iterator[tuple[str, str, float]]:
        """Yield (student, assignment, time) for each submission that arrived or changed since the last call."""
        there = self._listed()
        new = [path for path, changed in there.items() if self._known.get(path) != changed]
        self._known = there
        first = dict.fromkeys([*new, *self.settling.unsettled()])
        for path in itertools.chain(first, self._some_others(first)):
            look = self.settling.look(path)
            if look is not None:
                yield path.parent.name, path.name, last_change(look)

    def _listed(self) -> dict[Path, int]:
        found = {}
        for student in _folders(self.submitted):
            if student.name.startswith(".") or student.name in self._without:
                continue
            for assignment in self.assignments:
                path = os.path.join(student.path, assignment)
                with contextlib.suppress(OSError):
                    about = os.lstat(path)
                    if stat.S_ISDIR(about.st_mode):
                        found[Path(path)] = about.st_mtime_ns
        return found

    def _some_others(self, first: dict[Path, None]) -> Iterator[Path]:
        """Yield old folders in rotation for SCAN_SECONDS seconds: a file can change without its folder's mtime."""
        paths, started = list(self._known), time.monotonic()
        for _ in range(len(paths)):
            self._where = (self._where + 1) % len(paths)
            if paths[self._where] not in first:
                yield paths[self._where]
            if time.monotonic() - started > SCAN_SECONDS:
                return


def _folders(parent: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


class _Collect(Collect):
    """nbgrader's `ExchangeCollect` that orders a student's submissions as `Exchange` does, which names others'."""

    def _path_to_record(self, path: str) -> dict[str, Any]:
        name = os.path.basename(path)
        (student, _), when = _record(name)
        return {"username": student, "filename": name, "timestamp": when or datetime.min}

    def report(self) -> None:
        pass


_Collect.__name__ = Collect.__name__  # traitlets finds the settings of a class by its name


class Exchange:
    """nbgrader's exchange: collects each student's newest submission and releases feedback."""

    def __init__(self, classroom: str, assignments: Iterable[str], say: Callable[[str], None]) -> None:
        """Open the exchange. `say` gets nbgrader's warnings, such as a submission under another student's name."""
        self._app: NbGraderApp = settings(classroom)
        self._without = {*self._app.coursedir.student_id_exclude.split(","), ""}
        self._relay = logging.Handler(logging.WARNING)
        self._relay.emit = lambda record: say(" ".join(record.getMessage().split()))  # type: ignore[method-assign]
        self.assignments = set(assignments)
        course = self._app.coursedir
        course.get_existing_timestamp = _collected_at
        collect = _Collect(coursedir=course, parent=self._app)
        self._root, self._check_owner = Path(collect.root, course.course_id), collect.check_owner
        self._say, self._refused = say, set[str]()  # folders that are not their student's, which were named
        self._inbound = self._root / "inbound"
        # Whole once `nbgrader submit` has written its last file.
        self.settling = Settling(lambda folder: any(name == SECRET and size for name, size, *_ in snapshot(folder)))
        self._listed = 0  # the inbound folder's mtime when it was last listed
        self._newest: dict[tuple[str, str], tuple[datetime, Path]] = {}

    def collect(self) -> Iterator[tuple[str, str, float | str]]:
        """Collect new submissions into `submitted/`. Yield (student, assignment, time or error text)."""
        paths = dict.fromkeys([*self._news(), *self.settling.unsettled()])
        newest = {path: who for who, (_, path) in self._newest.items()} if paths else {}
        for path in paths:
            look = self.settling.look(path)
            if look is None or path not in newest:  # still being written, or a newer one arrived
                continue
            student, assignment = newest[path]
            try:
                self._run(_Collect, student, assignment, update=True)
                yield student, assignment, last_change(look)
            except (Exception, SystemExit) as error:  # folder and timestamp are the student's: anything may fail
                yield student, assignment, f"what was handed in could not be collected: {error}"

    def _news(self) -> list[Path]:
        """Return inbound folders that are new since the last call and newer than the copy in `submitted/`."""
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
                if self._is_refused(Path(entry.path), who[0]):
                    continue
                self._newest[who] = when, Path(entry.path)
                news[who] = Path(entry.path)
        self._listed = changed
        return [path for who, path in news.items() if not self._is_collected(*who)]

    def _is_refused(self, folder: Path, student: str) -> bool:
        """Return True if a folder is not the student's whom its name means, and say so once."""
        owner = another_owner(folder, student) if self._check_owner else None
        if owner is not None and folder.name not in self._refused:
            self._refused.add(folder.name)
            self._say(refusal(folder, owner))
        return owner is not None

    def _is_collected(self, student: str, assignment: str) -> bool:
        """Return True if `submitted/` has the newest."""
        there = _collected_at(str(self._folder("submitted", student, assignment)))
        return there is not None and there >= self._newest[student, assignment][0]

    def _run(self, kind: type, student: str, assignment: str, **options: Any) -> None:
        course = self._app.coursedir
        course.student_id, course.assignment_id = glob.escape(student), assignment
        work = kind(coursedir=course, parent=self._app, **options)
        work.log.addHandler(self._relay)  # only for this call: all nbgrader code of a process shares one log
        try:
            work.start()
        finally:
            work.log.removeHandler(self._relay)

    def was_submitted_here(self, student: str, assignment: str) -> bool:
        return (self._folder("submitted", student, assignment) / SECRET).is_file()

    def is_released(self, student: str, assignment: str) -> bool:
        """Return True if the student can fetch the pages that are in `feedback/` now."""
        folder = self._folder("feedback", student, assignment)
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
        """Release a student's feedback through the exchange. Raise ExchangeError with a sentence on failure."""
        folder = self._folder("feedback", student, assignment)
        for name in (student_folder.STAMP, SECRET):
            if not (folder / name).is_file():
                raise ExchangeError(f"what was handed in has no {name}")
        try:
            self._run(ReleaseFeedback, student, assignment)
        except (Exception, SystemExit) as error:
            raise ExchangeError(str(error)) from error

    def _folder(self, kind: str, student: str, assignment: str) -> Path:
        course = self._app.coursedir
        return Path(course.format_path(getattr(course, f"{kind}_directory"), student, assignment))


def _record(name: str) -> tuple[tuple[str, str], datetime | None]:
    """Parse an inbound folder's name: ((student, assignment), by what to order it), None if it holds no time."""
    student, assignment, when, *_ = [*name.rsplit("+", 3), "", ""]
    try:
        return (student, assignment), timestamps.read(when).order
    except timestamps.NoTime:
        return (student, assignment), None


def _collected_at(folder: str) -> datetime | None:
    """Return by what to order the submission in a folder; None if it has no time, and any other is newer."""
    stamp = student_folder.read_stamp(Path(folder))
    return stamp.order if stamp else None
