"""`apply_rope`: pairs rotated by any positions and base, and what follows: lengths kept, scores relative.

The mistakes: halves for neighbouring pairs, the other direction, positions or base ignored, angles in degrees.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import a_tensor, dtype_name, kind, same_tensor, shape_name, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, gradients_agree, normal
from autograder.spec.student import Student

from .common import near

apply_rope = reference("apply_rope")


def _rotated(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """The reference in float64."""
    return apply_rope(x.double(), positions.double(), base)


def _rope(student: Student, x: torch.Tensor, positions: torch.Tensor, where: str, **options: float) -> None:
    with student.case():
        got = student.value("apply_rope", x, positions, where=where, **options)
        near(got, _rotated(x, positions, **options), positions.double().abs()[:, None], "The result", where)


def _rope_values(student: Student) -> None:
    for shape in (
        (5, 4),
        (2, 6, 8),
        (2, 3, 5, 6),
        (3, 2),
        (4, 4),
        (2, 2, 2, 2),
        (1, 6),
        (7, 1, 3, 10),
        (2, 1, 3, 4, 6),
        (2, 20, 64),
    ):
        _rope(student, normal(*shape), torch.arange(shape[-2]), f"for x of shape {shape} and positions 0 … T-1")


def _rope_positions(student: Student) -> None:
    for positions in (
        *([3, 4, 5, 6], [0, 2, 5, 9], [7, 7, 7, 0], [9, 3, 8, 1], [-1, -4, 0, 2], [1000, 5, 30, 4095]),
        *([0, 0, 0, 0], [100000, 3, -2, 8]),
    ):
        _rope(student, normal(2, 3, 4, 6), torch.tensor(positions), f"for positions {positions}")
    _rope(student, normal(3, 8), torch.tensor([0.0, 2.5, 7.0]), "for positions [0.0, 2.5, 7.0] (floats)")
    _rope(student, normal(2, 1, 4), torch.tensor([11]), "for a single token at position 11")


def _rope_relative(student: Student) -> None:
    """What any rotary embedding does, whichever pairs it turns and in whichever direction."""
    q, k = normal(2, 5, 6), normal(2, 5, 6)
    here = torch.arange(5)

    def turned(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        got = a_tensor(student.value("apply_rope", x, positions), "The result")
        if got.shape != x.shape or not got.is_floating_point() or got.device.type != "cpu":
            raise Wrong(f"The result should have the shape of x, {shape_name(x)}; yours is {kind(got)}.", "wrong_shape")
        return got.double()

    first = turned(q, here)
    if not ((first.norm(dim=-1) - q.double().norm(dim=-1)).abs() < 1e-3).all():
        raise Wrong("Vectors do not keep their length: each pair is rotated, which makes nothing longer or shorter.")
    if not ((first[:, 0] - q[:, 0].double()).abs() < 1e-3).all():
        raise Wrong("At position 0 nothing turns: the vector should stay as it is.")
    if ((first[:, 1:] - q[:, 1:].double()).abs().amax(-1) < 1e-3).any():
        raise Wrong("At a position other than 0 the vector comes back as it was: it should be rotated.")
    scores = first @ turned(k, here).mT
    for shift in (3, 40):
        with student.case():
            if not ((turned(q, here + shift) @ turned(k, here + shift).mT - scores).abs() < 5e-3).all():
                raise Wrong(
                    "Scores change when all positions are moved by the same number: they may depend on relative "
                    "positions only."
                )
    with student.case():
        if ((first @ turned(k, here + 3).mT - scores).abs() < 1e-3).all():
            raise Wrong("Scores stay the same when only the keys are moved: they should depend on relative positions.")


def _rope_base(student: Student) -> None:
    for base, shape in ((100.0, (2, 4, 6)), (500000.0, (5, 8)), (10.0, (3, 2, 4)), (1000, (3, 4))):
        positions = torch.arange(shape[-2]) * 3 + 1
        _rope(student, normal(*shape), positions, f"with base = {base}", base=base)
    with student.case():
        x, positions = normal(3, 6), torch.arange(3)
        got = student.value("apply_rope", x, positions, 50.0)
        same_tensor(got, _rotated(x, positions, 50.0).float(), "The result", "with base given by position")


def _rope_gradient(student: Student) -> None:
    for shape in ((2, 3, 4, 6), (5, 2)):
        with student.case():
            positions = torch.arange(shape[-2]) + 2
            gradients_agree(
                student, "apply_rope", apply_rope, [normal(*shape)], ["x"], (positions,), f"for x of shape {shape}"
            )


def _rope_precision(student: Student) -> None:
    """float64 in, float64 out. Rates and angles in float32, as most codes have them, are precise enough."""
    for positions in (torch.tensor([0, 3, 20, 500]), torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)):
        with student.case():
            x = normal(2, 4, 6, dtype=torch.float64)
            where = f"for x in float64 and {dtype_name(positions)} positions"
            got, expected = student.value("apply_rope", x, positions, where=where), _rotated(x, positions)
            fits = isinstance(got, torch.Tensor) and got.shape == expected.shape and got.dtype == torch.float64
            if fits and (got - expected).abs().max() < 1e-3:
                continue
            same_tensor(got, expected, "The result", where)


def _rope_manners(student: Student) -> None:
    for dtype in (torch.int64, torch.int32, torch.float64):  # whatever positions are, the dtype of x is kept
        positions = torch.tensor([2, 0, 5, 1], dtype=dtype)
        with student.case():
            x = normal(2, 4, 6)
            where = f"for {dtype_name(positions)} positions"
            answer = student.call("apply_rope", [x, positions], where=where)
            same_tensor(answer["value"], _rotated(x, positions).float(), "The result", where)
            unchanged(answer["inputs"], [x, positions], "x, positions")
    for turned, where in (
        (normal(2, 4, 3, 6).transpose(1, 2), "for heads cut out with `.transpose(1, 2)` (not contiguous)"),
        (normal(2, 4, 18)[..., 6:12], "for a slice (not contiguous)"),
    ):
        _rope(student, turned, torch.arange(4) + 1, where)
    with student.case():
        x, where = normal(2, 4, 6), "with arguments given by name"
        given = {"x": x, "positions": positions, "base": 100.0}
        got = student.call("apply_rope", [], given, where=where)["value"]
        same_tensor(got, _rotated(x, positions, 100.0).float(), "The result", where)
    with student.case():
        device_is_kept(student, "apply_rope", [normal(2, 4, 6), torch.arange(4)])


EXERCISE = Exercise(
    points=6,
    checks=[
        Check("rotates the pairs (2i, 2i+1)", 2.0, _rope_values),
        Check("by the positions that are given", 1.0, _rope_positions),
        Check("lengths kept, scores relative", 1.0, _rope_relative, further=True),
        Check("at rates that follow from base", 0.5, _rope_base),
        Check("gradients reach x", 0.5, _rope_gradient, further=True),
        Check("float64 stays float64", 0.5, _rope_precision, further=True),
        Check("inputs unchanged, device", 0.5, _rope_manners, further=True),
    ],
    working=r"""
import torch

def apply_rope(x, positions, base=10000.0):
    d_k = x.shape[-1]
    rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)
    angles = positions.to(x.dtype)[:, None] * rates
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2)
""",
    takes="tensor",
    gives="tensor",
)
