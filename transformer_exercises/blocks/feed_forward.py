"""`FeedForward`: two layers under any names, the activation that is given, positions apart, dropout on the result.

The mistakes: activations fixed or in the wrong place, dropout elsewhere or in evaluation, layers too few or too many.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import close, same_gradients, same_tensor, shape_of, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    generator_unchanged,
    gradients_of,
    normal,
    outline,
    parameters_unchanged,
    sliced,
)
from autograder.spec.student import Student

from .common import LAYERS, OUTPUT, begin, fed, layer_names, layer_weights


def _ff(
    student: Student, C: int, F_: int, *args: Any, dtype: str = "", **kwargs: Any
) -> tuple[Any, dict[str, torch.Tensor], dict]:
    """A module, its new weights under the names of LAYERS, and the names they have there."""
    module = student.call("FeedForward", [C, F_, *args], kwargs, "while building it", keep=True)["value"]
    if dtype:
        student.move(module, dtype)
    try:
        names = layer_names(student.state(module, record=False)["parameters"], C, F_)
    except Wrong:
        outline(student, module, 0)
        raise
    state = layer_weights(C, F_, torch.float64 if dtype else torch.float32)
    student.load(module, {names[role]: value for role, value in state.items()})
    return module, state, names


_ACTIVATIONS = """
def tanh(x):
    return torch.tanh(x)

def square(x):
    return x * x

def gelu():
    return nn.GELU()
