"""`MultiHeadAttention`: against nn.MultiheadAttention with the same weights, a context, masks, causality."""

import functools
from itertools import starmap

import torch

from autograder.spec import (
    Check,
    Exercise,
    Student,
    ValuesDiffer,
    Wrong,
    a_tensor,
    close,
    device_is_kept,
    future,
    generator_unchanged,
    has_layers,
    normal,
    only_values,
    raises_error,
    same_output,
    same_tensor,
    some_mask,
    starts_as_linear,
    unchanged,
)

from ..attention_layers import built_by_name
from ..widths import other_heads
from .known_weights import PROJECTIONS, loaded, weights_for

NAME = "MultiHeadAttention"

SIZES = (  # (B, T, C, H): all different, one head, heads of width 1, equal sizes, single tokens, long, as in real use
    *((2, 5, 12, 3), (3, 4, 8, 2), (1, 3, 6, 1), (2, 4, 5, 5), (4, 1, 6, 2), (3, 3, 9, 3), (4, 4, 16, 4)),
    *((2, 40, 6, 3), (9, 2, 8, 4), (1, 1024, 4, 2), (2, 3, 384, 12)),
)

EQUAL_LENGTHS = ((2, 5, 5, 12, 3), (1, 3, 3, 6, 1), (3, 3, 3, 9, 3))  # (B, T, S, C, H)
LENGTHS = ((2, 5, 3, 12, 3), (3, 4, 7, 8, 2), (4, 1, 3, 6, 2), (2, 3, 1, 4, 4), (1, 6, 40, 6, 3), (1, 3, 1024, 4, 2))


def _sizes(B: int, T: int, S: int, C: int, H: int) -> str:
    length = f"T = S = {T}" if T == S else f"T = {T}, S = {S}"
    return f"for B = {B}, {length}, embed_dim = {C}, num_heads = {H}"


def _parameters(student: Student) -> None:
    for C, H in starmap(other_heads, ((6, 2), (5, 1), (12, 4))):
        with student.case():
            has_layers(student, NAME, (C, H), PROJECTIONS, (C, C), "nn.Linear(embed_dim, embed_dim)")
    with student.case():
        built_by_name(student, NAME, {"embed_dim": 4, "num_heads": 2}, (4, 4))


def _values(student: Student) -> None:
    for B, T, C, H in SIZES:
        with student.case():
            loaded(student, C, H).gives(normal(B, T, C), where=_sizes(B, T, T, C, H))


def _with_context(student: Student, sizes: tuple[tuple[int, int, int, int, int], ...]) -> None:
    for B, T, S, C, H in sizes:
        with student.case():
            where = f"with a context, {_sizes(B, T, S, C, H)}"
            loaded(student, C, H).gives(normal(B, T, C), None, normal(B, S, C), where=where)


def _context(student: Student) -> None:
    """Ask with a context as long as x.

    PyTorch's function does not notice keys and values of different lengths: it reads beyond the end of memory, so that
    mixing x and context up would give a new result each time.
    """
    _with_context(student, EQUAL_LENGTHS)
    layer, x, context = loaded(student, 6, 2), normal(2, 4, 6), normal(2, 4, 6)
    for where, given, positional in (
        ("with the context given by position", [None, context], 3),
        ("with a context and a mask", [some_mask(4, 4), context], 1),
        ("without a context, after calls with one", [], 1),
    ):
        with student.case():
            layer.gives(x, *given, where=where, positional=positional)


def _context_lengths(student: Student) -> None:
    _with_context(student, LENGTHS)
    layer, x = loaded(student, 6, 2), normal(2, 4, 6)
    for shape in ((4, 3), (2, 1, 1, 3), (2, 2, 4, 3), (4, 7), (2, 1, 1, 7)):
        with student.case():
            where = f"with a context and a mask of shape {shape}, {_sizes(2, 4, shape[-1], 6, 2)}"
            layer.gives(x, some_mask(*shape), normal(2, shape[-1], 6), where=where)


