"""How large the GPTs of `make grow` are, what a step of them costs, and how much memory it takes: by arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from transformers import GPT2Config


@dataclass(frozen=True)
class Size:
    """One configuration: the model, and how it is trained."""

    name: str
    machine: str  # what it was made for
    layers: int
    heads: int
    width: int  # C, a multiple of the heads
    context: int  # T, tokens
    vocabulary: int  # at most; a short text gets fewer tokens
    rows: int  # windows that are computed at once
    accumulate: int  # so many times, before the weights change
    peak: float  # the highest learning rate
    decay: float = 0.1  # of the matrices; tables, norms and biases do not decay
    dropout: float = 0.0
    stories: str = "english"  # which of the course's are read, where no text is named
    whole_table: bool = False  # whether the table has all its rows, even for a text with fewer tokens

    @property
    def tokens_per_step(self) -> int:
        return self.rows * self.accumulate * self.context

    def rows_of_table(self, tokens: int) -> int:
        """For a text with so many different tokens."""
        return self.vocabulary if self.whole_table else tokens

    def parameters(self, vocabulary: int | None = None) -> int:
        """The output layer shares the table of tokens and counts once, as in GPT-2."""
        C = self.width
        tables = ((self.vocabulary if vocabulary is None else vocabulary) + self.context) * C
        return tables + self.layers * (12 * C * C + 13 * C) + 2 * C

    def flops_per_token(self, vocabulary: int | None = None) -> int:
        """Of training: 6 for each parameter (2 forward, 4 backward) but the positions', and 12·L·C·T for the scores.

        Sources: Kaplan and others 2020, table 1; Chowdhery and others 2022 (PaLM), appendix B.
        """
        used = (
            self.parameters(vocabulary) - self.context * self.width
        )  # a row of positions is looked up, not multiplied
        return 6 * used + 12 * self.layers * self.width * self.context

    def memory(self, vocabulary: int | None = None, *, half: bool = False) -> int:
        """Bytes of training, roughly; half: under autocast to 16 bits.

        16 for each parameter (itself, its gradient, Adam's two means); 34 for each number of each layer's stream that
        the backward pass needs, without the scores, which fused attention does not keep (Korthikanti and others 2022,
        section 4.1), or twice that in float32; and the logits with their gradient and softmax, in float32.
        """
        V = self.vocabulary if vocabulary is None else vocabulary
        positions = self.rows * self.context
        stream = positions * self.layers * self.width * (34 if half else 68)
        return 16 * self.parameters(V) + stream + positions * V * (14 if half else 12)

    def config(self, vocabulary: int, end: int) -> GPT2Config:
        """As transformers wants it; `end` is the id of <|endoftext|>."""
        return GPT2Config(
            vocab_size=vocabulary,
            n_positions=self.context,
            n_layer=self.layers,
            n_head=self.heads,
            n_embd=self.width,
            resid_pdrop=self.dropout,
            embd_pdrop=self.dropout,
            attn_pdrop=self.dropout,
            bos_token_id=end,
            eos_token_id=end,
        )

    def but(self, **said: Any) -> Size:
        """This size with what was said otherwise; None stands for what was not said."""
        return replace(self, **{name: value for name, value in said.items() if value is not None})


SIZES = (
    Size("tiny", "a try, seconds", 2, 2, 32, 96, 2_000, rows=8, accumulate=1, peak=1e-2),
    Size("laptop", "a laptop, minutes", 4, 4, 128, 128, 8_000, rows=16, accumulate=1, peak=3e-3),
    # A published small model for Bangla, with a batch for a processor, where a model as large takes few steps
    Size(
        "bangla",
        "Bangla, as published",
        8,
        8,
        512,
        128,
        32_100,
        rows=8,
        accumulate=1,
        peak=6e-4,
        dropout=0.2,
        stories="bangla",
        whole_table=True,
    ),
    Size("gpu", "one small GPU, an hour", 8, 8, 512, 512, 16_000, rows=16, accumulate=2, peak=1e-3),
    # The published sizes, and nanoGPT's rate and batch of about half a million tokens
    Size("gpt2", "one large GPU, days", 12, 12, 768, 1_024, 50_257, rows=16, accumulate=32, peak=6e-4),
)


def size_named(name: str) -> Size:
    """Raises KeyError with the names there are."""
    for size in SIZES:
        if size.name == name:
            return size
    raise KeyError(f"No size is called {name!r}; there are {', '.join(size.name for size in SIZES)}.")
