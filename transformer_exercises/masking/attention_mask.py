"""`attention_mask`: causal and padding together, for ragged, full and empty batches.

The mistakes: `&` for `|`, padding on queries, no dimension for heads, masks inverted or shared between sequences.
"""

from __future__ import annotations

import torch

from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

from ..asking import Cases, asks, behaves

BATCHES = (
    *(([3, 2], 3), ([3, 5, 1], 5), ([4, 0, 2, 3], 4), ([2], 4), ([1, 1, 1], 1), ([6, 2], 7)),
    *(([2, 1, 2], 2), ([0, 0], 2), ([7, 20, 13], 20), ([140, 100], 140)),
)
asked = asks("attention_mask")


@asked
def _values() -> Cases:
    for lengths, max_len in BATCHES:
        yield [torch.tensor(lengths), max_len], f"for lengths {lengths} and max_len = {max_len}"


@asked
def _full() -> Cases:
    for B, T in ((3, 4), (4, 4), (1, 3)):
        yield [torch.full((B,), T), T], f"without any padding, for B = {B} and T = {T}"


@asked
def _arguments() -> Cases:
    yield {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"


def _manners(student: Student) -> None:
    for given in (torch.tensor([3, 0, 2]), torch.tensor([2, 4, 1, 3], dtype=torch.int32)):
        with student.case():
            behaves(student, "attention_mask", [given, 4], "lengths")
    _arguments(student)
    device_is_kept(student, "attention_mask", [torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("causal and padding together, for many batches", 2.5, _values),
        Check("without padding it is the causal mask", 1.0, _full),
        Check("inputs unchanged, on the device of `lengths`", 0.5, _manners, further=True),
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