def _mask(student: Student) -> None:
    """Masks of every shape that broadcasts to (B, H, T, S), also where B = H = T."""
    layers = {3: loaded(student, 6, 3), 2: loaded(student, 6, 2)}
    keys = some_mask(2, 1, 1, 4)
    both = future(4) | keys & ~torch.eye(4, dtype=torch.bool)
    # S is 0 without a context; `training` is None under no_grad in evaluation mode, where PyTorch's own layer takes
    # another path for even numbers of heads
    for B, T, S, H, training, masks in (
        (2, 4, 0, 3, True, (future(4), (2, 1, 4, 4), both, keys, (2, 3, 4, 4), torch.zeros(4, 4, dtype=torch.bool))),
        (2, 4, 0, 3, False, ((4, 4), (1, 3, 4, 4))),
        (2, 4, 0, 2, None, ((4, 4), future(4))),
        (2, 4, 0, 3, None, ((4, 4),)),
        (2, 4, 0, 3, True, ((1, 1, 4, 4), None)),
        (3, 3, 0, 3, True, ((3, 1, 3, 3), (3, 3, 3, 3), (1, 1, 3, 3))),
        (3, 4, 4, 2, True, ((1, 4), (2, 4, 4), (1, 4, 4))),
        (3, 1, 5, 2, True, ((3, 1, 1, 5),)),
        (1, 300, 0, 2, True, (future(300),)),
    ):
        x, context = normal(B, T, 6), normal(B, S, 6) if S else None
        for given in masks:
            with student.case():
                mask = some_mask(*given) if isinstance(given, tuple) else given
                what = "without a mask, after calls with one" if mask is None else f"with a mask {tuple(mask.shape)}"
                mode = "" if training else ", in evaluation mode" + " under no_grad" * (training is None)
                where = f"{what}{mode}, {_sizes(B, T, S or T, 6, H)}"
                layers[H].gives(x, mask, context, where=where, training=bool(training), no_grad=training is None)
    with student.case():
        layers[3].gives(normal(3, 3, 6), future(3), where="with the mask given by position", positional=2)


def _causal(student: Student) -> None:
    """With a causal mask, changing a token moves no earlier output; it does move later ones.

    A layer that returns its input is causal, too, and looks at nothing.
    """
    parameters = student.state(student.build(NAME, 6, 2))["parameters"]
    there = [f"{name}.weight" in parameters for name in PROJECTIONS]
    student.note(there)
    if not all(there):  # PyTorch's own module is causal too
        raise ValuesDiffer("The layers q_proj, k_proj, v_proj and out_proj are not all there.")
    for T, C, H, fresh in ((5, 12, 3, False), (4, 6, 1, False), (4, 8, 4, True)):
        with student.case():
            module = student.build(NAME, C, H) if fresh else loaded(student, C, H).module
            x, where = normal(2, T, C), f"for T = {T}, embed_dim = {C}, num_heads = {H}"
            with only_values():
                before = a_tensor(student.value(module, x, future(T), where=where), "The output")
                if fresh:  # its numbers depend on the order in which the layers are made
                    student.note(tuple(before.shape))
                if before.shape != x.shape:
                    same_tensor(before, x, "The output", where)
            for t in range(1, T):
                changed = x.clone()
                changed[:, t] = 3 * normal(2, C)
                after = a_tensor(student.value(module, changed, future(T), where=where), "The output")
                if fresh:
                    student.note(tuple(after.shape))
                if after.shape != before.shape or not close(after[:, :t], before[:, :t]):
                    leak = f"With a causal mask, earlier outputs move when token {t} is changed, {where}"
                    raise Wrong(f"{leak}: look at the mask, the split and the merge.")
                if close(after[:, t:], before[:, t:]):
                    raise Wrong(f"Changing token {t} changes no output at all, {where}.")
                if t + 1 < T and close(after[:, t + 1 :], before[:, t + 1 :]):
                    raise Wrong(f"Changing token {t} moves no later output, {where}: do later tokens look at it?")


def _forbidden(student: Student) -> None:
    """Ask that a blocked token has no influence, even where it scores highest or allowed scores are hugely negative."""
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    mask[2] = future(5)[2]
    for sign, wide, far, where in (
        (1.0, 1.0, 1e12, "where a blocked token would have scored far above the others"),
        (-1.0, 1e6, 1.0, "where all allowed scores are far below zero (a finite fill such as −1e9 is the largest)"),
    ):
        with student.case():
            signs = {"q": 1.0, "k": sign}
            weights = {name: signs[name[0]] * t.abs() if name[0] in signs else t for name, t in weights_for(6).items()}
            layer = loaded(student, 6, 2, weights=weights)
            x = wide * normal(2, 5, 6).abs()
            x[:, 2] *= far
            got = a_tensor(student.value(layer.module, x, mask=mask, where=where), "The output")
            expected = layer.formula(weights, x, mask)
            if got.shape == expected.shape:  # the huge token's own row is of no interest
                got, expected = (output[:, [0, 1, 3, 4]] for output in (got, expected))
            same_output(got, expected, where=where)


