"""`LayerNorm`: against nn.LayerNorm, rows that show where eps stands, constant rows, numbers far from 0.

The mistakes: the unbiased variance, eps outside the root, statistics over other dimensions, parameters that are none.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_gradients, same_tensor, unchanged
from autograder.spec.exercise import Ban, Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    generator_unchanged,
    gradients_of,
    normal,
    parameters_unchanged,
    sliced,
)
from autograder.spec.student import Student

from .common import OUTPUT

SHAPES = (  # up to four batch dimensions and none, equal sizes, 1 and 2 numbers, single tokens, as in real use
    *((2, 5, 6), (3, 4), (7,), (2, 3, 4, 5), (4, 4), (3, 3, 3), (2, 4, 2), (5, 1), (2, 1, 8), (1, 6), (2, 3, 300)),
    *((16, 2, 768), (1, 1024, 4), (2, 1, 3, 2, 5)),
)


def _norm_weights(dim: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    return {"weight": normal(dim, dtype=dtype), "bias": normal(dim, dtype=dtype)}


def _norm(student: Student, *args: Any, dtype: str = "") -> tuple[Any, dict[str, torch.Tensor]]:
    """A module and the new weights that were put into it."""
    module, state = student.build("LayerNorm", *args), _norm_weights(args[0], torch.float64 if dtype else torch.float32)
    if dtype:
        student.move(module, dtype)
    student.load(module, state)
    return module, state


def _normed(state: dict[str, torch.Tensor], x: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], state["weight"], state["bias"], eps)


def _norm_parameters(student: Student) -> None:
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
                        f"`{name}` should start at {start:.0f} everywhere, so that a fresh layer only normalises; "
                        "yours does not."
                    )
            extra = sorted(map(str, set(parameters) - {"weight", "bias"}))
            if extra:
                raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")


def _norm_values(student: Student) -> None:
    for shape in SHAPES:
        with student.case():
            module, state = _norm(student, shape[-1])
            x, where = normal(*shape) * 3 + 2, f"for x of shape {shape}"
            same_tensor(student.value(module, x, where=where), _normed(state, x), OUTPUT, where)
    with student.case():
        module, state = _norm(student, 4)
        x = torch.tensor([[1.0, 3, 1, 3], [0, 0, 0, 8]])
        same_tensor(student.value(module, x), _normed(state, x), OUTPUT, "for whole numbers")
    with student.case():
        x = normal(3, 5)
        got = student.value(student.build("LayerNorm", 5), x)
        same_tensor(got, F.layer_norm(x, (5,)), OUTPUT, "of a fresh layer")


def _norm_eps(student: Student) -> None:
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
            same_tensor(student.value(module, x, where=where), _normed(state, x, *args[1:]), OUTPUT, where)
    with student.case():
        module, state = student.build("LayerNorm", dim=6, eps=0.5), _norm_weights(6)
        student.load(module, state)
        x, where = normal(4, 6), "with dim and eps given by name"
        same_tensor(student.value(module, x, where=where), _normed(state, x, 0.5), OUTPUT, where)


def _norm_constant(student: Student) -> None:
    module, state = _norm(student, 4)
    x = torch.tensor([2.0, 0.0, -8.0])[:, None].expand(3, 4).clone()
    where = "for rows whose numbers are all equal (variance 0)"
    same_tensor(student.value(module, x, where=where), _normed(state, x), OUTPUT, where)


def _norm_large(student: Student) -> None:
    module, state = _norm(student, 8)
    for x, where in (
        (
            1000 + normal(3, 8),
            "for numbers around 1000 with a variance of 1 (mean(x²) − mean(x)² loses all its digits here)",
        ),
        (1e5 * normal(3, 8), "for numbers around 1e5"),
    ):
        with student.case():
            same_tensor(student.value(module, x, where=where), _normed(state, x), OUTPUT, where, rough=True)


def _norm_gradient(student: Student) -> None:
    for shape, dtype in (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64)):
        with student.case():
            module, state = _norm(student, shape[-1], dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(
                lambda x, w, b: _normed({"weight": w, "bias": b}, x), [x, *state.values()]
            )
            same_tensor(student.value(module, x, where=where), _normed(state, x), OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(
                answer["gradients"].get("inputs", []), expected[:1], ["x"], where, rough=dtype == torch.float32
            )
            mine = [answer["gradients"].get("parameters", {}).get(name) for name in state]
            same_gradients(mine, expected[1:], [f"`{name}`" for name in state], where)


def _norm_manners(student: Student) -> None:
    module, state = _norm(student, 6)
    other, other_state = _norm(student, 6)
    x = normal(2, 5, 6)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], _normed(state, x), OUTPUT, where)
            unchanged(answer["inputs"], [x], "x")
            generator_unchanged(answer)
    with student.case():
        same_tensor(student.value(other, x), _normed(other_state, x), OUTPUT, "of a second module")
        parameters_unchanged(student, module, state, record=False)
    with student.case():
        wide, wide_state = _norm(student, 5, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), _normed(wide_state, x), OUTPUT, "in float64")
    with student.case():
        turned, where = normal(6, 4).mT, "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), _normed(state, turned), OUTPUT, where)
    with student.case():
        part, where = normal(2, 3, 6), "for a slice of a tensor"
        same_tensor(student.value(module, sliced(student, part), where=where), _normed(state, part), OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("weight and bias, ones and zeros at the start", 0.75, _norm_parameters),
        Check("equals nn.LayerNorm, for many shapes", 1.5, _norm_values),
        Check("eps inside the root, as given", 0.75, _norm_eps),
        Check("a constant row gives the bias", 0.5, _norm_constant, further=True),
        Check("numbers far from 0", 0.25, _norm_large, further=True),
        Check("gradients reach x, weight and bias", 0.75, _norm_gradient, further=True),
        Check("the same in both modes, x unchanged, float64, device", 0.5, _norm_manners, further=True),
    ],
    ban=Ban(
        pattern="(layer|rms|group|instance|batch)norm",
        without="`nn.LayerNorm`, `F.layer_norm` and their relatives",
    ),
    working=r"""
