"""`apply_rope`: pairs rotated by any positions and base, and what follows: lengths kept, scores relative.

The mistakes: halves for neighbouring pairs, the other direction, positions or base ignored, angles in degrees.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import a_tensor, dtype_name, kind, same_tensor, shape_name, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, gradients_agree, normal
from autograder.spec.student import Student

from .common import near

apply_rope = reference("apply_rope")


def _rotated(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """The reference in float64."""
    return apply_rope(x.double(), positions.double(), base)


def _rope(student: Student, x: torch.Tensor, positions: torch.Tensor, where: str, **options: float) -> None:
    with student.case():
        got = student.value("apply_rope", x, positions, where=where, **options)
        near(got, _rotated(x, positions, **options), positions.double().abs()[:, None], "The result", where)


def _rope_values(student: Student) -> None:
    for shape in (
        (5, 4),
        (2, 6, 8),
        (2, 3, 5, 6),
        (3, 2),
        (4, 4),
        (2, 2, 2, 2),
        (1, 6),
        (7, 1, 3, 10),
        (2, 1, 3, 4, 6),
        (2, 20, 64),
    ):
        _rope(student, normal(*shape), torch.arange(shape[-2]), f"for x of shape {shape} and positions 0 … T-1")


def _rope_positions(student: Student) -> None:
    for positions in (
        *([3, 4, 5, 6], [0, 2, 5, 9], [7, 7, 7, 0], [9, 3, 8, 1], [-1, -4, 0, 2], [1000, 5, 30, 4095]),
        *([0, 0, 0, 0], [100000, 3, -2, 8]),
    ):
        _rope(student, normal(2, 3, 4, 6), torch.tensor(positions), f"for positions {positions}")
    _rope(student, normal(3, 8), torch.tensor([0.0, 2.5, 7.0]), "for positions [0.0, 2.5, 7.0] (floats)")
    _rope(student, normal(2, 1, 4), torch.tensor([11]), "for a single token at position 11")


def _rope_relative(student: Student) -> None:
    """What any rotary embedding does, whichever pairs it turns and in whichever direction."""
    q, k = normal(2, 5, 6), normal(2, 5, 6)
    here = torch.arange(5)

    def turned(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        got = a_tensor(student.value("apply_rope", x, positions), "The result")
        if got.shape != x.shape or not got.is_floating_point() or got.device.type != "cpu":
            raise Wrong(f"The result should have the shape of x, {shape_name(x)}; yours is {kind(got)}.", "wrong_shape")
        return got.double()

    first = turned(q, here)
    if not ((first.norm(dim=-1) - q.double().norm(dim=-1)).abs() < 1e-3).all():
        raise Wrong("Vectors do not keep their length: each pair is rotated, which makes nothing longer or shorter.")
    if not ((first[:, 0] - q[:, 0].double()).abs() < 1e-3).all():
        raise Wrong("At position 0 nothing turns: the vector should stay as it is.")
    if ((first[:, 1:] - q[:, 1:].double()).abs().amax(-1) < 1e-3).any():
        raise Wrong("At a position other than 0 the vector comes back as it was: it should be rotated.")
    scores = first @ turned(k, here).mT
    for shift in (3, 40):
        with student.case():
            if not ((turned(q, here + shift) @ turned(k, here + shift).mT - scores).abs() < 5e-3).all():
                raise Wrong(
                    "Scores change when all positions are moved by the same number: they may depend on relative "
                    "positions only."
                )
    with student.case():
        if ((first @ turned(k, here + 3).mT - scores).abs() < 1e-3).all():
            raise Wrong("Scores stay the same when only the keys are moved: they should depend on relative positions.")


def _rope_base(student: Student) -> None:
    for base, shape in ((100.0, (2, 4, 6)), (500000.0, (5, 8)), (10.0, (3, 2, 4)), (1000, (3, 4))):
        positions = torch.arange(shape[-2]) * 3 + 1
        _rope(student, normal(*shape), positions, f"with base = {base}", base=base)
    with student.case():
        x, positions = normal(3, 6), torch.arange(3)
        got = student.value("apply_rope", x, positions, 50.0)
        same_tensor(got, _rotated(x, positions, 50.0).float(), "The result", "with base given by position")


def _rope_gradient(student: Student) -> None:
    for shape in ((2, 3, 4, 6), (5, 2)):
        with student.case():
            positions = torch.arange(shape[-2]) + 2
            gradients_agree(
                student, "apply_rope", apply_rope, [normal(*shape)], ["x"], (positions,), f"for x of shape {shape}"
            )


def _rope_precision(student: Student) -> None:
    """float64 in, float64 out. Rates and angles in float32, as most codes have them, are precise enough."""
    for positions in (torch.tensor([0, 3, 20, 500]), torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)):
        with student.case():
            x = normal(2, 4, 6, dtype=torch.float64)
            where = f"for x in float64 and {dtype_name(positions)} positions"
            got, expected = student.value("apply_rope", x, positions, where=where), _rotated(x, positions)
            fits = isinstance(got, torch.Tensor) and got.shape == expected.shape and got.dtype == torch.float64
            if fits and (got - expected).abs().max() < 1e-3:
                continue
            same_tensor(got, expected, "The result", where)


def _rope_manners(student: Student) -> None:
    for dtype in (torch.int64, torch.int32, torch.float64):  # whatever positions are, the dtype of x is kept
        positions = torch.tensor([2, 0, 5, 1], dtype=dtype)
        with student.case():
            x = normal(2, 4, 6)
            where = f"for {dtype_name(positions)} positions"
            answer = student.call("apply_rope", [x, positions], where=where)
            same_tensor(answer["value"], _rotated(x, positions).float(), "The result", where)
            unchanged(answer["inputs"], [x, positions], "x, positions")
    for turned, where in (
        (normal(2, 4, 3, 6).transpose(1, 2), "for heads cut out with `.transpose(1, 2)` (not contiguous)"),
        (normal(2, 4, 18)[..., 6:12], "for a slice (not contiguous)"),
    ):
        _rope(student, turned, torch.arange(4) + 1, where)
    with student.case():
        x, where = normal(2, 4, 6), "with arguments given by name"
        given = {"x": x, "positions": positions, "base": 100.0}
        got = student.call("apply_rope", [], given, where=where)["value"]
        same_tensor(got, _rotated(x, positions, 100.0).float(), "The result", where)
    with student.case():
        device_is_kept(student, "apply_rope", [normal(2, 4, 6), torch.arange(4)])


EXERCISE = Exercise(
    points=6,
    checks=[
        Check("rotates the pairs (2i, 2i+1)", 2.0, _rope_values),
        Check("by the positions that are given", 1.0, _rope_positions),
        Check("lengths kept, scores relative", 1.0, _rope_relative, further=True),
        Check("at rates that follow from base", 0.5, _rope_base),
        Check("gradients reach x", 0.5, _rope_gradient, further=True),
        Check("float64 stays float64", 0.5, _rope_precision, further=True),
        Check("inputs unchanged, device", 0.5, _rope_manners, further=True),
    ],
    working=r"""
