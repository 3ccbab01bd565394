"""`learning_rate`: steps of three schedules, what comes after, and schedules without warm-up."""

import math
from collections.abc import Callable, Iterable
from typing import Any

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Student,
    a_number,
    differ,
    each,
    kind,
    note_rounded,
    other_number,
    other_sizes,
    reference,
    refusing,
)

learning_rate = reference("learning_rate")
refuse = refusing("learning_rate")

# max_steps, warmup, peak, floor: the fourth as GPT-2's size is trained; the last has no warm-up
_SCHEDULES = (
    *((30, 10, 1.0, 0.2), (47, 9, 6e-4, 6e-5), (100, 3, 3e-3, 0.0), (600_000, 2_000, 6e-4, 6e-5)),
    (20, 0, 2.0, 0.5),
)


def _rate(student: Student, step: int, max_steps: int, warmup: int, peak: float, floor: float) -> Any:
    where = f"at step {step} with max_steps = {max_steps}, warmup = {warmup}, peak = {peak}, floor = {floor}"
    got = student.value("learning_rate", step, max_steps, warmup, peak, floor, where=where)
    note_rounded(student, got)
    number, expected = a_number(got, "The rate", where), learning_rate(step, max_steps, warmup, peak, floor)
    wrong = math.isnan(number) or not math.isclose(number, expected, rel_tol=1e-5, abs_tol=1e-6 * peak)
    differ(wrong, f"The rate is too {'high' if number > expected else 'low'} {where}.")
    return got


def _rates(steps: Callable[[int, int], Iterable[int]]) -> CheckFunction:
    """Make a check of the steps that `steps` chooses for max_steps and warmup."""

    def check(student: Student) -> None:
        for known_end, known_warmup, known_peak, known_floor in _SCHEDULES:
            end, warmup = other_sizes(known_end, known_warmup)
            peak = other_number(known_peak, known_peak / 2, known_peak * 2)
            floor = other_number(known_floor, known_floor / 2, known_floor)
            for step in steps(end, warmup):
                with student.case():
                    _rate(student, step, end, warmup, peak, floor)

    return check


_warmup = _rates(lambda end, warmup: range(0, warmup + bool(warmup), max(1, warmup // 10)))
_cosine = _rates(lambda end, warmup: (*range(warmup + 1, end, max(3, end // 30)), end - 1, end))
_after = _rates(lambda end, warmup: (end, end + 1, 2 * end - warmup, 5 * end, 10**7))


@each(
    *((0, 12, 0), (1, 12, 0), (0, 12, 1), (1, 12, 1), (2, 12, 1), (12, 12, 0)),  # no warm-up, or one step of it
    *((7, 8, 7), (0, 1, 0), (1, 1, 0)),  # a single step after warm-up, or at all
)
def _edges(student: Student, step: int, max_steps: int, warmup: int) -> None:
    got = _rate(student, step, max_steps, warmup, other_number(0.5, 0.3, 1.0), 0.125)
    refuse(type(got) is not float, "not_a_float", f"The rate should be a plain float; yours is {kind(got)}.")


EXERCISE = Exercise(
    Check("linear warm-up", 0.75, _warmup),
    Check("cosine from the peak to the floor", 1.0, _cosine),
    Check("constant after max_steps", 0.75, _after),
    Check("without warm-up, with a single step; a plain float", 0.5, _edges, dependent=True),
    takes="number",
    gives="number",
    harmless=("other_signature", "global_generator"),
)
