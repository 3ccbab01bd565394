"""What the checks of this notebook share."""

import functools
from collections.abc import Callable
from typing import Any

import torch

from autograder.spec import (
    CheckFunction,
    Kept,
    Student,
    ValuesDiffer,
    Wrong,
    a_tensor,
    drawn,
    kind,
    other_sizes,
    provided,
    same_tensor,
    sentence_of,
    their_generator,
)

from ..widths import other_heads

GPTConfig = provided("GPTConfig", __name__)
GPT2 = GPTConfig(50257, 1024, 12, 12, 768)
Config = Any  # one of these: the notebook holds the class, which no type checker reads


def their_config(student: Student, config: Config) -> Kept:
    """Return the same configuration in the student's process."""
    return student.call("GPTConfig", [], dict(vars(config)), keep=True)["value"]


def other_config(known: Config) -> Config:
    """Return a configuration of other sizes, while inputs are drawn for a hand-in."""
    vocab_size, block_size, n_layer = other_sizes(known.vocab_size, known.block_size, known.n_layer)
    n_embd, n_head = other_heads(known.n_embd, known.n_head)
    sizes = {"vocab_size": vocab_size, "block_size": block_size, "n_layer": n_layer, "n_head": n_head, "n_embd": n_embd}
    return GPTConfig(**vars(known) | sizes)


def sizes_of(config: Config) -> str:
    """Return a configuration in words: what differs from the defaults only where it does."""
    text = f"V = {config.vocab_size}, block_size = {config.block_size}, n_layer = {config.n_layer}, n_head = "
    text += f"{config.n_head}, n_embd = {config.n_embd}"
    return text + "".join(f", {name}=False" for name in ("bias", "tie_weights") if not getattr(config, name))


def each(*cases: Any) -> Callable[[Callable[..., Any]], CheckFunction]:
    """Make a check of a function that asks about one case: its arguments are the student, and the case or its parts."""

    def check(ask_one: Callable[..., Any]) -> CheckFunction:
        @functools.wraps(ask_one)
        def ask(student: Student) -> None:
            for case in cases:
                with student.case():
                    ask_one(student, *(case if isinstance(case, tuple) else [case]))

        return ask

    return check


def there(student: Student, source: str, name: str, *args: Any, keep: bool = False) -> Any:
    """Call one of the judge's own functions in the student's process. What is kept there is not recorded."""
    return student.call(student.probe(name, source), list(args), keep=keep, record=not keep)["value"]


def refusing(name: str) -> Callable[..., None]:
    """Make a function that raises `Wrong` if something is wrong, with the exercise's own sentence for the mistake.

    A sentence of the check's takes its place, where the exercise has no such mistake or the check knows more.
    """

    def refuse(wrong: Any, mistake: str, sentence: str = "") -> None:
        if wrong:
            raise Wrong(sentence or sentence_of(name, mistake), mistake)

    return refuse


def differ(wrong: Any, sentence: str) -> None:
    """Raise `ValuesDiffer` if something is wrong."""
    if wrong:
        raise ValuesDiffer(sentence)


def from_the_generator_alone(student: Student, name: str, draw: Callable[[Kept], list], what: str) -> None:
    """Ask that `draw`, which uses a generator, gives what depends on that, and goes on from where it stands.

    Two of its results should agree by chance practically never; `what` names one.
    """
    start = drawn(11, lambda rng: rng.randrange(10**6))
    refuse, generator = refusing(name), their_generator(student, start)
    one, again, second, third = (draw(their_generator(student, start + n)) for n in (0, 0, 1, 2))
    refuse(one != again, "other_source")
    refuse(one == second == third, "generator_ignored")
    said = f"Two calls with one generator give the same {what}: draw from it as it comes, and seed nothing anew."
    refuse(draw(generator) == draw(generator), "seeded_anew", said)


def a_number(got: Any, what: str, where: str) -> float:
    """Return a number, however it is wrapped; whether it is a plain float has a check of its own."""
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if type(got) not in (int, float):
        raise Wrong(f"{what} should be a number {where}; yours is {kind(got)}.")
    return float(got)


def of_shape(got: Any, what: str, shape: tuple[int, ...], where: str) -> torch.Tensor:
    """Return a tensor of this shape, whatever its numbers."""
    got = a_tensor(got, f"{what} {where}")
    if got.shape != shape:
        same_tensor(got, torch.zeros(shape, dtype=got.dtype), what, where)  # raises, with a hint
    return got


def ids_of_shape(got: Any, what: str, shape: tuple[int, ...], where: str) -> torch.Tensor:
    got = of_shape(got, what, shape, where)
    if got.is_floating_point() or got.dtype == torch.bool:
        raise Wrong(f"{what} should hold ids, that is whole numbers, {where}; yours is {kind(got)}.", "wrong_dtype")
    return got