import torch

def apply_rope(x, positions, base=10000.0):
    d_k = x.shape[-1]
    rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)
    angles = positions.to(x.dtype)[:, None] * rates
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "double_precision",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
    ),
    wrong=r"""
halves: Feature i is paired with feature i + d_k/2 (`rotate_half`, as in LLaMA's code at Hugging Face): here neighbours are paired, 2i with 2i+1.
- u, v = x[..., 0::2], x[..., 1::2] => cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)
  pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => left, right = x[..., : d_k // 2], x[..., d_k // 2 :]
  return pairs.flatten(-2) => return x * cos + torch.cat([-right, left], dim=-1) * sin
not_interleaved: The results are put together in another order than they were taken apart: even and odd features stand side by side again, not in two
    halves (stack on a last dimension and flatten it, instead of cat).
- torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => torch.cat([u * cos - v * sin, u * sin + v * cos], dim=-1)
  return pairs.flatten(-2) => return pairs
- u, v = x[..., 0::2], x[..., 1::2] => u, v = x[..., : d_k // 2], x[..., d_k // 2 :]
rotate_half_mixed: Two conventions are mixed: here the angles are laid out as neighbours (repeat_interleave), and (u, v) is turned into (−v, u) pair
    by pair, put together with stack and flatten, not with cat.
- u, v = x[..., 0::2], x[..., 1::2] => cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
  pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => turned = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
  return pairs.flatten(-2) => return x * cos + turned * sin
- u, v = x[..., 0::2], x[..., 1::2] => cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
  pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => turned = torch.cat([-x[..., 1::2], x[..., 0::2]], -1)
  return pairs.flatten(-2) => return x * cos + turned * sin
- u, v = x[..., 0::2], x[..., 1::2] => cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
  pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => turned = torch.cat([-x[..., 1::2], x[..., 0::2]], -1)
  return pairs.flatten(-2) => return x * cos + turned * sin
- u, v = x[..., 0::2], x[..., 1::2] => cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
  pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => turned = torch.cat([-x[..., d_k // 2 :], x[..., : d_k // 2]], -1)
  return pairs.flatten(-2) => return x * cos + turned * sin
angles_cut: The angles are cut to whole numbers (`//`): divide with `/`.
- positions.to(x.dtype)[:, None] * rates => (positions.to(x.dtype)[:, None] * rates).floor()
backwards (slip): The pairs turn the other way, by −θ: (u, v) becomes (u cos θ − v sin θ, u sin θ + v cos θ).
- torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => torch.stack([u * cos + v * sin, v * cos - u * sin], dim=-1)
sign (slip): A sign is wrong, so that this is no rotation (lengths change): (u cos θ − v sin θ, u sin θ + v cos θ).
- torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => torch.stack([u * cos + v * sin, u * sin + v * cos], dim=-1)
- torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => torch.stack([u * cos - v * sin, u * sin - v * cos], dim=-1)
- torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => torch.stack([u * cos - v * sin, v * cos - u * sin], dim=-1)
sine_and_cosine_swapped (slip): Sine and cosine are swapped: at position 0 nothing turns, because cos 0 = 1.
- cos, sin = angles.cos(), angles.sin() => cos, sin = angles.sin(), angles.cos()
features_swapped (slip): The two features of a pair are swapped: u is feature 2i, v is 2i+1.
- u, v = x[..., 0::2], x[..., 1::2] => v, u = x[..., 0::2], x[..., 1::2]
- torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => torch.stack([u * sin + v * cos, u * cos - v * sin], dim=-1)
overwritten_too_early (slip): The first feature of a pair is overwritten before the second is computed, which needs the old one: compute both, then put them
    together.
- in new_tensor_filled
  result = torch.empty_like(x => out = x.clone(
  result[..., 0::2] = x[..., 0::2] * cos - x => out[..., 0::2] = out[..., 0::2] * cos - out
  result[..., 1::2] = x[..., 0::2] * sin + x => out[..., 1::2] = out[..., 0::2] * sin + out
  return result => return out
written_into_x: The caller's x is overwritten: `x[..., 0::2] = …` writes into it. Make a new tensor (torch.stack, torch.empty_like).
- in new_tensor_filled
  result = torch.empty_like(x => u, v = x[..., 0::2].clone(), x[..., 1::2].clone(
  result[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] => x[..., 0::2] = u * cos - v
  result[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] => x[..., 1::2] = u * sin + v
  return result => return x
- u, v = x[..., 0::2], x[..., 1::2] => x[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
  pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => x[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
  return pairs.flatten(-2) => return x
- |
  def right_apply_rope(x, positions, base=10000.0):
      d_k = x.shape[-1]
      rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)  # (d_k / 2,): radians per step
      angles = positions.to(x.dtype)[:, None] * rates  # (T, d_k / 2)
      cos, sin = angles.cos(), angles.sin()
      u, v = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2) each
      pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1)  # (..., T, d_k / 2, 2)
      return pairs.flatten(-2)  # (..., T, d_k): the pairs side by side again


  def apply_rope(x, positions, base=10000.0):
      result = right_apply_rope(x, positions, base)
      with torch.no_grad():
          x.copy_(result)
      return result
positions_ignored: `positions` is not used: the rows are numbered 0 … T-1 instead. A cache, or a text that begins later, needs other positions.
- positions.to(x.dtype) => torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)
table_looked_up: The angles are looked up in a table of non-negative whole positions: compute them from `positions` as they are, which may be
    negative, large or fractions.
- positions.to(x.dtype)[:, None] * rates => (torch.arange(4096, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]
- positions.to(x.dtype)[:, None] * rates => (torch.arange(int(positions.max()) + 1, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]
- positions.to(x.dtype)[:, None] * rates => (torch.arange(10000, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]
- positions.to(x.dtype)[:, None] * rates => (torch.arange(200000, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]
whole_positions: Positions are cut to whole numbers (`.long()`): they may be fractions.
- positions.to(x.dtype) => positions.long().to(x.dtype)
first_position_only: All tokens are turned by the angle of one position (or of relative positions): token t is turned by positions[t].
- positions.to(x.dtype)[:, None] => positions.to(x.dtype)[:1, None] || (positions - positions[0]).to(x.dtype)[:, None]
from_one (slip): The positions are taken to begin at 1: at position 0 nothing turns.
- positions.to(x.dtype) => (positions.to(x.dtype) + 1)
base_ignored: `base` is not used: 10000 stands in the code.
- base ** => 10000.0 **
exponent: The rates are others: pair i turns by 1 / base^(2i/d_k) for each step, from 1 downwards.
- (-torch.arange(0, d_k, 2 => (torch.arange(0, d_k, 2 || (-0.5 * torch.arange(0, d_k, 2 || (-2 * torch.arange(0, d_k, 2
- torch.arange(0, d_k, 2 => torch.arange(1, d_k, 2 || torch.arange(2, d_k + 2, 2
- device=x.device) / d_k => device=x.device) / max(d_k - 2, 1)
one_rate: All pairs turn at the same rate: pair i turns by positions / base^(2i/d_k).
- base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k) => torch.ones(d_k // 2, dtype=x.dtype, device=x.device)
rates_reversed (slip): The rates are in reverse: the first pair turns fastest, by 1 radian for each step.
- base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k) => (base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)).flip(0)
degrees (slip): The angles are taken for degrees (or multiplied by 2π): sin and cos want radians, as they are.
- cos, sin =>
      angles = torch.deg2rad(angles)
      cos, sin
- cos, sin =>
      angles = 2 * math.pi * angles
      cos, sin
added (missed): Sinusoids are added to x (or multiplied with it): a rotary embedding rotates each pair instead.
- torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => torch.stack([u + sin, v + cos], dim=-1) || torch.stack([u * sin, v * cos], dim=-1)
- torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) => torch.stack([u * cos, v * sin], dim=-1) || torch.stack([u * cos, v * cos], dim=-1)
first_pair_only: Only some of the pairs are turned: all d_k / 2 of them are.
- |
  def right_apply_rope(x, positions, base=10000.0):
      d_k = x.shape[-1]
      rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)  # (d_k / 2,): radians per step
      angles = positions.to(x.dtype)[:, None] * rates  # (T, d_k / 2)
      cos, sin = angles.cos(), angles.sin()
      u, v = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2) each
      pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1)  # (..., T, d_k / 2, 2)
      return pairs.flatten(-2)  # (..., T, d_k): the pairs side by side again


  def apply_rope(x, positions, base=10000.0):
      result = x.clone()
      result[..., :2] = right_apply_rope(x, positions, base)[..., :2]
      return result
- |
  def right_apply_rope(x, positions, base=10000.0):
      d_k = x.shape[-1]
      rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)  # (d_k / 2,): radians per step
      angles = positions.to(x.dtype)[:, None] * rates  # (T, d_k / 2)
      cos, sin = angles.cos(), angles.sin()
      u, v = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2) each
      pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1)  # (..., T, d_k / 2, 2)
      return pairs.flatten(-2)  # (..., T, d_k): the pairs side by side again


  def apply_rope(x, positions, base=10000.0):
      result = x.clone()
      result[..., : x.shape[-1] // 2] = right_apply_rope(x, positions, base)[..., : x.shape[-1] // 2]
      return result
last_pair_missing (slip): The last pair is left out: `range` ends before its second number.
- in first_pair_only
  = x.clone => = right_apply_rope(x, positions, base).clone
  :2] = right_apply_rope(x, positions, base)[..., :2 => -2:] = x[..., -2:
- in first_pair_only
  = x.clone => = right_apply_rope(x, positions, base).clone
  :2] = right_apply_rope(x, positions, base)[..., :2] => -2:] = 0
heads_for_positions: The positions run along the wrong dimension: T is the last but one of x, (…, T, d_k).
- in first_pair_only
  result = x.clone() =>
      x = x.transpose(-2, -3)
      return right_apply_rope(x, positions, base).transpose(-2, -3)
  result[..., :2] = right_apply_rope(x, positions, base)[..., :2] =>
  return result =>
- [:, None] * rates =>
      [:, None] * rates
      angles = angles[:, None, :]
fixed_dimensions: It works for one number of dimensions only: x is (…, T, d_k), with any number of leading dimensions, also none.
- d_k = x.shape[-1] => B, T, d_k = x.shape || B, H, T, d_k = x.shape || T, d_k = x.shape
pairs_returned (slip): The pairs are returned in a dimension of their own: the result has the shape of x.
- return pairs.flatten(-2) => return pairs
complex_returned (missed): Complex numbers are returned: torch.view_as_real makes pairs of real numbers of them.
- return pairs.flatten(-2) => return torch.view_as_complex(pairs)
parts_returned: Several tensors are returned (even and odd features, or cos and sin): one tensor of the shape of x is asked for.
- return pairs.flatten(-2) => return u * cos - v * sin, u * sin + v * cos || return cos, sin
unchanged_x (missed): x comes back as it was: the rotated pairs are to be returned.
- return pairs.flatten(-2) => return x
scaled: The vectors are scaled as well: a rotation keeps lengths.
- return pairs.flatten(-2) => return pairs.flatten(-2) * d_k**-0.5 || return nn.functional.normalize(pairs.flatten(-2), dim=-1)
always_float64: The result is always float64: it keeps the dtype of x (`.to(x.dtype)`).
- in heads_for_positions
  x.transpose(-2, -3) => x.double()
  ).transpose(-2, -3) => )
device_dropped: The rates are made without `device=x.device`: on a GPU the product fails.
- , device=x.device =>
view_needed (slip): `view` refuses tensors that are not contiguous, such as heads cut out with `.transpose(1, 2)`: use `reshape`, or count dimensions
    from the end.
- d_k = x.shape[-1] =>
      x = x.view(-1, *x.shape[-2:]).view(x.shape)
      d_k = x.shape[-1]
other_signature (slip): The arguments have other names: keep the signature apply_rope(x, positions, base=10000.0), so that they may be given by name.
- base => theta
- positions => pos
""",
    right=r"""
angles_in_float32:
- , dtype=x.dtype, device => , dtype=torch.float32, device
  positions.to(x.dtype) => positions.float()
  cos, sin = angles.cos(), angles.sin() => cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
rates_in_float32:
- , dtype=x.dtype, device => , device
new_tensor_filled:
- u, v = x[..., 0::2], x[..., 1::2] =>
      result = torch.empty_like(x)
      result[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
      result[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
      return result
  pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1) =>
  return pairs.flatten(-2) =>
rotated_neighbours:
- |
  half = torch.arange(x.shape[-1] // 2, device=x.device, dtype=x.dtype)
  theta = torch.exp(-math.log(base) * 2 * half / x.shape[-1])
  angles = torch.outer(positions.to(theta), theta).repeat_interleave(2, dim=-1)
  turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
  return x * torch.cos(angles) + turned * torch.sin(angles)
complex:
- |
  d = x.size(-1)
  freqs = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d))
  angles = positions.to(x.dtype).unsqueeze(-1) * freqs
  z = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2))
  return torch.view_as_real(z * torch.exp(1j * angles)).reshape(x.shape)
loops_and_matrices:
- |
  rows = []
  for t, p in enumerate(positions.tolist()):
      blocks = []
      for i in range(x.shape[-1] // 2):
          a = p / base ** (2 * i / x.shape[-1])
          c, s = math.cos(a), math.sin(a)
          blocks.append(torch.tensor([[c, s], [-s, c]], dtype=x.dtype, device=x.device))
      rows.append(x[..., t, :] @ torch.block_diag(*blocks))
  return torch.stack(rows, dim=-2)
""",
)
