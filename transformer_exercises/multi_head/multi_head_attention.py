"""`MultiHeadAttention`: against nn.MultiheadAttention with the same weights, a context, masks, causality.

The mistakes: heads split or merged without the transpose, the scale of the whole width, masks, contexts, shared layers.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import a_tensor, close, kind, same_gradients, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    future,
    generator_unchanged,
    gradients_of,
    normal,
    parameters_unchanged,
    raises_error,
    sliced,
    some_mask,
)
from autograder.spec.student import Student

from .common import PROJECTIONS, build_loaded, merge, split, torchs, weights_for

SIZES = (  # (B, T, C, H): all different, one head, heads of width 1, equal sizes, single tokens, long, as in real use
    *((2, 5, 12, 3), (3, 4, 8, 2), (1, 3, 6, 1), (2, 4, 5, 5), (4, 1, 6, 2), (3, 3, 9, 3), (4, 4, 16, 4)),
    *((2, 40, 6, 3), (9, 2, 8, 4), (1, 1024, 4, 2), (2, 3, 384, 12)),
)

LENGTHS = (  # (B, T, S, C, H)
    *((2, 5, 3, 12, 3), (3, 4, 7, 8, 2), (4, 1, 3, 6, 2), (2, 3, 1, 4, 4), (1, 6, 40, 6, 3), (1, 3, 1024, 4, 2)),
)


def _mha_sizes(B: int, T: int, S: int, C: int, H: int) -> str:
    length = f"T = S = {T}" if T == S else f"T = {T}, S = {S}"
    return f"for B = {B}, {length}, embed_dim = {C}, num_heads = {H}"


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
    heads = F.scaled_dot_product_attention(split(q, H), split(k, H), split(v, H), attn_mask=allowed)
    return F.linear(merge(heads), state["out_proj.weight"], state["out_proj.bias"])


def _same_output(got: Any, expected: torch.Tensor, where: str = "") -> None:
    if isinstance(got, (tuple, list)):
        raise Wrong(
            f"forward should return one tensor (B, T, C); yours returned {kind(got)}: the weights are not asked for."
        )
    same_tensor(got, expected, "The output", where)


def _mha_context_case(student: Student, B: int, T: int, S: int, C: int, H: int) -> None:
    module, state = build_loaded(student, C, H)
    x, context = normal(B, T, C), normal(B, S, C)
    where = f"with a context, {_mha_sizes(B, T, S, C, H)}"
    expected = torchs(state, H)(x, context, context, need_weights=False)[0].detach()
    _same_output(student.value(module, x, context=context, where=where), expected, where)


def _mha_parameters(student: Student) -> None:
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
                            f"{built} has no parameter `{name}.{part}`: make `self.{name} = nn.Linear(embed_dim, "
                            "embed_dim)` in `__init__` (with its bias)."
                        )
                    if tuple(found.shape) != shape:
                        raise Wrong(
                            f"`{name}.{part}` of {built} should have shape {shape}, yours has {tuple(found.shape)}: "
                            "one layer nn.Linear(embed_dim, embed_dim) makes the columns of all heads."
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


def _mha_values(student: Student) -> None:
    for B, T, C, H in SIZES:
        with student.case():
            module, state = build_loaded(student, C, H)
            x, where = normal(B, T, C), _mha_sizes(B, T, T, C, H)
            expected = torchs(state, H)(x, x, x, need_weights=False)[0].detach()
            _same_output(student.value(module, x, where=where), expected, where)


def _mha_context(student: Student) -> None:
    """Here the context is as long as x.

    PyTorch's function does not notice keys and values of different lengths: it reads beyond the end of memory, so that
    mixing x and context up would give a new result each time.
    """
    for B, T, C, H in (SIZES[0], SIZES[2], SIZES[5]):
        with student.case():
            _mha_context_case(student, B, T, T, C, H)
    module, state = build_loaded(student, 6, 2)
    x, context, mask = normal(2, 4, 6), normal(2, 4, 6), some_mask(4, 4)
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


def _mha_context_lengths(student: Student) -> None:
    for sizes in LENGTHS:
        with student.case():
            _mha_context_case(student, *sizes)
    module, state = build_loaded(student, 6, 2)
    x, context = normal(2, 4, 6), normal(2, 3, 6)
    for mask, where in (
        (some_mask(4, 3), "with a context and a mask of shape (T, S)"),
        (some_mask(2, 1, 1, 3), "with a context and a mask of shape (B, 1, 1, S)"),
        (some_mask(2, 2, 4, 3), "with a context and a mask of shape (B, H, T, S)"),
    ):
        with student.case():
            got = student.call(module, [x], {"mask": mask, "context": context}, where=where)["value"]
            _same_output(got, _expected(state, 2, x, mask, context), where)
    longer = normal(2, 7, 6)
    for mask, where in (
        (some_mask(4, 7), "with a mask of shape (T, S) and a context that is longer than x"),
        (some_mask(2, 1, 1, 7), "with a mask of shape (B, 1, 1, S) and a context that is longer than x"),
    ):
        with student.case():
            got = student.call(module, [x], {"mask": mask, "context": longer}, where=where)["value"]
            _same_output(got, _expected(state, 2, x, mask, longer), where)


def _mha_mask(student: Student) -> None:
    """Masks of every shape that broadcasts to (B, H, T, S), also where B = H = T."""
    for B, T, C, H in ((2, 4, 6, 3), (3, 3, 6, 3)):
        module, state = build_loaded(student, C, H)
        x = normal(B, T, C)
        keys = some_mask(B, 1, 1, T)
        for mask, training, where in (
            (future(T), True, "with a causal mask of shape (T, T)"),
            (some_mask(T, T), False, "with a mask of shape (T, T), in evaluation mode"),
            (some_mask(B, 1, T, T), True, "with a mask of shape (B, 1, T, T), one for each sequence"),
            (future(T) | keys & ~torch.eye(T, dtype=torch.bool), True, "with a causal and padding mask (B, 1, T, T)"),
            (keys, True, "with a mask of shape (B, 1, 1, S), about keys"),
            (some_mask(B, H, T, T), True, "with a mask of shape (B, H, T, S), one for each head"),
            (some_mask(1, H, T, T), False, "with a mask of shape (1, H, T, S), in evaluation mode"),
            (torch.zeros(T, T, dtype=torch.bool), True, "with a mask that blocks nothing"),
            (some_mask(1, 1, T, T), True, "with a mask of shape (1, 1, T, S)"),
            (None, True, "without a mask, after calls with one"),
        )[0 if B == 2 else 2 :: 1 if B == 2 else 3]:
            with student.case():
                place = f"{where}, {_mha_sizes(B, T, T, C, H)}"
                kwargs = {} if mask is None else {"mask": mask}
                got = student.call(module, [x], kwargs, where=place, training=training)["value"]
                _same_output(got, _expected(state, H, x, mask), place)
    with student.case():
        where = "with the mask given by position"
        _same_output(student.value(module, x, future(3), where=where), _expected(state, 3, x, future(3)), where)
    module, state = build_loaded(student, 6, 2)
    for T, S, shape in ((4, 4, (1, 4)), (4, 4, (2, 4, 4)), (4, 4, (1, 4, 4)), (1, 5, (3, 1, 1, 5))):
        with student.case():
            x, context, mask = normal(3, T, 6), normal(3, S, 6), some_mask(*shape)
            where = f"with a mask of shape {shape}, for B = 3, H = 2, T = {T}, S = {S}"
            got = student.call(module, [x], {"mask": mask, "context": context}, where=where)["value"]
            _same_output(got, _expected(state, 2, x, mask, context), where)
    with student.case():
        x, where = normal(1, 300, 6), "with a causal mask, for T = 300"
        _same_output(student.value(module, x, future(300), where=where), _expected(state, 2, x, future(300)), where)


def _mha_causal(student: Student) -> None:
    """With a causal mask, changing a token moves no earlier output; it does move its own and, as a rule, later ones."""
    parameters = student.state(student.build("MultiHeadAttention", 6, 2))["parameters"]
    if not all(f"{name}.weight" in parameters for name in PROJECTIONS):  # PyTorch\'s own module is causal too
        raise Wrong("The layers q_proj, k_proj, v_proj and out_proj are not all there.")
    for T, C, H, loaded in ((5, 12, 3, True), (4, 6, 1, True), (4, 8, 4, False)):
        with student.case():
            module = build_loaded(student, C, H)[0] if loaded else student.build("MultiHeadAttention", C, H)
            where = f"for T = {T}, embed_dim = {C}, num_heads = {H}"
            x = normal(2, T, C)
            before = a_tensor(student.value(module, x, future(T), where=where), "The output")
            if before.shape != x.shape:
                same_tensor(before, x, "The output", where)
            for t in range(1, T):
                changed = x.clone()
                changed[:, t] = 3 * normal(2, C)
                after = a_tensor(student.value(module, changed, future(T), where=where), "The output")
                if after.shape != before.shape or not close(after[:, :t], before[:, :t]):
                    raise Wrong(
                        f"With a causal mask, earlier outputs move when token {t} is changed, {where}: the future "
                        "leaks through the mask, the split or the merge."
                    )
                if close(after[:, t:], before[:, t:]):
                    raise Wrong(f"Changing token {t} changes no output at all, {where}.")


def _mha_forbidden(student: Student) -> None:
    """A blocked token has no influence, even where it scores highest or every allowed score is hugely negative."""
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    mask[2] = future(5)[2]
    for sign, where in (
        (1.0, "where a blocked token would have scored far above the others"),
        (-1.0, "where all allowed scores are far below zero (a finite fill such as −1e9 is then the largest)"),
    ):
        with student.case():
            module, state = student.build("MultiHeadAttention", 6, 2), weights_for(6)
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


def _mha_gradient(student: Student) -> None:
    for mask, S, dtype in ((None, 0, torch.float32), (future(5), 0, torch.float64), (None, 5, torch.float64)):
        with student.case():
            C, H = 12, 3
            module, state = build_loaded(student, C, H, "float64" if dtype == torch.float64 else "")
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


def _mha_refused(student: Student) -> None:
    module, state = build_loaded(student, 6, 3)
    x = normal(2, 4, 6)
    _same_output(student.value(module, x), _expected(state, 3, x))
    for C, H in ((8, 3), (5, 2), (6, 4), (9, 6), (4, 8)):
        with student.case(), raises_error(f"MultiHeadAttention({C}, {H})"):
            student.build("MultiHeadAttention", C, H)


def _mha_manners(student: Student) -> None:
    module, state = build_loaded(student, 6, 2)
    other, other_state = build_loaded(student, 6, 2)
    x, context, mask = normal(2, 5, 6), normal(2, 5, 6), some_mask(5, 5)
    answer = student.call(module, [x, mask, context])
    unchanged(answer["inputs"], [x, mask, context], "x, mask or context")
    _same_output(answer["value"], _expected(state, 2, x, mask, context))
    where = "when two modules exist (each needs layers of its own)"
    _same_output(student.value(module, x), _expected(state, 2, x), where)
    _same_output(student.value(other, x), _expected(other_state, 2, x), where)
    parameters_unchanged(student, module, state)
    for training in (True, False):
        with student.case():
            answer = student.call(module, [x], training=training)
            _same_output(
                answer["value"], _expected(state, 2, x), "in training mode" if training else "in evaluation mode"
            )
            generator_unchanged(answer)
    with student.case():
        wide, wide_state = build_loaded(student, 8, 2, "float64")
        x = normal(2, 5, 8, dtype=torch.float64)
        _same_output(
            student.value(wide, x, future(5), where="in float64"),
            _expected(wide_state, 2, x, future(5)),
            "in float64",
        )
    with student.case():
        turned, where = normal(5, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"
        _same_output(student.value(module, turned, where=where), _expected(state, 2, turned), where)
    x, context, mask = normal(2, 5, 6), normal(2, 4, 6), some_mask(5, 4)
    expected = _expected(state, 2, x, mask, context)
    with student.case():
        where = "with slices of tensors"
        parts = [sliced(student, tensor) for tensor in (x, mask, context)]
        _same_output(student.value(module, *parts, where=where), expected, where)
    with student.case():
        where = "with the arguments given by name"
        _same_output(student.value(module, x=x, mask=mask, context=context, where=where), expected, where)


def _mha_device(student: Student) -> None:
    module, state = build_loaded(student, 6, 2)
    x, context = normal(2, 5, 6), normal(2, 4, 6)
    _same_output(student.value(module, x), _expected(state, 2, x))
    device_is_kept(student, module, [x])
    device_is_kept(student, module, [x, future(5)])
    device_is_kept(student, module, [x, None, context])


def _mha_fresh(student: Student) -> None:
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


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("q_proj, k_proj, v_proj, out_proj, and nothing else", 1.25, _mha_parameters),
        Check("equals nn.MultiheadAttention with the same weights, for many sizes", 2.25, _mha_values),
        Check("cross-attention: keys and values from the context", 0.75, _mha_context),
        Check("cross-attention with a context of another length", 0.5, _mha_context_lengths, further=True),
        Check("masks of every shape, in training and evaluation", 1.0, _mha_mask, further=True),
        Check("causal: no earlier output moves when a later token is changed", 1.0, _mha_causal),
        Check("a blocked token has no influence at all", 0.5, _mha_forbidden, further=True),
        Check("gradients reach x, the context and every parameter", 0.75, _mha_gradient, further=True),
        Check("a width that cannot be divided is a ValueError", 0.5, _mha_refused),
        Check("inputs unchanged, modules independent, float64", 0.75, _mha_manners, further=True),
        Check("stays on the inputs' device", 0.5, _mha_device, further=True),
        Check("fresh layers differ from each other", 0.25, _mha_fresh),
    ],
    working=r"""
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
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
        "global_generator",
    ),
    wrong=r"""
split_without_transpose: The split cuts the numbers straight into (B, H, T, d_k), so that a head attends to pieces of other tokens. Cut into (B, T, H,
    d_k), then transpose: that is what split_heads does.
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = (lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))(self.q_proj(x), self.num_heads)
  K = split_heads(self.k_proj(source), self.num_heads) => K = (lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))(self.k_proj(source), self.num_heads)
  V = split_heads(self.v_proj(source), self.num_heads) => V = (lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))(self.v_proj(source), self.num_heads)
merge_without_transpose: The heads are merged without a transpose, so that a row of the output mixes several tokens, later ones too, and the mask
    leaks. It even trains. Swap H and T first: that is what merge_heads does.
- return self.out_proj(merge_heads(heads)) => return self.out_proj(heads.reshape(x.shape))
merge_by_view: `view` fails after a transpose, which moves no numbers in memory: merge with `reshape`, or with merge_heads.
- return self.out_proj(merge_heads(heads)) => return self.out_proj(heads.transpose(1, 2).view(x.shape))
neither_transposed: Neither the split nor the merge transposes. The shapes fit and it trains, but every head sees pieces of other tokens: (B, T, H,
    d_k) and then `transpose(1, 2)`, both ways.
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = (lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))(self.q_proj(x), self.num_heads)
  K = split_heads(self.k_proj(source), self.num_heads) => K = (lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))(self.k_proj(source), self.num_heads)
  V = split_heads(self.v_proj(source), self.num_heads) => V = (lambda tokens, H: tokens.reshape(tokens.shape[0], self.num_heads, tokens.shape[1], -1))(self.v_proj(source), self.num_heads)
  return self.out_proj(merge_heads(heads)) => return self.out_proj(heads.reshape(x.shape))
heads_interleaved: Each head gets every H-th column instead of d_k columns in a row: cut into (B, T, H, d_k), not (B, T, d_k, H).
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = (lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))(self.q_proj(x), self.num_heads)
  K = split_heads(self.k_proj(source), self.num_heads) => K = (lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))(self.k_proj(source), self.num_heads)
  V = split_heads(self.v_proj(source), self.num_heads) => V = (lambda tokens, H: tokens.unflatten(-1, (-1, H)).permute(0, 3, 1, 2))(self.v_proj(source), self.num_heads)
  merge_heads(heads) => heads.permute(0, 2, 3, 1).flatten(2)
merge_interleaved: The merge mixes the columns of the heads (column 0 of every head, then column 1 …): all columns of head 0 come first, then those of
    head 1: transpose(1, 2), then flatten.
- merge_heads(heads) => heads.permute(0, 2, 3, 1).flatten(2)
one_wide_head: There is only one head, as wide as x: num_heads plays no part. Split queries, keys and values first.
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = split_heads(self.q_proj(x), 1)
  K = split_heads(self.k_proj(source), self.num_heads) => K = split_heads(self.k_proj(source), 1)
  V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(self.v_proj(source), 1)
heads_attend_to_heads: The heads were not brought before the tokens, so that each token's heads attend to one another: scores must be (B, H, T, S).
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = (lambda tokens, H: tokens.unflatten(-1, (H, -1)))(self.q_proj(x), self.num_heads)
  K = split_heads(self.k_proj(source), self.num_heads) => K = (lambda tokens, H: tokens.unflatten(-1, (H, -1)))(self.k_proj(source), self.num_heads)
  V = split_heads(self.v_proj(source), self.num_heads) => V = (lambda tokens, H: tokens.unflatten(-1, (H, -1)))(self.v_proj(source), self.num_heads)
  merge_heads(heads) => heads.flatten(2)
heads_averaged: The heads are added up or averaged: they stand side by side, C columns in all.
- merge_heads(heads) => heads.mean(dim=1).repeat(1, 1, self.num_heads) || heads.sum(dim=1).repeat(1, 1, self.num_heads) || heads.mean(dim=1)
width_for_heads: The number of heads and their width are swapped: num_heads heads, each embed_dim / num_heads wide.
- self.num_heads = num_heads => self.num_heads = embed_dim // num_heads
heads_fixed: The number of heads is a fixed number, whatever num_heads says.
- self.num_heads = num_heads => self.num_heads = 8 || self.num_heads = 2 || self.num_heads = 4
scale_of_whole_width: The scores are divided by √embed_dim: each head's dot products run over its own width only, so divide by √(embed_dim /
    num_heads).
- heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) =>
      scores = Q @ K.transpose(-2, -1) / math.sqrt(x.shape[-1])
      if mask is not None:
          scores = scores.masked_fill(mask, float('-inf'))
      heads = torch.softmax(scores, dim=-1) @ V
no_scale (slip): The scores are not divided by the root of the head's width d_k.
- in scale_of_whole_width
  math.sqrt(x.shape[-1]) => 1.0
scaled_twice (slip): The scores are divided by the root of d_k twice (F.scaled_dot_product_attention does it already), or by d_k.
- in scale_of_whole_width
  math.sqrt(x.shape[-1]) => Q.shape[-1]
- in scale_of_whole_width
  math.sqrt(x.shape[-1]) => Q.shape[-1] ** 0.25
multiplied_by_root (slip): The scores are multiplied by the root of d_k: they are divided by it.
- in scale_of_whole_width
  math.sqrt(x.shape[-1]) => Q.shape[-1] ** -0.5
scale_of_other_size: The scores are divided by the root of the wrong size (number of heads, of tokens): the width of a head is asked for.
- in scale_of_whole_width
  x.shape[-1] => self.num_heads
- in scale_of_whole_width
  x.shape[-1 => K.shape[-2
scale_fixed: The scores are divided by a fixed number: use the root of the head's width, embed_dim / num_heads.
- in scale_of_whole_width
  math.sqrt(x.shape[-1]) => 8.0
- in scale_of_whole_width
  math.sqrt(x.shape[-1]) => 4.0
- in scale_of_whole_width
  math.sqrt(x.shape[-1]) => 2.0
softmax_over_queries: The softmax runs over the queries: each query shares its attention among the keys, dim=-1.
- in scale_of_whole_width
  sqrt(x.shape => sqrt(Q.shape
  dim=-1) @ => dim=-2) @
softmax_over_heads: The softmax runs over the heads or the batch: (B, H, T, S) is normalised along S, dim=-1.
- in softmax_over_queries
  dim=-2) => dim=1)
- in softmax_over_queries
  dim=-2) => dim=0)
no_softmax: There is no softmax: scores become weights that sum to 1 before they meet the values.
- in softmax_over_queries
  float('-inf') => 0.0
  torch.softmax(scores, dim=-2) => scores
mask_not_inverted: The mask is read the wrong way round: here True = blocked, for F.scaled_dot_product_attention True = *allowed*. That function is
    passed `~mask`, and `masked_fill` the mask as it is.
- allowed = None if mask is None else ~mask => allowed = mask
mask_ignored: The mask is not used: a key that it blocks must get weight 0, in every head.
- allowed = None if mask is None else ~mask => allowed = None
mask_of_zeros: Blocked scores are set to 0, which is a score like any other: set them to −inf before the softmax.
- in no_softmax
  = scores @ => = torch.softmax(scores, dim=-1) @
mask_finite: Blocked scores are filled with a finite number (−1e9, −1e4 …). Where every allowed score is lower still, the blocked token gets all the
    weight. Fill with −inf.
- in mask_of_zeros
  , 0.0) => , -1e9)
- in mask_of_zeros
  , 0.0 => , -10.0
mask_added: A large finite number is added to blocked scores: a blocked score that is larger still gets through. Set blocked scores to −inf.
- in mask_of_zeros
  .masked_fill(mask, 0.0) => - 1e9 * mask
mask_after_softmax: Blocked weights are set to 0 after the softmax, so that the others no longer sum to 1: block before it, with −inf.
- heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) =>
      weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]), dim=-1)
      if mask is not None:
          weights = weights.masked_fill(mask, 0.0)
      heads = weights @ V
renormalised_afterwards: The softmax is taken over all keys, then blocked weights are set to 0 and the rest is divided by its sum. Where a blocked
    score is far above the others nothing is left, 0/0: set blocked scores to −inf before the softmax.
- in mask_after_softmax
  weights @ => weights / weights.sum(dim=-1, keepdim=True) @
truth_of_a_tensor (slip): `if mask:` or `context or x` asks whether a tensor is true, which fails for more than one number: write `if mask is not None:`.
- allowed = None if mask is None else ~mask => allowed = ~mask if mask else None
- source = x if context is None else context => source = context or x
- allowed = None if mask is None else ~mask => allowed = ~mask if mask else None
  source = x if context is None else context => source = context or x
mask_transposed: The mask is transposed: its rows are queries, its columns keys.
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask.mT
mask_unsqueezed: The mask is given further dimensions (`unsqueeze`, `view`), so that some of its shapes no longer fit. (T, S) and (B, 1, T, S)
    broadcast to (B, H, T, S) by themselves.
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask.unsqueeze(1)
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask[:, None, None, :]
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask.view(1, 1, x.shape[1], source.shape[1])
mask_shapes: Some shapes of masks fail or are misread: any that broadcasts to (B, H, T, S) is right, (1, S) and (H, T, S) among them. Broadcasting
    does it by itself: hand the mask on, or `mask.expand(B, H, T, S)`.
- allowed = None if mask is None else ~mask =>
      if mask is not None and mask.dim() not in (2, 4):
          raise ValueError("a mask has two or four dimensions")
      allowed = None if mask is None else ~mask
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask.unsqueeze(1) if mask.dim() == 3 else ~mask
mask_cut_to_tokens: The mask is cut to T x T, as if there were as many keys as queries: with a context it is (T, S).
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask[..., : x.shape[1]]
- allowed = None if mask is None else ~mask => allowed = None if mask is None else F.pad(~mask[..., : x.shape[1]], (0, max(0, source.shape[1] - x.shape[1])), value=True)
mask_not_for_one: The mask is not used for a single query (T = 1), as if it had to be a causal one: it may block keys of the context, or padding.
- allowed = None if mask is None else ~mask => allowed = None if mask is None or x.shape[1] == 1 else ~mask
other_signature (slip): A parameter has another name than in the signature: MultiHeadAttention(embed_dim, num_heads), forward(x, mask=None, context=None).
- def forward(self, x, mask=None, context=None): =>
      def forward(self, query, mask=None, context=None):
          x = query
- def forward(self, x, mask=None, context=None): =>
      def forward(self, x, mask=None, memory=None):
          context = memory
- def __init__(self, embed_dim, num_heads): =>
      def __init__(self, C, H):
          embed_dim, num_heads = C, H
beginning_of_memory: The numbers are read from the beginning of the memory that a tensor lies in: a slice lies further on.
- self.q_proj(x) => self.q_proj(torch.as_strided(x, x.shape, x.stride(), 0))
mask_of_first: Only one part of the mask is used (that of the first sequence or head): it is broadcast to (B, H, T, S).
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask[:1] if mask.dim() == 4 else ~mask
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask[:, :1] if mask.dim() == 4 else ~mask
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask[0, 0] if mask.dim() == 4 else ~mask
always_causal: Later tokens are blocked even without a mask: apply the mask that is given, nothing else.
- allowed = None if mask is None else ~mask =>
      future = torch.ones(x.shape[1], source.shape[1], dtype=torch.bool, device=x.device).triu(1)
      allowed = ~future if mask is None else ~(mask | future)
- F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => F.scaled_dot_product_attention(Q, K, V, is_causal=True)
- F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, is_causal=mask is None)
causal_instead_of_mask: Whatever the mask says, a causal one is applied: use the mask that is given.
- F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => F.scaled_dot_product_attention(Q, K, V, is_causal=mask is not None)
mask_sometimes: The mask is used in one mode only (training or evaluation). What is blocked is blocked in both.
- allowed = None if mask is None else ~mask => allowed = ~mask if mask is not None and self.training else None
- allowed = None if mask is None else ~mask => allowed = ~mask if mask is not None and not self.training else None
mask_not_with_context: The mask is not used where there is a context: both may be given.
- allowed = None if mask is None else ~mask => allowed = None if mask is None or context is not None else ~mask
mask_remembered: The first (or last) mask is kept and used in later calls too: a call uses the mask it is given, or none.
- super().__init__() =>
      super().__init__()
      self.mask = None
  source = x =>
      mask = self.mask = self.mask if mask is None else mask
      source = x
- super().__init__() =>
      super().__init__()
      self.mask = None
  source = x =>
      mask = self.mask = mask if self.mask is None else self.mask
      source = x
mask_required (slip): forward cannot be called without a mask, or without a context: both are None by default, forward(x, mask=None, context=None).
- def forward(self, x, mask=None, context=None) => def forward(self, x, mask, context=None) || def forward(self, x, mask, context)
- def forward(self, x, mask=None, context=None) => def forward(self, x, mask=None, *, context)
- allowed = None if mask is None else ~mask => allowed = ~mask
parameters_of_forward (missed): The parameters of forward have other names or another order: forward(x, mask=None, context=None).
- def forward(self, x, mask=None, context=None) => def forward(self, x, context=None, mask=None)
- def forward(self, x, mask=None, context=None) => def forward(self, x, mask=None)
  source = x if context is None else context => source = x
- def forward(self, x, mask=None, context=None) => def forward(self, x, context=None)
  allowed = None if mask is None else ~mask => allowed = None
- def forward(self, x, mask=None, context=None) => def forward(self, x)
  source = x if context is None else context => source = x
  allowed = None if mask is None else ~mask => allowed = None
- def forward(self, x, mask=None, context=None) => def forward(self, query, key, value, mask=None)
  self.q_proj(x) => self.q_proj(query)
  source = x if context is None else context => source = key
context_ignored: The context is not used: keys and values come from it when it is given.
- source = x if context is None else context => source = x
context_for_one: Keys and values come from different places: both come from the context when it is given.
- in scale_of_whole_width
  k_proj(source), => k_proj(x),
  sqrt(x.shape => sqrt(Q.shape
- in scale_of_whole_width
  v_proj(source), => v_proj(x),
  sqrt(x.shape => sqrt(Q.shape
queries_from_context: The queries come from the context: they come from x, keys and values from the context.
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = split_heads(self.q_proj(source), self.num_heads)
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = split_heads(self.q_proj(source), self.num_heads)
  K = split_heads(self.k_proj(source), self.num_heads) => K = split_heads(self.k_proj(x), self.num_heads)
  V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(self.v_proj(x), self.num_heads)
context_appended: The context is joined to x: keys and values come from the context alone.
- source = x if context is None else context => source = x if context is None else torch.cat([x, context], dim=1)
- source = x if context is None else context => source = x if context is None else torch.cat([context, x], dim=1)
context_of_equal_length: The context is taken to be as long as x: it has a length S of its own.
- source = x if context is None else context => source = x if context is None else context[:, : x.shape[1]]
- k_proj(source), self. => k_proj(source).view(x.shape), self.
context_remembered: An earlier context is kept and used in later calls too: without a context, keys and values come from x.
- in mask_remembered
  self.mask = None => self.context = None
  mask = self.mask = self.mask if mask is None else mask => context = self.context = self.context if context is None else context
out_proj_unused (slip): out_proj is never applied: the merged heads go through it at the end.
- return self.out_proj(merge_heads(heads)) => return merge_heads(heads)
no_out_proj: There is no out_proj: after merging, one more nn.Linear(embed_dim, embed_dim) mixes the heads.
- self.out_proj = nn.Linear(embed_dim, embed_dim) =>
  return self.out_proj(merge_heads(heads)) => return merge_heads(heads)
no_bias (slip): A layer has no bias (`bias=False`): nn.Linear(embed_dim, embed_dim) with its default bias is asked for, four times.
- nn.Linear(embed_dim, embed_dim) => nn.Linear(embed_dim, embed_dim, bias=False)
- self.q_proj = nn.Linear(embed_dim, embed_dim) => self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
  self.k_proj = nn.Linear(embed_dim, embed_dim) => self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
  self.v_proj = nn.Linear(embed_dim, embed_dim) => self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
- self.q_proj = nn.Linear(embed_dim, embed_dim) => self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
- self.k_proj = nn.Linear(embed_dim, embed_dim) => self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
- self.v_proj = nn.Linear(embed_dim, embed_dim) => self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
- self.out_proj = nn.Linear(embed_dim, embed_dim) => self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False)
narrow_projections: The projections are nn.Linear(embed_dim, d_k), enough for one head: one layer embed_dim → embed_dim makes the columns of all
    heads.
- self.q_proj = nn.Linear(embed_dim, embed_dim) => self.q_proj = nn.Linear(embed_dim, embed_dim // num_heads)
  self.k_proj = nn.Linear(embed_dim, embed_dim) => self.k_proj = nn.Linear(embed_dim, embed_dim // num_heads)
  self.v_proj = nn.Linear(embed_dim, embed_dim) => self.v_proj = nn.Linear(embed_dim, embed_dim // num_heads)
split_before_projecting: x is split before it is projected, so that a head sees only its own columns of x: project first (embed_dim → embed_dim), then
    split.
- self.q_proj = nn.Linear(embed_dim, embed_dim) => self.q_proj = nn.Linear(embed_dim // num_heads, embed_dim // num_heads)
  self.k_proj = nn.Linear(embed_dim, embed_dim) => self.k_proj = nn.Linear(embed_dim // num_heads, embed_dim // num_heads)
  self.v_proj = nn.Linear(embed_dim, embed_dim) => self.v_proj = nn.Linear(embed_dim // num_heads, embed_dim // num_heads)
  Q = split_heads(self.q_proj(x), self.num_heads) => Q = self.q_proj(split_heads(x, self.num_heads))
  K = split_heads(self.k_proj(source), self.num_heads) => K = self.k_proj(split_heads(source, self.num_heads))
  V = split_heads(self.v_proj(source), self.num_heads) => V = self.v_proj(split_heads(source, self.num_heads))
out_proj_for_one_head: out_proj takes one head only (d_k features): the heads are merged first, and out_proj is nn.Linear(embed_dim, embed_dim).
- self.out_proj = nn.Linear(embed_dim, embed_dim) => self.out_proj = nn.Linear(embed_dim // num_heads, embed_dim)
  return self.out_proj(merge_heads(heads)) => return self.out_proj(heads).sum(dim=1)
- self.out_proj = nn.Linear(embed_dim, embed_dim) => self.out_proj = nn.Linear(embed_dim // num_heads, embed_dim)
  return self.out_proj(merge_heads(heads)) => return self.out_proj(heads.mean(dim=1))
wide_projections: The projections are num_heads times too wide: the heads share the width embed_dim, each has embed_dim / num_heads of it.
- self.q_proj = nn.Linear(embed_dim, embed_dim) => self.q_proj = nn.Linear(embed_dim, embed_dim * num_heads)
  self.k_proj = nn.Linear(embed_dim, embed_dim) => self.k_proj = nn.Linear(embed_dim, embed_dim * num_heads)
  self.v_proj = nn.Linear(embed_dim, embed_dim) => self.v_proj = nn.Linear(embed_dim, embed_dim * num_heads)
  self.out_proj = nn.Linear(embed_dim, embed_dim) => self.out_proj = nn.Linear(embed_dim * num_heads, embed_dim)
sizes_fixed (missed): The sizes of the layers are fixed numbers: they come from embed_dim.
- nn.Linear(embed_dim, embed_dim) => nn.Linear(512, 512) || nn.Linear(64, 64) || nn.Linear(32, 32)
fused: One fused layer makes queries, keys and values. That is how real code does it, but here q_proj, k_proj and v_proj are asked for.
- self.q_proj = nn.Linear(embed_dim, embed_dim) => self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
  self.k_proj = nn.Linear(embed_dim, embed_dim) =>
  self.v_proj = nn.Linear(embed_dim, embed_dim) =>
  Q = split_heads(self.q_proj(x), self.num_heads) => Q = split_heads(self.qkv_proj(x).chunk(3, dim=-1)[0], self.num_heads)
  K = split_heads(self.k_proj(source), self.num_heads) => K = split_heads(self.qkv_proj(source).chunk(3, dim=-1)[1], self.num_heads)
  V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(self.qkv_proj(source).chunk(3, dim=-1)[2], self.num_heads)
torchs_module (missed): nn.MultiheadAttention does the work: here the four layers q_proj, k_proj, v_proj and out_proj are your own.
- |
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
- |
  class MultiHeadAttention(nn.Module):
      def __init__(self, embed_dim, num_heads):
          super().__init__()
          if embed_dim % num_heads != 0:
              raise ValueError("embed_dim")
          self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

      def forward(self, x, mask=None, context=None):
          context = x if context is None else context
          return self.attention(x, context, context, attn_mask=mask)[0]
separate_heads: Each head has small layers of its own (an nn.ModuleList of heads). That is equal in what it can learn, but here one layer of full
    width for all heads is asked for: q_proj, k_proj, v_proj, out_proj.
- |
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
other_names (slip): The layers have other names: q_proj, k_proj, v_proj and out_proj are asked for, so that weights can be loaded.
- q_proj => query
  k_proj => key
  v_proj => value
  out_proj => out
- q_proj => W_q
  k_proj => W_k
  v_proj => W_v
  out_proj => W_o
- out_proj => o_proj || proj
bare_parameters: The projections are bare matrices (nn.Parameter) instead of layers: nn.Linear(embed_dim, embed_dim) holds a weight and a bias and is
    called as `self.q_proj(x)`.
- nn.Linear(embed_dim, embed_dim) => nn.Parameter(torch.randn(embed_dim, embed_dim))
  self.q_proj(x) => (x @ self.q_proj)
  self.k_proj(source) => (source @ self.k_proj)
  self.v_proj(source) => (source @ self.v_proj)
  self.out_proj(merge_heads(heads)) => (merge_heads(heads) @ self.out_proj)
shared_layers: Several of the projections are one and the same layer: q_proj, k_proj and v_proj each have weights of their own.
- self.k_proj = nn.Linear(embed_dim, embed_dim) => self.k_proj = self.q_proj
  self.v_proj = nn.Linear(embed_dim, embed_dim) => self.v_proj = self.q_proj
- self.k_proj = nn.Linear(embed_dim, embed_dim) => self.k_proj = self.q_proj
- self.v_proj = nn.Linear(embed_dim, embed_dim) => self.v_proj = self.k_proj
layers_in_a_list: The layers are kept in a plain Python list or dictionary, where nn.Module cannot see them: no parameters, no training. Assign each
    to an attribute of its own.
- in fused
  raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}") => raise ValueError("embed_dim")
  self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim) => self.layers = [nn.Linear(embed_dim, embed_dim) for _ in range(4)]
  self.out_proj = nn.Linear(embed_dim, embed_dim) =>
  Q = split_heads(self.qkv_proj(x).chunk(3, dim=-1)[0], self.num_heads) => Q, K, V = (split_heads(f(y), self.num_heads) for f, y in zip(self.layers, (x, source, source)))
  K = split_heads(self.qkv_proj(source).chunk(3, dim=-1)[1], self.num_heads) =>
  V = split_heads(self.qkv_proj(source).chunk(3, dim=-1)[2], self.num_heads) =>
  heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => return self.layers[3](merge_heads(F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)))
  return self.out_proj(merge_heads(heads)) =>
layers_made_in_forward: The layers are made anew in every forward pass, so nothing that is learned or loaded is ever used.
- self.q_proj(x) => nn.Linear(x.shape[-1], x.shape[-1])(x)
  self.k_proj(source) => nn.Linear(x.shape[-1], x.shape[-1])(source)
  self.v_proj(source) => nn.Linear(x.shape[-1], x.shape[-1])(source)
query_key_swapped (slip): q_proj and k_proj are swapped: q_proj makes the queries from x, k_proj the keys.
- in scale_of_whole_width
  Q @ K.transpose(-2, -1) / math.sqrt(x => K @ Q.transpose(-2, -1) / math.sqrt(Q
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = split_heads(self.k_proj(x), self.num_heads)
  K = split_heads(self.k_proj(source), self.num_heads) => K = split_heads(self.q_proj(source), self.num_heads)
key_value_swapped (slip): Keys and values are swapped: k_proj makes what is compared, v_proj what is averaged.
- F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => F.scaled_dot_product_attention(Q, V, K, attn_mask=allowed)
query_value_swapped (slip): Queries and values are swapped.
- in scale_of_whole_width
  Q @ K.transpose(-2, -1) / math.sqrt(x => V @ K.transpose(-2, -1) / math.sqrt(Q
  ) @ V => ) @ Q
one_projection_for_two: The same projection is used twice and another one never: queries, keys and values each go through their own layer.
- V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(self.k_proj(source), self.num_heads)
- K = split_heads(self.k_proj(source), self.num_heads) => K = split_heads(self.q_proj(source), self.num_heads)
- V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(self.q_proj(source), self.num_heads)
- K = split_heads(self.k_proj(source), self.num_heads) => K = split_heads(self.q_proj(source), self.num_heads)
  V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(self.q_proj(source), self.num_heads)
unprojected: The tokens go in as they are where a projection belongs: q_proj(x), k_proj and v_proj come first.
- V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(source, self.num_heads)
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = split_heads(x, self.num_heads)
- K = split_heads(self.k_proj(source), self.num_heads) => K = split_heads(source, self.num_heads)
- Q = split_heads(self.q_proj(x), self.num_heads) => Q = split_heads(x, self.num_heads)
  K = split_heads(self.k_proj(source), self.num_heads) => K = split_heads(source, self.num_heads)
  V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(source, self.num_heads)
values_split_by_hand_twice: Values are projected twice: out_proj comes after the heads are merged, v_proj before they are split, each once.
- V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(self.out_proj(self.v_proj(source)), self.num_heads)
  return self.out_proj(merge_heads(heads)) => return merge_heads(heads)
- V = split_heads(self.v_proj(source), self.num_heads) => V = split_heads(self.v_proj(self.v_proj(source)), self.num_heads)
residual (slip): x is added to the output: the residual connection belongs to the block of notebook 08.
- return self.out_proj(merge_heads(heads)) =>
      output = self.out_proj(merge_heads(heads))
      return x + output
normalised: A layer norm is applied to the input or the output: it belongs to the block of notebook 08.
- source = x =>
      x = F.layer_norm(x, x.shape[-1:])
      source = x
- return self.out_proj(merge_heads(heads)) =>
      output = self.out_proj(merge_heads(heads))
      return F.layer_norm(output, output.shape[-1:])
dropout (slip): Dropout is at work in training mode: none is asked for here.
- return self.out_proj(merge_heads(heads)) =>
      output = self.out_proj(merge_heads(heads))
      return F.dropout(output, 0.1, self.training)
- F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, dropout_p=0.1 if self.training else 0.0)
- F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, dropout_p=0.1)
activation: An activation function is applied: projections and output are linear.
- return self.out_proj(merge_heads(heads)) =>
      output = self.out_proj(merge_heads(heads))
      return torch.relu(output)
- self.q_proj(x) => torch.relu(self.q_proj(x))
  self.k_proj(source) => torch.relu(self.k_proj(source))
  self.v_proj(source) => torch.relu(self.v_proj(source))
weights_too (slip): The weights are returned as well: forward gives one tensor, (B, T, C).
- return self.out_proj(merge_heads(heads)) =>
      weights = torch.softmax(Q @ K.mT, dim=-1)
      return self.out_proj(merge_heads(heads)), weights
- return self.out_proj(merge_heads(heads)) =>
      output = self.out_proj(merge_heads(heads))
      return (output, None)
heads_returned: The heads are never merged: the output is (B, T, C), with the heads side by side and then projected.
- return self.out_proj(merge_heads(heads)) => return heads || return heads.transpose(1, 2)
batch_second: Attention runs over the batch: x is (B, T, C) here (nn.MultiheadAttention's default has the tokens first).
- source = x =>
      x = x.transpose(0, 1)
      context = None if context is None else context.transpose(0, 1)
      source = x
  return self.out_proj(merge_heads(heads)) => return self.out_proj(merge_heads(heads)).transpose(0, 1)
length_limited: The number of tokens is limited by a fixed maximum: any T and S are allowed.
- source = x =>
      x = x[:, :16]
      source = x
- source = x =>
      if x.shape[1] > 32:
          raise ValueError('too long')
      source = x
- source = x =>
      assert x.shape[1] <= 16
      source = x
- source = x =>
      assert x.shape[1] <= 512
      source = x
- source = x if context is None else context => source = x if context is None else context[:, :512]
- allowed = None if mask is None else ~mask => allowed = None if mask is None else ~mask[..., :128, :128]
not_refused: embed_dim that is not divisible by num_heads gives no ValueError, or only when the module is called: compare `embed_dim % num_heads` with
    0 in `__init__`, and raise it there.
- if embed_dim % num_heads != 0: =>
  raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}") =>
- raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}") => raise AssertionError('embed_dim')
- raise ValueError(f"embed_dim must be divisible by num_heads; got {embed_dim} and {num_heads}") => raise TypeError('embed_dim')
refused_without_reason (missed): Sizes are refused that are right: every num_heads that divides embed_dim is allowed, 1 and embed_dim among them.
- embed_dim % num_heads != 0 => embed_dim % num_heads == 0 || num_heads % embed_dim != 0 || embed_dim % num_heads != 0 or num_heads == 1
- embed_dim % num_heads != 0 => embed_dim % num_heads != 0 or embed_dim // num_heads % 2
- embed_dim % num_heads != 0 => embed_dim % num_heads != 0 or num_heads > 8
device_dropped: A tensor is made without `device=x.device`: on a GPU the call fails.
- in scale_of_whole_width
  math.sqrt(x.shape[-1] => torch.full((1,), Q.shape[-1] ** 0.5, dtype=x.dtype
- allowed = None if mask is None else ~mask => allowed = None if mask is None else torch.zeros(mask.shape, dtype=x.dtype).masked_fill(mask, float('-inf'))
parameters_changed: Every call changes the parameters (`weight.data.div_`): the next call gives another result. Scale the scores instead.
- in no_scale
  def forward(self, x, mask=None, context=None): =>
      def forward(self, x, mask=None, context=None):
          self.q_proj.weight.data.div_((x.shape[-1] // self.num_heads) ** 0.5)
          self.q_proj.bias.data.div_((x.shape[-1] // self.num_heads) ** 0.5)
same_start: Layers start alike (copied or constant weights): each needs random weights of its own, as nn.Linear makes them.
- self.out_proj = nn.Linear(embed_dim, embed_dim) =>
      self.out_proj = nn.Linear(embed_dim, embed_dim)
      for layer in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
          nn.init.zeros_(layer.weight)
- self.out_proj = nn.Linear(embed_dim, embed_dim) =>
      self.out_proj = nn.Linear(embed_dim, embed_dim)
      for layer in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
          nn.init.ones_(layer.weight)
- self.out_proj = nn.Linear(embed_dim, embed_dim) =>
      self.out_proj = nn.Linear(embed_dim, embed_dim)
      nn.init.zeros_(self.out_proj.weight)
- self.out_proj = nn.Linear(embed_dim, embed_dim) =>
      self.out_proj = nn.Linear(embed_dim, embed_dim)
      self.k_proj.load_state_dict(self.q_proj.state_dict())
no_super (missed): `super().__init__()` is missing: nn.Module must be set up before layers can be assigned.
- super().__init__() =>
not_a_module (missed): The class does not inherit from nn.Module: its layers cannot be found, moved, saved or trained.
- class MultiHeadAttention(nn.Module) => class MultiHeadAttention
  super().__init__() =>
  def forward => def __call__
forward_misspelt (missed): There is no method `forward`: nn.Module calls the method of exactly this name.
- def forward => def foward
gradient_cut_off:
- F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed).detach()
- self.k_proj(source) => self.k_proj(source).detach()
- source = x if context is None else context => source = x if context is None else context.detach()
- source = x if context is None else context => source = x.detach() if context is None else context.detach()
single_precision:
- source = x =>
      x = x.float()
      source = x
- F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => F.scaled_dot_product_attention(Q.float(), K.float(), V.float(), attn_mask=allowed).to(x.dtype)
input_changed:
- source = x =>
      x -= x.mean()
      source = x
- allowed = None if mask is None else ~mask => allowed = None if mask is None else mask.logical_not_()
- source = x if context is None else context => source = x if context is None else context.mul_(1.5)
""",
    right=r"""
written_out:
- allowed = None if mask is None else ~mask => d_k = Q.shape[-1]
  heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) =>
      scores = torch.einsum('bhtd,bhsd->bhts', Q, K) * d_k**-0.5
      if mask is not None:
          scores = scores.masked_fill(mask, -torch.inf)
      heads = torch.einsum('bhts,bhsd->bhtd', scores.softmax(-1), V)
loop_over_heads:
- source = x if context is None else context =>
      if context is None:
          context = x
      d_k = x.shape[-1] // self.num_heads
      Q, K, V = self.q_proj(x), self.k_proj(context), self.v_proj(context)
      outputs = []
      for h in range(self.num_heads):
          columns = slice(h * d_k, (h + 1) * d_k)
          scores = Q[..., columns] @ K[..., columns].transpose(1, 2) / d_k**0.5
          if mask is not None:
              blocked = mask.expand(x.shape[0], self.num_heads, *scores.shape[1:])[:, h]
              scores = torch.where(blocked, float('-inf'), scores)
          outputs.append(scores.softmax(dim=2) @ V[..., columns])
      return self.out_proj(torch.cat(outputs, dim=-1))
  Q = split_heads(self.q_proj(x), self.num_heads) =>
  K = split_heads(self.k_proj(source), self.num_heads) =>
  V = split_heads(self.v_proj(source), self.num_heads) =>
  allowed = None if mask is None else ~mask =>
  heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) =>
  return self.out_proj(merge_heads(heads)) =>
additive_mask:
- allowed = None if mask is None else ~mask =>
      allowed = None
      if mask is not None:
          allowed = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(mask, float('-inf'))
sum_of_heads:
- source = x if context is None else context =>
      context = x if context is None else context
      Q, K, V = (split_heads(y, self.num_heads) for y in (self.q_proj(x), self.k_proj(context), self.v_proj(context)))
      heads = F.scaled_dot_product_attention(Q, K, V, None if mask is None else mask.logical_not())
      rows = self.out_proj.weight.T.reshape(self.num_heads, -1, x.shape[-1])
      return (heads @ rows).sum(dim=1) + self.out_proj.bias
  Q = split_heads(self.q_proj(x), self.num_heads) =>
  K = split_heads(self.k_proj(source), self.num_heads) =>
  V = split_heads(self.v_proj(source), self.num_heads) =>
  allowed = None if mask is None else ~mask =>
  heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) =>
  return self.out_proj(merge_heads(heads)) =>
fused_by_hand:
- in additive_mask
  source = x if context is None else context =>
      B, T, C = x.shape
      H, d_k = self.num_heads, C // self.num_heads
      if context is None:
          weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
          bias = torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias])
          q, k, v = F.linear(x, weight, bias).split(C, dim=2)
      else:
          q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
      q = q.view(B, T, H, d_k).transpose(1, 2)
      k = k.view(B, -1, H, d_k).transpose(1, 2)
      v = v.view(B, -1, H, d_k).transpose(1, 2)
      att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
  Q = split_heads(self.q_proj(x), self.num_heads) =>
  K = split_heads(self.k_proj(source), self.num_heads) =>
  V = split_heads(self.v_proj(source), self.num_heads) =>
  allowed = None =>
  allowed = torch.zeros(mask.shape, dtype=x.dtype, device=x.device).masked_fill(mask, float('-inf')) => att = att.masked_fill(mask, float('-inf'))
  heads = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed) => y = F.softmax(att, dim=-1) @ v
  return self.out_proj(merge_heads(heads)) => return self.out_proj(y.transpose(1, 2).contiguous().view(B, T, C))
""",
)
