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
norm_first_ignored: norm_first makes no difference: False is norm(x + part(x)), True is x + part(norm(x)).
- if self.norm_first: => if True: || if False:
orders_swapped (slip): Pre-norm and post-norm are swapped: norm_first=True normalises before each part, norm_first=False after each sum.
- if self.norm_first: => if not self.norm_first:
norm_first_default (slip): The default of norm_first is not False: post-norm, the order of 2017, is the default, as in nn.TransformerEncoderLayer.
- norm_first=False => norm_first=True
stream_normalised: In pre-norm the residual stream itself is normalised (`x = norm(x)`, then x + part(x)): the norm is only for what goes into the
    part; x is added as it was.
- x = x + self.dropout(self.attn(self.norm1(x), mask)) =>
      x = self.norm1(x)
      x = x + self.dropout(self.attn(x, mask))
  return x + self.ff(self.norm2(x)) =>
      x = self.norm2(x)
      return x + self.ff(x)
- x = x + self.dropout(self.attn(self.norm1(x), mask)) =>
      x = self.norm1(x)
      x = x + self.dropout(self.attn(x, mask))
- return x + self.ff(self.norm2(x)) =>
      x = self.norm2(x)
      return x + self.ff(x)
part_normalised: The norm is applied to what a part gives, before it is added (x + norm(part(x))): in post-norm the *sum* is normalised, in pre-norm
    what goes in.
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = x + self.norm1(self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return x + self.norm2(self.ff(x))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = x + self.norm1(self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return x + self.norm2(self.ff(x))
  x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = x + self.norm1(self.dropout(self.attn(x, mask)))
  return x + self.ff(self.norm2(x)) => return x + self.norm2(self.ff(x))
second_norm_missing: The second norm is not applied (or the first): each of the two parts has its own.
- return self.norm2(x + self.ff(x)) => return x + self.ff(x)
  return x + self.ff(self.norm2(x)) => return x + self.ff(x)
- return self.norm2(x + self.ff(x)) => return x + self.ff(x)
- return x + self.ff(self.norm2(x)) => return x + self.ff(x)
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = x + self.dropout(self.attn(x, mask))
  x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = x + self.dropout(self.attn(x, mask))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = x + self.dropout(self.attn(x, mask))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = x + self.dropout(self.attn(x, mask))
norm_used_twice: One norm is used in both places: norm1 belongs to the attention, norm2 to ff.
- return x + self.ff(self.norm2(x)) => return x + self.ff(self.norm1(x))
  return self.norm2(x + self.ff(x)) => return self.norm1(x + self.ff(x))
- return self.norm2(x + self.ff(x)) => return self.norm1(x + self.ff(x))
- return x + self.ff(self.norm2(x)) => return x + self.ff(self.norm1(x))
- self.norm2 = LayerNorm(embed_dim) => self.norm2 = self.norm1
norms_swapped (slip): norm1 and norm2 are swapped: norm1 belongs to the attention, norm2 to ff.
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = x + self.dropout(self.attn(self.norm2(x), mask))
  return x + self.ff(self.norm2(x)) => return x + self.ff(self.norm1(x))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm2(x + self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.norm1(x + self.ff(x))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = x + self.dropout(self.attn(self.norm2(x), mask))
  return x + self.ff(self.norm2(x)) => return x + self.ff(self.norm1(x))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm2(x + self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.norm1(x + self.ff(x))
norm_too_many: There is a norm too many: two in each order. (The final norm of a pre-norm model comes once, after the last block, in notebook 09.)
- return x + self.ff(self.norm2(x)) => return self.norm2(x + self.ff(self.norm2(x)))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(x + self.dropout(self.attn(self.norm1(x), mask)))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(x + self.dropout(self.attn(self.norm1(x), mask)))
  return self.norm2(x + self.ff(x)) => return self.norm2(x + self.ff(self.norm2(x)))
- return self.norm2(x + self.ff(x)) => return self.norm2(x + self.ff(self.norm2(x)))
- self.norm2 = LayerNorm(embed_dim) =>
      self.norm2 = LayerNorm(embed_dim)
      self.norm3 = LayerNorm(embed_dim)
  return x + self.ff(self.norm2(x)) => return self.norm3(x + self.ff(self.norm2(x)))
norm_elsewhere: A norm stands in the wrong place. Post-norm is norm1(x + attn(x)), then norm2(x + ff(x)); pre-norm is x + attn(norm1(x)), then x +
    ff(norm2(x)).
- return self.norm2(x + self.ff(x)) => return self.norm2(x) + self.ff(x) || return x + self.ff(self.norm2(x))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(x) + self.dropout(self.attn(x, mask))
  return self.norm2(x + self.ff(x)) => return self.norm2(x) + self.ff(x)
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = x + self.dropout(self.attn(x, mask))
  return self.norm2(x + self.ff(x)) => return self.norm2(self.norm1(x + self.ff(x)))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = x + self.dropout(self.attn(x, mask))
  return x + self.ff(self.norm2(x)) => return x + self.ff(self.norm2(self.norm1(x)))
- return x + self.ff(self.norm2(x)) => return self.norm2(x + self.ff(x))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = self.norm1(x + self.dropout(self.attn(x, mask)))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = x + self.dropout(self.attn(self.norm1(x), mask))
no_residual: A residual connection is missing: what a part gives is *added* to what went in, x + part(x), twice in a block.
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = self.dropout(self.attn(self.norm1(x), mask))
  return x + self.ff(self.norm2(x)) => return self.ff(self.norm2(x))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.norm2(self.ff(x))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = self.dropout(self.attn(self.norm1(x), mask))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(self.dropout(self.attn(x, mask)))
- return x + self.ff(self.norm2(x)) => return self.ff(self.norm2(x))
  return self.norm2(x + self.ff(x)) => return self.norm2(self.ff(x))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = self.dropout(self.attn(self.norm1(x), mask))
  return x + self.ff(self.norm2(x)) => return self.ff(self.norm2(x))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.norm2(self.ff(x))
- return x + self.ff(self.norm2(x)) => return self.ff(self.norm2(x))
- return self.norm2(x + self.ff(x)) => return self.norm2(self.ff(x))
residual_from_the_start: The second residual connection adds the block's input: it adds what the first part gave, x + attention, to what ff gives.
- x = x + self.dropout(self.attn(self.norm1(x), mask)) =>
      start = x
      x = x + self.dropout(self.attn(self.norm1(x), mask))
  return x + self.ff(self.norm2(x)) => return start + self.ff(self.norm2(x))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) =>
      start = x
      x = self.norm1(x + self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.norm2(start + self.ff(x))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) =>
      start = x
      x = self.norm1(x + self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.norm2(start + self.ff(x))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) =>
      start = x
      x = x + self.dropout(self.attn(self.norm1(x), mask))
  return x + self.ff(self.norm2(x)) => return start + self.ff(self.norm2(x))
parallel: Attention and ff both work on the block's input, side by side: ff comes after, on x + attention.
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => return x + self.dropout(self.attn(self.norm1(x), mask)) + self.ff(self.norm2(x))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => y = self.norm1(x + self.dropout(self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.norm2(y + self.ff(x))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => return x + self.dropout(self.attn(self.norm1(x), mask)) + self.ff(self.norm2(x))
ff_first: The feed-forward network comes first: attention first, then ff.
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = x + self.ff(self.norm1(x))
  return x + self.ff(self.norm2(x)) => return x + self.dropout(self.attn(self.norm2(x), mask))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(x + self.ff(x))
  return self.norm2(x + self.ff(x)) => return self.norm2(x + self.dropout(self.attn(x, mask)))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = x + self.ff(self.norm2(x))
  return x + self.ff(self.norm2(x)) => return x + self.dropout(self.attn(self.norm1(x), mask))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm2(x + self.ff(x))
  return self.norm2(x + self.ff(x)) => return self.norm1(x + self.dropout(self.attn(x, mask)))
multiplied: What a part gives is multiplied with x (or averaged with it): it is added.
- x + self. => x * self. || 2 * x + self.
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = (x + self.dropout(self.attn(self.norm1(x), mask))) / 2
  return x + self.ff(self.norm2(x)) => return (x + self.ff(self.norm2(x))) / 2
part_missing: One of the two parts is never applied: a block is attention *and* a feed-forward network.
- return x + self.ff(self.norm2(x)) => return x
  return self.norm2(x + self.ff(x)) => return x
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => pass
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => pass
mask_dropped: The mask is not passed on to attn.
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None)
  self.attn(x, mask) => self.attn(x, None)
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x))
- self.attn(x, mask) => self.attn(x)
mask_inverted: The mask is inverted on the way: True = blocked all through the course, and in nn.MultiheadAttention too.
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if mask is None else ~mask)
  self.attn(x, mask) => self.attn(x, None if mask is None else ~mask)
always_causal: Later tokens are blocked even without a mask: pass on the mask that is given, nothing else.
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          if mask is None:
              mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
mask_sometimes: The mask is used in one mode only (training or evaluation): what is blocked is blocked in both.
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), mask if self.training else None)
  self.attn(x, mask) => self.attn(x, mask if self.training else None)
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if self.training else mask)
  self.attn(x, mask) => self.attn(x, None if self.training else mask)