"""


def _ff_parameters(student: Student) -> None:
    for C, F_ in ((6, 9), (5, 2), (4, 16)):
        with student.case():
            module = student.build("FeedForward", C, F_)
            outline(student, module, 0)
            state = student.state(module, record=False)
            names = layer_names(state["parameters"], C, F_)
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
        layer_names(student.state(named, record=False)["parameters"], 3, 4)


def _ff_values(student: Student) -> None:
    for shape, F_ in (
        ((2, 5, 6), 9),
        ((3, 4), 7),
        ((5,), 2),
        ((2, 3, 4, 3), 8),
        ((1, 1, 4), 16),
        ((3, 3, 3), 1),
        ((2, 40, 2), 5),
        ((2, 1, 3, 2, 4), 6),
        ((1, 1024, 4), 16),
        ((16, 2, 520), 64),
    ):
        with student.case():
            module, state, _ = _ff(student, shape[-1], F_)
            x, where = normal(*shape), f"for x of shape {shape} and ff_dim = {F_}"
            same_tensor(student.value(module, x, where=where), fed(state, x), OUTPUT, where)


def _ff_activation(student: Student) -> None:
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
            same_tensor(student.value(module, x, where=where), fed(state, x, function), OUTPUT, where)
    with student.case():
        module, state, _ = _ff(student, 6, 9, 0.0, tanh)
        where = "with the activation as the fourth argument"
        same_tensor(student.value(module, x, where=where), fed(state, x, torch.tanh), OUTPUT, where)


def _ff_positions(student: Student) -> None:
    """Changing one position moves no other output."""
    module, state, _ = _ff(student, 4, 7)
    x = normal(3, 6, 4)
    before = student.value(module, x)
    same_tensor(before, fed(state, x), OUTPUT)
    changed = x.clone()
    changed[1, 3] = normal(4)
    after = student.value(module, changed)
    others = torch.ones(3, 6, dtype=torch.bool)
    others[1, 3] = False
    if shape_of(after) != (3, 6, 4) or not close(after[others], before[others]):
        raise Wrong(
            "Changing one position moves outputs elsewhere: each position goes through the two layers on its own."
        )
    one = student.value(module, x[:, 2:3])
    same_tensor(one, fed(state, x)[:, 2:3], "The output of a single position")


def _ff_dropout(student: Student) -> None:
    """In training each number of the result is 0 with probability p and 1/(1 − p) times as large otherwise.

    Of 2400 numbers a share within p ± 0.1 is dropped: a right answer misses that with a probability below 1e-20, and
    loses a whole token of 40 numbers with one below 1e-9.
    """
    x = normal(3, 20, 40)
    for p in (0.5, 0.25):
        with student.case():
            module, state, _ = _ff(student, 40, 9, p)
            full, where = fed(state, x), f"in training with dropout = {p}"
            got = student.call(module, [x], training=True, where=where)["value"]
            if shape_of(got) != shape_of(full):
                same_tensor(got, full, OUTPUT, where)
            dropped = got == 0
            share = dropped.float().mean().item()
            if share < 0.005:
                raise Wrong(
                    f"No number of the result is dropped {where}: nn.Dropout(dropout) belongs after the second linear "
                    "layer."
                )
            if not close(got[~dropped], full[~dropped] / (1 - p)):
                raise Wrong(
                    f"{begin(where)}, each number of the result should be 0 or 1/(1 − p) times what it is without "
                    "dropout; yours are not: dropout comes last, after the second linear layer."
                )
            if abs(share - p) > 0.1:
                raise Wrong(
                    f"{begin(where)}, a share of {share:.2f} of the result is dropped: `dropout` is the probability of "
                    "dropping."
                )
            if dropped.all(dim=-1).any() or dropped.flatten(0, 1).all(dim=0).any():
                raise Wrong(
                    f"Whole tokens or whole columns are dropped {where}: each number is dropped on its own "
                    "(nn.Dropout)."
                )


def _ff_modes(student: Student) -> None:
    x = normal(2, 5, 6)
    cases: tuple[tuple[list[float], dict[str, Any], bool, str], ...] = (
        ([0.9], {}, False, "in evaluation mode with dropout = 0.9"),
        ([], {"dropout": 0.9}, False, "in evaluation mode with dropout=0.9 given by name"),
        ([0.0], {}, True, "in training mode with dropout = 0.0"),
        ([], {}, True, "in training mode with the default dropout of 0"),
        ([], {}, False, "in evaluation mode"),
    )
    for args, kwargs, training, where in cases:
        with student.case():
            module, state, _ = _ff(student, 6, 9, *args, **kwargs)
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], fed(state, x), OUTPUT, where)
            if not training:
                generator_unchanged(answer)


def _ff_gradient(student: Student) -> None:
    for shape, F_, dtype in (((2, 5, 6), 9, torch.float32), ((3, 4), 7, torch.float64)):
        with student.case():
            C = shape[-1]
            module, state, names = _ff(student, C, F_, dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(
                lambda x, *leaves: fed(dict(zip(LAYERS, leaves, strict=True)), x), [x, *state.values()]
            )
            same_tensor(student.value(module, x, where=where), fed(state, x), OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(answer["gradients"].get("inputs", []), expected[:1], ["x"], where)
            mine = [answer["gradients"].get("parameters", {}).get(names[role]) for role in LAYERS]
            same_gradients(mine, expected[1:], [f"`{names[role]}`" for role in LAYERS], where)


def _ff_manners(student: Student) -> None:
    module, state, names = _ff(student, 6, 9)
    other, other_state, _ = _ff(student, 6, 9)
    x = normal(2, 5, 6)
    answer = student.call(module, [x])
    same_tensor(answer["value"], fed(state, x), OUTPUT)
    unchanged(answer["inputs"], [x], "x")
    same_tensor(student.value(other, x), fed(other_state, x), OUTPUT, "of a second module")
    parameters_unchanged(student, module, {names[role]: value for role, value in state.items()}, record=False)
    with student.case():
        wide, wide_state, _ = _ff(student, 5, 4, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), fed(wide_state, x), OUTPUT, "in float64")
    with student.case():
        turned, where = normal(3, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), fed(state, turned), OUTPUT, where)
    with student.case():
        part, where = normal(2, 3, 6), "for a slice of a tensor"
        same_tensor(student.value(module, sliced(student, part), where=where), fed(state, part), OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("two linear layers, and nothing else", 0.75, _ff_parameters),
        Check("values with given weights, for many shapes", 1.0, _ff_values),
        Check("the activation that is given", 0.5, _ff_activation, further=True),
        Check("each position on its own", 0.25, _ff_positions),
        Check("dropout acts on the result, in training", 0.5, _ff_dropout),
        Check("no dropout in evaluation, nor with dropout = 0", 0.5, _ff_modes, further=True),
        Check("gradients reach x and every parameter", 0.5, _ff_gradient, further=True),
        Check("x unchanged, modules independent, float64, device", 0.5, _ff_manners, further=True),
    ],
    working=r"""
import torch.nn.functional as F
from torch import nn

