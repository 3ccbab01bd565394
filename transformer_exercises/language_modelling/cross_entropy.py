"""`cross_entropy`: for any leading dimensions and logits of ±1e4, without using PyTorch's."""

import torch

from autograder.spec import (
    Ban,
    Cases,
    Check,
    Exercise,
    behaves,
    cases_of,
    device,
    gradients,
    normal,
    same_values,
    shuffled,
)

from .random_inputs import some_ids

cases = cases_of("cross_entropy", same=same_values)


def _given(*shape: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Return logits of this shape, and targets."""
    return [normal(*shape, scale=2.0, dtype=dtype), some_ids(shape[-1], *shape[:-1])]


def _of_shapes(*shapes: tuple[int, ...]) -> Cases:
    for shape in shapes:
        yield _given(*shape), f"for logits of shape {shape} and targets of shape {shape[:-1]}"


@cases
def _values() -> Cases:
    for rows, ids, where in (
        ([[0.0, 0.0]], [1], "for logits [[0, 0]] and targets [1]"),
        ([[2.0, -1.0, 0.5], [0.0, 3.0, 0.0]], [0, 0], "for whole numbers and target 0 twice"),
        ([[-3.0, -1.0, -2.0, -1.5]], [3], "where all logits are negative"),
    ):
        yield [torch.tensor(rows), torch.tensor(ids)], where
    yield from _of_shapes((4, 3), (7, 5), (3, 8), (1, 6), (5, 5), (40, 33), (4, 1))


_dimensions = cases(
    lambda: _of_shapes((2, 3, 5), (4, 3, 4), (3, 1, 2), (2, 2, 3, 7), (1, 4, 1, 3), (6,), (2, 1, 3, 2, 4))
)


@cases
def _stable() -> Cases:
    # The targets are not the likeliest tokens: a loss near 0 would be lost in the rounding of a logsumexp of 1e4.
    rows = torch.tensor([[1e4, 1e4 - 1, 1e4 - 4], [-1e4, -1e4 + 2, -1e4 - 3], [1e4, -1e4, 0.0], [0.3, -2.2, 0.1]])
    order = shuffled([0, 1, 2])
    rows, first = rows[:, order], torch.tensor([order.index(0)])
    ids, together = (
        first.new_tensor([*map(order.index, (2, 2, 1, 1))]),
        "stand together (each row needs its own maximum)",
    )
    far = torch.tensor([[0.0, 200.0], [-150.0, 0.0]])
    for logits, targets, where in (
        (rows[:1], ids[:1], "for logits near 1e4"),
        (rows[1:2], ids[1:2], "for logits near −1e4"),
        (rows[2:3], ids[2:3], "when the target's logit lies 2e4 below another"),
        (rows[2:3], first, "when the target's logit lies 1e4 above the others"),
        (far, torch.tensor([0, 0]), "when the target's logit lies 200 below another"),
        (rows, ids, f"when rows near 1e4 and near −1e4 {together}"),
        (rows[[1, 3]], ids[[1, 3]], f"when rows near 0 and near −1e4 {together}"),
        (rows.double(), ids, "for float64 logits of ±1e4"),
    ):
        yield [logits, targets], where, True


@cases
def _gradient() -> Cases:
    large = torch.tensor([[1e4, 1e4 - 1, 0.0], [0.0, 1.0, -1e4]])
    yield gradients(_given(4, 3), ["`logits`"])
    yield gradients(_given(2, 3, 4, dtype=torch.float64), ["`logits`"], where="in float64")
    yield gradients([large, torch.tensor([1, 0])], ["`logits`"], where="for logits of 1e4", rough=True)


@cases_of("cross_entropy")
def _side_effects() -> Cases:
    for given in (_given(4, 3), _given(2, 3, 4, dtype=torch.float64)):
        yield behaves(given, "`logits`, `targets`")
    yield [normal(3, 5, 2).mT, some_ids(5, 3, 2)], "for logits that are not contiguous"
    yield [normal(3, 2, 5), some_ids(5, 2, 3).T], "for targets that are not contiguous"
    yield device(_given(4, 3))


KEPT = "a scalar tensor of the dtype of `logits`, inputs unchanged, any layout and device"
EXERCISE = Exercise(
    Check("mean of −log p(target), logits (N, V)", 1.25, _values),
    Check("any number of leading dimensions", 0.75, _dimensions, dependent=True),
    Check("stable for logits of ±1e4", 1.0, _stable, dependent=True),
    Check("gradients", 0.5, _gradient, dependent=True),
    Check(KEPT, 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="scalar",
    harmless=("squeezed", "list_returned", "other_signature", "global_generator"),
    ban=Ban(
        pattern="(?<!binary)crossentropy|nllloss|ctcloss",
        without="`F.cross_entropy` and its relatives (`F.nll_loss`, `nn.CrossEntropyLoss` …)",
        fine="`log_softmax` and `logsumexp` are fine",
    ),
    library_equivalent=r"""
def cross_entropy(logits, targets):
    return -torch.distributions.Categorical(logits=logits, validate_args=False).log_prob(targets).mean()
""",
)
