"""`attention_mask`: causal and padding together, for ragged, full and empty batches.

The mistakes: `&` for `|`, padding on queries, no dimension for heads, masks inverted or shared between sequences.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

attention_mask = reference("attention_mask")
causal_mask = reference("causal_mask")


def _attention(student: Student) -> None:
    for lengths, max_len in (
        *(([3, 2], 3), ([3, 5, 1], 5), ([4, 0, 2, 3], 4), ([2], 4), ([1, 1, 1], 1), ([6, 2], 7)),
        *(([2, 1, 2], 2), ([0, 0], 2), ([7, 20, 13], 20), ([140, 100], 140)),
    ):
        with student.case():
            where = f"for lengths {lengths} and max_len = {max_len}"
            given = torch.tensor(lengths)
            got = student.value("attention_mask", given, max_len, where=where)
            same_tensor(got, attention_mask(given, max_len), "The mask", where)


def _attention_full(student: Student) -> None:
    for B, T in ((3, 4), (4, 4), (1, 3)):
        with student.case():
            where = f"without any padding, for B = {B} and T = {T}"
            got = student.value("attention_mask", torch.full((B,), T), T, where=where)
            same_tensor(got, causal_mask(T).expand(B, 1, T, T), "The mask", where)


def _attention_manners(student: Student) -> None:
    for given in (torch.tensor([3, 0, 2]), torch.tensor([2, 4, 1, 3], dtype=torch.int32)):
        with student.case():
            where = f"for {dtype_name(given)} lengths"
            answer = student.call("attention_mask", [given, 4], where=where)
            same_tensor(answer["value"], attention_mask(given, 4), "The mask", where)
            unchanged(answer["inputs"], [given], "lengths")
    with student.case():
        named, where = {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"
        got = student.call("attention_mask", [], named, where=where)["value"]
        same_tensor(got, attention_mask(**named), "The mask", where)
    device_is_kept(student, "attention_mask", [torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("causal and padding together, for many batches", 2.5, _attention),
        Check("without padding it is the causal mask", 1.0, _attention_full),
        Check("inputs unchanged, on the device of `lengths`", 0.5, _attention_manners, further=True),
    ],
    working=r"""
import torch

def attention_mask(lengths, max_len):
    position = torch.arange(max_len, device=lengths.device)
    last = torch.minimum(position[None, :], lengths[:, None] - 1)
    return (position > last[:, :, None]).unsqueeze(1)
""",
    takes="tensor",
    gives="tensor",
)
