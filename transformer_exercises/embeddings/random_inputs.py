"""Make ids and vectors for the checks on embeddings."""

import torch

from autograder.spec import normal


def some_ids(shape: tuple, V: int) -> torch.Tensor:
    """Return ids that look random and depend on the topic only; the largest id V-1 need not be among them."""
    return (normal(*shape, 1).mul(1e3).abs().long() % V).squeeze(-1)


def vectors(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return normal vectors of very different lengths."""
    return normal(*shape, dtype=dtype) * normal(*shape[:-1], 1, dtype=dtype).mul(0.8).exp()
