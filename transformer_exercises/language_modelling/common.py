"""What the checks of this notebook share."""

from typing import Any

import torch

from autograder.spec.compare import kind, same_gradients, same_tensor
from autograder.spec.exercise import Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Student


def text_of(n: int, vocab_size: int) -> torch.Tensor:
    """n ids below vocab_size, small ones more often than large ones."""
    return (normal(n).abs() * vocab_size / 2).long().clamp(max=vocab_size - 1)


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


def gradient_agrees(
    student: Student, target: str, reference: Any, args: list, name: str, where: str, rough: bool = False
) -> None:
    """Compare the gradient of a scalar result with respect to the one argument that holds real numbers."""
    [position] = [k for k, arg in enumerate(args) if arg.is_floating_point()]
    leaf = args[position].detach().clone().requires_grad_(True)
    weight = torch.tensor(-1.75, dtype=leaf.dtype)  # a number that no forgotten factor looks like
    result = reference(*args[:position], leaf, *args[position + 1 :])
    [expected] = torch.autograd.grad(result * weight, [leaf])
    answer = student.call(target, args, where=where, upstream=[weight])
    if answer["value"] is None:
        raise Wrong(f"There is no result to take gradients of: yours returned {kind(None)}.")
    same_gradients(answer["gradients"].get("inputs", []), [expected], [name], where, rough)
