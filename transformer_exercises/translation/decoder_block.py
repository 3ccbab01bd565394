"""`DecoderBlock`: against nn.TransformerDecoderLayer, both masks, nothing that leaks, dropout on the three parts.

The mistakes: cross-attention with its roles swapped or missing, parts out of order, masks exchanged, norms shared.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from autograder.spec.compare import a_tensor, close, same_gradients, same_output, shape_of, unchanged
from autograder.spec.course import given
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    future,
    generator_unchanged,
    gradients_of,
    normal,
    outline,
    parameters_unchanged,
    sliced,
    some_mask,
)
from autograder.spec.student import Student

for_torch = given("for_torch", __name__)

_OUTPUT = "The output"

_ATTENTIONS = ("self_attn", "cross_attn")

_NORMS = ("norm1", "norm2", "norm3")

_PROJECTIONS = ("q_proj", "k_proj", "v_proj")

BLOCKS = (  # B, T, S, embed_dim, num_heads, ff_dim
    (2, 4, 3, 6, 3, 9),
    (3, 2, 5, 8, 2, 5),
    (1, 1, 4, 4, 1, 7),
    (2, 5, 1, 6, 6, 10),
    (4, 3, 3, 10, 5, 8),
    (1, 7, 20, 4, 2, 16),
    (5, 6, 2, 12, 4, 1),
    (1, 300, 520, 4, 2, 16),  # as in real use
    (16, 2, 3, 264, 12, 40),
)


def _block_weights(C: int, F_: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Weights for a block under names of ours."""
    state = {}
    for attn in _ATTENTIONS:
        for name in (*_PROJECTIONS, "out_proj"):
            state[f"{attn}.{name}.weight"] = normal(C, C, scale=1.5 / C**0.5, dtype=dtype)
            state[f"{attn}.{name}.bias"] = normal(C, dtype=dtype)
    for name, shape in (("up", (F_, C)), ("down", (C, F_))):
        state[f"{name}.weight"] = normal(*shape, scale=0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(shape[0], scale=0.5, dtype=dtype)
    for name in _NORMS:
        state[f"{name}.weight"] = 1 + normal(C, scale=0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(C, scale=0.5, dtype=dtype)
    return state


def _stacked(attn: str, part: str, values: dict) -> Any:
    """Three projections of ours as nn.MultiheadAttention keeps them, in one parameter."""
    parts = [values[f"{attn}.{name}.{part}"] for name in _PROJECTIONS]
    return None if any(value is None for value in parts) else torch.cat(parts)


def _layout(parameters: dict, C: int, F_: int) -> dict[str, Any]:
    """For each parameter of a student's block, how its value is made of ours.

    The attentions may keep their projections in three layers (q_proj, k_proj, v_proj) or stacked, as
    nn.MultiheadAttention does; ff may have any names inside: its layers are found by their shapes (C and F differ).
    """
    makers: dict[str, Any] = {}

    def put(part: str, ending: str, shape: tuple, maker: Any) -> bool:
        for name, value in parameters.items():
            inner = str(name).removeprefix(part)
            if str(name).startswith(part) and f".{inner}".endswith(f".{ending}") and shape_of(value) == shape:
                makers[name] = maker
                return True
        return False

    for attn in _ATTENTIONS:
        stacked = any(str(name).startswith(f"{attn}.") and "in_proj" in str(name) for name in parameters)
        for part, shape in (("weight", (C,)), ("bias", ())):
            wanted = {
                f"{name}.{part}": lambda values, key=f"{attn}.{name}.{part}": values[key]
                for name in (("out_proj",) if stacked else (*_PROJECTIONS, "out_proj"))
            }
            found = [put(f"{attn}.", ending, (C, *shape), maker) for ending, maker in wanted.items()]
            if stacked:
                found.append(
                    put(
                        f"{attn}.",
                        f"in_proj_{part}",
                        (3 * C, *shape),
                        lambda values, attn=attn, part=part: _stacked(attn, part, values),
                    )
                )
            if not all(found):
                raise Wrong(
                    f"{attn} has not the parameters of an attention of width {C}, its own ones: make it "
                    "Attention(embed_dim, num_heads), which is given, or your own module with q_proj, k_proj, v_proj "
                    "and out_proj."
                )
    for role, size in (("up", (F_, C)), ("down", (C, F_))):
        for name, value in parameters.items():
            if str(name).startswith("ff.") and str(name).endswith("weight") and shape_of(value) == size:
                bias = str(name).removesuffix("weight") + "bias"
                if shape_of(parameters.get(bias)) == size[:1]:
                    makers[name] = lambda values, key=f"{role}.weight": values[key]
                    makers[bias] = lambda values, key=f"{role}.bias": values[key]
                    break
        else:
            raise Wrong(
                f"With embed_dim = {C} and ff_dim = {F_}, ff should have a layer nn.Linear({size[1]}, {size[0]}), "
                "with a bias; none is found."
            )
    for norm in _NORMS:
        for part in ("weight", "bias"):
            key = f"{norm}.{part}"
            if shape_of(parameters.get(key)) != (C,):
                raise Wrong(
                    f"The block has no `{key}` of shape ({C},): make `self.{norm} = nn.LayerNorm(embed_dim)`, one for "
                    "each of the three norms."
                )
            makers[key] = lambda values, key=key: values[key]
    return makers


def _block(student: Student, C: int, H: int, F_: int, *args: Any, dtype: str = "") -> tuple[Any, dict, dict]:
    """A block, its new weights under names of ours, and how its parameters are made of them."""
    module = student.call("DecoderBlock", [C, H, F_, *args], {}, "while building it", keep=True)["value"]
    if dtype:
        student.move(module, dtype)
    try:
        makers = _layout(student.state(module, record=False)["parameters"], C, F_)
    except Wrong:
        outline(student, module, 1)
        raise
    state = _block_weights(C, F_, torch.float64 if dtype else torch.float32)
    student.load(module, {name: maker(state) for name, maker in makers.items()})
    return module, state, makers


def _torchs_output(
    state: dict,
    H: int,
    x: torch.Tensor,
    memory: torch.Tensor,
    mask: torch.Tensor | None = None,
    memory_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """What PyTorch's own block gives with the same weights."""
    F_, C = state["up.weight"].shape
    theirs = nn.TransformerDecoderLayer(C, H, F_, dropout=0.0, batch_first=True, dtype=x.dtype)
    own = {f"{norm}.{part}": state[f"{norm}.{part}"] for norm in _NORMS for part in ("weight", "bias")}
    for part in ("weight", "bias"):
        own |= {f"linear1.{part}": state[f"up.{part}"], f"linear2.{part}": state[f"down.{part}"]}
        for mine, name in zip(_ATTENTIONS, ("self_attn", "multihead_attn"), strict=True):
            own[f"{name}.in_proj_{part}"] = _stacked(mine, part, state)
            own[f"{name}.out_proj.{part}"] = state[f"{mine}.out_proj.{part}"]
    theirs.load_state_dict(own)
    masks = for_torch(mask, x, x, H), for_torch(memory_mask, x, memory, H)
    return theirs(x, memory, tgt_mask=masks[0], memory_mask=masks[1]).detach()


def _decoded(
    state: dict,
    H: int,
    x: torch.Tensor,
    memory: torch.Tensor,
    mask: torch.Tensor | None = None,
    memory_mask: torch.Tensor | None = None,
    nothing: bool = False,
) -> torch.Tensor:
    """The block written out, differentiable in the weights. With `nothing`, its three parts give zeros."""

    def attend(attn: str, x: torch.Tensor, context: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        q, k, v = (
            torch.stack(F.linear(y, state[f"{attn}.{p}.weight"], state[f"{attn}.{p}.bias"]).chunk(H, dim=-1), dim=1)
            for p, y in zip(_PROJECTIONS, (x, context, context), strict=True)
        )
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else ~mask)
        merged = torch.cat(heads.unbind(1), dim=-1)
        return F.linear(merged, state[f"{attn}.out_proj.weight"], state[f"{attn}.out_proj.bias"])

    def feed(x: torch.Tensor) -> torch.Tensor:
        hidden = F.relu(F.linear(x, state["up.weight"], state["up.bias"]))
        return F.linear(hidden, state["down.weight"], state["down.bias"])

    def add_and_norm(number: int, x: torch.Tensor, part: Any) -> torch.Tensor:
        x = x if nothing else x + part(x)
        return F.layer_norm(x, x.shape[-1:], state[f"norm{number}.weight"], state[f"norm{number}.bias"])

    x = add_and_norm(1, x, lambda x: attend("self_attn", x, x, mask))
    x = add_and_norm(2, x, lambda x: attend("cross_attn", x, memory, memory_mask))
    return add_and_norm(3, x, feed)


def _block_parts(student: Student) -> None:
    for C, H, F_ in ((6, 3, 9), (4, 1, 7)):
        with student.case():
            module = student.build("DecoderBlock", C, H, F_)
            outline(student, module, 1)
            state = student.state(module, record=False)
            parameters = state["parameters"]
            for name in (*_ATTENTIONS, "ff", *_NORMS):
                if name not in state["children"] and not any(str(p).startswith(name + ".") for p in parameters):
                    raise Wrong(
                        f"The block has no part `{name}`: its parts are called self_attn, cross_attn, ff, norm1, norm2 "
                        "and norm3."
                    )
            makers = _layout(parameters, C, F_)
            frozen = sorted(set(makers) - set(state["trainable"]))
            if frozen:
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(map(str, set(parameters) - set(makers)))
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")
    with student.case():
        student.build("DecoderBlock", embed_dim=4, num_heads=2, ff_dim=6, dropout=0.1)


def _block_values(student: Student) -> None:
    for B, T, S, C, H, F_ in BLOCKS:
        with student.case():
            module, state, _ = _block(student, C, H, F_)
            x, memory = normal(B, T, C), 2 * normal(B, S, C)
            where = f"for B = {B}, T = {T}, S = {S}, embed_dim = {C}, num_heads = {H}, ff_dim = {F_}, without masks"
            same_output(student.value(module, x, memory, where=where), _torchs_output(state, H, x, memory), where)


def _block_masks(student: Student) -> None:
    for B, T, S, C, H, F_ in ((2, 4, 5, 6, 3, 9), (3, 3, 3, 6, 2, 8)):
        module, state, _ = _block(student, C, H, F_)
        x, memory = normal(B, T, C), 2 * normal(B, S, C)
        padding = torch.arange(S) >= torch.tensor([S, S - 2, S - 1])[:B, None]  # (B, S)
        for mask, memory_mask, where in (
            (future(T), None, "with a causal mask (T, T)"),
            (None, padding[:, None, None], "with a memory_mask (B, 1, 1, S) that blocks padding"),
            (future(T), padding[:, None, None], "with both masks, (T, T) and (B, 1, 1, S)"),
            (some_mask(B, 1, T, T), None, "with a mask (B, 1, T, T), one for each sequence"),
            (None, some_mask(T, S), "with a memory_mask (T, S)"),
            (some_mask(T, T), some_mask(B, 1, T, S), "with a mask (T, T) and a memory_mask (B, 1, T, S)"),
            (some_mask(B, H, T, T), None, "with a mask (B, H, T, T), one for each head"),
            (None, some_mask(B, H, T, S), "with a memory_mask (B, H, T, S), one for each head"),
            (some_mask(1, 1, T, T), some_mask(1, T, S), "with a mask (1, 1, T, T) and a memory_mask (1, T, S)"),
            (torch.zeros(T, T, dtype=torch.bool), torch.zeros(T, S, dtype=torch.bool), "with masks that block nothing"),
            (None, None, "without masks, after calls with some"),
        ):
            with student.case():
                place = f"{where}, for B = {B}, T = {T}, S = {S}"
                named = {"mask": mask, "memory_mask": memory_mask}
                kwargs = {name: value for name, value in named.items() if value is not None}
                got = student.call(module, [x, memory], kwargs, where=place)["value"]
                same_output(got, _torchs_output(state, H, x, memory, mask, memory_mask), place)
    for B, T, S in ((1, 4, 5), (3, 1, 6)):
        with student.case():
            given = [normal(B, T, 6), 2 * normal(B, S, 6), some_mask(B, 1, T, T), some_mask(B, 1, 1, S)]
            where = f"with both masks, for B = {B}, T = {T}, S = {S}"
            same_output(student.value(module, *given, where=where), _torchs_output(state, 2, *given), where)
    with student.case():
        where, masks = "with both masks given by position", [future(3), padding[:, None, None]]
        same_output(
            student.value(module, x, memory, *masks, where=where), _torchs_output(state, 2, x, memory, *masks), where
        )


def _block_leaks(student: Student) -> None:
    """With masks, no output depends on later tokens or on padding of the source; all depend on the rest."""
    module, state, _ = _block(student, 6, 2, 8)
    x, memory, masks = normal(2, 5, 6), normal(2, 4, 6), [future(5), torch.tensor([False, False, False, True])[None]]
    masks[1] = masks[1].expand(2, 4)[:, None, None]
    before = student.value(module, x, memory, *masks)
    same_output(before, _torchs_output(state, 2, x, memory, *masks))
    for t in range(1, 5):
        with student.case():
            changed = x.clone()
            changed[:, t] = 3 * normal(2, 6)
            after = a_tensor(student.value(module, changed, memory, *masks), _OUTPUT)
            if after.shape != before.shape or not close(after[:, :t], before[:, :t]):
                raise Wrong(f"With a causal mask, earlier outputs move when token {t} is changed: the future leaks in.")
            if close(after[:, t:], before[:, t:]):
                raise Wrong(f"Changing token {t} changes no output at all.")
    for s in range(4):
        with student.case():
            changed = memory.clone()
            changed[:, s] = 3 * normal(2, 6)
            after = a_tensor(student.value(module, x, changed, *masks), _OUTPUT)
            moved = after.shape != before.shape or not close(after, before)
            if moved and s == 3:
                raise Wrong(
                    "Outputs move when a blocked position of memory is changed: padding of the source leaks in."
                )
            if not moved and s < 3:
                raise Wrong(f"Changing position {s} of memory changes no output at all.")


def _block_dropout(student: Student) -> None:
    """Where (nearly) everything is dropped, three norms of x are left.

    With p = 1 − 1e-9 the few hundred numbers that are drawn survive with a probability below 1e-6.
    """
    for B, T, S in ((2, 4, 3), (1, 6, 5)):
        with student.case():
            x, memory = normal(B, T, 6), normal(B, S, 6)
            module, state, _ = _block(student, 6, 3, 8, 1 - 1e-9)
            expected = _decoded(state, 3, x, memory, nothing=True)
            where = "in training with a dropout close to 1"
            got = student.call(module, [x, memory], training=True, where=where)["value"]
            if shape_of(got) == shape_of(expected) and not close(got, expected):
                raise Wrong(
                    "In training with a dropout close to 1, only norm3(norm2(norm1(x))) should be left; yours gives "
                    "something else. Dropout acts on what each of the three parts gives, before it is added, and "
                    "nowhere on x itself."
                )
            same_output(got, expected, where)


def _block_modes(student: Student) -> None:
    x, memory = normal(2, 5, 6), normal(2, 3, 6)
    for args, training, where in (
        ([0.9], False, "in evaluation mode with dropout = 0.9"),
        ([0.0], True, "in training mode with dropout = 0.0"),
        ([], True, "in training mode with the default dropout of 0"),
    ):
        with student.case():
            module, state, _ = _block(student, 6, 3, 8, *args)
            answer = student.call(module, [x, memory], where=where, training=training)
            same_output(answer["value"], _torchs_output(state, 3, x, memory), where)
            if not training:
                generator_unchanged(answer)


def _block_gradient(student: Student) -> None:
    for masks, dtype in (
        ([], torch.float32),
        ([future(5), some_mask(2, 1, 1, 3)], torch.float64),
    ):
        with student.case():
            module, state, makers = _block(student, 8, 2, 5, dtype="float64" if dtype == torch.float64 else "")
            inputs, names = [normal(2, 5, 8, dtype=dtype), normal(2, 3, 8, dtype=dtype)], list(state)
            where = "with masks" if masks else "without masks"
            got = student.value(module, *inputs, *masks, where=where)
            same_output(got, _torchs_output(state, 2, *inputs, *masks), where)
            expected, upstream = gradients_of(
                lambda x, memory, *leaves, masks=masks: _decoded(
                    dict(zip(names, leaves, strict=True)), 2, x, memory, *masks
                ),
                [*inputs, *state.values()],
            )
            answer = student.call(module, [*inputs, *masks], upstream=upstream, where=where)
            rough = dtype == torch.float32
            same_gradients(answer["gradients"].get("inputs", []), expected[:2], ["x", "memory"], where, rough)
            ours = dict(zip(names, expected[2:], strict=True))
            mine = [answer["gradients"].get("parameters", {}).get(name) for name in makers]
            same_gradients(
                mine, [maker(ours) for maker in makers.values()], [f"`{name}`" for name in makers], where, rough
            )


def _block_manners(student: Student) -> None:
    x, memory, masks = normal(2, 5, 6), normal(2, 3, 6), [future(5), some_mask(2, 1, 1, 3)]
    with student.case():
        module, state, makers = _block(student, 6, 2, 9)
        other, other_state, _ = _block(student, 6, 2, 9)
        for given in ([x, memory], [x, memory, *masks]):
            answer = student.call(module, given)
            unchanged(answer["inputs"], given, "x, memory or a mask")
            same_output(answer["value"], _torchs_output(state, 2, *given))
        same_output(student.value(other, x, memory), _torchs_output(other_state, 2, x, memory), "of a second block")
        own = {name: maker(state) for name, maker in makers.items()}
        parameters_unchanged(student, module, own, record=False)
    with student.case():
        wide, wide_state, _ = _block(student, 8, 2, 4, dtype="float64")
        given = [normal(2, 4, 8, dtype=torch.float64), normal(2, 3, 8, dtype=torch.float64), future(4)]
        same_output(
            student.value(wide, *given, where="in float64"), _torchs_output(wide_state, 2, *given), "in float64"
        )
    with student.case():
        module, state, _ = _block(student, 6, 2, 9)
        where = "with slices of tensors, given by name"
        names = ("memory_mask", "mask", "memory", "x")
        named = {name: sliced(student, t) for name, t in zip(names, [*reversed(masks), memory, x], strict=True)}
        got = student.call(module, [], named, where)["value"]
        same_output(got, _torchs_output(state, 2, x, memory, *masks), where)
    with student.case():
        module, state, _ = _block(student, 6, 2, 9)
        turned = [normal(5, 2, 6).transpose(0, 1), normal(3, 2, 6).transpose(0, 1)]
        where = "for tensors that are not contiguous"
        same_output(student.value(module, *turned, where=where), _torchs_output(state, 2, *turned), where)
    with student.case():
        module = student.build("DecoderBlock", 6, 2, 9)
        device_is_kept(student, module, [x, memory])
        device_is_kept(student, module, [x, memory, *masks])


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("self_attn, cross_attn, ff, norm1 to norm3, and nothing else that trains", 1.0, _block_parts),
        Check("equals nn.TransformerDecoderLayer with the same weights", 2.5, _block_values),
        Check("mask for self-attention, memory_mask for cross-attention", 1.5, _block_masks, further=True),
        Check("nothing leaks from later tokens or from padding", 0.75, _block_leaks),
        Check("dropout acts on the three parts, not on x", 0.5, _block_dropout),
        Check("no dropout in evaluation, nor with dropout = 0", 0.5, _block_modes, further=True),
        Check("gradients reach x, memory and every parameter", 0.75, _block_gradient, further=True),
        Check("inputs unchanged, blocks independent, float64, device", 0.5, _block_manners, further=True),
    ],
    working=r"""
from torch import nn

class DecoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.self_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)
        )
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(embed_dim) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def attend(self, attn, x, context, mask):
        if mask is not None:
            mask = mask.expand(x.shape[0], self.num_heads, x.shape[1], context.shape[1]).flatten(0, 1)
        return self.dropout(attn(x, context, context, attn_mask=mask, need_weights=False)[0])

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = self.norm1(x + self.attend(self.self_attn, x, x, mask))
        x = self.norm2(x + self.attend(self.cross_attn, x, memory, memory_mask))
        return self.norm3(x + self.ff(x))
""",
    takes="tensor",
    gives="tensor",
)
