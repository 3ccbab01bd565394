"""`attention_mask`: causal and padding together, for ragged, full and empty batches."""

from itertools import starmap

import torch

from autograder.spec import Cases, Check, Exercise, behaves, cases_of, device, other_lengths, other_sizes

BATCHES = (
    *(([3, 2], 3), ([3, 5, 1], 5), ([4, 0, 2, 3], 4), ([2], 4), ([1, 1, 1], 1), ([6, 2], 7)),
    *(([2, 1, 2], 2), ([0, 0], 2), ([7, 20, 13], 20), ([140, 100], 140)),
)
FULL = ((3, 4), (4, 4), (1, 3))
cases = cases_of("attention_mask")


@cases
def _values() -> Cases:
    for lengths, max_len in starmap(other_lengths, BATCHES):
        yield [torch.tensor(lengths), max_len], f"for lengths {lengths} and max_len = {max_len}"


@cases
def _full() -> Cases:
    for B, T in starmap(other_sizes, FULL):
        yield [torch.full((B,), T), T], f"without padding, for B = {B} and T = {T}"


@cases
def _side_effects() -> Cases:
    for known, dtype in (([3, 0, 2], torch.int64), ([2, 4, 1, 3], torch.int32)):
        lengths, max_len = other_lengths(known, 4)
        yield behaves([torch.tensor(lengths, dtype=dtype), max_len], "lengths")
    yield {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"
    yield device([torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    Check("causal and padding together, for many batches", 2.5, _values),
    Check("without padding it is the causal mask", 1.0, _full),
    Check("inputs unchanged, on the device of `lengths`", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("gradient_cut_off", "single_precision", "single_precision_inside", "global_generator"),
)
