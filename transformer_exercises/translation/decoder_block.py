"""`DecoderBlock`: against nn.TransformerDecoderLayer, both masks, nothing that leaks, dropout on the three parts."""

import functools
from itertools import product, starmap
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from autograder.spec import (
    Check,
    Exercise,
    KnownModule,
    ParameterMap,
    Student,
    Weights,
    Wrong,
    a_tensor,
    close,
    device_is_kept,
    differ,
    future,
    generator_unchanged,
    no_other_parameters,
    normal,
    only_values,
    outline,
    provided,
    same_output,
    shape_of,
    sliced,
    some_mask,
    unchanged,
)

from ..attention_layers import norms
from ..widths import other_block

for_torch = provided("for_torch", __name__)
ATTENTIONS = {"self_attn": "self_attn", "cross_attn": "multihead_attn"}  # and PyTorch's names
NORMS = ("norm1", "norm2", "norm3")
PARTS = (*ATTENTIONS, "ff", *NORMS)
ENDS = ("self_attn.out_proj", "multihead_attn.out_proj", "linear2")  # of the three parts, by PyTorch's names

BLOCKS = (  # B, T, S, embed_dim, num_heads, ff_dim
    *((2, 4, 3, 6, 3, 9), (3, 2, 5, 8, 2, 5), (1, 1, 4, 4, 1, 7), (2, 5, 1, 6, 6, 10), (4, 3, 3, 10, 5, 8)),
    *((1, 7, 20, 4, 2, 16), (5, 6, 2, 12, 4, 1)),
    *((1, 300, 520, 4, 2, 16), (16, 2, 3, 264, 12, 40)),  # as in real use
)


def _found(parameters: dict[str, Any], C: int, F_: int) -> ParameterMap:
    """Return for each parameter of a student's block which of nn.TransformerDecoderLayer's it is, and which rows of it.

    The attentions may keep their projections in three layers (q_proj, k_proj, v_proj) or stacked, as
    nn.MultiheadAttention does; ff may have any names inside: its layers are found by their shapes (C and F differ). So
    may norms of one's own: the parameter made first is the weight.
    """
    found: ParameterMap = {}

    def put(ours: str, shape: tuple[int, ...], hint: str, ending: str, *beginnings: str, first: int = 0) -> None:
        for beginning, name in product(beginnings, parameters):
            bias = name.removesuffix("weight") + "bias"
            fits = shape_of(parameters[name]) == shape and shape_of(parameters.get(bias)) == shape[:1]
            if fits and name.startswith(beginning) and name.endswith(ending):
                rows = slice(first, first + shape[0])
                found[name] = lambda weights: weights[f"{ours}weight"][rows]
                found[bias] = lambda weights: weights[f"{ours}bias"][rows]
                return
        raise Wrong(hint, "parts_not_found")

    for attn, ours in ATTENTIONS.items():
        hint = f"{attn} has not the parameters of an attention of width {C}: make it Attention(embed_dim, num_heads)."
        stacked = any(name.startswith(f"{attn}.") and "in_proj" in name for name in parameters)
        for i, name in enumerate(["in_proj_"] if stacked else ["q_proj.", "k_proj.", "v_proj."]):
            put(f"{ours}.in_proj_", (3 * C if stacked else C, C), hint, f".{name}weight", f"{attn}.", first=i * C)
        put(f"{ours}.out_proj.", (C, C), hint, ".out_proj.weight", f"{attn}.")
    for ours, rows, columns in (("linear1.", F_, C), ("linear2.", C, F_)):
        hint = f"With embed_dim = {C}, ff_dim = {F_}, ff should have a layer nn.Linear({columns}, {rows}) with a bias."
        # PyTorch names a layer by the attribute that it was given to first, which may be another one than ff.
        put(ours, (rows, columns), hint, "weight", "ff.", "")
    return found | norms(parameters, NORMS, C)


