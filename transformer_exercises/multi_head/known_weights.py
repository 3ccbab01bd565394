"""Make multi-head attention with known weights, and sizes for its checks."""

import torch
from torch import nn
from torch.func import functional_call

from autograder.spec import KnownModule, Student, Weights, same_output

from .. import attention_layers
from ..attention_layers import Maybe

HEADS = (  # (B, T, H, d_k): all different, then equal sizes, one head, heads of width 1, single tokens, as in GPT-2
    *((2, 5, 3, 4), (5, 3, 2, 6), (1, 4, 3, 2), (3, 2, 4, 5), (2, 3, 3, 2), (3, 3, 3, 3), (4, 2, 2, 2), (2, 4, 1, 3)),
    *((2, 3, 5, 1), (3, 1, 4, 2), (1, 1, 2, 3), (1, 1, 1, 1), (2, 33, 8, 3), (2, 10, 2, 64)),
    *((1, 1024, 12, 2), (16, 9, 12, 64)),
)


def heads_sizes(B: int, T: int, H: int, d_k: int) -> str:
    return f"for B = {B}, T = {T}, {H} head{'s' * (H > 1)} of width {d_k}"


def counting(*shape: int) -> torch.Tensor:
    """Return 0, 1, 2 …: every number tells where it came from."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")


def weights_for(C: int, dtype: torch.dtype = torch.float32) -> Weights:
    return attention_layers.weights_for(PROJECTIONS, C, C, 1.5 / C**0.5, dtype)


def loaded(
    student: Student, C: int, H: int, dtype: torch.dtype = torch.float32, weights: Weights | None = None
) -> KnownModule:
    """Return a MultiHeadAttention with random weights, or these, that should give what PyTorch's own module gives."""

    def expected(weights: Weights, x: torch.Tensor, mask: Maybe = None, context: Maybe = None) -> torch.Tensor:
        source = x if context is None else context
        if mask is not None:
            mask = mask.expand(len(x), H, x.shape[1], source.shape[1]).flatten(0, 1)
        layer = nn.MultiheadAttention(C, H, batch_first=True, device="meta")
        options = {"attn_mask": mask, "need_weights": False}
        return functional_call(layer, stacked(weights), (x, source, source), options)[0]

    weights, arguments = weights or weights_for(C, dtype), ("x", "mask", "context")
    call: tuple[str, list[int], dict] = "MultiHeadAttention", [C, H], {}
    return KnownModule(student, call, weights, expected, dtype=dtype, arguments=arguments, same=same_output)


def stacked(weights: Weights) -> Weights:
    """Return the same weights under the names, and in the order, of nn.MultiheadAttention."""
    parts = ("weight", "bias")
    stack = {f"in_proj_{part}": torch.cat([weights[f"{name}.{part}"] for name in PROJECTIONS[:3]]) for part in parts}
    return stack | {f"out_proj.{part}": weights[f"out_proj.{part}"] for part in parts}
