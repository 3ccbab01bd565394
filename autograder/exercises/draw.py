"""Inputs for checks, and the few things that every check of a function asks in the same way."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from typing import Any

import torch

from .compare import kind, same_gradients
from .declare import Wrong

_seeds = itertools.count()


def fresh(topic: str) -> None:
    """Start the seeds of a check anew: the same topic gives the same inputs each time, in every process."""
    global _seeds
    _seeds = itertools.count(1000 * (zlib.crc32(topic.encode()) % 1_000_000))


def normal(*shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Normal numbers that depend only on the topic, on the calls since `fresh`, and on the arguments."""
    generator = torch.Generator().manual_seed(next(_seeds))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).mul(scale).to(dtype)


def gradients_of(function: Callable, inputs: list[torch.Tensor]) -> tuple[list, list]:
    """The reference's gradients for random upstream tensors, one for each output. Returns (gradients, upstream)."""
    leaves = [t.detach().clone().requires_grad_(True) for t in inputs]
    result = function(*leaves)
    outputs = list(result) if isinstance(result, tuple) else [result]
    upstream = [normal(*output.shape, dtype=output.dtype) for output in outputs]
    total = sum((output * weight).sum() for output, weight in zip(outputs, upstream, strict=True))
    return list(torch.autograd.grad(total, leaves, allow_unused=True)), upstream


def gradients_agree(
    student: Any,
    target: str,
    reference: Callable,
    inputs: list[torch.Tensor],
    names: list[str],
    fixed: tuple = (),
    where: str = "",
    rough: bool = False,
) -> None:
    """The gradients of a weighted sum of the outputs with respect to `inputs`; the arguments `fixed` follow them."""
    expected, upstream = gradients_of(lambda *leaves: reference(*leaves, *fixed), inputs)
    answer = student.call(target, [*inputs, *fixed], where=where, upstream=upstream)
    if not _tensors(answer["value"]):
        raise Wrong(f"There is no result to take gradients of: yours returned {kind(answer['value'])}.")
    same_gradients(answer["gradients"].get("inputs", []), expected, names, where, rough)


def quietly_called(answer: dict) -> None:
    """The call left the global random generator alone."""
    if answer["rng_moved"]:
        raise Wrong(
            "Your code draws from the global random generator; the result must not depend on chance.",
            "global_generator",
        )


_DEVICE = (
    "The result does not stay on the device of its inputs: somewhere a tensor is made without `device=…` (or moved to "
    "the CPU or NumPy). It works on a CPU and fails on a GPU."
)


def device_is_kept(student: Any, target: Any, args: list, kwargs: dict | None = None) -> None:
    """Inputs on a GPU give results on the GPU, found out without one.

    The call is made with everything on a second device that has CUDA's rules and the CPU's numbers. What stops there for
    another reason is tried again on the CPU, with every new tensor that names no device put on the meta device.
    """
    try:
        answer = student.call(target, args, kwargs, device="elsewhere")
    except Wrong as wrong:
        kind_of_end = getattr(wrong, "facts", {}).get("kind")
        if kind_of_end == "device":
            raise Wrong(_DEVICE, "device_not_kept") from None
        if kind_of_end != "raised" or hasattr(target, "key"):
            return
    else:
        if not answer["kept"]:
            raise Wrong(_DEVICE, "device_not_kept")
        return
    try:
        value = student.call(target, args, kwargs, strict_device=True)["value"]
    except Wrong as wrong:
        if "expected device" in str(getattr(wrong, "facts", {}).get("text", "")):
            raise Wrong(_DEVICE, "device_not_kept") from None
        return
    if any(t.device.type == "meta" for t in _tensors(value)):
        raise Wrong(_DEVICE, "device_not_kept")


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in _tensors(item)] if isinstance(value, (list, tuple)) else []
