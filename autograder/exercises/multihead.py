"""Notebook 07: heads split and merged, multi-head attention, PyTorch's weights in it, and what it costs."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .compare import a_tensor, close, kind, same_gradients, same_tensor, unchanged
from .declare import Alternative, Check, Exercise, Mistake, Question, Wrong, edited, written
from .draw import device_is_kept, gradients_agree, gradients_of, normal, quietly_called

# --- references -------------------------------------------------------------------------------------------------------


def split_heads(x, num_heads):
    """Cut the columns of x into heads: head h gets the columns from h * d_k up to (h + 1) * d_k.

    x: [B, T, C]. Returns [B, H, T, d_k] with H = num_heads and d_k = C / H.
    A width C that num_heads does not divide is a ValueError.
    Example: one token [1, 2, 3, 4] and two heads -> [1, 2] for head 0, [3, 4] for head 1.
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    B, T, C = x.shape
    if C % num_heads != 0:
        raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}")
    x = x.view(B, T, num_heads, C // num_heads)  # (B, T, H, d_k): every row is cut where it is
    return x.transpose(1, 2)  # (B, H, T, d_k): the heads step forward, as a batch dimension


def merge_heads(x):
    """Put the heads side by side again: the inverse of split_heads.

    x: [B, H, T, d_k]. Returns [B, T, H * d_k]: the columns of head 0, then those of head 1, ...
    Example: head 0 has the token [1, 2], head 1 has [3, 4] -> [1, 2, 3, 4].
    Source: "Concat" in Vaswani et al. 2017, section 3.2.2.
    """
    B, H, T, d_k = x.shape
    x = x.transpose(1, 2)  # (B, T, H, d_k): all heads of one token together
    return x.reshape(B, T, H * d_k)  # (B, T, C); view would fail, since the transpose moved no numbers


class MultiHeadAttention(nn.Module):
    """Several heads that attend side by side, each in its own part of the width.

    embed_dim: width C; num_heads: H, must divide C (otherwise a ValueError); each head is C / H wide.
    Parameters: q_proj, k_proj, v_proj, out_proj, each nn.Linear(embed_dim, embed_dim).
    forward: x [B, T, C] -> [B, T, C]; mask: boolean, True = blocked, broadcastable to [B, H, T, S].
    Keys and values come from context [B, S, C] if it is given (cross-attention), else from x.
    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None, context=None):
        source = x if context is None else context  # (B, S, C)
        Q = split_heads(self.q_proj(x), self.num_heads)  # (B, H, T, d_k)
        K = split_heads(self.k_proj(source), self.num_heads)  # (B, H, S, d_k)
        V = split_heads(self.v_proj(source), self.num_heads)  # (B, H, S, d_k)
        allowed = None if mask is None else ~mask  # PyTorch's function means True = allowed
        heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)  # (B, H, T, d_k), divided by the root of d_k
        return self.out_proj(merge_heads(heads))  # (B, T, C): the only step in which heads meet


def copy_from_torch(mine, theirs):
    """Copy the weights of PyTorch's multi-head attention, so that both give the same output.

    mine: MultiHeadAttention; theirs: nn.MultiheadAttention of the same sizes, with biases. Returns nothing.
    theirs keeps the three projections stacked, in the order q, k, v:
    in_proj_weight [3C, C] and in_proj_bias [3C]; out_proj is a Linear layer, as in mine.
    Values are copied, never shared: training one leaves the other as it is.
    """
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    weights = theirs.in_proj_weight.chunk(3)  # three times (C, C)
    biases = theirs.in_proj_bias.chunk(3)  # three times (C,)
    with torch.no_grad():  # copying is not part of any computation to be differentiated
        for layer, weight, bias in zip(layers, weights, biases, strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
        mine.out_proj.weight.copy_(theirs.out_proj.weight)
        mine.out_proj.bias.copy_(theirs.out_proj.bias)


def attention_parameters(embed_dim, bias=True):
    """Number of parameters of multi-head attention of width C = embed_dim, for any number of heads.

    Four projections (queries, keys, values, output), each C x C, with C biases or none.
    Returns an int. Example: embed_dim 2 -> 4 * 4 + 4 * 2 = 24, or 16 without biases.
    """
    weights = embed_dim * embed_dim  # of one projection
    biases = embed_dim if bias else 0
    return 4 * (weights + biases)


# --- what the checks share --------------------------------------------------------------------------------------------


def _mistake(name: str, sentence: str, *sources: str) -> Mistake:
    return Mistake(name, sentence, sources[0], sources[1:])


def _around(reference: Any, signature: str, *lines: str) -> str:
    """A function that does something around the right answer: in its lines, RIGHT is a call of the reference."""
    name = reference.__name__
    arguments = ", ".join(part.split("=")[0] for part in signature.split(", "))
    body = "\n    ".join(lines).replace("RIGHT", f"right_{name}({arguments})")
    source = edited(reference, (f"def {name}(", f"def right_{name}("))
    return written(f"{source}\n\ndef {name}({signature}):\n    {body}\n")


def _function(header: str, *lines: str) -> str:
    return written(f"def {header}:\n    " + "\n    ".join(lines) + "\n")


def _refused(student: Any, ask: Any, what: str) -> None:
    """A ValueError, and nothing else, for what `ask` does."""
    try:
        got = ask()
    except Wrong as wrong:
        facts = getattr(wrong, "facts", {})
        if facts.get("kind") != "raised":
            raise
        if facts.get("type") != "ValueError":
            raise Wrong(f"{what} should raise a ValueError; yours raised {facts.get('type')}.") from None
    else:
        raise Wrong(f"{what} should raise a ValueError; yours gave {kind(got)}.")


def _split(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def _merge(x: torch.Tensor) -> torch.Tensor:
    return torch.cat(x.unbind(dim=1), dim=-1)


# --- split_heads ------------------------------------------------------------------------------------------------------

HEADS = (  # (B, T, H, d_k): all different, then equal sizes, one head, heads of width 1, single tokens
    *((2, 5, 3, 4), (5, 3, 2, 6), (1, 4, 3, 2), (3, 2, 4, 5), (2, 3, 3, 2), (3, 3, 3, 3), (4, 2, 2, 2), (2, 4, 1, 3)),
    *((2, 3, 5, 1), (3, 1, 4, 2), (1, 1, 2, 3), (1, 1, 1, 1), (2, 33, 8, 3), (2, 10, 2, 64)),
)


def _heads_sizes(B: int, T: int, H: int, d_k: int) -> str:
    return f"for B = {B}, T = {T}, {H} head{'s' * (H > 1)} of width {d_k}"


def _counting(*shape: int) -> torch.Tensor:
    """0, 1, 2 …: every number tells where it came from."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


def _split_values(student: Any) -> None:
    for B, T, H, d_k in HEADS:
        with student.case():
            x, where = _counting(B, T, H * d_k), _heads_sizes(B, T, H, d_k)
            same_tensor(student.value("split_heads", x, H, where=where), _split(x, H), "The result", where)


def _split_refused(student: Any) -> None:
    same_tensor(student.value("split_heads", _counting(2, 3, 8), 4), _split(_counting(2, 3, 8), 4), "The result")
    for C, H in ((8, 3), (6, 4), (5, 2), (9, 6), (4, 8)):
        with student.case():
            x = normal(2, 3, C)
            _refused(student, lambda x=x, H=H: student.value("split_heads", x, H), f"A width of {C} with {H} heads")


def _split_gradient(student: Any) -> None:
    for B, T, H, d_k, dtype in ((2, 5, 3, 4, torch.float32), (3, 2, 2, 3, torch.float64)):
        with student.case():
            where = _heads_sizes(B, T, H, d_k)
            x = normal(B, T, H * d_k, dtype=dtype)
            same_tensor(student.value("split_heads", x, H, where=where), _split(x, H), "The result", where)
            gradients_agree(student, "split_heads", _split, [x], ["x"], (H,), where)


def _split_manners(student: Any) -> None:
    x = normal(2, 3, 8)
    answer = student.call("split_heads", [x, 4])
    same_tensor(answer["value"], _split(x, 4), "The result")
    unchanged(answer["inputs"], [x], "x")
    for given, where in (
        (normal(2, 3, 6, dtype=torch.float64), "in float64"),
        (normal(3, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"),
        (normal(2, 6, 3).mT, "for a transposed tensor"),
    ):
        with student.case():
            same_tensor(student.value("split_heads", given, 2, where=where), _split(given, 2), "The result", where)
    with student.case():
        got = student.value("split_heads", x=x, num_heads=2)
        same_tensor(got, _split(x, 2), "The result", "with the arguments given by name")
    device_is_kept(student, "split_heads", [x, 4])


def _split_with(*lines: str) -> str:
    return _function("split_heads(x, num_heads)", "B, T, C = x.shape", _SPLIT_GUARD, *lines)


_SPLIT_GUARD = "if C % num_heads != 0:\n        raise ValueError('num_heads')"
_SPLIT_CHECK = (
    "    if C % num_heads != 0:\n"
    '        raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}")\n'
)
_SPLIT_RAISE = 'raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}")'
_CUT = "x = x.view(B, T, num_heads, C // num_heads)"
_FORWARD = "return x.transpose(1, 2)"

SPLIT_HEADS = Exercise(
    name="split_heads",
    notebook="07-multi-head",
    points=3,
    reference=split_heads,
    checks=[
        Check("head h holds its columns of every token", 1.75, _split_values),
        Check("a width that cannot be divided is a ValueError", 0.5, _split_refused),
        Check("gradients", 0.25, _split_gradient),
        Check("input unchanged, float64, any layout, device", 0.5, _split_manners),
    ],
    working=written(
        """
        import torch

        def split_heads(x, num_heads):
            if x.shape[-1] % num_heads:
                raise ValueError("num_heads must divide the width of x")
            return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
        """
    ),
    mistakes=[
        _mistake(
            "no_transpose",
            "The numbers are cut anew straight into (B, H, T, d_k), so that a head holds pieces of other tokens. view and reshape keep the "
            "order of the numbers in memory: cut into (B, T, H, d_k), then swap T and H with `transpose(1, 2)`.",
            edited(split_heads, (_CUT, "x = x.reshape(B, num_heads, T, C // num_heads)"), (_FORWARD, "return x")),
            edited(split_heads, (_CUT, "x = x.mT.reshape(B, num_heads, T, C // num_heads)"), (_FORWARD, "return x")),
            edited(split_heads, (_CUT, "x = x.reshape(B, num_heads, C // num_heads, T)"), (_FORWARD, "return x.mT")),
        ),
        _mistake(
            "tokens_first",
            "The result is (B, T, H, d_k): the heads belong before the tokens, (B, H, T, d_k), so that each head attends by itself.",
            edited(split_heads, (_FORWARD, "return x")),
        ),
        _mistake(
            "interleaved",
            "Head h gets every H-th column: it should get d_k columns in a row, from h · d_k on. Cut into (B, T, H, d_k), not (B, T, d_k, H).",
            edited(
                split_heads,
                (_CUT, "x = x.view(B, T, C // num_heads, num_heads)"),
                (_FORWARD, "return x.permute(0, 3, 1, 2)"),
            ),
        ),
        _mistake(
            "width_for_heads",
            "The number of heads and their width are swapped: num_heads says how many heads there are, each C / num_heads wide.",
            edited(split_heads, (_CUT, "x = x.view(B, T, C // num_heads, num_heads)")),
            edited(split_heads, (_FORWARD, "return x.permute(0, 3, 1, 2)")),
        ),
        _mistake(
            "last_two_swapped",
            "The last two dimensions are the wrong way round: (B, H, T, d_k) is asked for. (Keys are transposed later, where scores are computed.)",
            edited(split_heads, (_FORWARD, "return x.permute(0, 2, 3, 1)")),
        ),
        _mistake(
            "other_dimensions_swapped",
            "The wrong two dimensions are swapped: `transpose(1, 2)` brings (B, T, H, d_k) to (B, H, T, d_k).",
            edited(split_heads, (_FORWARD, "return x.transpose(2, 3)")),
            edited(split_heads, (_FORWARD, "return x.transpose(1, 3)")),
            edited(split_heads, (_FORWARD, "return x.transpose(0, 1)")),
            edited(split_heads, (_FORWARD, "return x.transpose(0, 2)")),
        ),
        _mistake(
            "heads_before_batch",
            "The heads come before the batch: (B, H, T, d_k) is asked for.",
            edited(split_heads, (_FORWARD, "return x.permute(2, 0, 1, 3)")),
            edited(
                split_heads,
                (_CUT + "  # (B, T, H, d_k): every row is cut where it is", ""),
                (_FORWARD, "return torch.stack(x.chunk(num_heads, dim=-1))"),
            ),
        ),
        _mistake(
            "batch_and_heads_in_one",
            "Batch and heads are one dimension, (B · H, T, d_k): here they stay apart, (B, H, T, d_k).",
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2).reshape(B * num_heads, T, -1)")),
        ),
        _mistake(
            "tokens_divided",
            "The tokens are divided among the heads: every head sees every token, but only its own columns.",
            edited(
                split_heads,
                (_CUT, "x = x.repeat(1, num_heads, 1).view(B, num_heads, T, C)[..., : C // num_heads]"),
                (_FORWARD, "return x"),
            ),
            edited(split_heads, (_CUT, "x = x.view(B, num_heads, T // num_heads, C)"), (_FORWARD, "return x")),
        ),
        _mistake(
            "every_head_everything",
            "Every head gets all C columns: each gets its own C / H of them.",
            edited(split_heads, (_CUT, "x = x[:, :, None].expand(B, T, num_heads, C)")),
        ),
        _mistake(
            "heads_overlap",
            "The heads overlap: head h begins at column h · d_k, where head h − 1 ends.",
            edited(split_heads, (_CUT, "x = x.unfold(2, C // num_heads, 1)[:, :, :num_heads]")),
        ),
        _mistake(
            "heads_reversed",
            "The heads are in reverse order: head 0 holds the first columns.",
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2).flip(1)")),
        ),
        _mistake(
            "one_head_only",
            "Only one head is returned: all of them are asked for, along dimension 1.",
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2)[:, 0]")),
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2)[:, :1]")),
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2)[:, -1]")),
        ),
        _mistake(
            "list_of_heads",
            "The heads come as a list or a tuple: one tensor (B, H, T, d_k) is asked for (`torch.stack(…, dim=1)`).",
            edited(split_heads, (_FORWARD, "return list(x.unbind(2))")),
            edited(split_heads, (_FORWARD, "return x.unbind(2)")),
        ),
        _mistake(
            "not_refused",
            "A width that num_heads does not divide gives no ValueError: compare `C % num_heads` with 0 before cutting, and raise it.",
            edited(split_heads, (_SPLIT_CHECK, "")),
            edited(split_heads, (_SPLIT_RAISE, "raise AssertionError('num_heads')")),
            edited(split_heads, (_SPLIT_RAISE, "raise RuntimeError('num_heads')")),
            edited(split_heads, (_SPLIT_RAISE, "raise TypeError('num_heads')")),
            _function("split_heads(x, num_heads)", "return torch.stack(x.chunk(num_heads, dim=-1), dim=1)"),
            _function("split_heads(x, num_heads)", "return torch.stack(x.tensor_split(num_heads, dim=-1), dim=1)"),
            edited(split_heads, (_SPLIT_RAISE, "return None")),
            edited(split_heads, (_SPLIT_RAISE, "return x")),
        ),
        _mistake(
            "columns_dropped",
            "Columns that do not fill a head are dropped without a word: a width that num_heads does not divide is a ValueError.",
            edited(
                split_heads,
                (_SPLIT_CHECK, ""),
                (_CUT, "x = x[..., : C // num_heads * num_heads].view(B, T, num_heads, C // num_heads)"),
            ),
            edited(
                split_heads,
                (_SPLIT_CHECK, ""),
                (
                    _CUT,
                    "x = torch.stack([x[..., h * (C // num_heads) : (h + 1) * (C // num_heads)] for h in range(num_heads)], 2)",
                ),
            ),
        ),
        _mistake(
            "refused_without_reason",
            "Sizes are refused that are right: every num_heads that divides C is allowed, 1 and C among them.",
            edited(split_heads, ("C % num_heads != 0", "C % num_heads != 0 or num_heads == 1")),
            edited(split_heads, ("C % num_heads != 0", "C % num_heads != 0 or num_heads == C")),
            edited(split_heads, ("C % num_heads != 0", "C % num_heads != 0 or C // num_heads % 2")),
            edited(split_heads, ("C % num_heads != 0", "C % num_heads == 0")),
        ),
        _mistake(
            "sizes_fixed",
            "The number of heads or their width is a fixed number: they are num_heads and C / num_heads.",
            edited(split_heads, (_CUT, "x = x.view(B, T, 8, C // 8)")),
            edited(split_heads, (_CUT, "x = x.view(B, T, C // 64, 64)")),
            edited(split_heads, (_CUT, "x = x.view(B, T, 2, C // 2)")),
            edited(split_heads, (_CUT, "x = x.view(B, T, 4, C // 4)")),
        ),
        _mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so that one head, one token or a batch of one changes the shape.",
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2).squeeze()")),
        ),
        _mistake(
            "batch_lost",
            "The batch dimension is lost or summed: each sequence is split by itself, (B, H, T, d_k).",
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2)[0]")),
        ),
        _mistake(
            "not_any_layout",
            "The code takes the numbers in the order in which they lie in memory, which fails (or is wrong) for a tensor that was transposed before.",
            edited(split_heads, (_CUT, "x = x.view(-1).view(B, T, num_heads, C // num_heads)")),
            edited(
                split_heads,
                (_CUT, "x = torch.as_strided(x, (B, T, num_heads, C // num_heads), (T * C, C, C // num_heads, 1))"),
            ),
            edited(
                split_heads,
                (_CUT, "x = x.view(B * T, num_heads, C // num_heads).view(B, T, num_heads, C // num_heads)"),
            ),
        ),
        _mistake(
            "detached",
            "The result is cut off from x (`detach`, `.data`, `no_grad`, NumPy): nothing could be trained through it.",
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2).detach()")),
        ),
        _mistake(
            "dtype_changed",
            "The dtype is not kept (a `.float()`, or a new tensor made without dtype): the result has the dtype of x.",
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2).float()")),
        ),
        _mistake(
            "device_dropped",
            "The result is written into a new tensor that is made without `device=x.device`: on a GPU it comes back on the CPU, or fails.",
            _split_with(
                "heads = torch.zeros(B, num_heads, T, C // num_heads, dtype=x.dtype)",
                "for h in range(num_heads):",
                "    heads[:, h] = x[..., h * (C // num_heads) : (h + 1) * (C // num_heads)]",
                "return heads",
            ),
        ),
        _mistake(
            "in_place",
            "x is changed in place: the caller's tensor is different afterwards.",
            edited(split_heads, (_FORWARD, "x.div_((C // num_heads) ** 0.5)\n    " + _FORWARD)),
            edited(split_heads, (_CUT, "x.resize_(B, T, num_heads, C // num_heads)")),
        ),
        _mistake(
            "scaled",
            "The numbers are changed (divided by the root of d_k, or normalised): splitting only rearranges them.",
            edited(split_heads, (_FORWARD, "return x.transpose(1, 2) / (C // num_heads) ** 0.5")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the heads.",
            edited(split_heads, (_FORWARD, "x.transpose(1, 2)")),
        ),
    ],
    alternatives=[
        Alternative(
            "loop_over_heads",
            _function(
                "split_heads(x, num_heads)",
                "d_k, rest = divmod(x.size(-1), num_heads)",
                "if rest:",
                "    raise ValueError('num_heads does not divide C')",
                "heads = []",
                "for h in range(num_heads):",
                "    heads.append(x[:, :, h * d_k : (h + 1) * d_k])",
                "return torch.stack(heads, dim=1)",
            ),
        ),
        Alternative(
            "unflatten",
            _split_with("return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3).contiguous()"),
        ),
        Alternative(
            "by_transposing",
            _split_with("return x.mT.reshape(B, num_heads, C // num_heads, T).mT"),
        ),
        Alternative(
            "written_into_a_new_tensor",
            _split_with(
                "heads = x.new_empty(B, num_heads, T, C // num_heads)",
                "for h in range(num_heads):",
                "    heads[:, h] = x[..., h * (C // num_heads) : (h + 1) * (C // num_heads)]",
                "return heads",
            ),
        ),
    ],
)


