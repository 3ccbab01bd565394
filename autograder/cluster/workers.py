"""Processes that one submission at a time is marked in, and that can be ended alone.

A pool of the standard library does not tell which process works on what, and loses all of them with one. Here each has
a line of its own to whoever gives out the work.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import shutil
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

from ..nbgrader_plugin.converters import settings
from ..nbgrader_plugin.intake.repair import grade_id
from ..nbgrader_plugin.preprocessors import Judge
from ..sandbox import monitor
from ..sandbox.session import Template
from ..spec.course import exercises, questions, release
from . import feedback, ledger
from .marking import SOMEBODY, mark
from .pool import end_with_parent
from .tasks import Marked, Submission
from .writer import Writer

POLITENESS = 10  # the `nice` of notebooks that take long


class Failed(Exception):
    """What was raised where the work was done; the text is its traceback."""


class Stopped(BaseException):
    """Work was stopped by whoever gave it. Not an Exception: nothing of what is at work is to take it for its own."""


class Seat:
    """A process, what it was given to do, and its answer."""

    def __init__(self, scratch: Path, first: Callable[..., None], *arguments: Any) -> None:
        """`first` is what it does before it takes work; it then says that it is ready."""
        context = multiprocessing.get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(
            target=_life, args=(theirs, str(scratch), first, arguments), daemon=True, name="autograder watch: marking"
        )
        self.process.start()
        theirs.close()
        self.ready = False
        self._polite = False

    def give(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Have it done. Raises OSError if the process is gone."""
        if self._polite:
            assert self.process.pid is not None
            for template in _children(self.process.pid):
                _weigh(template, 0)
            self._polite = False
        self.line.send((work, arguments))

    def answer(self) -> Any:
        """What came of it, or Failed, or Stopped. Raises EOFError or OSError if the process is gone."""
        return self.line.recv()

    def be_polite(self) -> None:
        """Let the notebook that runs here have what others leave of the cores; the judge goes on as before."""
        assert self.process.pid is not None
        self._polite = True
        for template in _children(self.process.pid):
            for each in monitor.tree(template)[1:]:
                _weigh(each, POLITENESS)
                with contextlib.suppress(OSError):
                    for thread in os.listdir(f"/proc/{each}/task"):
                        nice = max(POLITENESS, os.getpriority(os.PRIO_PROCESS, int(thread)))
                        os.setpriority(os.PRIO_PROCESS, int(thread), nice)

    def stop(self) -> None:
        """Have it give up what it does, and be ready for other work in a moment. There is an answer in any case."""
        assert self.process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGUSR1)

    def end(self) -> None:
        """At once. The template process and the notebook end when their lines to it close."""
        self.process.kill()
        self.process.join()
        self.line.close()


def _weigh(pid: int, nice: int) -> None:
    """Where Linux shares the cores out among sessions, not processes, `nice` has an effect inside of one only.

    A template process and its notebooks are a session of their own.
    """
    with contextlib.suppress(OSError):  # there is no such sharing here
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


def _life(line: Connection, scratch: str, first: Callable[..., None], arguments: tuple) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from the terminal; whoever started this ends it
    end_with_parent()
    warnings.filterwarnings("ignore", module="nbgrader")
    tempfile.tempdir = scratch
    at_work = False

    def stop(number: int, frame: FrameType | None) -> None:
        if at_work:
            raise Stopped

    signal.signal(signal.SIGUSR1, stop)
    answer: Any = None
    work: Callable[..., Any] = first
    while True:
        try:
            at_work = True
            answer = work(*arguments)
            at_work = False
        except Stopped as stopped:
            at_work = False
            answer = Stopped()
            _forget_half_a_talk(stopped)
        except Exception:
            at_work = False
            answer = Failed(traceback.format_exc())
        try:
            line.send(answer)
            work, arguments = line.recv()
        except (EOFError, OSError):
            return


def _forget_half_a_talk(stopped: Stopped) -> None:
    """A template process whose answer nobody waited for would give it to the next who asks: there will be a new one."""
    talking = (frame.f_code is Template.spawn.__code__ for frame, _ in traceback.walk_tb(stopped.__traceback__))
    if Judge._template is not None and any(talking):
        Judge._template.close()


def rehearse(place: str, known: dict[str, bytes], caged: bool) -> None:
    """Mark a submission of each assignment, and write its page, so that the first one that comes finds all in place.

    Its answers are mistakes of the catalogue: what these answer is read too. What is written lies in a folder of its
    own. `known` are the assignments' `gradebook.released()`.
    """
    for assignment, released in known.items():
        submission = mistaken(assignment)
        marked = mark(released, submission, ledger.environment_of(assignment), caged)
        if marked.problem:
            reasons = re.findall(r"^[\w.]+Error: .+", f"{marked.log}\n{marked.problem}", re.MULTILINE)
            raise RuntimeError(f"{assignment} cannot be marked: {reasons[-1] if reasons else marked.problem}")
        folder = Path(tempfile.mkdtemp(prefix="rehearsal-"))
        try:
            _write_page(place, folder, assignment, released, submission, marked)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def mistaken(assignment: str) -> Submission:
    """A submission with a catalogued mistake in every exercise."""
    answers = {asked.name: asked.mistakes[0].source for asked in exercises(assignment) if asked.mistakes}
    answers |= {asked.name: f'{asked.name} = "{asked.key}"' for asked in questions(assignment)}
    path = release() / assignment / f"{assignment}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(grade_id(cell) or "", cell.source)
    return Submission(assignment, {path.name: nbformat.writes(notebook).encode()})


def _write_page(
    place: str, folder: Path, assignment: str, released: bytes, submission: Submission, marked: Marked
) -> None:
    """By the converter that writes the classroom's pages: what it remembers of one page speeds up the next."""
    (folder / "gradebook.db").write_bytes(zlib.decompress(released))
    app = settings(str(folder))
    app.coursedir.db_url = f"sqlite:///{folder}/gradebook.db"
    there = Path(app.coursedir.format_path(app.coursedir.submitted_directory, SOMEBODY, assignment))
    there.mkdir(parents=True)
    for name, content in submission.files.items():
        (there / name).write_bytes(content)
    Writer(app, assignment).write(SOMEBODY, marked)
    converter = feedback.converter(place, assignment)
    classroom = converter.coursedir
    converter.coursedir = app.coursedir
    try:
        feedback.write(place, assignment, SOMEBODY)
    finally:
        converter.coursedir = classroom