mask_remembered: The mask of an earlier call is used again: a call uses the mask it is given, or none.
- super().__init__() =>
      super().__init__()
      self.mask = None
  def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          mask = self.mask = self.mask if mask is None else mask
- super().__init__() =>
      super().__init__()
      self.mask = None
  def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          mask = self.mask = mask if self.mask is None else self.mask
mask_of_first: A mask (B, 1, T, T) is cut down to that of the first sequence: each sequence has its own. Pass it on as it comes.
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if mask is None else mask.reshape(-1, *mask.shape[-2:])[0])
  self.attn(x, mask) => self.attn(x, None if mask is None else mask.reshape(-1, *mask.shape[-2:])[0])
mask_four_dimensions: A mask (B, 1, T, T) is not accepted, or only such a mask: both (T, T) and (B, 1, T, T) go to attn as they come.
    (nn.MultiheadAttention by itself takes (T, T) or (B · H, T, T).)
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if mask is None else mask[:, 0])
  self.attn(x, mask) => self.attn(x, None if mask is None else mask[:, 0])
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if mask is None else mask[0, 0])
  self.attn(x, mask) => self.attn(x, None if mask is None else mask[0, 0])
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if mask is None else mask.expand(x.shape[1], x.shape[1]))
  self.attn(x, mask) => self.attn(x, None if mask is None else mask.expand(x.shape[1], x.shape[1]))
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if mask is None else mask.squeeze(1))
  self.attn(x, mask) => self.attn(x, None if mask is None else mask.squeeze(1))
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if mask is None else mask.unsqueeze(0))
  self.attn(x, mask) => self.attn(x, None if mask is None else mask.unsqueeze(0))
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), None if mask is None else mask[None, None])
  self.attn(x, mask) => self.attn(x, None if mask is None else mask[None, None])
