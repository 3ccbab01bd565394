"""Make configurations of GPTs, for the checks and in the student's process."""

from typing import Any

from autograder.spec import (
    Kept,
    Student,
    other_sizes,
    provided,
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
