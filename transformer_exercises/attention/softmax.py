"""`softmax`: any dimension, scores of ±1e4 and −∞, gradients, without PyTorch's own."""

import math
from typing import Any

import torch

from autograder.spec import (
    Ban,
    Cases,
    Check,
    Exercise,
    Wrong,
    behaves,
    cases_of,
    device,
    drawn,
    gradients,
    normal,
    same_tensor,
    shuffled,
)

cases = cases_of("softmax")


@cases
def _values() -> Cases:
    for shape in ((5,), (3, 4), (2, 3, 5), (2, 1, 4, 3), (1,), (6, 1), (4, 33), (2, 2, 1, 3, 2)):
        yield [normal(*shape, scale=2.0)], f"for scores of shape {shape}"
    yield [torch.tensor([[0.0, 1.0, -1.0], [2.0, 0.0, 3.0]])], "for whole numbers, 0 among them"
    yield [torch.tensor([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [-1.0, -1.0, 4.0]])], "where scores are equal"
    yield [torch.tensor([[-3.0, -1.0, -2.0], [5.0, 1.0, 0.5]])], "where all scores of a row have one sign"


@cases
def _dim() -> Cases:
    for shape, dims in (((3, 4), (0, 1)), ((2, 3, 5), (1, -2, 0)), ((4, 4), (0,)), ((4,), (0,))):
        for dim in dims:
            yield [normal(*shape), dim], f"for shape {shape} with dim={dim}"
    yield {"scores": normal(3, 4), "dim": 0}, "with both arguments given by name"


@cases
def _stable() -> Cases:
    rows = torch.tensor([[1e4, 1e4 - 1, 1e4 - 3], [-1e4, -1e4 + 2, -1e4], [1e4, -1e4, 0.0], [0.3, -0.2, 0.1]])
    rows = rows[:, shuffled([0, 1, 2])]
    for row in rows[:3]:
        yield [row], f"for the scores {row.tolist()}", True
    yield [rows], "when rows near 1e4 and near −1e4 stand in one batch (each row needs its own maximum)", True
    yield [rows.double()], "for float64 scores near ±1e4", True
    yield [rows.T.contiguous(), 0], "for columns near ±1e4 with dim=0", True


def _zeros_alike(got: Any, expected: torch.Tensor, what: str, where: str, rough: bool = False) -> None:
    same_tensor(got, expected, what, where, rough)
    if got[expected == 0].any():
        raise Wrong("A score of −inf must get a weight of exactly 0, not just a small one.")


@cases_of("softmax", same=_zeros_alike)
def _blocked() -> Cases:
    scores = normal(4, 5)
    scores[0, 1] = scores[2, :4] = scores[3, 0] = scores[3, 4] = -math.inf
    yield [scores], "when some scores are −inf"
    yield [torch.tensor([[-1e4, -math.inf, -1e4 + 1]])], "when −inf stands next to scores near −1e4", True
    yield [torch.tensor([[-1e10, -math.inf, -2e10]])], "when −inf stands next to scores lower than any fill", True


@cases
def _gradient() -> Cases:
    blocked = normal(3, 4)
    blocked[1, 2] = -math.inf
    yield gradients([normal(3, 4)], ["`scores`"])
    yield gradients([normal(2, 3, 4, dtype=torch.float64)], ["`scores`"], where="in float64")
    large = drawn(1e4, lambda _: 200.0)  # of a logsumexp of 1e4, too few digits are left for some directions
    yield gradients([torch.tensor([[large, large - 1, 0.0]])], ["`scores`"], where="for scores near 1e4", rough=True)
    yield gradients([blocked], ["`scores`"], where="when a score is −inf")


@cases
def _precision() -> Cases:
    for shape in ((3, 4), (2, 3, 4)):
        yield [normal(*shape, dtype=torch.float64, scale=3.0)], f"for float64 scores of shape {shape}"


@cases
def _side_effects() -> Cases:
    yield behaves([normal(3, 4)], "`scores`")
    for turned in (normal(4, 3).T, normal(2, 4, 3, 5).transpose(1, 2)):
        yield behaves([turned], "`scores`", "for a tensor that is not contiguous (a transpose)")
    yield device([normal(3, 4)])


EXERCISE = Exercise(
    Check("values for one to five dimensions", 1.0, _values),
    Check("the dimension that was asked for", 0.75, _dim, dependent=True),
    Check("stable for scores of ±1e4", 0.75, _stable, dependent=True),
    Check("−inf gets exactly 0", 0.5, _blocked, dependent=True),
    Check("gradients", 0.5, _gradient, dependent=True),
    Check("float64 stays float64, with its precision", 0.25, _precision, dependent=True),
    Check("inputs unchanged, any layout and device", 0.25, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("array_returned", "other_signature", "global_generator"),
    ban=Ban(
        pattern="softmax|softmin|attention",
        without="`torch.softmax` and its relatives (`log_softmax`, `nn.Softmax`, fused attention …)",
        fine="`logsumexp` is fine",
    ),
    library_equivalent=r"""
def softmax(scores, dim=-1):
    return torch.softmax(scores, dim)
""",
)