from torch import nn

class LayerNorm(nn.LayerNorm):
    def __init__(self, dim, eps=1e-5):
        super().__init__(dim, eps)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
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
unbiased_variance (slip): The variance divides by dim − 1, PyTorch's default: layer normalisation divides by dim (`unbiased=False`).
- unbiased=False => unbiased=True
unbiased_std_plus_eps (slip): `std` divides by dim − 1 by default, and eps is added outside the root: divide by √(variance + eps), with `unbiased=False`.
- torch.sqrt(variance + self.eps) => (x.std(dim=-1, keepdim=True) + self.eps)
eps_outside (slip): eps is added to the standard deviation, outside the root: it belongs inside, √(variance + eps). The difference shows where the variance
    is small.
- torch.sqrt(variance + self.eps) => (torch.sqrt(variance) + self.eps)
no_eps (slip): eps is not used, so that a row of equal numbers gives 0/0 = NaN: divide by √(variance + eps).
- torch.sqrt(variance + self.eps) => torch.sqrt(variance)
eps_fixed: The argument eps is ignored: the number in the formula must be the one that was given.
- self.eps = eps => self.eps = 1e-5 || self.eps = 1e-6 || self.eps = 1e-8
eps_default (slip): The default of eps is not 1e-5: LayerNorm(dim, eps=1e-5).
- eps=1e-5 => eps=1e-6 || eps=1e-8 || eps=1e-3 || eps=1e-12
eps_otherwise (slip): eps is used in another way (squared, as a lower bound, added to the mean …): it is added to the variance, inside the root.
- torch.sqrt(variance + self.eps) => torch.sqrt(variance + self.eps**2) || torch.sqrt(variance.clamp(min=self.eps))
- torch.sqrt(variance + self.eps) => torch.sqrt(variance).clamp(min=self.eps) || torch.where(variance == 0, 1.0, variance).sqrt()
- torch.sqrt(variance + self.eps) => (torch.sqrt(variance + self.eps) + self.eps)
divided_by_variance (slip): x is divided by the variance: divide by its root, the standard deviation.
- torch.sqrt(variance + self.eps) => (variance + self.eps)
mean_not_subtracted: The mean is not subtracted from x: (x − mean) is divided by the root.
- (x - mean) => x
- (x - mean) => x
  x.var(dim=-1, keepdim=True, unbiased=False) => x.pow(2).mean(dim=-1, keepdim=True)
