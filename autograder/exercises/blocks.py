"""Notebook 08: layer normalisation, the feed-forward network, the transformer block, and what it costs."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ..asked.compare import a_tensor, close, kind, same_gradients, same_tensor, unchanged
from ..asked.declare import Alternative, Ban, Check, Exercise, Mistake, Question, Wrong, edited, source_of, written
from ..asked.inputs import device_is_kept, gradients_of, normal, quietly_called

# --- given by a locked cell of the notebook ---------------------------------------------------------------------------


class Attention(nn.MultiheadAttention):
    """PyTorch's multi-head self-attention, called as in notebook 07: attn(x, mask) -> [B, T, C].

    x: [B, T, C]; mask: boolean, True = blocked, of shape (T, T) or (B, 1, T, T), or None.
    """

    def __init__(self, embed_dim, num_heads):
        super().__init__(embed_dim, num_heads, batch_first=True)

    def forward(self, x, mask=None):
        if mask is not None and mask.dim() == 4:  # PyTorch wants the heads inside the batch dimension
            mask = mask.expand(len(x), self.num_heads, -1, -1).flatten(0, 1)  # (B * H, T, T)
        return super().forward(x, x, x, attn_mask=mask, need_weights=False)[0]


GIVEN = source_of(Attention)


# --- references -------------------------------------------------------------------------------------------------------


class LayerNorm(nn.Module):
    """Shift and scale every vector to mean 0 and variance 1, then by a learned weight and bias.

    dim: width of the vectors; eps: added to the variance, inside the root.
    Parameters: weight [dim], ones at the start; bias [dim], zeros at the start.
    forward: x [..., dim] -> same shape; mean and biased variance (divide by dim) of each vector.
    Example: [1, 3] has mean 2 and variance 1 -> [-1, 1] (to five digits, because of eps).
    Source: Ba, Kiros and Hinton 2016, "Layer Normalization", section 3.
    """

    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)  # (..., 1)
        normalised = (x - mean) / torch.sqrt(variance + self.eps)  # (..., dim): eps saves rows that are constant
        return self.weight * normalised + self.bias


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, for each position on its own.

    embed_dim: width C of x; ff_dim: width of the hidden layer, often 4 * C.
    dropout: probability, applied to the result; activation: any function of a tensor.
    forward: x [..., C] -> [..., C].
    Source: Vaswani et al. 2017, section 3.3.
    """

    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
        super().__init__()
        self.linear1 = nn.Linear(embed_dim, ff_dim)
        self.linear2 = nn.Linear(ff_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.activation = activation

    def forward(self, x):
        hidden = self.activation(self.linear1(x))  # (..., ff_dim)
        return self.dropout(self.linear2(hidden))  # (..., C)


class TransformerBlock(nn.Module):
    """Attention, then a feed-forward network, each with a residual connection, dropout and layer normalisation.

    Parts: attn, any module called as attn(x, mask) (your own from notebook 07 fits); ff; norm1; norm2.
    forward: x [B, T, C] -> [B, T, C]; mask: boolean, True = blocked, (T, T) or (B, 1, T, T).
    norm_first=False is post-norm, norm(x + part(x)): Vaswani et al. 2017, section 3.1.
    norm_first=True is pre-norm, x + part(norm(x)): Radford et al. 2019 (GPT-2), section 2.3.
    dropout acts on what attention and ff give, before it is added to x.
    """

    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
        super().__init__()
        self.norm_first = norm_first
        self.attn = Attention(embed_dim, num_heads)
        self.ff = FeedForward(embed_dim, ff_dim, dropout)  # has its dropout inside
        self.norm1 = LayerNorm(embed_dim)
        self.norm2 = LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)  # for what attention gives

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.dropout(self.attn(self.norm1(x), mask))  # the stream itself is never normalised
            return x + self.ff(self.norm2(x))
        x = self.norm1(x + self.dropout(self.attn(x, mask)))  # (B, T, C)
        return self.norm2(x + self.ff(x))  # (B, T, C)


def block_parameters(embed_dim, ff_dim):
    """Number of parameters of a transformer block of width C = embed_dim and hidden width F = ff_dim, biases included.

    Attention has four Linear layers C -> C, the feed-forward network C -> F and F -> C, each norm two vectors of C.
    Returns an int. Example: embed_dim 2, ff_dim 3 -> 24 + 17 + 8 = 49.
    """
    attention = 4 * (embed_dim * embed_dim + embed_dim)
    feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim)
    norms = 2 * (embed_dim + embed_dim)
    return attention + feed_forward + norms


# --- what the checks share --------------------------------------------------------------------------------------------


def _mistake(name: str, sentence: str, *sources: str) -> Mistake:
    return Mistake(name, sentence, sources[0], sources[1:])


_OUTLINE = """
def outline(module, depth):
    if not isinstance(module, nn.Module):
        raise TypeError("not a module")
    return sorted(
        [".".join(name.split(".")[:depth]), list(p.shape), p.requires_grad, bool((p == p.flatten()[:1]).all())]
        for name, p in module.named_parameters()
    )
"""


def _outline(student: Any, module: Any, depth: int) -> None:
    """Put on record what parameters there are, without the names below `depth`, so that mistakes are known whatever the names."""
    student.value(student.probe("outline", _OUTLINE), module, depth)


def _state(student: Any, module: Any) -> dict:
    """A module's state, off the record: names that may be chosen freely must not hide a mistake."""
    return student._request("", record=False, do="state", target=module)


def _parameters_unchanged(student: Any, module: Any, state: dict[str, torch.Tensor]) -> None:
    after = _state(student, module)["parameters"]
    if any(name in after and not torch.equal(after[name], state[name]) for name in state):
        raise Wrong("A call changes the module's parameters: only training may do that.")


def _shape(tensor: Any) -> tuple:
    return tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else ()


_OUTPUT = "The output"

# --- LayerNorm --------------------------------------------------------------------------------------------------------

SHAPES = (  # several, one and no batch dimensions, equal sizes, vectors of 1 and 2 numbers, a long one, single tokens
    *((2, 5, 6), (3, 4), (7,), (2, 3, 4, 5), (4, 4), (3, 3, 3), (2, 4, 2), (5, 1), (2, 1, 8), (1, 6), (2, 3, 300)),
)


def _norm_weights(dim: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    return {"weight": normal(dim, dtype=dtype), "bias": normal(dim, dtype=dtype)}


def _norm(student: Any, *args: Any, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    """A module and the new weights that were put into it."""
    module, state = student.build("LayerNorm", *args), _norm_weights(args[0], torch.float64 if dtype else torch.float32)
    if dtype:
        student.move(module, dtype)
    student.load(module, state)
    return module, state


def _normed(state: dict[str, torch.Tensor], x: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], state["weight"], state["bias"], eps)


def _norm_parameters(student: Any) -> None:
    for dim in (6, 1, 9):
        with student.case():
            state = student.state(student.build("LayerNorm", dim))
            parameters = state["parameters"]
            for name, start in (("weight", 1.0), ("bias", 0.0)):
                found = parameters.get(name)
                if not isinstance(found, torch.Tensor):
                    where = "a buffer" if name in state["buffers"] else "missing"
                    raise Wrong(
                        f"LayerNorm({dim}) has no parameter `{name}` (it is {where}): `self.{name} = nn.Parameter(…)`."
                    )
                if tuple(found.shape) != (dim,):
                    raise Wrong(
                        f"`{name}` of LayerNorm({dim}) should have shape ({dim},), yours has {tuple(found.shape)}."
                    )
                if name not in state["trainable"]:
                    raise Wrong(f"`{name}` is frozen (requires_grad=False), so it cannot be learned.")
                if not found.is_floating_point() or not torch.all(found == start):
                    raise Wrong(
                        f"`{name}` should start at {start:.0f} everywhere, so that a fresh layer only normalises; yours does not."
                    )
            extra = sorted(map(str, set(parameters) - {"weight", "bias"}))
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")


def _norm_values(student: Any) -> None:
    for shape in SHAPES:
        with student.case():
            module, state = _norm(student, shape[-1])
            x, where = normal(*shape) * 3 + 2, f"for x of shape {shape}"
            same_tensor(student.value(module, x, where=where), _normed(state, x), _OUTPUT, where)
    with student.case():
        module, state = _norm(student, 4)
        x = torch.tensor([[1.0, 3, 1, 3], [0, 0, 0, 8]])
        same_tensor(student.value(module, x), _normed(state, x), _OUTPUT, "for whole numbers")
    with student.case():
        x = normal(3, 5)
        got = student.value(student.build("LayerNorm", 5), x)
        same_tensor(got, F.layer_norm(x, (5,)), _OUTPUT, "of a fresh layer")


def _norm_eps(student: Any) -> None:
    """Rows whose variance is about eps, far below it or zero tell where eps stands, and whether it is used at all."""
    for args, scale, where in (
        ((6,), 3e-3, "for rows whose variance is about eps"),
        ((6,), 1e-5, "for rows whose variance is far below eps"),
        ((6, 0.1), 0.3, "with eps = 0.1"),
        ((6, 1e-3), 0.03, "with eps = 1e-3"),
        ((6, 1e-12), 1e-5, "with eps = 1e-12"),
    ):
        with student.case():
            module, state = _norm(student, *args)
            x = normal(4, 6, scale=scale)
            same_tensor(student.value(module, x, where=where), _normed(state, x, *args[1:]), _OUTPUT, where)
    with student.case():
        module, state = student.build("LayerNorm", dim=6, eps=0.5), _norm_weights(6)
        student.load(module, state)
        x, where = normal(4, 6), "with dim and eps given by name"
        same_tensor(student.value(module, x, where=where), _normed(state, x, 0.5), _OUTPUT, where)


def _norm_constant(student: Any) -> None:
    module, state = _norm(student, 4)
    x = torch.tensor([2.0, 0.0, -8.0])[:, None].expand(3, 4).clone()
    where = "for rows whose numbers are all equal (variance 0)"
    same_tensor(student.value(module, x, where=where), _normed(state, x), _OUTPUT, where)


def _norm_large(student: Any) -> None:
    module, state = _norm(student, 8)
    for x, where in (
        (
            1000 + normal(3, 8),
            "for numbers around 1000 with a variance of 1 (mean(x²) − mean(x)² loses all its digits here)",
        ),
        (1e5 * normal(3, 8), "for numbers around 1e5"),
    ):
        with student.case():
            same_tensor(student.value(module, x, where=where), _normed(state, x), _OUTPUT, where, rough=True)


def _norm_gradient(student: Any) -> None:
    for shape, dtype in (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64)):
        with student.case():
            module, state = _norm(student, shape[-1], dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(
                lambda x, w, b: _normed({"weight": w, "bias": b}, x), [x, *state.values()]
            )
            same_tensor(student.value(module, x, where=where), _normed(state, x), _OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(
                answer["gradients"].get("inputs", []), expected[:1], ["x"], where, rough=dtype == torch.float32
            )
            mine = [answer["gradients"].get("parameters", {}).get(name) for name in state]
            same_gradients(mine, expected[1:], [f"`{name}`" for name in state], where)


def _norm_manners(student: Any) -> None:
    module, state = _norm(student, 6)
    other, other_state = _norm(student, 6)
    x = normal(2, 5, 6)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], _normed(state, x), _OUTPUT, where)
            unchanged(answer["inputs"], [x], "x")
            quietly_called(answer)
    with student.case():
        same_tensor(student.value(other, x), _normed(other_state, x), _OUTPUT, "of a second module")
        _parameters_unchanged(student, module, state)
    with student.case():
        wide, wide_state = _norm(student, 5, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), _normed(wide_state, x), _OUTPUT, "in float64")
    with student.case():
        turned, where = normal(6, 4).mT, "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), _normed(state, turned), _OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


def _l(*edits: tuple[str, str]) -> str:
    return edited(LayerNorm, *edits)


def _norm_trial(student: Any) -> set[str]:
    return set(student.call(student.build("LayerNorm", 4), [normal(3, 4)], trace=True)["operations"])


_MEAN = "mean = x.mean(dim=-1, keepdim=True)  # (..., 1)"
_VARIANCE = "x.var(dim=-1, keepdim=True, unbiased=False)"
_ROOT = "torch.sqrt(variance + self.eps)"
_SCALED = "return self.weight * normalised + self.bias"
_NORMALISED = "normalised = (x - mean) / torch.sqrt(variance + self.eps)"
_WEIGHT = "self.weight = nn.Parameter(torch.ones(dim))"
_BIAS = "self.bias = nn.Parameter(torch.zeros(dim))"
_EPS = "self.eps = eps"


def _over(dims: str) -> str:
    """Mean and variance over other dimensions."""
    return _l(("mean(dim=-1, ", f"mean(dim={dims}, "), ("var(dim=-1, ", f"var(dim={dims}, "))


