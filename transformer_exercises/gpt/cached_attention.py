"""`cached_attention`: new tokens against kept keys and values, in one piece or many."""

import functools
from typing import Any

import torch
from torch import nn

from autograder.spec import (
    Check,
    Exercise,
    Problem,
    Reply,
    Student,
    a_pair,
    a_tensor,
    define_in_judge,
    device_is_kept,
    each,
    future,
    gradients_of,
    normal,
    reference,
    refusing,
    same_gradients,
    same_tensor,
    unchanged,
)

cached_attention = reference("cached_attention")
refuse = refusing("cached_attention")

# Attention with the parts of notebook 07, its weights given, that counts the rows which pass through each of them,
# in no attribute of a layer, which could be set back.
_ATTENTION = """
def make(weights, biases):
    rows = {}

    class Counting(nn.Linear):
        def forward(self, x):
            rows[self.place] = rows.get(self.place, 0) + x.numel() // x.shape[-1]
            return super().forward(x)

    attention = nn.Module()
    for name, weight, bias in zip(("q_proj", "k_proj", "v_proj", "out_proj"), weights, biases):
        layer = Counting(len(weight), len(weight)).to(weight.dtype)
        layer.weight.data.copy_(weight)
        layer.bias.data.copy_(bias)
        layer.place = name
        setattr(attention, name, layer)
    return attention, lambda: list(rows.values())
"""


class _Text:
    """A text of T tokens, the attention that reads it, and what PyTorch's own says of it."""

    def __init__(self, B: int, T: int, C: int, H: int, loud: float = 1.0, dtype: torch.dtype = torch.float32) -> None:
        self.H, self.x = H, normal(B, T, C, dtype=dtype)
        self.weights = [normal(C, C, scale=loud / C**0.5, dtype=dtype) for _ in range(4)]
        self.biases = [normal(C, scale=0.5, dtype=dtype) for _ in range(4)]
        layer = nn.MultiheadAttention(C, H, batch_first=True, dtype=dtype)
        with torch.no_grad():
            layer.in_proj_weight.copy_(torch.cat(self.weights[:3]))
            layer.in_proj_bias.copy_(torch.cat(self.biases[:3]))
            layer.out_proj.weight.copy_(self.weights[3])
            layer.out_proj.bias.copy_(self.biases[3])
            self.out = layer(self.x, self.x, self.x, attn_mask=future(T), need_weights=False)[0]
            self.keys, self.values = (
                (self.x @ self.weights[i].T + self.biases[i]).unflatten(-1, (H, -1)).transpose(1, 2) for i in (1, 2)
            )

    def arguments(self, student: Student, S: int, T: int) -> list[Any]:
        """Return what the call for the T tokens after the first S is given."""
        make = student.probe("make", _ATTENTION)
        attention, self.counted = student.build_parts(2, make, self.weights, self.biases)
        cache = (self.keys[:, :, :S].contiguous(), self.values[:, :, :S].contiguous())
        return [attention, self.x[:, S : S + T].contiguous(), self.H, *([cache] if S else [])]


def _words(S: int, T: int) -> str:
    new = "one new token" if T == 1 else f"{T} new tokens"
    return f"for {new} " + ("without a cache" if S == 0 else f"after {S} in the cache")


def _asked(student: Student, text: _Text, S: int, T: int, out_too: bool = True) -> tuple[list[Any], Reply]:
    """Ask for T tokens after S; see that out is right, if asked to. Return the arguments and the whole answer."""
    arguments = text.arguments(student, S, T)
    answer = student.call("cached_attention", arguments, where=_words(S, T))
    out = a_tensor(a_pair(answer["value"], "(out, cache)")[0], "The first of the results, out,")
    if out_too:
        same_tensor(out, text.out[:, S : S + T], "out", _words(S, T))
    return arguments, answer


