"""`shift_targets`: inputs and targets for ids of many shapes; the mistakes shift, roll, cut or pad the wrong side."""

import torch

from autograder.spec.compare import a_pair, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student


def _shifted(student: Student, ids: torch.Tensor, where: str, named: bool = False) -> None:
    with student.case():
        args, kwargs = ([], {"ids": ids}) if named else ([ids], {})
        answer = student.call("shift_targets", args, kwargs, where=where)
        inputs, targets = a_pair(answer["value"], "(inputs, targets)")
        same_tensor(inputs, ids[:, :-1], "The first result (inputs)", where)
        same_tensor(targets, ids[:, 1:], "The second result (targets)", where)
        unchanged(answer["inputs"], [ids], "ids")


def _shift(student: Student) -> None:
    for B, T in ((2, 5), (1, 4), (3, 2), (4, 4), (2, 7), (1, 2), (2, 40), (3, 1), (1, 1)):
        _shifted(student, (torch.arange(B * T) * 37 % 101).reshape(B, T), f"for ids of shape ({B}, {T})")
    _shifted(student, torch.tensor([[50256, 2**31 + 7, 3], [0, 32099, 2**24 + 1]]), "for large ids")


def _manners(student: Student) -> None:
    ids = torch.arange(12).reshape(4, 3).T
    _shifted(student, torch.tensor([[5, 7, 7, 0], [1, 2, 0, 0]]), "when ids repeat and hold zeros")
    _shifted(student, ids, "for ids that are not contiguous (a transpose)")
    _shifted(student, ids, "with ids given by name", named=True)
    device_is_kept(student, "shift_targets", [ids])


EXERCISE = Exercise(
    Check("inputs and targets, for many shapes", 1.5, _shift),
    Check("ids unchanged, any layout and device", 0.5, _manners, further=True),
)
