"""What the checks of this notebook share."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from autograder.spec.inputs import normal
from autograder.spec.student import Student


def split(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def merge(x: torch.Tensor) -> torch.Tensor:
    return torch.cat(x.unbind(dim=1), dim=-1)


HEADS = (  # (B, T, H, d_k): all different, then equal sizes, one head, heads of width 1, single tokens, as in GPT-2
    *((2, 5, 3, 4), (5, 3, 2, 6), (1, 4, 3, 2), (3, 2, 4, 5), (2, 3, 3, 2), (3, 3, 3, 3), (4, 2, 2, 2), (2, 4, 1, 3)),
    *((2, 3, 5, 1), (3, 1, 4, 2), (1, 1, 2, 3), (1, 1, 1, 1), (2, 33, 8, 3), (2, 10, 2, 64)),
    *((1, 1024, 12, 2), (16, 9, 12, 64)),
)


def heads_sizes(B: int, T: int, H: int, d_k: int) -> str:
    return f"for B = {B}, T = {T}, {H} head{'s' * (H > 1)} of width {d_k}"


def counting(*shape: int) -> torch.Tensor:
    """0, 1, 2 …: every number tells where it came from."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")


def weights_for(C: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    state = {}
    for name in PROJECTIONS:
        state[f"{name}.weight"] = normal(C, C, scale=1.5 / C**0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(C, dtype=dtype)
    return state


def build_loaded(student: Student, C: int, H: int, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    module = student.build("MultiHeadAttention", C, H)
    state = weights_for(C, torch.float64 if dtype else torch.float32)
    if dtype:
        student.move(module, dtype)
    student.load(module, state)
    return module, state


def torchs(state: dict[str, torch.Tensor], H: int) -> nn.MultiheadAttention:
    """PyTorch's own module with the same weights."""
    weight = state["q_proj.weight"]
    theirs = nn.MultiheadAttention(len(weight), H, batch_first=True, dtype=weight.dtype)
    theirs.load_state_dict(stacked(state))
    return theirs


def stacked(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same weights under the names, and in the order, of nn.MultiheadAttention."""
    stacked = {
        f"in_proj_{part}": torch.cat([state[f"{name}.{part}"] for name in PROJECTIONS[:3]])
        for part in ("weight", "bias")
    }
    return stacked | {f"out_proj.{part}": state[f"out_proj.{part}"] for part in ("weight", "bias")}
