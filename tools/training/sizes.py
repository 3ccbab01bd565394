"""Sizes of the GPTs of `make grow`, and formulas for their parameters, arithmetic and memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from transformers import GPT2Config

from .gpt2 import gpt2_config


@dataclass(frozen=True)
class Size:
    """A configuration of a model and its training."""

    name: str
    machine: str  # intended for
    layers: int
    heads: int
    width: int  # C, a multiple of the heads
    context: int  # T, tokens
    vocabulary: int  # at most; a short text gets fewer tokens
    rows: int  # windows computed at once
    accumulate: int  # gradient accumulation: passes of `rows` windows per update
    peak: float  # the highest learning rate
    decay: float = 0.1  # of the matrices; tables, norms and biases do not decay
    dropout: float = 0.0
    stories: str = "english"  # the course's stories that are read if no text is named
    whole_table: bool = False  # True: the table has all its rows, even for a text with fewer tokens

    @property
    def tokens_per_step(self) -> int:
        return self.rows * self.accumulate * self.context

    def rows_of_table(self, tokens: int) -> int:
        """Return the number of rows in the token table for a text with so many different tokens."""
        return self.vocabulary if self.whole_table else tokens

    def parameters(self, vocabulary: int | None = None) -> int:
        """Return the number of parameters. The output layer shares the token table, as in GPT-2."""
        C = self.width
        tables = ((self.vocabulary if vocabulary is None else vocabulary) + self.context) * C
        return tables + self.layers * (12 * C * C + 13 * C) + 2 * C

    def flops_per_token(self, vocabulary: int | None = None) -> int:
        """Return the FLOP of training per token: 6 for each parameter but the positions, and 12·L·C·T for the scores.

        Sources: Kaplan and others 2020, table 1; Chowdhery and others 2022 (PaLM), appendix B.
        """
        used = self.parameters(vocabulary) - self.context * self.width  # positions are looked up, not multiplied
        return 6 * used + 12 * self.layers * self.width * self.context

    def memory(self, vocabulary: int | None = None, *, half: bool = False) -> int:
        """Return the approximate memory of training in bytes. `half`: under autocast to 16 bits.

        It counts the parameters with their gradient and Adam's two means, the activations that the backward pass needs
        (Korthikanti and others 2022, section 4.1), and the logits with their gradient and softmax.
        """
        V = self.vocabulary if vocabulary is None else vocabulary
        positions = self.rows * self.context
        stream = positions * self.layers * self.width * (34 if half else 68)
        return 16 * self.parameters(V) + stream + positions * V * (14 if half else 12)

    def config(self, vocabulary: int, end: int) -> GPT2Config:
        """Return the configuration for transformers. `end` is the id of <|endoftext|>."""
        shape = (self.context, self.layers, self.heads, self.width)
        return gpt2_config(vocabulary, *shape, end=end, dropout=self.dropout)

    def but(self, **changes: Any) -> Size:
        """Return a copy with these fields changed. None leaves a field as it is."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


SIZES = (
    Size("tiny", "a try, seconds", 2, 2, 32, 96, 2_000, rows=8, accumulate=1, peak=1e-2),
    Size("laptop", "a laptop, minutes", 4, 4, 128, 128, 8_000, rows=16, accumulate=1, peak=3e-3),
    # A published small model for Bangla, with a small batch: a CPU makes few steps with so large a model
    Size("bangla", "Bangla, as published", 8, 8, 512, 128, 32_100, rows=8, accumulate=1, peak=6e-4).but(
        dropout=0.2, stories="bangla", whole_table=True
    ),
    Size("gpu", "one small GPU, an hour", 8, 8, 512, 512, 16_000, rows=16, accumulate=2, peak=1e-3),
    # The published size, with nanoGPT's learning rate and its batch of about half a million tokens
    Size("gpt2", "one large GPU, days", 12, 12, 768, 1_024, 50_257, rows=16, accumulate=32, peak=6e-4),
)


def size_named(name: str) -> Size:
    """Return the size with this name. Raise KeyError with the existing names if there is none."""
    named = {size.name: size for size in SIZES}
    if name not in named:
        raise KeyError(f"No size is called {name!r}; there are {', '.join(named)}.")
    return named[name]
