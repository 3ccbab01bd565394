"""`masked_softmax`: masks that broadcast, rows without a key, blocked scores of any size, finite gradients."""

import math
from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    behaves,
    cases_of,
    device,
    gradients,
    normal,
    refusing,
    same_tensor,
)

UNDERFLOW = 1e-30  # a weight below it may be 0 in one order of the arithmetic and not in another
cases, refuse = cases_of("masked_softmax"), refusing("masked_softmax")


def _pattern(*shape: int) -> torch.Tensor:
    """Return a mask with about a third blocked, and no fully blocked row."""
    count = math.prod(shape)
    mask = ((torch.arange(count) * 7 + torch.arange(count) // 5) % 3 == 1).reshape(shape)
    mask[..., -1] &= ~mask.all(-1)
    return mask


@cases
def _values() -> Cases:
    for shape in ((3, 5), (2, 4, 3), (2, 3, 4, 5), (1, 4), (4, 4), (2, 3, 1, 2), (2, 1, 3, 2, 4), (2, 33, 17)):
        yield [normal(*shape), _pattern(*shape)], f"for scores and mask of shape {shape}"
    yield [normal(3, 4), torch.zeros(3, 4, dtype=torch.bool)], "with a mask that blocks nothing"
    whole = torch.tensor([[0.0, 1.0, -1.0, 0.0], [2.0, 2.0, 0.0, 2.0]])
    yield [whole, _pattern(2, 4)], "for whole numbers, 0 among them"


SHAPES = (  # of scores and mask
    *(((2, 4, 5), (4, 5)), ((2, 3, 4, 5), (2, 1, 4, 5)), ((2, 3, 4, 5), (2, 1, 1, 5)), ((2, 3, 4, 5), (3, 4, 5))),
    *(((2, 2, 3, 4), (2, 3, 4)), ((2, 3, 4, 4), (4, 4)), ((3, 5), (5,)), ((2, 3, 4), (4,)), ((2, 3, 4), (1, 1, 4))),
    *(((2, 3, 3), (2, 1, 3)), ((3, 4), (1, 1))),
)


@cases
def _broadcast() -> Cases:
    for shape, size in SHAPES:
        yield [normal(*shape), _pattern(*size)], f"for scores of shape {shape} and a mask of shape {size}"


@cases
def _empty() -> Cases:
    some = _pattern(2, 4, 5)
    some[0, 1] = some[1, 3] = True
    yield [normal(2, 4, 5), some], "when some rows are fully blocked"
    yield [normal(3, 4), torch.ones(3, 4, dtype=torch.bool)], "when everything is blocked"
    yield [normal(2, 3), torch.ones(1, 1, dtype=torch.bool)], "with a mask of shape (1, 1) that blocks everything"
    rows = torch.tensor([[True], [False], [True]])
    yield [normal(2, 3, 4), rows], "with a mask of shape (T, 1) that blocks whole rows"
    two = torch.tensor([[True] * 4, [False, True, True, True], [True] * 4])
    yield [normal(3, 4, scale=1e4), two], "with large scores"


def _zeros_alike(got: Any, expected: torch.Tensor, what: str, where: str, rough: bool = False) -> None:
    same_tensor(got, expected, what, where, rough)
    refuse((got[expected == 0].abs() > UNDERFLOW).any(), "floor")


@cases_of("masked_softmax", same=_zeros_alike)
def _extreme() -> Cases:
    mask = torch.tensor([[False, True, False, False], [True, False, False, True], [False, False, True, True]])
    base = normal(3, 4)
    yield [base - 1e4, mask], "where all allowed scores are near −1e4", True
    yield [base - 1e12 * ~mask, mask], "where all allowed scores are far below a finite fill such as −1e9"
    yield [base + 1e4 * mask, mask], "where the blocked scores are much the largest (1e4)"
    yield [base + 1e12 * mask, mask], "where the blocked scores are much the largest (1e12)"
    yield [base * 1e4, mask], "for scores of ±1e4", True


@cases
def _gradient() -> Cases:
    mask = _pattern(2, 4, 5)
    empty = mask.clone()
    empty[0, 2] = empty[1, 0] = True
    where = "when some rows are fully blocked"
    yield gradients([normal(2, 4, 5)], ["`scores`"], [mask], "without fully blocked rows")
    yield gradients([normal(2, 4, 5)], ["`scores`"], [empty], where)
    yield gradients([normal(2, 4, 5, dtype=torch.float64)], ["`scores`"], [empty], f"in float64, {where}")


@cases
def _precision() -> Cases:
    mask = _pattern(3, 5)
    mask[1] = True
    yield [normal(3, 5, dtype=torch.float64), mask], "for float64 scores"


@cases
def _side_effects() -> Cases:
    mask = _pattern(2, 4, 5)
    mask[0, 2] = True
    for given in (mask, mask[0]):
        yield behaves([normal(2, 4, 5), given], "scores or mask")
    yield [normal(2, 5, 4).mT, _pattern(2, 4, 5)], "for scores that are not contiguous"
    yield {"scores": normal(2, 4, 5), "mask": _pattern(2, 4, 5)}, "with arguments given by name"
    yield device([normal(2, 4, 5), mask])


EXERCISE = Exercise(
    Check("values for two to five dimensions", 1.5, _values),
    Check("masks that broadcast", 0.75, _broadcast, dependent=True),
    Check("a fully blocked row is all zeros", 1.0, _empty),
    Check("exactly 0 for blocked entries, whatever the scores", 1.0, _extreme, dependent=True),
    Check("gradients, with fully blocked rows too", 1.0, _gradient, dependent=True),
    Check("float64 stays float64, with its precision", 0.25, _precision, dependent=True),
    Check("inputs unchanged, any layout and device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("input_changed", "global_generator"),
    library_equivalent=r"""
def masked_softmax(scores, mask):
    bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(mask, -torch.inf)
    dead = mask.all(-1, keepdim=True)
    weights = torch.nn.functional.softmax(torch.where(dead, torch.zeros_like(scores), scores + bias), -1)
    return torch.where(mask, torch.zeros_like(weights), weights)
""",
)
