"""`attention_mask`: causal and padding together, for ragged, full and empty batches."""

import torch

from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

from ..asking import asks, behaves

BATCHES = (
    *(([3, 2], 3), ([3, 5, 1], 5), ([4, 0, 2, 3], 4), ([2], 4), ([1, 1, 1], 1), ([6, 2], 7)),
    *(([2, 1, 2], 2), ([0, 0], 2), ([7, 20, 13], 20), ([140, 100], 140)),
)
asked = asks("attention_mask")


FULL = ((3, 4), (4, 4), (1, 3))
_values = asked(lambda: (([torch.tensor(n), T], f"for lengths {n} and max_len = {T}") for n, T in BATCHES))
_full = asked(lambda: (([torch.full((B,), T), T], f"without padding, for B = {B} and T = {T}") for B, T in FULL))
_named = asked(lambda: iter([({"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name")]))


def _manners(student: Student) -> None:
    for given in (torch.tensor([3, 0, 2]), torch.tensor([2, 4, 1, 3], dtype=torch.int32)):
        with student.case():
            behaves(student, "attention_mask", [given, 4], "lengths")
    _named(student)
    device_is_kept(student, "attention_mask", [torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    Check("causal and padding together, for many batches", 2.5, _values),
    Check("without padding it is the causal mask", 1.0, _full),
    Check("inputs unchanged, on the device of `lengths`", 0.5, _manners, further=True),
)