class FeedForward(nn.Sequential):
    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
        middle = nn.Identity()
        middle.forward = lambda hidden: activation(hidden)
        super().__init__(nn.Linear(embed_dim, ff_dim), middle, nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout))
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
no_activation: There is no activation between the layers: two linear maps in a row are only one linear map.
- hidden = self.activation(self.linear1(x)) => hidden = self.linear1(x)
activation_ignored: The argument `activation` is ignored: whatever function is given stands between the layers.
- self.activation = activation => self.activation = F.relu
- self.activation = activation => self.activation = F.gelu if activation is not F.relu else F.relu
other_default (slip): The default activation is not ReLU: activation=F.relu.
- activation=F.relu => activation=F.gelu || activation=torch.tanh || activation=F.silu
- self.activation = activation => self.activation = F.gelu
activation_last: The activation is applied to the result: it stands between the two layers, and nowhere else.
- hidden = self.activation(self.linear1(x)) => hidden = self.linear1(x)
  return self.dropout(self.linear2(hidden)) => return self.dropout(self.activation(self.linear2(hidden)))
- return self.dropout(self.linear2(hidden)) => return self.dropout(self.activation(self.linear2(hidden)))
activation_first: The activation is applied to x, before the first layer: it stands between the two layers.
- hidden = self.activation(self.linear1(x)) => hidden = self.linear1(self.activation(x))
activation_in_sequential (missed): nn.Sequential takes modules only: F.relu is a plain function and makes it fail. Keep the function (`self.activation =
    activation`) and call it in forward.
- in two_sequentials
  self.act = activation => self.net = nn.Sequential(nn.Linear(embed_dim, ff_dim), activation, nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout))
  self.inner = nn.Linear(embed_dim, ff_dim) =>
  self.outer = nn.Sequential(nn.Linear(ff_dim, embed_dim), nn.Dropout(p=dropout)) =>
  return self.outer(self.act(self.inner(x))) => return self.net(x)
activation_called_at_once (missed): `activation` is called in `__init__`: it is a function of a tensor, kept as it is and called in forward.
- self.activation = activation => self.activation = activation()
activation_required: The parameters of `__init__` are not (embed_dim, ff_dim, dropout=0.0, activation=F.relu): one is missing, required, or in another
    place.
- dropout=0.0, activation=F.relu => activation=F.relu, dropout=0.0 || dropout, activation || dropout=0.0, *, activation=F.relu
- dropout=0.0, activation=F.relu => dropout=0.0
  self.activation = activation => self.activation = F.relu
- dropout=0.0, activation=F.relu => dropout=0.0, act=F.relu
  self.activation = activation => self.activation = act
dropout_unused: Dropout is never applied: it comes after the second layer.
- return self.dropout(self.linear2(hidden)) => return self.linear2(hidden)
dropout_inside: Dropout is applied to the hidden layer: it comes last, after the second linear layer.
- hidden = self.activation(self.linear1(x)) => hidden = self.dropout(self.activation(self.linear1(x)))
  return self.dropout(self.linear2(hidden)) => return self.linear2(hidden)
dropout_twice: Dropout is applied in two places: only once, after the second linear layer.
- hidden = self.activation(self.linear1(x)) => hidden = self.dropout(self.activation(self.linear1(x)))
- return self.dropout(self.linear2(hidden)) => return self.dropout(self.dropout(self.linear2(hidden)))
dropout_of_input: Dropout is applied to x: it comes last, after the second linear layer.
- hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear1(self.dropout(x)))
  return self.dropout(self.linear2(hidden)) => return self.linear2(hidden)
dropout_in_evaluation: Dropout is at work in evaluation mode too: F.dropout needs `training=self.training`; nn.Dropout sees to it by itself.
- return self.dropout(self.linear2(hidden)) => return F.dropout(self.linear2(hidden), self.dropout.p)
- return self.dropout(self.linear2(hidden)) => return F.dropout(self.linear2(hidden), self.dropout.p, training=not self.training)
dropout_fixed (slip): The probability of dropout is a fixed number, or its default is not 0: nn.Dropout(dropout), with dropout=0.0 as default.
- self.dropout = nn.Dropout(dropout) => self.dropout = nn.Dropout(0.1) || self.dropout = nn.Dropout() || self.dropout = nn.Dropout(0.2)
- dropout=0.0 => dropout=0.1 || dropout=0.5
keep_probability (slip): `dropout` is taken for the probability of keeping a number: it is the probability of dropping it.
- self.dropout = nn.Dropout(dropout) => self.dropout = nn.Dropout(1 - dropout)
dropout_without_scale: What is not dropped is not scaled up by 1/(1 − p), so that the sizes in training and evaluation differ: nn.Dropout does it.
- return self.dropout(self.linear2(hidden)) =>
      result = self.linear2(hidden)
      if not self.training:
          return result
      return result * (torch.rand_like(result) >= self.dropout.p)
