"""`apply_rope`: pairs rotated by any positions and base, and what follows: lengths kept, scores relative."""

from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Student,
    Wrong,
    a_tensor,
    behaves,
    cases_of,
    device,
    dtype_name,
    gradients,
    kind,
    normal,
    reference,
    same_tensor,
)

from ..sinusoids import near

apply_rope = reference("apply_rope")
cases = cases_of("apply_rope")


def _rotated(x: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return apply_rope(x.double(), positions.double()), positions


rotates = cases_of("apply_rope", by=_rotated, same=near)


def _at(shape: tuple[int, ...], positions: list, **base: float) -> tuple[Any, str]:
    with_base = f", with base = {base['base']}" if base else ""
    where = f"for x of shape {shape} and positions {positions}{with_base}"
    return ([normal(*shape), torch.tensor(positions)], base), where


@rotates
def _pairs() -> Cases:
    for shape in (
        *((5, 4), (2, 6, 8), (2, 3, 5, 6), (3, 2), (4, 4), (2, 2, 2, 2), (1, 6), (7, 1, 3, 10), (2, 1, 3, 4, 6)),
        (2, 20, 64),
    ):
        yield _at(shape, list(range(shape[-2])))


@rotates
def _positions() -> Cases:
    for positions in (
        *([3, 4, 5, 6], [0, 2, 5, 9], [7, 7, 7, 0], [9, 3, 8, 1], [-1, -4, 0, 2], [200, 5, 30, 100]),
        [0, 0, 0, 0],
    ):
        yield _at((2, 3, 4, 6), positions)
    yield _at((2, 3, 4, 2), [100000, 1000, -2, 4095])  # one pair, of rate 1: others are rounded, which grows with these
    yield _at((3, 8), [0.0, 2.5, 7.0])
    yield _at((2, 1, 4), [11])


def _relative(student: Student) -> None:
    """Ask what any rotary embedding does, whichever pairs it turns and in whichever direction."""
    q, k = normal(2, 5, 6), normal(2, 5, 6)
    here = torch.arange(5)

    def turned(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        got = a_tensor(student.value("apply_rope", x, positions), "The result")
        if got.shape != x.shape or not got.is_floating_point() or got.device.type != "cpu":
            raise Wrong(f"The result should have the shape of x, (2, 5, 6); yours is {kind(got)}.", "wrong_shape")
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
                raise Wrong("Scores change when all positions move alike: they may depend on relative positions only.")
    with student.case():
        if ((first @ turned(k, here + 3).mT - scores).abs() < 1e-3).all():
            raise Wrong("Scores stay the same when only the keys are moved: they should depend on relative positions.")


@cases
def _base() -> Cases:
    yield _at((2, 4, 6), [1, 4, 7, 10], base=100.0)
    yield _at((5, 8), [1, 4, 7, 10, 13], base=500000.0)
    yield _at((3, 2, 4), [1, 4], base=10.0)
    yield _at((3, 4), [1, 4, 7], base=1000)
    yield [normal(3, 6), torch.arange(3), 50.0], "with base given by position"


@cases
def _gradient() -> Cases:
    for shape in ((2, 3, 4, 6), (5, 2)):
        yield gradients([normal(*shape)], ["x"], [torch.arange(shape[-2]) + 2], f"for x of shape {shape}")


def _roughly(got: Any, expected: torch.Tensor, what: str, where: str) -> None:
    """float64 in, float64 out. Rates and angles in float32, as most codes have them, are precise enough."""
    fits = isinstance(got, torch.Tensor) and got.shape == expected.shape and got.dtype == torch.float64
    if not fits or not (got - expected).abs().max() < 1e-3:
        same_tensor(got, expected, what, where)


@cases_of("apply_rope", same=_roughly)
def _precision() -> Cases:
    for positions in (torch.tensor([0, 3, 20, 500]), torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)):
        where = f"for x in float64 and {dtype_name(positions)} positions"
        yield [normal(2, 4, 6, dtype=torch.float64), positions], where


@cases
def _side_effects() -> Cases:
    for dtype in (torch.int64, torch.int32, torch.float64):  # whatever positions are, the dtype of x is kept
        positions = torch.tensor([2, 0, 5, 1], dtype=dtype)
        yield behaves([normal(2, 4, 6), positions], "x, positions", f"for {dtype_name(positions)} positions")
    for part in (normal(2, 4, 3, 6).transpose(1, 2), normal(2, 4, 18)[..., 6:12]):
        yield [part, torch.tensor([1, 2, 3, 4])], f"for x that is not contiguous, of shape {tuple(part.shape)}"
    yield {"x": normal(2, 4, 6), "positions": positions, "base": 100.0}, "with arguments given by name"
    yield device([normal(2, 4, 6), torch.arange(4)])


EXERCISE = Exercise(
    Check("rotates the pairs (2i, 2i+1)", 2.0, _pairs),
    Check("by the positions that are given", 1.0, _positions),
    Check("lengths kept, scores relative", 1.0, _relative, dependent=True),
    Check("at rates that follow from base", 0.5, _base),
    Check("gradients reach x", 0.5, _gradient, dependent=True),
    Check("float64 stays float64", 0.5, _precision, dependent=True),
    Check("inputs unchanged, device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("single_precision_inside", "global_generator"),
)
