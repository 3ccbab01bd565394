"""`autograder watch`: marks submissions as they arrive and releases feedback at once. May be killed at any moment."""

import contextlib
import functools
import itertools
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType
from typing import Any

import filelock
from nbgrader.exchange import ExchangeError
from rich.console import Console
from sqlalchemy.exc import OperationalError

from ..files import write_private
from ..nbgrader_plugin.converters import folder_of, register_assignments, settings
from ..nbgrader_plugin.gradebook.locking import is_released, make_ready, released
from ..nbgrader_plugin.intake import student_folder, timestamps
from ..nbgrader_plugin.report.data import read_history
from ..plain_output import tracked
from . import marking, marking_cache
from .grade import progress
from .inbox import SETTLED_AFTER, Exchange, Folders
from .pool import cores, preload_for, start_server
from .scheduler import Scheduler, Work
from .tasks import Marked
from .workers import Failed, Stopped, Worker, warm_up
from .writer import Writer

POLL_INTERVAL = 0.3  # seconds between two polls for new submissions
LOOK_INTERVAL = 60.0  # seconds between two looks for what is no submission
SPARE = 2  # processes beyond the number of cores, for slow submissions
TRIES = 2  # worker deaths after which a submission counts as failed
STOP_TIMEOUT = 5.0  # seconds after which a process that does not stop is killed
SCRATCH = "watch-"
MAX_FAILED_STARTS = 5  # processes in a row that may end before they are ready


@dataclass
class Arrival:
    came: float  # seconds since the epoch
    key: str
    deaths: int = 0
    marked: Marked | None = None  # set while it waits for the assignment's lock
    entry: marking_cache.CacheEntry | None = None  # set once it is in the gradebook


