"""`noam_rate`: warm-up, peak and decay for five schedules; the mistakes are exponents, `max` for `min`, step 0."""

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise
from autograder.spec.inputs import raises_error
from autograder.spec.student import Student

from .common import float_answered, names_kept

noam_rate = reference("noam_rate")


def _ask(student: Student, *args: int) -> None:
    where = "at step {} with d_model = {} and warmup = {}".format(*args)
    float_answered(student, "noam_rate", list(args), noam_rate(*args), "The rate", where)


def _at(*steps: int) -> Asking:
    def ask(student: Student) -> None:
        for d_model, warmup in ((512, 4000), (64, 100), (7, 30), (300, 50), (20, 200)):
            for step in steps or (warmup - 1, warmup, warmup + 1, 2 * warmup, 10 * warmup):
                with student.case():
                    _ask(student, step, d_model, warmup)

    return ask


def _edges(student: Student) -> None:
    for case in ((1, 512, 1), (9, 1, 1), (1, 1, 5), (10**9, 64, 4000), (3, 1024, 10**6), (5, 5, 5)):
        with student.case():
            _ask(student, *case)
    with student.case():
        names_kept(student, "noam_rate", {"step": 7, "d_model": 16, "warmup": 30}, noam_rate(7, 16, 30))


def _refusals(student: Student) -> None:
    _ask(student, 1, 16, 10)
    for step in (0, -1, -20):
        with student.case(), raises_error(f"step = {step} (steps count from 1)"):
            student.call("noam_rate", [step, 16, 10])


EXERCISE = Exercise(
    Check("the warm-up, a straight line", 0.75, _at(1, 2, 3, 17)),
    Check("the peak and the decay after it", 0.75, _at()),
    Check("warmup of 1, very many steps, arguments by name", 0.25, _edges, further=True),
    Check("a step below 1 is a ValueError", 0.25, _refusals),
)
