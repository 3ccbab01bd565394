"""`LayerNorm`: against nn.LayerNorm, rows that show where eps stands, constant rows, numbers far from 0.

The mistakes: the unbiased variance, eps outside the root, statistics over other dimensions, parameters that are none.
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


def _norm_weights(dim: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    return {"weight": normal(dim, dtype=dtype), "bias": normal(dim, dtype=dtype)}


def _norm(student: Student, *args: Any, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    """A module and the new weights that were put into it."""
    module, state = student.build("LayerNorm", *args), _norm_weights(args[0], torch.float64 if dtype else torch.float32)
    if dtype:
        student.move(module, dtype)
    student.load(module, state)
    return module, state


def _normed(state: dict[str, torch.Tensor], x: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], state["weight"], state["bias"], eps)


def _norm_parameters(student: Student) -> None:
    for dim in (6, 1, 9):
        with student.case():
            state = student.state(student.build("LayerNorm", dim))
            parameters = state["parameters"]
            for name, start in (("weight", 1.0), ("bias", 0.0)):
                found = parameters.get(name)
                if not isinstance(found, torch.Tensor):
                    where = "a buffer" if name in state["buffers"] else "missing"
                    raise Wrong(
                        f"LayerNorm({dim}) has no parameter `{name}` (it is {where}): `self.{name} = nn.Parameter(…)`."
                    )
                if tuple(found.shape) != (dim,):
                    raise Wrong(
                        f"`{name}` of LayerNorm({dim}) should have shape ({dim},), yours has {tuple(found.shape)}."
                    )
                if name not in state["trainable"]:
                    raise Wrong(f"`{name}` is frozen (requires_grad=False), so it cannot be learned.")
                if not found.is_floating_point() or not torch.all(found == start):
                    raise Wrong(
                        f"`{name}` should start at {start:.0f} everywhere, so that a fresh layer only normalises; "
                        "yours does not."
                    )
            extra = sorted(map(str, set(parameters) - {"weight", "bias"}))
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")


def _norm_values(student: Student) -> None:
    for shape in SHAPES:
        with student.case():
            module, state = _norm(student, shape[-1])
            x, where = normal(*shape) * 3 + 2, f"for x of shape {shape}"
            same_tensor(student.value(module, x, where=where), _normed(state, x), OUTPUT, where)
    with student.case():
        module, state = _norm(student, 4)
        x = torch.tensor([[1.0, 3, 1, 3], [0, 0, 0, 8]])
        same_tensor(student.value(module, x), _normed(state, x), OUTPUT, "for whole numbers")
    with student.case():
        x = normal(3, 5)
        got = student.value(student.build("LayerNorm", 5), x)
        same_tensor(got, F.layer_norm(x, (5,)), OUTPUT, "of a fresh layer")


def _norm_eps(student: Student) -> None:
    """Rows whose variance is about eps, far below it or zero tell where eps stands, and whether it is used at all."""
    for args, scale, where in (
        ((6,), 3e-3, "for rows whose variance is about eps"),
        ((6,), 1e-5, "for rows whose variance is far below eps"),
        ((6, 0.1), 0.3, "with eps = 0.1"),
        ((6, 1e-3), 0.03, "with eps = 1e-3"),
        ((6, 1e-12), 1e-5, "with eps = 1e-12"),
    ):
        with student.case():
            module, state = _norm(student, *args)
            x = normal(4, 6, scale=scale)
            same_tensor(student.value(module, x, where=where), _normed(state, x, *args[1:]), OUTPUT, where)
    with student.case():
        module, state = student.build("LayerNorm", dim=6, eps=0.5), _norm_weights(6)
        student.load(module, state)
        x, where = normal(4, 6), "with dim and eps given by name"
        same_tensor(student.value(module, x, where=where), _normed(state, x, 0.5), OUTPUT, where)


def _norm_constant(student: Student) -> None:
    module, state = _norm(student, 4)
    x = torch.tensor([2.0, 0.0, -8.0])[:, None].expand(3, 4).clone()
    where = "for rows whose numbers are all equal (variance 0)"
    same_tensor(student.value(module, x, where=where), _normed(state, x), OUTPUT, where)


def _norm_large(student: Student) -> None:
    module, state = _norm(student, 8)
    for x, where in (
        (
            1000 + normal(3, 8),
            "for numbers around 1000 with a variance of 1 (mean(x²) − mean(x)² loses all its digits here)",
        ),
        (1e5 * normal(3, 8), "for numbers around 1e5"),
    ):
        with student.case():
            same_tensor(student.value(module, x, where=where), _normed(state, x), OUTPUT, where, rough=True)


def _norm_gradient(student: Student) -> None:
    for shape, dtype in (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64)):
        with student.case():
            module, state = _norm(student, shape[-1], dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(
                lambda x, w, b: _normed({"weight": w, "bias": b}, x), [x, *state.values()]
            )
            same_tensor(student.value(module, x, where=where), _normed(state, x), OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(
                answer["gradients"].get("inputs", []), expected[:1], ["x"], where, rough=dtype == torch.float32
            )
            mine = [answer["gradients"].get("parameters", {}).get(name) for name in state]
            same_gradients(mine, expected[1:], [f"`{name}`" for name in state], where)


def _norm_manners(student: Student) -> None:
    module, state = _norm(student, 6)
    other, other_state = _norm(student, 6)
    x = normal(2, 5, 6)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], _normed(state, x), OUTPUT, where)
            unchanged(answer["inputs"], [x], "x")
            generator_unchanged(answer)
    with student.case():
        same_tensor(student.value(other, x), _normed(other_state, x), OUTPUT, "of a second module")
        parameters_unchanged(student, module, state, record=False)
    with student.case():
        wide, wide_state = _norm(student, 5, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), _normed(wide_state, x), OUTPUT, "in float64")
    with student.case():
        turned, where = normal(6, 4).mT, "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), _normed(state, turned), OUTPUT, where)
    with student.case():
        part, where = normal(2, 3, 6), "for a slice of a tensor"
        same_tensor(student.value(module, sliced(student, part), where=where), _normed(state, part), OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("weight and bias, ones and zeros at the start", 0.75, _norm_parameters),
        Check("equals nn.LayerNorm, for many shapes", 1.5, _norm_values),
        Check("eps inside the root, as given", 0.75, _norm_eps),
        Check("a constant row gives the bias", 0.5, _norm_constant, further=True),
        Check("numbers far from 0", 0.25, _norm_large, further=True),
        Check("gradients reach x, weight and bias", 0.75, _norm_gradient, further=True),
        Check("the same in both modes, x unchanged, float64, device", 0.5, _norm_manners, further=True),
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
