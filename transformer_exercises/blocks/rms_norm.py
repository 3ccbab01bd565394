"""`RMSNorm`: against torch.nn.RMSNorm, rows far from 0 that keep their mean, rows that show where eps is, zero rows.

The mistakes: a mean subtracted, the sum or the length instead of the mean square, eps elsewhere, a bias too many.
"""

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_tensor
from autograder.spec.exercise import Ban, Check, Exercise
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import NORMED, OUTPUT, Cases, gives, gradients, manners, norm, starts

_norm = norm("RMSNorm", ("weight",), F.rms_norm, 1e-6)


@gives(_norm)
def _given_weights() -> Cases:
    for shape in NORMED:
        yield [shape[-1]], normal(*shape) * 3 + 2, f"for x of shape {shape}"
    yield [4], torch.tensor([[5.0, 5, 5, 5], [0, 0, 0, 8], [1, -1, 3, -3]]), "for whole numbers"
    yield [8], 1e5 * normal(3, 8), "for numbers around 1e5"


def _values(student: Student) -> None:
    _given_weights(student)
    with student.case():
        x = normal(3, 5) + 4
        got = student.value(student.build("RMSNorm", 5), x)
        same_tensor(got, F.rms_norm(x, (5,), eps=1e-6), OUTPUT, "of a fresh layer")


@gives(_norm)
def _eps() -> Cases:
    """Rows whose mean square is about eps or far below it tell where eps stands, and whether it is used at all."""
    yield [6], normal(4, 6, scale=1e-3), "for rows whose mean square is about eps"
    yield [6], normal(4, 6, scale=1e-5), "for rows whose mean square is far below eps"
    for eps, scale in ((0.1, 0.3), (1e-3, 0.03), (1e-12, 1e-5)):
        yield [6, eps], normal(4, 6, scale=scale), f"with eps = {eps:g}"
    yield {"dim": 6, "eps": 0.5}, normal(4, 6), "with dim and eps given by name"


@gives(_norm)
def _zeros() -> Cases:
    yield [4], torch.cat([torch.zeros(1, 4), normal(2, 4)]), "with a row of zeros"


ASKED = (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64))

EXERCISE = Exercise(
    points=3,
    checks=[
        Check("one parameter, weight, ones at the start", 0.5, starts("RMSNorm", weight=1)),
        Check("equals nn.RMSNorm, for many shapes", 1.0, _values),
        Check("eps inside the root, as given", 0.5, _eps),
        Check("a row of zeros stays zeros", 0.25, _zeros, further=True),
        Check("gradients reach x and weight", 0.25, gradients(_norm, *ASKED), further=True),
        Check("the same in both modes, x unchanged, float64, device", 0.5, manners(_norm, by_name=True), further=True),
    ],
    ban=Ban(
        pattern="(layer|rms|group|instance|batch)norm",
        without="`nn.RMSNorm`, `F.rms_norm`, `nn.LayerNorm` and their relatives",
    ),
    working=r"""
from torch import nn

class RMSNorm(nn.RMSNorm):
    def __init__(self, dim, eps=1e-6):
        super().__init__(dim, eps=eps)
""",
    takes="tensor",
    gives="tensor",
)
