"""What the checks of this notebook share."""

from typing import Any

import torch

from autograder.spec import Wrong, normal, same_tensor, sentence_of


def some_ids(vocab_size: int, *shape: int) -> torch.Tensor:
    """Ids below vocab_size, small ones more often than large ones."""
    return (normal(*shape, 1).abs() * vocab_size / 2).long().clamp(max=vocab_size - 1).squeeze(-1)


def rows_of_probs(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Positive probabilities along the last dimension, other ones in each row."""
    return torch.softmax(normal(*shape, dtype=torch.float64), -1).to(dtype)


def same_values(got: Any, expected: torch.Tensor, what: str, where: str = "", rough: bool = False) -> None:
    """As `same_tensor`, but lenient about the dtype and about a number in place of a scalar tensor.

    Right values deserve their marks; which type they have is the matter of another check.
    """
    if type(got) in (int, float) and not expected.dim():
        got = torch.tensor(got, dtype=torch.float64)
    if isinstance(got, torch.Tensor) and got.dtype != torch.bool:
        if not expected.is_floating_point() and not torch.equal(got, got.to(expected.dtype)):
            raise Wrong(f"{what} should be whole numbers{' ' + where if where else ''}; yours has fractions.")
        if got.dtype == torch.float32:
            expected = expected.to(got.dtype)  # right to the digits that it has
        got = got.to(expected.dtype)
    same_tensor(got, expected, what, where, rough)


def refuse(wrong: Any, name: str, mistake: str) -> None:
    """Raise `Wrong` if something is, with the sentence that this exercise has for the mistake."""
    if wrong:
        raise Wrong(sentence_of(name, mistake), mistake)
