"""`TransformerBlock`: pre- and post-norm against PyTorch's block, masks, causality, whatever stands in `attn`."""

import functools
from operator import itemgetter
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    ParameterMap,
    Student,
    ValuesDiffer,
    Weights,
    Wrong,
    close,
    define_in_judge,
    future,
    normal,
    shape_of,
    some_mask,
)

from ..attention_layers import norms
from ..widths import other_block
from .module_checks import Cases, Layer, found, gives, linear_layers, side_effects

F64 = torch.float64
# (B, T, C, H, F): all different, then one head, heads of width 1, equal sizes, a single token, as in real use
BLOCKS = (
    *((2, 5, 6, 3, 9), (3, 4, 8, 2, 5), (1, 3, 4, 1, 7), (2, 4, 3, 3, 8), (3, 3, 9, 3, 4)),
    *((2, 1, 4, 2, 6), (1, 24, 4, 2, 16), (1, 600, 4, 2, 16), (16, 2, 264, 12, 40)),
)


def _weights(C: int, H: int, F_: int, dtype: torch.dtype) -> Weights:
    """Return weights under the names of PyTorch's block."""
    weights = {}
    for name, parameter in nn.TransformerEncoderLayer(C, H, F_, device="meta").named_parameters():
        scale = 0.5 if "proj" not in name else 1.5 / C**0.5 if parameter.dim() == 2 else 1.0
        weights[name] = normal(*parameter.shape, scale=scale, dtype=dtype)
        if name in ("norm1.weight", "norm2.weight"):
            weights[name] += 1
    return weights


def _found(parameters: dict, C: int, F_: int) -> ParameterMap:
    """Say how each parameter of a student's block is made of ours.

    attn has layers q_proj, k_proj, v_proj, or they are stacked as in nn.MultiheadAttention; ff has any names inside,
    and so have norms of one's own.
    """
    for part in ("attn", "ff", "norm1", "norm2"):
        if not any(str(name).startswith(part + ".") for name in parameters):
            message = f"The block has no part `{part}`: its parts are called attn, ff, norm1 and norm2."
            raise Wrong(message, "parts_not_found")
    attn = [name for name in map(str, parameters) if name.startswith("attn.")]
    parameter_map: ParameterMap = {}
    for part, shape in (("weight", (C,)), ("bias", ())):
        whole = itemgetter(f"self_attn.in_proj_{part}")
        wanted: dict[str, tuple[int, Any]] = {f"out_proj.{part}": (C, itemgetter(f"self_attn.out_proj.{part}"))}
        if any(name.endswith(".in_proj_weight") for name in attn):
            wanted[f"in_proj_{part}"] = 3 * C, whole
        else:
            for n, layer in enumerate("qkv"):
                wanted[f"{layer}_proj.{part}"] = C, lambda ours, n=n, whole=whole: whole(ours).chunk(3)[n]
        for ending, (n, maker) in wanted.items():
            fit = [name for name in attn if name.endswith(f".{ending}") and shape_of(parameters[name]) == (n, *shape)]
            if not fit:
                raise Wrong(
                    f"attn has no parameter `{ending}` of shape {(n, *shape)} for embed_dim = {C}: make it Attention("
                    "embed_dim, num_heads), which is given, or a module with q_proj, k_proj, v_proj and out_proj.",
                    "parts_not_found",
                )
            parameter_map[fit[0]] = maker
    return parameter_map | norms(parameters, ("norm1", "norm2"), C) | linear_layers(parameters, C, F_, "ff.")


def _block(student: Student, C: int, H: int, F_: int, *args: Any, dtype: Any = torch.float32, **kwargs: Any) -> Layer:
    norm_first = (dict(zip(("dropout", "norm_first"), args, strict=False)) | kwargs).get("norm_first", False)

    def formula(weights: Weights, x: torch.Tensor, mask: Any = None, attn: Any = None) -> torch.Tensor:
        """Return what PyTorch's own block gives, without short cuts; `attn` replaces its attention."""
        options: dict[str, Any] = {"batch_first": True, "norm_first": norm_first, "dtype": x.dtype, "device": "meta"}
        block = nn.TransformerEncoderLayer(C, H, F_, 0.0, **options)
        if attn is not None:
            block.self_attn = attn
            weights = {name: value for name, value in weights.items() if not name.startswith("self_attn")}
        if mask is not None and mask.dim() == 4:
            mask = mask.expand(-1, H, -1, -1).flatten(0, 1)
        return functional_call(block, weights, (x,), {"src_mask": mask})

    call, find = ("TransformerBlock", [C, H, F_, *args], kwargs), functools.partial(_found, C=C, F_=F_)
    weights, message = _weights(C, H, F_, dtype), f"with norm_first={norm_first}"
    return Layer(student, call, weights, formula, find, dtype=dtype, message=message, depth=1)


