"""`TransformerBlock`: pre- and post-norm against PyTorch's block, masks, causality, whatever stands in `attn`.

The mistakes: orders swapped, norms on the residual stream, residuals lost, masks dropped, dropout in the wrong place.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from autograder.spec.compare import a_tensor, close, same_gradients, same_output, same_tensor, shape_of, unchanged
from autograder.spec.exercise import Asking, Check, Exercise, Wrong
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

from .common import OUTPUT, begin, fed, layer_names, layer_weights

PROJECTIONS = ("q_proj", "k_proj", "v_proj")

# (B, T, C, H, F): all different, then one head, heads of width 1, equal sizes, a single token, as in real use
BLOCKS = (
    *((2, 5, 6, 3, 9), (3, 4, 8, 2, 5), (1, 3, 4, 1, 7), (2, 4, 3, 3, 8), (3, 3, 9, 3, 4)),
    *((2, 1, 4, 2, 6), (1, 24, 4, 2, 16), (1, 600, 4, 2, 16), (16, 2, 264, 12, 40)),
)


def _block_weights(C: int, F_: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Weights for a block under names of ours."""
    state = {f"{role}": value / 2 for role, value in layer_weights(C, F_, dtype).items()}
    for name in (*PROJECTIONS, "out_proj"):
        state[f"{name}.weight"] = normal(C, C, scale=1.5 / C**0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(C, dtype=dtype)
    for name in ("norm1", "norm2"):
        state[f"{name}.weight"] = 1 + normal(C, scale=0.5, dtype=dtype)
        state[f"{name}.bias"] = normal(C, scale=0.5, dtype=dtype)
    return state


def _part(part: str, values: dict) -> Any:
    """The parts of ours (one, or three stacked) that a parameter of a student's holds."""
    names = [f"{name}.{part}" for name in PROJECTIONS]
    if any(values[name] is None for name in names):
        return None
    return torch.cat([values[name] for name in names])


def _layout(parameters: dict, C: int, F_: int) -> dict[str, Any]:
    """For each parameter of a student's block, how its value is made of ours.

    attn may keep its projections in three layers (q_proj, k_proj, v_proj) or stacked, as nn.MultiheadAttention does
    (in_proj_weight, in_proj_bias); ff may have any names inside.
    """
    makers: dict[str, Any] = {}
    attn = {str(name).removeprefix("attn."): name for name in parameters if str(name).startswith("attn.")}

    def put(ending: str, shape: tuple, maker: Any) -> None:
        for inner, name in attn.items():
            if (inner == ending or inner.endswith("." + ending)) and shape_of(parameters[name]) == shape:
                makers[name] = maker
                return
        raise Wrong(
            f"attn has no parameter `{ending}` of shape {shape} for embed_dim = {C}: make it Attention(embed_dim, "
            "num_heads), which is given, or your own module with q_proj, k_proj, v_proj and out_proj."
        )

    stacked = any(inner.endswith("in_proj_weight") for inner in attn)
    for part, shape in (("weight", (C,)), ("bias", ())):
        if stacked:
            put(f"in_proj_{part}", (3 * C, *shape), lambda values, part=part: _part(part, values))
        for name in ("out_proj",) if stacked else (*PROJECTIONS, "out_proj"):
            key = f"{name}.{part}"
            put(key, (C, *shape), lambda values, key=key: values[key])
    for role, name in layer_names(parameters, C, F_, "ff.").items():
        makers[name] = lambda values, role=role: values[role]
    for norm in ("norm1", "norm2"):
        for part in ("weight", "bias"):
            key = f"{norm}.{part}"
            if shape_of(parameters.get(key)) != (C,):
                raise Wrong(
                    f"The block has no `{key}` of shape ({C},): make `self.{norm} = LayerNorm(embed_dim)`, one for "
                    "each of the two norms."
                )
            makers[key] = lambda values, key=key: values[key]
    return makers


def _block(
    student: Student, C: int, H: int, F_: int, *args: Any, dtype: str = "", **kwargs: Any
) -> tuple[Any, dict, dict]:
    """A block, its new weights under names of ours, and how its parameters are made of them."""
    module = student.call("TransformerBlock", [C, H, F_, *args], kwargs, "while building it", keep=True)["value"]
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


def _torchs_block(state: dict, H: int, norm_first: bool) -> nn.TransformerEncoderLayer:
    """PyTorch's own block with the same weights, in training mode, where it takes no short cuts."""
    F_, C = state["up.weight"].shape
    dtype = state["up.weight"].dtype
    theirs = nn.TransformerEncoderLayer(C, H, F_, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=dtype)
    own = {f"self_attn.in_proj_{part}": _part(part, state) for part in ("weight", "bias")}
    for mine, name in (
        ("out_proj", "self_attn.out_proj"),
        ("up", "linear1"),
        ("down", "linear2"),
        ("norm1", "norm1"),
        ("norm2", "norm2"),
    ):
        own |= {f"{name}.{part}": state[f"{mine}.{part}"] for part in ("weight", "bias")}
    theirs.load_state_dict(own)
    return theirs


def _torchs_output(
    state: dict, H: int, norm_first: bool, x: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    if mask is not None and mask.dim() == 4:
        mask = mask.expand(len(x), H, x.shape[1], x.shape[1]).flatten(0, 1)
    return _torchs_block(state, H, norm_first)(x, src_mask=mask).detach()


def _blocked_out(
    state: dict, H: int, norm_first: bool, x: torch.Tensor, mask: torch.Tensor | None = None, attend: Any = None
) -> torch.Tensor:
    """The block written out, differentiable in the weights; `attend(x, mask)` may take the place of its attention."""

    def attention(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            torch.stack(F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"]).chunk(H, dim=-1), dim=1)
            for name in PROJECTIONS
        )
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else ~mask)
        return F.linear(torch.cat(heads.unbind(1), dim=-1), state["out_proj.weight"], state["out_proj.bias"])

    def norm(number: int, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], state[f"norm{number}.weight"], state[f"norm{number}.bias"])

    act = attention if attend is None else lambda x: attend(x, mask)
    if norm_first:
        x = x + act(norm(1, x))
        return x + fed(state, norm(2, x))
    x = norm(1, x + act(x))
    return norm(2, x + fed(state, x))


def _order(norm_first: bool) -> str:
    return f"with norm_first={norm_first}"


def _block_sizes(B: int, T: int, C: int, H: int, F_: int) -> str:
    return f"for B = {B}, T = {T}, embed_dim = {C}, num_heads = {H}, ff_dim = {F_}"


_PLUG = '''
class Plugged(nn.Module):
    """Stands in for attention.

    Called as attn(x, mask) it returns a tensor, called as nn.MultiheadAttention is, a pair.
    """

    def forward(self, *args, **kwargs):
        values = [*args, *kwargs.values()]
        x = args[0] if args else kwargs.get("x", kwargs.get("query"))
        masks = [v for v in values if isinstance(v, torch.Tensor) and v.dtype == torch.bool]
        masks += [v.isinf() for v in [kwargs.get("attn_mask")] if isinstance(v, torch.Tensor) and v.is_floating_point()]
        tokens = [v for v in args if isinstance(v, torch.Tensor) and v.is_floating_point()]
        output = 0.5 * x.roll(1, -1) + 1
        pair = len(tokens) > 1 or "key" in kwargs
        if masks:
            mask = masks[0]
            if pair and x.shape[1] != mask.shape[-1]:  # (T, B, C), as nn.MultiheadAttention takes it by default
                x, output = x.transpose(0, 1), output.transpose(0, 1)
                return (self.masked(x, output, mask).transpose(0, 1), None)
            output = self.masked(x, output, mask)
        return (output, None) if pair else output

    def masked(self, x, output, mask):
        while mask.dim() > 3:
            mask = mask[:, 0]
        if mask.dim() == 3 and len(mask) not in (1, len(x)):
            mask = mask[:: len(mask) // len(x)]
        return output + (~mask).to(x.dtype) @ x

def plug(block):
    block.attn = Plugged()
'''


def _plugged(x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    output = 0.5 * x.roll(1, -1) + 1
    if mask is None:
        return output
    return output + (~(mask if mask.dim() == 2 else mask[:, 0])).to(x.dtype) @ x


def _dropped_once(student: Student) -> None:
    """In pre-norm, with the other part silent, x comes out unchanged where the write is dropped.

    That happens with probability p, if dropout acts once. Of 2400 numbers a share within p ± 0.1 is dropped: a right
    answer misses that with a probability below 1e-20.
    """
    x = normal(3, 20, 40)
    for silent, part in (("out_proj", "ff"), ("down", "attention")):
        with student.case():
            module, state, makers = _block(student, 40, 4, 9, 0.5, True)
            quiet = {
                name: value if not name.startswith(silent) else torch.zeros_like(value) for name, value in state.items()
            }
            student.load(module, {name: maker(quiet) for name, maker in makers.items()})
            where = f"in training with dropout = 0.5, of what {part} gives"
            got = student.call(module, [x], training=True, where=where)["value"]
            if shape_of(got) != shape_of(x):
                same_tensor(got, x, OUTPUT, where)
            share = (got == x).float().mean().item()
            if share > 0.6:
                raise Wrong(
                    f"{begin(where)}, a share of {share:.2f} is dropped: dropout acts on it more than once (in the "
                    "part itself and again in the block?).",
                    "dropout_twice",
                )
            if share < 0.4:
                raise Wrong(f"{begin(where)}, a share of {share:.2f} is dropped.", "dropped_too_little")


def _block_parts(student: Student) -> None:
    for C, H, F_, norm_first in ((6, 3, 9, False), (4, 1, 7, True)):
        with student.case():
            module = student.build("TransformerBlock", C, H, F_, norm_first=norm_first)
            outline(student, module, 1)
            state = student.state(module, record=False)
            parameters = state["parameters"]
            for name in ("attn", "ff", "norm1", "norm2"):
                if name not in state["children"] and not any(str(p).startswith(name + ".") for p in parameters):
                    raise Wrong(f"The block has no part `{name}`: its parts are called attn, ff, norm1 and norm2.")
            makers = _layout(parameters, C, F_)
            frozen = sorted(set(makers) - set(state["trainable"]))
            if frozen:
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(map(str, set(parameters) - set(makers)))
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")
    with student.case():
        student.build("TransformerBlock", embed_dim=4, num_heads=2, ff_dim=6, dropout=0.1, norm_first=True)


def _block_values(norm_first: bool) -> Asking:
    def ask(student: Student) -> None:
        for sizes in BLOCKS:
            with student.case():
                B, T, C, H, F_ = sizes
                # post-norm is the default: half of the blocks are built without saying so
                how: dict[str, Any] = {"norm_first": norm_first} if norm_first or C % 2 else {}
                module, state, _ = _block(student, C, H, F_, **how)
                x, where = normal(B, T, C), f"{_order(norm_first)}, {_block_sizes(*sizes)}"
                same_output(student.value(module, x, where=where), _torchs_output(state, H, norm_first, x), where)

    return ask


def _block_masks(student: Student) -> None:
    for norm_first, B, T, C, H, F_ in ((False, 2, 4, 6, 3, 5), (True, 3, 3, 6, 3, 8)):
        module, state, _ = _block(student, C, H, F_, 0.0, norm_first)
        x = normal(B, T, C)
        for mask, training, where in (
            (future(T), True, "with a causal mask (T, T)"),
            (some_mask(T, T), False, "with a mask (T, T), in evaluation mode"),
            (torch.zeros(T, T, dtype=torch.bool), True, "with a mask that blocks nothing"),
            (some_mask(B, 1, T, T), True, "with a mask (B, 1, T, T), one for each sequence"),
            (some_mask(B, 1, T, T), False, "with a mask (B, 1, T, T), in evaluation mode"),
            (None, True, "without a mask, after calls with one"),
        ):
            with student.case():
                place = f"{where}, {_order(norm_first)}"
                kwargs = {} if mask is None else {"mask": mask}
                got = student.call(module, [x], kwargs, where=place, training=training)["value"]
                same_output(got, _torchs_output(state, H, norm_first, x, mask), place)
    with student.case():
        where = "with the mask given by position"
        same_output(
            student.value(module, x, future(3), where=where), _torchs_output(state, 3, True, x, future(3)), where
        )
    for shape, mask, where in (
        ((1, 4, 6), some_mask(1, 1, 4, 4), "with a mask (B, 1, T, T) for a single sequence"),
        ((1, 300, 6), future(300), "with a causal mask for 300 tokens"),
    ):
        with student.case():
            x = normal(*shape)
            same_output(student.value(module, x, mask, where=where), _torchs_output(state, 3, True, x, mask), where)


def _block_causal(student: Student) -> None:
    """With a causal mask, changing a token moves no earlier output, and does move some other."""
    for norm_first in (False, True):
        with student.case():
            module, _, _ = _block(student, 6, 2, 8, norm_first=norm_first)
            x, where = normal(2, 5, 6), _order(norm_first)
            before = student.value(module, x, future(5), where=where)
            if shape_of(before) != (2, 5, 6):
                same_tensor(before, x, OUTPUT, where)
            for t in range(1, 5):
                changed = x.clone()
                changed[:, t] = 3 * normal(2, 6)
                after = a_tensor(student.value(module, changed, future(5), where=where), OUTPUT)
                if after.shape != before.shape or not close(after[:, :t], before[:, :t]):
                    raise Wrong(
                        f"With a causal mask, earlier outputs move when token {t} is changed, {where}: the future "
                        "leaks in."
                    )
                if close(after[:, t:], before[:, t:]):
                    raise Wrong(f"Changing token {t} changes no output at all, {where}.")


def _block_plugged(student: Student) -> None:
    """Whatever module stands in `attn` is what the block calls, with x (normed first in pre-norm) and the mask."""
    plug = student.probe("plug", _PLUG)
    for norm_first in (False, True):
        with student.case():
            module, state, _ = _block(student, 6, 3, 8, norm_first=norm_first)
            student.value(plug, module)
            x = normal(2, 4, 6)
            for mask, masked in (
                (None, "without a mask"),
                (some_mask(4, 4), "with a mask (T, T)"),
                (some_mask(2, 1, 4, 4), "with a mask (B, 1, T, T)"),
            ):
                where = f"with another module put in the place of attn, {masked}, {_order(norm_first)}"
                got = student.call(module, [x], {} if mask is None else {"mask": mask}, where=where)["value"]
                same_output(got, _blocked_out(state, 3, norm_first, x, mask, _plugged), where)


def _block_dropout(student: Student) -> None:
    """Where (nearly) all is dropped, only the residual stream is left: x in pre-norm, two norms of x in post-norm.

    With p = 1 − 1e-9 the few hundred numbers that are drawn survive with a probability below 1e-6.
    """
    x = normal(2, 4, 6)
    for norm_first in (True, False):
        with student.case():
            module, state, _ = _block(student, 6, 3, 8, 1 - 1e-9, norm_first)
            state |= {name: torch.zeros_like(state[name]) for name in ("down.weight", "down.bias")}
            expected = _blocked_out(state, 3, norm_first, x, None, lambda x, mask: torch.zeros_like(x))
            where = f"in training with a dropout close to 1, {_order(norm_first)}"
            got = student.call(module, [x], training=True, where=where)["value"]
            if shape_of(got) == shape_of(expected) and not close(got, expected):
                raise Wrong(
                    f"{begin(where)}, only the residual stream should be left; yours gives something else. Dropout "
                    "acts on what attention gives and on what ff gives, each before it is added, and nowhere on the "
                    "stream itself."
                )
            same_output(got, expected, where)
    _dropped_once(student)


def _block_modes(student: Student) -> None:
    x = normal(2, 5, 6)
    for norm_first in (False, True):
        for args, training, where in (
            ([0.9, norm_first], False, "in evaluation mode with dropout = 0.9"),
            ([0.0, norm_first], True, "in training mode with dropout = 0.0"),
            ([], True, "in training mode with the default dropout of 0"),
        ):
            with student.case():
                how: dict[str, Any] = {} if args else {"norm_first": norm_first}
                module, state, _ = _block(student, 6, 3, 8, *args, **how)
                place = f"{where}, {_order(norm_first)}"
                answer = student.call(module, [x], where=place, training=training)
                same_output(answer["value"], _torchs_output(state, 3, norm_first, x), place)
                if not training:
                    generator_unchanged(answer)


def _block_gradient(student: Student) -> None:
    for norm_first, mask, dtype in (
        (False, None, torch.float32),
        (True, future(5), torch.float64),
        (False, future(5), torch.float64),
    ):
        with student.case():
            module, state, makers = _block(
                student, 8, 2, 5, norm_first=norm_first, dtype="float64" if dtype == torch.float64 else ""
            )
            x, where, names = normal(2, 5, 8, dtype=dtype), _order(norm_first), list(state)
            kwargs = {} if mask is None else {"mask": mask}
            same_output(
                student.call(module, [x], kwargs, where=where)["value"],
                _torchs_output(state, 2, norm_first, x, mask),
                where,
            )
            expected, upstream = gradients_of(
                lambda x, *leaves: _blocked_out(dict(zip(names, leaves, strict=True)), 2, norm_first, x, mask),
                [x, *state.values()],
            )
            answer = student.call(module, [x], kwargs, upstream=upstream, where=where)
            rough = dtype == torch.float32
            same_gradients(answer["gradients"].get("inputs", []), expected[:1], ["x"], where, rough)
            ours = dict(zip(names, expected[1:], strict=True))
            mine = [answer["gradients"].get("parameters", {}).get(name) for name in makers]
            same_gradients(
                mine, [maker(ours) for maker in makers.values()], [f"`{name}`" for name in makers], where, rough
            )


def _block_manners(student: Student) -> None:
    x, mask = normal(2, 5, 6), some_mask(2, 1, 5, 5)
    for norm_first in (False, True):
        with student.case():
            module, state, makers = _block(student, 6, 2, 9, norm_first=norm_first)
            other, other_state, _ = _block(student, 6, 2, 9, norm_first=norm_first)
            where = _order(norm_first)
            for given in ([x], [x, mask]):
                answer = student.call(module, given, where=where)
                unchanged(answer["inputs"], given, "x or mask")
                same_output(answer["value"], _torchs_output(state, 2, norm_first, *given), where)
            same_output(
                student.value(other, x), _torchs_output(other_state, 2, norm_first, x), f"of a second block, {where}"
            )
            parameters_unchanged(student, module, {name: maker(state) for name, maker in makers.items()}, record=False)
    with student.case():
        wide, wide_state, _ = _block(student, 8, 2, 4, dtype="float64")
        x = normal(2, 4, 8, dtype=torch.float64)
        got = student.value(wide, x, future(4), where="in float64")
        same_output(got, _torchs_output(wide_state, 2, False, x, future(4)), "in float64")
    for norm_first in (False, True):
        with student.case():
            module, state, _ = _block(student, 6, 2, 9, norm_first=norm_first)
            x, where = normal(2, 5, 6), f"with slices of tensors, given by name, {_order(norm_first)}"
            got = student.value(module, mask=sliced(student, mask), x=sliced(student, x), where=where)
            same_output(got, _torchs_output(state, 2, norm_first, x, mask), where)
    with student.case():
        module, state, _ = _block(student, 6, 2, 9, norm_first=True)
        turned, where = normal(5, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"
        same_output(student.value(module, turned, where=where), _torchs_output(state, 2, True, turned), where)
    with student.case():
        module = student.build("TransformerBlock", 6, 2, 9)
        device_is_kept(student, module, [normal(2, 5, 6)])
        device_is_kept(student, module, [normal(2, 5, 6), future(5)])


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("attn, ff, norm1, norm2, and nothing else that trains", 1.0, _block_parts),
        Check("post-norm equals nn.TransformerEncoderLayer", 1.75, _block_values(False)),
        Check("pre-norm equals nn.TransformerEncoderLayer", 1.75, _block_values(True)),
        Check("masks (T, T) and (B, 1, T, T), in both orders", 1.0, _block_masks, further=True),
        Check("causal: no earlier output moves when a later token is changed", 0.75, _block_causal),
        Check("calls whatever stands in attn", 0.75, _block_plugged, further=True),
        Check("dropout acts on the two parts, not on the residual stream", 0.5, _block_dropout),
        Check("no dropout in evaluation, nor with dropout = 0", 0.5, _block_modes, further=True),
        Check("gradients reach x and every parameter", 0.75, _block_gradient, further=True),
        Check("inputs unchanged, blocks independent, float64, device", 0.75, _block_manners, further=True),
    ],
    working=r"""
import torch
from torch import nn

class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm_first, self.num_heads = norm_first, num_heads
        self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim))
        self.norm1, self.norm2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask.expand(len(x), self.num_heads, x.shape[1], x.shape[1]).flatten(0, 1)
        first, last = (self.norm1, nn.Identity()) if self.norm_first else (nn.Identity(), self.norm1)
        h = first(x)
        x = last(x + self.dropout(self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]))
        first, last = (self.norm2, nn.Identity()) if self.norm_first else (nn.Identity(), self.norm2)
        return last(x + self.dropout(self.ff(first(x))))
""",
    takes="tensor",
    gives="tensor",
)
