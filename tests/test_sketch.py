"""What a sketch of an answer depends on: its numbers, their shape and type, and not how they lie in memory."""

from __future__ import annotations

import pytest
import torch

from autograder.inside.wire import decode, encode
from autograder.judge.sketch import sketch


def crossed(value: object) -> object:
    """As it comes over the wire."""
    return decode(encode(value))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(3),
        torch.tensor(True),
        torch.zeros(0, 2, dtype=torch.int64),
        torch.arange(6).reshape(2, 3).T,
        torch.arange(16)[::8],
        torch.arange(16)[::8][:1],  # one number, whose stride is not 1
        torch.arange(16).reshape(8, 2)[:, :1],
    ],
    ids=lambda tensor: f"{tuple(tensor.shape)} strides {tensor.stride()} {tensor.dtype}",
)
def test_whole_numbers_are_told_apart_however_they_lie_in_memory(tensor):
    copy = tensor.clone(memory_format=torch.contiguous_format).reshape(-1).clone().reshape(tensor.shape)
    assert sketch(tensor).digest == sketch(copy).digest == sketch(crossed(tensor)).digest
    if tensor.numel():
        assert sketch(tensor).digest != sketch(~copy).digest
    assert sketch(tensor).digest != sketch(copy[None]).digest
