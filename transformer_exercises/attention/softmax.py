"""`softmax`: any dimension, scores of ±1e4 and −∞, gradients, without PyTorch's own.

The mistakes: no shift or one for the whole tensor, `dim` ignored, epsilons, −∞ not exactly 0, in-place arithmetic.
"""

from __future__ import annotations

import math

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Ban, Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_agree, normal
from autograder.spec.student import Student

softmax = reference("softmax")


def _softmax_values(student: Student) -> None:
    for shape in ((5,), (3, 4), (2, 3, 5), (2, 1, 4, 3), (1,), (6, 1), (4, 33), (2, 2, 1, 3, 2)):
        with student.case():
            scores, where = normal(*shape, scale=2.0), f"for scores of shape {shape}"
            got = student.value("softmax", scores, where=where)
            same_tensor(got, torch.softmax(scores, -1), "The result", where)
    for rows, where in (
        ([[0.0, 1.0, -1.0], [2.0, 0.0, 3.0]], "for whole numbers, 0 among them"),
        ([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [-1.0, -1.0, 4.0]], "where scores are equal"),
        ([[-3.0, -1.0, -2.0], [5.0, 1.0, 0.5]], "where all scores of a row have one sign"),
    ):
        with student.case():
            scores = torch.tensor(rows)
            same_tensor(student.value("softmax", scores, where=where), torch.softmax(scores, -1), "The result", where)


def _softmax_dim(student: Student) -> None:
    for shape, dim in (
        ((3, 4), 0),
        ((3, 4), 1),
        ((2, 3, 5), 1),
        ((2, 3, 5), -2),
        ((2, 3, 5), 0),
        ((4, 4), 0),
        ((4,), 0),
    ):
        with student.case():
            scores = normal(*shape)
            where = f"for shape {shape} with dim={dim}"
            got = student.call("softmax", [scores], {"dim": dim}, where=where)["value"]
            same_tensor(got, torch.softmax(scores, dim), "The result", where)
    scores = normal(3, 4)
    got = student.value("softmax", scores, 0, where="with dim given by position")
    same_tensor(got, torch.softmax(scores, 0), "The result", "with dim given by position")
    where = "with both arguments given by name"
    got = student.call("softmax", [], {"scores": scores, "dim": 0}, where=where)["value"]
    same_tensor(got, torch.softmax(scores, 0), "The result", where)


def _softmax_stable(student: Student) -> None:
    rows = torch.tensor([[1e4, 1e4 - 1, 1e4 - 3], [-1e4, -1e4 + 2, -1e4], [1e4, -1e4, 0.0], [0.3, -0.2, 0.1]])
    for scores, where in (
        (rows[0], "for scores near 1e4"),
        (rows[1], "for scores near −1e4"),
        (rows[2], "for scores between −1e4 and 1e4"),
        (rows, "when rows near 1e4 and near −1e4 stand in one batch (each row needs its own maximum)"),
        (rows.double(), "for float64 scores near ±1e4"),
    ):
        with student.case():
            same_tensor(
                student.value("softmax", scores, where=where),
                torch.softmax(scores, -1),
                "The result",
                where,
                rough=True,
            )
    columns = rows.T.contiguous()
    where = "for columns near ±1e4 with dim=0"
    got = student.call("softmax", [columns], {"dim": 0}, where=where)["value"]
    same_tensor(got, torch.softmax(columns, 0), "The result", where, rough=True)


def _softmax_blocked(student: Student) -> None:
    scores = normal(4, 5)
    scores[0, 1] = scores[2, :4] = scores[3, 0] = scores[3, 4] = -math.inf
    got = student.value("softmax", scores, where="when some scores are −inf")
    same_tensor(got, torch.softmax(scores, -1), "The result", "when some scores are −inf")
    if got[scores == -math.inf].abs().max() != 0:
        raise Wrong("A score of −inf must get a weight of exactly 0, not just a small one.")
    for low, where in (
        (torch.tensor([[-1e4, -math.inf, -1e4 + 1]]), "when −inf stands next to scores near −1e4"),
        (torch.tensor([[-1e10, -math.inf, -2e10]]), "when −inf stands next to scores lower than any finite fill"),
    ):
        with student.case():
            got = student.value("softmax", low, where=where)
            same_tensor(got, torch.softmax(low, -1), "The result", where, rough=True)


def _softmax_gradient(student: Student) -> None:
    blocked = normal(3, 4)
    blocked[1, 2] = -math.inf
    for scores, where in (
        (normal(3, 4), ""),
        (normal(2, 3, 4, dtype=torch.float64), "in float64"),
        (torch.tensor([[1e4, 1e4 - 1, 0.0]]), "for scores near 1e4"),
        (blocked, "when a score is −inf"),
    ):
        with student.case():
            gradients_agree(student, "softmax", softmax, [scores], ["`scores`"], where=where, rough="1e4" in where)


def _softmax_precision(student: Student) -> None:
    for shape in ((3, 4), (2, 3, 4)):
        with student.case():
            scores = normal(*shape, dtype=torch.float64, scale=3.0)
            got = student.value("softmax", scores, where="for float64 scores")
            same_tensor(got, torch.softmax(scores, -1), "The result", "for float64 scores")


def _softmax_manners(student: Student) -> None:
    scores = normal(3, 4)
    for turn in ("", "when called a second time"):
        answer = student.call("softmax", [scores], where=turn)
        same_tensor(answer["value"], torch.softmax(scores, -1), "The result", turn)
        unchanged(answer["inputs"], [scores], "`scores`")
        generator_unchanged(answer)
    for turned in (normal(4, 3).T, normal(2, 4, 3, 5).transpose(1, 2)):
        answer = student.call("softmax", [turned], where="for a tensor that is not contiguous (a transpose)")
        same_tensor(answer["value"], torch.softmax(turned, -1), "The result", "for a tensor that is not contiguous")
        unchanged(answer["inputs"], [turned], "`scores`")
    device_is_kept(student, "softmax", [normal(3, 4)])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("values for one to five dimensions", 1.0, _softmax_values),
        Check("the dimension that was asked for", 0.75, _softmax_dim, further=True),
        Check("stable for scores of ±1e4", 0.75, _softmax_stable, further=True),
        Check("−inf gets exactly 0", 0.5, _softmax_blocked, further=True),
        Check("gradients", 0.5, _softmax_gradient, further=True),
        Check("float64 stays float64, with its precision", 0.25, _softmax_precision, further=True),
        Check("inputs unchanged, any layout and device", 0.25, _softmax_manners, further=True),
    ],
    ban=Ban(
        pattern="softmax|softmin|attention",
        without="`torch.softmax` and its relatives (`log_softmax`, `nn.Softmax`, fused attention …)",
        fine="`logsumexp` is fine",
    ),
    working=r"""
import torch

def softmax(scores, dim=-1):
    return torch.softmax(scores, dim)
""",
    takes="tensor",
    gives="tensor",
)
