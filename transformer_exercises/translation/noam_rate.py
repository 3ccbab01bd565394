"""`noam_rate`: warm-up, peak and decay for five schedules; the mistakes are exponents, `max` for `min`, step 0."""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise, Wrong
from autograder.spec.inputs import raises_error
from autograder.spec.student import Student

from .common import float_answered

noam_rate = reference("noam_rate")


def _noam(student: Student, step: int, d_model: int, warmup: int) -> None:
    where = f"at step {step} with d_model = {d_model} and warmup = {warmup}"
    float_answered(student, "noam_rate", [step, d_model, warmup], noam_rate(step, d_model, warmup), "The rate", where)


def _noam_at(*steps: int) -> Asking:
    def ask(student: Student) -> None:
        for d_model, warmup in ((512, 4000), (64, 100), (7, 30), (300, 50), (20, 200)):
            for step in steps or (warmup - 1, warmup, warmup + 1, 2 * warmup, 10 * warmup):
                with student.case():
                    _noam(student, step, d_model, warmup)

    return ask


def _noam_edges(student: Student) -> None:
    for case in ((1, 512, 1), (9, 1, 1), (1, 1, 5), (10**9, 64, 4000), (3, 1024, 10**6), (5, 5, 5)):
        with student.case():
            _noam(student, *case)
    with student.case():
        got = student.call("noam_rate", [], {"warmup": 30, "step": 7, "d_model": 16}, "with arguments by name")["value"]
        if isinstance(got, float) and abs(got - noam_rate(7, 16, 30)) > 1e-5 * noam_rate(7, 16, 30):
            raise Wrong("The arguments by name are mixed up: noam_rate(step, d_model, warmup).")


def _noam_refusals(student: Student) -> None:
    _noam(student, 1, 16, 10)
    for step in (0, -1, -20):
        with student.case(), raises_error(f"step = {step} (steps count from 1)"):
            student.call("noam_rate", [step, 16, 10])


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the warm-up, a straight line", 0.75, _noam_at(1, 2, 3, 17)),
        Check("the peak and the decay after it", 0.75, _noam_at()),
        Check("warmup of 1, very many steps, arguments by name", 0.25, _noam_edges, further=True),
        Check("a step below 1 is a ValueError", 0.25, _noam_refusals),
    ],
    working=r"""
import math

def noam_rate(step, d_model, warmup):
    if step < 1:
        raise ValueError("step must be at least 1")
    return min(1 / math.sqrt(step), step / math.sqrt(warmup**3)) / math.sqrt(d_model)
""",
    takes="number",
    gives="number",
)