LAYER_NORM = Exercise(
    name="LayerNorm",
    notebook="08-blocks",
    points=5,
    reference=LayerNorm,
    checks=[
        Check("weight and bias, ones and zeros at the start", 0.75, _norm_parameters),
        Check("equals nn.LayerNorm, for many shapes", 1.5, _norm_values),
        Check("eps inside the root, as given", 0.75, _norm_eps),
        Check("a constant row gives the bias", 0.5, _norm_constant),
        Check("numbers far from 0", 0.25, _norm_large),
        Check("gradients reach x, weight and bias", 0.75, _norm_gradient),
        Check("the same in both modes, x unchanged, float64, device", 0.5, _norm_manners),
    ],
    ban=Ban(
        names=frozenset(
            {"LayerNorm", "layer_norm", "native_layer_norm", "RMSNorm", "rms_norm", "GroupNorm", "group_norm"}
        )
        | {"InstanceNorm1d", "InstanceNorm2d", "instance_norm", "BatchNorm1d", "BatchNorm2d", "batch_norm"},
        operations=frozenset({"native_layer_norm", "layer_norm", "_fused_rms_norm", "rms_norm", "group_norm"})
        | {"native_group_norm", "instance_norm", "native_batch_norm", "batch_norm", "_native_batch_norm_legit"},
        sentence="This exercise is to be written without nn.LayerNorm, F.layer_norm and their relatives, so it earns no points.",
        trial=_norm_trial,
    ),
    working=written(
        """
        from torch import nn

        class LayerNorm(nn.LayerNorm):
            def __init__(self, dim, eps=1e-5):
                super().__init__(dim, eps)
        """
    ),
    mistakes=[
        _mistake(
            "unbiased_variance",
            "The variance divides by dim − 1, PyTorch's default: layer normalisation divides by dim (`unbiased=False`).",
            _l(("unbiased=False", "unbiased=True")),
        ),
        _mistake(
            "unbiased_std_plus_eps",
            "`std` divides by dim − 1 by default, and eps is added outside the root: divide by √(variance + eps), with `unbiased=False`.",
            _l((_ROOT, "(x.std(dim=-1, keepdim=True) + self.eps)")),
        ),
        _mistake(
            "eps_outside",
            "eps is added to the standard deviation, outside the root: it belongs inside, √(variance + eps). The difference shows where the "
            "variance is small.",
            _l((_ROOT, "(torch.sqrt(variance) + self.eps)")),
        ),
        _mistake(
            "no_eps",
            "eps is not used, so that a row of equal numbers gives 0/0 = NaN: divide by √(variance + eps).",
            _l((_ROOT, "torch.sqrt(variance)")),
        ),
        _mistake(
            "eps_fixed",
            "The argument eps is ignored: the number in the formula must be the one that was given.",
            _l((_EPS, "self.eps = 1e-5")),
            _l((_EPS, "self.eps = 1e-6")),
            _l((_EPS, "self.eps = 1e-8")),
        ),
        _mistake(
            "eps_default",
            "The default of eps is not 1e-5: LayerNorm(dim, eps=1e-5).",
            _l(("eps=1e-5", "eps=1e-6")),
            _l(("eps=1e-5", "eps=1e-8")),
            _l(("eps=1e-5", "eps=1e-3")),
            _l(("eps=1e-5", "eps=1e-12")),
        ),
        _mistake(
            "eps_otherwise",
            "eps is used in another way (squared, as a lower bound, added to the mean …): it is added to the variance, inside the root.",
            _l((_ROOT, "torch.sqrt(variance + self.eps**2)")),
            _l((_ROOT, "torch.sqrt(variance.clamp(min=self.eps))")),
            _l((_ROOT, "torch.sqrt(variance).clamp(min=self.eps)")),
            _l((_ROOT, "torch.where(variance == 0, 1.0, variance).sqrt()")),
            _l((_ROOT, "(torch.sqrt(variance + self.eps) + self.eps)")),
        ),
        _mistake(
            "divided_by_variance",
            "x is divided by the variance: divide by its root, the standard deviation.",
            _l((_ROOT, "(variance + self.eps)")),
        ),
        _mistake(
            "mean_not_subtracted",
            "The mean is not subtracted from x: (x − mean) is divided by the root.",
            _l(("(x - mean)", "x")),
            _l(("(x - mean)", "x"), (_VARIANCE, "x.pow(2).mean(dim=-1, keepdim=True)")),
        ),
        _mistake(
            "not_divided",
            "The variance plays no part: after the mean is subtracted, divide by √(variance + eps).",
            _l((" / torch.sqrt(variance + self.eps)", "")),
        ),
        _mistake(
            "brackets",
            "Brackets are missing: (x − mean) as a whole is divided by the root, and then multiplied with weight.",
            _l((_SCALED, "return self.weight * x - mean / torch.sqrt(variance + self.eps) + self.bias")),
            _l((_NORMALISED, "normalised = x - mean / torch.sqrt(variance + self.eps)")),
            _l((_ROOT, "torch.sqrt(variance) + self.eps")),
        ),
        _mistake(
            "multiplied",
            "x − mean is multiplied by the root: it is divided by it.",
            _l(("(x - mean) / ", "(x - mean) * ")),
        ),
        _mistake(
            "mean_square",
            "The mean of x² is not the variance: subtract the mean before squaring.",
            _l((_VARIANCE, "x.pow(2).mean(dim=-1, keepdim=True)")),
        ),
        _mistake(
            "sum_of_squares",
            "The squares are added up, not averaged: the variance divides by dim.",
            _l((_VARIANCE, "(x - mean).pow(2).sum(dim=-1, keepdim=True)")),
        ),
        _mistake(
            "absolute_deviation",
            "The deviations are averaged without being squared: the variance is the mean of (x − mean)².",
            _l((_VARIANCE, "(x - mean).abs().mean(dim=-1, keepdim=True)")),
            _l((_ROOT, "(x.amax(dim=-1, keepdim=True) - x.amin(dim=-1, keepdim=True) + self.eps)")),
        ),
        _mistake(
            "cancellation",
            "mean(x²) − mean(x)² is the variance on paper; in float32 all digits cancel where the mean is large. Average (x − mean)² instead.",
            _l((_VARIANCE, "x.pow(2).mean(dim=-1, keepdim=True) - mean**2")),
            _l((_VARIANCE, "(x.pow(2).mean(dim=-1, keepdim=True) - mean**2).clamp(min=0)")),
        ),
        _mistake(
            "over_batch",
            "Mean and variance are taken over the batch (that is batch normalisation): each vector is normalised by itself, over dim=-1.",
            _over("0"),
        ),
        _mistake(
            "over_tokens",
            "Mean and variance run along the wrong dimension (the tokens): each vector is normalised by itself, over dim=-1.",
            _over("1"),
            _over("-2"),
        ),
        _mistake(
            "over_everything",
            "One mean and one variance are taken over several dimensions: each vector is normalised by itself, over dim=-1.",
            _l((_MEAN, "mean = x.mean()"), (_VARIANCE, "x.var(unbiased=False)")),
            _l((_MEAN, "mean = x.mean()"), (_VARIANCE, "x.var()")),
            _over("(-2, -1)"),
            _over("(1, 2)"),
            _l((_MEAN, "mean = x.mean()")),
            _l((_VARIANCE, "x.var(unbiased=False)")),
        ),
        _mistake(
            "keepdim_forgotten",
            "mean or variance lose their last dimension (`keepdim=True` is missing), so that they fit x only by chance.",
            _l((_MEAN, "mean = x.mean(dim=-1)"), (_VARIANCE, "x.var(dim=-1, unbiased=False)")),
            _l((_VARIANCE, "x.var(dim=-1, unbiased=False)")),
            _l((_MEAN, "mean = x.mean(dim=-1)")),
        ),
        _mistake(
            "three_dimensions_only",
            "x is taken to have three dimensions: [..., dim] may have any number of them, one too.",
            _l((_MEAN, "B, T, C = x.shape\n        " + _MEAN)),
            _over("2"),
        ),
        _mistake(
            "weight_and_bias_unused",
            "weight or bias is not used: the result is weight · normalised + bias.",
            _l((_SCALED, "return normalised")),
            _l((_SCALED, "return self.weight * normalised")),
            _l((_SCALED, "return normalised + self.bias")),
        ),
        _mistake(
            "weight_and_bias_swapped",
            "weight and bias are swapped: weight multiplies, bias is added.",
            _l((_SCALED, "return self.bias * normalised + self.weight")),
        ),
        _mistake(
            "bias_before_weight",
            "The bias is added before the weight multiplies: weight · normalised + bias.",
            _l((_SCALED, "return self.weight * (normalised + self.bias)")),
        ),
        _mistake(
            "one_plus_weight",
            "The factor is 1 + weight, or a weight that starts at zero: weight itself multiplies, and starts at one.",
            _l(
                (_SCALED, "return (1 + self.weight) * normalised + self.bias"),
                (_WEIGHT, _WEIGHT.replace("ones", "zeros")),
            ),
            _l((_WEIGHT, _WEIGHT.replace("ones", "zeros"))),
        ),
        _mistake(
            "other_start",
            "weight and bias start at other numbers: weight at one and bias at zero, so that a fresh layer only normalises.",
            _l((_WEIGHT, _WEIGHT.replace("ones", "randn"))),
            _l((_WEIGHT, _WEIGHT.replace("ones", "randn")), (_BIAS, _BIAS.replace("zeros", "randn"))),
            _l((_BIAS, _BIAS.replace("zeros", "ones"))),
            _l((_WEIGHT, _WEIGHT.replace("ones", "zeros")), (_BIAS, _BIAS.replace("zeros", "ones"))),
            _l((_BIAS, _BIAS.replace("zeros", "randn"))),
            _l((_WEIGHT, _WEIGHT.replace("ones", "rand")), (_BIAS, _BIAS.replace("zeros", "rand"))),
        ),
        _mistake(
            "one_number_each",
            "weight and bias are single numbers: each of the dim columns has its own.",
            _l((_WEIGHT, _WEIGHT.replace("dim", "1")), (_BIAS, _BIAS.replace("dim", "1"))),
            _l(
                (_WEIGHT, _WEIGHT.replace("torch.ones(dim)", "torch.tensor(1.0)")),
                (_BIAS, _BIAS.replace("torch.zeros(dim)", "torch.tensor(0.0)")),
            ),
        ),
        _mistake(
            "other_shape",
            "weight and bias have a shape of more than one dimension: (dim,) is asked for; it broadcasts by itself.",
            _l((_WEIGHT, _WEIGHT.replace("dim", "1, dim")), (_BIAS, _BIAS.replace("dim", "1, dim"))),
            _l((_WEIGHT, _WEIGHT.replace("dim", "1, 1, dim")), (_BIAS, _BIAS.replace("dim", "1, 1, dim"))),
            _l((_WEIGHT, _WEIGHT.replace("dim", "dim, dim"))),
        ),
        _mistake(
            "not_parameters",
            "weight and bias are plain tensors or buffers: wrap them in nn.Parameter, so that they are found, moved and trained.",
            _l((_WEIGHT, "self.weight = torch.ones(dim)"), (_BIAS, "self.bias = torch.zeros(dim)")),
            _l(
                (_WEIGHT, "self.register_buffer('weight', torch.ones(dim))"),
                (_BIAS, "self.register_buffer('bias', torch.zeros(dim))"),
            ),
        ),
        _mistake(
            "frozen",
            "weight or bias does not train (requires_grad=False).",
            _l(
                (_WEIGHT, "self.weight = nn.Parameter(torch.ones(dim), requires_grad=False)"),
                (_BIAS, "self.bias = nn.Parameter(torch.zeros(dim), requires_grad=False)"),
            ),
            _l((_BIAS, "self.bias = nn.Parameter(torch.zeros(dim), requires_grad=False)")),
        ),
        _mistake(
            "no_parameters",
            "There are no parameters: `weight` (ones) and `bias` (zeros) scale and shift what was normalised.",
            _l((f"        {_WEIGHT}\n        {_BIAS}\n", ""), (_SCALED, "return normalised")),
            _l((f"        {_BIAS}\n", ""), (" + self.bias", "")),
        ),
        _mistake(
            "other_names",
            "The parameters have other names: `weight` and `bias` are asked for, as in nn.LayerNorm, so that weights can be loaded.",
            _l(("self.weight", "self.gamma"), ("self.bias", "self.beta")),
            _l(("self.weight", "self.scale"), ("self.bias", "self.shift")),
            _l(("self.weight", "self.a_2"), ("self.bias", "self.b_2")),
            _l(("self.weight", "self.g"), ("self.bias", "self.b")),
        ),
        _mistake(
            "sizes_fixed",
            "The width is a fixed number: weight and bias have dim entries.",
            _l((_WEIGHT, _WEIGHT.replace("dim", "512")), (_BIAS, _BIAS.replace("dim", "512"))),
            _l((_WEIGHT, _WEIGHT.replace("dim", "64")), (_BIAS, _BIAS.replace("dim", "64"))),
        ),
        _mistake(
            "statistics_detached",
            "Part of the computation is cut off (`detach`, `.data`, `no_grad`, `.item()`): mean and variance depend on x, and gradients must flow "
            "through them too.",
            _l((_VARIANCE, _VARIANCE + ".detach()")),
            _l((_MEAN, "mean = x.mean(dim=-1, keepdim=True).detach()")),
            _l((_MEAN, "mean = x.mean(dim=-1, keepdim=True).detach()"), (_VARIANCE, _VARIANCE + ".detach()")),
            _l((_SCALED, "return (self.weight * normalised + self.bias).detach()")),
            _l((_SCALED, "return self.weight * normalised.detach() + self.bias")),
            _l((_SCALED, "return self.weight.data * normalised + self.bias.data")),
        ),
        _mistake(
            "running_statistics",
            "Statistics of earlier calls are used, or only in one mode (that is batch normalisation): each vector is normalised by its own mean and "
            "variance, always.",
            _l((_NORMALISED, "normalised = (x - mean) / torch.sqrt(variance + self.eps) if self.training else x")),
            _l((_NORMALISED, "normalised = x if self.training else (x - mean) / torch.sqrt(variance + self.eps)")),
            _l(
                (_EPS, _EPS + "\n        self.kept = None"),
                (
                    _NORMALISED,
                    "if self.kept is None or self.kept.shape != mean.shape:\n            self.kept = mean.detach()\n        normalised = (x - self.kept) / torch.sqrt(variance + self.eps)",
                ),
            ),
        ),
        _mistake(
            "dtype_changed",
            "The dtype is not kept (a `.float()`, or a new tensor made without dtype): float64 goes in, float64 comes out.",
            _l((_SCALED, "return (self.weight * normalised + self.bias).float()")),
            _l((_MEAN, "x = x.float()\n        " + _MEAN)),
            _l(
                (_MEAN, "x = x.float()\n        " + _MEAN),
                (_SCALED, f"return self.weight * (x - mean) / {_ROOT} + self.bias"),
            ),
        ),
        _mistake(
            "device_dropped",
            "A tensor is made without `device=x.device`: on a GPU the call fails.",
            _l((_ROOT, "torch.sqrt(variance + torch.full((1,), self.eps, dtype=x.dtype))")),
        ),
        _mistake(
            "in_place",
            "x is changed in place (`x -= mean`): the caller's tensor is different afterwards. Make a new one.",
            _l((_NORMALISED, "x -= mean\n        normalised = x / torch.sqrt(variance + self.eps)")),
            _l((_NORMALISED, "normalised = x.sub_(mean).div_(torch.sqrt(variance + self.eps))")),
            _l((_NORMALISED, "x.data = (x - mean) / torch.sqrt(variance + self.eps)\n        normalised = x")),
        ),
        _mistake(
            "dropout_or_activation",
            "Something else is applied that does not belong here: layer normalisation is weight · normalised + bias.",
            _l((_SCALED, "return torch.relu(self.weight * normalised + self.bias)")),
            _l((_SCALED, "return torch.tanh(self.weight * normalised + self.bias)")),
            _l((_SCALED, "return x + self.weight * normalised + self.bias")),
        ),
        _mistake(
            "nothing_returned",
            "forward returns nothing (None): `return` the result.",
            _l((_SCALED, "self.weight * normalised + self.bias")),
        ),
        _mistake(
            "no_super",
            "`super().__init__()` is missing: nn.Module must be set up before parameters can be assigned.",
            _l(("        super().__init__()\n", "")),
        ),
        _mistake(
            "not_a_module",
            "The class does not inherit from nn.Module: its parameters cannot be found, moved, saved or trained.",
            _l(
                ("class LayerNorm(nn.Module)", "class LayerNorm"),
                ("        super().__init__()\n", ""),
                ("def forward", "def __call__"),
            ),
        ),
        _mistake(
            "forward_misspelt",
            "There is no method `forward`: nn.Module calls the method of exactly this name.",
            _l(("def forward", "def foward")),
        ),
    ],
    alternatives=[
        Alternative(
            "written_out",
            _l(
                (_VARIANCE, "((x - mean) ** 2).sum(dim=-1, keepdim=True) / x.shape[-1]"),
                (_NORMALISED, "normalised = (x - mean) * (variance + self.eps).rsqrt()"),
            ),
        ),
        Alternative(
            "std_squared",
            _l((_ROOT, "(x.std(dim=-1, keepdim=True, correction=0) ** 2 + self.eps) ** 0.5")),
        ),
        Alternative(
            "var_mean",
            _l(
                (_MEAN, "variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)"),
                (f"        variance = {_VARIANCE}  # (..., 1)\n", ""),
                (_SCALED, "return torch.addcmul(self.bias, self.weight, normalised)"),
            ),
        ),
        Alternative(
            "moments",
            _l(
                (_VARIANCE, "torch.linalg.vecdot(x - mean, x - mean)[..., None] / x.size(-1)"),
                (_SCALED, "return torch.einsum('...c,c->...c', normalised, self.weight) + self.bias"),
            ),
        ),
    ],
)


