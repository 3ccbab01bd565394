"""What was marked from what: so that a second run marks only what has changed, and a killed one goes on.

Each submission has a record in `marked/<assignment>/`, written last: when marks, notebook and feedback are where they
belong. A record counts as long as its key (of what was handed in, and of everything that marking depends on) is the
present one and what it speaks of is there.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import urllib.parse
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from ..judge.diagnosis import mistake_costs
from ..spec.course import course, home, release, root, sources, topics_of
from .tasks import Submission

FOLDER = "marked"
HISTORY = "history.jsonl"
ENGINE = Path(__file__).parents[1]
LIBRARIES = ("torch", "tokenizers", "transformers", "numpy", "matplotlib", "nbgrader", "nbconvert", "nbformat")


def key_of(submission: Submission, environment: str) -> str:
    """Of a submission and of all that its marks depend on."""
    found = hashlib.sha256(environment.encode())
    found.update(repr((submission.troubles, sorted(submission.refused.items()), submission.whole)).encode())
    for name, content in sorted(submission.files.items()):
        found.update(f"\0{name!r} {len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


@functools.cache
def environment_of(assignment: str) -> str:
    """Everything else: the assignment as written and as released, the exercises, the engine, the libraries."""
    found = hashlib.sha256()
    settings = [root() / "nbgrader_config.py", root() / mistake_costs.FILE]
    places = [sources() / assignment, release() / assignment, *settings]
    others = {home() / topic for topic in set(course().topics) - set(topics_of(assignment))}
    code = [path for place in (ENGINE, home()) for path in place.rglob("*.py") if not others & {*path.parents}]
    for path in sorted([path for place in places for path in _within(place)] + code):
        found.update(f"\0{path.name}\0".encode())
        found.update(path.read_bytes())
    found.update("\n".join(f"{name} {metadata.version(name)}" for name in LIBRARIES).encode())
    return found.hexdigest()


def _within(place: Path) -> list[Path]:
    return [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]


@dataclass
class Record:
    """That a submission was marked, from what, and what stood where afterwards."""

    key: str
    handed_in: str  # when, as its timestamp says
    said: str  # of the marks and comments that people had given when the feedback was written
    files: dict[str, list[int]] = field(default_factory=dict)  # written: path in the classroom, size, time of change

    def is_of(self, key: str, handed_in: str) -> bool:
        """Whether it speaks of this submission."""
        return (self.key, self.handed_in) == (key, handed_in)


class Ledger:
    """The records of one assignment."""

    def __init__(self, classroom: Path, assignment: str) -> None:
        self.classroom, self.assignment = classroom, assignment
        self.folder = classroom / FOLDER / assignment

    def of(self, student: str) -> Record | None:
        """The last record, if there is one and what it speaks of is still there as it was."""
        try:
            record = Record(**json.loads(self._path(student).read_text("utf-8")))
            there = all(seen(self.classroom / name) == what for name, what in record.files.items())
            return record if there and record.files else None
        except (OSError, ValueError, TypeError, AttributeError):  # none, cut off, or not ours
            return None

    def write(self, student: str, record: Record) -> None:
        """In one step: whoever reads meanwhile, or is killed meanwhile, sees the old one or the new."""
        path = self._path(student)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(asdict(record)), "utf-8")
        os.replace(part, path)
        path.with_suffix(".log").unlink(missing_ok=True)

    def forget(self, student: str) -> None:
        self._path(student).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Take away what a killed run left half written."""
        for part in self.folder.glob("*.part"):
            part.unlink(missing_ok=True)

    def note(self, student: str, seconds: float, earned: float | None, points: float | None) -> None:
        """Add a line to the history of all markings."""
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "student": student,
            "assignment": self.assignment,
            "seconds": round(seconds, 3),
            "earned": earned,
            "points": points,
        }
        path = self.classroom / FOLDER / HISTORY
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as history:
            history.write(json.dumps(line) + "\n")

    def complain(self, student: str, why: str) -> tuple[str, Path]:
        """Keep what went wrong where it can be read. Returns the last line of it, and the place."""
        path = self._path(student).with_suffix(".log")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(why, "utf-8", errors="replace")
        lines = [line.strip() for line in why.splitlines() if line.strip()]
        return lines[-1] if lines else "no reason was given", path

    def add(self, record: Record, paths: Iterable[str | Path]) -> None:
        """Note in a record that these files were written."""
        for path in paths:
            what = seen(Path(path))
            if what is not None:
                record.files[os.path.relpath(path, self.classroom)] = what

    def _path(self, student: str) -> Path:
        return self.folder / (urllib.parse.quote(os.fsencode(student), safe="") + ".json")


def seen(path: Path) -> list[int] | None:
    """What tells that a file is still the one that was written."""
    try:
        about = path.stat()
    except OSError:
        return None
    return [about.st_size, about.st_mtime_ns]
