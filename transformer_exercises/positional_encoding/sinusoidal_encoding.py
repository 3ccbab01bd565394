"""`sinusoidal_encoding`: tables of one to 6,000 rows within float32's rounding, and an odd width refused."""

import torch

from autograder.spec.compare import same_tensor
from autograder.spec.exercise import Asking, Check, Exercise
from autograder.spec.inputs import generator_unchanged
from autograder.spec.student import Student

from .common import near, refuses_odd_widths, sinusoids


def _tables(*sizes: tuple[int, int]) -> Asking:
    def ask(student: Student) -> None:
        for max_len, d_model in sizes:
            with student.case():
                where, positions = f"for max_len = {max_len} and d_model = {d_model}", torch.arange(max_len)
                got = student.value("sinusoidal_encoding", max_len, d_model, where=where)
                near(got, sinusoids(positions, d_model), positions[:, None], "The table", where)

    return ask


def _manners(student: Student) -> None:
    for args, given in (([4, 6], {}), ([9, 2], {}), ([], {"max_len": 3, "d_model": 2})):
        with student.case():
            where = f"for {given or args}"
            answer = student.call("sinusoidal_encoding", args, given, where=where)
            max_len, d_model = args or given.values()
            same_tensor(answer["value"], sinusoids(torch.arange(max_len), d_model).float(), "The table", where)
            generator_unchanged(answer)


VALUES = _tables((6, 8), (10, 2), (5, 12), (8, 8), (7, 4), (3, 64), (2, 6), (50, 10))

LENGTHS = _tables((1, 4), (5000, 6), (1200, 16), (1, 2), (6000, 2), (30, 512))

ODD = refuses_odd_widths("sinusoidal_encoding", [3, 4], [[5, 7], [4, 1], [2, 3], [10, 511]])

EXERCISE = Exercise(
    Check("sines in even columns, cosines in odd ones", 2.25, VALUES),
    Check("tables of no, one and thousands of rows", 0.5, LENGTHS, further=True),
    Check("an odd d_model is a ValueError", 0.75, ODD),
    Check("a float32 tensor, nothing left to chance", 0.5, _manners, further=True),
)