def _parts(student: Student) -> None:
    for known, norm_first in (((6, 3, 9), False), ((4, 1, 7), True)):
        with student.case():
            C, H, F_ = other_block(*known)
            module = student.build("TransformerBlock", C, H, F_, norm_first=norm_first)
            found(student, module, _found, C, F_, depth=1)
    with student.case():
        student.build("TransformerBlock", embed_dim=4, num_heads=2, ff_dim=6, dropout=0.1, norm_first=True)


def _values(norm_first: bool) -> CheckFunction:
    @gives(_block)
    def cases() -> Cases:
        for B, T, C, H, F_ in BLOCKS:
            # post-norm is the default: half of the blocks are built without saying so
            how = {"norm_first": norm_first} if norm_first or C % 2 else {}
            sizes = f"for B = {B}, T = {T}, embed_dim = {C}, num_heads = {H}, ff_dim = {F_}"
            yield {"C": C, "H": H, "F_": F_, **how}, normal(B, T, C), sizes

    return cases


def _masks(student: Student) -> None:
    for norm_first, B, T, C, H, F_ in ((False, 2, 4, 6, 3, 5), (True, 3, 3, 6, 2, 8)):  # PyTorch's layers have a path
        layer, x = _block(student, C, H, F_, 0.0, norm_first), normal(B, T, C)  # of their own for even numbers of heads
        for given, mask, training, where in (
            (x, future(T), True, "with a causal mask (T, T)"),
            (x, some_mask(T, T), False, "with a mask (T, T), in evaluation mode"),
            (x, torch.zeros(T, T, dtype=torch.bool), True, "with a mask that blocks nothing"),
            (x, some_mask(B, 1, T, T), True, "with a mask (B, 1, T, T), one for each sequence"),
            (x, some_mask(B, 1, T, T), False, "with a mask (B, 1, T, T), in evaluation mode"),
            (x, None, True, "without a mask, after calls with one"),
            (x, future(T), None, "with a causal mask (T, T), under no_grad in evaluation mode"),
            (x, some_mask(B, 1, T, T), None, "with a mask (B, 1, T, T), under no_grad in evaluation mode"),
            (normal(1, 4, C), some_mask(1, 1, 4, 4), True, "with a mask (B, 1, T, T) for a single sequence"),
            (normal(1, 300, C), future(300), True, "with a causal mask for 300 tokens"),
        ):
            with student.case():
                layer.gives(given, mask, where=where, training=bool(training), no_grad=training is None)
        with student.case():
            layer.gives(x, future(T), where="with the mask given by position", positional=2)


def _causal(student: Student) -> None:
    """With a causal mask, changing a token moves no earlier output, and does move later ones.

    A block that returns its input is causal, too, and looks at nothing.
    """
    for norm_first in (False, True):
        with student.case():
            layer, x = _block(student, 6, 2, 8, norm_first=norm_first), normal(2, 5, 6)
            before = layer.output(x, future(5))
            for t in range(1, 5):
                changed = x.clone()
                changed[:, t] = 3 * normal(2, 6)
                after = layer.output(changed, future(5))
                if not close(after[:, :t], before[:, :t]):
                    raise Wrong(f"With a causal mask, earlier outputs move when token {t} is changed, {layer.message}.")
                if close(after[:, t:], before[:, t:]):
                    raise Wrong(f"Changing token {t} changes no output at all, {layer.message}.")
                if t < 4 and close(after[:, t + 1 :], before[:, t + 1 :]):
                    raise Wrong(f"Changing token {t} moves no later output, {layer.message}: do later ones look at it?")


_PLUG = '''
class Plugged(nn.Module):
    """Stand in for attention: give a tensor, or a pair if called as nn.MultiheadAttention is."""

    def forward(self, *args, **kwargs):
        tensors = [v for v in [*args, *kwargs.values()] if isinstance(v, torch.Tensor)]
        x, *others = [v for v in tensors if v.is_floating_point()]  # key and value, perhaps a mask of 0 and -inf
        masks = [v for v in tensors if v.dtype == torch.bool] + [v.isinf() for v in others[2:]]
        output, pair = 0.5 * x.roll(1, -1) + 1, len(others) > 1
        if masks:
            mask, turned = masks[0], pair and x.shape[1] != masks[0].shape[-1]  # (T, B, C), as pairs take it by default
            tokens = x.transpose(0, 1) if turned else x
            while mask.dim() > 3:
                mask = mask[:, 0]
            if mask.dim() == 3 and len(mask) not in (1, len(tokens)):
                mask = mask[:: len(mask) // len(tokens)]
            seen = (~mask).to(x.dtype) @ tokens
            output = output + (seen.transpose(0, 1) if turned else seen)
        return (output, None) if pair else output

def plug(block):
    block.attn = Plugged()
'''


