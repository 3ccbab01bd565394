"""`autograder grade`: marks the changed submissions of whole assignments on all cores, with a progress bar."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import filelock
import nbformat
from rich import progress as bars
from rich.console import Console
from rich.text import Text

from ..nbgrader_plugin.converters import folder_of, settings
from ..nbgrader_plugin.gradebook.locking import released
from ..nbgrader_plugin.gradebook.roster import NAMES, Unusable, read
from ..nbgrader_plugin.intake import timestamps
from ..nbgrader_plugin.marking.notices import FAILED, refusal
from ..nbgrader_plugin.report.marks import read_marks
from ..sandbox.limits import SandboxError
from . import marking, marking_cache
from .pool import Cluster, Local, TaskQueue, cores
from .tasks import Marked, Submission
from .writer import Writer


@dataclass
class Outcome:
    marked: int = 0
    unchanged: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # reason by student, or by a sentence on an unusable folder
    logs: dict[str, Path] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)  # students marked now of whom nothing could be read
    stamps: dict[str, timestamps.Stamp] = field(default_factory=dict)  # by student
    overlooked: list[str] = field(default_factory=list)  # sentences on what is no submission of any assignment
    seconds: float = 0.0


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during marking: `marked` of the `planned` submissions are in the gradebook, each with its feedback."""

    def __init__(self, marked: int, planned: int) -> None:
        super().__init__()
        self.marked, self.planned = marked, planned


