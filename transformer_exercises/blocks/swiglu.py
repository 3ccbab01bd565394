"""`SwiGLU`: three maps without bias under fixed names, values with given weights, which branch is the gate, gradients.

The mistakes: the gate on the wrong branch, another activation or none, a sum for the product, biases, sizes.
"""

from operator import itemgetter
from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import shape_of
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import FED, Cases, Layer, Makers, gives, gradients, layers, manners, positions

NAMES = ("gate.weight", "up.weight", "down.weight")


def _shapes(C: int, F_: int) -> dict[str, tuple[int, int]]:
    return dict(zip(NAMES, ((F_, C), (F_, C), (C, F_)), strict=True))


def _found(parameters: dict, C: int, F_: int) -> Makers:
    """The three weights are there, in the shapes of nn.Linear."""
    for name, shape in _shapes(C, F_).items():
        layer = f"`{name.partition('.')[0]}` = nn.Linear({shape[1]}, {shape[0]}, bias=False)"
        got = shape_of(parameters.get(name))
        if got != shape:
            yours = f"your weight's shape is {got}" if name in parameters else "none is found"
            raise Wrong(f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}; {yours}.")
    return {name: itemgetter(name) for name in NAMES}


def _gated(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    gate, up, down = (weights[name] for name in NAMES)
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def _module(student: Student, C: int, F_: int, dtype: torch.dtype = torch.float32) -> Layer:
    weights = {name: normal(*shape, dtype=dtype) for name, shape in _shapes(C, F_).items()}
    return Layer(student, ("SwiGLU", [C, F_], {}), lambda state: _found(state, C, F_), weights, _gated)


@gives(_module)
def _values() -> Cases:
    for shape, F_ in (*FED, ((4, 4), 4)):
        yield [shape[-1], F_], normal(*shape), f"for x of shape {shape} and ff_dim = {F_}"


def _branches(student: Student) -> None:
    """A gate that is shut lets nothing through, whatever `up` offers; one wide open lets through z times as much."""
    gates: tuple[tuple[list[float], str], ...] = (
        ([-200, -200, -200], "where every gate is shut"),
        ([200, 200, 200], "where every gate is wide open"),
        ([200, -200, 0], "where one gate is open, one shut and one at zero"),
    )
    for open_, where in gates:
        with student.case():
            layer = _module(student, 4, 3)
            layer.weights["gate.weight"] = torch.zeros(3, 4)
            layer.weights["gate.weight"][:, 0] = torch.tensor(open_)
            student.load(layer.module, layer.weights)
            layer.gives(torch.cat([torch.ones(5, 1), normal(5, 3)], dim=1), where=where)


ASKED: tuple[tuple[Any, ...], ...] = (((2, 5, 6), torch.float32, 9), ((3, 4), torch.float64, 7))

EXERCISE = Exercise(
    points=3,
    checks=[
        Check("three layers without bias, and nothing else", 0.75, layers("SwiGLU", _found)),
        Check("values with given weights, for many shapes", 1.0, _values),
        Check("gates that are open or shut", 0.25, _branches),
        Check("each position on its own", 0.25, positions(_module)),
        Check("gradients reach x and every matrix", 0.25, gradients(_module, *ASKED), further=True),
        Check(
            *("x unchanged, modules independent, float64, device", 0.5, manners(_module, 9, by_name=True)), further=True
        ),
    ],
    takes="tensor",
    gives="tensor",
)