# --- merge_heads ------------------------------------------------------------------------------------------------------


def _merge_values(student: Any) -> None:
    for B, T, H, d_k in HEADS:
        with student.case():
            x, where = _counting(B, H, T, d_k), _heads_sizes(B, T, H, d_k)
            same_tensor(student.value("merge_heads", x, where=where), _merge(x), "The result", where)


def _merge_inverse(student: Any) -> None:
    for B, T, H, d_k in ((2, 5, 3, 4), (3, 3, 3, 3), (4, 2, 2, 2), (1, 6, 1, 5), (2, 1, 3, 2)):
        with student.case():
            x, where = normal(B, T, H * d_k), _heads_sizes(B, T, H, d_k)
            heads = x.view(B, T, H, d_k).transpose(1, 2)
            got = a_tensor(student.value("merge_heads", heads, where=where), "The result")
            if got.shape != x.shape or not close(got, x):
                raise Wrong(f"Merging heads that were split does not give back what was split, {where}.")


def _merge_gradient(student: Any) -> None:
    for B, T, H, d_k, dtype in ((2, 5, 3, 4, torch.float32), (3, 2, 2, 3, torch.float64)):
        with student.case():
            x, where = normal(B, H, T, d_k, dtype=dtype), _heads_sizes(B, T, H, d_k)
            same_tensor(student.value("merge_heads", x, where=where), _merge(x), "The result", where)
            gradients_agree(student, "merge_heads", _merge, [x], ["x"], (), where)


def _merge_manners(student: Any) -> None:
    x = normal(2, 4, 3, 5)
    answer = student.call("merge_heads", [x])
    same_tensor(answer["value"], _merge(x), "The result")
    unchanged(answer["inputs"], [x], "x")
    wide = normal(2, 3, 4, 2, dtype=torch.float64)
    with student.case():
        same_tensor(student.value("merge_heads", wide, where="in float64"), _merge(wide), "The result", "in float64")
    turned = normal(2, 3, 5, 4).mT
    with student.case():
        where = "for a tensor that is not contiguous"
        same_tensor(student.value("merge_heads", turned, where=where), _merge(turned), "The result", where)
    device_is_kept(student, "merge_heads", [x])


def _merge_with(*lines: str) -> str:
    return _function("merge_heads(x)", "B, H, T, d_k = x.shape", *lines)


_BACK = "x = x.transpose(1, 2)  # (B, T, H, d_k): all heads of one token together\n    "
_JOIN = "return x.reshape(B, T, H * d_k)"

MERGE_HEADS = Exercise(
    name="merge_heads",
    notebook="07-multi-head",
    points=3,
    reference=merge_heads,
    checks=[
        Check("the heads of each token side by side", 1.75, _merge_values),
        Check("gives back what was split", 0.5, _merge_inverse),
        Check("gradients", 0.25, _merge_gradient),
        Check("input unchanged, float64, any layout, device", 0.5, _merge_manners),
    ],
    working=written(
        """
        import torch

        def merge_heads(x):
            return torch.cat(x.unbind(dim=1), dim=-1)
        """
    ),
    mistakes=[
        _mistake(
            "no_transpose",
            "The heads are merged without a transpose: a row of the result then holds several tokens of one head instead of all heads of one "
            "token. It even trains. Swap H and T with `transpose(1, 2)` first.",
            edited(merge_heads, (_BACK, "")),
        ),
        _mistake(
            "interleaved",
            "The columns of the heads are mixed (column 0 of every head, then column 1 …): all columns of head 0 come first.",
            edited(merge_heads, ("x.transpose(1, 2)", "x.permute(0, 2, 3, 1)")),
        ),
        _mistake(
            "view_fails",
            "`view` fails after a transpose, which moves no numbers in memory: use `reshape`, or `.contiguous().view(…)`.",
            edited(merge_heads, ("x.reshape(B, T, H * d_k)", "x.view(B, T, H * d_k)")),
        ),
        _mistake(
            "not_merged",
            "The result is still (B, T, H, d_k): the last two dimensions become one, H · d_k wide.",
            edited(merge_heads, (_JOIN, "return x")),
        ),
        _mistake(
            "summed",
            "The heads are added up or averaged: they stand side by side, H · d_k columns in all.",
            edited(merge_heads, (_JOIN, "return x.sum(dim=2)")),
            edited(merge_heads, (_JOIN, "return x.mean(dim=2)")),
        ),
        _mistake(
            "tokens_joined",
            "The heads are joined along the tokens, (B, H · T, d_k): they stand side by side along the last dimension.",
            edited(merge_heads, (_BACK, ""), (_JOIN, "return x.reshape(B, H * T, d_k)")),
            edited(merge_heads, (_JOIN, "return x.reshape(B, T * H, d_k)")),
        ),
        _mistake(
            "columns_first",
            "The result is (B, H · d_k, T): tokens come before columns.",
            edited(merge_heads, (_JOIN, "return x.reshape(B, T, H * d_k).mT")),
        ),
        _mistake(
            "columns_scrambled",
            "The wrong two dimensions are swapped before the reshape, which scrambles the numbers: `transpose(1, 2)` brings H beside d_k.",
            edited(merge_heads, ("x.transpose(1, 2)", "x.transpose(2, 3)")),
            edited(merge_heads, ("x.transpose(1, 2)", "x.transpose(1, 3)")),
            edited(merge_heads, ("x.transpose(1, 2)", "x.transpose(0, 1)")),
            edited(merge_heads, ("x.transpose(1, 2)", "x.transpose(0, 2)")),
            edited(merge_heads, ("x.transpose(1, 2)", "x.permute(0, 3, 1, 2)")),
            edited(merge_heads, (_JOIN, "return x.reshape(B, H * d_k, T).mT")),
        ),
        _mistake(
            "sizes_misread",
            "The shape is read in the wrong order: x is (B, H, T, d_k), with the heads before the tokens.",
            edited(merge_heads, ("B, H, T, d_k = x.shape", "B, T, H, d_k = x.shape")),
            edited(merge_heads, ("B, H, T, d_k = x.shape", "B, T, H, d_k = x.shape"), (_BACK, "")),
            edited(merge_heads, ("B, H, T, d_k = x.shape", "H, B, T, d_k = x.shape")),
        ),
        _mistake(
            "one_head_only",
            "Only one of the heads is in the result: all of them stand side by side.",
            edited(merge_heads, (_JOIN, "return x[:, :, 0]")),
            edited(merge_heads, (_JOIN, "return x[:, :, -1]")),
        ),
        _mistake(
            "heads_reversed",
            "The heads are in reverse order: head 0 gives the first columns.",
            edited(merge_heads, (_JOIN, "return x.flip(2).reshape(B, T, H * d_k)")),
        ),
        _mistake(
            "batch_merged",
            "The batch is merged with the tokens: (B, T, H · d_k) keeps them apart.",
            edited(merge_heads, (_JOIN, "return x.reshape(B * T, H * d_k)")),
        ),
        _mistake(
            "batch_lost",
            "The batch dimension is lost: each sequence is merged by itself, (B, T, H · d_k).",
            edited(merge_heads, (_JOIN, "return x.reshape(B, T, H * d_k)[0]")),
        ),
        _mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so that one token or a batch of one changes the shape.",
            edited(merge_heads, (_JOIN, "return x.reshape(B, T, H * d_k).squeeze()")),
            edited(merge_heads, (_JOIN, "return x.squeeze(2).reshape(B, T, H * d_k).squeeze(1)")),
        ),
        _mistake(
            "sizes_fixed",
            "A size is a fixed number: take all of them from x.shape.",
            edited(merge_heads, ("H * d_k)", "512)")),
            edited(merge_heads, ("H * d_k)", "8 * d_k)")),
            edited(merge_heads, ("H * d_k)", "64 * H)")),
        ),
        _mistake(
            "list_of_heads",
            "The heads come as a list or a tuple: one tensor (B, T, H · d_k) is asked for.",
            edited(merge_heads, (_JOIN, "return list(x.unbind(2))")),
            edited(merge_heads, (_JOIN, "return x.unbind(2)")),
        ),
        _mistake(
            "not_any_layout",
            "The code takes the numbers in the order in which they lie in memory, which fails for a tensor that was transposed before.",
            edited(merge_heads, (_BACK, "x = x.view(B, H * T, d_k).view(B, H, T, d_k).transpose(1, 2)\n    ")),
            edited(merge_heads, (_BACK, "x = x.view(-1).view(B, H, T, d_k).transpose(1, 2)\n    ")),
            edited(
                merge_heads, (_BACK, "x = torch.as_strided(x, (B, T, H, d_k), (H * T * d_k, d_k, T * d_k, 1))\n    ")
            ),
        ),
        _mistake(
            "detached",
            "The result is cut off from x (`detach`, `.data`, `no_grad`, NumPy): nothing could be trained through it.",
            edited(merge_heads, (_JOIN, _JOIN + ".detach()")),
        ),
        _mistake(
            "dtype_changed",
            "The dtype is not kept (a `.float()`, or a new tensor made without dtype): the result has the dtype of x.",
            edited(merge_heads, (_JOIN, _JOIN + ".float()")),
        ),
        _mistake(
            "device_dropped",
            "The result is written into a new tensor that is made without `device=x.device`: on a GPU it comes back on the CPU, or fails.",
            _merge_with(
                "merged = torch.zeros(B, T, H * d_k, dtype=x.dtype)",
                "for h in range(H):",
                "    merged[..., h * d_k : (h + 1) * d_k] = x[:, h]",
                "return merged",
            ),
        ),
        _mistake(
            "in_place",
            "x is changed in place: the caller's tensor is different afterwards.",
            edited(merge_heads, (_JOIN, "x *= H**-0.5\n    " + _JOIN)),
            edited(merge_heads, (_BACK, "x.transpose_(1, 2)\n    ")),
        ),
        _mistake(
            "scaled",
            "The numbers are changed (divided by the number of heads, say): merging only rearranges them.",
            edited(merge_heads, (_JOIN, _JOIN + " / H")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the merged tensor.",
            edited(merge_heads, (_JOIN, "x.reshape(B, T, H * d_k)")),
        ),
    ],
    alternatives=[
        Alternative("contiguous_view", _merge_with("return x.transpose(1, 2).contiguous().view(B, T, -1)")),
        Alternative("flatten", _function("merge_heads(x)", "return x.permute(0, 2, 1, 3).flatten(start_dim=2)")),
        Alternative(
            "loop_over_heads",
            _function(
                "merge_heads(x)", "heads = [x[:, h] for h in range(x.shape[1])]", "return torch.cat(heads, dim=2)"
            ),
        ),
        Alternative("by_transposing", _merge_with("return x.mT.reshape(B, H * d_k, T).mT")),
    ],
)


