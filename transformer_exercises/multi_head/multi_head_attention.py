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
)
