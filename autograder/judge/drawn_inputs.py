"""Ask what an answer passed once more, with inputs drawn for its text: whoever learned the known ones fails there."""

import hashlib
import hmac
import logging
from collections.abc import Iterable, Sequence

from ..spec.exercise import Check, Exercise, Wrong
from .run_check import run_check, student_with_answer
from .student import Student

log = logging.getLogger(__name__)

CASES = 2  # of each check that are asked again
SECOND = " once more"  # distinguishes the second seed


def hand_in_of(secret: bytes, exercise: str, texts: Iterable[bytes]) -> str:
    """Return the text from which an answer's inputs are drawn: nobody without the secret can know it in advance.

    It changes with each of the `texts` that the answer may depend on.
    """
    found = hmac.new(secret, exercise.encode(), hashlib.sha256)
    for text in texts:
        found.update(hashlib.sha256(text).digest())
    return found.hexdigest()


def failed_again(exercise: Exercise, passed: Sequence[Check], student: Student) -> list[Check]:
    """Return which of the checks that an answer passed fail with drawn inputs, whatever of two seeds draws them.

    A check that the reference fails as well is at fault itself: it is logged and does not count.
    """
    seeds = (student.hand_in, student.hand_in + SECOND)
    failing = list(passed)
    for seed in seeds:
        failing = [check for check in failing if _fails(exercise, check, student, seed)]
    if not failing:
        return []
    reference = student_with_answer(exercise, exercise.source)
    at_fault = [check for check in failing if any(_fails(exercise, check, reference, seed) for seed in seeds)]
    for check in at_fault:
        log.error("%s: the reference fails the check %r with drawn inputs", exercise.name, check.title)
    return [check for check in failing if check not in at_fault]


def _fails(exercise: Exercise, check: Check, student: Student, seed: str) -> bool:
    try:
        run_check(exercise, check, student, seed, CASES)
    except Wrong:
        return True
    return False