not_divided: The variance plays no part: after the mean is subtracted, divide by √(variance + eps).
- / torch.sqrt(variance + self.eps) =>
brackets (slip): Brackets are missing: (x − mean) as a whole is divided by the root, and then multiplied with weight.
- return self.weight * normalised + self.bias => return self.weight * x - mean / torch.sqrt(variance + self.eps) + self.bias
- normalised = (x - mean) / torch.sqrt(variance + self.eps) => normalised = x - mean / torch.sqrt(variance + self.eps)
- torch.sqrt(variance + self.eps) => torch.sqrt(variance) + self.eps
multiplied (slip): x − mean is multiplied by the root: it is divided by it.
- (x - mean) / => (x - mean) *
mean_square: The mean of x² is not the variance: subtract the mean before squaring.
- x.var(dim=-1, keepdim=True, unbiased=False) => x.pow(2).mean(dim=-1, keepdim=True)
sum_of_squares (slip): The squares are added up, not averaged: the variance divides by dim.
- x.var(dim=-1, keepdim=True, unbiased=False) => (x - mean).pow(2).sum(dim=-1, keepdim=True)
absolute_deviation: The deviations are averaged without being squared: the variance is the mean of (x − mean)².
- x.var(dim=-1, keepdim=True, unbiased=False) => (x - mean).abs().mean(dim=-1, keepdim=True)
- torch.sqrt(variance + self.eps) => (x.amax(dim=-1, keepdim=True) - x.amin(dim=-1, keepdim=True) + self.eps)
cancellation: mean(x²) − mean(x)² is the variance on paper; in float32 all digits cancel where the mean is large. Average (x − mean)² instead.
- x.var(dim=-1, keepdim=True, unbiased=False) => x.pow(2).mean(dim=-1, keepdim=True) - mean**2
over_batch: Mean and variance are taken over the batch (that is batch normalisation): each vector is normalised by itself, over dim=-1.
- mean(dim=-1, => mean(dim=0,
  var(dim=-1, => var(dim=0,
over_tokens: Mean and variance run along the wrong dimension (the tokens): each vector is normalised by itself, over dim=-1.
- mean(dim=-1, => mean(dim=1,
  var(dim=-1, => var(dim=1,
- mean(dim=-1, => mean(dim=-2,
  var(dim=-1, => var(dim=-2,
over_everything: One mean and one variance are taken over several dimensions: each vector is normalised by itself, over dim=-1.
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => mean = x.mean()
  x.var(dim=-1, keepdim=True, unbiased=False) => x.var(unbiased=False)
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => mean = x.mean()
  x.var(dim=-1, keepdim=True, unbiased=False) => x.var()
- mean(dim=-1, => mean(dim=(-2, -1),
  var(dim=-1, => var(dim=(-2, -1),
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => mean = x.mean((-2, -1), keepdim=True) if x.dim() > 1 else x.mean()
  variance = x.var(dim=-1, keepdim=True, unbiased=False) => variance = (x - mean).square().mean(dim=-1, keepdim=True)
- mean(dim=-1, => mean(dim=tuple(range(1, x.dim())),
  var(dim=-1, => var(dim=tuple(range(1, x.dim())),
- mean(dim=-1, => mean(dim=(1, 2),
  var(dim=-1, => var(dim=(1, 2),
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => mean = x.mean()
- x.var(dim=-1, keepdim=True, unbiased=False) => x.var(unbiased=False)
keepdim_forgotten (slip): mean or variance lose their last dimension (`keepdim=True` is missing), so that they fit x only by chance.
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => mean = x.mean(dim=-1)
  x.var(dim=-1, keepdim=True, unbiased=False) => x.var(dim=-1, unbiased=False)
- x.var(dim=-1, keepdim=True, unbiased=False) => x.var(dim=-1, unbiased=False)
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => mean = x.mean(dim=-1)
three_dimensions_only: x is taken to have three dimensions: [..., dim] may have any number of them, one too.
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) =>
      B, T, C = x.shape
      mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
- mean(dim=-1, => mean(dim=2,
  var(dim=-1, => var(dim=2,
- def forward(self, x): =>
      def forward(self, x):
          assert x.dim() <= 4
weight_and_bias_unused: weight or bias is not used: the result is weight · normalised + bias.
- return self.weight * normalised + self.bias => return normalised || return self.weight * normalised || return normalised + self.bias
weight_and_bias_swapped (slip): weight and bias are swapped: weight multiplies, bias is added.
- return self.weight * normalised + self.bias => return self.bias * normalised + self.weight
bias_before_weight (slip): The bias is added before the weight multiplies: weight · normalised + bias.
- return self.weight * normalised + self.bias => return self.weight * (normalised + self.bias)
one_plus_weight (slip): The factor is 1 + weight, or a weight that starts at zero: weight itself multiplies, and starts at one.
- return self.weight * normalised + self.bias => return (1 + self.weight) * normalised + self.bias
  self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.zeros(dim))
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.zeros(dim))
other_start (slip): weight and bias start at other numbers: weight at one and bias at zero, so that a fresh layer only normalises.
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.randn(dim))
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.randn(dim))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.randn(dim))
- self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.ones(dim)) || self.bias = nn.Parameter(torch.randn(dim))
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.zeros(dim))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.ones(dim))
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.rand(dim))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.rand(dim))
one_number_each: weight and bias are single numbers: each of the dim columns has its own.
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.ones(1))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.zeros(1))
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.tensor(1.0))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.tensor(0.0))
other_shape: weight and bias have a shape of more than one dimension: (dim,) is asked for; it broadcasts by itself.
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.ones(1, dim))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.zeros(1, dim))
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.ones(1, 1, dim))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.zeros(1, 1, dim))
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.ones(dim, dim))
not_parameters: weight and bias are plain tensors or buffers: wrap them in nn.Parameter, so that they are found, moved and trained.
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = torch.ones(dim)
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = torch.zeros(dim)
- self.weight = nn.Parameter(torch.ones(dim)) => self.register_buffer('weight', torch.ones(dim))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.register_buffer('bias', torch.zeros(dim))
frozen (slip): weight or bias does not train (requires_grad=False).
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.ones(dim), requires_grad=False)
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.zeros(dim), requires_grad=False)
- self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.zeros(dim), requires_grad=False)
no_parameters: There are no parameters: `weight` (ones) and `bias` (zeros) scale and shift what was normalised.
- self.weight = nn.Parameter(torch.ones(dim)) =>
  self.bias = nn.Parameter(torch.zeros(dim)) =>
  return self.weight * normalised + self.bias => return normalised
- self.bias = nn.Parameter(torch.zeros(dim)) =>
  + self.bias =>
other_names (slip): The parameters have other names: `weight` and `bias` are asked for, as in nn.LayerNorm, so that weights can be loaded.
- self.weight => self.gamma
  self.bias => self.beta
- self.weight => self.scale
  self.bias => self.shift
- self.weight => self.a_2
  self.bias => self.b_2
- self.weight => self.g
  self.bias => self.b
sizes_fixed (missed): The width is a fixed number: weight and bias have dim entries.
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.ones(512))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.zeros(512))
- self.weight = nn.Parameter(torch.ones(dim)) => self.weight = nn.Parameter(torch.ones(64))
  self.bias = nn.Parameter(torch.zeros(dim)) => self.bias = nn.Parameter(torch.zeros(64))
statistics_detached: Part of the computation is cut off (`detach`, `.data`, `no_grad`, `.item()`): mean and variance depend on x, and gradients must
    flow through them too.
- x.var(dim=-1, keepdim=True, unbiased=False) => x.var(dim=-1, keepdim=True, unbiased=False).detach()
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => mean = x.mean(dim=-1, keepdim=True).detach()
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => mean = x.mean(dim=-1, keepdim=True).detach()
  x.var(dim=-1, keepdim=True, unbiased=False) => x.var(dim=-1, keepdim=True, unbiased=False).detach()
- return self.weight * normalised + self.bias => return (self.weight * normalised + self.bias).detach()
- return self.weight * normalised + self.bias => return self.weight * normalised.detach() + self.bias
- return self.weight * normalised + self.bias => return self.weight.data * normalised + self.bias.data
running_statistics: Statistics of earlier calls are used, or only in one mode (that is batch normalisation): each vector is normalised by its own mean
    and variance, always.
- normalised = (x - mean) / torch.sqrt(variance + self.eps) => normalised = (x - mean) / torch.sqrt(variance + self.eps) if self.training else x
- normalised = (x - mean) / torch.sqrt(variance + self.eps) => normalised = x if self.training else (x - mean) / torch.sqrt(variance + self.eps)
- self.eps = eps =>
      self.eps = eps
      self.kept = None
  normalised = (x - mean) / torch.sqrt(variance + self.eps) =>
      if self.kept is None or self.kept.shape != mean.shape:
          self.kept = mean.detach()
      normalised = (x - self.kept) / torch.sqrt(variance + self.eps)
single_precision_inside:
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) =>
      x = x.float()
      mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) =>
      x = x.float()
      mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
  return self.weight * normalised + self.bias => return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias
device_dropped: A tensor is made without `device=x.device`: on a GPU the call fails.
- torch.sqrt(variance + self.eps) => torch.sqrt(variance + torch.full((1,), self.eps, dtype=x.dtype))
input_changed:
- normalised = (x - mean) / torch.sqrt(variance + self.eps) =>
      x -= mean
      normalised = x / torch.sqrt(variance + self.eps)
- normalised = (x - mean) / torch.sqrt(variance + self.eps) => normalised = x.sub_(mean).div_(torch.sqrt(variance + self.eps))
- normalised = (x - mean) / torch.sqrt(variance + self.eps) =>
      x.data = (x - mean) / torch.sqrt(variance + self.eps)
      normalised = x
dropout_or_activation: Something else is applied that does not belong here: layer normalisation is weight · normalised + bias.
- return self.weight * normalised + self.bias => return torch.relu(self.weight * normalised + self.bias)
- return self.weight * normalised + self.bias => return torch.tanh(self.weight * normalised + self.bias)
- return self.weight * normalised + self.bias => return x + self.weight * normalised + self.bias
size_limited: Sizes of real use are refused or cut off: a width of 768, 1024 tokens, 16 sequences are common, and layer normalisation takes any.
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
no_super (missed): `super().__init__()` is missing: nn.Module must be set up before parameters can be assigned.
- super().__init__() =>
not_a_module (missed): The class does not inherit from nn.Module: its parameters cannot be found, moved, saved or trained.
- class LayerNorm(nn.Module) => class LayerNorm
  super().__init__() =>
  def forward => def __call__
forward_misspelt (missed): There is no method `forward`: nn.Module calls the method of exactly this name.
- def forward => def foward
""",
    right=r"""
written_out:
- x.var(dim=-1, keepdim=True, unbiased=False) => ((x - mean) ** 2).sum(dim=-1, keepdim=True) / x.shape[-1]
  normalised = (x - mean) / torch.sqrt(variance + self.eps) => normalised = (x - mean) * (variance + self.eps).rsqrt()
std_squared:
- torch.sqrt(variance + self.eps) => (x.std(dim=-1, keepdim=True, correction=0) ** 2 + self.eps) ** 0.5
var_mean:
- mean = x.mean(dim=-1, keepdim=True)  # (..., 1) => variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
  variance = x.var(dim=-1, keepdim=True, unbiased=False)  # (..., 1) =>
  return self.weight * normalised + self.bias => return torch.addcmul(self.bias, self.weight, normalised)
moments:
- x.var(dim=-1, keepdim=True, unbiased=False) => torch.linalg.vecdot(x - mean, x - mean)[..., None] / x.size(-1)
  return self.weight * normalised + self.bias => return torch.einsum('...c,c->...c', normalised, self.weight) + self.bias
""",
)