def _plugged(student: Student) -> None:
    """Whatever module stands in `attn` is what the block calls, with x (normed first in pre-norm) and the mask."""
    plug, ours = student.probe("plug", _PLUG), define_in_judge(_PLUG, "Plugged")()
    for norm_first in (False, True):
        with student.case():
            layer = _block(student, 6, 3, 8, norm_first=norm_first)
            layer.formula = functools.partial(layer.formula, attn=ours)
            student.value(plug, layer.module)
            for mask in (None, some_mask(4, 4), some_mask(2, 1, 4, 4)):
                masked = "without a mask" if mask is None else f"with a mask {tuple(mask.shape)}"
                layer.gives(normal(2, 4, 6), mask, where=f"with another module put in the place of attn, {masked},")


def _silent(layer: Layer, *parts: str) -> Weights:
    """Return the layer's weights, with those of some parts all 0: they write nothing."""
    return {name: value * (not any(part in name for part in parts)) for name, value in layer.weights.items()}


def _dropout(student: Student) -> None:
    """Where (nearly) all is dropped, only the residual stream is left: x in pre-norm, two norms of x in post-norm.

    With p = 1 − 1e-9 the few hundred numbers that are drawn survive with a probability below 1e-6.
    """
    for norm_first in (True, False):
        with student.case():
            layer, x = _block(student, 6, 3, 8, 1 - 1e-9, norm_first), normal(2, 4, 6)
            where = "in training with a dropout close to 1"
            got = layer.output(x, where=where, training=True)
            if not close(got, layer.formula(_silent(layer, "out_proj", "linear2"), x)):
                left = f"Only the residual stream should be left {where} {layer.message}"
                raise ValuesDiffer(f"{left}: dropout acts on what attn and ff give.")
    _dropped_once(student)


def _dropped_once(student: Student) -> None:
    """In pre-norm, with the other part silent, x comes out unchanged where the write is dropped.

    That happens with probability p, if dropout acts once. Of 2400 numbers a share within p ± 0.1 is dropped: a right
    answer misses that with a probability below 1e-20.
    """
    x = normal(3, 20, 40)
    for silent, part in (("out_proj", "ff"), ("linear2", "attention")):
        with student.case():
            layer = _block(student, 40, 4, 9, 0.5, True)
            layer.load(_silent(layer, silent))
            where = f"in training with dropout = 0.5, of what {part} gives"
            share = (layer.output(x, where=where, training=True) == x).float().mean().item()
            message = f"A share of {share:.2f} is dropped {where}"
            if 0.6 < share < 0.9:  # of what is dropped twice, three quarters
                raise Wrong(
                    f"{message}: dropout acts on it twice (in the part and again in the block?).", "dropout_twice"
                )
            if not 0.4 <= share <= 0.6:
                raise ValuesDiffer(f"{message}.")


@gives(_block)
def _modes() -> Cases:
    x = normal(2, 5, 6)
    for norm_first in (False, True):
        yield [6, 3, 8, 0.9, norm_first], x, "in evaluation mode with dropout = 0.9", {"training": False}
        yield [6, 3, 8, 0.0, norm_first], x, "in training mode with dropout = 0.0", {"training": True}
        sizes = {"C": 6, "H": 3, "F_": 8, "norm_first": norm_first}
        yield sizes, x, "in training mode without dropout", {"training": True}


def _gradients(student: Student) -> None:
    for norm_first, mask, dtype in ((False, [], torch.float32), (True, [future(5)], F64), (False, [future(5)], F64)):
        with student.case():
            layer = _block(student, 8, 2, 5, norm_first=norm_first, dtype=dtype)
            layer.has_gradients(normal(2, 5, 8, dtype=dtype), *mask, rough="" if mask else "inputs and weights")


def _side_effects(student: Student) -> None:
    # The widths 6 and 3 as num_heads fit: with swapped arguments there still is an output to see.
    for built in (_block, functools.partial(_block, norm_first=True)):
        side_effects(built, 2, 3, by_name=True, masked=True, drops=True)(student)


EXERCISE = Exercise(
    Check("attn, ff, norm1, norm2, and nothing else that trains", 1.0, _parts),
    Check("post-norm equals nn.TransformerEncoderLayer", 1.75, _values(False)),
    Check("pre-norm equals nn.TransformerEncoderLayer", 1.75, _values(True)),
    Check("masks (T, T) and (B, 1, T, T), in both orders", 1.0, _masks, dependent=True),
    Check("causal: no earlier output moves when a later token is changed", 0.75, _causal),
    Check("calls whatever stands in attn", 0.75, _plugged, dependent=True),
    Check("dropout acts on the two parts, not on the residual stream", 0.5, _dropout, dependent=True),
    Check("no dropout in evaluation, nor with dropout = 0", 0.5, _modes, dependent=True),
    Check("gradients reach x and every parameter", 0.75, _gradients, dependent=True),
    Check("inputs unchanged, blocks independent, float64, device", 0.75, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
    points=8,
    library_equivalent=r"""
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
)
