"""`cached_attention`: new tokens against kept keys and values, in one piece or many."""

from typing import Any

import torch
from torch import nn

from autograder.spec.compare import a_pair, a_tensor, same_gradients, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise, Wrong
from autograder.spec.inputs import define_in_judge, device_is_kept, future, gradients_of, normal
from autograder.spec.student import Answer, Student

cached_attention = reference("cached_attention")

# Attention with the parts of notebook 07, its weights given, that counts the rows which pass through each of them,
# in no attribute of a layer, which could be set back.
_ATTENTION = """
def make(weights, biases):
    rows = {}

    class Counting(nn.Linear):
        def forward(self, x):
            rows[self.place] = rows.get(self.place, 0) + x.numel() // x.shape[-1]
            return super().forward(x)

    class Attention(nn.Module):
        def counted(self):
            return list(rows.values())

    attention = Attention()
    for name, weight, bias in zip(("q_proj", "k_proj", "v_proj", "out_proj"), weights, biases):
        layer = Counting(len(weight), len(weight)).to(weight.dtype)
        layer.weight.data.copy_(weight)
        layer.bias.data.copy_(bias)
        layer.place = name
        setattr(attention, name, layer)
    return attention

def rows(attention):
    return attention.counted()
"""


class _Text:
    """A text of T tokens, the attention that reads it, and what PyTorch's own says of it."""

    def __init__(self, B: int, T: int, C: int, H: int, loud: float = 1.0, dtype: torch.dtype = torch.float32) -> None:
        self.H, self.x = H, normal(B, T, C, dtype=dtype)
        self.weights = [normal(C, C, scale=loud / C**0.5, dtype=dtype) for _ in range(4)]
        self.biases = [normal(C, scale=0.5, dtype=dtype) for _ in range(4)]
        theirs = nn.MultiheadAttention(C, H, batch_first=True, dtype=dtype)
        with torch.no_grad():
            theirs.in_proj_weight.copy_(torch.cat(self.weights[:3]))
            theirs.in_proj_bias.copy_(torch.cat(self.biases[:3]))
            theirs.out_proj.weight.copy_(self.weights[3])
            theirs.out_proj.bias.copy_(self.biases[3])
            self.out = theirs(self.x, self.x, self.x, attn_mask=future(T), need_weights=False)[0]
            self.keys, self.values = (
                (self.x @ self.weights[i].T + self.biases[i]).unflatten(-1, (H, -1)).transpose(1, 2) for i in (1, 2)
            )

    def arguments(self, student: Student, S: int, T: int) -> list[Any]:
        """Return what the call for the T tokens after the first S is given."""
        making = student.probe("make", _ATTENTION)
        attention = student.call(making, [self.weights, self.biases], keep=True, record=False)["value"]
        cache = (self.keys[:, :, :S].contiguous(), self.values[:, :, :S].contiguous())
        return [attention, self.x[:, S : S + T].contiguous(), self.H, *([cache] if S else [])]


def _words(S: int, T: int) -> str:
    new = "one new token" if T == 1 else f"{T} new tokens"
    return f"for {new} " + ("without a cache" if S == 0 else f"after {S} in the cache")


def _asked(student: Student, text: _Text, S: int, T: int, out_too: bool = True) -> tuple[list[Any], Answer]:
    """Ask for T tokens after S; see that out is right, if asked to. Return the arguments and the whole answer."""
    arguments = text.arguments(student, S, T)
    answer = student.call("cached_attention", arguments, where=_words(S, T))
    out = a_tensor(a_pair(answer["value"], "(out, cache)")[0], "The first of the results, out,")
    if out_too:
        same_tensor(out, text.out[:, S : S + T], "out", _words(S, T))
    return arguments, answer


def _same_cache(cache: Any, text: _Text, S: int, T: int) -> None:
    if not isinstance(cache, (tuple, list)) or len(cache) != 2:
        raise Wrong(f"The cache that is returned should be the pair (keys, values) {_words(S, T)}.", "form")
    for got, expected, name in zip(cache, (text.keys, text.values), ("keys", "values"), strict=True):
        same_tensor(got, expected[:, :, : S + T], f"In the cache that is returned, {name}", _words(S, T))