- self.attn = Attention(embed_dim, num_heads) => self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
  self.attn(self.norm1(x), mask) => self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]
  self.attn(x, mask) => self.attn(x, x, x, attn_mask=mask)[0]
truth_of_a_tensor (slip): `if mask:` asks whether a tensor is true, which fails for more than one number: write `if mask is not None:`.
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          if mask:
              mask = mask.bool()
mask_as_padding: The mask goes to nn.MultiheadAttention as key_padding_mask, which has the shape (B, S): a mask of pairs is attn_mask.
- self.attn = Attention(embed_dim, num_heads) => self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
  self.attn(self.norm1(x), mask) => self.attn(*[self.norm1(x)] * 3, key_padding_mask=mask)[0]
  self.attn(x, mask) => self.attn(x, x, x, key_padding_mask=mask)[0]
mask_required (slip): forward cannot be called without a mask: it is None by default, forward(x, mask=None).
- x, mask=None) => x, mask)
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          mask = mask.bool()
no_mask_parameter (slip): forward does not take a mask, or calls it otherwise: forward(x, mask=None).
- x, mask=None) => x)
  self.attn(self.norm1(x), mask) => self.attn(self.norm1(x))
  self.attn(x, mask) => self.attn(x)
- x, mask=None) => x, attn_mask=None)
  self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), attn_mask)
  self.attn(x, mask) => self.attn(x, attn_mask)
