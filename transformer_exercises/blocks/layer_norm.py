"""`LayerNorm`: against nn.LayerNorm, rows that show where eps stands, constant rows, numbers far from 0.

The mistakes: the unbiased variance, eps outside the root, statistics over other dimensions, parameters that are none.
"""

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_tensor
from autograder.spec.exercise import Ban, Check, Exercise
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import NORMED, OUTPUT, Cases, gives, gradients, manners, norm, starts

_norm = norm("LayerNorm", ("weight", "bias"), F.layer_norm, 1e-5)


@gives(_norm)
def _given_weights() -> Cases:
    for shape in NORMED:
        yield [shape[-1]], normal(*shape) * 3 + 2, f"for x of shape {shape}"
    yield [4], torch.tensor([[1.0, 3, 1, 3], [0, 0, 0, 8]]), "for whole numbers"


def _values(student: Student) -> None:
    _given_weights(student)
    with student.case():
        x = normal(3, 5)
        got = student.value(student.build("LayerNorm", 5), x)
        same_tensor(got, F.layer_norm(x, (5,)), OUTPUT, "of a fresh layer")


@gives(_norm)
def _eps() -> Cases:
    """Rows whose variance is about eps, far below it or zero tell where eps stands, and whether it is used at all."""
    yield [6], normal(4, 6, scale=3e-3), "for rows whose variance is about eps"
    yield [6], normal(4, 6, scale=1e-5), "for rows whose variance is far below eps"
    for eps, scale in ((0.1, 0.3), (1e-3, 0.03), (1e-12, 1e-5)):
        yield [6, eps], normal(4, 6, scale=scale), f"with eps = {eps:g}"
    yield {"dim": 6, "eps": 0.5}, normal(4, 6), "with dim and eps given by name"


@gives(_norm)
def _constant() -> Cases:
    x = torch.tensor([2.0, 0.0, -8.0])[:, None].expand(3, 4).clone()
    yield [4], x, "for rows whose numbers are all equal (variance 0)"


@gives(_norm)
def _large() -> Cases:
    lost = "(mean(x²) − mean(x)² loses all its digits here)"
    yield [8], 1000 + normal(3, 8), f"for numbers around 1000 with a variance of 1 {lost}", {"rough": True}
    yield [8], 1e5 * normal(3, 8), "for numbers around 1e5", {"rough": True}


ASKED = (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64))

EXERCISE = Exercise(
    points=5,
    checks=[
        Check("weight and bias, ones and zeros at the start", 0.75, starts("LayerNorm", weight=1, bias=0)),
        Check("equals nn.LayerNorm, for many shapes", 1.5, _values),
        Check("eps inside the root, as given", 0.75, _eps),
        Check("a constant row gives the bias", 0.5, _constant, further=True),
        Check("numbers far from 0", 0.25, _large, further=True),
        Check("gradients reach x, weight and bias", 0.75, gradients(_norm, *ASKED, rough="x"), further=True),
        Check("the same in both modes, x unchanged, float64, device", 0.5, manners(_norm), further=True),
    ],
    ban=Ban(
        pattern="(layer|rms|group|instance|batch)norm",
        without="`nn.LayerNorm`, `F.layer_norm` and their relatives",
    ),
    working=r"""
from torch import nn

class LayerNorm(nn.LayerNorm):
    def __init__(self, dim, eps=1e-5):
        super().__init__(dim, eps)
""",
    takes="tensor",
    gives="tensor",
)
