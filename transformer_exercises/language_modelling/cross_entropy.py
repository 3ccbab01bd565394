"""`cross_entropy`: against PyTorch's, for any leading dimensions and logits of ±1e4, without using PyTorch's.

The mistakes: a logsumexp that overflows, another dimension, another mean, another sign, probabilities for logits.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_tensor
from autograder.spec.exercise import Ban, Check, Exercise
from autograder.spec.inputs import device_is_kept, normal
from autograder.spec.student import Student

from .common import gradient_agrees, quiet_and_pure, same_values


def _loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def _targets(*shape: int, vocab_size: int) -> torch.Tensor:
    return (normal(*shape, 1).abs() * 997).long().remainder(vocab_size).squeeze(-1)


def _entropy_asked(student: Student, *shape: int) -> None:
    with student.case():
        logits, targets = normal(*shape, scale=2.0), _targets(*shape[:-1], vocab_size=shape[-1])
        where = f"for logits of shape {shape} and targets of shape {shape[:-1]}"
        got = student.value("cross_entropy", logits, targets, where=where)
        same_values(got, _loss(logits, targets), "The loss", where)


def _entropy_values(student: Student) -> None:
    for rows, ids, where in (
        ([[0.0, 0.0]], [1], "for logits [[0, 0]] and targets [1]"),
        ([[2.0, -1.0, 0.5], [0.0, 3.0, 0.0]], [0, 0], "for whole numbers and target 0 twice"),
        ([[-3.0, -1.0, -2.0, -1.5]], [3], "where all logits are negative"),
    ):
        with student.case():
            logits, targets = torch.tensor(rows), torch.tensor(ids)
            got = student.value("cross_entropy", logits, targets, where=where)
            same_values(got, _loss(logits, targets), "The loss", where)
    for shape in ((4, 3), (7, 5), (3, 8), (1, 6), (5, 5), (40, 33), (4, 1)):
        _entropy_asked(student, *shape)


def _entropy_dimensions(student: Student) -> None:
    for shape in ((2, 3, 5), (4, 3, 4), (3, 1, 2), (2, 2, 3, 7), (1, 4, 1, 3), (6,), (2, 1, 3, 2, 4)):
        _entropy_asked(student, *shape)


def _entropy_stable(student: Student) -> None:
    # The targets are not the likeliest tokens: a loss near 0 would be lost in the rounding of a logsumexp of 1e4.
    rows = torch.tensor([[1e4, 1e4 - 1, 1e4 - 4], [-1e4, -1e4 + 2, -1e4 - 3], [1e4, -1e4, 0.0], [0.3, -2.2, 0.1]])
    targets = torch.tensor([2, 2, 1, 1])
    for logits, ids, where in (
        (rows[:1], targets[:1], "for logits near 1e4"),
        (rows[1:2], targets[1:2], "for logits near −1e4"),
        (rows[2:3], targets[2:3], "when the target's logit lies 2e4 below another"),
        (rows[2:3], torch.tensor([0]), "when the target's logit lies 1e4 above the others"),
        (
            torch.tensor([[0.0, 200.0], [-150.0, 0.0]]),
            torch.tensor([0, 0]),
            "when the target's logit lies 200 below another",
        ),
        (rows, targets, "when rows near 1e4 and near −1e4 stand together (each row needs its own maximum)"),
        (
            rows[[1, 3]],
            targets[[1, 3]],
            "when rows near 0 and near −1e4 stand together (each row needs its own maximum)",
        ),
        (rows.double(), targets, "for float64 logits of ±1e4"),
    ):
        with student.case():
            got = student.value("cross_entropy", logits, ids, where=where)
            same_values(got, _loss(logits, ids), "The loss", where, rough=True)


def _entropy_gradient(student: Student) -> None:
    large = torch.tensor([[1e4, 1e4 - 1, 0.0], [0.0, 1.0, -1e4]])
    for logits, targets, where in (
        (normal(4, 3), torch.tensor([2, 0, 0, 1]), ""),
        (normal(2, 3, 4, dtype=torch.float64), torch.tensor([[3, 0, 1], [2, 2, 0]]), "in float64"),
        (large, torch.tensor([1, 0]), "for logits of 1e4"),
    ):
        with student.case():
            gradient_agrees(
                student,
                "cross_entropy",
                _loss,
                [logits, targets],
                "`logits`",
                where,
                rough=where == "for logits of 1e4",
            )


def _entropy_manners(student: Student) -> None:
    for shape, dtype in (((4, 3), torch.float32), ((2, 3, 4), torch.float64)):
        with student.case():
            logits, targets = normal(*shape, dtype=dtype), _targets(*shape[:-1], vocab_size=shape[-1])
            quiet_and_pure(
                student, "cross_entropy", [logits, targets], _loss(logits, targets), "The loss", "`logits`, `targets`"
            )
    for turned, targets, what in (
        (normal(3, 5, 2).mT, _targets(3, 2, vocab_size=5), "logits"),
        (normal(3, 2, 5), _targets(2, 3, vocab_size=5).T, "targets"),
    ):
        where = f"for {what} that are not contiguous"
        got = student.value("cross_entropy", turned, targets, where=where)
        same_tensor(got, _loss(turned, targets), "The loss", where)
    device_is_kept(student, "cross_entropy", [normal(4, 3), torch.tensor([2, 0, 0, 1])])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("mean of −log p(target), logits (N, V)", 1.25, _entropy_values),
        Check("any number of leading dimensions", 0.75, _entropy_dimensions, further=True),
        Check("stable for logits of ±1e4", 1.0, _entropy_stable, further=True),
        Check("gradients", 0.5, _entropy_gradient, further=True),
        Check(
            "a scalar tensor of the dtype of `logits`, inputs unchanged, any layout and device",
            0.5,
            _entropy_manners,
            further=True,
        ),
    ],
    ban=Ban(
        pattern="(?<!binary)crossentropy|nllloss|ctcloss|adaptivelogsoftmax",
        without="`F.cross_entropy` and its relatives (`F.nll_loss`, `nn.CrossEntropyLoss` …)",
        fine="`log_softmax` and `logsumexp` are fine",
    ),
    working=r"""
import torch

def cross_entropy(logits, targets):
    return -torch.distributions.Categorical(logits=logits, validate_args=False).log_prob(targets).mean()
""",
    takes="tensor",
    gives="scalar",
)
