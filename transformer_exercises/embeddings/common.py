"""What the checks of this notebook share."""

from typing import Any

import torch

from autograder.spec.compare import kind
from autograder.spec.exercise import Wrong
from autograder.spec.inputs import device_is_kept, normal
from autograder.spec.student import Student

from ..asking import Further


def device(args: list) -> Further:
    """Make a case where inputs on another device give results on it."""
    return lambda student, asked: stays_on_device(student, asked.name, args)


def stays_on_device(student: Student, target: Any, args: list) -> None:
    """Ask on another device, and drop what a failed attempt leaves on the CPU: whatever was in memory."""
    before = len(student.answers)
    try:
        device_is_kept(student, target, args)
    except Wrong:
        for answer in student.answers[before:]:
            if isinstance(answer.get("value"), torch.Tensor) and answer["value"].device.type != "meta":
                student.note("not on the device", answer)
        raise


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