def _gradient(student: Student) -> None:
    """Ask in float64: the bias of k_proj moves no weight, so that its gradient in float32 is nothing but rounding."""
    dtype = torch.float64
    for given, where in (
        ([], ""),
        ([future(5)], "with a mask"),
        ([None, normal(2, 5, 12, dtype=dtype)], "with a context"),
    ):
        with student.case():
            layer, x = loaded(student, 12, 3, dtype), normal(2, 5, 12, dtype=dtype)
            layer.has_gradients(x, *given, where=where, values_first=True)


def _refused(student: Student) -> None:
    with student.case(), only_values():
        loaded(student, 6, 3).gives(normal(2, 4, 6))
    for C, H in ((8, 3), (5, 2), (6, 4), (9, 6), (4, 8)):
        with student.case(), raises_error(f"MultiHeadAttention({C}, {H})"):
            student.build(NAME, C, H)


def _side_effects(student: Student) -> None:
    layer, other = loaded(student, 6, 2), loaded(student, 6, 2)
    x, context, mask = normal(2, 5, 6), normal(2, 5, 6), some_mask(5, 5)
    unchanged(layer.gives(x, mask, context, positional=3)["inputs"], [x, mask, context], "x, mask or context")
    for one in (layer, other):
        one.gives(x, where="when two modules exist (each needs layers of its own)")
    layer.is_kept()
    with student.case():
        wide = normal(2, 5, 8, dtype=torch.float64)
        loaded(student, 8, 2, torch.float64).gives(wide, future(5), where="in float64", positional=2)
    context, mask = normal(2, 4, 6), some_mask(5, 4)
    with student.case():
        layer.gives(x, mask, context, where="with slices of tensors", positional=3, slices=True)
    for given, where, options in (
        ([x], "in training mode", {"training": True}),
        ([x], "in evaluation mode", {"training": False}),
        ([normal(5, 2, 6).transpose(0, 1)], "for a tensor that is not contiguous", {}),
        ([x, mask, context], "with the arguments given by name", {"positional": 0}),
    ):
        with student.case():
            generator_unchanged(layer.gives(*given, where=where, **options))


def _device(student: Student) -> None:
    layer, x, context = loaded(student, 6, 2), normal(2, 5, 6), normal(2, 4, 6)
    layer.gives(x)
    for args in ([x], [x, future(5)], [x, None, context]):
        device_is_kept(student, layer.module, args)


_start = functools.partial(starts_as_linear, cls=NAME, sizes=(64, 4), names=PROJECTIONS)

EXERCISE = Exercise(
    Check("q_proj, k_proj, v_proj, out_proj, and nothing else", 1.25, _parameters),
    Check("equals nn.MultiheadAttention with the same weights, for many sizes", 2.25, _values),
    Check("cross-attention: keys and values from the context", 0.75, _context),
    Check("cross-attention with a context of another length", 0.5, _context_lengths, dependent=True),
    Check("masks of every shape, in training and evaluation", 1.0, _mask, dependent=True),
    Check("causal: no earlier output moves when a later token is changed", 1.0, _causal, dependent=True),
    Check("a blocked token has no influence at all", 0.5, _forbidden, dependent=True),
    Check("gradients reach x, the context and every parameter", 0.75, _gradient, dependent=True),
    Check("a width that cannot be divided is a ValueError", 0.5, _refused, dependent=True),
    Check("inputs unchanged, modules independent, float64", 0.75, _side_effects, dependent=True),
    Check("stays on the inputs' device", 0.5, _device, dependent=True),
    Check("fresh layers differ from each other", 0.25, _start),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
    points=8,
    library_equivalent=r"""
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
            torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers]), None, None,
            False, 0.0, self.out_proj.weight, self.out_proj.bias, need_weights=False, attn_mask=mask,
        )
        return output.transpose(0, 1)
""",
)
