"""What the checks of this notebook share."""

from collections.abc import Callable
from typing import Any

import torch

from autograder.spec.compare import a_tensor, kind, same_tensor
from autograder.spec.course import exercise, given
from autograder.spec.exercise import Wrong
from autograder.spec.student import Kept, Student

GPTConfig = given("GPTConfig", __name__)
Config = Any  # one of these: the notebook holds the class, which no type checker reads


def their_config(student: Student, config: Config) -> Kept:
    """Return the same configuration in the student's process."""
    return student.call("GPTConfig", [], dict(vars(config)), keep=True)["value"]


def sizes_of(config: Config) -> str:
    """Return a configuration in words: what differs from the defaults only where it does."""
    text = f"V = {config.vocab_size}, block_size = {config.block_size}, n_layer = {config.n_layer}, n_head = "
    text += f"{config.n_head}, n_embd = {config.n_embd}"
    return text + "".join(f", {name}=False" for name in ("bias", "tie_weights") if not getattr(config, name))


def refusing(name: str) -> Callable[..., None]:
    """Make a function that raises `Wrong` if something is wrong, with the exercise's own sentence for the mistake.

    A sentence of the check's takes its place, where the exercise has no such mistake or the check knows more.
    """

    def refuse(wrong: Any, mistake: str, sentence: str = "") -> None:
        if wrong:
            raise Wrong(sentence or exercise(name).sentences[mistake], mistake)

    return refuse


def a_number(got: Any, what: str, where: str) -> float:
    """Return a number, however it is wrapped; whether it is a plain float has a check of its own."""
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if type(got) not in (int, float):
        raise Wrong(f"{what} should be a number {where}; yours is {kind(got)}.")
    return float(got)


GPT2 = GPTConfig(50257, 1024, 12, 12, 768)


def ids_of_shape(got: Any, what: str, shape: tuple[int, ...], where: str) -> torch.Tensor:
    got = a_tensor(got, f"{what} {where}")
    if tuple(got.shape) != shape:
        same_tensor(got, torch.zeros(shape, dtype=got.dtype), what, where)  # raises, with a hint about the shape
    if got.is_floating_point() or got.dtype == torch.bool:
        raise Wrong(f"{what} should hold ids, that is whole numbers, {where}; yours is {kind(got)}.", "wrong_dtype")
    return got