# --- MultiHeadAttention -----------------------------------------------------------------------------------------------

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
SIZES = (  # (B, T, C, H): all different, then one head, heads of width 1, equal sizes, single tokens, long sequences
    *((2, 5, 12, 3), (3, 4, 8, 2), (1, 3, 6, 1), (2, 4, 5, 5), (4, 1, 6, 2), (3, 3, 9, 3), (4, 4, 16, 4)),
    *((2, 40, 6, 3), (9, 2, 8, 4)),
)
LENGTHS = ((2, 5, 3, 12, 3), (3, 4, 7, 8, 2), (4, 1, 3, 6, 2), (2, 3, 1, 4, 4), (1, 6, 40, 6, 3))  # (B, T, S, C, H)


def _mha_sizes(B: int, T: int, S: int, C: int, H: int) -> str:
    length = f"T = S = {T}" if T == S else f"T = {T}, S = {S}"
    return f"for B = {B}, {length}, embed_dim = {C}, num_heads = {H}"


def _weights_for(C: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    state = {}
    for name in PROJECTIONS:
        state[f"{name}.weight"] = normal(C, C, scale=1.5 / C**0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(C, dtype=dtype)
    return state


def _built(student: Any, C: int, H: int, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    module = student.build("MultiHeadAttention", C, H)
    state = _weights_for(C, torch.float64 if dtype else torch.float32)
    if dtype:
        student.move(module, dtype)
    student.load(module, state)
    return module, state


def _expected(
    state: dict[str, torch.Tensor],
    H: int,
    x: torch.Tensor,
    mask: torch.Tensor | None = None,
    context: torch.Tensor | None = None,
) -> torch.Tensor:
    context = x if context is None else context
    q, k, v = (
        F.linear(tokens, state[f"{name}.weight"], state[f"{name}.bias"])
        for name, tokens in (("q_proj", x), ("k_proj", context), ("v_proj", context))
    )
    allowed = None if mask is None else ~mask
    heads = F.scaled_dot_product_attention(_split(q, H), _split(k, H), _split(v, H), attn_mask=allowed)
    return F.linear(_merge(heads), state["out_proj.weight"], state["out_proj.bias"])


def _torchs(state: dict[str, torch.Tensor], H: int) -> nn.MultiheadAttention:
    """PyTorch's own module with the same weights."""
    weight = state["q_proj.weight"]
    theirs = nn.MultiheadAttention(len(weight), H, batch_first=True, dtype=weight.dtype)
    theirs.load_state_dict(_stacked(state))
    return theirs


def _stacked(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same weights under the names, and in the order, of nn.MultiheadAttention."""
    stacked = {
        f"in_proj_{part}": torch.cat([state[f"{name}.{part}"] for name in PROJECTIONS[:3]])
        for part in ("weight", "bias")
    }
    return stacked | {f"out_proj.{part}": state[f"out_proj.{part}"] for part in ("weight", "bias")}


def _same_output(got: Any, expected: torch.Tensor, where: str = "") -> None:
    if isinstance(got, (tuple, list)):
        raise Wrong(
            f"forward should return one tensor (B, T, C); yours returned {kind(got)}: the weights are not asked for."
        )
    same_tensor(got, expected, "The output", where)


def _some_mask(*shape: int) -> torch.Tensor:
    """Blocks about a third, never a whole row."""
    mask = normal(*shape) > 0.4
    mask[..., 0] &= ~mask.all(dim=-1)
    return mask


def _future(T: int) -> torch.Tensor:
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def _mha_parameters(student: Any) -> None:
    for C, H in ((6, 2), (5, 1), (12, 4)):
        with student.case():
            built = f"MultiHeadAttention({C}, {H})"
            state = student.state(student.build("MultiHeadAttention", C, H))
            parameters = state["parameters"]
            for name in PROJECTIONS:
                for part, shape in (("weight", (C, C)), ("bias", (C,))):
                    found = parameters.get(f"{name}.{part}")
                    if not isinstance(found, torch.Tensor):
                        raise Wrong(
                            f"{built} has no parameter `{name}.{part}`: make `self.{name} = nn.Linear(embed_dim, embed_dim)` in "
                            "`__init__` (with its bias)."
                        )
                    if tuple(found.shape) != shape:
                        raise Wrong(
                            f"`{name}.{part}` of {built} should have shape {shape}, yours has {tuple(found.shape)}: one layer "
                            "nn.Linear(embed_dim, embed_dim) makes the columns of all heads."
                        )
                    if f"{name}.{part}" not in state["trainable"]:
                        raise Wrong(f"`{name}.{part}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(set(parameters) - {f"{n}.{p}" for n in PROJECTIONS for p in ("weight", "bias")})
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(map(str, extra))[:120]}.")
    with student.case():
        named = student.state(student.build("MultiHeadAttention", embed_dim=4, num_heads=2))["parameters"]
        if not isinstance(named.get("q_proj.weight"), torch.Tensor) or tuple(named["q_proj.weight"].shape) != (4, 4):
            raise Wrong(
                "MultiHeadAttention(embed_dim=4, num_heads=2) should build the same as MultiHeadAttention(4, 2)."
            )


def _mha_refused(student: Any) -> None:
    module, state = _built(student, 6, 3)
    x = normal(2, 4, 6)
    _same_output(student.value(module, x), _expected(state, 3, x))
    for C, H in ((8, 3), (5, 2), (6, 4), (9, 6), (4, 8)):
        with student.case():
            _refused(
                student, lambda C=C, H=H: student.build("MultiHeadAttention", C, H), f"MultiHeadAttention({C}, {H})"
            )


def _mha_values(student: Any) -> None:
    for B, T, C, H in SIZES:
        with student.case():
            module, state = _built(student, C, H)
            x, where = normal(B, T, C), _mha_sizes(B, T, T, C, H)
            expected = _torchs(state, H)(x, x, x, need_weights=False)[0].detach()
            _same_output(student.value(module, x, where=where), expected, where)


def _mha_context_case(student: Any, B: int, T: int, S: int, C: int, H: int) -> None:
    module, state = _built(student, C, H)
    x, context = normal(B, T, C), normal(B, S, C)
    where = f"with a context, {_mha_sizes(B, T, S, C, H)}"
    expected = _torchs(state, H)(x, context, context, need_weights=False)[0].detach()
    _same_output(student.value(module, x, context=context, where=where), expected, where)


def _mha_context(student: Any) -> None:
    """Here the context is as long as x. PyTorch's function does not notice keys and values of different lengths: it reads beyond
    the end of memory, so that mixing x and context up would give a new result each time."""
    for B, T, C, H in (SIZES[0], SIZES[2], SIZES[5]):
        with student.case():
            _mha_context_case(student, B, T, T, C, H)
    module, state = _built(student, 6, 2)
    x, context, mask = normal(2, 4, 6), normal(2, 4, 6), _some_mask(4, 4)
    for args, kwargs, where in (
        ([x, None, context], {}, "with the context given by position"),
        ([x], {"context": context, "mask": mask}, "with a context and a mask"),
        ([x], {}, "without a context, after calls with one"),
    ):
        with student.case():
            given = {"mask": args[1] if len(args) > 1 else None, "context": args[2] if len(args) > 2 else None} | kwargs
            _same_output(
                student.call(module, args, kwargs, where=where)["value"], _expected(state, 2, x, **given), where
            )


def _mha_context_lengths(student: Any) -> None:
    for sizes in LENGTHS:
        with student.case():
            _mha_context_case(student, *sizes)
    module, state = _built(student, 6, 2)
    x, context = normal(2, 4, 6), normal(2, 3, 6)
    for mask, where in (
        (_some_mask(4, 3), "with a context and a mask of shape (T, S)"),
        (_some_mask(2, 1, 1, 3), "with a context and a mask of shape (B, 1, 1, S)"),
        (_some_mask(2, 2, 4, 3), "with a context and a mask of shape (B, H, T, S)"),
    ):
        with student.case():
            got = student.call(module, [x], {"mask": mask, "context": context}, where=where)["value"]
            _same_output(got, _expected(state, 2, x, mask, context), where)


def _mha_mask(student: Any) -> None:
    """Masks of every shape that broadcasts to (B, H, T, S), also where B = H = T."""
    for B, T, C, H in ((2, 4, 6, 3), (3, 3, 6, 3)):
        module, state = _built(student, C, H)
        x = normal(B, T, C)
        keys = _some_mask(B, 1, 1, T)
        for mask, training, where in (
            (_future(T), True, "with a causal mask of shape (T, T)"),
            (_some_mask(T, T), False, "with a mask of shape (T, T), in evaluation mode"),
            (_some_mask(B, 1, T, T), True, "with a mask of shape (B, 1, T, T), one for each sequence"),
            (_future(T) | keys & ~torch.eye(T, dtype=torch.bool), True, "with a causal and padding mask (B, 1, T, T)"),
            (keys, True, "with a mask of shape (B, 1, 1, S), about keys"),
            (_some_mask(B, H, T, T), True, "with a mask of shape (B, H, T, S), one for each head"),
            (_some_mask(1, H, T, T), False, "with a mask of shape (1, H, T, S), in evaluation mode"),
            (torch.zeros(T, T, dtype=torch.bool), True, "with a mask that blocks nothing"),
            (_some_mask(1, 1, T, T), True, "with a mask of shape (1, 1, T, S)"),
            (None, True, "without a mask, after calls with one"),
        )[0 if B == 2 else 2 :: 1 if B == 2 else 3]:
            with student.case():
                place = f"{where}, {_mha_sizes(B, T, T, C, H)}"
                kwargs = {} if mask is None else {"mask": mask}
                got = student.call(module, [x], kwargs, where=place, training=training)["value"]
                _same_output(got, _expected(state, H, x, mask), place)
    with student.case():
        where = "with the mask given by position"
        _same_output(student.value(module, x, _future(3), where=where), _expected(state, 3, x, _future(3)), where)


def _mha_forbidden(student: Any) -> None:
    """A blocked token has no influence at all, also where it scores highest or every allowed score is hugely negative."""
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    mask[2] = _future(5)[2]
    for sign, where in (
        (1.0, "where a blocked token would have scored far above the others"),
        (-1.0, "where all allowed scores are far below zero (a finite fill such as −1e9 is then the largest)"),
    ):
        with student.case():
            module, state = student.build("MultiHeadAttention", 6, 2), _weights_for(6)
            for part in ("weight", "bias"):
                for name in PROJECTIONS[:2]:
                    state[f"{name}.{part}"] = state[f"{name}.{part}"].abs()
                state[f"k_proj.{part}"] = sign * state[f"k_proj.{part}"]
            student.load(module, state)
            x = normal(2, 5, 6).abs() * (1.0 if sign > 0 else 1e6)
            x[:, 2] *= 1e12 if sign > 0 else 1.0
            got = student.call(module, [x], {"mask": mask}, where=where)["value"]
            expected = _expected(state, 2, x, mask)
            keep = [t for t in range(5) if t != 2]  # the huge token's own row is of no interest
            got = a_tensor(got, "The output")
            _same_output(
                got[:, keep] if got.shape == expected.shape else got,
                expected[:, keep] if got.shape == expected.shape else expected,
                where,
            )


def _mha_causal(student: Any) -> None:
    """With a causal mask, changing a token moves no earlier output, and does move its own and, as a rule, later ones."""
    parameters = student.state(student.build("MultiHeadAttention", 6, 2))["parameters"]
    if not all(f"{name}.weight" in parameters for name in PROJECTIONS):  # PyTorch's own module is causal too
        raise Wrong("The layers q_proj, k_proj, v_proj and out_proj are not all there.")
    for T, C, H, loaded in ((5, 12, 3, True), (4, 6, 1, True), (4, 8, 4, False)):
        with student.case():
            module = _built(student, C, H)[0] if loaded else student.build("MultiHeadAttention", C, H)
            where = f"for T = {T}, embed_dim = {C}, num_heads = {H}"
            x = normal(2, T, C)
            before = a_tensor(student.value(module, x, _future(T), where=where), "The output")
            if before.shape != x.shape:
                same_tensor(before, x, "The output", where)
            for t in range(1, T):
                changed = x.clone()
                changed[:, t] = 3 * normal(2, C)
                after = a_tensor(student.value(module, changed, _future(T), where=where), "The output")
                if after.shape != before.shape or not close(after[:, :t], before[:, :t]):
                    raise Wrong(
                        f"With a causal mask, earlier outputs move when token {t} is changed, {where}: the future leaks through the "
                        "mask, the split or the merge."
                    )
                if close(after[:, t:], before[:, t:]):
                    raise Wrong(f"Changing token {t} changes no output at all, {where}.")


def _mha_gradient(student: Any) -> None:
    for mask, S, dtype in ((None, 0, torch.float32), (_future(5), 0, torch.float64), (None, 5, torch.float64)):
        with student.case():
            C, H = 12, 3
            module, state = _built(student, C, H, "float64" if dtype == torch.float64 else "")
            tokens = [normal(2, 5, C, dtype=dtype), *([normal(2, S, C, dtype=dtype)] if S else [])]
            names = list(state)

            def reference(*leaves: torch.Tensor) -> torch.Tensor:
                values = dict(zip(names, leaves[len(tokens) :], strict=True))
                return _expected(values, H, leaves[0], mask, leaves[1] if S else None)

            expected, upstream = gradients_of(reference, [*tokens, *state.values()])
            kwargs = ({} if mask is None else {"mask": mask}) | ({"context": tokens[1]} if S else {})
            where = "with a context" if S else "with a mask" if mask is not None else ""
            _same_output(
                student.call(module, tokens[:1], kwargs, where=where)["value"],
                reference(*tokens, *state.values()),
                where,
            )
            answer = student.call(module, tokens[:1], kwargs, upstream=upstream, where=where)
            grads = answer["gradients"]
            same_gradients(grads.get("inputs", []), expected[: len(tokens)], ["x", "context"], where)
            mine = [grads.get("parameters", {}).get(name) for name in names]
            same_gradients(mine, expected[len(tokens) :], [f"`{name}`" for name in names], where)


def _mha_manners(student: Any) -> None:
    module, state = _built(student, 6, 2)
    other, other_state = _built(student, 6, 2)
    x, context, mask = normal(2, 5, 6), normal(2, 5, 6), _some_mask(5, 5)
    answer = student.call(module, [x, mask, context])
    unchanged(answer["inputs"], [x, mask, context], "x, mask or context")
    _same_output(answer["value"], _expected(state, 2, x, mask, context))
    where = "when two modules exist (each needs layers of its own)"
    _same_output(student.value(module, x), _expected(state, 2, x), where)
    _same_output(student.value(other, x), _expected(other_state, 2, x), where)
    after = student.state(module)["parameters"]
    if any(name in after and not torch.equal(after[name], state[name]) for name in state):
        raise Wrong("A call changes the module's parameters: only training may do that.")
    for training in (True, False):
        with student.case():
            answer = student.call(module, [x], training=training)
            _same_output(
                answer["value"], _expected(state, 2, x), "in training mode" if training else "in evaluation mode"
            )
            quietly_called(answer)
    with student.case():
        wide, wide_state = _built(student, 8, 2, "float64")
        x = normal(2, 5, 8, dtype=torch.float64)
        _same_output(
            student.value(wide, x, _future(5), where="in float64"),
            _expected(wide_state, 2, x, _future(5)),
            "in float64",
        )
    with student.case():
        turned, where = normal(5, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"
        _same_output(student.value(module, turned, where=where), _expected(state, 2, turned), where)


def _mha_device(student: Any) -> None:
    module, state = _built(student, 6, 2)
    x, context = normal(2, 5, 6), normal(2, 4, 6)
    _same_output(student.value(module, x), _expected(state, 2, x))
    device_is_kept(student, module, [x])
    device_is_kept(student, module, [x, _future(5)])
    device_is_kept(student, module, [x, None, context])


def _mha_fresh(student: Any) -> None:
    """Layers start as nn.Linear does: not all zero, not all alike."""
    parameters = student.state(student.build("MultiHeadAttention", 6, 2))["parameters"]
    weights = [parameters.get(f"{name}.weight") for name in PROJECTIONS]
    if not all(isinstance(w, torch.Tensor) for w in weights):
        raise Wrong("The layers q_proj, k_proj, v_proj and out_proj are not all there.")
    if all(w.device.type == "cpu" for w in weights):
        if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
            raise Wrong("A layer starts with all its weights alike: every feature would learn the same.")
        if any(torch.equal(weights[i], weights[j]) for i in range(4) for j in range(i)):
            raise Wrong("Two layers start with the same weights: use four separate nn.Linear layers.")


def _m(*edits: tuple[str, str]) -> str:
    return edited(MultiHeadAttention, *edits)


def _core(
    *lines: str,
    scale: str = "math.sqrt(Q.shape[-1])",
    fill: str = "float('-inf')",
    dim: str = "-1",
    query: str = "Q",
    key: str = "K",
    value: str = "V",
) -> tuple[str, str]:
    """The call of PyTorch's function written out, with something changed.

    Whatever mixes up queries, keys and values must be written out: see `_mha_context`.
    """
    lines = lines or (
        f"scores = {query} @ {key}.transpose(-2, -1) / {scale}",
        "if mask is not None:",
        f"    scores = scores.masked_fill(mask, {fill})",
        f"heads = torch.softmax(scores, dim={dim}) @ {value}",
    )
    return f"heads = {_SDPA}", ("\n" + 8 * " ").join(lines)


def _mha(*forward: str, init: str = "") -> str:
    """The module with another forward."""
    lines = _m().split("    def forward")[0].rstrip("\n")
    return written(
        lines
        + (f"\n        {init}" if init else "")
        + "\n\n    def forward(self, x, mask=None, context=None):\n        "
        + "\n        ".join(forward)
        + "\n"
    )


_SDPA = "F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)"
_ALLOWED = "allowed = None if mask is None else ~mask"
_SOURCE = "source = x if context is None else context"
_OUT = "return self.out_proj(merge_heads(heads))"
_Q = "Q = split_heads(self.q_proj(x), self.num_heads)"
_K = "K = split_heads(self.k_proj(source), self.num_heads)"
_V = "V = split_heads(self.v_proj(source), self.num_heads)"
_LINEAR = "nn.Linear(embed_dim, embed_dim)"
_LAST = "self.out_proj = nn.Linear(embed_dim, embed_dim)"
_CHECK = (
    "        if embed_dim % num_heads != 0:\n"
    '            raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}")\n'
)
_RAISE = 'raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}")'
_SUPER = "        super().__init__()\n"
_SIGNATURE = "def forward(self, x, mask=None, context=None)"
_FIRST = "        source = x"


def _before(*lines: str) -> tuple[str, str]:
    """Lines at the beginning of forward."""
    return _FIRST, "".join(f"        {line}\n" for line in lines) + _FIRST


def _returning(result: str) -> str:
    """The module with something else made of `output` before it is returned."""
    return _m((_OUT, f"output = self.out_proj(merge_heads(heads))\n        return {result}"))


_BAD_SPLIT = ".reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1)"

MULTI_HEAD_ATTENTION = Exercise(
    name="MultiHeadAttention",
    notebook="07-multi-head",
    points=8,
    reference=MultiHeadAttention,
    checks=[
        Check("q_proj, k_proj, v_proj, out_proj, and nothing else", 1.25, _mha_parameters),
        Check("equals nn.MultiheadAttention with the same weights, for many sizes", 2.25, _mha_values),
        Check("cross-attention: keys and values from the context", 0.75, _mha_context),
        Check("cross-attention with a context of another length", 0.5, _mha_context_lengths),
        Check("masks of every shape, in training and evaluation", 1.0, _mha_mask),
        Check("causal: no earlier output moves when a later token is changed", 1.0, _mha_causal),
        Check("a blocked token has no influence at all", 0.5, _mha_forbidden),
        Check("gradients reach x, the context and every parameter", 0.75, _mha_gradient),
        Check("a width that cannot be divided is a ValueError", 0.5, _mha_refused),
        Check("inputs unchanged, modules independent, float64", 0.75, _mha_manners),
        Check("stays on the inputs' device", 0.5, _mha_device),
        Check("fresh layers differ from each other", 0.25, _mha_fresh),
    ],
    working=written(
        """
        import torch
        from torch import nn

        class MultiHeadAttention(nn.Module):
            def __init__(self, embed_dim, num_heads):
                super().__init__()
                if embed_dim % num_heads:
                    raise ValueError("embed_dim must be divisible by num_heads")
                self.sizes = embed_dim, num_heads
                self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

            def forward(self, x, mask=None, context=None):
                context = x if context is None else context
                if mask is not None:
                    mask = mask.expand(len(x), self.sizes[1], x.shape[1], context.shape[1]).flatten(0, 1)
                layers = self.q_proj, self.k_proj, self.v_proj
                output, _ = nn.functional.multi_head_attention_forward(
                    x.transpose(0, 1), context.transpose(0, 1), context.transpose(0, 1), *self.sizes,
                    None, torch.cat([layer.bias for layer in layers]), None, None, False, 0.0,
                    self.out_proj.weight, self.out_proj.bias, need_weights=False, attn_mask=mask,
                    use_separate_proj_weight=True, q_proj_weight=self.q_proj.weight,
                    k_proj_weight=self.k_proj.weight, v_proj_weight=self.v_proj.weight,
                )
                return output.transpose(0, 1)
        """
    ),
    mistakes=[
        # --- the heads
        _mistake(
            "split_without_transpose",
            "The split cuts the numbers straight into (B, H, T, d_k), so that a head attends to pieces of other tokens. Cut into "
            "(B, T, H, d_k), then transpose: that is what split_heads does.",
            _m(
                *[
                    (line, line.replace("split_heads(", "(lambda tokens, H: tokens" + _BAD_SPLIT + ")("))
                    for line in (_Q, _K, _V)
                ]
            ),
        ),
        _mistake(
            "merge_without_transpose",
            "The heads are merged without a transpose, so that a row of the output mixes several tokens, later ones too, and the mask leaks. "
            "It even trains. Swap H and T first: that is what merge_heads does.",
            _m((_OUT, "return self.out_proj(heads.reshape(x.shape))")),
        ),
        _mistake(
            "merge_by_view",
            "`view` fails after a transpose, which moves no numbers in memory: merge with `reshape`, or with merge_heads.",
            _m((_OUT, "return self.out_proj(heads.transpose(1, 2).view(x.shape))")),
        ),
        _mistake(
            "neither_transposed",
            "Neither the split nor the merge transposes. The shapes fit and it trains, but every head sees pieces of other tokens: "
            "(B, T, H, d_k) and then `transpose(1, 2)`, both ways.",
            _m(
                *[
                    (line, line.replace("split_heads(", "(lambda tokens, H: tokens" + _BAD_SPLIT + ")("))
                    for line in (_Q, _K, _V)
                ],
                (_OUT, "return self.out_proj(heads.reshape(x.shape))"),
            ),
        ),
        _mistake(
            "heads_interleaved",
            "Each head gets every H-th column instead of d_k columns in a row: cut into (B, T, H, d_k), not (B, T, d_k, H).",
            _m(
                *[
                    (
                        line,
                        line.replace(
                            "split_heads(", "(lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))("
                        ),
                    )
                    for line in (_Q, _K, _V)
                ],
                ("merge_heads(heads)", "heads.permute(0, 2, 3, 1).flatten(2)"),
            ),
        ),
        _mistake(
            "merge_interleaved",
            "The merge mixes the columns of the heads (column 0 of every head, then column 1 …): all columns of head 0 come first, then those of "
            "head 1: transpose(1, 2), then flatten.",
            _m(("merge_heads(heads)", "heads.permute(0, 2, 3, 1).flatten(2)")),
        ),
        _mistake(
            "one_wide_head",
            "There is only one head, as wide as x: num_heads plays no part. Split queries, keys and values first.",
            _m(*[(line, line.replace("self.num_heads", "1")) for line in (_Q, _K, _V)]),
        ),
        _mistake(
            "heads_attend_to_heads",
            "The heads were not brought before the tokens, so that each token's heads attend to one another: scores must be (B, H, T, S).",
            _m(
                *[
                    (line, line.replace("split_heads(", "(lambda tokens, H: tokens.unflatten(-1, (H, -1)))("))
                    for line in (_Q, _K, _V)
                ],
                ("merge_heads(heads)", "heads.flatten(2)"),
            ),
        ),
        _mistake(
            "heads_averaged",
            "The heads are added up or averaged: they stand side by side, C columns in all.",
            _m(("merge_heads(heads)", "heads.mean(dim=1).repeat(1, 1, self.num_heads)")),
            _m(("merge_heads(heads)", "heads.sum(dim=1).repeat(1, 1, self.num_heads)")),
            _m(("merge_heads(heads)", "heads.mean(dim=1)")),
        ),
        _mistake(
            "width_for_heads",
            "The number of heads and their width are swapped: num_heads heads, each embed_dim / num_heads wide.",
            _m(("self.num_heads = num_heads", "self.num_heads = embed_dim // num_heads")),
        ),
        _mistake(
            "heads_fixed",
            "The number of heads is a fixed number, whatever num_heads says.",
            _m(("self.num_heads = num_heads", "self.num_heads = 8")),
            _m(("self.num_heads = num_heads", "self.num_heads = 2")),
            _m(("self.num_heads = num_heads", "self.num_heads = 4")),
        ),
        # --- scores and softmax
        _mistake(
            "scale_of_whole_width",
            "The scores are divided by √embed_dim: each head's dot products run over its own width only, so divide by √(embed_dim / num_heads).",
            _m(_core(scale="math.sqrt(x.shape[-1])")),
        ),
        _mistake(
            "no_scale",
            "The scores are not divided by the root of the head's width d_k.",
            _m(_core(scale="1.0")),
        ),
        _mistake(
            "scaled_twice",
            "The scores are divided by the root of d_k twice (F.scaled_dot_product_attention does it already), or by d_k.",
            _m(_core(scale="Q.shape[-1]")),
            _m(_core(scale="Q.shape[-1] ** 0.25")),
        ),
        _mistake(
            "multiplied_by_root",
            "The scores are multiplied by the root of d_k: they are divided by it.",
            _m(_core(scale="Q.shape[-1] ** -0.5")),
        ),
        _mistake(
            "scale_of_other_size",
            "The scores are divided by the root of the wrong size (number of heads, of tokens): the width of a head is asked for.",
            _m(_core(scale="math.sqrt(self.num_heads)")),
            _m(_core(scale="math.sqrt(K.shape[-2])")),
        ),
        _mistake(
            "scale_fixed",
            "The scores are divided by a fixed number: use the root of the head's width, embed_dim / num_heads.",
            _m(_core(scale="8.0")),
            _m(_core(scale="4.0")),
            _m(_core(scale="2.0")),
        ),
        _mistake(
            "softmax_over_queries",
            "The softmax runs over the queries: each query shares its attention among the keys, dim=-1.",
            _m(_core(dim="-2")),
        ),
        _mistake(
            "softmax_over_heads",
            "The softmax runs over the heads or the batch: (B, H, T, S) is normalised along S, dim=-1.",
            _m(_core(dim="1")),
            _m(_core(dim="0")),
        ),
        _mistake(
            "no_softmax",
            "There is no softmax: scores become weights that sum to 1 before they meet the values.",
            _m(
                _core(
                    "scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])",
                    "if mask is not None:",
                    "    scores = scores.masked_fill(mask, 0.0)",
                    "heads = scores @ V",
                )
            ),
        ),
        # --- masks
        _mistake(
            "mask_not_inverted",
            "The mask reaches F.scaled_dot_product_attention as it is, but for that function True means *allowed*: pass `~mask`.",
            _m((_ALLOWED, "allowed = mask")),
        ),
        _mistake(
            "mask_ignored",
            "The mask is not used.",
            _m((_ALLOWED, "allowed = None")),
        ),
        _mistake(
            "mask_of_zeros",
            "Blocked scores are set to 0, which is a score like any other: set them to −inf before the softmax.",
            _m(_core(fill="0.0")),
        ),
        _mistake(
            "mask_finite",
            "Blocked scores are filled with a finite number (−1e9, −1e4 …). Where every allowed score is lower still, the blocked token gets "
            "all the weight. Fill with −inf.",
            _m(_core(fill="-1e9")),
            _m(_core(fill="-1e4")),
            _m(_core(fill="-100.0")),
            _m(_core(fill="-10.0")),
            _m(_core(fill="torch.finfo(scores.dtype).min / 1e30")),
        ),
        _mistake(
            "mask_added",
            "A large finite number is added to blocked scores: a blocked score that is larger still gets through. Set blocked scores to −inf.",
            _m(
                _core(
                    "scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])",
                    "if mask is not None:",
                    "    scores = scores - 1e9 * mask",
                    "heads = torch.softmax(scores, dim=-1) @ V",
                )
            ),
            _m(
                _core(
                    "scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])",
                    "if mask is not None:",
                    "    scores = scores - 1e4 * mask",
                    "heads = torch.softmax(scores, dim=-1) @ V",
                )
            ),
        ),
        _mistake(
            "mask_after_softmax",
            "Blocked weights are set to 0 after the softmax, so that the others no longer sum to 1: block before it, with −inf.",
            _m(
                _core(
                    "weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]), dim=-1)",
                    "if mask is not None:",
                    "    weights = weights.masked_fill(mask, 0.0)",
                    "heads = weights @ V",
                )
            ),
        ),
        _mistake(
            "renormalised_afterwards",
            "The softmax is taken over all keys, then blocked weights are set to 0 and the rest is divided by its sum. Where a blocked score is "
            "far above the others nothing is left, 0/0: set blocked scores to −inf before the softmax.",
            _m(
                _core(
                    "weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]), dim=-1)",
                    "if mask is not None:",
                    "    weights = weights.masked_fill(mask, 0.0)",
                    "heads = weights / weights.sum(dim=-1, keepdim=True) @ V",
                )
            ),
        ),
        _mistake(
            "truth_of_a_tensor",
            "`if mask:` or `context or x` asks whether a tensor is true, which fails for more than one number: write `if mask is not None:`.",
            _m((_ALLOWED, "allowed = ~mask if mask else None")),
            _m((_SOURCE, "source = context or x")),
            _m((_SOURCE, "source = context if context else x")),
            _m((_ALLOWED, "allowed = ~mask if mask else None"), (_SOURCE, "source = context or x")),
        ),
        _mistake(
            "mask_transposed",
            "The mask is transposed: its rows are queries, its columns keys.",
            _m((_ALLOWED, "allowed = None if mask is None else ~mask.mT")),
        ),
        _mistake(
            "mask_unsqueezed",
            "The mask is given further dimensions (`unsqueeze`, `view`), so that some of its shapes no longer fit. (T, S) and (B, 1, T, S) "
            "broadcast to (B, H, T, S) by themselves.",
            _m((_ALLOWED, "allowed = None if mask is None else ~mask.unsqueeze(1)")),
            _m((_ALLOWED, "allowed = None if mask is None else ~mask[:, None]")),
            _m((_ALLOWED, "allowed = None if mask is None else ~mask[:, None, None, :]")),
            _m((_ALLOWED, "allowed = None if mask is None else ~mask.view(1, 1, x.shape[1], source.shape[1])")),
        ),
        _mistake(
            "mask_of_first",
            "Only one part of the mask is used (that of the first sequence or head): it is broadcast to (B, H, T, S).",
            _m((_ALLOWED, "allowed = None if mask is None else ~mask[:1] if mask.dim() == 4 else ~mask")),
            _m((_ALLOWED, "allowed = None if mask is None else ~mask[:, :1] if mask.dim() == 4 else ~mask")),
            _m((_ALLOWED, "allowed = None if mask is None else ~mask[0, 0] if mask.dim() == 4 else ~mask")),
        ),
        _mistake(
            "always_causal",
            "Later tokens are blocked even without a mask: apply the mask that is given, nothing else.",
            _m(
                (
                    _ALLOWED,
                    "future = torch.ones(x.shape[1], source.shape[1], dtype=torch.bool, device=x.device).triu(1)\n        allowed = ~future if mask is None else ~(mask | future)",
                )
            ),
            _m((_SDPA, "F.scaled_dot_product_attention(Q, K, V, is_causal=True)")),
        ),
        _mistake(
            "causal_instead_of_mask",
            "Whatever the mask says, a causal one is applied: use the mask that is given.",
            _m((_SDPA, "F.scaled_dot_product_attention(Q, K, V, is_causal=mask is not None)")),
        ),
        _mistake(
            "mask_sometimes",
            "The mask is used in one mode only (training or evaluation). What is blocked is blocked in both.",
            _m((_ALLOWED, "allowed = ~mask if mask is not None and self.training else None")),
            _m((_ALLOWED, "allowed = ~mask if mask is not None and not self.training else None")),
        ),
        _mistake(
            "mask_not_with_context",
            "The mask is not used where there is a context: both may be given.",
            _m((_ALLOWED, "allowed = None if mask is None or context is not None else ~mask")),
        ),
        _mistake(
            "mask_remembered",
            "The first (or last) mask is kept and used in later calls too: a call uses the mask it is given, or none.",
            _m(
                (_SUPER, _SUPER + "        self.mask = None\n"),
                _before("mask = self.mask = self.mask if mask is None else mask"),
            ),
            _m(
                (_SUPER, _SUPER + "        self.mask = None\n"),
                _before("mask = self.mask = mask if self.mask is None else self.mask"),
            ),
        ),
        _mistake(
            "mask_required",
            "forward cannot be called without a mask, or without a context: both are None by default, forward(x, mask=None, context=None).",
            _m((_SIGNATURE, "def forward(self, x, mask, context=None)")),
            _m((_SIGNATURE, "def forward(self, x, mask, context)")),
            _m((_SIGNATURE, "def forward(self, x, mask=None, *, context)")),
            _m((_ALLOWED, "allowed = ~mask")),
        ),
        _mistake(
            "parameters_of_forward",
            "The parameters of forward have other names or another order: forward(x, mask=None, context=None).",
            _m((_SIGNATURE, "def forward(self, x, context=None, mask=None)")),
            _m((_SIGNATURE, "def forward(self, x, mask=None)"), (_SOURCE, "source = x")),
            _m((_SIGNATURE, "def forward(self, x, context=None)"), (_ALLOWED, "allowed = None")),
            _m((_SIGNATURE, "def forward(self, x)"), (_SOURCE, "source = x"), (_ALLOWED, "allowed = None")),
            _m(
                (_SIGNATURE, "def forward(self, query, key, value, mask=None)"),
                ("self.q_proj(x)", "self.q_proj(query)"),
                (_SOURCE, "source = key"),
            ),
        ),
        # --- context
        _mistake(
            "context_ignored",
            "The context is not used: keys and values come from it when it is given.",
            _m((_SOURCE, "source = x")),
        ),
        _mistake(
            "context_for_one",
            "Keys and values come from different places: both come from the context when it is given.",
            _m((_K, _K.replace("source", "x")), _core()),
            _m((_V, _V.replace("source", "x")), _core()),
        ),
        _mistake(
            "queries_from_context",
            "The queries come from the context: they come from x, keys and values from the context.",
            _m((_Q, _Q.replace("(x)", "(source)"))),
            _m((_Q, _Q.replace("(x)", "(source)")), (_K, _K.replace("source", "x")), (_V, _V.replace("source", "x"))),
        ),
        _mistake(
            "context_appended",
            "The context is joined to x: keys and values come from the context alone.",
            _m((_SOURCE, "source = x if context is None else torch.cat([x, context], dim=1)")),
            _m((_SOURCE, "source = x if context is None else torch.cat([context, x], dim=1)")),
        ),
        _mistake(
            "context_of_equal_length",
            "The context is taken to be as long as x: it has a length S of its own.",
            _m((_SOURCE, "source = x if context is None else context[:, : x.shape[1]]")),
            _m(
                (_SOURCE, "source = x if context is None else context"),
                (_K, "K = split_heads(self.k_proj(source).view(x.shape), self.num_heads)"),
            ),
        ),
        _mistake(
            "context_remembered",
            "An earlier context is kept and used in later calls too: without a context, keys and values come from x.",
            _m(
                (_SUPER, _SUPER + "        self.context = None\n"),
                _before("context = self.context = self.context if context is None else context"),
            ),
        ),
        # --- projections
        _mistake(
            "out_proj_unused",
            "out_proj is never applied: the merged heads go through it at the end.",
            _m((_OUT, "return merge_heads(heads)")),
        ),
        _mistake(
            "no_out_proj",
            "There is no out_proj: after merging, one more nn.Linear(embed_dim, embed_dim) mixes the heads.",
            _m(("        self.out_proj = nn.Linear(embed_dim, embed_dim)\n", ""), (_OUT, "return merge_heads(heads)")),
        ),
        _mistake(
            "no_bias",
            "A layer has no bias (`bias=False`): nn.Linear(embed_dim, embed_dim) with its default bias is asked for, four times.",
            _m((_LINEAR, "nn.Linear(embed_dim, embed_dim, bias=False)")),
            _m(
                *[
                    (f"self.{n} = {_LINEAR}", f"self.{n} = nn.Linear(embed_dim, embed_dim, bias=False)")
                    for n in PROJECTIONS[:3]
                ]
            ),
            *[
                _m((f"self.{n} = {_LINEAR}", f"self.{n} = nn.Linear(embed_dim, embed_dim, bias=False)"))
                for n in PROJECTIONS
            ],
        ),
        _mistake(
            "narrow_projections",
            "The projections are nn.Linear(embed_dim, d_k), enough for one head: one layer embed_dim → embed_dim makes the columns of all heads.",
            _m(
                *[
                    (f"self.{n} = {_LINEAR}", f"self.{n} = nn.Linear(embed_dim, embed_dim // num_heads)")
                    for n in PROJECTIONS[:3]
                ]
            ),
        ),
        _mistake(
            "split_before_projecting",
            "x is split before it is projected, so that a head sees only its own columns of x: project first (embed_dim → embed_dim), then split.",
            _m(
                *[
                    (f"self.{n} = {_LINEAR}", f"self.{n} = nn.Linear(embed_dim // num_heads, embed_dim // num_heads)")
                    for n in PROJECTIONS[:3]
                ],
                (_Q, "Q = self.q_proj(split_heads(x, self.num_heads))"),
                (_K, "K = self.k_proj(split_heads(source, self.num_heads))"),
                (_V, "V = self.v_proj(split_heads(source, self.num_heads))"),
            ),
        ),
        _mistake(
            "out_proj_for_one_head",
            "out_proj takes one head only (d_k features): the heads are merged first, and out_proj is nn.Linear(embed_dim, embed_dim).",
            _m(
                (_LAST, "self.out_proj = nn.Linear(embed_dim // num_heads, embed_dim)"),
                (_OUT, "return self.out_proj(heads).sum(dim=1)"),
            ),
            _m(
                (_LAST, "self.out_proj = nn.Linear(embed_dim // num_heads, embed_dim)"),
                (_OUT, "return self.out_proj(heads.mean(dim=1))"),
            ),
        ),
        _mistake(
            "wide_projections",
            "The projections are num_heads times too wide: the heads share the width embed_dim, each has embed_dim / num_heads of it.",
            _m(
                *[
                    (f"self.{n} = {_LINEAR}", f"self.{n} = nn.Linear(embed_dim, embed_dim * num_heads)")
                    for n in PROJECTIONS[:3]
                ],
                (_LAST, "self.out_proj = nn.Linear(embed_dim * num_heads, embed_dim)"),
            ),
        ),
        _mistake(
            "sizes_fixed",
            "The sizes of the layers are fixed numbers: they come from embed_dim.",
            _m((_LINEAR, "nn.Linear(512, 512)")),
            _m((_LINEAR, "nn.Linear(64, 64)")),
            _m((_LINEAR, "nn.Linear(32, 32)")),
        ),
        _mistake(
            "fused",
            "One fused layer makes queries, keys and values. That is how real code does it, but here q_proj, k_proj and v_proj are asked for.",
            _m(
                (
                    f"        self.q_proj = {_LINEAR}\n        self.k_proj = {_LINEAR}\n        self.v_proj = {_LINEAR}\n",
                    "        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)\n",
                ),
                ("self.q_proj(x)", "self.qkv_proj(x).chunk(3, dim=-1)[0]"),
                ("self.k_proj(source)", "self.qkv_proj(source).chunk(3, dim=-1)[1]"),
                ("self.v_proj(source)", "self.qkv_proj(source).chunk(3, dim=-1)[2]"),
            ),
        ),
        _mistake(
            "torchs_module",
            "nn.MultiheadAttention does the work: here the four layers q_proj, k_proj, v_proj and out_proj are your own.",
            written(
                """
                class MultiHeadAttention(nn.Module):
                    def __init__(self, embed_dim, num_heads):
                        super().__init__()
                        if embed_dim % num_heads != 0:
                            raise ValueError("embed_dim")
                        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

                    def forward(self, x, mask=None, context=None):
                        context = x if context is None else context
                        if mask is not None:
                            sizes = len(x), self.attention.num_heads, x.shape[1], context.shape[1]
                            mask = mask.expand(sizes).flatten(0, 1)
                        return self.attention(x, context, context, attn_mask=mask)[0]
                """
            ),
            written(
                """
                class MultiHeadAttention(nn.Module):
                    def __init__(self, embed_dim, num_heads):
                        super().__init__()
                        if embed_dim % num_heads != 0:
                            raise ValueError("embed_dim")
                        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

                    def forward(self, x, mask=None, context=None):
                        context = x if context is None else context
                        return self.attention(x, context, context, attn_mask=mask)[0]
                """
            ),
        ),
        _mistake(
            "separate_heads",
            "Each head has small layers of its own (an nn.ModuleList of heads). That is equal in what it can learn, but here one layer of full "
            "width for all heads is asked for: q_proj, k_proj, v_proj, out_proj.",
            written(
                """
                class Head(nn.Module):
                    def __init__(self, embed_dim, d_k):
                        super().__init__()
                        self.q_proj = nn.Linear(embed_dim, d_k)
                        self.k_proj = nn.Linear(embed_dim, d_k)
                        self.v_proj = nn.Linear(embed_dim, d_k)

                    def forward(self, x, source, allowed):
                        Q, K, V = self.q_proj(x), self.k_proj(source), self.v_proj(source)
                        return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)

                class MultiHeadAttention(nn.Module):
                    def __init__(self, embed_dim, num_heads):
                        super().__init__()
                        if embed_dim % num_heads != 0:
                            raise ValueError("embed_dim")
                        self.heads = nn.ModuleList(Head(embed_dim, embed_dim // num_heads) for _ in range(num_heads))
                        self.out_proj = nn.Linear(embed_dim, embed_dim)

                    def forward(self, x, mask=None, context=None):
                        source = x if context is None else context
                        allowed = None if mask is None else ~mask
                        return self.out_proj(torch.cat([head(x, source, allowed) for head in self.heads], dim=-1))
                """
            ),
        ),
        _mistake(
            "other_names",
            "The layers have other names: q_proj, k_proj, v_proj and out_proj are asked for, so that weights can be loaded.",
            _m(("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "out")),
            _m(("q_proj", "W_q"), ("k_proj", "W_k"), ("v_proj", "W_v"), ("out_proj", "W_o")),
            _m(("out_proj", "o_proj")),
            _m(("out_proj", "proj")),
        ),
        _mistake(
            "bare_parameters",
            "The projections are bare matrices (nn.Parameter) instead of layers: nn.Linear(embed_dim, embed_dim) holds a weight and a bias and "
            "is called as `self.q_proj(x)`.",
            _m(
                (_LINEAR, "nn.Parameter(torch.randn(embed_dim, embed_dim))"),
                *(
                    (f"self.{n}({x})", f"({x} @ self.{n})")
                    for n, x in (
                        ("q_proj", "x"),
                        ("k_proj", "source"),
                        ("v_proj", "source"),
                        ("out_proj", "merge_heads(heads)"),
                    )
                ),
            ),
        ),
        _mistake(
            "shared_layers",
            "Several of the projections are one and the same layer: q_proj, k_proj and v_proj each have weights of their own.",
            _m(
                (f"self.k_proj = {_LINEAR}", "self.k_proj = self.q_proj"),
                (f"self.v_proj = {_LINEAR}", "self.v_proj = self.q_proj"),
            ),
            _m((f"self.k_proj = {_LINEAR}", "self.k_proj = self.q_proj")),
            _m((f"self.v_proj = {_LINEAR}", "self.v_proj = self.k_proj")),
        ),
        _mistake(
            "layers_in_a_list",
            "The layers are kept in a plain Python list or dictionary, where nn.Module cannot see them: no parameters, no training. Assign each "
            "to an attribute of its own.",
            written(
                """
                class MultiHeadAttention(nn.Module):
                    def __init__(self, embed_dim, num_heads):
                        super().__init__()
                        if embed_dim % num_heads != 0:
                            raise ValueError("embed_dim")
                        self.num_heads = num_heads
                        self.layers = [nn.Linear(embed_dim, embed_dim) for _ in range(4)]

                    def forward(self, x, mask=None, context=None):
                        source = x if context is None else context
                        Q, K, V = (split_heads(f(y), self.num_heads) for f, y in zip(self.layers, (x, source, source)))
                        allowed = None if mask is None else ~mask
                        return self.layers[3](merge_heads(F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)))
                """
            ),
        ),
        _mistake(
            "layers_made_in_forward",
            "The layers are made anew in every forward pass, so nothing that is learned or loaded is ever used.",
            _m(
                *[
                    (f"self.{n}({x})", f"nn.Linear(x.shape[-1], x.shape[-1])({x})")
                    for n, x in (("q_proj", "x"), ("k_proj", "source"), ("v_proj", "source"))
                ]
            ),
        ),
        _mistake(
            "query_key_swapped",
            "q_proj and k_proj are swapped: q_proj makes the queries from x, k_proj the keys.",
            _m(_core(query="K", key="Q")),
            _m((_Q, _Q.replace("q_proj", "k_proj")), (_K, _K.replace("k_proj", "q_proj"))),
        ),
        _mistake(
            "key_value_swapped",
            "Keys and values are swapped: k_proj makes what is compared, v_proj what is averaged.",
            _m((_SDPA, "F.scaled_dot_product_attention(Q, V, K, attn_mask=allowed)")),
        ),
        _mistake(
            "query_value_swapped",
            "Queries and values are swapped.",
            _m(_core(query="V", value="Q")),
        ),
        _mistake(
            "one_projection_for_two",
            "The same projection is used twice and another one never: queries, keys and values each go through their own layer.",
            _m((_V, _V.replace("v_proj", "k_proj"))),
            _m((_K, _K.replace("k_proj", "q_proj"))),
            _m((_V, _V.replace("v_proj", "q_proj"))),
            _m((_K, _K.replace("k_proj", "q_proj")), (_V, _V.replace("v_proj", "q_proj"))),
        ),
        _mistake(
            "unprojected",
            "The tokens go in as they are where a projection belongs: q_proj(x), k_proj and v_proj come first.",
            _m((_V, _V.replace("self.v_proj(source)", "source"))),
            _m((_Q, _Q.replace("self.q_proj(x)", "x"))),
            _m((_K, _K.replace("self.k_proj(source)", "source"))),
            _m(
                (_Q, _Q.replace("self.q_proj(x)", "x")),
                (_K, _K.replace("self.k_proj(source)", "source")),
                (_V, _V.replace("self.v_proj(source)", "source")),
            ),
        ),
        _mistake(
            "values_split_by_hand_twice",
            "Values are projected twice: out_proj comes after the heads are merged, v_proj before they are split, each once.",
            _m(
                (_V, _V.replace("self.v_proj(source)", "self.out_proj(self.v_proj(source))")),
                (_OUT, "return merge_heads(heads)"),
            ),
            _m((_V, _V.replace("self.v_proj(source)", "self.v_proj(self.v_proj(source))"))),
        ),
        # --- what does not belong here
        _mistake(
            "residual",
            "x is added to the output: the residual connection belongs to the block of notebook 08.",
            _returning("x + output"),
        ),
        _mistake(
            "normalised",
            "A layer norm is applied to the input or the output: it belongs to the block of notebook 08.",
            _m(_before("x = F.layer_norm(x, x.shape[-1:])")),
            _returning("F.layer_norm(output, output.shape[-1:])"),
        ),
        _mistake(
            "dropout",
            "Dropout is at work in training mode: none is asked for here.",
            _returning("F.dropout(output, 0.1, self.training)"),
            _m(
                (
                    _SDPA,
                    "F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, dropout_p=0.1 if self.training else 0.0)",
                )
            ),
            _m((_SDPA, "F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, dropout_p=0.1)")),
        ),
        _mistake(
            "activation",
            "An activation function is applied: projections and output are linear.",
            _returning("torch.relu(output)"),
            _m(
                ("self.q_proj(x)", "torch.relu(self.q_proj(x))"),
                ("self.k_proj(source)", "torch.relu(self.k_proj(source))"),
                ("self.v_proj(source)", "torch.relu(self.v_proj(source))"),
            ),
        ),
        _mistake(
            "weights_too",
            "The weights are returned as well: forward gives one tensor, (B, T, C).",
            _m(
                (
                    _OUT,
                    "weights = torch.softmax(Q @ K.mT, dim=-1)\n        return self.out_proj(merge_heads(heads)), weights",
                )
            ),
            _returning("(output, None)"),
        ),
        _mistake(
            "nothing_returned",
            "forward returns nothing (None): `return` the output.",
            _m((_OUT, "self.out_proj(merge_heads(heads))")),
        ),
        _mistake(
            "heads_returned",
            "The heads are never merged: the output is (B, T, C), with the heads side by side and then projected.",
            _m((_OUT, "return heads")),
            _m((_OUT, "return heads.transpose(1, 2)")),
        ),
        _mistake(
            "batch_second",
            "Attention runs over the batch: x is (B, T, C) here (nn.MultiheadAttention's default has the tokens first).",
            _m(
                _before("x = x.transpose(0, 1)", "context = None if context is None else context.transpose(0, 1)"),
                (_OUT, "return self.out_proj(merge_heads(heads)).transpose(0, 1)"),
            ),
        ),
        _mistake(
            "length_limited",
            "The number of tokens is limited by a fixed maximum: any T and S are allowed.",
            _m(_before("x = x[:, :16]")),
            _m(_before("if x.shape[1] > 32:", "    raise ValueError('too long')")),
            _m(_before("assert x.shape[1] <= 16")),
        ),
        # --- width that cannot be divided
        _mistake(
            "not_refused",
            "embed_dim that is not divisible by num_heads gives no ValueError, or only when the module is called: compare `embed_dim % num_heads` "
            "with 0 in `__init__`, and raise it there.",
            _m((_CHECK, "")),
            _m((_RAISE, "raise AssertionError('embed_dim')")),
            _m((_RAISE, "print('embed_dim must be divisible by num_heads')")),
            _m((_RAISE, "raise TypeError('embed_dim')")),
            _m((_CHECK, ""), _before("if x.shape[-1] % self.num_heads:", "    raise ValueError('embed_dim')")),
        ),
        _mistake(
            "refused_without_reason",
            "Sizes are refused that are right: every num_heads that divides embed_dim is allowed, 1 and embed_dim among them.",
            _m(("embed_dim % num_heads != 0", "embed_dim % num_heads == 0")),
            _m(("embed_dim % num_heads != 0", "num_heads % embed_dim != 0")),
            _m(("embed_dim % num_heads != 0", "embed_dim % num_heads != 0 or num_heads == 1")),
            _m(("embed_dim % num_heads != 0", "embed_dim % num_heads != 0 or embed_dim // num_heads % 2")),
        ),
        # --- manners
        _mistake(
            "detached",
            "Part of the computation is cut off (`detach`, `.data`, `no_grad`, NumPy), so that no gradient comes through it.",
            _returning("output.detach()"),
            _m((_SDPA, "F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed).detach()")),
            _m(("self.k_proj(source)", "self.k_proj(source).detach()")),
            _m((_SOURCE, "source = x if context is None else context.detach()")),
            _m((_SOURCE, "source = x.detach() if context is None else context.detach()")),
        ),
        _mistake(
            "dtype_changed",
            "The dtype is not kept (a `.float()`, or a new tensor made without dtype): float64 goes in, float64 comes out.",
            _returning("output.float()"),
            _m(_before("x = x.float()")),
            _m(
                (
                    _SDPA,
                    "F.scaled_dot_product_attention(Q.float(), K.float(), V.float(), attn_mask=allowed).to(x.dtype)",
                )
            ),
        ),
        _mistake(
            "device_dropped",
            "A tensor is made without `device=x.device`: on a GPU the call fails.",
            _m(
                _core(
                    "scores = Q @ K.transpose(-2, -1) / torch.full((1,), Q.shape[-1] ** 0.5, dtype=x.dtype)",
                    "if mask is not None:",
                    "    scores = scores.masked_fill(mask, float('-inf'))",
                    "heads = torch.softmax(scores, dim=-1) @ V",
                )
            ),
            _m(
                (
                    _ALLOWED,
                    "allowed = None if mask is None else torch.zeros(mask.shape, dtype=x.dtype).masked_fill(mask, float('-inf'))",
                )
            ),
        ),
        _mistake(
            "in_place",
            "x, the context or the mask is changed in place: the caller's tensor is different afterwards.",
            _m(_before("x -= x.mean()")),
            _m((_ALLOWED, "allowed = None if mask is None else mask.logical_not_()")),
            _m((_SOURCE, "source = x if context is None else context.mul_(1.5)")),
        ),
        _mistake(
            "parameters_changed",
            "Every call changes the parameters (`weight.data.div_`): the next call gives another result. Scale the scores instead.",
            _m(
                _before(
                    "self.q_proj.weight.data.div_((x.shape[-1] // self.num_heads) ** 0.5)",
                    "self.q_proj.bias.data.div_((x.shape[-1] // self.num_heads) ** 0.5)",
                ),
                _core(scale="1.0"),
            ),
        ),
        _mistake(
            "same_start",
            "Layers start alike (copied or constant weights): each needs random weights of its own, as nn.Linear makes them.",
            _m(
                (
                    _LAST,
                    _LAST
                    + "\n        for layer in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):\n            nn.init.zeros_(layer.weight)",
                )
            ),
            _m(
                (
                    _LAST,
                    _LAST
                    + "\n        for layer in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):\n            nn.init.ones_(layer.weight)",
                )
            ),
            _m((_LAST, _LAST + "\n        nn.init.zeros_(self.out_proj.weight)")),
            _m((_LAST, _LAST + "\n        self.k_proj.load_state_dict(self.q_proj.state_dict())")),
        ),
        _mistake(
            "no_super",
            "`super().__init__()` is missing: nn.Module must be set up before layers can be assigned.",
            _m((_SUPER, "")),
        ),
        _mistake(
            "not_a_module",
            "The class does not inherit from nn.Module: its layers cannot be found, moved, saved or trained.",
            _m(
                ("class MultiHeadAttention(nn.Module)", "class MultiHeadAttention"),
                (_SUPER, ""),
                ("def forward", "def __call__"),
            ),
        ),
        _mistake(
            "forward_misspelt",
            "There is no method `forward`: nn.Module calls the method of exactly this name.",
            _m(("def forward", "def foward")),
            _m(("def forward", "def __forward__")),
        ),
    ],
    alternatives=[
        Alternative(
            "written_out",
            _m(
                (_ALLOWED, "d_k = Q.shape[-1]"),
                _core(
                    "scores = torch.einsum('bhtd,bhsd->bhts', Q, K) * d_k**-0.5",
                    "if mask is not None:",
                    "    scores = scores.masked_fill(mask, -torch.inf)",
                    "heads = torch.einsum('bhts,bhsd->bhtd', scores.softmax(-1), V)",
                ),
            ),
        ),
        Alternative(
            "loop_over_heads",
            _mha(
                "if context is None:",
                "    context = x",
                "d_k = x.shape[-1] // self.num_heads",
                "Q, K, V = self.q_proj(x), self.k_proj(context), self.v_proj(context)",
                "outputs = []",
                "for h in range(self.num_heads):",
                "    columns = slice(h * d_k, (h + 1) * d_k)",
                "    scores = Q[..., columns] @ K[..., columns].transpose(1, 2) / d_k**0.5",
                "    if mask is not None:",
                "        blocked = mask.expand(x.shape[0], self.num_heads, *scores.shape[1:])[:, h]",
                "        scores = torch.where(blocked, float('-inf'), scores)",
                "    outputs.append(scores.softmax(dim=2) @ V[..., columns])",
                "return self.out_proj(torch.cat(outputs, dim=-1))",
            ),
        ),
        Alternative(
            "additive_mask",
            _m(
                (
                    _ALLOWED,
                    "allowed = None\n        if mask is not None:\n            allowed = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(mask, float('-inf'))",
                ),
            ),
        ),
        Alternative(
            "sum_of_heads",
            _mha(
                "context = x if context is None else context",
                "Q, K, V = (split_heads(y, self.num_heads) for y in (self.q_proj(x), self.k_proj(context), self.v_proj(context)))",
                "heads = F.scaled_dot_product_attention(Q, K, V, None if mask is None else mask.logical_not())",
                "rows = self.out_proj.weight.T.reshape(self.num_heads, -1, x.shape[-1])",
                "return (heads @ rows).sum(dim=1) + self.out_proj.bias",
            ),
        ),
        Alternative(
            "fused_by_hand",
            _mha(
                "B, T, C = x.shape",
                "H, d_k = self.num_heads, C // self.num_heads",
                "if context is None:",
                "    weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])",
                "    bias = torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias])",
                "    q, k, v = F.linear(x, weight, bias).split(C, dim=2)",
                "else:",
                "    q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)",
                "q = q.view(B, T, H, d_k).transpose(1, 2)",
                "k = k.view(B, -1, H, d_k).transpose(1, 2)",
                "v = v.view(B, -1, H, d_k).transpose(1, 2)",
                "att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))",
                "if mask is not None:",
                "    att = att.masked_fill(mask, float('-inf'))",
                "y = F.softmax(att, dim=-1) @ v",
                "return self.out_proj(y.transpose(1, 2).contiguous().view(B, T, C))",
            ),
        ),
    ],
)


# --- copy_from_torch --------------------------------------------------------------------------------------------------

_THEIRS = """
def theirs(embed_dim, num_heads, batch_first):
    return nn.MultiheadAttention(embed_dim, num_heads, batch_first=batch_first)
"""
MODULES = ((6, 2, True), (4, 4, True), (5, 1, False), (12, 3, True))  # (C, H, batch_first)


def _pair(student: Any, C: int, H: int, batch_first: bool, dtype: str = "") -> tuple[Any, Any, dict[str, torch.Tensor]]:
    """mine and theirs, with different weights, and the weights of theirs under the names of mine."""
    mine = _built(student, C, H, dtype)[0]
    theirs = student.call(student.probe("theirs", _THEIRS), [C, H, batch_first], keep=True)["value"]
    if dtype:
        student.move(theirs, dtype)
    state = _weights_for(C, torch.float64 if dtype else torch.float32)
    student.load(theirs, _stacked(state))
    return mine, theirs, state


def _copied(student: Any, mine: Any, state: dict[str, torch.Tensor], where: str) -> None:
    parameters = student.state(mine)["parameters"]
    for name, value in state.items():
        got = parameters.get(name)
        if not isinstance(got, torch.Tensor):
            raise Wrong(f"mine has lost its parameter `{name}` {where}: copy values into the layers that are there.")
        same_tensor(got, value, f"`{name}` of mine", where)


def _copy_values(student: Any) -> None:
    for C, H, batch_first in MODULES:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            where = f"for embed_dim = {C}, num_heads = {H}"
            _copy(student, mine, theirs, where)
            student.state(theirs)  # what has become of theirs tells mistakes apart
            _copied(student, mine, state, where)


def _copy(student: Any, mine: Any, theirs: Any, where: str = "") -> None:
    """Copy. What was copied before an error, and what is copied where nothing needs gradients, tell mistakes apart."""
    try:
        student.value("copy_from_torch", mine, theirs, where=where)
    except Wrong:
        student.state(mine)
        for module in (mine, theirs):
            student.call((module, "requires_grad_"), [False])
        with contextlib.suppress(Wrong):
            student.value("copy_from_torch", mine, theirs)
        student.state(mine)
        raise


def _copy_output(student: Any) -> None:
    for C, H, batch_first in MODULES:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            _copy(student, mine, theirs)
            x, context, where = normal(2, 5, C), normal(2, 5, C), f"for embed_dim = {C}, num_heads = {H}"
            for given, tokens in ((None, x), (context, context)):
                expected = _torchs(state, H)(x, tokens, tokens, attn_mask=_future(5), need_weights=False)[0].detach()
                got = a_tensor(student.value(mine, x, _future(5), given, where=where), "The output of mine")
                if got.shape != expected.shape or not close(got, expected):
                    raise Wrong(f"mine does not give the output of theirs {where}.")


def _copy_independent(student: Any) -> None:
    """Values are copied, not shared: a step of training in one is not felt by the other."""
    for C, H, batch_first in MODULES[:3]:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            _copy(student, mine, theirs)
            _copied(student, mine, state, "")
            _unmoved(student, theirs, _stacked(state), "theirs is changed by the copying: only mine should be.")
            student.load(mine, _weights_for(C))
            shared = "mine and theirs share their numbers: training mine changes theirs too. Copy values (`copy_`, or `clone` first)."
            _unmoved(student, theirs, _stacked(state), shared)
            _copy(student, mine, theirs)
            student.load(theirs, _stacked(_weights_for(C)))
            _unmoved(student, mine, state, shared)


def _unmoved(student: Any, module: Any, state: dict[str, torch.Tensor], sentence: str) -> None:
    parameters = student.state(module)["parameters"]
    for name, value in state.items():
        got = parameters.get(name)
        if not isinstance(got, torch.Tensor) or got.shape != value.shape or not torch.equal(got, value):
            raise Wrong(sentence)


def _copy_trainable(student: Any) -> None:
    mine, theirs, state = _pair(student, 6, 2, True)
    _copy(student, mine, theirs)
    _copied(student, mine, state, "")
    for module, who, names in ((mine, "mine", state), (theirs, "theirs", _stacked(state))):
        after = student.state(module)
        frozen = sorted(set(names) - set(after["trainable"]))
        if frozen:
            raise Wrong(
                f"`{frozen[0]}` of {who} can no longer be trained: it should stay a parameter that requires gradients."
            )
        extra = sorted(set(after["parameters"]) - set(names))
        if extra:
            raise Wrong(f"{who} has a parameter more than before: {str(extra[0])[:60]}.")
    x, upstream = normal(2, 4, 6), normal(2, 4, 6)
    grads = student.call(mine, [x], upstream=[upstream])["gradients"].get("parameters", {})
    if any(not isinstance(grads.get(name), torch.Tensor) for name in state):
        raise Wrong("After the copying, gradients no longer reach every parameter of mine.")


def _copy_manners(student: Any) -> None:
    mine, theirs, state = _pair(student, 6, 3, True, "float64")
    _copy(student, mine, theirs)
    _copied(student, mine, state, "in float64")
    with student.case():
        mine, theirs, state = _pair(student, 4, 2, True)
        student.value("copy_from_torch", mine=mine, theirs=theirs)
        _copied(student, mine, state, "with the arguments given by name")
    with student.case():
        _copy(student, mine, theirs)
        _copied(student, mine, state, "when copied a second time")


def _c(*edits: tuple[str, str]) -> str:
    return edited(copy_from_torch, *edits)


def _copying(*lines: str) -> str:
    return _function("copy_from_torch(mine, theirs)", *lines)


_ORDER = "layers = (mine.q_proj, mine.k_proj, mine.v_proj)"
_WEIGHT = "layer.weight.copy_(weight)"
_BIAS = "layer.bias.copy_(bias)"
_OUT_WEIGHT = "mine.out_proj.weight.copy_(theirs.out_proj.weight)"
_OUT_BIAS = "mine.out_proj.bias.copy_(theirs.out_proj.bias)"
_NO_GRAD = "with torch.no_grad():"
_OUT_BOTH = f"        {_OUT_WEIGHT}\n        {_OUT_BIAS}\n"

COPY_FROM_TORCH = Exercise(
    name="copy_from_torch",
    notebook="07-multi-head",
    points=4,
    reference=copy_from_torch,
    checks=[
        Check("every weight and bias in its place", 1.5, _copy_values),
        Check("the same output afterwards", 1.0, _copy_output),
        Check("copied, not shared; theirs unchanged", 0.75, _copy_independent),
        Check("mine can still be trained", 0.5, _copy_trainable),
        Check("float64, arguments by name", 0.25, _copy_manners),
    ],
    working=written(
        """
        import torch

        def copy_from_torch(mine, theirs):
            state = {f"out_proj.{part}": value for part, value in theirs.out_proj.state_dict().items()}
            for part in ("weight", "bias"):
                stacked = theirs.state_dict()[f"in_proj_{part}"]
                state |= {f"{n}_proj.{part}": t for n, t in zip("qkv", stacked.tensor_split(3))}
            mine.load_state_dict(state)
        """
    ),
    mistakes=[
        _mistake(
            "order_of_stack",
            "The three thirds go to the wrong layers: in_proj_weight holds the queries' rows first, then the keys', then the values'.",
            *[
                _c((_ORDER, f"layers = (mine.{a}_proj, mine.{b}_proj, mine.{c}_proj)"))
                for a, b, c in ("kqv", "qvk", "vkq", "kvq", "vqk")
            ],
            _c(("theirs.in_proj_bias.chunk(3)", "[theirs.in_proj_bias.chunk(3)[n] for n in (0, 2, 1)]")),
            _c(("theirs.in_proj_bias.chunk(3)", "[theirs.in_proj_bias.chunk(3)[n] for n in (1, 0, 2)]")),
        ),
        _mistake(
            "one_forgotten",
            "One of the projections is not copied: queries, keys and values each get their third of the stack.",
            *[
                _c((_ORDER, f"layers = (mine.{a}_proj, mine.{b}_proj)"), ("strict=True", "strict=False"))
                for a, b in ("qk",)
            ],
            *[
                _c(
                    (
                        _ORDER,
                        f"import copy\n    layers = [mine.q_proj, mine.k_proj, mine.v_proj]\n    layers[{n}] = copy.deepcopy(layers[{n}])",
                    )
                )
                for n in (0, 1)
            ],
        ),
        _mistake(
            "transposed",
            "The matrices are transposed: both modules keep weights as (out, in), so they are copied as they are.",
            _c((_WEIGHT, "layer.weight.copy_(weight.T)")),
            _c(
                (_WEIGHT, "layer.weight.copy_(weight.T)"),
                (_OUT_WEIGHT, _OUT_WEIGHT.replace("theirs.out_proj.weight", "theirs.out_proj.weight.T")),
            ),
            _c((_OUT_WEIGHT, _OUT_WEIGHT.replace("theirs.out_proj.weight", "theirs.out_proj.weight.T"))),
        ),
        _mistake(
            "shapes_do_not_fit",
            "What is copied does not have the shape of the parameter it goes to. in_proj_weight is (3C, C) and holds three projections, C rows each: cut it "
            "along its rows (dim=0), whatever C is.",
            _c(("in_proj_weight.chunk(3)", "in_proj_weight.chunk(3, dim=1)")),
            *[
                _c(
                    ("theirs.in_proj_weight.chunk(3)", f"theirs.in_proj_weight.split({n})[:3]"),
                    ("theirs.in_proj_bias.chunk(3)", f"theirs.in_proj_bias.split({n})[:3]"),
                )
                for n in (512, 64, 4, 8)
            ],
            _copying(
                "with torch.no_grad():",
                "    for a, b in zip(mine.parameters(), theirs.parameters()):",
                "        a.copy_(b)",
            ),
            _c((".chunk(3)  # three times (C, C)", ".chunk(4)"), (".chunk(3)  # three times (C,)", ".chunk(4)")),
        ),
        _mistake(
            "interleaved",
            "Every third row is taken for each projection: the rows of one projection stand together, C in a row.",
            _c(
                ("theirs.in_proj_weight.chunk(3)", "[theirs.in_proj_weight[n::3] for n in range(3)]"),
                ("theirs.in_proj_bias.chunk(3)", "[theirs.in_proj_bias[n::3] for n in range(3)]"),
            ),
            _c(("in_proj_weight.chunk(3)", "in_proj_weight.reshape(theirs.embed_dim, -1).chunk(3, dim=1)")),
        ),
        _mistake(
            "by_heads",
            "The stack is cut by heads (q, k and v of head 0, then of head 1 …): in PyTorch all queries come first, then all keys, then all values.",
            _c(
                (
                    "theirs.in_proj_weight.chunk(3)",
                    "theirs.in_proj_weight.view(theirs.num_heads, 3, -1, theirs.embed_dim).transpose(0, 1).reshape(3, theirs.embed_dim, -1)",
                ),
                (
                    "theirs.in_proj_bias.chunk(3)",
                    "theirs.in_proj_bias.view(theirs.num_heads, 3, -1).transpose(0, 1).reshape(3, -1)",
                ),
            ),
        ),
        _mistake(
            "biases_forgotten",
            "The biases are not copied (in_proj_bias, out_proj.bias): they are zero in a fresh nn.MultiheadAttention, so the difference shows "
            "only after training.",
            _c((f"            {_BIAS}\n", "")),
            _c((f"            {_BIAS}\n", ""), (f"        {_OUT_BIAS}\n", "")),
            _c((f"        {_OUT_BIAS}\n", "")),
        ),
        _mistake(
            "biases_zeroed",
            "The biases of mine are set to zero: theirs may have others, copy them.",
            _c((_BIAS, "layer.bias.zero_()")),
            _c((_BIAS, "layer.bias.zero_()"), (_OUT_BIAS, "mine.out_proj.bias.zero_()")),
            _c((_OUT_BIAS, "mine.out_proj.bias.zero_()")),
        ),
        _mistake(
            "out_proj_forgotten",
            "out_proj is not copied: it has a weight and a bias too.",
            _c((_OUT_BOTH, "")),
            _c((f"        {_OUT_WEIGHT}\n", "")),
        ),
        _mistake(
            "only_out_proj",
            "Only out_proj is copied: queries, keys and values come from in_proj_weight and in_proj_bias.",
            _c((_WEIGHT, "pass"), (_BIAS, "pass")),
            _copying(
                "own = mine.state_dict()",
                "own.update({k: v for k, v in theirs.state_dict().items() if k in own})",
                "mine.load_state_dict(own)",
            ),
            _copying("mine.load_state_dict(theirs.state_dict(), strict=False)"),
        ),
        _mistake(
            "state_dict_whole",
            "`load_state_dict` of the whole fails: theirs has q, k and v in one matrix in_proj_weight, mine in three layers. Cut it first.",
            _copying("mine.load_state_dict(theirs.state_dict())"),
        ),
        _mistake(
            "attributes_of_theirs",
            "theirs has no q_proj (nor q_proj.weight): its three projections are stacked in in_proj_weight and in_proj_bias.",
            _copying(
                "with torch.no_grad():",
                "    for name in ('q_proj', 'k_proj', 'v_proj', 'out_proj'):",
                "        getattr(mine, name).weight.copy_(getattr(theirs, name).weight)",
                "        getattr(mine, name).bias.copy_(getattr(theirs, name).bias)",
            ),
        ),
        _mistake(
            "first_third_for_all",
            "All three projections get the same third of the stack: rows 0 to C are the queries', C to 2C the keys', 2C to 3C the values'.",
            _c(
                (".chunk(3)  # three times (C, C)", ".chunk(3)[:1] * 3"),
                (".chunk(3)  # three times (C,)", ".chunk(3)[:1] * 3"),
            ),
            _c((".chunk(3)  # three times (C, C)", ".chunk(3)[:1] * 3")),
            _c((".chunk(3)  # three times (C,)", ".chunk(3)[:1] * 3")),
            _c((".chunk(3)  # three times (C, C)", ".chunk(3)[0:2] + theirs.in_proj_weight.chunk(3)[1:2]")),
            _c(
                (".chunk(3)  # three times (C, C)", ".chunk(3)[0:2] + theirs.in_proj_weight.chunk(3)[1:2]"),
                (".chunk(3)  # three times (C,)", ".chunk(3)[0:2] + theirs.in_proj_bias.chunk(3)[1:2]"),
            ),
        ),
        _mistake(
            "shared",
            "mine and theirs share memory (an assignment instead of a copy): training one changes the other. Copy the values (`copy_`, `clone`).",
            _c(
                (_WEIGHT, "layer.weight.data = weight"),
                (_BIAS, "layer.bias.data = bias"),
                (_OUT_WEIGHT, "mine.out_proj.weight.data = theirs.out_proj.weight.data"),
                (_OUT_BIAS, "mine.out_proj.bias.data = theirs.out_proj.bias.data"),
            ),
            _c(
                (_WEIGHT, "layer.weight = nn.Parameter(weight)"),
                (_BIAS, "layer.bias = nn.Parameter(bias)"),
                (_OUT_WEIGHT, "mine.out_proj.weight = theirs.out_proj.weight"),
                (_OUT_BIAS, "mine.out_proj.bias = theirs.out_proj.bias"),
            ),
            _c((_OUT_BOTH, "        mine.out_proj = theirs.out_proj\n")),
            _c((_WEIGHT, "layer.weight.data = weight"), (_BIAS, "layer.bias.data = bias")),
            _c((_WEIGHT, "layer.weight = nn.Parameter(weight)"), (_BIAS, "layer.bias = nn.Parameter(bias)")),
            _c(
                (_OUT_WEIGHT, "mine.out_proj.weight = theirs.out_proj.weight"),
                (_OUT_BIAS, "mine.out_proj.bias = theirs.out_proj.bias"),
            ),
        ),
        _mistake(
            "wrong_direction",
            "The copy goes the wrong way: theirs is changed. `mine.….copy_(theirs.…)` writes into mine.",
            _c(
                (_WEIGHT, "weight.copy_(layer.weight)"),
                (_BIAS, "bias.copy_(layer.bias)"),
                (_OUT_WEIGHT, "theirs.out_proj.weight.copy_(mine.out_proj.weight)"),
                (_OUT_BIAS, "theirs.out_proj.bias.copy_(mine.out_proj.bias)"),
            ),
        ),
        _mistake(
            "names_rebound",
            "Nothing is copied: `w = …` only gives a name to another tensor. Write into the parameter: `layer.weight.copy_(…)`.",
            _c(
                (_WEIGHT, "w = layer.weight\n            w = weight"),
                (_BIAS, "b = layer.bias\n            b = bias"),
                (_OUT_WEIGHT, "w = theirs.out_proj.weight"),
                (_OUT_BIAS, "b = theirs.out_proj.bias"),
            ),
            _c(
                (_WEIGHT, "layer.weight.clone().copy_(weight)"),
                (_BIAS, "layer.bias.clone().copy_(bias)"),
                (_OUT_BOTH, ""),
            ),
        ),
        _mistake(
            "no_grad_missing",
            "Writing into a parameter in place needs `with torch.no_grad():`, otherwise autograd refuses it.",
            _c((_NO_GRAD, "if True:")),
        ),
        _mistake(
            "not_a_parameter",
            "A parameter is given what it cannot take: a plain tensor (`layer.weight = tensor`: use `copy_`, or nn.Parameter), or None (theirs' "
            "q_proj_weight is None, because its projections are stacked in in_proj_weight).",
            _c((_WEIGHT, "layer.weight = weight.clone()"), (_BIAS, "layer.bias = bias.clone()")),
            _c(
                (_WEIGHT, "del layer.weight\n            layer.weight = weight.clone()"),
                (_BIAS, "del layer.bias\n            layer.bias = bias.clone()"),
            ),
            _copying(
                "with torch.no_grad():",
                "    mine.q_proj.weight.copy_(theirs.q_proj_weight)",
                "    mine.k_proj.weight.copy_(theirs.k_proj_weight)",
                "    mine.v_proj.weight.copy_(theirs.v_proj_weight)",
            ),
        ),
        _mistake(
            "frozen",
            "The copied parameters no longer require gradients, so that mine cannot be trained.",
            _c(
                (
                    _OUT_BOTH,
                    _OUT_BOTH + "    for parameter in mine.parameters():\n        parameter.requires_grad_(False)\n",
                )
            ),
            _c(
                (_WEIGHT, "layer.weight = nn.Parameter(weight.clone(), requires_grad=False)"),
                (_BIAS, "layer.bias = nn.Parameter(bias.clone(), requires_grad=False)"),
            ),
            _c((_WEIGHT, "layer.weight = nn.Parameter(weight.clone(), requires_grad=False)")),
        ),
        _mistake(
            "theirs_frozen",
            "theirs is changed: its parameters are set to requires_grad=False. It should stay as it is.",
            _c((_NO_GRAD, "theirs.requires_grad_(False)\n    " + _NO_GRAD)),
        ),
        _mistake(
            "copy_returned",
            "A new module is made and returned while mine stays as it was: change mine itself.",
            _c(
                (_ORDER, "import copy\n    mine = copy.deepcopy(mine)\n    " + _ORDER),
                (_OUT_BOTH, _OUT_BOTH + "    return mine\n"),
            ),
        ),
        _mistake(
            "scaled",
            "The numbers are scaled on the way (by the root of d_k, say): both modules divide the scores by themselves.",
            _c(
                (
                    _OUT_BOTH,
                    _OUT_BOTH + "        mine.q_proj.weight.div_((theirs.embed_dim // theirs.num_heads) ** 0.5)\n",
                )
            ),
            _c(
                (
                    _OUT_BOTH,
                    _OUT_BOTH
                    + "        mine.q_proj.weight.div_(theirs.head_dim**0.5)\n        mine.q_proj.bias.div_(theirs.head_dim**0.5)\n",
                )
            ),
        ),
        _mistake(
            "averaged",
            "The numbers are added to those of mine: the old ones must be overwritten (`copy_`).",
            _c(
                (_WEIGHT, "layer.weight.add_(weight)"),
                (_BIAS, "layer.bias.add_(bias)"),
                (_OUT_WEIGHT, "mine.out_proj.weight.add_(theirs.out_proj.weight)"),
                (_OUT_BIAS, "mine.out_proj.bias.add_(theirs.out_proj.bias)"),
            ),
            _c((_WEIGHT, "layer.weight.add_(weight)")),
            _c((_WEIGHT, "layer.weight.add_(weight)"), (_BIAS, "layer.bias.add_(bias)")),
        ),
        _mistake(
            "dtype_changed",
            "The copied numbers are float32 whatever theirs has: copy_ keeps the dtype of the layer, `.float()` does not.",
            _c((_WEIGHT, "layer.weight.copy_(weight.float())")),
            _c(
                (_WEIGHT, "layer.weight.data = weight.detach().float().clone()"),
                (_BIAS, "layer.bias.data = bias.detach().float().clone()"),
            ),
        ),
    ],
    alternatives=[
        Alternative(
            "data_and_slices",
            _copying(
                "C = theirs.embed_dim",
                "mine.q_proj.weight.data.copy_(theirs.in_proj_weight[:C])",
                "mine.k_proj.weight.data.copy_(theirs.in_proj_weight[C : 2 * C])",
                "mine.v_proj.weight.data.copy_(theirs.in_proj_weight[2 * C :])",
                "mine.q_proj.bias.data.copy_(theirs.in_proj_bias[:C])",
                "mine.k_proj.bias.data.copy_(theirs.in_proj_bias[C : 2 * C])",
                "mine.v_proj.bias.data.copy_(theirs.in_proj_bias[2 * C :])",
                "mine.out_proj.weight.data.copy_(theirs.out_proj.weight)",
                "mine.out_proj.bias.data.copy_(theirs.out_proj.bias)",
            ),
        ),
        Alternative(
            "new_parameters",
            _copying(
                "weights, biases = theirs.in_proj_weight.detach().split(theirs.embed_dim), theirs.in_proj_bias.detach().split(theirs.embed_dim)",
                "for n, layer in enumerate([mine.q_proj, mine.k_proj, mine.v_proj]):",
                "    layer.weight = nn.Parameter(weights[n].clone())",
                "    layer.bias = nn.Parameter(biases[n].clone())",
                "import copy",
                "mine.out_proj.load_state_dict(copy.deepcopy(theirs.out_proj.state_dict()))",
            ),
        ),
        Alternative(
            "load_state_dict",
            _copying(
                "theirs = theirs.state_dict()",
                "state = {'out_proj.weight': theirs['out_proj.weight'], 'out_proj.bias': theirs['out_proj.bias']}",
                "for part in ('weight', 'bias'):",
                "    q, k, v = theirs['in_proj_' + part].chunk(3, dim=0)",
                "    state.update({'q_proj.' + part: q, 'k_proj.' + part: k, 'v_proj.' + part: v})",
                "mine.load_state_dict(state)",
                "return mine",
            ),
        ),
        Alternative(
            "data_assigned",
            _copying(
                "q, k, v = theirs.in_proj_weight.data.clone().chunk(3)",
                "mine.q_proj.weight.data, mine.k_proj.weight.data, mine.v_proj.weight.data = q, k, v",
                "q, k, v = theirs.in_proj_bias.data.clone().chunk(3)",
                "mine.q_proj.bias.data, mine.k_proj.bias.data, mine.v_proj.bias.data = q, k, v",
                "mine.out_proj.weight.data = theirs.out_proj.weight.data.clone()",
                "mine.out_proj.bias.data = theirs.out_proj.bias.data.clone()",
            ),
        ),
    ],
)


# --- attention_parameters ---------------------------------------------------------------------------------------------


def _same_count(got: Any, expected: int, where: str) -> None:
    if isinstance(got, bool) or not isinstance(got, int):
        hint = ": numbers of parameters are whole" if isinstance(got, float) else ""
        raise Wrong(f"The number of parameters should be an int {where}; yours is {kind(got)}{hint}.")
    if got != expected:
        raise Wrong(f"The number of parameters is too {'large' if got > expected else 'small'} {where}.")


def _count_with(student: Any) -> None:
    for C in (1, 2, 3, 8, 10, 64, 512, 768):
        with student.case():
            where = f"for embed_dim = {C}, with biases"
            _same_count(student.value("attention_parameters", C, where=where), 4 * C * C + 4 * C, where)
    with student.case():
        _same_count(student.value("attention_parameters", 6, True), 168, "with bias=True given by position")


def _count_without(student: Any) -> None:
    for C in (1, 2, 3, 8, 10, 64, 512):
        with student.case():
            where = f"for embed_dim = {C}, with bias=False"
            _same_count(student.value("attention_parameters", C, bias=False, where=where), 4 * C * C, where)
    with student.case():
        _same_count(student.value("attention_parameters", 6, False), 144, "with bias=False given by position")
    with student.case():
        _same_count(student.value("attention_parameters", embed_dim=5, bias=False), 100, "with arguments given by name")


def _a(*edits: tuple[str, str]) -> str:
    return edited(attention_parameters, *edits)


_SUM = "return 4 * (weights + biases)"

ATTENTION_PARAMETERS = Exercise(
    name="attention_parameters",
    notebook="07-multi-head",
    points=2,
    reference=attention_parameters,
    checks=[
        Check("with biases", 1.2, _count_with),
        Check("without biases", 0.8, _count_without),
    ],
    working=written(
        """
        from torch import nn

        def attention_parameters(embed_dim, bias=True):
            module = nn.MultiheadAttention(embed_dim, 1, bias=bias, device="meta")
            return sum(p.numel() for p in module.parameters())
        """
    ),
    mistakes=[
        _mistake(
            "output_forgotten",
            "Only three projections are counted: the output projection is the fourth.",
            _a((_SUM, "return 3 * (weights + biases)")),
            _a((_SUM, "return 3 * weights + 4 * biases")),
        ),
        _mistake(
            "three_biases",
            "One bias too few, or only one in all: each of the four layers has C biases.",
            _a((_SUM, "return 4 * weights + 3 * biases")),
            _a((_SUM, "return 4 * weights + biases")),
        ),
        _mistake(
            "bias_as_matrix",
            "A bias counts as much as a matrix: it is a vector, C numbers for a layer with C outputs.",
            _a(("biases = embed_dim if", "biases = embed_dim * embed_dim if")),
        ),
        _mistake(
            "one_number_per_bias",
            "A bias counts as one number (4 in all): a layer with C outputs has C biases.",
            _a(("biases = embed_dim if", "biases = 1 if")),
        ),
        _mistake(
            "bias_ignored",
            "`bias` makes no difference: with bias=False the 4C biases are not there.",
            _a((" if bias else 0", "")),
            _a(("embed_dim if bias else 0", "0")),
        ),
        _mistake(
            "bias_inverted",
            "bias=True and bias=False are swapped.",
            _a(("embed_dim if bias else 0", "0 if bias else embed_dim")),
        ),
        _mistake(
            "conditional_for_all",
            "`a + b if bias else 0` means `(a + b) if bias else 0`: put the conditional in brackets, a + (b if bias else 0).",
            _a((_SUM, "return 4 * weights + 4 * biases if bias else 0")),
            _a((_SUM, "return 4 * weights + 4 * biases if bias else None")),
        ),
        _mistake(
            "caret",
            "`^` is no power in Python (it is exclusive or): write `embed_dim ** 2` or `embed_dim * embed_dim`.",
            _a((_SUM, "return 4 * embed_dim ^ 2 + 4 * biases")),
            _a(("embed_dim * embed_dim", "(embed_dim ^ 2)")),
        ),
        _mistake(
            "bias_default",
            "The default of `bias` is not True: the signature is attention_parameters(embed_dim, bias=True).",
            _a(("bias=True", "bias=False")),
        ),
        _mistake(
            "bias_not_a_parameter",
            "`bias` is not a parameter, or has no default: the signature is attention_parameters(embed_dim, bias=True).",
            _a(("embed_dim, bias=True", "embed_dim"), (" if bias else 0", "")),
            _a(("embed_dim, bias=True", "embed_dim, bias")),
        ),
        _mistake(
            "one_projection",
            "Only one projection is counted: there are four, for queries, keys, values and output.",
            _a((_SUM, "return weights + biases")),
        ),
        _mistake(
            "square_of_sum",
            "The four is squared too, or C is not: a layer from C to C has C · C weights, and there are four of them.",
            _a(("embed_dim * embed_dim", "(4 * embed_dim) ** 2"), (_SUM, "return weights + 4 * biases")),
            _a(("embed_dim * embed_dim", "embed_dim")),
            _a(("embed_dim * embed_dim", "2 * embed_dim")),
        ),
        _mistake(
            "times_heads",
            "The projections are counted once for each head: the heads share the width, so their number plays no part.",
            _a(
                ("embed_dim, bias=True", "embed_dim, bias=True, num_heads=8"),
                (_SUM, "return num_heads * 3 * (weights + biases) + weights + biases"),
            ),
            _a(
                ("embed_dim, bias=True", "embed_dim, bias=True, num_heads=8"),
                (_SUM, "return 4 * num_heads * (weights + biases)"),
            ),
        ),
        _mistake(
            "whole_block",
            "A whole block is counted (12C²): here only the attention, without feed-forward network and norms.",
            _a((_SUM, "return 12 * weights + 13 * biases")),
            _a((_SUM, "return 12 * weights")),
            _a((_SUM, "return 4 * (weights + biases) + 4 * embed_dim")),
        ),
        _mistake(
            "bytes",
            "The result is in bytes or in millions: the number of parameters is asked for.",
            _a((_SUM, "return 4 * 4 * (weights + biases)")),
            _a((_SUM, "return 4 * (weights + biases) // 1_000_000")),
        ),
        _mistake(
            "float",
            "The result is not an int (a division, `**` with a float, a tensor): numbers of parameters are whole.",
            _a((_SUM, "return 4.0 * (weights + biases)")),
            _a((_SUM, "return torch.tensor(4 * (weights + biases))")),
        ),
        _mistake(
            "text",
            "The result is a text: return the number itself.",
            _a((_SUM, "return f'{4 * (weights + biases):,}'")),
            _a((_SUM, "return str(4 * (weights + biases))")),
        ),
        _mistake(
            "pair",
            "Weights and biases are returned apart: one number is asked for, their sum.",
            _a((_SUM, "return 4 * weights, 4 * biases")),
        ),
        _mistake(
            "size_fixed",
            "The result does not depend on embed_dim: it is the count of one particular size.",
            _a((_SUM, "return 4 * (512 * 512 + 512) if bias else 4 * 512 * 512")),
            _a((_SUM, "return 4 * (768 * 768 + 768) if bias else 4 * 768 * 768")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the number (printing it is not enough).",
            _a((_SUM, "print(4 * (weights + biases))")),
        ),
    ],
    alternatives=[
        Alternative(
            "one_line",
            _function(
                "attention_parameters(embed_dim, bias=True)", "return 4 * embed_dim**2 + (4 * embed_dim if bias else 0)"
            ),
        ),
        Alternative(
            "booleans_are_numbers",
            _function(
                "attention_parameters(embed_dim: int, bias: bool = True) -> int",
                "return 4 * embed_dim * (embed_dim + bias)",
            ),
        ),
        Alternative(
            "counted",
            _function(
                "attention_parameters(embed_dim, bias=True)",
                "layers = [nn.Linear(embed_dim, embed_dim, bias=bias, device='meta') for _ in range(4)]",
                "return sum(p.numel() for layer in layers for p in layer.parameters())",
            ),
        ),
    ],
)


EXERCISES = [SPLIT_HEADS, MERGE_HEADS, MULTI_HEAD_ATTENTION, COPY_FROM_TORCH, ATTENTION_PARAMETERS]
QUESTIONS = [
    Question(
        name="q7_1",
        notebook="07-multi-head",
        points=1,
        key="B",
        explanations={
            "A": (
                "That is what head 1 should hold first. But view does not know what a head is: it reads the "
                "numbers in the order in which they lie in memory. How many numbers has head 0 used up before "
                "head 1 begins?"
            ),
            "B": (
                "Yes. Head 0 takes the first 6 x 4 = 24 numbers in memory, which are all eight features of "
                "tokens 0, 1 and 2. Head 1 begins with number 24: token 3, feature 0. The heads have become two "
                "halves of the text."
            ),
            "C": (
                "So it would be if head 0 had used up a single token. But head 0 has T = 6 rows of 4 numbers: "
                "count how many tokens of 8 numbers that is."
            ),
            "D": (
                "The token is well chosen, but why should the first four features be skipped? Count how many "
                "numbers head 0 takes, and divide by the 8 numbers of a token: what is left over?"
            ),
        },
    ),
    Question(
        name="q7_2",
        notebook="07-multi-head",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. The decoder asks, the source answers: one output per target word, each a mixture of source "
                "values. The whole source is known before the first word is written, so no source word is a "
                "forbidden future."
            ),
            "B": (
                "Source and target have changed places. If the queries came from the source, there would be one "
                "output for each source word: how many outputs does a decoder need that has written T words?"
            ),
            "C": (
                "Keys and values must have the same length, since a weight computed from key s is applied to "
                "value s. If the keys came from the target, which weight would belong to source word 7?"
            ),
            "D": (
                "The roles are right. But ask what the mask is for: it hides what will not be known when the "
                "model writes. Which words of the sentence to be translated are unknown at that moment?"
            ),
        },
    ),
    Question(
        name="q7_3",
        notebook="07-multi-head",
        points=1,
        key="C",
        explanations={
            "A": (
                "Eight heads sound like eight layers, and eight full-width layers would cost that much. But each "
                "head is only 8 wide here: count the rows of the query projection for one head, and then for all "
                "of them."
            ),
            "B": (
                "The columns are indeed divided, but look at what is divided: not x, but the queries, keys and "
                "values, after the projections. On how many features of x does one number of a query depend?"
            ),
            "C": (
                "Yes. The projections stay C x C and are merely cut into eight parts, so the cost does not "
                "change. Each part has its own softmax, and the price is that each score is a product of 8 "
                "numbers instead of 64."
            ),
            "D": (
                "Dividing the work by positions sounds natural, and a wrong reshape does just that. But after a "
                "right split the shape is (B, H, T, d_k): how many positions does each head hold?"
            ),
        },
    ),
]