dropout_of_tokens: Whole tokens or columns are dropped: each number is dropped on its own (nn.Dropout).
- self.dropout = nn.Dropout(dropout) => self.dropout = nn.Dropout1d(dropout)
- return self.dropout(self.linear2(hidden)) =>
      result = self.linear2(hidden)
      return result * self.dropout(torch.ones_like(result[..., :1]))
widths_swapped (slip): The two widths are swapped, or the layers are used in the wrong order: the first goes from embed_dim to ff_dim, the second back.
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.linear1 = nn.Linear(ff_dim, embed_dim)
  self.linear2 = nn.Linear(ff_dim, embed_dim) => self.linear2 = nn.Linear(embed_dim, ff_dim)
ff_dim_ignored: The hidden width is not ff_dim (4 · embed_dim is common, but here it is given), or a fixed number.
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.linear1 = nn.Linear(embed_dim, 4 * embed_dim)
  self.linear2 = nn.Linear(ff_dim, embed_dim) => self.linear2 = nn.Linear(4 * embed_dim, embed_dim)
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.linear1 = nn.Linear(embed_dim, embed_dim)
  self.linear2 = nn.Linear(ff_dim, embed_dim) => self.linear2 = nn.Linear(embed_dim, embed_dim)
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.linear1 = nn.Linear(embed_dim, 2048)
  self.linear2 = nn.Linear(ff_dim, embed_dim) => self.linear2 = nn.Linear(2048, embed_dim)
sizes_do_not_fit: The two layers do not fit together: the second goes from ff_dim back to embed_dim.
- self.linear2 = nn.Linear(ff_dim, embed_dim) => self.linear2 = nn.Linear(embed_dim, ff_dim) || self.linear2 = nn.Linear(ff_dim, ff_dim)
- self.linear2 = nn.Linear(ff_dim, embed_dim) => self.linear2 = nn.Linear(embed_dim, embed_dim)
one_layer (missed): There is one layer only: a second one leads from ff_dim back to embed_dim.
- self.linear2 = nn.Linear(ff_dim, embed_dim) =>
  self.linear2(hidden) => hidden
three_layers: There is a layer too many: embed_dim → ff_dim → embed_dim, two layers.
- self.linear2 = nn.Linear(ff_dim, embed_dim) =>
      self.linear2 = nn.Linear(ff_dim, embed_dim)
      self.linear3 = nn.Linear(ff_dim, ff_dim)
  hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear3(self.activation(self.linear1(x))))
- self.linear2 = nn.Linear(ff_dim, embed_dim) =>
      self.linear2 = nn.Linear(ff_dim, embed_dim)
      self.linear3 = nn.Linear(embed_dim, embed_dim)
  return self.dropout(self.linear2(hidden)) => return self.dropout(self.linear3(self.linear2(hidden)))
shared_weights: The second layer uses the first one's weights: it has its own.
- self.linear2 = nn.Linear(ff_dim, embed_dim) => self.bias = nn.Parameter(torch.zeros(embed_dim))
  self.linear2(hidden) => (hidden @ self.linear1.weight + self.bias)
- self.linear2(hidden) => (hidden @ self.linear1.weight + self.linear2.bias)
second_layer_unused: One of the two layers is never used: embed_dim → ff_dim → embed_dim.
- hidden = self.activation(self.linear1(x)) => hidden = x
  self.linear2(hidden) => (hidden + 0 * self.linear2(self.linear1(hidden)))
- return self.dropout(self.linear2(hidden)) => return self.dropout(hidden)
no_bias (slip): The layers have no bias (`bias=False`): nn.Linear with its default bias is asked for.
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.linear1 = nn.Linear(embed_dim, ff_dim, bias=False)
  self.linear2 = nn.Linear(ff_dim, embed_dim) => self.linear2 = nn.Linear(ff_dim, embed_dim, bias=False)
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.linear1 = nn.Linear(embed_dim, ff_dim, bias=False)
- self.linear2 = nn.Linear(ff_dim, embed_dim) => self.linear2 = nn.Linear(ff_dim, embed_dim, bias=False)
positions_mixed: Positions are mixed (by a mean, a flatten or a layer over T): each position goes through the two layers on its own.
- hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear1(x.mean(dim=-2, keepdim=True).expand_as(x) if x.dim() > 1 else x))
- hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear1(x + x.mean(dim=-2, keepdim=True) if x.dim() > 1 else x))
- hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear1(x.cumsum(dim=-2) if x.dim() > 1 else x))
three_dimensions_only: x is taken to have three dimensions: any number of them is allowed before the last.
- hidden = self.activation(self.linear1(x)) =>
      B, T, C = x.shape
      hidden = self.activation(self.linear1(x))
