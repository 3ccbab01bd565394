"""Notebook 04: sinusoids, learned positions, the linear map that shifts them, and rotary embeddings."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .declare import Check, Exercise, source_of

# --- references -------------------------------------------------------------------------------------------------------


def sinusoidal_encoding(max_len, d_model):
    """Table of sinusoids, one row for each position (Vaswani et al. 2017, section 3.5).

    Returns a FloatTensor PE [max_len, d_model], d_model even (an odd one is a ValueError):
    PE[p, 2i] = sin(p / 10000^(2i/d_model)), PE[p, 2i+1] = cos(p / 10000^(2i/d_model)).
    Example: (2, 4) -> [[0, 1, 0, 1], [sin 1, cos 1, sin 0.01, cos 0.01]]
    """
    if d_model % 2 != 0:
        raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
    positions = torch.arange(max_len)  # (max_len,)
    rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model / 2,): radians per step, from 1 to ~1/10000
    angles = positions[:, None] * rates  # (max_len, d_model / 2)
    table = torch.empty(max_len, d_model)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


class LearnedPositionalEmbedding(nn.Module):
    """Adds one learned vector to each position, as BERT and GPT-2 do (Gehring et al. 2017, section 3.1).

    max_len: the longest sequence; embed_dim: the width C of x.
    One parameter: a table [max_len, embed_dim].
    forward: x [B, T, C] -> x[b, t] + table[t], of the same shape; T > max_len is a ValueError.
    """

    def __init__(self, max_len, embed_dim):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))  # (max_len, C); small, as in GPT-2

    def forward(self, x):
        T, max_len = x.shape[1], self.table.shape[0]
        if max_len < T:  # the table knows no such positions: there is nothing to add
            raise ValueError(f"x has {T} positions, more than max_len = {max_len}")
        return x + self.table[:T]  # (B, T, C) + (T, C): the same rows for every sequence of the batch


def shift_matrix(k, d_model):
    """The matrix that moves sinusoidal positions by k: PE[p + k] == PE[p] @ shift_matrix(k, d_model) for every p.

    k: int, negative too; d_model: even (an odd one is a ValueError).
    Returns a FloatTensor [d_model, d_model]: zeros, but for a 2 x 2 rotation for each pair of columns (2i, 2i+1).
    From sin(α + β) = sin α cos β + cos α sin β and cos(α + β) = cos α cos β - sin α sin β (Vaswani et al. 2017,
    section 3.5, claim it). Example: shift_matrix(0, d_model) is the identity.
    """
    if d_model % 2 != 0:
        raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
    even = torch.arange(0, d_model, 2)  # (d_model / 2,): the columns of sines, 2i
    odd = even + 1  # the columns of cosines, 2i + 1
    angles = k * 10000.0 ** (-even / d_model)  # (d_model / 2,): how far each pair turns in k steps
    matrix = torch.zeros(d_model, d_model)
    matrix[even, even] = angles.cos()  # sin -> sin
    matrix[odd, even] = angles.sin()  # cos -> sin
    matrix[even, odd] = -angles.sin()  # sin -> cos
    matrix[odd, odd] = angles.cos()  # cos -> cos
    return matrix


def apply_rope(x, positions, base=10000.0):
    """Rotary position embedding: turn each pair of features by an angle (Su et al. 2021, section 3.4.2).

    x: [..., T, d_k], d_k even, queries or keys; positions: [T]. Returns the same shape and dtype.
    With θ = positions[t] / base^(2i/d_k), the pair (u, v) at (2i, 2i+1) becomes (u cos θ - v sin θ, u sin θ + v cos θ).
    Lengths are kept, and dot products of rotated queries and keys depend on relative positions only.
    Example: x [[1., 0.]], positions [2] -> [[cos 2, sin 2]]
    """
    d_k = x.shape[-1]
    rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)  # (d_k / 2,): radians per step
    angles = positions.to(x.dtype)[:, None] * rates  # (T, d_k / 2)
    cos, sin = angles.cos(), angles.sin()
    u, v = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2) each
    pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1)  # (..., T, d_k / 2, 2)
    return pairs.flatten(-2)  # (..., T, d_k): the pairs side by side again


# --- checks to come ---------------------------------------------------------------------------------------------------


def _draft(reference: Any, points: float) -> Exercise:
    def ask(student: Any) -> None:
        student.has(reference.__name__)

    working = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n" + source_of(
        reference
    )
    return Exercise(
        reference.__name__,
        "04-positional-encoding",
        points,
        reference,
        [Check("right values", 1.0, ask)],
        [],
        [],
        working,
    )


EXERCISES = [
    _draft(reference, points)
    for reference, points in (
        (sinusoidal_encoding, 4),
        (LearnedPositionalEmbedding, 4),
        (shift_matrix, 5),
        (apply_rope, 6),
    )
]
QUESTIONS: list = []
