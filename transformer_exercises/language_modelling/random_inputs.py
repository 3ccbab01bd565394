"""Make ids and rows of probabilities for the checks on language models."""

import torch

from autograder.spec import normal


def some_ids(vocab_size: int, *shape: int) -> torch.Tensor:
    """Return ids below vocab_size, small ones more often than large ones."""
    return (normal(*shape, 1).abs() * vocab_size / 2).long().clamp(max=vocab_size - 1).squeeze(-1)


def rows_of_probs(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return positive probabilities along the last dimension, other ones in each row."""
    return torch.softmax(normal(*shape, dtype=torch.float64), -1).to(dtype)