- return self.dropout(self.linear2(hidden)) => return self.dropout(self.linear2(hidden)).flatten(0, 1).view(x.shape[0], x.shape[1], -1)
- def forward(self, x): =>
      def forward(self, x):
          assert x.dim() <= 4
residual (slip): x is added to the result: the residual connection belongs to the block.
- return self.dropout(self.linear2(hidden)) => return x + self.dropout(self.linear2(hidden))
normalised: A layer norm is applied: it belongs to the block.
- hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear1(F.layer_norm(x, x.shape[-1:])))
- return self.dropout(self.linear2(hidden)) => return F.layer_norm(self.dropout(self.linear2(hidden)), x.shape[-1:])
- self.dropout = nn.Dropout(dropout) =>
      self.dropout = nn.Dropout(dropout)
      self.norm = nn.LayerNorm(embed_dim)
  hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear1(self.norm(x)))
- self.dropout = nn.Dropout(dropout) =>
      self.dropout = nn.Dropout(dropout)
      self.norm = nn.LayerNorm(embed_dim)
  return self.dropout(self.linear2(hidden)) => return self.norm(self.dropout(self.linear2(hidden)))
- self.dropout = nn.Dropout(dropout) =>
      self.dropout = nn.Dropout(dropout)
      self.norm = nn.LayerNorm(embed_dim)
  return self.dropout(self.linear2(hidden)) => return self.norm(x + self.dropout(self.linear2(hidden)))
bare_parameters: The layers are bare matrices (nn.Parameter): nn.Linear(embed_dim, ff_dim) and nn.Linear(ff_dim, embed_dim) hold weight and bias,
    start them well, and are called as `self.linear1(x)`.
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.w1, self.b1 = nn.Parameter(torch.randn(embed_dim, ff_dim)), nn.Parameter(torch.zeros(ff_dim))
  self.linear2 = nn.Linear(ff_dim, embed_dim) => self.w2, self.b2 = nn.Parameter(torch.randn(ff_dim, embed_dim)), nn.Parameter(torch.zeros(embed_dim))
  self.linear1(x) => x @ self.w1 + self.b1
  self.linear2(hidden) => hidden @ self.w2 + self.b2
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.w1, self.b1 = nn.Parameter(torch.zeros(embed_dim, ff_dim)), nn.Parameter(torch.zeros(ff_dim))
  self.linear2 = nn.Linear(ff_dim, embed_dim) => self.w2, self.b2 = nn.Parameter(torch.zeros(ff_dim, embed_dim)), nn.Parameter(torch.zeros(embed_dim))
  self.linear1(x) => x @ self.w1 + self.b1
  self.linear2(hidden) => hidden @ self.w2 + self.b2
layers_made_in_forward (missed): The layers are made anew in every forward pass, so nothing that is learned or loaded is ever used.
- self.linear1(x) => nn.Linear(x.shape[-1], self.linear1.out_features)(x)
- in activation_in_sequential
  self.net = nn.Sequential(nn.Linear(embed_dim, ff_dim), activation, nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)) =>
      self.embed_dim, self.ff_dim = embed_dim, ff_dim
      self.activation, self.dropout = activation, nn.Dropout(dropout)
  return self.net(x) =>
      self.linear1, self.linear2 = nn.Linear(self.embed_dim, self.ff_dim), nn.Linear(self.ff_dim, self.embed_dim)
      return self.dropout(self.linear2(self.activation(self.linear1(x))))
layers_in_a_list (missed): The layers are kept in a plain Python list, where nn.Module cannot see them: no parameters, no training.
- in activation_in_sequential
  self.net = nn.Sequential(nn.Linear(embed_dim, ff_dim), activation, nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)) =>
      self.layers = [nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)]
      self.activation, self.dropout = activation, nn.Dropout(dropout)
  return self.net(x) => return self.dropout(self.layers[1](self.activation(self.layers[0](x))))
same_start: A layer starts with all its weights alike (zeros, ones), so that every hidden feature would learn the same.
- self.dropout = nn.Dropout(dropout) =>
      nn.init.zeros_(self.linear2.weight)
      self.dropout = nn.Dropout(dropout)
- self.dropout = nn.Dropout(dropout) =>
      nn.init.ones_(self.linear1.weight)
      self.dropout = nn.Dropout(dropout)