def _piece(
    student: Student, sizes: tuple[Any, ...], S: int, T: int, out_too: bool = True, cache_too: bool = False
) -> None:
    """Ask about a piece of a text: (B, T, C, H), perhaps how loud the weights are, dtype; tokens kept, new ones."""
    text = _Text(*sizes)
    cache = _asked(student, text, S, T, out_too)[1]["value"][1]
    if cache_too:
        pair = isinstance(cache, (tuple, list)) and len(cache) == 2
        refuse(not pair, "form", f"The cache that is returned should be the pair (keys, values) {_words(S, T)}.")
        for got, expected, name in zip(cache, (text.keys, text.values), ("keys", "values"), strict=True):
            same_tensor(got, expected[:, :, : S + T], f"In the cache that is returned, {name}", _words(S, T))


_without_cache = each(((2, 5, 12, 3), 0, 5), ((3, 1, 8, 2), 0, 1), ((1, 7, 6, 1, 3.0), 0, 7))(_piece)
_one_token = each(((2, 6, 12, 3), 5, 1), ((3, 2, 8, 4), 1, 1), ((1, 9, 10, 2, 3.0), 8, 1))(_piece)
_several_tokens = each(
    *(((2, 9, 12, 4), 4, 3), ((2, 9, 12, 4), 2, 7), ((3, 6, 10, 2), 3, 2), ((1, 7, 6, 3, 3.0), 1, 5)),
    ((1, 1030, 4, 2), 1027, 3),  # as long as real texts are
)(_piece)
_what_is_kept = each(((2, 5, 12, 3), 0, 5), ((2, 6, 12, 2), 5, 1), ((3, 9, 8, 4), 2, 4))(
    functools.partial(_piece, out_too=False, cache_too=True)
)
_double = each(*(((2, 5, 8, 2, 1.0, torch.float64), S, T, True, True) for S, T in ((0, 4), (3, 2))))(_piece)


@each(((2, 7, 12, 3), 0, 4), ((2, 7, 12, 3), 6, 1), ((3, 8, 8, 2), 4, 3))
def _work(student: Student, sizes: tuple[Any, ...], S: int, T: int) -> None:
    text, names = _Text(*sizes), ["x", "the kept keys", "the kept values"]
    arguments, answer = _asked(student, text, S, T)
    inputs = [arguments[1], *(arguments[3] if S else ())]
    unchanged(answer["inputs"], inputs, "x, cache")
    rows = student.value(text.counted)
    refuse(
        len(rows) < 4,
        "",
        "Not all of q_proj, k_proj, v_proj and out_proj are called: each new token goes through them.",
    )
    again = any(row > len(text.x) * T for row in rows)
    message = (
        "More goes through the projections than the new tokens: what was computed before is computed again, which "
    )
    refuse(again, "computed_again", f"{message}is what the cache is there to save.")
    attention, _ = define_in_judge(_ATTENTION, "make")(text.weights, text.biases)
    expected, upstream = gradients_of(
        lambda x, *cache: cached_attention(attention, x, text.H, cache or None)[0], inputs
    )
    answer = student.call("cached_attention", arguments, where=_words(S, T), upstream=upstream)
    same_gradients(answer["gradients"].get("inputs", []), expected, names, _words(S, T))


@each((0, 4), (3, 2), (5, 1))
def _device(student: Student, S: int, T: int) -> None:
    text = _Text(2, 6, 8, 2)
    _asked(student, text, S, T)  # a value first: an error is no merit
    try:
        device_is_kept(student, "cached_attention", text.arguments(student, S, T))
    except Problem as problem:
        if "CausalBias" not in problem.text:  # PyTorch's own mask puts itself where the queries are, but only on a GPU
            raise


EXERCISE = Exercise(
    Check("without a cache: causal attention", 1.0, _without_cache),
    Check("one new token behind the cache", 1.25, _one_token),
    Check("several new tokens behind the cache", 1.25, _several_tokens),
    Check("the keys and values that are kept", 1.0, _what_is_kept),
    Check("only new tokens computed, inputs unchanged", 0.5, _work, dependent=True),
    Check("float64", 0.25, _double, dependent=True),
    Check("stays on the inputs' device", 0.25, _device, dependent=True),
    takes="other",
    gives="pair",
    harmless=(
        "single_precision",
        "double_precision",
        "squeezed",
        "rounded",
        "list_returned",
        "other_signature",
        "global_generator",
    ),
    points=5,
)
