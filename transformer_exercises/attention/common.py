"""What the checks of this notebook share."""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import a_pair, a_tensor, same_tensor
from autograder.spec.exercise import Wrong


def same_pair(got: Any, expected: tuple, where: str) -> None:
    output, weights = a_pair(got, "(output, weights)")
    want_output, want_weights = expected
    weights = a_tensor(weights, "The second result (the weights)")
    output = a_tensor(output, "The first result (the output)")
    if output.shape == want_weights.shape != want_output.shape and weights.shape == want_output.shape:
        raise Wrong("The two results are the wrong way round: return (output, weights), in this order.")
    same_tensor(weights, want_weights, "The weights", where)
    same_tensor(output, want_output, "The output", where)


def striped_mask(T: int, S: int) -> torch.Tensor:
    mask = (torch.arange(T)[:, None] * 2 + torch.arange(S) * 3) % 4 == 1
    mask[:, 0] &= mask.all(-1).logical_not()
    return mask


def blocked_is_zero(got: Any, mask: torch.Tensor, where: str) -> None:
    weights = a_tensor(a_pair(got, "(output, weights)")[1], "The second result (the weights)")
    if weights.shape[-2:] == mask.shape and not weights.isnan().any() and weights[..., mask].abs().max() != 0:
        raise Wrong(f"A blocked key must get a weight of exactly 0; yours gets more {where}. Fill with −inf.")