class Watcher:
    """Marks a classroom's submissions until it is stopped."""

    def __init__(
        self,
        classroom: str,
        assignments: list[str],
        console: Console,
        *,
        budget: float = 600.0,
        workers: int | None = None,
        sandboxed: bool = True,
    ) -> None:
        """Watch the classroom at this path, absolute or in the course. `budget`: seconds a student and hour."""
        self.classroom, self.assignments, self.console, self.sandboxed = classroom, assignments, console, sandboxed
        self.app = settings(classroom)
        self.folder = folder_of(self.app)
        workers = max(2, workers or cores() + SPARE)
        spare = min(SPARE, workers - 1)
        self.scheduler: Scheduler[Arrival] = Scheduler(workers - spare, spare, budget)
        self.stopping = False
        self._workers: list[Worker] = []
        self._latest: dict[tuple[str, str], tuple[str, str]] = {}  # last seen submission: key, timestamp
        self._failed_starts = 0
        self._idle = False  # waiting for a reply, so safe to interrupt
        self._warned: set[str] = set()  # students whose used-up budget was already reported
        self._named: set[str] = set()  # sentences on what is no submission
        self._look_at = 0.0  # the monotonic clock's time of the next look for these

    def run(self) -> None:
        """Run until `stopping` is set. Raise RuntimeError if another watcher runs here or if marking does not work."""
        with self._only_one(), self._scratch(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="nbgrader")
            self._prepare()
            self.shared = start_server(preload_for(self.assignments))
            try:
                for _ in range(self.scheduler.quick + self.scheduler.spare):
                    self._add_worker()
                self._wait_until_ready()
                self._print(f"ready: {', '.join(self.assignments)}; {len(self._workers)} processes; Ctrl-C ends it")
                with contextlib.suppress(KeyboardInterrupt), self._graceful_stop():
                    while not self.stopping:
                        self._step()
                self._print("stopped: what is marked stays, and the next start goes on with the rest")
            finally:
                for worker in self._workers:
                    worker.end()

    def _wait_until_ready(self) -> None:
        """Receive until all processes are ready, and show how many are; that may take a minute."""
        count = len(self._workers)
        self._print(f"starting {count} processes, which takes up to a minute")
        with progress(self.console) as bar:
            task = bar.add_task("processes ready", total=count, failures="")
            while not all(worker.ready for worker in self._workers):
                self._receive(None)
                bar.update(task, completed=sum(worker.ready for worker in self._workers))
            bar.remove_task(task)

    def _only_one(self) -> contextlib.AbstractContextManager[object]:
        try:
            return marking_cache.lock(self.folder, "watch").acquire()
        except filelock.Timeout:
            raise RuntimeError(f"another autograder watch is at work on {self.folder}") from None

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[None]:
        """Create a folder for temporary files, which killed workers leave behind. Its path must be short."""
        note = self.folder / marking_cache.FOLDER / "watch.scratch"
        with contextlib.suppress(OSError):  # left by a killed watcher; the lock excludes a running one
            old = Path(note.read_text())
            if old.name.startswith(SCRATCH) and str(old.parent) == tempfile.gettempdir():
                shutil.rmtree(old, ignore_errors=True)
        self.scratch = Path(tempfile.mkdtemp(prefix=SCRATCH))
        write_private(note, str(self.scratch).encode(), self.app.coursedir.groupshared)
        try:
            yield
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)
            note.unlink(missing_ok=True)

    def _prepare(self) -> None:
        course = self.app.coursedir
        unknown = [name for name in self.assignments if not is_released(course.db_url, course.course_id, name)]
        if unknown:
            self._print(f"the gradebook does not know {', '.join(unknown)} yet: generating")
            register_assignments(self.app, unknown, functools.partial(tracked, self.console))
        self.known = {name: released(course.db_url, name) for name in self.assignments}
        self.caches = {name: marking_cache.MarkingCache(self.folder, name) for name in self.assignments}
        self.writers = {name: Writer(settings(self.classroom), name, "") for name in self.assignments}
        submitted = Path(course.root, course.submitted_directory)
        self.folders = Folders(submitted, self.assignments, course.student_id_exclude.split(","))
        self.exchange = Exchange(self.classroom, self.assignments, self._print)
        now = time.time()
        for one in read_history(self.folder / marking_cache.FOLDER / marking_cache.HISTORY) or ():
            if one.at <= now:
                self.scheduler.charge(one.student, one.seconds, now - one.at)

    def _add_worker(self) -> None:
        self._workers.append(Worker(self.shared, self.scratch, warm_up, self.classroom, self.known, self.sandboxed))

    @contextlib.contextmanager
    def _graceful_stop(self) -> Iterator[None]:
        """Let Ctrl-C finish the current step, a fraction of a second: nbgrader would catch the interrupt itself."""

        def stop(number: int, frame: FrameType | None) -> None:
            if self._idle or (self.stopping and number == signal.SIGINT):
                raise KeyboardInterrupt
            self.stopping = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _name_overlooked(self) -> None:
        """Name once each file and folder that is no submission, now and every LOOK_INTERVAL seconds."""
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_INTERVAL
            for sentence in next(iter(self.writers.values())).look_around():
                if sentence not in self._named:
                    self._named.add(sentence)
                    self._print(sentence)

    def _step(self) -> None:
        self._name_overlooked()
        for student, assignment, when in itertools.chain(self.exchange.collect(), self.folders.arrivals()):
            if isinstance(when, str):
                self._fail(student, assignment, when)
            else:
                self._arrived(student, assignment, when)
        soon = self.exchange.settling.unsettled() or self.folders.settling.unsettled()
        until = time.monotonic() + (SETTLED_AFTER if soon else POLL_INTERVAL)
        self._set_aside()
        while True:
            self._start()
            patience = until - time.monotonic()
            if patience <= 0 or self.stopping:
                return
            self._receive(patience)

    def _arrived(self, student: str, assignment: str, when: float) -> None:
        """Queue a submission unless it is already marked or queued."""
        writer = self.writers[assignment]
        if problem := student_folder.invalid_name(student):
            self._fail(student_folder.shown(student), assignment, f"{problem}; rename the folder")
            return
        try:
            submission = writer.reread(student)
        except OSError as error:
            self._fail(student, assignment, str(error))
            return
        found = marking_cache.key_of(submission, marking_cache.environment_of(assignment)), writer.when(student)
        if self._latest.get((student, assignment)) == found:
            return
        self._latest[student, assignment] = found
        if self._is_marked(student, assignment, found[0]):
            self._release(student, assignment)
            return
        self.scheduler.put(student, assignment, Arrival(when, found[0]))
        self._warn_of_budget(student)
        for remark in timestamps.remarks({student: writer.folders[student].found.stamp}):
            self._print(f"{assignment}  {remark}")

    def _is_marked(self, student: str, assignment: str, key: str) -> bool:
        return self.caches[assignment].of(student, key, self.writers[assignment].when(student)) is not None

    def _warn_of_budget(self, student: str) -> None:
        used, budget = self.scheduler.used(student), self.scheduler.budget
        if used < budget:
            self._warned.discard(student)
        elif student not in self._warned:
            self._warned.add(student)
            minutes = f"{used / 60:.1f} minutes in the last hour, of {budget / 60:.1f}"
            self._print(f"{student} has used {minutes}: comes when nobody else waits")

    def _set_aside(self) -> None:
        """Keep slots free for new submissions: stop slow ones without a spare slot, lower the others' priority."""
        aside = self.scheduler.set_aside()
        for worker in list(self._workers):
            work = worker.work
            if work in aside:
                self._print(f"{work.student}  {work.assignment}  takes long; set aside until a process is free for it")
                worker.work, worker.stopped = None, time.monotonic()
                worker.stop()
            elif work is not None and work.slow:
                worker.lower_priority()
            elif worker.stopped is not None and time.monotonic() - worker.stopped > STOP_TIMEOUT:
                self._replace(worker)

    def _replace(self, worker: Worker) -> None:
        worker.end()
        self._workers.remove(worker)
        self._add_worker()

    def _start(self) -> None:
        free = [one for one in self._workers if one.ready and one.work is None and one.stopped is None]
        may_start = functools.cache(self._is_free)
        while free:
            if (work := self.scheduler.take(may_start)) is None:
                return
            try:
                submission = self.writers[work.assignment].reread(work.student)
            except OSError:  # removed or changed: the next poll sees it
                self._latest.pop((work.student, work.assignment), None)
                self.scheduler.done(work)
                continue
            environment = marking_cache.environment_of(work.assignment)
            key, marked = marking_cache.key_of(submission, environment), work.what.marked
            if self._is_marked(work.student, work.assignment, key):  # by another process, meanwhile
                self.scheduler.done(work)
                self._release(work.student, work.assignment)
                continue
            unchanged = key == work.what.key
            work.what.key, work.what.entry, work.what.marked = key, None, None
            worker = free.pop()
            worker.work = work
            if marked is not None and unchanged:
                self._marked(worker, work, marked)
                continue
            self._assign(
                worker, self._marked, marking.mark, self.known[work.assignment], submission, environment, self.sandboxed
            )

    def _assign(self, worker: Worker, then: Callable[..., None], task: Callable[..., Any], *arguments: Any) -> None:
        worker.then = then
        with contextlib.suppress(OSError):  # `_receive` notices that the process died
            worker.send(task, *arguments)

    def _receive(self, patience: float | None) -> None:
        """Wait up to `patience` seconds for workers' replies, and handle them."""
        lines = {worker.line: worker for worker in self._workers}
        self._idle = True
        try:
            answered = wait(list(lines), patience)
        finally:
            self._idle = False
        for line in answered:
            worker = lines[line]  # type: ignore[index]
            try:
                reply = worker.line.recv()
            except (EOFError, OSError):
                self._died(worker)
                continue
            if isinstance(reply, OSError | OperationalError):
                raise reply
            if not worker.ready:
                if isinstance(reply, Failed):
                    raise RuntimeError(str(reply).strip().splitlines()[-1].removeprefix("RuntimeError: "))
                worker.ready, self._failed_starts = True, 0
                continue
            work, stopped, worker.stopped = worker.work, worker.stopped, None
            if stopped is None and isinstance(reply, Stopped):  # the stop was meant for its previous work
                worker.work = None
                self.scheduler.again(work)
            elif stopped is None and worker.then is not None:
                worker.then(worker, work, reply)

    def _died(self, worker: Worker) -> None:
        work = worker.work
        self._failed_starts += not worker.ready
        if self._failed_starts > MAX_FAILED_STARTS:
            raise RuntimeError("the processes that should mark end before they can")
        self._replace(worker)
        if work is None:
            return
        work.what.deaths += 1
        if work.what.deaths < TRIES:
            self.scheduler.again(work)
        else:
            self._end(worker, work, "the process that marked it ended, twice")

    def _marked(self, worker: Worker, work: Work[Arrival], marked: Marked | Failed) -> None:
        if isinstance(marked, Failed):
            marked = Marked(problem=str(marked))
        if marked.hopeless:
            raise RuntimeError(marked.hopeless)
        if marked.problem:
            self._end(worker, work, f"{marked.log}\n{marked.problem}")
            return
        try:
            with marking_cache.lock(self.folder, work.assignment):  # `autograder grade` holds it as long as it runs
                self._write(worker, work, marked)
        except filelock.Timeout:
            work.what.marked = marked
            worker.work = None
            self.scheduler.again(work)

    def _is_free(self, assignment: str) -> bool:
        """Return True if no other process marks the assignment. While one does, its submissions wait."""
        try:
            with marking_cache.lock(self.folder, assignment):
                return True
        except filelock.Timeout:
            return False

    def _write(self, worker: Worker, work: Work[Arrival], marked: Marked) -> None:
        student, assignment, arrival = work.student, work.assignment, work.what
        writer, cache = self.writers[assignment], self.caches[assignment]
        if self._is_marked(student, assignment, arrival.key):  # by another process, meanwhile
            self._end(worker, work)
            self._release(student, assignment)
            return
        try:
            make_ready(writer.course.db_url, writer.course.course_id, [student])
            arrival.entry = writer.enter(cache, student, arrival.key, marked)
        except Exception as error:  # one bad submission must not stop the others
            self._end(worker, work, marking.reason(error))
            return
        self._assign(worker, self._paged, marking.write_feedback, self.classroom, assignment, student)

    def _paged(self, worker: Worker, work: Work[Arrival], pages: list[str] | Failed) -> None:
        student, assignment, entry = work.student, work.assignment, work.what.entry
        assert entry is not None
        if isinstance(pages, Failed):
            self._end(worker, work, f"the feedback could not be written: {pages}")
            return
        self._end(worker, work)
        self._release(student, assignment)
        self.caches[assignment].add(entry, pages)
        self.caches[assignment].write(student, entry)
        earned, points = self.writers[assignment].score(student)
        mark = f"{earned:g}/{points:g}" if earned is not None and points is not None else "no mark"
        self._print(f"{student}  {assignment}  {mark}  {time.time() - work.what.came:.1f} s")

    def _end(self, worker: Worker, work: Work[Arrival], why: str = "") -> None:
        worker.work = None
        self.scheduler.done(work)
        if why:
            self._fail(work.student, work.assignment, why)

    def _release(self, student: str, assignment: str) -> None:
        """Release feedback through the exchange to a student who submitted through it, unless it is released."""
        if not self.exchange.was_submitted_here(student, assignment) or self.exchange.is_released(student, assignment):
            return
        try:
            self.exchange.release(student, assignment)
        except ExchangeError as error:
            self._print(f"{student}  {assignment}  the feedback could not be released: {error}")

    def _fail(self, student: str, assignment: str, why: str) -> None:
        """Report a failure once. The submission is tried again when it changes or when the watcher restarts."""
        last, log = self.caches[assignment].log_failure(student, why)
        self._print(f"{student}  {assignment}  failed: {last} (all of it in {log})")

    def _print(self, text: str) -> None:
        """Print a line with the time. Escape control characters: names may contain terminal commands."""
        plain = student_folder.shown(text, limit=2_000)
        self.console.print(f"{datetime.now():%H:%M:%S}  {plain}", markup=False, highlight=False, soft_wrap=True)