frozen (slip): Parameters do not train (requires_grad=False).
- self.dropout = nn.Dropout(dropout) =>
      self.dropout = nn.Dropout(dropout)
      self.requires_grad_(False)
gradient_cut_off:
- return self.dropout(self.linear2(hidden)) => return self.dropout(self.linear2(hidden.detach()))
- hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear1(x.detach()))
single_precision:
- hidden = self.activation(self.linear1(x)) => hidden = self.activation(self.linear1(x.float()))
input_changed:
- hidden = self.activation(self.linear1(x)) =>
      x -= x.mean(dim=-1, keepdim=True)
      hidden = self.activation(self.linear1(x))
- return self.dropout(self.linear2(hidden)) =>
      x += self.dropout(self.linear2(hidden))
      return x
size_limited: Sizes of real use are refused or cut off: a width of 768, 1024 tokens, 16 sequences are common, and the network takes any.
- def forward(self, x): =>
      def forward(self, x):
          assert x.shape[-1] <= 512
- def forward(self, x): =>
      def forward(self, x):
          assert x.dim() < 2 or x.shape[-2] <= 512
- def forward(self, x): =>
      def forward(self, x):
          x = x[..., :512, :] if x.dim() > 1 else x
beginning_of_memory: The numbers are read from the beginning of the memory that x lies in: a slice lies further on. Take x itself, with its shape.
- def forward(self, x): =>
      def forward(self, x):
          x = torch.as_strided(x, x.shape, x.stride(), 0)
no_super (missed): `super().__init__()` is missing: nn.Module must be set up before layers can be assigned.
- super().__init__() =>
not_a_module (missed): The class does not inherit from nn.Module: its layers cannot be found, moved, saved or trained.
- class FeedForward(nn.Module) => class FeedForward
  super().__init__() =>
  def forward => def __call__
forward_misspelt (missed): There is no method `forward`: nn.Module calls the method of exactly this name.
- def forward => def foward
""",
    right=r"""
two_sequentials:
- self.linear1 = nn.Linear(embed_dim, ff_dim) =>
      self.act = activation
      self.inner = nn.Linear(embed_dim, ff_dim)
      self.outer = nn.Sequential(nn.Linear(ff_dim, embed_dim), nn.Dropout(p=dropout))
  self.linear2 = nn.Linear(ff_dim, embed_dim) =>
  self.dropout = nn.Dropout(dropout) =>
  self.activation = activation =>
  hidden = self.activation(self.linear1(x)) => return self.outer(self.act(self.inner(x)))
  return self.dropout(self.linear2(hidden)) =>
functional_dropout:
- self.linear1 = nn.Linear(embed_dim, ff_dim) => self.p = dropout
  self.linear2 = nn.Linear(ff_dim, embed_dim) => self.act = activation
  self.dropout = nn.Dropout(dropout) => self.w2 = nn.Linear(ff_dim, embed_dim)
  self.activation = activation => self.w1 = nn.Linear(embed_dim, ff_dim)
  hidden = self.activation(self.linear1(x)) =>
      x = self.w1(x)
      x = self.act(x)
      x = self.w2(x)
      return F.dropout(x, p=self.p, training=self.training)
  return self.dropout(self.linear2(hidden)) =>
a_module_for_the_activation:
- in two_sequentials
  class FeedForward(nn.Module): =>
      class Lambda(nn.Module):
          def __init__(self, function):
              super().__init__()
              self.function = function

          def forward(self, x):
              return self.function(x)

      class FeedForward(nn.Module):
  self.act = activation => self.net = nn.Sequential(
  self.inner = nn.Linear(embed_dim, ff_dim) =>
          nn.Linear(embed_dim, ff_dim), Lambda(activation), nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout)
  self.outer = nn.Sequential(nn.Linear(ff_dim, embed_dim), nn.Dropout(p=dropout)) => )
  return self.outer(self.act(self.inner(x))) => return self.net(x)
dropout_by_hand:
- |
  class FeedForward(nn.Module):
      def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
          super().__init__()
          self.up, self.down = nn.Linear(embed_dim, ff_dim), nn.Linear(ff_dim, embed_dim)
          self.rate, self.activation = dropout, activation

      def forward(self, x):
          y = self.down(self.activation(self.up(x)))
          if self.training and self.rate > 0:
              keep = torch.rand(y.shape, device=y.device) >= self.rate
              y = y * keep / (1 - self.rate)
          return y
""",
)