def _block(student: Student, C: int, H: int, F_: int, *args: float, dtype: torch.dtype = torch.float32) -> KnownModule:
    """Return a student's block, to be compared with PyTorch's of the same weights, which have PyTorch's names."""
    layer = nn.TransformerDecoderLayer(C, H, F_, dropout=0.0, batch_first=True, dtype=dtype, device="meta")

    def weights() -> Weights:
        drawn = {}
        for name, value in layer.named_parameters():
            scale = 0.5 if "attn" not in name else 1.0 if name.endswith("bias") else 1.5 / C**0.5
            start = float(value.dim() == 1 and name.endswith("weight"))  # 1 for norms
            drawn[name] = start + normal(*value.shape, scale=scale, dtype=dtype)
        return drawn

    def formula(
        weights: Weights, x: torch.Tensor, memory: torch.Tensor, mask: Any = None, memory_mask: Any = None
    ) -> torch.Tensor:
        masks = {"tgt_mask": for_torch(mask, x, x, H), "memory_mask": for_torch(memory_mask, x, memory, H)}
        return torch.func.functional_call(layer, weights, (x, memory), masks)

    find, arguments = functools.partial(_found, C=C, F_=F_), ("x", "memory", "mask", "memory_mask")
    how: dict[str, Any] = {"dtype": dtype, "arguments": arguments, "positional": 4, "same": same_output, "depth": 1}
    return KnownModule(student, ("DecoderBlock", [C, H, F_, *args], {}), weights, formula, find, **how)


def _parts(student: Student) -> None:
    for C, H, F_ in starmap(other_block, ((6, 3, 9), (4, 1, 7))):
        with student.case():
            module = student.build("DecoderBlock", C, H, F_)
            outline(student, module, 1)
            state = student.state(module, record=False)
            parameters = state["parameters"]
            for name in PARTS:
                if name not in state["children"] and not any(p.startswith(f"{name}.") for p in parameters):
                    message = f"The block has no part `{name}`: its parts are called {', '.join(PARTS)}."
                    raise Wrong(message, "parts_not_found")
            found = _found(parameters, C, F_)
            if frozen := sorted(found.keys() - set(state["trainable"])):
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            no_other_parameters(parameters, found)
    with student.case():
        student.build("DecoderBlock", embed_dim=4, num_heads=2, ff_dim=6, dropout=0.1)


def _values(student: Student) -> None:
    for B, T, S, C, H, F_ in BLOCKS:
        with student.case():
            where = f"for B = {B}, T = {T}, S = {S}, embed_dim = {C}, num_heads = {H}, ff_dim = {F_}, without masks"
            _block(student, C, H, F_).gives(normal(B, T, C), 2 * normal(B, S, C), where=where)


def _masks(student: Student) -> None:
    for B, T, S, C, H, F_ in ((2, 4, 5, 6, 3, 9), (3, 3, 3, 6, 2, 8)):
        block, x, memory = _block(student, C, H, F_), normal(B, T, C), 2 * normal(B, S, C)
        padding = (torch.arange(S) >= torch.tensor([S, S - 2, S - 1])[:B, None])[:, None, None]
        for mask, memory_mask, what in (
            (future(T), None, "with a causal mask (T, T)"),
            (None, padding, "with a memory_mask (B, 1, 1, S) that blocks padding"),
            (future(T), padding, "with both masks, (T, T) and (B, 1, 1, S)"),
            (some_mask(B, 1, T, T), None, "with a mask (B, 1, T, T), one for each sequence"),
            (None, some_mask(T, S), "with a memory_mask (T, S)"),
            (some_mask(T, T), some_mask(B, 1, T, S), "with a mask (T, T) and a memory_mask (B, 1, T, S)"),
            (some_mask(B, H, T, T), None, "with a mask (B, H, T, T), one for each head"),
            (None, some_mask(B, H, T, S), "with a memory_mask (B, H, T, S), one for each head"),
            (some_mask(1, 1, T, T), some_mask(1, T, S), "with a mask (1, 1, T, T) and a memory_mask (1, T, S)"),
            (torch.zeros(T, T) > 0, torch.zeros(T, S) > 0, "with masks that block nothing"),
            (None, None, "without masks, after calls with some"),
        ):
            with student.case():
                where = f"{what}, for B = {B}, T = {T}, S = {S}"
                block.gives(x, memory, mask, memory_mask, where=where, positional=2)
        with student.case():
            where = f"with both masks, under no_grad in evaluation mode, for B = {B}, T = {T}, S = {S}"
            block.gives(x, memory, future(T), padding, where=where, positional=2, training=False, no_grad=True)
    for B, T, S in ((1, 4, 5), (3, 1, 6), (3, 3, 3)):
        with student.case():
            where = f"with both masks given by position, for B = {B}, T = {T}, S = {S}"
            masks = some_mask(B, 1, T, T), some_mask(B, 1, 1, S)
            block.gives(normal(B, T, 6), 2 * normal(B, S, 6), *masks, where=where)