# --- FeedForward ------------------------------------------------------------------------------------------------------

LAYERS = (
    "up.weight",
    "up.bias",
    "down.weight",
    "down.bias",
)  # what the checks call them: in your class they may have any names


def _layer_names(parameters: dict, C: int, F_: int, prefix: str = "") -> dict[str, str]:
    """The names that the two linear layers have in a student's module, found by the shapes of their weights (C and F_ differ)."""
    found = {}
    for role, shape in (("up", (F_, C)), ("down", (C, F_))):
        for name, value in parameters.items():
            if str(name).startswith(prefix) and str(name).endswith("weight") and _shape(value) == shape:
                found[f"{role}.weight"], found[f"{role}.bias"] = name, name.removesuffix("weight") + "bias"
                break
        else:
            layer = f"nn.Linear({shape[1]}, {shape[0]})"
            raise Wrong(f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}; none is found.")
        if _shape(parameters.get(found[f"{role}.bias"])) != shape[:1]:
            raise Wrong(
                f"The layer from {shape[1]} to {shape[0]} features has no bias: nn.Linear with its default bias is asked for."
            )
    return found


def _layer_weights(C: int, F_: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    shapes = ((F_, C), (F_,), (C, F_), (C,))
    return {name: normal(*shape, dtype=dtype) for name, shape in zip(LAYERS, shapes, strict=True)}


def _ff(
    student: Any, C: int, F_: int, *args: Any, dtype: str = "", **kwargs: Any
) -> tuple[Any, dict[str, torch.Tensor], dict]:
    """A module, its new weights under the names of LAYERS, and the names they have there."""
    module = student.call("FeedForward", [C, F_, *args], kwargs, "while building it", keep=True)["value"]
    if dtype:
        student.move(module, dtype)
    try:
        names = _layer_names(_state(student, module)["parameters"], C, F_)
    except Wrong:
        _outline(student, module, 0)
        raise
    state = _layer_weights(C, F_, torch.float64 if dtype else torch.float32)
    student.load(module, {names[role]: value for role, value in state.items()})
    return module, state, names


def _fed(state: dict[str, torch.Tensor], x: torch.Tensor, activation: Any = F.relu) -> torch.Tensor:
    hidden = activation(F.linear(x, state["up.weight"], state["up.bias"]))
    return F.linear(hidden, state["down.weight"], state["down.bias"])


def _ff_parameters(student: Any) -> None:
    for C, F_ in ((6, 9), (5, 2), (4, 16)):
        with student.case():
            module = student.build("FeedForward", C, F_)
            _outline(student, module, 0)
            state = _state(student, module)
            names = _layer_names(state["parameters"], C, F_)
            frozen = sorted(set(names.values()) - set(state["trainable"]))
            if frozen:
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(map(str, set(state["parameters"]) - set(names.values())))
            if extra:
                raise Wrong(f"Two linear layers are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
            weights = [state["parameters"][names[role]] for role in ("up.weight", "down.weight")]
            if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
                raise Wrong("A layer starts with all its weights alike: every hidden feature would learn the same.")
    with student.case():
        named = student.build("FeedForward", embed_dim=3, ff_dim=4, dropout=0.1)
        _layer_names(_state(student, named)["parameters"], 3, 4)


def _ff_values(student: Any) -> None:
    for shape, F_ in (
        ((2, 5, 6), 9),
        ((3, 4), 7),
        ((5,), 2),
        ((2, 3, 4, 3), 8),
        ((1, 1, 4), 16),
        ((3, 3, 3), 1),
        ((2, 40, 2), 5),
    ):
        with student.case():
            module, state, _ = _ff(student, shape[-1], F_)
            x, where = normal(*shape), f"for x of shape {shape} and ff_dim = {F_}"
            same_tensor(student.value(module, x, where=where), _fed(state, x), _OUTPUT, where)


_ACTIVATIONS = """
def tanh(x):
    return torch.tanh(x)

def square(x):
    return x * x

def gelu():
    return nn.GELU()
"""


def _ff_activation(student: Any) -> None:
    tanh, square = (student.probe(name, _ACTIVATIONS) for name in ("tanh", "square"))
    gelu = student.call(student.probe("gelu", _ACTIVATIONS), [], keep=True)["value"]
    x = normal(2, 4, 6)
    for given, function, where in (
        (tanh, torch.tanh, "with activation=torch.tanh"),
        (square, torch.square, "with a function of its own as activation"),
        (gelu, F.gelu, "with activation=nn.GELU() (a module can be called, too)"),
        (None, F.relu, "with the default activation, after others"),
    ):
        with student.case():
            kwargs = {} if given is None else {"activation": given}
            module, state, _ = _ff(student, 6, 9, **kwargs)
            same_tensor(student.value(module, x, where=where), _fed(state, x, function), _OUTPUT, where)
    with student.case():
        module, state, _ = _ff(student, 6, 9, 0.0, tanh)
        where = "with the activation as the fourth argument"
        same_tensor(student.value(module, x, where=where), _fed(state, x, torch.tanh), _OUTPUT, where)


def _ff_positions(student: Any) -> None:
    """Changing one position moves no other output."""
    module, state, _ = _ff(student, 4, 7)
    x = normal(3, 6, 4)
    before = student.value(module, x)
    same_tensor(before, _fed(state, x), _OUTPUT)
    changed = x.clone()
    changed[1, 3] = normal(4)
    after = student.value(module, changed)
    others = torch.ones(3, 6, dtype=torch.bool)
    others[1, 3] = False
    if _shape(after) != (3, 6, 4) or not close(after[others], before[others]):
        raise Wrong(
            "Changing one position moves outputs elsewhere: each position goes through the two layers on its own."
        )
    one = student.value(module, x[:, 2:3])
    same_tensor(one, _fed(state, x)[:, 2:3], "The output of a single position")


def _ff_dropout(student: Any) -> None:
    """In training each number of the result is 0 with probability p and 1/(1 − p) times as large otherwise.

    Of 2400 numbers a share within p ± 0.1 is dropped: a right answer misses that with a probability below 1e-20, and loses a
    whole token of 40 numbers with one below 1e-9.
    """
    x = normal(3, 20, 40)
    for p in (0.5, 0.25):
        with student.case():
            module, state, _ = _ff(student, 40, 9, p)
            full, where = _fed(state, x), f"in training with dropout = {p}"
            got = student.call(module, [x], training=True, where=where)["value"]
            if _shape(got) != _shape(full):
                same_tensor(got, full, _OUTPUT, where)
            dropped = got == 0
            share = dropped.float().mean().item()
            if share < 0.005:
                raise Wrong(
                    f"No number of the result is dropped {where}: nn.Dropout(dropout) belongs after the second linear layer."
                )
            if not close(got[~dropped], full[~dropped] / (1 - p)):
                raise Wrong(
                    f"{_begin(where)}, each number of the result should be 0 or 1/(1 − p) times what it is without dropout; yours are not: "
                    "dropout comes last, after the second linear layer."
                )
            if abs(share - p) > 0.1:
                raise Wrong(
                    f"{_begin(where)}, a share of {share:.2f} of the result is dropped: `dropout` is the probability of dropping."
                )
            if dropped.all(dim=-1).any() or dropped.flatten(0, 1).all(dim=0).any():
                raise Wrong(
                    f"Whole tokens or whole columns are dropped {where}: each number is dropped on its own (nn.Dropout)."
                )


def _begin(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _ff_modes(student: Any) -> None:
    x = normal(2, 5, 6)
    for args, kwargs, training, where in (
        ([0.9], {}, False, "in evaluation mode with dropout = 0.9"),
        ([], {"dropout": 0.9}, False, "in evaluation mode with dropout=0.9 given by name"),
        ([0.0], {}, True, "in training mode with dropout = 0.0"),
        ([], {}, True, "in training mode with the default dropout of 0"),
        ([], {}, False, "in evaluation mode"),
    ):
        with student.case():
            module, state, _ = _ff(student, 6, 9, *args, **kwargs)
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], _fed(state, x), _OUTPUT, where)
            if not training:
                quietly_called(answer)


def _ff_gradient(student: Any) -> None:
    for shape, F_, dtype in (((2, 5, 6), 9, torch.float32), ((3, 4), 7, torch.float64)):
        with student.case():
            C = shape[-1]
            module, state, names = _ff(student, C, F_, dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(
                lambda x, *leaves: _fed(dict(zip(LAYERS, leaves, strict=True)), x), [x, *state.values()]
            )
            same_tensor(student.value(module, x, where=where), _fed(state, x), _OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(answer["gradients"].get("inputs", []), expected[:1], ["x"], where)
            mine = [answer["gradients"].get("parameters", {}).get(names[role]) for role in LAYERS]
            same_gradients(mine, expected[1:], [f"`{names[role]}`" for role in LAYERS], where)


def _ff_manners(student: Any) -> None:
    module, state, names = _ff(student, 6, 9)
    other, other_state, _ = _ff(student, 6, 9)
    x = normal(2, 5, 6)
    answer = student.call(module, [x])
    same_tensor(answer["value"], _fed(state, x), _OUTPUT)
    unchanged(answer["inputs"], [x], "x")
    same_tensor(student.value(other, x), _fed(other_state, x), _OUTPUT, "of a second module")
    _parameters_unchanged(student, module, {names[role]: value for role, value in state.items()})
    with student.case():
        wide, wide_state, _ = _ff(student, 5, 4, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), _fed(wide_state, x), _OUTPUT, "in float64")
    with student.case():
        turned, where = normal(3, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), _fed(state, turned), _OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


def _f(*edits: tuple[str, str]) -> str:
    return edited(FeedForward, *edits)


def _feed(init: str, *forward: str) -> str:
    first, body = init.replace("\n", "\n        "), "\n        ".join(forward)
    return written(
        "class FeedForward(nn.Module):\n    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):\n        super().__init__()\n"
        f"        {first}\n\n    def forward(self, x):\n        {body}\n"
    )


_UP = "self.linear1 = nn.Linear(embed_dim, ff_dim)"
_DOWN = "self.linear2 = nn.Linear(ff_dim, embed_dim)"
_DROP = "self.dropout = nn.Dropout(dropout)"
_HIDDEN = "hidden = self.activation(self.linear1(x))"
_RESULT = "return self.dropout(self.linear2(hidden))"
_ACTIVATION = "self.activation = activation"

FEED_FORWARD = Exercise(
    name="FeedForward",
    notebook="08-blocks",
    points=4,
    reference=FeedForward,
    checks=[
        Check("two linear layers, and nothing else", 0.75, _ff_parameters),
        Check("values with given weights, for many shapes", 1.0, _ff_values),
        Check("the activation that is given", 0.5, _ff_activation),
        Check("each position on its own", 0.25, _ff_positions),
        Check("dropout acts on the result, in training", 0.5, _ff_dropout),
        Check("no dropout in evaluation, nor with dropout = 0", 0.5, _ff_modes),
        Check("gradients reach x and every parameter", 0.5, _ff_gradient),
        Check("x unchanged, modules independent, float64, device", 0.5, _ff_manners),
    ],
    working=written(
        """
        import torch.nn.functional as F
        from torch import nn

        class FeedForward(nn.Sequential):
            def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
                middle = nn.Identity()
                middle.forward = lambda hidden: activation(hidden)
                super().__init__(nn.Linear(embed_dim, ff_dim), middle, nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout))
        """
    ),
    mistakes=[
        _mistake(
            "no_activation",
            "There is no activation between the layers: two linear maps in a row are only one linear map.",
            _f((_HIDDEN, "hidden = self.linear1(x)")),
        ),
        _mistake(
            "activation_ignored",
            "The argument `activation` is ignored: whatever function is given stands between the layers.",
            _f((_ACTIVATION, "self.activation = F.relu")),
            _f((_ACTIVATION, "self.activation = nn.ReLU()")),
            _f((_HIDDEN, "hidden = torch.relu(self.linear1(x))")),
            _f((_ACTIVATION, "self.activation = F.gelu if activation is not F.relu else F.relu")),
        ),
        _mistake(
            "other_default",
            "The default activation is not ReLU: activation=F.relu.",
            _f(("activation=F.relu", "activation=F.gelu")),
            _f(("activation=F.relu", "activation=torch.tanh")),
            _f(("activation=F.relu", "activation=F.silu")),
            _f((_ACTIVATION, "self.activation = F.gelu")),
        ),
        _mistake(
            "activation_last",
            "The activation is applied to the result: it stands between the two layers, and nowhere else.",
            _f(
                (_HIDDEN, "hidden = self.linear1(x)"),
                (_RESULT, "return self.dropout(self.activation(self.linear2(hidden)))"),
            ),
            _f((_RESULT, "return self.dropout(self.activation(self.linear2(hidden)))")),
            _f((_RESULT, "return self.activation(self.dropout(self.linear2(hidden)))")),
        ),
        _mistake(
            "activation_first",
            "The activation is applied to x, before the first layer: it stands between the two layers.",
            _f((_HIDDEN, "hidden = self.linear1(self.activation(x))")),
        ),
        _mistake(
            "activation_in_sequential",
            "nn.Sequential takes modules only: F.relu is a plain function and makes it fail. Keep the function (`self.activation = activation`) and "
            "call it in forward.",
            _feed(
                "self.net = nn.Sequential(nn.Linear(embed_dim, ff_dim), activation, nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout))",
                "return self.net(x)",
            ),
        ),
        _mistake(
            "activation_called_at_once",
            "`activation` is called in `__init__`: it is a function of a tensor, kept as it is and called in forward.",
            _f((_ACTIVATION, "self.activation = activation()")),
        ),
        _mistake(
            "activation_required",
            "The parameters of `__init__` are not (embed_dim, ff_dim, dropout=0.0, activation=F.relu): one is missing, required, or in another place.",
            _f(("dropout=0.0, activation=F.relu", "activation=F.relu, dropout=0.0")),
            _f(("dropout=0.0, activation=F.relu", "dropout=0.0"), (_ACTIVATION, "self.activation = F.relu")),
            _f(("dropout=0.0, activation=F.relu", "dropout, activation")),
            _f(("dropout=0.0, activation=F.relu", "dropout=0.0, *, activation=F.relu")),
            _f(("dropout=0.0, activation=F.relu", "dropout=0.0, act=F.relu"), (_ACTIVATION, "self.activation = act")),
        ),
        _mistake(
            "dropout_unused",
            "Dropout is never applied: it comes after the second layer.",
            _f((_RESULT, "return self.linear2(hidden)")),
        ),
        _mistake(
            "dropout_inside",
            "Dropout is applied to the hidden layer: it comes last, after the second linear layer.",
            _f(
                (_HIDDEN, "hidden = self.dropout(self.activation(self.linear1(x)))"),
                (_RESULT, "return self.linear2(hidden)"),
            ),
            _f(
                (_HIDDEN, "hidden = self.activation(self.dropout(self.linear1(x)))"),
                (_RESULT, "return self.linear2(hidden)"),
            ),
        ),
        _mistake(
            "dropout_twice",
            "Dropout is applied in two places: only once, after the second linear layer.",
            _f((_HIDDEN, "hidden = self.dropout(self.activation(self.linear1(x)))")),
            _f((_RESULT, "return self.dropout(self.dropout(self.linear2(hidden)))")),
        ),
        _mistake(
            "dropout_of_input",
            "Dropout is applied to x: it comes last, after the second linear layer.",
            _f(
                (_HIDDEN, "hidden = self.activation(self.linear1(self.dropout(x)))"),
                (_RESULT, "return self.linear2(hidden)"),
            ),
        ),
        _mistake(
            "dropout_in_evaluation",
            "Dropout is at work in evaluation mode too: F.dropout needs `training=self.training`; nn.Dropout sees to it by itself.",
            _f((_RESULT, "return F.dropout(self.linear2(hidden), self.dropout.p)")),
            _f((_RESULT, "return F.dropout(self.linear2(hidden), self.dropout.p, training=not self.training)")),
        ),
        _mistake(
            "dropout_fixed",
            "The probability of dropout is a fixed number, or its default is not 0: nn.Dropout(dropout), with dropout=0.0 as default.",
            _f((_DROP, "self.dropout = nn.Dropout(0.1)")),
            _f((_DROP, "self.dropout = nn.Dropout()")),
            _f((_DROP, "self.dropout = nn.Dropout(0.2)")),
            _f(("dropout=0.0", "dropout=0.1")),
            _f(("dropout=0.0", "dropout=0.5")),
        ),
        _mistake(
            "keep_probability",
            "`dropout` is taken for the probability of keeping a number: it is the probability of dropping it.",
            _f((_DROP, "self.dropout = nn.Dropout(1 - dropout)")),
        ),
        _mistake(
            "dropout_without_scale",
            "What is not dropped is not scaled up by 1/(1 − p), so that the sizes in training and evaluation differ: nn.Dropout does it.",
            _f(
                (
                    _RESULT,
                    "result = self.linear2(hidden)\n        if not self.training:\n            return result\n        return result * (torch.rand_like(result) >= self.dropout.p)",
                )
            ),
        ),
        _mistake(
            "dropout_of_tokens",
            "Whole tokens or columns are dropped: each number is dropped on its own (nn.Dropout).",
            _f((_DROP, "self.dropout = nn.Dropout1d(dropout)")),
            _f(
                (
                    _RESULT,
                    "result = self.linear2(hidden)\n        return result * self.dropout(torch.ones_like(result[..., :1]))",
                )
            ),
        ),
        _mistake(
            "widths_swapped",
            "The two widths are swapped, or the layers are used in the wrong order: the first goes from embed_dim to ff_dim, the second back.",
            _f(
                (_UP, "self.linear1 = nn.Linear(ff_dim, embed_dim)"),
                (_DOWN, "self.linear2 = nn.Linear(embed_dim, ff_dim)"),
            ),
            _f(("embed_dim, ff_dim, dropout", "ff_dim, embed_dim, dropout")),
            _f(("self.linear2(hidden)", "self.linear1(hidden)")),
        ),
        _mistake(
            "ff_dim_ignored",
            "The hidden width is not ff_dim (4 · embed_dim is common, but here it is given), or a fixed number.",
            _f(
                (_UP, "self.linear1 = nn.Linear(embed_dim, 4 * embed_dim)"),
                (_DOWN, "self.linear2 = nn.Linear(4 * embed_dim, embed_dim)"),
            ),
            _f(
                (_UP, "self.linear1 = nn.Linear(embed_dim, embed_dim)"),
                (_DOWN, "self.linear2 = nn.Linear(embed_dim, embed_dim)"),
            ),
            _f(
                (_UP, "self.linear1 = nn.Linear(embed_dim, 2048)"), (_DOWN, "self.linear2 = nn.Linear(2048, embed_dim)")
            ),
        ),
        _mistake(
            "sizes_do_not_fit",
            "The two layers do not fit together: the second goes from ff_dim back to embed_dim.",
            _f((_DOWN, "self.linear2 = nn.Linear(embed_dim, ff_dim)")),
            _f((_DOWN, "self.linear2 = nn.Linear(ff_dim, ff_dim)")),
            _f((_DOWN, "self.linear2 = nn.Linear(embed_dim, embed_dim)")),
        ),
        _mistake(
            "one_layer",
            "There is one layer only: a second one leads from ff_dim back to embed_dim.",
            _f((f"        {_DOWN}\n", ""), ("self.linear2(hidden)", "hidden")),
        ),
        _mistake(
            "three_layers",
            "There is a layer too many: embed_dim → ff_dim → embed_dim, two layers.",
            _f(
                (_DOWN, _DOWN + "\n        self.linear3 = nn.Linear(ff_dim, ff_dim)"),
                (_HIDDEN, "hidden = self.activation(self.linear3(self.activation(self.linear1(x))))"),
            ),
            _f(
                (_DOWN, _DOWN + "\n        self.linear3 = nn.Linear(embed_dim, embed_dim)"),
                (_RESULT, "return self.dropout(self.linear3(self.linear2(hidden)))"),
            ),
        ),
        _mistake(
            "shared_weights",
            "The second layer uses the first one's weights: it has its own.",
            _f(
                (f"        {_DOWN}\n", "        self.bias = nn.Parameter(torch.zeros(embed_dim))\n"),
                ("self.linear2(hidden)", "(hidden @ self.linear1.weight + self.bias)"),
            ),
            _f(("self.linear2(hidden)", "(hidden @ self.linear1.weight + self.linear2.bias)")),
        ),
        _mistake(
            "second_layer_unused",
            "One of the two layers is never used: embed_dim → ff_dim → embed_dim.",
            _f((_HIDDEN, "hidden = x"), ("self.linear2(hidden)", "(hidden + 0 * self.linear2(self.linear1(hidden)))")),
            _f((_RESULT, "return self.dropout(hidden)")),
        ),
        _mistake(
            "no_bias",
            "The layers have no bias (`bias=False`): nn.Linear with its default bias is asked for.",
            _f(
                ("ff_dim)\n        self.linear2", "ff_dim, bias=False)\n        self.linear2"),
                (_DOWN, "self.linear2 = nn.Linear(ff_dim, embed_dim, bias=False)"),
            ),
            _f((_UP, "self.linear1 = nn.Linear(embed_dim, ff_dim, bias=False)")),
            _f((_DOWN, "self.linear2 = nn.Linear(ff_dim, embed_dim, bias=False)")),
        ),
        _mistake(
            "positions_mixed",
            "Positions are mixed (by a mean, a flatten or a layer over T): each position goes through the two layers on its own.",
            _f(
                (
                    _HIDDEN,
                    "hidden = self.activation(self.linear1(x.mean(dim=-2, keepdim=True).expand_as(x) if x.dim() > 1 else x))",
                )
            ),
            _f(
                (
                    _HIDDEN,
                    "hidden = self.activation(self.linear1(x + x.mean(dim=-2, keepdim=True) if x.dim() > 1 else x))",
                )
            ),
            _f((_HIDDEN, "hidden = self.activation(self.linear1(x.cumsum(dim=-2) if x.dim() > 1 else x))")),
        ),
        _mistake(
            "three_dimensions_only",
            "x is taken to have three dimensions: any number of them is allowed before the last.",
            _f((_HIDDEN, "B, T, C = x.shape\n        " + _HIDDEN)),
            _f((_RESULT, "return self.dropout(self.linear2(hidden)).flatten(0, 1).view(x.shape[0], x.shape[1], -1)")),
        ),
        _mistake(
            "residual",
            "x is added to the result: the residual connection belongs to the block.",
            _f((_RESULT, "return x + self.dropout(self.linear2(hidden))")),
        ),
        _mistake(
            "normalised",
            "A layer norm is applied: it belongs to the block.",
            _f((_HIDDEN, "hidden = self.activation(self.linear1(F.layer_norm(x, x.shape[-1:])))")),
            _f((_RESULT, "return F.layer_norm(self.dropout(self.linear2(hidden)), x.shape[-1:])")),
            _f(
                (_DROP, _DROP + "\n        self.norm = nn.LayerNorm(embed_dim)"),
                (_HIDDEN, "hidden = self.activation(self.linear1(self.norm(x)))"),
            ),
            _f(
                (_DROP, _DROP + "\n        self.norm = nn.LayerNorm(embed_dim)"),
                (_RESULT, "return self.norm(self.dropout(self.linear2(hidden)))"),
            ),
            _f(
                (_DROP, _DROP + "\n        self.norm = nn.LayerNorm(embed_dim)"),
                (_RESULT, "return self.norm(x + self.dropout(self.linear2(hidden)))"),
            ),
        ),
        _mistake(
            "bare_parameters",
            "The layers are bare matrices (nn.Parameter): nn.Linear(embed_dim, ff_dim) and nn.Linear(ff_dim, embed_dim) hold weight and bias, start "
            "them well, and are called as `self.linear1(x)`.",
            *[
                _f(
                    (
                        _UP,
                        f"self.w1, self.b1 = nn.Parameter(torch.{start}(embed_dim, ff_dim)), nn.Parameter(torch.zeros(ff_dim))",
                    ),
                    (
                        _DOWN,
                        f"self.w2, self.b2 = nn.Parameter(torch.{start}(ff_dim, embed_dim)), nn.Parameter(torch.zeros(embed_dim))",
                    ),
                    ("self.linear1(x)", "x @ self.w1 + self.b1"),
                    ("self.linear2(hidden)", "hidden @ self.w2 + self.b2"),
                )
                for start in ("randn", "zeros")
            ],
        ),
        _mistake(
            "layers_made_in_forward",
            "The layers are made anew in every forward pass, so nothing that is learned or loaded is ever used.",
            _f(("self.linear1(x)", "nn.Linear(x.shape[-1], self.linear1.out_features)(x)")),
            _feed(
                "self.embed_dim, self.ff_dim = embed_dim, ff_dim\nself.activation, self.dropout = activation, nn.Dropout(dropout)",
                "self.linear1, self.linear2 = nn.Linear(self.embed_dim, self.ff_dim), nn.Linear(self.ff_dim, self.embed_dim)",
                "return self.dropout(self.linear2(self.activation(self.linear1(x))))",
            ),
            _feed(
                "self.embed_dim, self.ff_dim = embed_dim, ff_dim\nself.activation, self.dropout = activation, nn.Dropout(dropout)",
                "hidden = self.activation(nn.Linear(self.embed_dim, self.ff_dim)(x))",
                "return self.dropout(nn.Linear(self.ff_dim, self.embed_dim)(hidden))",
            ),
        ),
        _mistake(
            "layers_in_a_list",
            "The layers are kept in a plain Python list, where nn.Module cannot see them: no parameters, no training.",
            _feed(
                "self.layers = [nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)]\nself.activation, self.dropout = activation, nn.Dropout(dropout)",
                "return self.dropout(self.layers[1](self.activation(self.layers[0](x))))",
            ),
        ),
        _mistake(
            "same_start",
            "A layer starts with all its weights alike (zeros, ones), so that every hidden feature would learn the same.",
            _f((_DROP, "nn.init.zeros_(self.linear2.weight)\n        " + _DROP)),
            _f((_DROP, "nn.init.ones_(self.linear1.weight)\n        " + _DROP)),
        ),
        _mistake(
            "frozen",
            "Parameters do not train (requires_grad=False).",
            _f((_DROP, _DROP + "\n        self.requires_grad_(False)")),
        ),
        _mistake(
            "detached",
            "Part of the computation is cut off (`detach`, `.data`, `no_grad`), so that no gradient comes through it.",
            _f((_RESULT, _RESULT + ".detach()")),
            _f((_RESULT, "return self.dropout(self.linear2(hidden.detach()))")),
            _f((_HIDDEN, "hidden = self.activation(self.linear1(x.detach()))")),
        ),
        _mistake(
            "dtype_changed",
            "The dtype is not kept (a `.float()`): float64 goes in, float64 comes out.",
            _f((_RESULT, _RESULT + ".float()")),
            _f((_HIDDEN, "hidden = self.activation(self.linear1(x.float()))")),
        ),
        _mistake(
            "in_place",
            "x is changed in place: the caller's tensor is different afterwards.",
            _f((_HIDDEN, "x -= x.mean(dim=-1, keepdim=True)\n        " + _HIDDEN)),
            _f((_HIDDEN, _HIDDEN + "\n        x.zero_()")),
            _f((_RESULT, "x += self.dropout(self.linear2(hidden))\n        return x")),
        ),
        _mistake(
            "nothing_returned",
            "forward returns nothing (None): `return` the result.",
            _f((_RESULT, "self.dropout(self.linear2(hidden))")),
        ),
        _mistake(
            "no_super",
            "`super().__init__()` is missing: nn.Module must be set up before layers can be assigned.",
            _f(("        super().__init__()\n", "")),
        ),
        _mistake(
            "not_a_module",
            "The class does not inherit from nn.Module: its layers cannot be found, moved, saved or trained.",
            _f(
                ("class FeedForward(nn.Module)", "class FeedForward"),
                ("        super().__init__()\n", ""),
                ("def forward", "def __call__"),
            ),
        ),
        _mistake(
            "forward_misspelt",
            "There is no method `forward`: nn.Module calls the method of exactly this name.",
            _f(("def forward", "def foward")),
        ),
    ],
    alternatives=[
        Alternative(
            "two_sequentials",
            _feed(
                "self.act = activation\nself.inner = nn.Linear(embed_dim, ff_dim)\nself.outer = nn.Sequential(nn.Linear(ff_dim, embed_dim), nn.Dropout(p=dropout))",
                "return self.outer(self.act(self.inner(x)))",
            ),
        ),
        Alternative(
            "functional_dropout",
            _feed(
                "self.p = dropout\nself.act = activation\nself.w2 = nn.Linear(ff_dim, embed_dim)\nself.w1 = nn.Linear(embed_dim, ff_dim)",
                "x = self.w1(x)",
                "x = self.act(x)",
                "x = self.w2(x)",
                "return F.dropout(x, p=self.p, training=self.training)",
            ),
        ),
        Alternative(
            "a_module_for_the_activation",
            written(
                """
                class Lambda(nn.Module):
                    def __init__(self, function):
                        super().__init__()
                        self.function = function

                    def forward(self, x):
                        return self.function(x)

                class FeedForward(nn.Module):
                    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
                        super().__init__()
                        self.net = nn.Sequential(
                            nn.Linear(embed_dim, ff_dim), Lambda(activation), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)
                        )

                    def forward(self, x):
                        return self.net(x)
                """
            ),
        ),
        Alternative(
            "dropout_by_hand",
            _feed(
                "self.up, self.down = nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)\nself.rate, self.activation = dropout, activation",
                "y = self.down(self.activation(self.up(x)))",
                "if self.training and self.rate > 0:",
                "    keep = torch.rand(y.shape, device=y.device) >= self.rate",
                "    y = y * keep / (1 - self.rate)",
                "return y",
            ),
        ),
    ],
)


# --- TransformerBlock -------------------------------------------------------------------------------------------------

PROJECTIONS = ("q_proj", "k_proj", "v_proj")
BLOCKS = (  # (B, T, C, H, F): all different, then one head, heads of width 1, equal sizes, a single token, a longer sequence
    *(
        (2, 5, 6, 3, 9),
        (3, 4, 8, 2, 5),
        (1, 3, 4, 1, 7),
        (2, 4, 3, 3, 8),
        (3, 3, 9, 3, 4),
        (2, 1, 4, 2, 6),
        (1, 24, 4, 2, 16),
    ),
)


def _block_weights(C: int, F_: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Weights for a block under names of ours."""
    state = {f"{role}": value / 2 for role, value in _layer_weights(C, F_, dtype).items()}
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

    attn may keep its projections in three layers (q_proj, k_proj, v_proj) or stacked, as nn.MultiheadAttention does (in_proj_weight,
    in_proj_bias); ff may have any names inside.
    """
    makers: dict[str, Any] = {}
    attn = {str(name).removeprefix("attn."): name for name in parameters if str(name).startswith("attn.")}

    def put(ending: str, shape: tuple, maker: Any) -> None:
        for inner, name in attn.items():
            if (inner == ending or inner.endswith("." + ending)) and _shape(parameters[name]) == shape:
                makers[name] = maker
                return
        raise Wrong(
            f"attn has no parameter `{ending}` of shape {shape} for embed_dim = {C}: make it Attention(embed_dim, num_heads), which is given, "
            "or your own module with q_proj, k_proj, v_proj and out_proj."
        )

    stacked = any(inner.endswith("in_proj_weight") for inner in attn)
    for part, shape in (("weight", (C,)), ("bias", ())):
        if stacked:
            put(f"in_proj_{part}", (3 * C, *shape), lambda values, part=part: _part(part, values))
        for name in ("out_proj",) if stacked else (*PROJECTIONS, "out_proj"):
            key = f"{name}.{part}"
            put(key, (C, *shape), lambda values, key=key: values[key])
    for role, name in _layer_names(parameters, C, F_, "ff.").items():
        makers[name] = lambda values, role=role: values[role]
    for norm in ("norm1", "norm2"):
        for part in ("weight", "bias"):
            key = f"{norm}.{part}"
            if _shape(parameters.get(key)) != (C,):
                raise Wrong(
                    f"The block has no `{key}` of shape ({C},): make `self.{norm} = LayerNorm(embed_dim)`, one for each of the two norms."
                )
            makers[key] = lambda values, key=key: values[key]
    return makers


def _block(student: Any, C: int, H: int, F_: int, *args: Any, dtype: str = "", **kwargs: Any) -> tuple[Any, dict, dict]:
    """A block, its new weights under names of ours, and how its parameters are made of them."""
    module = student.call("TransformerBlock", [C, H, F_, *args], kwargs, "while building it", keep=True)["value"]
    if dtype:
        student.move(module, dtype)
    try:
        makers = _layout(_state(student, module)["parameters"], C, F_)
    except Wrong:
        _outline(student, module, 1)
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
        return x + _fed(state, norm(2, x))
    x = norm(1, x + act(x))
    return norm(2, x + _fed(state, x))


def _order(norm_first: bool) -> str:
    return f"with norm_first={norm_first}"


def _block_sizes(B: int, T: int, C: int, H: int, F_: int) -> str:
    return f"for B = {B}, T = {T}, embed_dim = {C}, num_heads = {H}, ff_dim = {F_}"


def _same_block(got: Any, expected: torch.Tensor, where: str = "") -> None:
    if isinstance(got, (tuple, list)):
        raise Wrong(f"forward should return one tensor (B, T, C); yours returned {kind(got)}.")
    same_tensor(got, expected, _OUTPUT, where)


def _future(T: int) -> torch.Tensor:
    return torch.ones(T, T, dtype=torch.bool).triu(1)


def _some_mask(*shape: int) -> torch.Tensor:
    """Blocks about a third, never a whole row."""
    mask = normal(*shape) > 0.4
    mask[..., 0] &= ~mask.all(dim=-1)
    return mask


def _block_parts(student: Any) -> None:
    for C, H, F_, norm_first in ((6, 3, 9, False), (4, 1, 7, True)):
        with student.case():
            module = student.build("TransformerBlock", C, H, F_, norm_first=norm_first)
            _outline(student, module, 1)
            state = _state(student, module)
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


def _block_values(norm_first: bool) -> Any:
    def ask(student: Any) -> None:
        for sizes in BLOCKS:
            with student.case():
                B, T, C, H, F_ = sizes
                # post-norm is the default: half of the blocks are built without saying so
                how = {"norm_first": norm_first} if norm_first or C % 2 else {}
                module, state, _ = _block(student, C, H, F_, **how)
                x, where = normal(B, T, C), f"{_order(norm_first)}, {_block_sizes(*sizes)}"
                _same_block(student.value(module, x, where=where), _torchs_output(state, H, norm_first, x), where)

    return ask


def _block_masks(student: Any) -> None:
    for norm_first, B, T, C, H, F_ in ((False, 2, 4, 6, 3, 5), (True, 3, 3, 6, 3, 8)):
        module, state, _ = _block(student, C, H, F_, 0.0, norm_first)
        x = normal(B, T, C)
        for mask, training, where in (
            (_future(T), True, "with a causal mask (T, T)"),
            (_some_mask(T, T), False, "with a mask (T, T), in evaluation mode"),
            (torch.zeros(T, T, dtype=torch.bool), True, "with a mask that blocks nothing"),
            (_some_mask(B, 1, T, T), True, "with a mask (B, 1, T, T), one for each sequence"),
            (_some_mask(B, 1, T, T), False, "with a mask (B, 1, T, T), in evaluation mode"),
            (None, True, "without a mask, after calls with one"),
        ):
            with student.case():
                place = f"{where}, {_order(norm_first)}"
                got = student.call(module, [x], {} if mask is None else {"mask": mask}, where=place, training=training)[
                    "value"
                ]
                _same_block(got, _torchs_output(state, H, norm_first, x, mask), place)
    with student.case():
        where = "with the mask given by position"
        _same_block(
            student.value(module, x, _future(3), where=where), _torchs_output(state, 3, True, x, _future(3)), where
        )


def _block_causal(student: Any) -> None:
    """With a causal mask, changing a token moves no earlier output, and does move some other."""
    for norm_first in (False, True):
        with student.case():
            module, _, _ = _block(student, 6, 2, 8, norm_first=norm_first)
            x, where = normal(2, 5, 6), _order(norm_first)
            before = student.value(module, x, _future(5), where=where)
            if _shape(before) != (2, 5, 6):
                same_tensor(before, x, _OUTPUT, where)
            for t in range(1, 5):
                changed = x.clone()
                changed[:, t] = 3 * normal(2, 6)
                after = a_tensor(student.value(module, changed, _future(5), where=where), _OUTPUT)
                if after.shape != before.shape or not close(after[:, :t], before[:, :t]):
                    raise Wrong(
                        f"With a causal mask, earlier outputs move when token {t} is changed, {where}: the future leaks in."
                    )
                if close(after[:, t:], before[:, t:]):
                    raise Wrong(f"Changing token {t} changes no output at all, {where}.")


_PLUG = '''
class Plugged(nn.Module):
    """Stands in for attention. Called as attn(x, mask) it returns a tensor, called as nn.MultiheadAttention is, a pair."""

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


def _block_plugged(student: Any) -> None:
    """Whatever module stands in `attn` is what the block calls, with x (normed first in pre-norm) and the mask."""
    plug = student.probe("plug", _PLUG)
    for norm_first in (False, True):
        with student.case():
            module, state, _ = _block(student, 6, 3, 8, norm_first=norm_first)
            student.value(plug, module)
            x = normal(2, 4, 6)
            for mask, masked in (
                (None, "without a mask"),
                (_some_mask(4, 4), "with a mask (T, T)"),
                (_some_mask(2, 1, 4, 4), "with a mask (B, 1, T, T)"),
            ):
                where = f"with another module put in the place of attn, {masked}, {_order(norm_first)}"
                got = student.call(module, [x], {} if mask is None else {"mask": mask}, where=where)["value"]
                _same_block(got, _blocked_out(state, 3, norm_first, x, mask, _plugged), where)


def _block_dropout(student: Any) -> None:
    """Where (nearly) everything is dropped, only the residual stream is left: x in pre-norm, two norms of x in post-norm.

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
            if _shape(got) == _shape(expected) and not close(got, expected):
                raise Wrong(
                    f"{_begin(where)}, only the residual stream should be left; yours gives something else. Dropout acts on what attention "
                    "gives and on what ff gives, each before it is added, and nowhere on the stream itself."
                )
            _same_block(got, expected, where)
    _dropped_once(student)


def _dropped_once(student: Any) -> None:
    """In pre-norm, with the other part silent, x comes out unchanged where the write is dropped: with probability p, if that is once.

    Of 2400 numbers a share within p ± 0.1 is dropped: a right answer misses that with a probability below 1e-20.
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
            if _shape(got) != _shape(x):
                same_tensor(got, x, _OUTPUT, where)
            share = (got == x).float().mean().item()
            if share > 0.6:
                raise Wrong(
                    f"{_begin(where)}, a share of {share:.2f} is dropped: dropout acts on it more than once (in the part itself and again in the "
                    "block?).",
                    "dropout_twice",
                )
            if share < 0.4:
                raise Wrong(f"{_begin(where)}, a share of {share:.2f} is dropped.", "dropped_too_little")


def _block_modes(student: Any) -> None:
    x = normal(2, 5, 6)
    for norm_first in (False, True):
        for args, training, where in (
            ([0.9, norm_first], False, "in evaluation mode with dropout = 0.9"),
            ([0.0, norm_first], True, "in training mode with dropout = 0.0"),
            ([], True, "in training mode with the default dropout of 0"),
        ):
            with student.case():
                module, state, _ = _block(student, 6, 3, 8, *args, **({} if args else {"norm_first": norm_first}))
                place = f"{where}, {_order(norm_first)}"
                answer = student.call(module, [x], where=place, training=training)
                _same_block(answer["value"], _torchs_output(state, 3, norm_first, x), place)
                if not training:
                    quietly_called(answer)


def _block_gradient(student: Any) -> None:
    for norm_first, mask, dtype in (
        (False, None, torch.float32),
        (True, _future(5), torch.float64),
        (False, _future(5), torch.float64),
    ):
        with student.case():
            module, state, makers = _block(
                student, 8, 2, 5, norm_first=norm_first, dtype="float64" if dtype == torch.float64 else ""
            )
            x, where, names = normal(2, 5, 8, dtype=dtype), _order(norm_first), list(state)
            kwargs = {} if mask is None else {"mask": mask}
            _same_block(
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


def _block_manners(student: Any) -> None:
    x, mask = normal(2, 5, 6), _some_mask(2, 1, 5, 5)
    for norm_first in (False, True):
        with student.case():
            module, state, makers = _block(student, 6, 2, 9, norm_first=norm_first)
            other, other_state, _ = _block(student, 6, 2, 9, norm_first=norm_first)
            where = _order(norm_first)
            for given in ([x], [x, mask]):
                answer = student.call(module, given, where=where)
                unchanged(answer["inputs"], given, "x or mask")
                _same_block(answer["value"], _torchs_output(state, 2, norm_first, *given), where)
            _same_block(
                student.value(other, x), _torchs_output(other_state, 2, norm_first, x), f"of a second block, {where}"
            )
            _parameters_unchanged(student, module, {name: maker(state) for name, maker in makers.items()})
    with student.case():
        wide, wide_state, _ = _block(student, 8, 2, 4, dtype="float64")
        x = normal(2, 4, 8, dtype=torch.float64)
        got = student.value(wide, x, _future(4), where="in float64")
        _same_block(got, _torchs_output(wide_state, 2, False, x, _future(4)), "in float64")
    with student.case():
        module = student.build("TransformerBlock", 6, 2, 9)
        device_is_kept(student, module, [normal(2, 5, 6)])
        device_is_kept(student, module, [normal(2, 5, 6), _future(5)])


def _b(*edits: tuple[str, str]) -> str:
    return edited(TransformerBlock, *edits)


_ATTN = "self.attn = Attention(embed_dim, num_heads)"
_FF = "self.ff = FeedForward(embed_dim, ff_dim, dropout)"
_NORM1 = "self.norm1 = LayerNorm(embed_dim)"
_NORM2 = "self.norm2 = LayerNorm(embed_dim)"
_BLOCK_DROP = "self.dropout = nn.Dropout(dropout)"
_PRE = "x = x + self.dropout(self.attn(self.norm1(x), mask))"
_PRE_FF = "return x + self.ff(self.norm2(x))"
_POST = "x = self.norm1(x + self.dropout(self.attn(x, mask)))"
_POST_FF = "return self.norm2(x + self.ff(x))"
_BLOCK_SUPER = "        super().__init__()\n"
_BLOCK_FORWARD = "    def forward(self, x, mask=None):\n"
_BLOCK_INIT = "embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False"
_MASK_FOR_TORCH = (
    "        if mask is not None and mask.dim() == 4:\n"
    "            mask = mask.expand(len(x), self.num_heads, *mask.shape[2:]).flatten(0, 1)\n"
)
_CALLS = ("self.attn(self.norm1(x), mask)", "self.attn(x, mask)")


def _masked_by(mask: str) -> str:
    return _b(*[(old, old.replace("mask", mask)) for old in _CALLS])


def _forward(*lines: str, init: str = "") -> str:
    """The block with another forward."""
    head = _b().split("    def forward")[0].rstrip("\n") + (f"\n        {init}" if init else "")
    return written(head + "\n\n" + _BLOCK_FORWARD + "        " + "\n        ".join(lines) + "\n")


TRANSFORMER_BLOCK = Exercise(
    name="TransformerBlock",
    notebook="08-blocks",
    points=8,
    reference=TransformerBlock,
    checks=[
        Check("attn, ff, norm1, norm2, and nothing else that trains", 1.0, _block_parts),
        Check("post-norm equals nn.TransformerEncoderLayer", 1.75, _block_values(False)),
        Check("pre-norm equals nn.TransformerEncoderLayer", 1.75, _block_values(True)),
        Check("masks (T, T) and (B, 1, T, T), in both orders", 1.0, _block_masks),
        Check("causal: no earlier output moves when a later token is changed", 0.75, _block_causal),
        Check("calls whatever stands in attn", 0.75, _block_plugged),
        Check("dropout acts on the two parts, not on the residual stream", 0.5, _block_dropout),
        Check("no dropout in evaluation, nor with dropout = 0", 0.5, _block_modes),
        Check("gradients reach x and every parameter", 0.75, _block_gradient),
        Check("inputs unchanged, blocks independent, float64, device", 0.75, _block_manners),
    ],
    working=written(
        """
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
        """
    ),
    mistakes=[
        # --- order of norms
        _mistake(
            "norm_first_ignored",
            "norm_first makes no difference: False is norm(x + part(x)), True is x + part(norm(x)).",
            _b(("if self.norm_first:", "if True:")),
            _b(("if self.norm_first:", "if False:")),
        ),
        _mistake(
            "orders_swapped",
            "Pre-norm and post-norm are swapped: norm_first=True normalises before each part, norm_first=False after each sum.",
            _b(("if self.norm_first:", "if not self.norm_first:")),
        ),
        _mistake(
            "norm_first_default",
            "The default of norm_first is not False: post-norm, the order of 2017, is the default, as in nn.TransformerEncoderLayer.",
            _b(("norm_first=False", "norm_first=True")),
        ),
        _mistake(
            "stream_normalised",
            "In pre-norm the residual stream itself is normalised (`x = norm(x)`, then x + part(x)): the norm is only for what goes into the part; x "
            "is added as it was.",
            _b(
                (_PRE, "x = self.norm1(x)\n            x = x + self.dropout(self.attn(x, mask))"),
                (_PRE_FF, "x = self.norm2(x)\n            return x + self.ff(x)"),
            ),
            _b((_PRE, "x = self.norm1(x)\n            x = x + self.dropout(self.attn(x, mask))")),
            _b((_PRE_FF, "x = self.norm2(x)\n            return x + self.ff(x)")),
        ),
        _mistake(
            "part_normalised",
            "The norm is applied to what a part gives, before it is added (x + norm(part(x))): in post-norm the *sum* is normalised, in pre-norm what "
            "goes in.",
            _b(
                (_POST, "x = x + self.norm1(self.dropout(self.attn(x, mask)))"),
                (_POST_FF, "return x + self.norm2(self.ff(x))"),
            ),
            _b(
                (_POST, "x = x + self.norm1(self.dropout(self.attn(x, mask)))"),
                (_POST_FF, "return x + self.norm2(self.ff(x))"),
                (_PRE, "x = x + self.norm1(self.dropout(self.attn(x, mask)))"),
                (_PRE_FF, "return x + self.norm2(self.ff(x))"),
            ),
        ),
        _mistake(
            "second_norm_missing",
            "The second norm is not applied (or the first): each of the two parts has its own.",
            _b((_POST_FF, "return x + self.ff(x)"), (_PRE_FF, "return x + self.ff(x)")),
            _b((_POST_FF, "return x + self.ff(x)")),
            _b((_PRE_FF, "return x + self.ff(x)")),
            _b((_POST, "x = x + self.dropout(self.attn(x, mask))"), (_PRE, "x = x + self.dropout(self.attn(x, mask))")),
            _b((_POST, "x = x + self.dropout(self.attn(x, mask))")),
            _b((_PRE, "x = x + self.dropout(self.attn(x, mask))")),
        ),
        _mistake(
            "norm_used_twice",
            "One norm is used in both places: norm1 belongs to the attention, norm2 to ff.",
            _b(
                ("return x + self.ff(self.norm2(x))", "return x + self.ff(self.norm1(x))"),
                (_POST_FF, "return self.norm1(x + self.ff(x))"),
            ),
            _b((_POST_FF, "return self.norm1(x + self.ff(x))")),
            _b((_PRE_FF, "return x + self.ff(self.norm1(x))")),
            _b((_NORM2, "self.norm2 = self.norm1")),
        ),
        _mistake(
            "norms_swapped",
            "norm1 and norm2 are swapped: norm1 belongs to the attention, norm2 to ff.",
            _b(
                (_PRE, _PRE.replace("norm1", "norm2")),
                (_PRE_FF, _PRE_FF.replace("norm2", "norm1")),
                (_POST, _POST.replace("norm1", "norm2")),
                (_POST_FF, _POST_FF.replace("norm2", "norm1")),
            ),
            _b((_PRE, _PRE.replace("norm1", "norm2")), (_PRE_FF, _PRE_FF.replace("norm2", "norm1"))),
            _b((_POST, _POST.replace("norm1", "norm2")), (_POST_FF, _POST_FF.replace("norm2", "norm1"))),
        ),
        _mistake(
            "norm_too_many",
            "There is a norm too many: two in each order. (The final norm of a pre-norm model comes once, after the last block, in notebook 09.)",
            _b((_PRE_FF, "return self.norm2(x + self.ff(self.norm2(x)))")),
            _b((_POST, "x = self.norm1(x + self.dropout(self.attn(self.norm1(x), mask)))")),
            _b(
                (_POST, "x = self.norm1(x + self.dropout(self.attn(self.norm1(x), mask)))"),
                (_POST_FF, "return self.norm2(x + self.ff(self.norm2(x)))"),
            ),
            _b((_POST_FF, "return self.norm2(x + self.ff(self.norm2(x)))")),
            _b(
                (_NORM2, _NORM2 + "\n        self.norm3 = LayerNorm(embed_dim)"),
                (_PRE_FF, "return self.norm3(x + self.ff(self.norm2(x)))"),
            ),
        ),
        _mistake(
            "norm_elsewhere",
            "A norm stands in the wrong place. Post-norm is norm1(x + attn(x)), then norm2(x + ff(x)); pre-norm is x + attn(norm1(x)), then x + ff(norm2(x)).",
            _b((_POST_FF, "return self.norm2(x) + self.ff(x)")),
            _b(
                (_POST, "x = self.norm1(x) + self.dropout(self.attn(x, mask))"),
                (_POST_FF, "return self.norm2(x) + self.ff(x)"),
            ),
            _b(
                (_POST, "x = x + self.dropout(self.attn(x, mask))"),
                (_POST_FF, "return self.norm2(self.norm1(x + self.ff(x)))"),
            ),
            _b(
                (_PRE, "x = x + self.dropout(self.attn(x, mask))"),
                (_PRE_FF, "return x + self.ff(self.norm2(self.norm1(x)))"),
            ),
            _b((_PRE_FF, "return self.norm2(x + self.ff(x))")),
            _b((_PRE, "x = self.norm1(x + self.dropout(self.attn(x, mask)))")),
            _b((_POST, _PRE.replace("            ", "        "))),
            _b((_POST_FF, _PRE_FF)),
        ),
        # --- residual connections
        _mistake(
            "no_residual",
            "A residual connection is missing: what a part gives is *added* to what went in, x + part(x), twice in a block.",
            _b(
                (_PRE, _PRE.replace("x + ", "")),
                (_PRE_FF, _PRE_FF.replace("x + ", "")),
                (_POST, _POST.replace("x + ", "")),
                (_POST_FF, _POST_FF.replace("x + ", "")),
            ),
            _b((_PRE, _PRE.replace("x + ", "")), (_POST, _POST.replace("x + ", ""))),
            _b((_PRE_FF, _PRE_FF.replace("x + ", "")), (_POST_FF, _POST_FF.replace("x + ", ""))),
            _b((_PRE, _PRE.replace("x + ", "")), (_PRE_FF, _PRE_FF.replace("x + ", ""))),
            _b((_POST, _POST.replace("x + ", "")), (_POST_FF, _POST_FF.replace("x + ", ""))),
            _b((_PRE_FF, _PRE_FF.replace("x + ", ""))),
            _b((_POST_FF, _POST_FF.replace("x + ", ""))),
        ),
        _mistake(
            "residual_from_the_start",
            "The second residual connection adds the block's input: it adds what the first part gave, x + attention, to what ff gives.",
            _b(
                (_PRE, "start = x\n            " + _PRE),
                (_PRE_FF, _PRE_FF.replace("x + ", "start + ")),
                (_POST, "start = x\n        " + _POST),
                (_POST_FF, _POST_FF.replace("(x + ", "(start + ")),
            ),
            _b((_POST, "start = x\n        " + _POST), (_POST_FF, _POST_FF.replace("(x + ", "(start + "))),
            _b((_PRE, "start = x\n            " + _PRE), (_PRE_FF, _PRE_FF.replace("x + ", "start + "))),
        ),
        _mistake(
            "parallel",
            "Attention and ff both work on the block's input, side by side: ff comes after, on x + attention.",
            _b(
                (_PRE, "return x + self.dropout(self.attn(self.norm1(x), mask)) + self.ff(self.norm2(x))"),
                (_POST, "y = self.norm1(x + self.dropout(self.attn(x, mask)))"),
                (_POST_FF, "return self.norm2(y + self.ff(x))"),
            ),
            _b((_PRE, "return x + self.dropout(self.attn(self.norm1(x), mask)) + self.ff(self.norm2(x))")),
        ),
        _mistake(
            "ff_first",
            "The feed-forward network comes first: attention first, then ff.",
            _b(
                (_PRE, "x = x + self.ff(self.norm1(x))"),
                (_PRE_FF, "return x + self.dropout(self.attn(self.norm2(x), mask))"),
                (_POST, "x = self.norm1(x + self.ff(x))"),
                (_POST_FF, "return self.norm2(x + self.dropout(self.attn(x, mask)))"),
            ),
            _b(
                (_PRE, "x = x + self.ff(self.norm2(x))"),
                (_PRE_FF, "return x + self.dropout(self.attn(self.norm1(x), mask))"),
                (_POST, "x = self.norm2(x + self.ff(x))"),
                (_POST_FF, "return self.norm1(x + self.dropout(self.attn(x, mask)))"),
            ),
        ),
        _mistake(
            "multiplied",
            "What a part gives is multiplied with x (or averaged with it): it is added.",
            _b(("x + self.", "x * self.")),
            _b(
                (_PRE, "x = (x + self.dropout(self.attn(self.norm1(x), mask))) / 2"),
                (_PRE_FF, "return (x + self.ff(self.norm2(x))) / 2"),
            ),
            _b(("x + self.", "2 * x + self.")),
        ),
        _mistake(
            "part_missing",
            "One of the two parts is never applied: a block is attention *and* a feed-forward network.",
            _b((_PRE_FF, "return x"), (_POST_FF, "return x")),
            _b((_PRE, "pass"), (_POST, "pass")),
        ),
        # --- masks
        _mistake(
            "mask_dropped",
            "The mask is not passed on to attn.",
            _masked_by("None"),
            _b((_CALLS[0], "self.attn(self.norm1(x))")),
            _b((_CALLS[1], "self.attn(x)")),
        ),
        _mistake(
            "mask_inverted",
            "The mask is inverted on the way: True = blocked all through the course, and in nn.MultiheadAttention too.",
            _masked_by("None if mask is None else ~mask"),
        ),
        _mistake(
            "always_causal",
            "Later tokens are blocked even without a mask: pass on the mask that is given, nothing else.",
            _b(
                (
                    _BLOCK_FORWARD,
                    _BLOCK_FORWARD
                    + "        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)\n",
                )
            ),
            _b(
                (
                    _BLOCK_FORWARD,
                    _BLOCK_FORWARD
                    + "        if mask is None:\n            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)\n",
                )
            ),
        ),
        _mistake(
            "mask_sometimes",
            "The mask is used in one mode only (training or evaluation): what is blocked is blocked in both.",
            _masked_by("mask if self.training else None"),
            _masked_by("None if self.training else mask"),
        ),
        _mistake(
            "mask_remembered",
            "The mask of an earlier call is used again: a call uses the mask it is given, or none.",
            _b(
                (_BLOCK_SUPER, _BLOCK_SUPER + "        self.mask = None\n"),
                (_BLOCK_FORWARD, _BLOCK_FORWARD + "        mask = self.mask = self.mask if mask is None else mask\n"),
            ),
            _b(
                (_BLOCK_SUPER, _BLOCK_SUPER + "        self.mask = None\n"),
                (
                    _BLOCK_FORWARD,
                    _BLOCK_FORWARD + "        mask = self.mask = mask if self.mask is None else self.mask\n",
                ),
            ),
        ),
        _mistake(
            "mask_of_first",
            "A mask (B, 1, T, T) is cut down to that of the first sequence: each sequence has its own. Pass it on as it comes.",
            _masked_by("None if mask is None else mask.reshape(-1, *mask.shape[-2:])[0]"),
        ),
        _mistake(
            "mask_four_dimensions",
            "A mask (B, 1, T, T) is not accepted, or only such a mask: both (T, T) and (B, 1, T, T) go to attn as they come. (nn.MultiheadAttention by "
            "itself takes (T, T) or (B · H, T, T).)",
            _masked_by("None if mask is None else mask[:, 0]"),
            _masked_by("None if mask is None else mask[0, 0]"),
            _masked_by("None if mask is None else mask.expand(x.shape[1], x.shape[1])"),
            _masked_by("None if mask is None else mask.squeeze(1)"),
            _masked_by("None if mask is None else mask.squeeze()"),
            _masked_by("None if mask is None else mask.unsqueeze(0)"),
            _masked_by("None if mask is None else mask[None, None]"),
            _b(
                (_ATTN, "self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
                (_CALLS[0], "self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]"),
                (_CALLS[1], "self.attn(x, x, x, attn_mask=mask)[0]"),
            ),
        ),
        _mistake(
            "truth_of_a_tensor",
            "`if mask:` asks whether a tensor is true, which fails for more than one number: write `if mask is not None:`.",
            _b((_BLOCK_FORWARD, _BLOCK_FORWARD + "        if mask:\n            mask = mask.bool()\n")),
            _masked_by("mask if mask else None"),
        ),
        _mistake(
            "mask_as_padding",
            "The mask goes to nn.MultiheadAttention as key_padding_mask, which has the shape (B, S): a mask of pairs is attn_mask.",
            _b(
                (_ATTN, "self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
                (_CALLS[0], "self.attn(*[self.norm1(x)] * 3, key_padding_mask=mask)[0]"),
                (_CALLS[1], "self.attn(x, x, x, key_padding_mask=mask)[0]"),
            ),
        ),
        _mistake(
            "mask_required",
            "forward cannot be called without a mask: it is None by default, forward(x, mask=None).",
            _b(("x, mask=None)", "x, mask)")),
            _b((_BLOCK_FORWARD, _BLOCK_FORWARD + "        mask = mask.bool()\n")),
        ),
        _mistake(
            "no_mask_parameter",
            "forward does not take a mask, or calls it otherwise: forward(x, mask=None).",
            _b(("x, mask=None)", "x)"), (_CALLS[0], "self.attn(self.norm1(x))"), (_CALLS[1], "self.attn(x)")),
            _b(
                ("x, mask=None)", "x, attn_mask=None)"),
                (_CALLS[0], "self.attn(self.norm1(x), attn_mask)"),
                (_CALLS[1], "self.attn(x, attn_mask)"),
            ),
        ),
        # --- attention
        _mistake(
            "batch_first_forgotten",
            "nn.MultiheadAttention takes (T, B, C) by default, so that sequences of a batch attend to one another: batch_first=True.",
            _b(
                (_ATTN, "self.attn = nn.MultiheadAttention(embed_dim, num_heads)\n        self.num_heads = num_heads"),
                (_BLOCK_FORWARD, _BLOCK_FORWARD + _MASK_FOR_TORCH),
                (_CALLS[0], "self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]"),
                (_CALLS[1], "self.attn(x, x, x, attn_mask=mask)[0]"),
            ),
            _b(
                (_ATTN, "self.attn = nn.MultiheadAttention(embed_dim, num_heads)"),
                (_CALLS[0], "self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]"),
                (_CALLS[1], "self.attn(x, x, x, attn_mask=mask)[0]"),
            ),
        ),
        _mistake(
            "pair_not_taken_apart",
            "nn.MultiheadAttention returns a pair (output, weights): take the first, `output, _ = …`.",
            _b(
                (_ATTN, "self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)"),
                (_CALLS[0], "self.attn(*[self.norm1(x)] * 3, attn_mask=mask)"),
                (_CALLS[1], "self.attn(x, x, x, attn_mask=mask)"),
            ),
            _b((_CALLS[0], _CALLS[0] + "[0]"), (_CALLS[1], _CALLS[1] + "[0]")),
            _b(
                (_PRE, "h, _ = self.attn(self.norm1(x), mask)\n            x = x + self.dropout(h)"),
                (_POST, "h, _ = self.attn(x, mask)\n        x = self.norm1(x + self.dropout(h))"),
            ),
        ),
        _mistake(
            "called_with_one",
            "nn.MultiheadAttention is called as attn(x, mask), but wants query, key and value: attn(x, x, x, attn_mask=mask). The given Attention is "
            "called as attn(x, mask).",
            _b((_ATTN, "self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)")),
            _b(
                (_CALLS[0], "self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]"),
                (_CALLS[1], "self.attn(x, x, x, attn_mask=mask)[0]"),
            ),
            _b((_CALLS[0], "self.attn(*[self.norm1(x)] * 3, mask)"), (_CALLS[1], "self.attn(x, x, x, mask)")),
        ),
        _mistake(
            "values_not_normed",
            "In pre-norm only some of queries, keys and values are normalised: all three are made of norm1(x).",
            *[
                _b(
                    (
                        _ATTN,
                        "self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)\n        self.num_heads = num_heads",
                    ),
                    (_BLOCK_FORWARD, _BLOCK_FORWARD + flatten),
                    (_CALLS[0], f"self.attn({given}, attn_mask=mask)[0]"),
                    (_CALLS[1], "self.attn(x, x, x, attn_mask=mask)[0]"),
                )
                for given in ("self.norm1(x), x, x", "x, self.norm1(x), self.norm1(x)", "x, x, self.norm1(x)")
                for flatten in (_MASK_FOR_TORCH, "")
            ],
        ),
        _mistake(
            "num_heads_ignored",
            "The number of heads is not num_heads (a fixed number, one, or the width of a head).",
            _b((_ATTN, "self.attn = Attention(embed_dim, 1)")),
            _b((_ATTN, "self.attn = Attention(embed_dim, embed_dim // num_heads)")),
            _b((_ATTN, "self.attn = Attention(embed_dim, 8)")),
            _b((_ATTN, "self.attn = Attention(embed_dim, 2)")),
        ),
        _mistake(
            "attention_not_replaceable",
            "The block keeps attention in a second place and calls that: what stands in `attn` must be what is called, so that another can be put there.",
            _b(
                (_ATTN, _ATTN + "\n        self.parts = [self.attn]"),
                (_CALLS[0], "self.parts[0](self.norm1(x), mask)"),
                (_CALLS[1], "self.parts[0](x, mask)"),
            ),
            _b(
                (_CALLS[0], "Attention.forward(self.attn, self.norm1(x), mask)"),
                (_CALLS[1], "Attention.forward(self.attn, x, mask)"),
            ),
        ),
        _mistake(
            "attention_twice",
            "Attention is applied twice: once in a block.",
            _b(
                (_PRE_FF, "x = x + self.dropout(self.attn(self.norm1(x), mask))\n            " + _PRE_FF),
                (_POST_FF, "x = self.norm1(x + self.dropout(self.attn(x, mask)))\n        " + _POST_FF),
            ),
        ),
        # --- parts
        _mistake(
            "other_names",
            "The parts have other names: attn, ff, norm1 and norm2 are asked for, so that weights can be loaded and attn be replaced.",
            _b(
                ("self.attn", "self.attention"),
                ("self.ff", "self.feed_forward"),
                ("self.norm1", "self.ln1"),
                ("self.norm2", "self.ln2"),
            ),
            _b(("self.ff", "self.mlp"), ("self.norm1", "self.ln_1"), ("self.norm2", "self.ln_2")),
            _b(("self.ff", "self.mlp")),
            _b(("self.attn", "self.self_attn"), ("self.ff", "self.ffn")),
            _b(("self.ff", "self.ffn")),
            _b(("self.ff", "self.feed_forward")),
            _b(("self.norm", "self.ln")),
            _b(("self.attn", "self.attention")),
            _b(("self.attn", "self.mha")),
        ),
        _mistake(
            "torchs_layer",
            "nn.TransformerEncoderLayer does the work: here the parts are your own, under the names attn, ff, norm1 and norm2.",
            written(
                """
                class TransformerBlock(nn.Module):
                    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False):
                        super().__init__()
                        self.layer = nn.TransformerEncoderLayer(embed_dim, num_heads, ff_dim, dropout, batch_first=True, norm_first=norm_first)

                    def forward(self, x, mask=None):
                        return self.layer(x, src_mask=mask)
                """
            ),
        ),
        _mistake(
            "ff_dim_ignored",
            "The hidden width of ff is not ff_dim (4 · embed_dim is common, but here it is given).",
            _b((_FF, "self.ff = FeedForward(embed_dim, 4 * embed_dim, dropout)")),
            _b((_FF, "self.ff = FeedForward(embed_dim, 2048, dropout)")),
        ),
        _mistake(
            "shapes_do_not_fit",
            "A part is of the wrong kind or size, so that shapes do not fit when the block is called: FeedForward(embed_dim, ff_dim, dropout), "
            "LayerNorm(embed_dim) (not nn.BatchNorm1d), Attention(embed_dim, num_heads).",
            _b((_FF, "self.ff = FeedForward(ff_dim, embed_dim, dropout)")),
            _b((_NORM1, "self.norm1 = nn.BatchNorm1d(embed_dim)"), (_NORM2, "self.norm2 = nn.BatchNorm1d(embed_dim)")),
        ),
        _mistake(
            "ff_is_one_layer",
            "ff is a single linear layer: it is a FeedForward, two layers with an activation between them.",
            _b((_FF, "self.ff = nn.Linear(embed_dim, embed_dim)")),
            _b((_FF, "self.ff = nn.Linear(embed_dim, ff_dim)")),
        ),
        _mistake(
            "ff_without_activation",
            "ff has no activation between its layers, or not ReLU: FeedForward's default, as in nn.TransformerEncoderLayer.",
            _b((_FF, "self.ff = FeedForward(embed_dim, ff_dim, dropout, F.gelu)")),
            _b(
                (
                    _FF,
                    "self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout))",
                )
            ),
            _b(
                (
                    _FF,
                    "self.ff = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.GELU(), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout))",
                )
            ),
        ),
        _mistake(
            "parts_made_in_forward",
            "A part is made anew in every forward pass, so nothing that is learned or loaded is ever used.",
            _b(
                (
                    _BLOCK_FORWARD,
                    _BLOCK_FORWARD + "        self.norm2 = nn.LayerNorm(x.shape[-1], dtype=x.dtype, device=x.device)\n",
                )
            ),
            _b(
                (_CALLS[0], "Attention(x.shape[-1], self.attn.num_heads)(self.norm1(x), mask)"),
                (_CALLS[1], "Attention(x.shape[-1], self.attn.num_heads)(x, mask)"),
            ),
        ),
        _mistake(
            "norm_eps",
            "The norms have another eps than 1e-5.",
            _b((_NORM1, "self.norm1 = LayerNorm(embed_dim, 0.1)"), (_NORM2, "self.norm2 = LayerNorm(embed_dim, 0.1)")),
            _b(
                (_NORM1, "self.norm1 = LayerNorm(embed_dim, dropout)"),
                (_NORM2, "self.norm2 = LayerNorm(embed_dim, dropout)"),
            ),
        ),
        _mistake(
            "norm_over_tokens",
            "The norm is of the wrong kind or size (over the tokens, the batch or several dimensions): LayerNorm(embed_dim) normalises each token.",
            _b(
                *[
                    (call, f"F.layer_norm({inner}, {inner}.shape[-2:])")
                    for call, inner in (("self.norm1(x)", "x"), ("self.norm2(x)", "x"))
                ]
            ),
            _b((_NORM1, "self.norm1 = LayerNorm(ff_dim)"), (_NORM2, "self.norm2 = LayerNorm(ff_dim)")),
        ),
        # --- dropout
        _mistake(
            "no_dropout",
            "Dropout is not applied to what attention gives (or to what ff gives), before it is added.",
            _b(
                ("self.dropout(self.attn(self.norm1(x), mask))", "self.attn(self.norm1(x), mask)"),
                ("self.dropout(self.attn(x, mask))", "self.attn(x, mask)"),
            ),
            _b((_FF, "self.ff = FeedForward(embed_dim, ff_dim)")),
            _b(
                (
                    _ATTN,
                    "self.attn = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)\n        self.num_heads = num_heads",
                ),
                (_BLOCK_FORWARD, _BLOCK_FORWARD + _MASK_FOR_TORCH),
                ("self.dropout(self.attn(self.norm1(x), mask))", "self.attn(*[self.norm1(x)] * 3, attn_mask=mask)[0]"),
                ("self.dropout(self.attn(x, mask))", "self.attn(x, x, x, attn_mask=mask)[0]"),
            ),
            _b(
                (_FF, "self.ff = FeedForward(embed_dim, ff_dim)"),
                ("self.dropout(self.attn(self.norm1(x), mask))", "self.attn(self.norm1(x), mask)"),
                ("self.dropout(self.attn(x, mask))", "self.attn(x, mask)"),
            ),
        ),
        _mistake(
            "dropout_twice",
            "Dropout acts twice on what a part gives: FeedForward has its own inside, so the block adds none for ff.",
            _b(
                (_PRE_FF, "return x + self.dropout(self.ff(self.norm2(x)))"),
                (_POST_FF, "return self.norm2(x + self.dropout(self.ff(x)))"),
            ),
            _b((_PRE_FF, "return x + self.dropout(self.ff(self.norm2(x)))")),
            _b(("self.dropout(self.attn", "self.dropout(self.dropout(self.attn"), ("mask))", "mask)))")),
        ),
        _mistake(
            "dropout_on_stream",
            "Dropout acts on the residual stream (on x, on the sum, or on the result): it acts on what a part gives, before it is added.",
            _b(
                (_PRE, "x = self.dropout(x + self.attn(self.norm1(x), mask))"),
                (_POST, "x = self.norm1(self.dropout(x + self.attn(x, mask)))"),
            ),
            _b(
                (_PRE, "x = self.dropout(x + self.attn(self.norm1(x), mask))"),
                (_PRE_FF, "return self.dropout(x + self.ff(self.norm2(x)))"),
                (_POST, "x = self.norm1(self.dropout(x + self.attn(x, mask)))"),
                (_POST_FF, "return self.norm2(self.dropout(x + self.ff(x)))"),
            ),
            _b(
                (_POST, "x = self.dropout(self.norm1(x + self.attn(x, mask)))"),
                (_POST_FF, "return self.dropout(self.norm2(x + self.ff(x)))"),
            ),
            _b((_BLOCK_FORWARD, _BLOCK_FORWARD + "        x = self.dropout(x)\n")),
            _b(
                (_PRE_FF, "return self.dropout(x + self.ff(self.norm2(x)))"),
                (_POST_FF, "return self.dropout(self.norm2(x + self.ff(x)))"),
            ),
        ),
        _mistake(
            "dropout_of_input",
            "Dropout is applied to what goes into attention: it acts on what comes out of it.",
            _b(
                ("self.dropout(self.attn(self.norm1(x), mask))", "self.attn(self.dropout(self.norm1(x)), mask)"),
                ("self.dropout(self.attn(x, mask))", "self.attn(self.dropout(x), mask)"),
            ),
        ),
        _mistake(
            "dropout_in_evaluation",
            "Dropout is at work in evaluation mode too: F.dropout needs `training=self.training`; nn.Dropout sees to it by itself.",
            _b(("self.dropout(self.attn", "F.dropout(p=self.dropout.p, input=self.attn")),
        ),
        _mistake(
            "dropout_fixed",
            "The probability of dropout is a fixed number, or its default is not 0: dropout=0.0 is the default, and nn.Dropout(dropout) uses it.",
            _b((_BLOCK_DROP, "self.dropout = nn.Dropout(0.1)")),
            _b((_BLOCK_DROP, "self.dropout = nn.Dropout()")),
            _b(("dropout=0.0", "dropout=0.1")),
            _b((_FF, "self.ff = FeedForward(embed_dim, ff_dim, 0.1)")),
        ),
        _mistake(
            "arguments_reordered",
            "The parameters of `__init__` are not (embed_dim, num_heads, ff_dim, dropout=0.0, norm_first=False), in this order.",
            _b((_BLOCK_INIT, "embed_dim, ff_dim, num_heads, dropout=0.0, norm_first=False")),
            _b((_BLOCK_INIT, "embed_dim, num_heads, ff_dim, norm_first=False, dropout=0.0")),
            _b((_BLOCK_INIT, "embed_dim, num_heads, ff_dim, dropout, norm_first")),
            _b(
                (_BLOCK_INIT, "embed_dim, num_heads, ff_dim, dropout=0.0, pre_norm=False"),
                ("self.norm_first = norm_first", "self.norm_first = pre_norm"),
            ),
            _b(
                (_BLOCK_INIT, "embed_dim, num_heads, ff_dim, dropout=0.0"),
                ("self.norm_first = norm_first", "self.norm_first = False"),
            ),
        ),
        # --- manners
        _mistake(
            "in_place",
            "x is changed in place (`x += …`): the caller's tensor is different afterwards. Write `x = x + …`.",
            _b(
                (_PRE, _PRE.replace("x = x + ", "x += ")),
                (_POST, "x += self.dropout(self.attn(x, mask))\n        x = self.norm1(x)"),
            ),
            _b((_PRE, _PRE.replace("x = x + ", "x += "))),
            _b((_POST, "x += self.dropout(self.attn(x, mask))\n        x = self.norm1(x)")),
            _b(
                (_POST, "mask = None if mask is None else mask.logical_not_().logical_not()\n        " + _POST),
                (_PRE, "mask = None if mask is None else mask.logical_not_().logical_not()\n            " + _PRE),
            ),
        ),
        _mistake(
            "detached",
            "Part of the computation is cut off (`detach`, `.data`, `no_grad`), so that no gradient comes through it.",
            _b(
                (_PRE_FF, "return (x + self.ff(self.norm2(x))).detach()"),
                (_POST_FF, "return self.norm2(x + self.ff(x)).detach()"),
            ),
            _b(("return x + ", "return x.detach() + "), ("self.norm2(x + ", "self.norm2(x.detach() + ")),
            _b((_CALLS[0], _CALLS[0] + ".detach()"), (_CALLS[1], _CALLS[1] + ".detach()")),
            _b((_PRE_FF, "return x + self.ff(self.norm2(x.detach()))")),
        ),
        _mistake(
            "frozen",
            "Parameters do not train (requires_grad=False).",
            _b((_BLOCK_DROP, _BLOCK_DROP + "\n        self.requires_grad_(False)")),
            _b((_BLOCK_DROP, _BLOCK_DROP + "\n        self.attn.requires_grad_(False)")),
        ),
        _mistake(
            "dtype_changed",
            "The dtype is not kept (a `.float()`): float64 goes in, float64 comes out.",
            _b((_BLOCK_FORWARD, _BLOCK_FORWARD + "        x = x.float()\n")),
            _b(
                (_PRE_FF, "return (x + self.ff(self.norm2(x))).float()"),
                (_POST_FF, "return self.norm2(x + self.ff(x)).float()"),
            ),
        ),
        _mistake(
            "weights_too",
            "More than one thing is returned: forward gives one tensor of x's shape.",
            _b(
                (_PRE_FF, "return x + self.ff(self.norm2(x)), None"),
                (_POST_FF, "return self.norm2(x + self.ff(x)), None"),
            ),
        ),
        _mistake(
            "nothing_returned",
            "forward returns nothing (None), perhaps in one of the two orders: `return` the result.",
            _b(("return x + ", "x = x + "), ("return self.norm2", "x = self.norm2")),
            _b(("return self.norm2", "x = self.norm2")),
            _b(
                (_PRE_FF, "x = x + self.ff(self.norm2(x))"),
                ("        " + _POST, "        else:\n            " + _POST),
                ("        " + _POST_FF, "            " + _POST_FF),
            ),
        ),
        _mistake(
            "both_orders",
            "After the pre-norm branch, the post-norm lines run as well (a `return` or an `else` is missing).",
            _b((_PRE_FF, "x = x + self.ff(self.norm2(x))")),
        ),
        _mistake(
            "no_super",
            "`super().__init__()` is missing: nn.Module must be set up before parts can be assigned.",
            _b((_BLOCK_SUPER, "")),
        ),
        _mistake(
            "not_a_module",
            "The class does not inherit from nn.Module: its parameters cannot be found, moved, saved or trained.",
            _b(
                ("class TransformerBlock(nn.Module)", "class TransformerBlock"),
                (_BLOCK_SUPER, ""),
                ("def forward", "def __call__"),
            ),
        ),
        _mistake(
            "forward_misspelt",
            "There is no method `forward`: nn.Module calls the method of exactly this name.",
            _b(("def forward", "def foward")),
        ),
    ],
    alternatives=[
        Alternative(
            "torchs_attention_inside",
            written(
                """
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
                """
            ),
        ),
        Alternative(
            "own_attention",
            written(
                """
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
                """
            ),
        ),
        Alternative(
            "functional_dropout",
            _b(
                (_BLOCK_DROP, "self.p = dropout"),
                (
                    "self.dropout(self.attn(self.norm1(x), mask))",
                    "F.dropout(self.attn(self.norm1(x), mask=mask), self.p, self.training)",
                ),
                ("self.dropout(self.attn(x, mask))", "F.dropout(self.attn(x, mask=mask), self.p, self.training)"),
            ),
        ),
        Alternative(
            "one_helper",
            _forward(
                "def sublayer(x, norm, part):",
                "    return x + part(norm(x)) if self.norm_first else norm(x + part(x))",
                "",
                "x = sublayer(x, self.norm1, lambda h: self.dropout(self.attn(h) if mask is None else self.attn(h, mask)))",
                "return sublayer(x, self.norm2, self.ff)",
            ),
        ),
    ],
)


# --- block_parameters -------------------------------------------------------------------------------------------------


def _block_count(student: Any) -> None:
    for C, F_ in ((2, 3), (1, 1), (3, 5), (4, 16), (5, 2), (8, 8), (64, 256), (128, 512), (768, 3072)):
        with student.case():
            where = f"for embed_dim = {C} and ff_dim = {F_}"
            _same_count(
                student.value("block_parameters", C, F_, where=where), 4 * C * C + 2 * C * F_ + 9 * C + F_, where
            )


def _block_count_by_name(student: Any) -> None:
    for C, F_ in ((3, 7), (6, 2)):
        with student.case():
            where = f"with embed_dim={C} and ff_dim={F_} given by name"
            got = student.value("block_parameters", ff_dim=F_, embed_dim=C, where=where)
            _same_count(got, 4 * C * C + 2 * C * F_ + 9 * C + F_, where)


def _same_count(got: Any, expected: int, where: str) -> None:
    if isinstance(got, bool) or not isinstance(got, int):
        hint = ": numbers of parameters are whole" if isinstance(got, float) else ""
        raise Wrong(f"The number of parameters should be an int {where}; yours is {kind(got)}{hint}.")
    if got != expected:
        raise Wrong(f"The number of parameters is too {'large' if got > expected else 'small'} {where}.")


def _p(*edits: tuple[str, str]) -> str:
    return edited(block_parameters, *edits)


def _counted(line: str) -> str:
    return written(f"def block_parameters(embed_dim, ff_dim):\n    {line}\n")


_ATTENTION_COUNT = "attention = 4 * (embed_dim * embed_dim + embed_dim)"
_FF_COUNT = "feed_forward = (embed_dim * ff_dim + ff_dim) + (ff_dim * embed_dim + embed_dim)"
_NORM_COUNT = "norms = 2 * (embed_dim + embed_dim)"
_TOTAL = "return attention + feed_forward + norms"

BLOCK_PARAMETERS = Exercise(
    name="block_parameters",
    notebook="08-blocks",
    points=2,
    reference=block_parameters,
    checks=[
        Check("the number, for many sizes", 1.75, _block_count),
        Check("arguments by name", 0.25, _block_count_by_name),
    ],
    working=written(
        """
        from torch import nn

        def block_parameters(embed_dim, ff_dim):
            layer = nn.TransformerEncoderLayer(embed_dim, 1, ff_dim, device="meta")
            return sum(p.numel() for p in layer.parameters())
        """
    ),
    mistakes=[
        _mistake(
            "no_biases",
            "The biases are missing: each linear layer has one for each output.",
            _p(
                (_ATTENTION_COUNT, "attention = 4 * embed_dim * embed_dim"),
                (_FF_COUNT, "feed_forward = 2 * embed_dim * ff_dim"),
            ),
            _counted("return 4 * embed_dim**2 + 2 * embed_dim * ff_dim"),
            _counted("return 4 * embed_dim**2 + 2 * embed_dim * ff_dim + 2 * embed_dim"),
        ),
        _mistake(
            "embed_dim_missing",
            "embed_dim numbers are missing. Is there a bias in each of attention's four layers and in the second layer of ff, and has each of the two "
            "norms a weight *and* a bias?",
            _p((_ATTENTION_COUNT, "attention = 4 * embed_dim * embed_dim + 3 * embed_dim")),
            _p((_FF_COUNT, "feed_forward = 2 * embed_dim * ff_dim + ff_dim")),
            _p((_NORM_COUNT, "norms = embed_dim + embed_dim + embed_dim")),
        ),
        _mistake(
            "four_embed_dim_missing",
            "4 · embed_dim numbers are missing: the biases of attention (one of C numbers in each of its four layers), or the two norms (a weight and a "
            "bias of C numbers in each).",
            _p((_TOTAL, "return attention + feed_forward")),
            _p((_ATTENTION_COUNT, "attention = 4 * embed_dim * embed_dim")),
        ),
        _mistake(
            "one_attention_bias",
            "Only one bias of attention is counted: each of its four layers has C.",
            _p((_ATTENTION_COUNT, "attention = 4 * embed_dim * embed_dim + embed_dim")),
        ),
        _mistake(
            "ff_biases",
            "The biases of the feed-forward network are wrong: ff_dim in the first layer, embed_dim in the second.",
            _p((_FF_COUNT, "feed_forward = 2 * embed_dim * ff_dim")),
            _p((_FF_COUNT, "feed_forward = 2 * (embed_dim * ff_dim + ff_dim)")),
            _p((_FF_COUNT, "feed_forward = 2 * (embed_dim * ff_dim + embed_dim)")),
            _p((_FF_COUNT, "feed_forward = 2 * embed_dim * ff_dim + embed_dim")),
        ),
        _mistake(
            "norms_halved",
            "Only half of the norms' parameters are counted: two norms, each with weight *and* bias.",
            _p((_NORM_COUNT, "norms = 2 * embed_dim")),
        ),
        _mistake(
            "norms_single_numbers",
            "The norms' weight and bias count as single numbers: each has C entries.",
            _p((_NORM_COUNT, "norms = 4")),
            _p((_NORM_COUNT, "norms = 2")),
        ),
        _mistake(
            "norm_of_ff_dim",
            "A norm is counted with ff_dim numbers: both normalise vectors of width embed_dim.",
            _p((_NORM_COUNT, "norms = 2 * (embed_dim + ff_dim)")),
            _p((_NORM_COUNT, "norms = 4 * ff_dim")),
        ),
        _mistake(
            "norms_three",
            "The number of norms is not two (a final norm belongs to the model, not to the block).",
            _p((_NORM_COUNT, "norms = 3 * (embed_dim + embed_dim)")),
        ),
        _mistake(
            "output_projection",
            "Attention has four layers: the output projection is missing.",
            _p((_ATTENTION_COUNT, "attention = 3 * (embed_dim * embed_dim + embed_dim)")),
            _p((_ATTENTION_COUNT, "attention = 3 * embed_dim * embed_dim + 4 * embed_dim")),
        ),
        _mistake(
            "one_projection",
            "Attention has four linear layers (queries, keys, values, output), not one.",
            _p((_ATTENTION_COUNT, "attention = embed_dim * embed_dim + embed_dim")),
        ),
        _mistake(
            "one_ff_layer",
            "Only one layer of the feed-forward network is counted: there are two, C → F and F → C.",
            _p((_FF_COUNT, "feed_forward = embed_dim * ff_dim + ff_dim")),
            _p((_FF_COUNT, "feed_forward = ff_dim * embed_dim + embed_dim")),
            _p((_FF_COUNT, "feed_forward = ff_dim * embed_dim")),
        ),
        _mistake(
            "ff_squared",
            "The feed-forward network's layers are counted as F × F: they are C × F and F × C.",
            _p((_FF_COUNT, "feed_forward = 2 * (ff_dim * ff_dim + ff_dim)")),
            _p((_FF_COUNT, "feed_forward = 2 * ff_dim * ff_dim + ff_dim + embed_dim")),
        ),
        _mistake(
            "ff_dim_ignored",
            "ff_dim is taken to be 4 · embed_dim (12C² + 13C): use the ff_dim that is given.",
            _counted("return 12 * embed_dim**2 + 13 * embed_dim"),
            _counted("return 12 * embed_dim**2"),
            _counted("ff_dim = 4 * embed_dim\n    return 4 * embed_dim**2 + 2 * embed_dim * ff_dim"),
        ),
        _mistake(
            "widths_swapped",
            "embed_dim and ff_dim are swapped: block_parameters(embed_dim, ff_dim).",
            _p(("embed_dim, ff_dim)", "ff_dim, embed_dim)")),
        ),
        _mistake(
            "part_missing",
            "A whole part is missing: attention, feed-forward network and two norms are added up.",
            _p((_TOTAL, "return feed_forward + norms")),
            _p((_TOTAL, "return attention + norms")),
            _p((_TOTAL, "return attention")),
        ),
        _mistake(
            "float",
            "The result is not an int (a division, a tensor): numbers of parameters are whole.",
            _p((_TOTAL, "return float(attention + feed_forward + norms)")),
            _p((_TOTAL, "return torch.tensor(attention + feed_forward + norms)")),
        ),
        _mistake(
            "apart",
            "The parts are returned one by one: one number is asked for, their sum.",
            _p((_TOTAL, "return attention, feed_forward, norms")),
            _p((_TOTAL, "return {'attention': attention, 'ff': feed_forward, 'norms': norms}")),
        ),
        _mistake(
            "text",
            "The result is a text: return the number itself.",
            _p((_TOTAL, "return f'{attention + feed_forward + norms:,}'")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the number (printing it is not enough).",
            _p((_TOTAL, "print(attention + feed_forward + norms)")),
        ),
        _mistake(
            "argument_names",
            "The parameters have other names or a third is required: block_parameters(embed_dim, ff_dim).",
            _p(("(embed_dim, ff_dim):", "(C, F):\n    embed_dim, ff_dim = C, F")),
            _p(("(embed_dim, ff_dim):", "(d_model, d_ff):\n    embed_dim, ff_dim = d_model, d_ff")),
        ),
    ],
    alternatives=[
        Alternative(
            "closed_form", _counted("return 4 * embed_dim**2 + 2 * embed_dim * ff_dim + 9 * embed_dim + ff_dim")
        ),
        Alternative(
            "counted",
            _counted(
                "block = TransformerBlock(embed_dim, 1, ff_dim)\n    return sum(p.numel() for p in block.parameters())"
            ),
        ),
        Alternative(
            "sum_of_layers",
            _counted(
                "linear = lambda n, m: n * m + m\n"
                "    C, F = embed_dim, ff_dim\n"
                "    return sum([linear(C, C)] * 4) + linear(C, F) + linear(F, C) + 2 * (2 * C)"
            ),
        ),
    ],
)


EXERCISES = [LAYER_NORM, FEED_FORWARD, TRANSFORMER_BLOCK, BLOCK_PARAMETERS]
QUESTIONS = [
    Question(
        name="q9_1",
        notebook="08-blocks",
        points=1,
        key="C",
        explanations={
            "A": (
                "One mean for each feature, over everything else, is what batch normalisation takes. Then a "
                "word's result would depend on its neighbours in the batch: did the experiment with the two "
                "neighbours show that for LayerNorm?"
            ),
            "B": (
                "A sentence does feel like the natural unit. But a mean over its positions would mix early words "
                "with late ones, and the future would leak into the past. Look again at the dimension that "
                "LayerNorm(64) names."
            ),
            "C": (
                "Yes. Each of the 8 × 20 word vectors has its own mean and variance over its 64 features. No "
                "word needs to know about any other, so the layer works for any batch size, length or mask."
            ),
            "D": (
                "That would bring the batch as a whole to mean 0 and leave long and short vectors as different "
                "as they were. Take the formula and count: how many numbers go into one of its means?"
            ),
        },
    ),
    Question(
        name="q9_2",
        notebook="08-blocks",
        points=1,
        key="B",
        explanations={
            "A": (
                "The stream itself does hold both at full length. But a sublayer does not work with the stream "
                "as it stands: follow the thin line from the stream to the feed-forward network in the drawing "
                "of pre-norm."
            ),
            "B": (
                "Yes. The norm brings what is read to a fixed length, whatever the stream holds. If one term is "
                "100 times as long as the rest, the rest keeps about a hundredth of that length. Nothing was "
                "erased, but a long write drowns the short ones for all who read later."
            ),
            "C": (
                "A norm has no notion of what is usual. It takes one vector, subtracts one number and divides by "
                "another. Does that change which term of the sum is the longest?"
            ),
            "D": (
                "Dividing by a large number leaves little if what is divided is ordinary. Here it is itself as "
                "large. How long is a vector after layer normalisation, whatever it was before?"
            ),
        },
    ),
    Question(
        name="q9_3",
        notebook="08-blocks",
        points=1,
        key="D",
        explanations={
            "A": (
                "That rule belongs to models that write from left to right: there the next word stands in the "
                "input and could be copied. What stands in this input where the answer should be?"
            ),
            "B": (
                "Then a blot could use nothing of what follows it, although that text is there, in training and "
                "in use. A mask takes away what would be cheating: which part of this input would be?"
            ),
            "C": (
                "The mask should be the same in training and in use, or the model meets a situation it was never "
                "trained for. And do the inputs of training really show the answers here?"
            ),
            "D": (
                "Yes. The blotted words are not in the input, so there is nothing to copy, and what stands to "
                "the right helps as much as what stands to the left. BERT is trained like this: an encoder, with "
                "attention to all sides."
            ),
        },
    ),
]
