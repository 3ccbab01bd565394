"""What the checks of this notebook share."""

from __future__ import annotations

import math
from typing import Any

import torch

from autograder.asked.compare import a_tensor, kind, same_tensor
from autograder.asked.course import given
from autograder.asked.declare import Wrong

GPTConfig = given("GPTConfig", __name__)


def _config(student: Any, config: GPTConfig) -> Any:
    """The same configuration in the student's process."""
    return student.call("GPTConfig", [], vars(config), keep=True)["value"]


def _sizes(config: GPTConfig) -> str:
    """A configuration in words: what differs from the defaults only where it does."""
    text = f"V = {config.vocab_size}, block_size = {config.block_size}, n_layer = {config.n_layer}, n_head = "
    text += f"{config.n_head}, n_embd = {config.n_embd}"
    return text + "".join(f", {name}=False" for name in ("bias", "tie_weights") if not getattr(config, name))


def _refused(student: Any, name: Any, args: list, kwargs: dict, what: str) -> None:
    """A ValueError, and no other error, for bad input."""
    try:
        student.call(name, args, kwargs)
    except Wrong as wrong:
        facts = getattr(wrong, "facts", {})
        if facts.get("kind") != "raised" or facts.get("type") == "NotImplementedError":
            raise
        if facts.get("type") != "ValueError":
            raise Wrong(
                f"{what} should raise a ValueError that names the argument; yours raised {facts.get('type')}.",
                "error_of_another_type",
            ) from None
    else:
        raise Wrong(f"{what} should raise a ValueError; yours returned something.", "bad_input_accepted")


def _number(got: Any, what: str, where: str) -> float:
    """A number, however it is wrapped; whether it is a plain float has a check of its own."""
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if type(got) not in (int, float):
        raise Wrong(f"{what} should be a number {where}; yours is {kind(got)}.")
    return float(got)


MAKE_GENERATOR = """
def make(seed):
    return torch.Generator().manual_seed(seed)
"""


def _generator(student: Any, seed: int) -> Any:
    """A generator that stays in the student's process, so that it can be passed twice."""
    return student.call(student.probe("make", MAKE_GENERATOR), [seed], keep=True)["value"]


def noted(student: Any, number: Any) -> None:
    """What was answered, for the record, to five digits: the last ones depend on the order of the arithmetic."""
    if type(number) is float and math.isfinite(number):
        list(student.record.values())[-1][-1]["value"] = float(f"{number:.5g}")


GPT2 = GPTConfig(50257, 1024, 12, 12, 768)


def _ids(got: Any, what: str, shape: tuple[int, ...], where: str) -> torch.Tensor:
    got = a_tensor(got, f"{what} {where}")
    if tuple(got.shape) != shape:
        same_tensor(got, torch.zeros(shape, dtype=got.dtype), what, where)  # raises, with a hint about the shape
    if got.is_floating_point() or got.dtype == torch.bool:
        raise Wrong(f"{what} should hold ids, that is whole numbers, {where}; yours is {kind(got)}.", "wrong_dtype")
    return got
