"""`sgns_loss`: values for sizes that all differ, scores of ±1e4, gradients in all three arguments.

The mistakes: a mean for the sum over negatives, signs, log of a sigmoid that underflows, scores across the batch.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import all_gradients_agree, stays_on_device

sgns_loss = reference("sgns_loss")


def _sgns_inputs(B: int, K: int, C: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [normal(B, C, dtype=dtype), normal(B, C, dtype=dtype), normal(B, K, C, dtype=dtype)]


SGNS_NAMES = ["centre", "context", "negatives"]


def _sgns_extreme(B: int, K: int, C: int, positive: float, negative: float) -> list[torch.Tensor]:
    """Inputs whose scores with the context are all `positive`, and with the negatives all `negative`."""
    centre = torch.full((B, C), 10.0)
    shares = torch.full((B, C), 1.0 / C)
    return [centre, shares * positive / 10, (shares * negative / 10)[:, None].repeat(1, K, 1)]


def _sgns_values(student: Student) -> None:
    for B, K, C in (
        (4, 3, 5),
        (3, 1, 4),
        (1, 4, 6),
        (2, 5, 3),
        (3, 3, 3),
        (1, 1, 2),
        (5, 5, 2),
        (6, 2, 1),
        (2, 15, 20),
        (1, 1, 1),
    ):
        with student.case():
            args = _sgns_inputs(B, K, C)
            where = f"for B = {B}, K = {K}, C = {C}"
            same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where)
    with student.case():
        args = [torch.zeros_like(t) for t in _sgns_inputs(3, 4, 2)]
        where = "when all vectors are zero"
        same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where)


def _sgns_stable(student: Student) -> None:
    for positive, negative in (
        (-1e4, 1.0),
        (1.0, 1e4),
        (1e4, -1e4),
        (-1e4, 1e4),
        (-200.0, 0.5),
        (0.5, 200.0),
        (-30.0, -30.0),
    ):
        with student.case():
            args = _sgns_extreme(2, 3, 4, positive, negative)
            where = f"when the scores with contexts are {positive:g} and with negatives {negative:g}"
            same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where, rough=True)
    with student.case():
        args = _sgns_extreme(2, 3, 4, -1e4, 1e4)
        all_gradients_agree(student, "sgns_loss", sgns_loss, args, SGNS_NAMES, "for scores of ±1e4")


def _sgns_gradient(student: Student) -> None:
    for B, K, C in ((4, 3, 5), (2, 1, 3), (3, 3, 3)):
        with student.case():
            where = f"for B = {B}, K = {K}, C = {C}"
            all_gradients_agree(student, "sgns_loss", sgns_loss, _sgns_inputs(B, K, C), SGNS_NAMES, where)


def _sgns_manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            args = _sgns_inputs(3, 4, 5, dtype)
            where = f"in {dtype_name(args[0])}"
            answer = student.call("sgns_loss", args, where=where)
            same_tensor(answer["value"], sgns_loss(*args), "The loss", where)
            unchanged(answer["inputs"], args, "centre, context, negatives")
    with student.case():
        args = [normal(5, 3).T, normal(5, 3).T, normal(4, 3, 5).transpose(0, 1)]
        where = "for transposes (not contiguous)"
        same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where)
    with student.case():
        given, where = dict(zip(SGNS_NAMES, args, strict=True)), "with arguments given by name"
        got = student.call("sgns_loss", [], given, where=where)["value"]
        same_tensor(got, sgns_loss(*args), "The loss", where)
    with student.case():
        stays_on_device(student, "sgns_loss", _sgns_inputs(3, 4, 5))


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("values, for many combinations of sizes", 2.25, _sgns_values),
        Check("stable for scores of ±1e4", 1.0, _sgns_stable, further=True),
        Check("gradients reach centre, context and negatives", 1.0, _sgns_gradient, further=True),
        Check("float64, inputs unchanged, device", 0.75, _sgns_manners, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def sgns_loss(centre, context, negatives):
    scores = torch.cat([context[:, None], negatives], dim=1) @ centre[:, :, None]
    labels = torch.zeros_like(scores)
    labels[:, 0] = 1
    return F.binary_cross_entropy_with_logits(scores, labels, reduction="sum") / len(centre)
""",
    takes="tensor",
    gives="scalar",
)
