"""`learning_rate`: steps of three schedules, what comes after, and schedules without warm-up.

The mistakes: warm-up one step off, a cosine over other steps or to another floor, rates that climb again.
"""

from __future__ import annotations

import math
from typing import Any

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import note_rounded
from autograder.spec.student import Student

from .common import a_number

learning_rate = reference("learning_rate")

# max_steps, warmup, peak, floor: the last as GPT-2's size is trained
_SCHEDULES = ((30, 10, 1.0, 0.2), (47, 9, 6e-4, 6e-5), (100, 3, 3e-3, 0.0), (600_000, 2_000, 6e-4, 6e-5))


def _rate(student: Student, step: int, max_steps: int, warmup: int, peak: float, floor: float) -> Any:
    where = f"at step {step} with max_steps = {max_steps}, warmup = {warmup}, peak = {peak}, floor = {floor}"
    got = student.value("learning_rate", step, max_steps, warmup, peak, floor, where=where)
    note_rounded(student, got)
    number, expected = a_number(got, "The rate", where), learning_rate(step, max_steps, warmup, peak, floor)
    if math.isnan(number) or not math.isclose(number, expected, rel_tol=1e-5, abs_tol=1e-6 * peak):
        raise ValuesDiffer(f"The rate is too {'high' if number > expected else 'low'} {where}.")
    return got


def _rate_warmup(student: Student) -> None:
    for max_steps, warmup, peak, floor in _SCHEDULES:
        for step in range(0, warmup + 1, max(1, warmup // 10)):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_cosine(student: Student) -> None:
    for max_steps, warmup, peak, floor in (*_SCHEDULES, (20, 0, 2.0, 0.5)):
        for step in (*range(warmup + 1, max_steps, max(3, max_steps // 30)), max_steps - 1, max_steps):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_after(student: Student) -> None:
    for max_steps, warmup, peak, floor in (*_SCHEDULES, (20, 0, 2.0, 0.5)):
        for step in (max_steps, max_steps + 1, 2 * max_steps - warmup, 5 * max_steps, 10**7):
            with student.case():
                _rate(student, step, max_steps, warmup, peak, floor)


def _rate_edges(student: Student) -> None:
    for step, max_steps, warmup in (
        *((0, 12, 0), (1, 12, 0), (0, 12, 1), (1, 12, 1), (2, 12, 1), (12, 12, 0)),  # no warm-up, or one step of it
        *((3, 8, 8), (8, 8, 8), (9, 8, 8), (7, 8, 7), (0, 1, 0), (1, 1, 0)),  # nothing but warm-up, or a single step
    ):
        with student.case():
            got = _rate(student, step, max_steps, warmup, 0.5, 0.125)
            if type(got) is not float:
                raise Wrong(f"The rate should be a plain float; yours is {kind(got)}.", "not_a_float")


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("linear warm-up", 0.75, _rate_warmup),
        Check("cosine from the peak to the floor", 1.0, _rate_cosine),
        Check("constant after max_steps", 0.75, _rate_after),
        Check("without warm-up, with nothing else; a plain float", 0.5, _rate_edges, further=True),
    ],
    working=r"""
import math

def learning_rate(step, max_steps, warmup, peak, floor):
    if step < warmup:
        return float(peak * step / warmup)
    share = min(1.0, (step - warmup) / max(1, max_steps - warmup))
    if step >= max_steps:
        share = 1.0
    return floor + (peak - floor) * math.cos(math.pi / 2 * share) ** 2
""",
    takes="number",
    gives="number",
)