batch_first_forgotten (slip): nn.MultiheadAttention takes (T, B, C) by default, so that sequences of a batch attend to one another: batch_first=True.
- self.attn = Attention(embed_dim, num_heads) =>
      self.attn = nn.MultiheadAttention(embed_dim, num_heads)
      self.num_heads = num_heads
  def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          if mask is not None and mask.dim() == 4:
              mask = mask.expand(len(x), self.num_heads, *mask.shape[2:]).flatten(0, 1)
  self.attn(self.norm1(x), mask) => self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]
  self.attn(x, mask) => self.attn(x, x, x, attn_mask=mask)[0]
- self.attn = Attention(embed_dim, num_heads) => self.attn = nn.MultiheadAttention(embed_dim, num_heads)
  self.attn(self.norm1(x), mask) => self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]
  self.attn(x, mask) => self.attn(x, x, x, attn_mask=mask)[0]
pair_not_taken_apart (slip): nn.MultiheadAttention returns a pair (output, weights): take the first, `output, _ = …`.
- self.attn = Attention(embed_dim, num_heads) => self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
  self.attn(self.norm1(x), mask) => self.attn(*[self.norm1(x)] * 3, attn_mask=mask)
  self.attn(x, mask) => self.attn(x, x, x, attn_mask=mask)
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), mask)[0]
  self.attn(x, mask) => self.attn(x, mask)[0]
- x = x + self.dropout(self.attn(self.norm1(x), mask)) =>
      h, _ = self.attn(self.norm1(x), mask)
      x = x + self.dropout(h)
  x = self.norm1(x + self.dropout(self.attn(x, mask))) =>
      h, _ = self.attn(x, mask)
      x = self.norm1(x + self.dropout(h))
called_with_one (slip): nn.MultiheadAttention is called as attn(x, mask), but wants query, key and value: attn(x, x, x, attn_mask=mask). The given Attention
    is called as attn(x, mask).
- self.attn = Attention(embed_dim, num_heads) => self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
- self.attn(self.norm1(x), mask) => self.attn(*[self.norm1(x)] * 3, mask)
  self.attn(x, mask) => self.attn(x, x, x, mask)
values_not_normed: In pre-norm only some of queries, keys and values are normalised: all three are made of norm1(x).
- in batch_first_forgotten
  num_heads) => num_heads, batch_first=True)
  *[self.norm1(x)] * 3 => self.norm1(x), x, x
- self.attn = Attention(embed_dim, num_heads) =>
      self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
      self.num_heads = num_heads
  def forward(self, x, mask=None): => def forward(self, x, mask=None):
  self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), x, x, attn_mask=mask)[0]
  self.attn(x, mask) => self.attn(x, x, x, attn_mask=mask)[0]
- in batch_first_forgotten
  num_heads) => num_heads, batch_first=True)
  *[self.norm1(x)] * 3 => x, self.norm1(x), self.norm1(x)
- self.attn = Attention(embed_dim, num_heads) =>
      self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
      self.num_heads = num_heads
  def forward(self, x, mask=None): => def forward(self, x, mask=None):
  self.attn(self.norm1(x), mask) => self.attn(x, self.norm1(x), self.norm1(x), attn_mask=mask)[0]
  self.attn(x, mask) => self.attn(x, x, x, attn_mask=mask)[0]
- in batch_first_forgotten
  num_heads) => num_heads, batch_first=True)
  *[self.norm1(x)] * 3 => x, x, self.norm1(x)
- self.attn = Attention(embed_dim, num_heads) =>
      self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
      self.num_heads = num_heads
  def forward(self, x, mask=None): => def forward(self, x, mask=None):
  self.attn(self.norm1(x), mask) => self.attn(x, x, self.norm1(x), attn_mask=mask)[0]
  self.attn(x, mask) => self.attn(x, x, x, attn_mask=mask)[0]
