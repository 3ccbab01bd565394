"""`FeedForward`: two layers under any names, the activation that is given, positions apart, dropout on the result."""

import functools
from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec import Check, Exercise, Student, ValuesDiffer, Wrong, close, normal

from .module_checks import Cases, Layer, fed, gives, gradients, layers, linear_layers, positions, side_effects

F32 = torch.float32


def _ff(student: Student, C: int, F_: int, *args: Any, bend: Any = F.relu, dtype: Any = F32, **kwargs: Any) -> Layer:
    """Return a module; `bend` is what its activation should be."""
    shapes = {"linear1.weight": (F_, C), "linear1.bias": (F_,), "linear2.weight": (C, F_), "linear2.bias": (C,)}
    weights = {name: normal(*shape, dtype=dtype) for name, shape in shapes.items()}

    def formula(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        w1, b1, w2, b2 = weights.values()
        return F.linear(bend(F.linear(x, w1, b1)), w2, b2)

    call, find = ("FeedForward", [C, F_, *args], kwargs), functools.partial(linear_layers, C=C, F_=F_)
    return Layer(student, call, weights, formula, find, dtype=dtype)


_ACTIVATIONS = """
def tanh(x): return torch.tanh(x)
def square(x): return x * x
def gelu(): return nn.GELU()
"""


def _activation(student: Student) -> None:
    tanh, square = (student.probe(name, _ACTIVATIONS) for name in ("tanh", "square"))
    gelu = student.call(student.probe("gelu", _ACTIVATIONS), [], keep=True)["value"]
    cases: tuple[tuple[list, dict, Any, str], ...] = (
        ([], {"activation": tanh}, torch.tanh, "with activation=torch.tanh"),
        ([], {"activation": square}, torch.square, "with a function of its own as activation"),
        ([], {"activation": gelu}, F.gelu, "with activation=nn.GELU() (a module can be called, too)"),
        ([], {}, F.relu, "with the default activation, after others"),
        ([0.0, tanh], {}, torch.tanh, "with the activation as the fourth argument"),
    )
    for args, kwargs, bend, where in cases:
        with student.case():
            _ff(student, 6, 9, *args, bend=bend, **kwargs).gives(normal(2, 4, 6), where=where)


def _dropout(student: Student) -> None:
    """In training each number of the result is 0 with probability p and 1/(1 − p) times as large otherwise.

    Of 2400 numbers a share within p ± 0.1 is dropped: a right answer misses that with a probability below 1e-20, and
    loses a whole token of 40 numbers with one below 1e-9.
    """
    x, last = normal(3, 20, 40), "dropout comes last, after the second linear layer, on each number of its own"
    for p in (0.5, 0.25):
        with student.case():
            layer = _ff(student, 40, 9, p)
            full, where = layer.formula(layer.weights, x), f"in training with dropout = {p}"
            got = layer.output(x, where=where, training=True)
            dropped = got == 0
            share = dropped.float().mean().item()
            if share >= 0.005 and not close(got[~dropped], full[~dropped] / (1 - p)):
                raise ValuesDiffer(f"What is not dropped should be 1/(1 − p) times as large {where}: {last}.")
            if abs(share - p) > 0.1:
                raise Wrong(f"A share of {share:.2f} of the result is dropped {where}: {last}.")
            if dropped.all(dim=-1).any() or dropped.flatten(0, 1).all(dim=0).any():
                raise Wrong(f"Whole tokens or columns are dropped {where}: {last}.")


@gives(_ff)
def _modes() -> Cases:
    x = normal(2, 5, 6)
    yield [6, 9, 0.9], x, "in evaluation mode with dropout = 0.9", {"training": False}
    yield {"C": 6, "F_": 9, "dropout": 0.9}, x, "in evaluation mode with dropout=0.9 given by name", {"training": False}
    yield [6, 9], x, "in evaluation mode", {"training": False}
    yield [6, 9, 0.0], x, "in training mode with dropout = 0.0", {"training": True}
    yield [6, 9], x, "in training mode with the default dropout of 0", {"training": True}


EXERCISE = Exercise(
    Check("two linear layers, and nothing else", 0.75, layers("FeedForward", linear_layers, dropout=0.1)),
    Check("values with given weights, for many shapes", 1.0, fed(_ff)),
    Check("the activation that is given", 0.5, _activation, dependent=True),
    Check("each position on its own", 0.25, positions(_ff), dependent=True),
    Check("dropout acts on the result, in training", 0.5, _dropout, dependent=True),
    Check("no dropout in evaluation, nor with dropout = 0", 0.5, _modes, dependent=True),
    Check("gradients reach x and every parameter", 0.5, gradients(_ff, 9), dependent=True),
    Check("x unchanged, modules independent, float64, device", 0.5, side_effects(_ff, 9, drops=True), dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
    points=4,
    library_equivalent=r"""
class FeedForward(nn.Module):
    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
        super().__init__()
        self.bend, self.p = activation, dropout
        self.linear1, self.linear2 = nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)

    def forward(self, x):
        return F.dropout(self.linear2(self.bend(self.linear1(x))), self.p, self.training)
""",
)
