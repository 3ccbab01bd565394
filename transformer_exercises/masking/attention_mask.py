"""`attention_mask`: causal and padding together, for ragged, full and empty batches."""

import torch

from autograder.spec.exercise import Check, Exercise

from ..asking import Cases, asks, behaves, device

BATCHES = (
    *(([3, 2], 3), ([3, 5, 1], 5), ([4, 0, 2, 3], 4), ([2], 4), ([1, 1, 1], 1), ([6, 2], 7)),
    *(([2, 1, 2], 2), ([0, 0], 2), ([7, 20, 13], 20), ([140, 100], 140)),
)
FULL = ((3, 4), (4, 4), (1, 3))
asked = asks("attention_mask")
_values = asked(lambda: (([torch.tensor(n), T], f"for lengths {n} and max_len = {T}") for n, T in BATCHES))
_full = asked(lambda: (([torch.full((B,), T), T], f"without padding, for B = {B} and T = {T}") for B, T in FULL))


@asked
def _manners() -> Cases:
    for given in (torch.tensor([3, 0, 2]), torch.tensor([2, 4, 1, 3], dtype=torch.int32)):
        yield behaves([given, 4], "lengths")
    yield {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"
    yield device([torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    Check("causal and padding together, for many batches", 2.5, _values),
    Check("without padding it is the causal mask", 1.0, _full),
    Check("inputs unchanged, on the device of `lengths`", 0.5, _manners, further=True),
)
