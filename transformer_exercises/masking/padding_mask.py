"""`padding_mask`: ragged lengths from 0 to the full width; the mistakes are off by one, inverted or fixed in size."""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

padding_mask = reference("padding_mask")

RAGGED = (
    *(([3, 5, 1], 5), ([0, 4], 4), ([2], 6), ([4, 1, 3, 2], 4), ([1, 1], 1), ([2, 3, 1, 5, 6], 7)),
    *(([3, 3, 3], 3), ([0, 0], 3), ([12, 33, 0, 40], 40), ([1], 1), ([300, 513, 77], 520)),
)


def _padding(student: Student) -> None:
    for lengths, max_len in RAGGED:
        with student.case():
            where = f"for lengths {lengths} and max_len = {max_len}"
            given = torch.tensor(lengths)
            got = student.value("padding_mask", given, max_len, where=where)
            same_tensor(got, padding_mask(given, max_len), "The mask", where)


def _padding_manners(student: Student) -> None:
    for given in (torch.tensor([3, 0, 2, 1, 4]), torch.tensor([3, 0, 2], dtype=torch.int32)):
        with student.case():
            where = f"for {dtype_name(given)} lengths"
            answer = student.call("padding_mask", [given, 4], where=where)
            same_tensor(answer["value"], padding_mask(given, 4), "The mask", where)
            unchanged(answer["inputs"], [given], "lengths")
    with student.case():
        given, where = torch.tensor([3, 0, 200], dtype=torch.uint8), "for uint8 lengths and max_len = 300"
        got = student.value("padding_mask", given, 300, where=where)
        same_tensor(got, padding_mask(given, 300), "The mask", where)
    with student.case():
        named, where = {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"
        got = student.call("padding_mask", [], named, where=where)["value"]
        same_tensor(got, padding_mask(**named), "The mask", where)
    device_is_kept(student, "padding_mask", [torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("True exactly at padding", 2.5, _padding),
        Check("inputs unchanged, on the device of `lengths`", 0.5, _padding_manners, further=True),
    ],
    working=r"""
import torch

def padding_mask(lengths, max_len):
    return torch.ones(len(lengths), max_len, device=lengths.device).cumsum(-1) > lengths[:, None]
""",
    takes="tensor",
    gives="tensor",
)
