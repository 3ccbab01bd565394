"""`RMSNorm`: against torch.nn.RMSNorm, rows far from 0 that keep their mean, rows that show where eps stands, zero rows.

The mistakes: a mean subtracted, the sum or the length instead of the mean square, eps elsewhere, a bias too many.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_gradients, same_tensor, unchanged
from autograder.spec.exercise import Ban, Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    generator_unchanged,
    gradients_of,
    normal,
    parameters_unchanged,
    sliced,
)
from autograder.spec.student import Student

from .common import OUTPUT

SHAPES = (  # up to four batch dimensions and none, equal sizes, 1 and 2 numbers, single tokens, as in real use
    *((2, 5, 6), (3, 4), (7,), (2, 3, 4, 5), (4, 4), (3, 3, 3), (2, 4, 2), (5, 1), (2, 1, 8), (1, 6), (2, 3, 300)),
    *((16, 2, 768), (1, 1024, 4), (2, 1, 3, 2, 5)),
)


def _norm(student: Student, *args: Any, dtype: str = "") -> tuple[Any, torch.Tensor]:
    """A module and the new weight that was put into it."""
    module = student.build("RMSNorm", *args)
    if dtype:
        student.move(module, dtype)
    weight = normal(args[0], dtype=torch.float64 if dtype else torch.float32)
    student.load(module, {"weight": weight})
    return module, weight


def _normed(weight: torch.Tensor, x: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def _parameters(student: Student) -> None:
    for dim in (6, 1, 9):
        with student.case():
            state = student.state(student.build("RMSNorm", dim))
            found = state["parameters"].get("weight")
            if not isinstance(found, torch.Tensor):
                where = "a buffer" if "weight" in state["buffers"] else "missing"
                raise Wrong(
                    f"RMSNorm({dim}) has no parameter `weight` (it is {where}): `self.weight = nn.Parameter(…)`."
                )
            if tuple(found.shape) != (dim,):
                raise Wrong(f"`weight` of RMSNorm({dim}) should have shape ({dim},), yours has {tuple(found.shape)}.")
            if "weight" not in state["trainable"]:
                raise Wrong("`weight` is frozen (requires_grad=False), so it cannot be learned.")
            if not found.is_floating_point() or not torch.all(found == 1):
                raise Wrong(
                    "`weight` should start at 1 everywhere, so that a fresh layer only normalises; yours does not."
                )
            extra = sorted(map(str, set(state["parameters"]) - {"weight"}))
            if extra:
                raise Wrong(f"RMSNorm has one parameter, `weight`; yours has more: {', '.join(extra)[:120]}.")


def _values(student: Student) -> None:
    for shape in SHAPES:
        with student.case():
            module, weight = _norm(student, shape[-1])
            x, where = normal(*shape) * 3 + 2, f"for x of shape {shape}"
            same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)
    with student.case():
        module, weight = _norm(student, 4)
        x, where = torch.tensor([[5.0, 5, 5, 5], [0, 0, 0, 8], [1, -1, 3, -3]]), "for whole numbers"
        same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)
    with student.case():
        x = normal(3, 5) + 4
        got = student.value(student.build("RMSNorm", 5), x)
        same_tensor(got, F.rms_norm(x, (5,), eps=1e-6), OUTPUT, "of a fresh layer")
    with student.case():
        module, weight = _norm(student, 8)
        x, where = 1e5 * normal(3, 8), "for numbers around 1e5"
        same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)


def _eps(student: Student) -> None:
    """Rows whose mean square is about eps or far below it tell where eps stands, and whether it is used at all."""
    for args, scale, where in (
        ((6,), 1e-3, "for rows whose mean square is about eps"),
        ((6,), 1e-5, "for rows whose mean square is far below eps"),
        ((6, 0.1), 0.3, "with eps = 0.1"),
        ((6, 1e-3), 0.03, "with eps = 1e-3"),
        ((6, 1e-12), 1e-5, "with eps = 1e-12"),
    ):
        with student.case():
            module, weight = _norm(student, *args)
            x = normal(4, 6, scale=scale)
            same_tensor(student.value(module, x, where=where), _normed(weight, x, *args[1:]), OUTPUT, where)
    with student.case():
        module, weight = student.build("RMSNorm", dim=6, eps=0.5), normal(6)
        student.load(module, {"weight": weight})
        x, where = normal(4, 6), "with dim and eps given by name"
        same_tensor(student.value(module, x, where=where), _normed(weight, x, 0.5), OUTPUT, where)


def _zeros(student: Student) -> None:
    module, weight = _norm(student, 4)
    x = torch.cat([torch.zeros(1, 4), normal(2, 4)])
    where = "with a row of zeros"
    same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)


def _gradient(student: Student) -> None:
    for shape, dtype in (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64)):
        with student.case():
            module, weight = _norm(student, shape[-1], dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(lambda x, w: _normed(w, x), [x, weight])
            same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(answer["gradients"].get("inputs", []), expected[:1], ["x"], where)
            mine = [answer["gradients"].get("parameters", {}).get("weight")]
            same_gradients(mine, expected[1:], ["`weight`"], where)


def _manners(student: Student) -> None:
    module, weight = _norm(student, 6)
    other, other_weight = _norm(student, 6)
    x = normal(2, 5, 6)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], _normed(weight, x), OUTPUT, where)
            unchanged(answer["inputs"], [x], "x")
            generator_unchanged(answer)
    with student.case():
        same_tensor(student.value(other, x), _normed(other_weight, x), OUTPUT, "of a second module")
        parameters_unchanged(student, module, {"weight": weight}, record=False)
    with student.case():
        wide, wide_weight = _norm(student, 5, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), _normed(wide_weight, x), OUTPUT, "in float64")
    with student.case():
        turned, where = normal(6, 4).mT, "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), _normed(weight, turned), OUTPUT, where)
    with student.case():
        part, where = normal(2, 3, 6), "for a slice of a tensor, given by name"
        same_tensor(student.value(module, x=sliced(student, part), where=where), _normed(weight, part), OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("one parameter, weight, ones at the start", 0.5, _parameters),
        Check("equals nn.RMSNorm, for many shapes", 1.0, _values),
        Check("eps inside the root, as given", 0.5, _eps),
        Check("a row of zeros stays zeros", 0.25, _zeros, further=True),
        Check("gradients reach x and weight", 0.25, _gradient, further=True),
        Check("the same in both modes, x unchanged, float64, device", 0.5, _manners, further=True),
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