def _pieces(*pieces: tuple[tuple[Any, ...], int, int], out: bool = True, cache: bool = False) -> Asking:
    """Make a check of pieces of texts: (B, T, C, H), perhaps how loud the weights are, dtype; tokens kept, new ones."""

    def ask(student: Student) -> None:
        for sizes, S, T in pieces:
            with student.case():
                text = _Text(*sizes)
                _, answer = _asked(student, text, S, T, out)
                if cache:
                    _same_cache(answer["value"][1], text, S, T)

    return ask


_without_cache = _pieces(((2, 5, 12, 3), 0, 5), ((3, 1, 8, 2), 0, 1), ((1, 7, 6, 1, 3.0), 0, 7))
_one_token = _pieces(((2, 6, 12, 3), 5, 1), ((3, 2, 8, 4), 1, 1), ((1, 9, 10, 2, 3.0), 8, 1))
_several_tokens = _pieces(
    *(((2, 9, 12, 4), 4, 3), ((2, 9, 12, 4), 2, 7), ((3, 6, 10, 2), 3, 2), ((1, 7, 6, 3, 3.0), 1, 5)),
    ((1, 1030, 4, 2), 1027, 3),  # as long as real texts are
)
_what_is_kept = _pieces(((2, 5, 12, 3), 0, 5), ((2, 6, 12, 2), 5, 1), ((3, 9, 8, 4), 2, 4), out=False, cache=True)
_double = _pieces(*(((2, 5, 8, 2, 1.0, torch.float64), S, T) for S, T in ((0, 4), (3, 2))), cache=True)


def _work(student: Student) -> None:
    for sizes, S, T in (((2, 7, 12, 3), 0, 4), ((2, 7, 12, 3), 6, 1), ((3, 8, 8, 2), 4, 3)):
        with student.case():
            text = _Text(*sizes)
            arguments, answer = _asked(student, text, S, T)
            unchanged(answer["inputs"], [arguments[1], *(arguments[3] if S else ())], "x, cache")
            rows = student.value(student.probe("rows", _ATTENTION), arguments[0])
            if any(row > len(text.x) * T for row in rows):
                raise Wrong(
                    "More goes through the projections than the new tokens: what was computed before is computed "
                    "again, which is what the cache is there to save.",
                    "computed_again",
                )
    text = _Text(2, 6, 8, 2)
    mine = define_in_judge(_ATTENTION, "make")(text.weights, text.biases)
    for S, T in ((0, 4), (3, 2)):
        with student.case():
            arguments, names = text.arguments(student, S, T), ["x", "the kept keys", "the kept values"]
            inputs = [arguments[1], *(arguments[3] if S else ())]
            expected, upstream = gradients_of(
                lambda x, *cache: cached_attention(mine, x, text.H, cache or None)[0], inputs
            )
            answer = student.call("cached_attention", arguments, where=_words(S, T), upstream=upstream)
            same_gradients(answer["gradients"].get("inputs", []), expected, names, _words(S, T))


def _device(student: Student) -> None:
    text = _Text(2, 6, 8, 2)
    for S, T in ((0, 4), (3, 2), (5, 1)):
        with student.case():
            _asked(student, text, S, T)  # a value first: an error is no merit
            device_is_kept(student, "cached_attention", text.arguments(student, S, T))


EXERCISE = Exercise(
    Check("without a cache: causal attention", 1.0, _without_cache),
    Check("one new token behind the cache", 1.25, _one_token),
    Check("several new tokens behind the cache", 1.25, _several_tokens),
    Check("the keys and values that are kept", 1.0, _what_is_kept),
    Check("only new tokens computed, inputs unchanged", 0.5, _work, further=True),
    Check("float64", 0.25, _double, further=True),
    Check("stays on the inputs' device", 0.25, _device, further=True),
    points=5,
)
