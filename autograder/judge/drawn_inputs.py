"""Repeat passed checks with inputs drawn for one submission. Answers that only fit the known inputs fail."""

import contextlib
import functools
import hashlib
import hmac
import logging
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..spec.exercise import Check, Exercise, Problem, Wrong
from ..spec.seeds import restart_seeds
from ..untrusted.wire import Packet
from .run_check import run_check, student_with_answer
from .student import Reply, Send, Student

log = logging.getLogger(__name__)

SECOND = " once more"  # distinguishes the second seed
WITHOUT_ANSWER = {"time", "died", "unreadable"}  # kinds of problems that say nothing about values


class NotAnswered(BaseException):
    """Raised when the student's process does not reply: too slow, too large, or gone. No check catches it."""


class _Skipped(BaseException):
    """Raised at the first request of a case that is left out. No check catches it."""


def _skip(request: Packet, send: Send) -> Packet:
    raise _Skipped


class _FromCase(Student):
    """Leaves out the `first` cases of a check: their inputs are drawn, and nothing is sent."""

    def __init__(self, student: Student, first: int) -> None:
        super().__init__(student.send, student.submission_key)
        self.first, self.number = first, 0

    @contextlib.contextmanager
    def case(self) -> Iterator[None]:
        self.number += 1
        with super().case():
            if self.number > self.first:
                yield
            else:
                with contextlib.suppress(_Skipped), self.intercepted(_skip):
                    yield

    def _request(self, where: str, record: bool = True, **request: Any) -> Reply:
        try:
            return super()._request(where, record, **request)
        except Problem as problem:
            if problem.facts.get("kind") in WITHOUT_ANSWER:
                raise NotAnswered from problem
            raise


def key_of(secret: bytes, exercise: str, texts: Iterable[bytes]) -> str:
    """Return the text from which an answer's inputs are drawn: nobody without the secret can know it in advance.

    It changes with each of the `texts` that the answer may depend on.
    """
    found = hmac.new(secret, exercise.encode(), hashlib.sha256)
    for text in texts:
        found.update(hashlib.sha256(text).digest())
    return found.hexdigest()


def failed_again(exercise: Exercise, passed: Sequence[Check], student: Student) -> list[Check]:
    """Return which of the checks that an answer passed fail with drawn inputs, whatever of two seeds draws them.

    A check that the reference fails as well is at fault itself: it is logged and does not count. Nor does anything if
    the student's process does not reply: that may be the machine's fault.
    """
    seeds = (student.submission_key, student.submission_key + SECOND)
    failing = list(passed)
    try:
        for seed in seeds:
            failing = [check for check in failing if _fails(exercise, check, student, seed)]
    except NotAnswered:
        return []
    if not failing:
        return []
    reference = Student(_reference(exercise).send, student.submission_key)
    at_fault = [check for check in failing if any(_fails(exercise, check, reference, seed) for seed in seeds)]
    for check in at_fault:
        log.error("%s: the reference fails the check %r with drawn inputs", exercise.name, check.title)
    return [check for check in failing if check not in at_fault]


def _fails(exercise: Exercise, check: Check, student: Student, seed: str) -> bool:
    """Return whether an answer fails the one case of a check that the seed chooses. Raise NotAnswered."""
    rng, cases = random.Random(f"{seed} {check.title}"), _number_of_cases(exercise, check) or 1
    chosen = min(rng.randrange(cases) for _ in range(3))  # rarely a late one: those before it are drawn, too
    try:
        run_check(exercise, check, _FromCase(student, chosen), seed, chosen + 1)
    except Wrong:
        return True
    return False


@functools.cache
def _reference(exercise: Exercise) -> Student:
    """Return a student in this process whose answer is the reference, made once: it takes as long as a check."""
    return student_with_answer(exercise, exercise.source)


@functools.cache
def _number_of_cases(exercise: Exercise, check: Check) -> int:
    """Return how many cases a check has."""
    student = _FromCase(_reference(exercise), sys.maxsize)
    student.begin(check.title)
    restart_seeds(f"{exercise.name}: {check.title}")
    with contextlib.suppress(Exception):  # what follows the cases may need their values
        check.run(student)
    return student.number
