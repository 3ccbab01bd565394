"""`padding_mask`: ragged lengths from 0 to the full width; the mistakes are off by one, inverted or fixed in size."""

import torch

from autograder.spec.exercise import Check, Exercise

from ..asking import Cases, asks, behaves, device

RAGGED = (
    *(([3, 5, 1], 5), ([0, 4], 4), ([2], 6), ([4, 1, 3, 2], 4), ([1, 1], 1), ([2, 3, 1, 5, 6], 7)),
    *(([3, 3, 3], 3), ([0, 0], 3), ([12, 33, 0, 40], 40), ([1], 1), ([300, 513, 77], 520)),
)
asked = asks("padding_mask")
_padding = asked(lambda: (([torch.tensor(n), T], f"for lengths {n} and max_len = {T}") for n, T in RAGGED))


@asked
def _manners() -> Cases:
    for given in (torch.tensor([3, 0, 2, 1, 4]), torch.tensor([3, 0, 2], dtype=torch.int32)):
        yield behaves([given, 4], "lengths")
    yield [torch.tensor([3, 0, 200], dtype=torch.uint8), 250], "for uint8 lengths and max_len = 250"
    yield {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"
    yield device([torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    Check("True exactly at padding", 1.5, _padding),
    Check("inputs unchanged, on the device of `lengths`", 0.5, _manners, further=True),
    working=r"""
def padding_mask(lengths, max_len):
    ones = torch.ones(len(lengths), max_len, dtype=torch.long, device=lengths.device)
    return ones.cumsum(dim=1) > lengths.unsqueeze(1)
""",
)
