"""Mark an answer in the notebook's own process, on every system: no fork, and the notebook stays as it was."""

import _thread
import contextlib
import functools
import inspect
import itertools
import json
import random
import re
import symtable
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..judge.mark import Verdict, depends_on_others, mark
from ..judge.student import Send, Student
from ..spec.course import library_equivalents, notebook_path, question_or_exercise
from ..spec.exercise import Exercise
from ..untrusted.responder import Responder
from ..untrusted.wire import Packet, decode, encode
from .progress import grade_id

SECONDS = 10  # that a visible test, and one request, may take
AGAIN = 0.3  # seconds until the next interrupt, if the code has caught the last
MAX_LATE = 2  # requests that may take longer; after them, no more are sent
NAME = re.compile(r"name '(\w+)' is not defined")  # in a NameError


class NotRun(BaseException):
    """A cell above that defines a name has not run in this kernel. No Exception: no check blames the answer for it."""


@functools.cache
def names_above(name: str) -> frozenset[str]:
    """Return the names that the cells above an exercise's or a question's answer define or import, but for tests."""
    code = _code_cells(question_or_exercise(name).notebook)
    above = itertools.takewhile(lambda cell: cell[0] != name, code)
    return frozenset().union(*(_bound(source) for own, source in above if not own.startswith("test_")))


@functools.cache
def names_in(notebook: str) -> frozenset[str]:
    """Return the names that a notebook's cells define or import, but for tests."""
    code = _code_cells(notebook)
    return frozenset().union(*(_bound(source) for own, source in code if not own.startswith("test_")))


def _code_cells(notebook: str) -> Iterator[tuple[str, str]]:
    """Yield (grade_id, source) of a notebook's code cells."""
    for cell in json.loads(notebook_path(notebook).read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield grade_id(cell), "".join(cell["source"])


def _bound(source: str) -> set[str]:
    """Return the names that a cell defines or imports; none if it holds a magic command."""
    try:
        symbols = symtable.symtable(source, "<cell>", "exec").get_symbols()
    except SyntaxError:
        return set()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}


def not_run(name: str, namespace: dict[str, Any]) -> frozenset[str]:
    """Return the names from the notebook's cells above an answer that are not defined."""
    return names_above(name) - set(namespace)


def verdict_on(name: str, namespace: dict[str, Any], hung: bool = False) -> Verdict:
    """Return the better of two verdicts, with the learner's other answers and with working ones.

    After a visible test that `hung`, only the second, and one request may take too long. Raises KeyboardInterrupt if
    the learner stops it, and NotRun, with the name, if the answer needs a cell above that has not run.
    """
    declared = question_or_exercise(name)
    absent = not_run(name, namespace)
    with _undisturbed(namespace, declared):
        if hung:
            return mark(name, _student(namespace, absent, MAX_LATE - 1))
        student = _student(namespace, absent)
        verdict = mark(name, student, own_parts=True)
        ran = map(str, namespace.get("In", ()))  # IPython's list of cells
        cells = [_source_of(namespace.get(name)), *ran]
        if not verdict.full and depends_on_others(name, cells, student.called):
            isolated = mark(name, _student(namespace, absent))
            verdict = isolated if isolated.earned >= verdict.earned else verdict
    return verdict


def _source_of(value: Any) -> str:
    """Return the source of a function or class; "" where there is none, or the value is something else."""
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return ""


@contextlib.contextmanager
def _undisturbed(namespace: dict[str, Any], declared: Any) -> Iterator[None]:
    """Restore afterwards the names that marking binds, and the states of the random number generators."""
    names = library_equivalents(declared.notebook) if isinstance(declared, Exercise) else {}
    before = {name: namespace[name] for name in names if name in namespace}
    torch: Any = sys.modules.get("torch")
    states = random.getstate(), np.random.get_state(), torch.get_rng_state() if torch else None
    try:
        yield
    finally:
        for name in names:
            namespace.pop(name, None)
        namespace.update(before)
        random.setstate(states[0])
        np.random.set_state(states[1])
        if torch:
            torch.set_rng_state(states[2])


def _student(namespace: dict[str, Any], absent: frozenset[str], late: int = 0) -> Student:
    return Student(_TimedResponder(Responder(namespace).respond, absent, late))


class TimeLimit:
    """Interrupts a block that takes too long, again and again until it ends. It runs in the main thread."""

    def __init__(self) -> None:
        self.over = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        """Swallow the interrupts of this limit, and no other."""
        ended = False
        while not ended:
            with contextlib.suppress(KeyboardInterrupt):
                self._ended.set()
                self._thread.join()
                if self.over:
                    time.sleep(0.05)  # the last interrupt may still be on its way
                ended = True
        return self.over and isinstance(error, KeyboardInterrupt)

    def _watch(self) -> None:
        while not self._ended.wait(AGAIN if self.over else SECONDS):
            self.over = True
            _thread.interrupt_main()


class _TimedResponder:
    """Sends requests, stops one that takes too long, and lets the learner stop it earlier."""

    def __init__(self, send: Send, absent: frozenset[str], late: int) -> None:
        self.send = send
        self.absent = absent  # names from cells above that are not defined
        self.late = late  # requests that took too long

    def __call__(self, request: Packet) -> Packet:
        if self.late < MAX_LATE:
            reply = self._within_time(request)
            if reply is not None:
                return reply
            self.late += 1
        return encode({"problem": {"kind": "time", "seconds": SECONDS}})

    def _within_time(self, request: Packet) -> Packet | None:
        with TimeLimit() as limit:
            reply = self.send(request)
        if limit.over:
            return None
        problem = decode(reply).get("problem")
        if isinstance(problem, dict):
            if problem.get("type") == "KeyboardInterrupt":
                raise KeyboardInterrupt
            found = NAME.fullmatch(str(problem.get("text")))
            if problem.get("type") == "NameError" and found and found[1] in self.absent:
                raise NotRun(found[1])
        return reply
