"""`SwiGLU`: three maps without bias under fixed names, values with given weights, which branch is the gate."""

import functools
from operator import itemgetter

import torch
import torch.nn.functional as F

from autograder.spec import Check, Exercise, ParameterMap, Student, Wrong, normal, shape_of

from .module_checks import Layer, fed, gradients, layers, positions, side_effects

NAMES = ("gate.weight", "up.weight", "down.weight")


def _shapes(C: int, F_: int) -> dict[str, tuple[int, int]]:
    return dict(zip(NAMES, ((F_, C), (F_, C), (C, F_)), strict=True))


def _found(parameters: dict, C: int, F_: int) -> ParameterMap:
    for name, shape in _shapes(C, F_).items():
        layer = f"`{name.partition('.')[0]}` = nn.Linear({shape[1]}, {shape[0]}, bias=False)"
        if shape_of(parameters.get(name)) != shape:
            raise Wrong(
                f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}, of its own.",
                "parts_not_found",
            )
    return {name: itemgetter(name) for name in NAMES}


def _gated(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    gate, up, down = (weights[name] for name in NAMES)
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def _module(student: Student, C: int, F_: int, dtype: torch.dtype = torch.float32) -> Layer:
    weights = {name: normal(*shape, dtype=dtype) for name, shape in _shapes(C, F_).items()}
    find = functools.partial(_found, C=C, F_=F_)
    return Layer(student, ("SwiGLU", [C, F_], {}), weights, _gated, find, dtype=dtype)


def _branches(student: Student) -> None:
    """Ask that a shut gate lets nothing through, whatever `up` offers, and one wide open z times as much."""
    for gates in ([-200, -200, -200], [200, 200, 200], [200, -200, 0]):
        with student.case():
            layer = _module(student, 4, 3)
            layer.weights["gate.weight"] = torch.zeros(3, 4)
            layer.weights["gate.weight"][:, 0] = torch.tensor(gates)
            layer.load(layer.weights)
            x = torch.cat([torch.ones(5, 1), normal(5, 3)], dim=1)
            layer.gives(x, where=f"where the gates' z is {gates} (large: open, far below 0: shut)")


EXERCISE = Exercise(
    Check("three layers without bias, and nothing else", 0.75, layers("SwiGLU", _found)),
    Check("values with given weights, for many shapes", 1.0, fed(_module, ((4, 4), 4))),
    Check("gates that are open or shut", 0.25, _branches, dependent=True),
    Check("each position on its own", 0.25, positions(_module), dependent=True),
    Check("gradients reach x and every matrix", 0.25, gradients(_module, 9), dependent=True),
    Check(
        "x unchanged, modules independent, float64, device", 0.5, side_effects(_module, 9, by_name=True), dependent=True
    ),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
)