num_heads_ignored: The number of heads is not num_heads (a fixed number, one, or the width of a head).
- self.attn = Attention(embed_dim, num_heads) => self.attn = Attention(embed_dim, 1) || self.attn = Attention(embed_dim, embed_dim // num_heads)
- self.attn = Attention(embed_dim, num_heads) => self.attn = Attention(embed_dim, 8) || self.attn = Attention(embed_dim, 2)
attention_not_replaceable: The block keeps attention in a second place and calls that: what stands in `attn` must be what is called, so that another
    can be put there.
- self.attn = Attention(embed_dim, num_heads) =>
      self.attn = Attention(embed_dim, num_heads)
      self.parts = [self.attn]
  self.attn(self.norm1(x), mask) => self.parts[0](self.norm1(x), mask)
  self.attn(x, mask) => self.parts[0](x, mask)
- self.attn(self.norm1(x), mask) => Attention.forward(self.attn, self.norm1(x), mask)
  self.attn(x, mask) => Attention.forward(self.attn, x, mask)
attention_twice (slip): Attention is applied twice: once in a block.
- return x + self.ff(self.norm2(x)) =>
      x = x + self.dropout(self.attn(self.norm1(x), mask))
      return x + self.ff(self.norm2(x))
  return self.norm2(x + self.ff(x)) =>
      x = self.norm1(x + self.dropout(self.attn(x, mask)))
      return self.norm2(x + self.ff(x))
other_names (slip): The parts have other names: attn, ff, norm1 and norm2 are asked for, so that weights can be loaded and attn be replaced.
- self.attn => self.attention
  self.ff => self.feed_forward
  self.norm1 => self.ln1
  self.norm2 => self.ln2
- self.ff => self.mlp
  self.norm1 => self.ln_1
  self.norm2 => self.ln_2
- self.ff => self.mlp || self.ffn || self.feed_forward
- self.attn => self.self_attn
  self.ff => self.ffn
- self.norm => self.ln
- self.attn => self.attention || self.mha
torchs_layer (missed): nn.TransformerEncoderLayer does the work: here the parts are your own, under the names attn, ff, norm1 and norm2.
- |
  class TransformerBlock(nn.Module):
      def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
          super().__init__()
          self.layer = nn.TransformerEncoderLayer(embed_dim, num_heads, ff_dim, dropout, batch_first=True, norm_first=norm_first)

      def forward(self, x, mask=None):
          return self.layer(x, src_mask=mask)
ff_dim_ignored: The hidden width of ff is not ff_dim (4 · embed_dim is common, but here it is given).
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = FeedForward(embed_dim, 4 * embed_dim, dropout)
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = FeedForward(embed_dim, 2048, dropout)
shapes_do_not_fit (missed): A part is of the wrong kind or size, so that shapes do not fit when the block is called: FeedForward(embed_dim, ff_dim, dropout),
    LayerNorm(embed_dim) (not nn.BatchNorm1d), Attention(embed_dim, num_heads).
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = FeedForward(ff_dim, embed_dim, dropout)
ff_is_one_layer: ff is a single linear layer: it is a FeedForward, two layers with an activation between them.
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = nn.Linear(embed_dim, embed_dim) || self.ff = nn.Linear(embed_dim, ff_dim)
ff_without_activation: ff has no activation between its layers, or not ReLU: FeedForward's default, as in nn.TransformerEncoderLayer.
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = FeedForward(embed_dim, ff_dim, dropout, F.gelu)
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout))
parts_made_in_forward: A part is made anew in every forward pass, so nothing that is learned or loaded is ever used.
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          self.norm2 = nn.LayerNorm(x.shape[-1], dtype=x.dtype, device=x.device)
- self.attn(self.norm1(x), mask) => Attention(x.shape[-1], self.attn.num_heads)(self.norm1(x), mask)
  self.attn(x, mask) => Attention(x.shape[-1], self.attn.num_heads)(x, mask)
norm_eps (slip): The norms have another eps than 1e-5.
- self.norm1 = LayerNorm(embed_dim) => self.norm1 = LayerNorm(embed_dim, 0.1)
  self.norm2 = LayerNorm(embed_dim) => self.norm2 = LayerNorm(embed_dim, 0.1)
- self.norm1 = LayerNorm(embed_dim) => self.norm1 = LayerNorm(embed_dim, dropout)
  self.norm2 = LayerNorm(embed_dim) => self.norm2 = LayerNorm(embed_dim, dropout)
