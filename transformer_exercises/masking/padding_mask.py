"""`padding_mask`: ragged lengths from 0 to the full width; the mistakes are off by one, inverted or fixed in size."""

from itertools import starmap

import torch

from autograder.spec import Cases, Check, Exercise, behaves, cases_of, device, other_lengths

RAGGED = (
    *(([3, 5, 1], 5), ([0, 4], 4), ([2], 6), ([4, 1, 3, 2], 4), ([1, 1], 1), ([2, 3, 1, 5, 6], 7)),
    *(([3, 3, 3], 3), ([0, 0], 3), ([12, 33, 0, 40], 40), ([1], 1), ([300, 513, 77], 520)),
)
cases = cases_of("padding_mask")


@cases
def _padding() -> Cases:
    for lengths, max_len in starmap(other_lengths, RAGGED):
        yield [torch.tensor(lengths), max_len], f"for lengths {lengths} and max_len = {max_len}"


@cases
def _side_effects() -> Cases:
    for known, dtype in (([3, 0, 2, 1, 4], torch.int64), ([3, 0, 2], torch.int32)):
        lengths, max_len = other_lengths(known, 4)
        yield behaves([torch.tensor(lengths, dtype=dtype), max_len], "lengths")
    yield [torch.tensor([3, 0, 200], dtype=torch.uint8), 250], "for uint8 lengths and max_len = 250"
    yield {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"
    yield device([torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    Check("True exactly at padding", 1.5, _padding),
    Check("inputs unchanged, on the device of `lengths`", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=(
        "gradient_cut_off",
        "single_precision",
        "single_precision_inside",
        "list_returned",
        "array_returned",
        "global_generator",
    ),
    library_equivalent=r"""
def padding_mask(lengths, max_len):
    ones = torch.ones(len(lengths), max_len, dtype=torch.long, device=lengths.device)
    return ones.cumsum(dim=1) > lengths.unsqueeze(1)
""",
)
