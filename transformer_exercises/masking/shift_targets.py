"""`shift_targets`: inputs and targets for ids of many shapes; the mistakes shift, roll, cut or pad the wrong side."""

from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    a_pair,
    behaves,
    cases_of,
    device,
    other_ids,
    other_sizes,
    same_tensor,
)


def _same_pair(got: Any, expected: tuple[torch.Tensor, torch.Tensor], _: str, where: str) -> None:
    inputs, targets = a_pair(got, "(inputs, targets)")
    same_tensor(inputs, expected[0], "The first result (inputs)", where)
    same_tensor(targets, expected[1], "The second result (targets)", where)


cases = cases_of("shift_targets", same=_same_pair)


@cases
def _shift() -> Cases:
    for sizes in ((2, 5), (1, 4), (3, 2), (4, 4), (2, 7), (1, 2), (2, 40), (3, 1), (1, 1)):
        B, T = other_sizes(*sizes)
        ids = other_ids((torch.arange(B * T) * 37 % 101).tolist())
        yield [torch.tensor(ids).reshape(B, T)], f"for ids of shape ({B}, {T})"
    yield behaves([torch.tensor([[50256, 2**31 + 7, 3], [0, 32099, 2**24 + 1]])], "ids", "for large ids")


@cases
def _side_effects() -> Cases:
    ids = torch.arange(12).reshape(4, 3).T
    yield behaves([torch.tensor(other_ids([[5, 7, 7, 0], [1, 2, 0, 0]]))], "ids", "when ids repeat and hold zeros")
    yield behaves([ids], "ids", "for ids that are not contiguous (a transpose)")
    yield {"ids": ids}, "with ids given by name"
    yield device([ids])


EXERCISE = Exercise(
    Check("inputs and targets, for many shapes", 1.5, _shift),
    Check("ids unchanged, any layout and device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("gradient_cut_off", "single_precision", "global_generator"),
)
