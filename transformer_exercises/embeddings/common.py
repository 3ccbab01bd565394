"""What the checks of this notebook share."""

from typing import Any

import torch

from autograder.spec import DependentCase, FunctionUnderTest, Student, Wrong, kind, normal


def trained(*args: Any) -> DependentCase:
    """Make a case whose `weight` is a parameter that is being trained."""

    def ask(student: Student, tested: FunctionUnderTest) -> None:
        where = "when weight is a parameter that is being trained"
        answer = student.call(tested.name, list(args), where=where, upstream=[None])
        tested.same(answer["value"], tested.right(*args), "The result", where)

    return ask


def an_int(got: Any, what: str) -> int:
    if type(got) is not int:
        raise Wrong(f"{what} should be an int; yours is {kind(got)}.")
    return got


def some_ids(shape: tuple, V: int) -> torch.Tensor:
    """Ids that look random and depend on the topic only; the largest id V-1 need not be among them."""
    return (normal(*shape, 1).mul(1e3).abs().long() % V).squeeze(-1)


def vectors(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Normal vectors of very different lengths."""
    return normal(*shape, dtype=dtype) * normal(*shape[:-1], 1, dtype=dtype).mul(0.8).exp()