norm_over_tokens: The norm is of the wrong kind or size (over the tokens, the batch or several dimensions): LayerNorm(embed_dim) normalises each
    token.
- self.norm1(x) => F.layer_norm(x, x.shape[-2:])
  self.norm2(x) => F.layer_norm(x, x.shape[-2:])
- self.norm1 = LayerNorm(embed_dim) => self.norm1 = LayerNorm(ff_dim)
  self.norm2 = LayerNorm(embed_dim) => self.norm2 = LayerNorm(ff_dim)
no_dropout: Dropout is not applied to what attention gives (or to what ff gives), before it is added.
- self.dropout(self.attn(self.norm1(x), mask)) => self.attn(self.norm1(x), mask)
  self.dropout(self.attn(x, mask)) => self.attn(x, mask)
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = FeedForward(embed_dim, ff_dim)
- in batch_first_forgotten
  num_heads) => num_heads, dropout=dropout, batch_first=True)
  dropout(self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]) => attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]
  dropout(self.attn(x, x, x, attn_mask=mask)[0]) => attn(x, x, x, attn_mask=mask)[0]
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = FeedForward(embed_dim, ff_dim)
  self.dropout(self.attn(self.norm1(x), mask)) => self.attn(self.norm1(x), mask)
  self.dropout(self.attn(x, mask)) => self.attn(x, mask)
dropout_twice: Dropout acts twice on what a part gives: FeedForward has its own inside, so the block adds none for ff.
- return x + self.ff(self.norm2(x)) => return x + self.dropout(self.ff(self.norm2(x)))
  return self.norm2(x + self.ff(x)) => return self.norm2(x + self.dropout(self.ff(x)))
- self.dropout(self.attn => self.dropout(self.dropout(self.attn
  mask)) => mask)))