class Classroom:
    """A folder with a term's data, and the processes that work on it."""

    def __init__(self, path: str, workers: Local | Cluster, sandboxed: bool = True) -> None:
        """Open the classroom at `path`, absolute or in the course; `sandboxed` says where notebooks run."""
        self.app = settings(path)
        self.path, self.sandboxed = path, sandboxed
        self.folder = folder_of(self.app)
        self.workers = workers
        self.pages = Local(max(1, cores() // 4))

    def close(self) -> None:
        self.pages.close()

    def turn(self, assignment: str, console: Console | None = None) -> contextlib.AbstractContextManager[object]:
        """Acquire the assignment's lock: one process at a time marks it. The lock is released if the process dies."""
        lock = marking_cache.lock(self.folder, assignment)
        try:
            return lock.acquire()
        except filelock.Timeout:
            if console is not None:
                console.print(f"{assignment} is being marked by another process; waiting for it", highlight=False)
            return lock.acquire(timeout=-1)


class _StudentsPerSecond(bars.ProgressColumn):
    def render(self, task: bars.Task) -> Text:
        """Return the rate since the start: pages come in bursts, so the rate of the last moment means nothing."""
        seconds = task.finished_time or task.elapsed
        return Text(f"{task.completed / seconds:.1f}/s" if task.completed and seconds else "")


def progress(console: Console) -> bars.Progress:
    """Return a progress bar with the count, the rate, elapsed and remaining time, and the number of failures."""
    return bars.Progress(
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        _StudentsPerSecond(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("[red]{task.fields[failures]}"),
        console=console,
    )


def grade(
    classroom: Classroom, assignment: str, student: str = "*", force: bool = False, bar: bars.Progress | None = None
) -> Outcome:
    """Mark the changed submissions of an assignment and write their feedback; return the outcome.

    Raise Interrupted on Ctrl-C, SandboxError if notebooks cannot be run, and NbGraderException without an assignment.
    """
    started = time.monotonic()
    bar = bar or bars.Progress(disable=True)
    with classroom.turn(assignment, None if bar.disable else bar.console):
        run = _Run(classroom, assignment, student, bar)
        try:
            run.go(force)
        except KeyboardInterrupt:
            raise Interrupted(run.outcome.marked, run.planned) from None
    run.outcome.seconds = time.monotonic() - started
    return run.outcome


def afterwards(classroom: Classroom, assignment: str, outcome: Outcome) -> Iterator[str]:
    """Yield what to know after a run: where pages are, what was unreadable, whose time is unclear, who is unknown."""
    course = classroom.app.coursedir
    pages = Path(course.format_path(course.feedback_directory, "*", assignment))
    if not outcome.marked and not outcome.unchanged:
        return
    yield f"feedback: {pages.relative_to(course.root) if pages.is_relative_to(course.root) else pages}"
    if outcome.unread:
        yield f"could not be read, so 0 points (the page says why): {', '.join(sorted(outcome.unread))}"
    yield from timestamps.remarks(outcome.stamps)
    _, sheets = read_marks(course.db_url, assignment)
    roster = classroom.folder / NAMES
    with contextlib.suppress(Unusable):
        table = read(roster, min_columns=1)
        known = {table.cell(row, "id") for row in table.rows}
        strangers = [sheet.student for sheet in sheets[assignment] if sheet.student not in known]
        if strangers and table.column("id") is not None:
            yield f"not in {roster.name}: {', '.join(strangers)}"
    if waiting := sum(sheet.waiting for sheet in sheets[assignment]):
        yield f"{waiting} {'answers wait' if waiting > 1 else 'answer waits'} for a person: Formgrader, Manual Grading"


class _Run:
    """A run over one assignment. Identical submissions, grouped in `_alike`, are marked once."""

    def __init__(self, classroom: Classroom, assignment: str, student: str, bar: bars.Progress) -> None:
        self.classroom, self.assignment, self.bar = classroom, assignment, bar
        self.task = bar.add_task(f"{assignment}: reading", total=None, failures="")
        self.outcome = Outcome()
        self.planned = 0  # submissions to mark
        self.marking_cache = marking_cache.MarkingCache(classroom.folder, assignment)
        for part in self.marking_cache.folder.glob("*.part"):  # of a run that was killed
            part.unlink(missing_ok=True)
        self.writer = Writer(classroom.app, assignment, student)  # releases an assignment that is not in the gradebook
        self.environment = marking_cache.environment_of(assignment)
        self.marking: TaskQueue[tuple[str, list[str]], Marked] = TaskQueue(classroom.workers, marking.mark)
        self.paging: TaskQueue[str, list[str]] = TaskQueue(classroom.pages, marking.write_feedback)
        self._alike: dict[str, list[str]] = {}  # students by the key of their submission
        self._entries: dict[str, marking_cache.CacheEntry] = {}  # of students whose feedback is being written

    def go(self, force: bool) -> Outcome:
        self.outcome.overlooked = self.writer.look_around()
        for sentence in self.writer.unlisted:
            self.outcome.failed[sentence.rstrip(".")] = "nbgrader cannot list it"
        self.bar.update(self.task, total=len(self.writer.folders))
        outdated = self._plan(force)
        self.bar.remove_task(self.task)
        self.planned = sum(map(len, self._alike.values())) + len(outdated)
        if self.planned:
            self.task = self.bar.add_task(self.assignment, total=self.planned, failures="")
            for student in outdated:
                self._put_page(student)
            if self._alike:
                self._mark()
            while len(self.paging):
                self._take_pages()
        self.outcome.stamps = {student: source.found.stamp for student, source in self.writer.folders.items()}
        return self.outcome

    def _plan(self, force: bool) -> list[str]:
        """Collect in `_alike` the students to mark; return those of whom only the feedback is out of date."""
        outdated = []
        manual_digests = self.writer.manual_digests()
        for student, source in self.writer.folders.items():
            self.bar.advance(self.task)
            key = marking_cache.key_of(Submission.of(source.found, self.writer.secret), self.environment)
            when = self.writer.when(student)
            entry = None if force or student not in manual_digests else self.marking_cache.of(student, key, when)
            if entry is None:
                self._alike.setdefault(key, []).append(student)
            elif entry.manual_digest != manual_digests[student]:
                self._entries[student] = replace(entry, manual_digest=manual_digests[student])
                outdated.append(student)
            else:
                self.outcome.unchanged += 1
        return outdated

    def _mark(self) -> None:
        waiting = list(reversed(self._alike.items()))
        known = released(self.classroom.app.coursedir.db_url, self.assignment)
        while waiting or len(self.marking):
            while waiting and not self.marking.full():
                planned, students = waiting.pop()
                try:
                    submission = self.writer.reread(students[0])
                    key = marking_cache.key_of(submission, self.environment)
                except OSError as error:  # the folder was removed
                    self._fail(students[0], str(error))
                    key = ""
                if key != planned:  # changed since `_plan`: the others are marked by what one of them handed in
                    students, others = students[:1], students[1:]
                    waiting += [(planned, others)] if others else []
                if key:
                    self.marking.put((key, students), known, submission, self.environment, self.classroom.sandboxed)
            for (key, students), marked in self.marking.done():
                for student in students:
                    self._write(student, key, marked)
            self._take_pages(patience=0)

    def _write(self, student: str, key: str, marked: Marked | BaseException) -> None:
        if isinstance(marked, Marked) and marked.hopeless:
            raise SandboxError(marked.hopeless)
        try:
            if isinstance(marked, BaseException):
                raise marking.NotConverted(f"{type(marked).__name__}: {marked}")
            if marked.problem:
                raise marking.NotConverted(f"{marked.log}\n{marked.problem}")
            self._entries[student] = self.writer.enter(self.marking_cache, student, key, marked)
            suspects = (text for text in marked.notebooks.values() if FAILED in text)
            if any(refusal(nbformat.reads(text, as_version=4).cells) is not None for text in suspects):
                self.outcome.unread.append(student)
        except Exception as error:  # one bad submission must not stop the others
            self._fail(student, marking.reason(error))
        else:
            self._put_page(student)

    def _put_page(self, student: str) -> None:
        self.paging.put(student, self.classroom.path, self.assignment, student)

    def _take_pages(self, patience: float | None = None) -> None:
        for student, written in self.paging.done(patience):
            if isinstance(written, BaseException):
                if (cause := marking.beyond_submissions(written)) is not None:
                    raise cause
                self._fail(student, f"the feedback could not be written: {written}")
                continue
            entry = self._entries.pop(student)
            self.marking_cache.add(entry, written)
            self.marking_cache.write(student, entry)
            self.outcome.marked += 1
            self.bar.advance(self.task)

    def _fail(self, student: str, why: str) -> None:
        self.outcome.failed[student], self.outcome.logs[student] = self.marking_cache.log_failure(student, why)
        self.bar.update(self.task, advance=1, failures=f"{len(self.outcome.failed)} failed")