def _leaks(student: Student) -> None:
    """With masks, no output depends on later tokens or on padding of the source; all depend on the rest."""
    block, x, memory = _block(student, 6, 2, 8), normal(2, 5, 6), normal(2, 4, 6)
    masks = future(5), torch.tensor([False, False, False, True]).expand(2, 1, 1, 4)
    with only_values():
        before = a_tensor(student.value(block.module, x, memory, *masks), "The output")
        if before.shape != x.shape:
            same_output(before, x)  # raises, with a hint
    tokens, positions = [("x", t, t) for t in range(1, 5)], [("memory", s, 0 if s < 3 else 5) for s in range(4)]
    for name, position, still in (*tokens, *positions):  # so many outputs must stay
        with student.case():
            given = {"x": x.clone(), "memory": memory.clone()}
            given[name][:, position] = 3 * normal(2, 6)
            after = a_tensor(student.value(block.module, *given.values(), *masks), "The output")
            if after.shape != before.shape or not close(after[:, :still], before[:, :still]):
                what = "the future" if name == "x" else "padding of the source"
                raise Wrong(f"Outputs that must stay move when {name}[:, {position}] is changed: {what} leaks in.")
            if still < 5 and close(after[:, still:], before[:, still:]):
                raise Wrong(f"Changing {name}[:, {position}] changes no output at all.")


def _dropout(student: Student) -> None:
    """Where one part alone writes, the same at every place, each number that it writes is either dropped or doubled.

    So a row is one of eight. Dropout that acts twice, or elsewhere, makes other rows, but for one time in 10^14.
    Neither the order of the parts matters nor the activation: x is normalised, and the hidden numbers are 9.
    """
    block, x = _block(student, 3, 3, 8, 0.5), F.layer_norm(normal(2, 20, 3), (3,))
    doubled = 2 * torch.tensor([*product((0.0, 1.0), repeat=3)])[:, None, None]  # (8, 1, 1, 3)
    values = {f"{norm}.weight": 1.0 for norm in NORMS} | {"linear1.bias": 9.0}
    values |= {"self_attn.in_proj_bias": 1.0, "multihead_attn.in_proj_bias": 1.0}
    for part, end in zip(PARTS, ENDS, strict=False):
        with student.case():
            weights = {name: torch.full_like(value, values.get(name, 0.0)) for name, value in block.weights.items()}
            weight, bias = (normal(*block.weights[f"{end}.{kind}"].shape) for kind in ("weight", "bias"))
            block.load(weights | {f"{end}.weight": weight, f"{end}.bias": bias})
            where = f"in training with dropout = 0.5, where only {part} writes"
            got = student.call(block.module, [x, normal(2, 4, 3)], training=True, where=where)["value"]
            if shape_of(got) != x.shape or got.dtype != x.dtype:
                same_output(got, x, where=where)  # raises, with a hint
            possible, written = x, (9 if part == "ff" else 1) * weight.sum(1) + bias
            for other in ENDS:
                possible = F.layer_norm(possible + (other == end) * doubled * written, (3,))
            right = torch.isclose(got, possible, 1e-3, 1e-3).all(-1).any(0)  # (B, T)
            message = "Dropout should act once on what each part gives, and never on x or elsewhere"
            differ(not right.all(), f"{message}; it does not {where}.")


