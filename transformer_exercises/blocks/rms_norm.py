"""`RMSNorm`: against torch.nn.RMSNorm, rows far from 0 that keep their mean, rows that show where eps stands, zero rows.

The mistakes: a mean subtracted, the sum or the length instead of the mean square, eps elsewhere, a bias too many.
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


def _norm(student: Student, *args: Any, dtype: str = "") -> tuple[Any, torch.Tensor]:
    """A module and the new weight that was put into it."""
    module = student.build("RMSNorm", *args)
    if dtype:
        student.move(module, dtype)
    weight = normal(args[0], dtype=torch.float64 if dtype else torch.float32)
    student.load(module, {"weight": weight})
    return module, weight


def _normed(weight: torch.Tensor, x: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def _parameters(student: Student) -> None:
    for dim in (6, 1, 9):
        with student.case():
            state = student.state(student.build("RMSNorm", dim))
            found = state["parameters"].get("weight")
            if not isinstance(found, torch.Tensor):
                where = "a buffer" if "weight" in state["buffers"] else "missing"
                raise Wrong(
                    f"RMSNorm({dim}) has no parameter `weight` (it is {where}): `self.weight = nn.Parameter(…)`."
                )
            if tuple(found.shape) != (dim,):
                raise Wrong(f"`weight` of RMSNorm({dim}) should have shape ({dim},), yours has {tuple(found.shape)}.")
            if "weight" not in state["trainable"]:
                raise Wrong("`weight` is frozen (requires_grad=False), so it cannot be learned.")
            if not found.is_floating_point() or not torch.all(found == 1):
                raise Wrong(
                    "`weight` should start at 1 everywhere, so that a fresh layer only normalises; yours does not."
                )
            extra = sorted(map(str, set(state["parameters"]) - {"weight"}))
            if extra:
                raise Wrong(f"RMSNorm has one parameter, `weight`; yours has more: {', '.join(extra)[:120]}.")


def _values(student: Student) -> None:
    for shape in SHAPES:
        with student.case():
            module, weight = _norm(student, shape[-1])
            x, where = normal(*shape) * 3 + 2, f"for x of shape {shape}"
            same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)
    with student.case():
        module, weight = _norm(student, 4)
        x, where = torch.tensor([[5.0, 5, 5, 5], [0, 0, 0, 8], [1, -1, 3, -3]]), "for whole numbers"
        same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)
    with student.case():
        x = normal(3, 5) + 4
        got = student.value(student.build("RMSNorm", 5), x)
        same_tensor(got, F.rms_norm(x, (5,), eps=1e-6), OUTPUT, "of a fresh layer")
    with student.case():
        module, weight = _norm(student, 8)
        x, where = 1e5 * normal(3, 8), "for numbers around 1e5"
        same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)


def _eps(student: Student) -> None:
    """Rows whose mean square is about eps or far below it tell where eps stands, and whether it is used at all."""
    for args, scale, where in (
        ((6,), 1e-3, "for rows whose mean square is about eps"),
        ((6,), 1e-5, "for rows whose mean square is far below eps"),
        ((6, 0.1), 0.3, "with eps = 0.1"),
        ((6, 1e-3), 0.03, "with eps = 1e-3"),
        ((6, 1e-12), 1e-5, "with eps = 1e-12"),
    ):
        with student.case():
            module, weight = _norm(student, *args)
            x = normal(4, 6, scale=scale)
            same_tensor(student.value(module, x, where=where), _normed(weight, x, *args[1:]), OUTPUT, where)
    with student.case():
        module, weight = student.build("RMSNorm", dim=6, eps=0.5), normal(6)
        student.load(module, {"weight": weight})
        x, where = normal(4, 6), "with dim and eps given by name"
        same_tensor(student.value(module, x, where=where), _normed(weight, x, 0.5), OUTPUT, where)


def _zeros(student: Student) -> None:
    module, weight = _norm(student, 4)
    x = torch.cat([torch.zeros(1, 4), normal(2, 4)])
    where = "with a row of zeros"
    same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)


def _gradient(student: Student) -> None:
    for shape, dtype in (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64)):
        with student.case():
            module, weight = _norm(student, shape[-1], dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(lambda x, w: _normed(w, x), [x, weight])
            same_tensor(student.value(module, x, where=where), _normed(weight, x), OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(answer["gradients"].get("inputs", []), expected[:1], ["x"], where)
            mine = [answer["gradients"].get("parameters", {}).get("weight")]
            same_gradients(mine, expected[1:], ["`weight`"], where)


def _manners(student: Student) -> None:
    module, weight = _norm(student, 6)
    other, other_weight = _norm(student, 6)
    x = normal(2, 5, 6)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
        with student.case():
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], _normed(weight, x), OUTPUT, where)
            unchanged(answer["inputs"], [x], "x")
            generator_unchanged(answer)
    with student.case():
        same_tensor(student.value(other, x), _normed(other_weight, x), OUTPUT, "of a second module")
        parameters_unchanged(student, module, {"weight": weight}, record=False)
    with student.case():
        wide, wide_weight = _norm(student, 5, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), _normed(wide_weight, x), OUTPUT, "in float64")
    with student.case():
        turned, where = normal(6, 4).mT, "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), _normed(weight, turned), OUTPUT, where)
    with student.case():
        part, where = normal(2, 3, 6), "for a slice of a tensor, given by name"
        same_tensor(student.value(module, x=sliced(student, part), where=where), _normed(weight, part), OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("one parameter, weight, ones at the start", 0.5, _parameters),
        Check("equals nn.RMSNorm, for many shapes", 1.0, _values),
        Check("eps inside the root, as given", 0.5, _eps),
        Check("a row of zeros stays zeros", 0.25, _zeros, further=True),
        Check("gradients reach x and weight", 0.25, _gradient, further=True),
        Check("the same in both modes, x unchanged, float64, device", 0.5, _manners, further=True),
    ],
    ban=Ban(
        pattern="(layer|rms|group|instance|batch)norm",
        without="`nn.RMSNorm`, `F.rms_norm`, `nn.LayerNorm` and their relatives",
    ),
    working=r"""
