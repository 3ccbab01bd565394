"""Mark an answer in the notebook's own process, on every system: no fork, and the notebook stays as it was."""

import _thread
import contextlib
import random
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..judge.in_notebook import source_of
from ..judge.mark import Verdict, depends_on_others, mark
from ..judge.student import Send, Student
from ..spec.course import question_or_exercise, working_versions
from ..spec.exercise import Exercise
from ..untrusted.responder import Responder
from ..untrusted.wire import Packet, decode, encode

SECONDS = 10  # that one question may take
MOST_LATE = 2  # questions that may take longer; after them, no more are asked


def verdict_on(name: str, namespace: dict[str, Any]) -> Verdict:
    """Return the better of two verdicts, with the learner's other answers and with working ones.

    Raises KeyboardInterrupt if the learner stops it.
    """
    declared = question_or_exercise(name)
    sources = [source_of(namespace.get(name))]
    with _undisturbed(namespace, declared):
        student = _student(namespace)
        verdict = mark(name, student, sources, own_parts=True)
        cells = [*sources, *map(str, namespace.get("In", ()))]  # IPython's list of the cells that have run
        if not verdict.full and depends_on_others(name, cells, student.called):
            isolated = mark(name, _student(namespace), sources)
            verdict = isolated if isolated.earned >= verdict.earned else verdict
    return verdict


@contextlib.contextmanager
def _undisturbed(namespace: dict[str, Any], declared: Any) -> Iterator[None]:
    """Restore afterwards the names that marking binds, and the states of the random number generators."""
    names = working_versions(declared.notebook) if isinstance(declared, Exercise) else {}
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


def _student(namespace: dict[str, Any]) -> Student:
    return Student(_Patient(Responder(namespace).answer))


class _Patient:
    """Passes questions on, stops an answer that takes too long, and lets the learner stop it earlier."""

    def __init__(self, answer: Send) -> None:
        self.answer = answer
        self.late = 0  # questions that took too long
        self._over = False  # the time for the present question

    def __call__(self, question: Packet) -> Packet:
        if self.late < MOST_LATE:
            reply = self._within_time(question)
            if reply is not None:
                return reply
            self.late += 1
        return encode({"problem": {"kind": "time", "seconds": SECONDS}})

    def _within_time(self, question: Packet) -> Packet | None:
        self._over = False
        timer = threading.Timer(SECONDS, self._interrupt)
        timer.daemon = True
        timer.start()
        try:
            reply = self.answer(question)
        except KeyboardInterrupt:  # it came while the reply was being written
            if not self._over:
                raise
        finally:
            timer.cancel()
        if self._over:
            with contextlib.suppress(KeyboardInterrupt):
                time.sleep(0.05)  # the interrupt may still be on its way
            return None
        problem = decode(reply).get("problem")
        if isinstance(problem, dict) and problem.get("type") == "KeyboardInterrupt":
            raise KeyboardInterrupt
        return reply

    def _interrupt(self) -> None:
        self._over = True
        _thread.interrupt_main()
