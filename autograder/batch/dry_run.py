"""`autograder grade --dry-run`: say what would be marked and why. Nothing is written, and nothing is run."""

import os
import statistics
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import MissingEntry
from nbgrader.apps.nbgraderapp import NbGraderApp

from ..nbgrader_plugin.class_secret import read_secret
from ..nbgrader_plugin.converters import folder_of
from ..nbgrader_plugin.intake.overlooked import NOT_MEANT
from ..nbgrader_plugin.intake.student_folder import folders_in, invalid_name, shown
from ..nbgrader_plugin.preprocessors import inspect_submission
from ..nbgrader_plugin.report.data import read_history
from ..nbgrader_plugin.report.marks import NoClass, read_marks
from ..nbgrader_plugin.report.summary import duration
from . import marking_cache
from .tasks import Submission
from .writer import due_date, handed_in_at, manual_digests

POINTS_GIVEN = "a person has given points or a comment since: only the feedback page is written again"


@dataclass
class Plan:
    """What marking would do: students by the reasons."""

    assignment: str
    wanted: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    pages: list[str] = field(default_factory=list)  # students of whom only the feedback page is out of date
    unchanged: int = 0
    unusable: list[str] = field(default_factory=list)  # sentences on folders that cannot be read
    each: float | None = None  # median seconds of a marking, by the history

    @property
    def marked(self) -> int:
        return sum(map(len, self.wanted.values()))

    def lines(self, processes: int) -> Iterator[str]:
        """Yield sentences that tell the plan. `processes` would mark at the same time."""
        spent = ""
        if self.each is not None and self.marked:
            spent = f", which takes about {duration(self.marked * self.each / min(processes, self.marked))}"
        yield f"{self.assignment}: {self.marked} to mark{spent}; {self.unchanged} unchanged"
        for reasons, students in sorted(self.wanted.items(), key=lambda item: -len(item[1])):
            yield f"  {'; '.join(reasons)} ({len(students)}): {', '.join(students)}"
        if self.pages:
            yield f"  {POINTS_GIVEN} ({len(self.pages)}): {', '.join(self.pages)}"
        yield from (f"  {sentence}" for sentence in self.unusable)


def plan(app: NbGraderApp, assignment: str, student: str = "*", force: bool = False) -> Plan:
    """Return what `grade` would mark now, with the reasons. Raise SecretError if the class's secret cannot be read."""
    course, folder = app.coursedir, folder_of(app)
    found, cache = Plan(assignment), marking_cache.MarkingCache(folder, assignment)
    secret, environment = read_secret(course), marking_cache.environment_of(assignment)
    due, digests = "", dict[str, str]()
    with suppress(NoClass, MissingEntry):  # no gradebook yet, or it does not know the assignment
        read_marks(course.db_url, assignment)  # opening a gradebook that is not there would make it
        due, digests = due_date(course, assignment), manual_digests(course, assignment)
    top = Path(course.root, course.submitted_directory)
    left_out = {*course.student_id_exclude.split(","), *NOT_MEANT}
    for name in folders_in(top, student):
        own = top / name / assignment
        if name in left_out or not (top / name).is_dir() or not os.path.lexists(own):
            continue
        if problem := invalid_name(name):
            found.unusable.append(f"“{shown(name)}” would have no mark: {problem}. Rename the folder.")
            continue
        try:
            one = inspect_submission(course, name, own)
            key = marking_cache.key_of(Submission.of(one, secret.key if secret else b""), environment)
        except OSError as error:
            found.unusable.append(f"“{name}” would have no mark: {error}.")
            continue
        when = handed_in_at(one, due)
        reasons = cache.reasons(name, key, when)
        if name not in digests and reasons == []:
            reasons = ["the gradebook has no marks of it"]
        if reasons or force:
            found.wanted.setdefault(tuple(reasons or ["--force"]), []).append(name)
        elif (entry := cache.of(name, key, when)) is not None and entry.manual_digest != digests[name]:
            found.pages.append(name)
        else:
            found.unchanged += 1
    markings = read_history(folder / marking_cache.FOLDER / marking_cache.HISTORY) or ()
    seconds = [one.seconds for one in markings if one.assignment == assignment]
    found.each = statistics.median(seconds) if seconds else None
    return found
