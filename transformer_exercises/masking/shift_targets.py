"""`shift_targets`: inputs and targets for ids of many shapes; the mistakes shift, roll, cut or pad the wrong side."""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import a_pair, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student


def _same_shift(got: Any, ids: torch.Tensor, where: str) -> None:
    inputs, targets = a_pair(got, "(inputs, targets)")
    same_tensor(inputs, ids[:, :-1], "The first result (inputs)", where)
    same_tensor(targets, ids[:, 1:], "The second result (targets)", where)


def _shift(student: Student) -> None:
    for B, T in ((2, 5), (1, 4), (3, 2), (4, 4), (2, 7), (1, 2), (2, 40), (3, 1), (1, 1)):
        with student.case():
            ids = (torch.arange(B * T) * 37 % 101).reshape(B, T)
            _same_shift(
                student.value("shift_targets", ids, where=f"for ids of shape ({B}, {T})"),
                ids,
                f"for ids of shape ({B}, {T})",
            )
    with student.case():
        ids = torch.tensor([[50256, 2**31 + 7, 3], [0, 32099, 2**24 + 1]])
        _same_shift(student.value("shift_targets", ids, where="for large ids"), ids, "for large ids")


def _shift_manners(student: Student) -> None:
    for ids, where in (
        (torch.tensor([[5, 7, 7, 0], [1, 2, 0, 0]]), "when ids repeat and hold zeros"),
        (torch.arange(12).reshape(4, 3).T, "for ids that are not contiguous (a transpose)"),
    ):
        with student.case():
            answer = student.call("shift_targets", [ids], where=where)
            _same_shift(answer["value"], ids, where)
            unchanged(answer["inputs"], [ids], "ids")
    with student.case():
        where = "with ids given by name"
        _same_shift(student.call("shift_targets", [], {"ids": ids}, where=where)["value"], ids, where)
    device_is_kept(student, "shift_targets", [ids])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("inputs and targets, for many shapes", 2.5, _shift),
        Check("ids unchanged, any layout and device", 0.5, _shift_manners, further=True),
    ],
    working=r"""
import torch

def shift_targets(ids):
    return ids.narrow(1, 0, ids.shape[1] - 1), ids.narrow(1, 1, ids.shape[1] - 1)
""",
    takes="tensor",
    gives="tensor",
)