from torch import nn

class RMSNorm(nn.RMSNorm):
    def __init__(self, dim, eps=1e-6):
        super().__init__(dim, eps=eps)
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
mean_subtracted: The mean is subtracted: that is layer normalisation. RMSNorm divides by the root mean square and leaves the mean in.
- x.square().mean(dim=-1, keepdim=True) => x.var(dim=-1, keepdim=True, unbiased=False)
  normalised = x / => normalised = (x - x.mean(dim=-1, keepdim=True)) /
- normalised = x / => normalised = (x - x.mean(dim=-1, keepdim=True)) /
variance: x is divided by its standard deviation: that measures the distance from the mean. RMSNorm takes the mean of x² itself, with nothing
    subtracted.
- x.square().mean(dim=-1, keepdim=True) => x.var(dim=-1, keepdim=True, unbiased=False) || x.var(dim=-1, keepdim=True)
sum_of_squares (slip): The squares are added up, not averaged, so x is divided by its length: the mean square divides by dim.
- x.square().mean(dim=-1, keepdim=True) => x.square().sum(dim=-1, keepdim=True)
- torch.sqrt(mean_square + self.eps) => (x.norm(dim=-1, keepdim=True) + self.eps)
dim_minus_one (slip): The sum of squares is divided by dim − 1: the mean divides by dim.
- x.square().mean(dim=-1, keepdim=True) => x.square().sum(dim=-1, keepdim=True) / max(x.shape[-1] - 1, 1)
square_of_mean: The mean is squared, not the square averaged: first x², then the mean.
- x.square().mean(dim=-1, keepdim=True) => x.mean(dim=-1, keepdim=True).square()
mean_absolute: The absolute values are averaged: the mean of x² is asked for.
- x.square().mean(dim=-1, keepdim=True) => x.abs().mean(dim=-1, keepdim=True)
- x.square().mean(dim=-1, keepdim=True) => x.abs().mean(dim=-1, keepdim=True).square()
largest: x is divided by its largest entry: the root of the mean of x² is asked for.
- torch.sqrt(mean_square + self.eps) => (x.abs().amax(dim=-1, keepdim=True) + self.eps)
no_root (slip): x is divided by the mean square: divide by its root.
- torch.sqrt(mean_square + self.eps) => (mean_square + self.eps)
multiplied (slip): x is multiplied by the root: it is divided by it.
- x / torch.sqrt => x * torch.sqrt
- x / torch.sqrt => x / torch.rsqrt
not_divided: The root mean square plays no part: divide x by √(mean of x² + eps).
- x / torch.sqrt(mean_square + self.eps) => x
eps_outside (slip): eps is added outside the root: √(mean square + eps). The difference shows in short vectors.
- torch.sqrt(mean_square + self.eps) => (torch.sqrt(mean_square) + self.eps)
no_eps (slip): eps is not used, so that a row of zeros gives 0/0 = NaN: divide by √(mean square + eps).
- torch.sqrt(mean_square + self.eps) => torch.sqrt(mean_square)
eps_fixed: The argument eps is ignored: the number in the formula must be the one that was given.
- self.eps = eps => self.eps = 1e-6 || self.eps = 1e-5 || self.eps = 1e-8
- self.eps = eps => self.eps = torch.finfo(torch.float32).eps
eps_default (slip): The default of eps is not 1e-6: RMSNorm(dim, eps=1e-6).
- eps=1e-6 => eps=1e-5 || eps=1e-8 || eps=1e-3 || eps=1e-12
eps_otherwise (slip): eps is used in another way (squared, as a lower bound, added to x …): it is added to the mean square, inside the root.
- torch.sqrt(mean_square + self.eps) => torch.sqrt(mean_square + self.eps**2) || torch.sqrt(mean_square.clamp(min=self.eps))
- torch.sqrt(mean_square + self.eps) => torch.sqrt(mean_square).clamp(min=self.eps)
- x.square().mean(dim=-1, keepdim=True) => (x + self.eps).square().mean(dim=-1, keepdim=True)
- torch.sqrt(mean_square + self.eps) => (torch.sqrt(mean_square + self.eps) + self.eps)
over_batch: The mean square is taken over the batch: each vector is normalised by itself, over dim=-1.
- mean(dim=-1, => mean(dim=0,
over_tokens: The mean square runs along the wrong dimension (the tokens): each vector is normalised by itself, over dim=-1.
- mean(dim=-1, => mean(dim=-2, || mean(dim=1,
over_everything: One mean square is taken over several dimensions: each vector is normalised by itself, over dim=-1.
- x.square().mean(dim=-1, keepdim=True) => x.square().mean()
- mean(dim=-1, => mean(dim=(-2, -1),
- mean(dim=-1, => mean(dim=(1, 2),
keepdim_forgotten (slip): The mean square loses its last dimension (`keepdim=True` is missing), so that it fits x only by chance.
- mean(dim=-1, keepdim=True) => mean(dim=-1)
three_dimensions_only: x is taken to have three dimensions: [..., dim] may have any number of them, one too.
- mean_square = x.square().mean(dim=-1, keepdim=True) =>
      B, T, C = x.shape
      mean_square = x.square().mean(dim=-1, keepdim=True)
- mean(dim=-1, => mean(dim=2,
- def forward(self, x): =>
      def forward(self, x):
          assert x.dim() <= 4
weight_unused: `weight` is not used: it multiplies what was normalised, feature by feature.
- return self.weight * normalised => return normalised
weight_added (slip): `weight` is added: it multiplies.
- return self.weight * normalised => return self.weight + normalised
weight_before_norm: `weight` multiplies x before the mean square is taken: normalise first, then multiply.
- mean_square = x.square() =>
      x = self.weight * x
      mean_square = x.square()
  return self.weight * normalised => return normalised
one_plus_weight (slip): The factor is 1 + weight, or a weight that starts at zero: weight itself multiplies, and starts at one. (Gemma's norm is
    written in this way.)
- return self.weight * normalised => return (1 + self.weight) * normalised
  nn.Parameter(torch.ones(dim)) => nn.Parameter(torch.zeros(dim))
- nn.Parameter(torch.ones(dim)) => nn.Parameter(torch.zeros(dim))
- return self.weight * normalised => return (1 + self.weight) * normalised
other_start (slip): `weight` starts at other numbers than one: a fresh layer only normalises.
- nn.Parameter(torch.ones(dim)) => nn.Parameter(torch.randn(dim)) || nn.Parameter(torch.rand(dim)) || nn.Parameter(0.02 * torch.randn(dim))
a_bias (slip): There is a bias: RMSNorm has `weight` alone.
- self.weight = nn.Parameter(torch.ones(dim)) =>
      self.weight = nn.Parameter(torch.ones(dim))
      self.bias = nn.Parameter(torch.zeros(dim))
  return self.weight * normalised => return self.weight * normalised + self.bias
one_number: `weight` is a single number: each of the dim features has its own.
- nn.Parameter(torch.ones(dim)) => nn.Parameter(torch.ones(1)) || nn.Parameter(torch.tensor(1.0))
other_shape: `weight` has more than one dimension: (dim,) is asked for; it broadcasts by itself.
- nn.Parameter(torch.ones(dim)) => nn.Parameter(torch.ones(1, dim)) || nn.Parameter(torch.ones(1, 1, dim))
- nn.Parameter(torch.ones(dim)) => nn.Parameter(torch.eye(dim))
  return self.weight * normalised => return normalised @ self.weight
not_a_parameter: `weight` is a plain tensor or a buffer: wrap it in nn.Parameter, so that it is found, moved and trained.
- nn.Parameter(torch.ones(dim)) => torch.ones(dim)
- self.weight = nn.Parameter(torch.ones(dim)) => self.register_buffer('weight', torch.ones(dim))
frozen (slip): `weight` does not train (requires_grad=False).
- nn.Parameter(torch.ones(dim)) => nn.Parameter(torch.ones(dim), requires_grad=False)
no_parameter: There is no parameter: `weight` (ones) scales each feature of what was normalised.
- self.weight = nn.Parameter(torch.ones(dim)) =>
  return self.weight * normalised => return normalised
other_name (slip): The parameter has another name: `weight` is asked for, as in nn.RMSNorm, so that weights can be loaded.
- self.weight => self.scale || self.gamma || self.g
sizes_fixed (missed): The width is a fixed number: weight has dim entries.
- nn.Parameter(torch.ones(dim)) => nn.Parameter(torch.ones(512)) || nn.Parameter(torch.ones(4096))
statistics_detached: Part of the computation is cut off (`detach`, `.data`, `no_grad`): the root mean square depends on x, and gradients must flow
    through it too.
- x.square().mean(dim=-1, keepdim=True) => x.square().mean(dim=-1, keepdim=True).detach()
- return self.weight * normalised => return self.weight * normalised.detach() || return self.weight.data * normalised
running_statistics: Statistics of earlier calls are used, or only in one mode (that is batch normalisation): each vector is divided by its own root mean
    square, always.
- normalised = x / torch.sqrt(mean_square + self.eps) => normalised = x / torch.sqrt(mean_square + self.eps) if self.training else x
- normalised = x / torch.sqrt(mean_square + self.eps) => normalised = x if self.training else x / torch.sqrt(mean_square + self.eps)
single_precision_inside:
- mean_square = x.square() =>
      x = x.float()
      mean_square = x.square()
- mean_square = x.square() =>
      given, x = x, x.float()
      mean_square = x.square()
  normalised = x / torch.sqrt(mean_square + self.eps) => normalised = (x * torch.rsqrt(mean_square + self.eps)).type_as(given)
device_dropped: A tensor is made without `device=x.device`: on a GPU the call fails.
- torch.sqrt(mean_square + self.eps) => torch.sqrt(mean_square + torch.full((1,), self.eps, dtype=x.dtype))
input_changed:
- normalised = x / torch.sqrt(mean_square + self.eps) => normalised = x.div_(torch.sqrt(mean_square + self.eps))
something_else_applied: Something else is applied that does not belong here: RMSNorm is weight · x / √(mean of x² + eps).
- return self.weight * normalised => return torch.relu(self.weight * normalised) || return torch.tanh(self.weight * normalised)
- return self.weight * normalised => return x + self.weight * normalised
size_limited: Sizes of real use are refused or cut off: a width of 768, 1024 tokens, 16 sequences are common, and RMSNorm takes any.
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
other_signature (slip): A parameter has another name than in the signature: RMSNorm(dim, eps=1e-6), forward(x).
- def forward(self, x): =>
      def forward(self, tokens):
          x = tokens
no_super (missed): `super().__init__()` is missing: nn.Module must be set up before parameters can be assigned.
- super().__init__() =>
not_a_module (missed): The class does not inherit from nn.Module: its parameters cannot be found, moved, saved or trained.
- class RMSNorm(nn.Module) => class RMSNorm
  super().__init__() =>
  def forward => def __call__
forward_misspelt (missed): There is no method `forward`: nn.Module calls the method of exactly this name.
- def forward => def foward
""",
    right=r"""
rsqrt:
- x / torch.sqrt(mean_square + self.eps) => x * torch.rsqrt(mean_square + self.eps)
  x.square() => x.pow(2)
by_length:
- mean_square = x.square().mean(dim=-1, keepdim=True) => mean_square = torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / x.shape[-1]
einsum:
- x.square().mean(dim=-1, keepdim=True) => torch.einsum('...c,...c->...', x, x)[..., None] / x.size(-1)
  torch.sqrt(mean_square + self.eps) => (mean_square + self.eps) ** 0.5
wide_inside:
- |
  class RMSNorm(nn.Module):
      def __init__(self, dim, eps=1e-6):
          super().__init__()
          self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

      def forward(self, x):
          wide = x.to(torch.promote_types(x.dtype, torch.float32))
          wide = wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + self.eps)
          return self.weight * wide.to(x.dtype)
row_by_row:
- |
  class RMSNorm(nn.Module):
      def __init__(self, dim, eps=1e-6):
          super().__init__()
          self.eps = eps
          self.weight = nn.Parameter(torch.ones(dim))

      def forward(self, x):
          rows = [row / (torch.dot(row, row) / len(row) + self.eps) ** 0.5 for row in x.reshape(-1, x.shape[-1])]
          return torch.stack(rows).view(x.shape) * self.weight
""",
)
