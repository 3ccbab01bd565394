"""`SwiGLU`: three maps without bias under fixed names, values with given weights, which branch is the gate, gradients.

The mistakes: the gate on the wrong branch, another activation or none, a sum for the product, biases, sizes.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import close, same_gradients, same_tensor, shape_of, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    generator_unchanged,
    gradients_of,
    normal,
    outline,
    parameters_unchanged,
    sliced,
)
from autograder.spec.student import Student

from .common import OUTPUT

NAMES = ("gate.weight", "up.weight", "down.weight")


def _shapes(C: int, F_: int) -> dict[str, tuple[int, int]]:
    return dict(zip(NAMES, ((F_, C), (F_, C), (C, F_)), strict=True))


def _as_asked(parameters: dict, C: int, F_: int) -> None:
    """The three weights are there, in the shapes of nn.Linear."""
    for name, shape in _shapes(C, F_).items():
        layer = f"`{name.partition('.')[0]}` = nn.Linear({shape[1]}, {shape[0]}, bias=False)"
        if name not in parameters:
            raise Wrong(f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}; none is found.")
        if shape_of(parameters[name]) != shape:
            got = shape_of(parameters[name])
            raise Wrong(
                f"With embed_dim = {C} and ff_dim = {F_} there should be {layer}; your weight's shape is {got}."
            )


def _module(student: Student, C: int, F_: int, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    """A module and the new weights that were put into it."""
    module = student.build("SwiGLU", C, F_)
    if dtype:
        student.move(module, dtype)
    try:
        _as_asked(student.state(module, record=False)["parameters"], C, F_)
    except Wrong:
        outline(student, module, 0)
        raise
    kind = torch.float64 if dtype else torch.float32
    state = {name: normal(*shape, dtype=kind) for name, shape in _shapes(C, F_).items()}
    student.load(module, state)
    return module, state


def _gated(state: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    gate, up, down = (state[name] for name in NAMES)
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def _parameters(student: Student) -> None:
    for C, F_ in ((6, 9), (5, 2), (4, 16)):
        with student.case():
            module = student.build("SwiGLU", C, F_)
            outline(student, module, 0)
            state = student.state(module, record=False)
            parameters = state["parameters"]
            _as_asked(parameters, C, F_)
            biases = sorted(str(name) for name in parameters if str(name).endswith("bias"))
            if biases:
                raise Wrong(f"None of the three layers has a bias (`bias=False`); yours has {', '.join(biases)[:120]}.")
            extra = sorted(map(str, set(parameters) - set(NAMES)))
            if extra:
                raise Wrong(f"Three matrices are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
            frozen = sorted(set(NAMES) - set(state["trainable"]))
            if frozen:
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            weights = [parameters[name] for name in NAMES]
            if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
                raise Wrong("A layer starts with all its weights alike: every hidden feature would learn the same.")
            if torch.equal(weights[0], weights[1]):
                raise Wrong("`gate` and `up` start with the same weights: they are two layers, each with its own.")
    with student.case():
        named = student.build("SwiGLU", embed_dim=3, ff_dim=4)
        _as_asked(student.state(named, record=False)["parameters"], 3, 4)


def _values(student: Student) -> None:
    for shape, F_ in (
        ((2, 5, 6), 9),
        ((3, 4), 7),
        ((5,), 2),
        ((2, 3, 4, 3), 8),
        ((1, 1, 4), 16),
        ((3, 3, 3), 1),
        ((4, 4), 4),
        ((2, 40, 2), 5),
        ((2, 1, 3, 2, 4), 6),
        ((1, 1024, 4), 16),
        ((16, 2, 520), 64),
    ):
        with student.case():
            module, state = _module(student, shape[-1], F_)
            x, where = normal(*shape), f"for x of shape {shape} and ff_dim = {F_}"
            same_tensor(student.value(module, x, where=where), _gated(state, x), OUTPUT, where)


def _branches(student: Student) -> None:
    """A gate that is shut lets nothing through, whatever `up` offers; one wide open lets through z times as much."""
    for gates, where in (
        ([-200.0, -200.0, -200.0], "where every gate is shut"),
        ([200.0, 200.0, 200.0], "where every gate is wide open"),
        ([200.0, -200.0, 0.0], "where one gate is open, one shut and one at zero"),
    ):
        with student.case():
            module, state = _module(student, 4, 3)
            state["gate.weight"] = torch.zeros(3, 4)
            state["gate.weight"][:, 0] = torch.tensor(gates)
            student.load(module, state)
            x = torch.cat([torch.ones(5, 1), normal(5, 3)], dim=1)
            same_tensor(student.value(module, x, where=where), _gated(state, x), OUTPUT, where)


def _positions(student: Student) -> None:
    """Changing one position moves no other output."""
    module, state = _module(student, 4, 7)
    x = normal(3, 6, 4)
    before = student.value(module, x)
    same_tensor(before, _gated(state, x), OUTPUT)
    changed = x.clone()
    changed[1, 3] = normal(4)
    after = student.value(module, changed)
    others = torch.ones(3, 6, dtype=torch.bool)
    others[1, 3] = False
    if shape_of(after) != (3, 6, 4) or not close(after[others], before[others]):
        raise Wrong("Changing one position moves outputs elsewhere: each position goes through the layers on its own.")


def _gradient(student: Student) -> None:
    for shape, F_, dtype in (((2, 5, 6), 9, torch.float32), ((3, 4), 7, torch.float64)):
        with student.case():
            module, state = _module(student, shape[-1], F_, dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(
                lambda x, *leaves: _gated(dict(zip(NAMES, leaves, strict=True)), x), [x, *state.values()]
            )
            same_tensor(student.value(module, x, where=where), _gated(state, x), OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(answer["gradients"].get("inputs", []), expected[:1], ["x"], where)
            mine = [answer["gradients"].get("parameters", {}).get(name) for name in NAMES]
            same_gradients(mine, expected[1:], [f"`{name}`" for name in NAMES], where)


def _manners(student: Student) -> None:
    module, state = _module(student, 6, 9)
    other, other_state = _module(student, 6, 9)
    x = normal(2, 5, 6)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode")):
        with student.case():
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], _gated(state, x), OUTPUT, where)
            unchanged(answer["inputs"], [x], "x")
            generator_unchanged(answer)
    with student.case():
        same_tensor(student.value(other, x), _gated(other_state, x), OUTPUT, "of a second module")
        parameters_unchanged(student, module, state, record=False)
    with student.case():
        wide, wide_state = _module(student, 5, 4, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), _gated(wide_state, x), OUTPUT, "in float64")
    with student.case():
        turned, where = normal(3, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), _gated(state, turned), OUTPUT, where)
    with student.case():
        part, where = normal(2, 3, 6), "for a slice of a tensor, given by name"
        same_tensor(student.value(module, x=sliced(student, part), where=where), _gated(state, part), OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("three layers without bias, and nothing else", 0.75, _parameters),
        Check("values with given weights, for many shapes", 1.0, _values),
        Check("gates that are open or shut", 0.25, _branches),
        Check("each position on its own", 0.25, _positions),
        Check("gradients reach x and every matrix", 0.25, _gradient, further=True),
        Check("x unchanged, modules independent, float64, device", 0.5, _manners, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F
from torch import nn

class SwiGLU(nn.Module):
    def __init__(self, embed_dim, ff_dim):
        super().__init__()
        self.gate, self.up, self.down = (
            nn.Linear(*sizes, bias=False) for sizes in ((embed_dim, ff_dim), (embed_dim, ff_dim), (ff_dim, embed_dim))
        )

    def forward(self, x):
        z = self.gate(x)
        return self.down(F.glu(torch.cat([z * self.up(x), z], dim=-1), dim=-1))
""",
    takes="tensor",
    gives="tensor",
)
