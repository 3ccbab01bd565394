"""Worker processes that mark one submission at a time and, unlike those of Python's pool, can be stopped one by one."""

import contextlib
import multiprocessing
import os
import signal
import tempfile
import traceback
import warnings
import zlib
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import nbformat

from ..files import write_with_folders
from ..nbgrader_plugin.converters import settings
from ..nbgrader_plugin.intake.repair import grade_id
from ..nbgrader_plugin.preprocessors import Judge
from ..sandbox import monitor
from ..sandbox.session import Template
from ..spec.course import exercises, notebooks, questions
from . import marking_cache
from .marking import SOMEBODY, beyond_submissions, feedback_writer, mark, write_feedback
from .pool import end_with_parent
from .tasks import Submission
from .writer import Writer

LOW_PRIORITY = 10  # the `nice` value of slow notebooks


class Failed(Exception):
    """An exception that was raised in a worker; the text is its traceback."""


class Stopped(BaseException):
    """Raised when the watcher stops the work. Not an Exception, so that no handler in interrupted code catches it."""


class Worker:
    def __init__(self, shared: tuple[str, ...], scratch: Path, first: Callable[..., None], *arguments: Any) -> None:
        """Start the process with `first(*arguments)`, after `shared = start_server(…)`.

        `line` gives the result of each work, or Failed, or Stopped, or an error for which no submission is to blame.
        """
        context = multiprocessing.get_context("forkserver")
        self.line, worker_end = context.Pipe()
        self.process = context.Process(
            target=_work_loop,
            args=(worker_end, shared, dict(os.environ), str(scratch), first, arguments),
            daemon=True,
            name="autograder watch: marking",
        )
        self.process.start()
        assert self.process.pid is not None
        self.pid = self.process.pid
        worker_end.close()
        self.ready = False
        self.work: Any = None  # what it works on; set by the watcher, as the next two
        self.then: Callable[..., None] | None = None  # called with its reply
        self.stopped: float | None = None  # when the stop was sent

    def send(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Send work to the process. Raise OSError if it is gone."""
        self.line.send((work, arguments))

    def lower_priority(self) -> None:
        """Lower the priority of the notebook that runs here; the judge keeps its own."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR2)

    def stop(self) -> None:
        """Interrupt the current work. The process replies in any case, and is soon ready for other work."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)

    def end(self) -> None:
        """Kill the process. Its template process and notebook end when their pipes to it close."""
        self.process.kill()
        self.process.join()
        self.line.close()


def _set_session_priority(pid: int, nice: int) -> None:
    """Set the `nice` value of a process's session: with autogroup, Linux shares the cores among sessions by these."""
    with contextlib.suppress(OSError):  # no autogroup on this system
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def _lower_priority(template: int) -> None:
    """Lower the priority of the notebooks of this template."""
    for each in monitor.tree(template)[1:]:
        _set_session_priority(each, LOW_PRIORITY)
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{each}/task"):
                nice = max(LOW_PRIORITY, os.getpriority(os.PRIO_PROCESS, int(thread)))
                os.setpriority(os.PRIO_PROCESS, int(thread), nice)


def _templates() -> list[int]:
    return [template.pid for template in Judge.templates.values() if template.pid is not None]


def _work_loop(
    line: Connection,
    shared: tuple[str, ...],
    variables: dict[str, str],
    scratch: str,
    first: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the watcher ends this one
    end_with_parent(shared, variables)
    warnings.filterwarnings("ignore", module="nbgrader")
    tempfile.tempdir = scratch
    at_work = low_priority = False

    def lower_priority(number: int, frame: FrameType | None) -> None:
        nonlocal low_priority
        low_priority = True
        for template in _templates():
            _lower_priority(template)

    def stop(number: int, frame: FrameType | None) -> None:
        if at_work:
            raise Stopped

    signal.signal(signal.SIGUSR1, stop)
    signal.signal(signal.SIGUSR2, lower_priority)
    reply: Any = None
    work: Callable[..., Any] = first
    while True:
        try:
            at_work = True
            reply = work(*arguments)
            at_work = False
        except Stopped as stopped:
            at_work = False
            reply = Stopped()
            _close_interrupted_template(stopped)
        except Exception as error:
            at_work = False
            reply = beyond_submissions(error) or Failed(traceback.format_exc())
        try:
            line.send(reply)
            work, arguments = line.recv()
        except (EOFError, OSError):
            return
        if low_priority:
            low_priority = False
            for template in _templates():
                _set_session_priority(template, 0)


def _close_interrupted_template(stopped: Stopped) -> None:
    """Close the template process if the stop came between request and reply: the next caller would get that reply."""
    talking = (frame.f_code is Template.spawn.__code__ for frame, _ in traceback.walk_tb(stopped.__traceback__))
    if any(talking):
        for template in Judge.templates.values():
            template.close()


def warm_up(classroom_path: str, known: dict[str, bytes], sandboxed: bool) -> None:
    """Mark a made-up submission of each assignment and write its page, so that the first real one is marked fast.

    `known` holds the assignments' `gradebook.locking.released()`. Raise RuntimeError if one cannot be marked.
    """
    for assignment, released in known.items():
        submission = mistaken(classroom_path, assignment)
        marked = mark(released, submission, marking_cache.environment_of(assignment), sandboxed)
        if marked.hopeless:
            raise RuntimeError(marked.hopeless)
        if marked.problem:
            raise RuntimeError(f"{assignment} cannot be marked: {marked.problem.splitlines()[-1]}")
        with tempfile.TemporaryDirectory(prefix="warm-up-", ignore_cleanup_errors=True) as folder:
            Path(folder, "gradebook.db").write_bytes(zlib.decompress(released))
            app = settings(folder, scratch=True)
            there = Path(app.coursedir.format_path(app.coursedir.submitted_directory, SOMEBODY, assignment))
            for name, content in submission.files.items():
                write_with_folders(there / name, content)
            Writer(app, assignment).write(SOMEBODY, marked)
            converter = feedback_writer(classroom_path, assignment)  # the classroom's, whose caches this fills
            classroom, converter.coursedir = converter.coursedir, app.coursedir
            try:
                write_feedback(classroom_path, assignment, SOMEBODY)
            finally:
                converter.coursedir = classroom


def mistaken(classroom_path: str, assignment: str) -> Submission:
    """Return a submission with a catalogued mistake in every exercise; the release itself, if none is the course's."""
    answers: dict[str, str] = {}
    if assignment in notebooks():
        answers = {
            exercise.name: exercise.mistakes[0].source for exercise in exercises(assignment) if exercise.mistakes
        }
        answers |= {question.name: f'{question.name} = "{question.key}"' for question in questions(assignment)}
    folders, files = settings(classroom_path).coursedir, {}
    for path in Path(folders.format_path(folders.release_directory, ".", assignment)).glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            cell.source = answers.get(grade_id(cell) or "", cell.source)
        files[path.name] = nbformat.writes(notebook).encode()
    return Submission(assignment, files)