def _modes(student: Student) -> None:
    x, memory = normal(2, 5, 6), normal(2, 3, 6)
    for args, training, where in (
        ([0.9], False, "in evaluation mode with dropout = 0.9"),
        ([0.0], True, "in training mode with dropout = 0.0"),
        ([], True, "in training mode with the default dropout of 0"),
    ):
        with student.case():
            answer = _block(student, 6, 3, 8, *args).gives(x, memory, where=where, training=training)
            if not training:
                generator_unchanged(answer)


def _gradient(student: Student) -> None:
    masks = future(5), some_mask(2, 1, 1, 3)
    for dtype, where, passed in ((torch.float32, "without masks", ()), (torch.float64, "with masks", masks)):
        with student.case():
            x, memory = normal(2, 5, 8, dtype=dtype), normal(2, 3, 8, dtype=dtype)
            block = _block(student, 8, 2, 5, dtype=dtype)
            with student.case():
                block.gives(x, memory, *passed, where=where)
            block.has_gradients(x, memory, *passed, where=where, rough="" if passed else "inputs and weights")


def _side_effects(student: Student) -> None:
    x, memory, masks = normal(2, 5, 6), normal(2, 3, 6), (future(5), some_mask(2, 1, 1, 3))
    with student.case():
        block, other = _block(student, 6, 2, 9), _block(student, 6, 2, 9)
        for given in ([x, memory], [x, memory, *masks]):
            unchanged(block.gives(*given)["inputs"], given, "x, memory or a mask")
        other.gives(x, memory, where="of a second block")
        block.is_kept()
    with student.case():
        wide = _block(student, 8, 2, 4, dtype=torch.float64)
        x64, memory64 = normal(2, 4, 8, dtype=torch.float64), normal(2, 3, 8, dtype=torch.float64)
        wide.gives(x64, memory64, future(4), where="in float64")
    with student.case():
        block, where = _block(student, 6, 2, 9), "with slices of tensors, given by name"
        named = {"memory_mask": masks[1], "mask": masks[0], "memory": memory, "x": x}
        got = student.call(block.module, [], {name: sliced(student, t) for name, t in named.items()}, where)["value"]
        same_output(got, block.formula(block.weights, **named), where=where)
    with student.case():
        turned = normal(5, 2, 6).transpose(0, 1), normal(3, 2, 6).transpose(0, 1)
        _block(student, 6, 2, 9).gives(*turned, where="for tensors that are not contiguous")
    with student.case():
        module = student.build("DecoderBlock", 6, 2, 9)
        device_is_kept(student, module, [x, memory])
        device_is_kept(student, module, [x, memory, *masks])


EXERCISE = Exercise(
    Check("self_attn, cross_attn, ff, norm1 to norm3, and nothing else that trains", 1.0, _parts),
    Check("equals nn.TransformerDecoderLayer with the same weights", 2.5, _values),
    Check("mask for self-attention, memory_mask for cross-attention", 1.5, _masks, dependent=True),
    Check("nothing leaks from later tokens or from padding", 0.75, _leaks, dependent=True),
    Check("dropout acts on the three parts, not on x", 0.5, _dropout, dependent=True),
    Check("no dropout in evaluation, nor with dropout = 0", 0.5, _modes, dependent=True),
    Check("gradients reach x, memory and every parameter", 0.75, _gradient, dependent=True),
    Check("inputs unchanged, blocks independent, float64, device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
)