dropout_on_stream: Dropout acts on the residual stream (on x, on the sum, or on the result): it acts on what a part gives, before it is added.
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = self.dropout(x + self.attn(self.norm1(x), mask))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(self.dropout(x + self.attn(x, mask)))
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x = self.dropout(x + self.attn(self.norm1(x), mask))
  return x + self.ff(self.norm2(x)) => return self.dropout(x + self.ff(self.norm2(x)))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.norm1(self.dropout(x + self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.norm2(self.dropout(x + self.ff(x)))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) => x = self.dropout(self.norm1(x + self.attn(x, mask)))
  return self.norm2(x + self.ff(x)) => return self.dropout(self.norm2(x + self.ff(x)))
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          x = self.dropout(x)
- return x + self.ff(self.norm2(x)) => return self.dropout(x + self.ff(self.norm2(x)))
  return self.norm2(x + self.ff(x)) => return self.dropout(self.norm2(x + self.ff(x)))
dropout_of_input: Dropout is applied to what goes into attention: it acts on what comes out of it.
- self.dropout(self.attn(self.norm1(x), mask)) => self.attn(self.dropout(self.norm1(x)), mask)
  self.dropout(self.attn(x, mask)) => self.attn(self.dropout(x), mask)
dropout_in_evaluation: Dropout is at work in evaluation mode too: F.dropout needs `training=self.training`; nn.Dropout sees to it by itself.
- self.dropout(self.attn => F.dropout(p=self.dropout.p, input=self.attn
dropout_fixed (slip): The probability of dropout is a fixed number, or its default is not 0: dropout=0.0 is the default, and nn.Dropout(dropout) uses it.
- self.dropout = nn.Dropout(dropout) => self.dropout = nn.Dropout(0.1) || self.dropout = nn.Dropout()
- dropout=0.0 => dropout=0.1
- self.ff = FeedForward(embed_dim, ff_dim, dropout) => self.ff = FeedForward(embed_dim, ff_dim, 0.1)
arguments_reordered: The parameters of `__init__` are not (embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False), in this order.
- embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False => embed_dim, ff_dim, num_heads, dropout=0.0, norm_first=False
- embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False => embed_dim, num_heads, ff_dim, norm_first=False, dropout=0.0
- embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False => embed_dim, num_heads, ff_dim, dropout, norm_first
- embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False => embed_dim, num_heads, ff_dim, dropout=0.0, pre_norm=False
  self.norm_first = norm_first => self.norm_first = pre_norm
- embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False => embed_dim, num_heads, ff_dim, dropout=0.0
  self.norm_first = norm_first => self.norm_first = False
mask_not_for_one: The mask is not used for a single sequence, or not for many tokens: pass it on as it comes.
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          mask = mask if len(x) > 1 else None
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          mask = mask if x.shape[1] <= 256 else None
size_limited: Sizes of real use are refused or cut off: 600 tokens, 12 heads, 16 sequences are common, and any number is allowed.
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          assert x.shape[1] <= 512
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          assert len(x) <= 8
beginning_of_memory: The numbers are read from the beginning of the memory that x lies in: a slice lies further on. Take x itself, with its shape.
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          x = torch.as_strided(x, x.shape, x.stride(), 0)
view_needed (slip): The code takes the numbers in the order in which they lie in memory, which fails (or is wrong) for a tensor that was transposed before.
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          x = x.view(-1).view(x.shape)
other_signature (slip): A parameter of forward has another name than in the signature: forward(x, mask=None).
- def forward(self, x, mask=None): =>
      def forward(self, tokens, mask=None):
          x = tokens
frozen: Parameters do not train (requires_grad=False).
- self.dropout = nn.Dropout(dropout) =>
      self.dropout = nn.Dropout(dropout)
      self.requires_grad_(False)
- self.dropout = nn.Dropout(dropout) =>
      self.dropout = nn.Dropout(dropout)
      self.attn.requires_grad_(False)
weights_too (slip): More than one thing is returned: forward gives one tensor of x's shape.
- return x + self.ff(self.norm2(x)) => return x + self.ff(self.norm2(x)), None
  return self.norm2(x + self.ff(x)) => return self.norm2(x + self.ff(x)), None
both_orders (slip): After the pre-norm branch, the post-norm lines run as well (a `return` or an `else` is missing).
- return x + self.ff(self.norm2(x)) => x = x + self.ff(self.norm2(x))
no_super (missed): `super().__init__()` is missing: nn.Module must be set up before parts can be assigned.
- super().__init__() =>
not_a_module (missed): The class does not inherit from nn.Module: its parameters cannot be found, moved, saved or trained.
- class TransformerBlock(nn.Module) => class TransformerBlock
  super().__init__() =>
  def forward => def __call__
forward_misspelt (missed): There is no method `forward`: nn.Module calls the method of exactly this name.
- def forward => def foward
input_changed:
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x += self.dropout(self.attn(self.norm1(x), mask))
  x = self.norm1(x + self.dropout(self.attn(x, mask))) =>
      x += self.dropout(self.attn(x, mask))
      x = self.norm1(x)
- x = x + self.dropout(self.attn(self.norm1(x), mask)) => x += self.dropout(self.attn(self.norm1(x), mask))
- x = self.norm1(x + self.dropout(self.attn(x, mask))) =>
      x += self.dropout(self.attn(x, mask))
      x = self.norm1(x)
- x = self.norm1(x + self.dropout(self.attn(x, mask))) =>
      mask = None if mask is None else mask.logical_not_().logical_not()
      x = self.norm1(x + self.dropout(self.attn(x, mask)))
  x = x + self.dropout(self.attn(self.norm1(x), mask)) =>
      mask = None if mask is None else mask.logical_not_().logical_not()
      x = x + self.dropout(self.attn(self.norm1(x), mask))
gradient_cut_off:
- return x + => return x.detach() +
  self.norm2(x + => self.norm2(x.detach() +
- self.attn(self.norm1(x), mask) => self.attn(self.norm1(x), mask).detach()
  self.attn(x, mask) => self.attn(x, mask).detach()
- return x + self.ff(self.norm2(x)) => return x + self.ff(self.norm2(x.detach()))
single_precision:
- def forward(self, x, mask=None): =>
      def forward(self, x, mask=None):
          x = x.float()
nothing_returned:
- return x + => x = x +
  return self.norm2 => x = self.norm2
- in one_helper
  def sublayer(x, norm, part): =>
      if self.norm_first:
          x = x + self.dropout(self.attn(self.norm1(x), mask))  # the stream itself is never normalised
          x = x + self.ff(self.norm2(x))
      else:
          x = self.norm1(x + self.dropout(self.attn(x, mask)))  # (B, T, C)
          return self.norm2(x + self.ff(x))  # (B, T, C)
  return x + part(norm(x)) if self.norm_first else norm(x + part(x)) =>
  x = sublayer(x, self.norm1, lambda h: self.dropout(self.attn(h) if mask is None else self.attn(h, mask))) =>
  return sublayer(x, self.norm2, self.ff) =>
""",
    right=r"""
torchs_attention_inside:
- |
  class TransformerBlock(nn.Module):
      def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
          super().__init__()
          self.num_heads = num_heads
          self.norm_first = norm_first
          self.attn = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)
          self.norm1 = nn.LayerNorm(embed_dim)
          self.norm2 = nn.LayerNorm(embed_dim)
          self.ff = nn.Sequential(
              nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)
          )
          self.drop = nn.Dropout(dropout)

      def attend(self, x, mask):
          if mask is not None and mask.dim() == 4:
              mask = mask.repeat(1, self.num_heads, 1, 1).flatten(0, 1)
          output, _ = self.attn(x, x, x, attn_mask=mask)
          return self.drop(output)

      def forward(self, x, mask=None):
          if self.norm_first:
              x = x + self.attend(self.norm1(x), mask)
              x = x + self.ff(self.norm2(x))
          else:
              x = self.norm1(x + self.attend(x, mask))
              x = self.norm2(x + self.ff(x))
          return x
own_attention:
- |
  class MyAttention(nn.Module):
      def __init__(self, embed_dim, num_heads):
          super().__init__()
          self.H = num_heads
          self.q_proj = nn.Linear(embed_dim, embed_dim)
          self.k_proj = nn.Linear(embed_dim, embed_dim)
          self.v_proj = nn.Linear(embed_dim, embed_dim)
          self.out_proj = nn.Linear(embed_dim, embed_dim)

      def forward(self, x, mask=None, context=None):
          context = x if context is None else context
          q, k, v = [
              y.unflatten(-1, (self.H, -1)).transpose(1, 2)
              for y in (self.q_proj(x), self.k_proj(context), self.v_proj(context))
          ]
          scores = q @ k.mT / q.shape[-1] ** 0.5
          if mask is not None:
              scores = scores.masked_fill(mask, -torch.inf)
          return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

  class TransformerBlock(nn.Module):
      def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
          super().__init__()
          self.attn = MyAttention(embed_dim, num_heads)
          self.ff = FeedForward(embed_dim, ff_dim)
          self.norm1 = LayerNorm(embed_dim)
          self.norm2 = LayerNorm(embed_dim)
          self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
          self.norm_first = norm_first

      def forward(self, x, mask=None):
          h = self.norm1(x) if self.norm_first else x
          x = x + self.dropout1(self.attn(h, mask=mask))
          x = x if self.norm_first else self.norm1(x)
          h = self.norm2(x) if self.norm_first else x
          x = x + self.dropout2(self.ff(h))
          return x if self.norm_first else self.norm2(x)
functional_dropout:
- self.dropout = nn.Dropout(dropout) => self.p = dropout
  self.dropout(self.attn(self.norm1(x), mask)) => F.dropout(self.attn(self.norm1(x), mask=mask), self.p, self.training)
  self.dropout(self.attn(x, mask)) => F.dropout(self.attn(x, mask=mask), self.p, self.training)
one_helper:
- if self.norm_first => def sublayer(x, norm, part)
  x = x + self.dropout(self.attn(self.norm1(x), mask => return x + part(norm(x)) if self.norm_first else norm(x + part(x
  return x + self.ff(self.norm2(x)) =>
  self.norm1(x + self.dropout(self.attn(x => sublayer(x, self.norm1, lambda h: self.dropout(self.attn(h) if mask is None else self.attn(h
  self.norm2(x + self.ff(x) => sublayer(x, self.norm2, self.ff
""",
)
