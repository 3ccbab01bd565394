"""`shift_matrix`: PE[p] @ M = PE[p + k] for many p, and nothing about its entries.

The mistakes: its transpose, one rate for all pairs, blocks in the wrong places, negative k, an odd width let through.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import a_tensor, dtype_name, same_tensor
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import generator_unchanged
from autograder.spec.student import Student

from .common import refuses_odd_widths, sinusoids


def _shifts(student: Student, k: int, d_model: int) -> None:
    """PE[p + k] == PE[p] @ M, for many p: no other matrix does that, so that nothing is asked about its entries."""
    with student.case():
        where = f"for k = {k} and d_model = {d_model}"
        matrix = a_tensor(student.value("shift_matrix", k, d_model, where=where), "The matrix")
        if tuple(matrix.shape) != (d_model, d_model):
            raise Wrong(
                f"The matrix {where} should have shape ({d_model}, {d_model}), yours has {tuple(matrix.shape)}.",
                "wrong_shape",
            )
        if not matrix.is_floating_point():
            raise Wrong(f"The matrix {where} should hold floats; yours holds {dtype_name(matrix)}.", "wrong_dtype")
        start = max(0, -k)
        positions = torch.cat([torch.arange(start, start + 40), torch.arange(start + 40, start + 400, 23)])
        before, after = sinusoids(positions, d_model), sinusoids(positions + k, d_model)
        got = before @ matrix.double()
        if not matrix.isfinite().all() or ((got - after).abs() > 3e-5 + 2e-6 * abs(k)).any():
            reverse = ((before @ matrix.double().mT - after).abs() < 1e-3).all()
            hint = " (its transpose would do: PE[p] is a row, on the left of the matrix)" if reverse else ""
            raise ValuesDiffer(f"PE[p] @ M is not PE[p + k] {where}{hint}.")


def _shift_forward(student: Student) -> None:
    for k, d_model in ((1, 4), (3, 8), (2, 2), (5, 6), (7, 16), (12, 10), (1, 32)):
        _shifts(student, k, d_model)


def _shift_backward(student: Student) -> None:
    for k, d_model in ((-1, 4), (-3, 8), (0, 6), (-10, 2), (0, 2), (-7, 12)):
        _shifts(student, k, d_model)


def _shift_far(student: Student) -> None:
    for k, d_model in ((100, 8), (1000, 6), (-512, 4), (4000, 12)):
        _shifts(student, k, d_model)


def _shift_odd(student: Student) -> None:
    refuses_odd_widths(student, "shift_matrix", [2, 4], [[1, 3], [2, 7], [0, 5], [-1, 1]])


def _shift_manners(student: Student) -> None:
    for k, d_model in ((2, 6), (-1, 4), (0, 2)):
        with student.case():
            _shifts(student, k, d_model)
            answer = student.call("shift_matrix", [k, d_model])
            got = a_tensor(answer["value"], "The matrix")
            if got.dtype != torch.float32:
                raise Wrong(
                    f"The matrix should be float32, PyTorch's default; yours is {dtype_name(got)}.", "wrong_dtype"
                )
            generator_unchanged(answer)
    with student.case():
        got = student.value("shift_matrix", k=0, d_model=4)
        same_tensor(got, torch.eye(4), "The matrix", "for k = 0, with arguments given by name")


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("moves every position by k", 2.5, _shift_forward),
        Check("backwards too, and not at all for k = 0", 1.0, _shift_backward),
        Check("by hundreds of steps", 0.5, _shift_far, further=True),
        Check("an odd d_model is a ValueError", 0.5, _shift_odd),
        Check("a float32 tensor, nothing left to chance", 0.5, _shift_manners, further=True),
    ],
    working=r"""
import torch

def shift_matrix(k, d_model):
    if d_model % 2:
        raise ValueError("d_model must be even")
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    generator = torch.block_diag(*(10000.0 ** (-i / d_model) * turn for i in range(0, d_model, 2)))
    return torch.matrix_exp(k * generator).float()
""",
    takes="number",
    gives="tensor",
    slips=(
        "nothing_returned",
        "rounded",
        "global_generator",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
transposed (slip): The matrix moves the wrong way, by −k (it is transposed): PE[p] is a row and stands on the left, PE[p] @ M.
- return matrix => return matrix.T
both_signs_alike (slip): A minus sign is missing (or one too many): cos(α + β) = cos α cos β − sin α sin β, and sin(α + β) has two plus signs.
- -angles.sin() => angles.sin()
- [odd, even] = angles.sin() => [odd, even] = -angles.sin()
- [odd, odd] = angles.cos() => [odd, odd] = -angles.cos()
- [even, even] = angles.cos() => [even, even] = -angles.cos()
sine_and_cosine_swapped (slip): Sine and cosine are swapped: the cosines of the angle stand on the diagonal (for k = 0 the matrix is the identity).
- angles.cos() => COS
  angles.sin() => angles.cos()
  COS => angles.sin()
- angles.cos() => COS
  angles.sin() => angles.cos()
  COS => angles.sin()
  -angles.cos() => angles.cos()
  [odd, even] = angles.cos() => [odd, even] = -angles.cos()
cosine_first: The matrix fits pairs (cos, sin), or mixes up its rows: the sine stands first here, in column 2i, and the cosine in column 2i+1.
- in block_diag
  [torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())] => torch.stack([s, c, c, -s], dim=1).view(-1, 2, 2)
- in block_diag
  [torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())] => torch.stack([-s, c, c, s], dim=1).view(-1, 2, 2)
halves: The blocks join column i with column i + d_model/2: in this table the sine and cosine of a pair stand side by side, in columns 2i and 2i+1.
- matrix[even, even] = angles.cos() =>
      half = d_model // 2
      a, b = torch.arange(half), torch.arange(half) + half
      matrix[a, a] = angles.cos()
      matrix[b, a] = angles.sin()
      matrix[a, b] = -angles.sin()
      matrix[b, b] = angles.cos()
  matrix[odd, even] = angles.sin() =>
  matrix[even, odd] = -angles.sin() =>
  matrix[odd, odd] = angles.cos() =>
- matrix[even, even] = angles.cos() =>
      half = d_model // 2
      a, b = torch.arange(half), torch.arange(half) + half
      matrix[a, a] = angles.cos()
      matrix[b, a] = -angles.sin()
      matrix[a, b] = angles.sin()
      matrix[b, b] = angles.cos()
  matrix[odd, even] = angles.sin() =>
  matrix[even, odd] = -angles.sin() =>
  matrix[odd, odd] = angles.cos() =>
blocks_overlap: The blocks overlap: pair i stands in rows and columns 2i and 2i+1, not i and i+1.
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  M = torch.zeros(d_model, d_model)
  for i in range(d_model // 2):
      t = k / 10000 ** (2 * i / d_model)
      M[i, i], M[i, i + 1], M[i + 1, i], M[i + 1, i + 1] = math.cos(t), -math.sin(t), math.sin(t), math.cos(t)
  return M
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  M = torch.zeros(d_model, d_model)
  for i in range(d_model // 2):
      t = k / 10000 ** (2 * i / d_model)
      M[i, i], M[i, i + 1], M[i + 1, i], M[i + 1, i + 1] = math.cos(t), math.sin(t), -math.sin(t), math.cos(t)
  return M
diagonal_only: Only the diagonal is filled: a shift mixes the sine and cosine of each pair, so there are entries beside the diagonal.
- matrix[odd, even] = angles.sin()  # cos -> sin =>
  matrix[even, odd] = -angles.sin()  # sin -> cos =>
entry_missing (slip): One of the four entries of each 2 × 2 block is never filled.
- matrix[odd, even] = angles.sin()  # cos -> sin =>
- matrix[even, odd] = -angles.sin()  # sin -> cos =>
- matrix[odd, odd] = angles.cos()  # cos -> cos =>
- matrix[even, even] = angles.cos()  # sin -> sin =>
one_rate: All pairs turn by the same angle: pair i turns by k / 10000^(2i/d_model).
- k * 10000.0 ** (-even / d_model) => k * torch.ones(d_model // 2)
first_pair_only: Only the first pair is turned: each pair has a block of its own.
- return matrix =>
      result = torch.eye(d_model)
      result[:2, :2] = matrix[:2, :2]
      return result
- return matrix =>
      matrix[2:, 2:] = 0
      return matrix
last_pair_missing (slip): The last pair is left out: `range` ends before its second number.
- return matrix =>
      matrix[-2:, -2:] = 0
      return matrix
- return matrix =>
      matrix[-2:, -2:] = torch.eye(2)
      return matrix
blocks_only: The blocks themselves are returned: they belong on the diagonal of one matrix (d_model, d_model).
- in block_diag
  block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())] => stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2
- in block_diag
  block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())] => stack([torch.stack([c, s], -1), torch.stack([-s, c], -1)], -2
- in block_diag
  block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist()) => tensor([[c[0], -s[0]], [s[0], c[0]]
rows_moved (missed): This moves rows or columns of the table (roll, or ones beside the diagonal): a shift of the positions turns each pair of columns by an
    angle.
- return matrix => return torch.eye(d_model).roll(k, 0) || return torch.eye(d_model).roll(k, 1)
- return matrix => return torch.diag(torch.ones(max(d_model - abs(k), 0)), k)[:d_model, :d_model]
identity (missed): The identity is returned: that moves nothing, which is right for k = 0 only.
- return matrix => return torch.eye(d_model)
k_ignored: k is not used: pair i turns by k · 10000^(−2i/d_model), for every k.
- k * 10000.0 ** (-even / d_model) => 10000.0 ** (-even / d_model)
k_forward_only: The sign of k is lost: a negative k moves backwards.
- k * 10000.0 ** (-even / d_model) => abs(k) * 10000.0 ** (-even / d_model)
negative_refused (slip): A negative k, or k = 0, is refused or fails: the matrix exists for every whole k (k = 0 moves nothing).
- |
  def right_shift_matrix(k, d_model):
      if d_model % 2 != 0:
          raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
      even = torch.arange(0, d_model, 2)  # (d_model / 2,): the columns of sines, 2i
      odd = even + 1  # the columns of cosines, 2i + 1
      angles = k * 10000.0 ** (-even / d_model)  # (d_model / 2,): how far each pair turns in k steps
      matrix = torch.zeros(d_model, d_model)
      matrix[even, even] = angles.cos()  # sin -> sin
      matrix[odd, even] = angles.sin()  # cos -> sin
      matrix[even, odd] = -angles.sin()  # sin -> cos
      matrix[odd, odd] = angles.cos()  # cos -> cos
      return matrix


  def shift_matrix(k, d_model):
      if k < 0:
          raise ValueError('k')
      return right_shift_matrix(k, d_model)
- |
  def right_shift_matrix(k, d_model):
      if d_model % 2 != 0:
          raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
      even = torch.arange(0, d_model, 2)  # (d_model / 2,): the columns of sines, 2i
      odd = even + 1  # the columns of cosines, 2i + 1
      angles = k * 10000.0 ** (-even / d_model)  # (d_model / 2,): how far each pair turns in k steps
      matrix = torch.zeros(d_model, d_model)
      matrix[even, even] = angles.cos()  # sin -> sin
      matrix[odd, even] = angles.sin()  # cos -> sin
      matrix[even, odd] = -angles.sin()  # sin -> cos
      matrix[odd, odd] = angles.cos()  # cos -> cos
      return matrix


  def shift_matrix(k, d_model):
      if k <= 0:
          raise ValueError('k')
      return right_shift_matrix(k, d_model)
- |
  def right_shift_matrix(k, d_model):
      if d_model % 2 != 0:
          raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
      even = torch.arange(0, d_model, 2)  # (d_model / 2,): the columns of sines, 2i
      odd = even + 1  # the columns of cosines, 2i + 1
      angles = k * 10000.0 ** (-even / d_model)  # (d_model / 2,): how far each pair turns in k steps
      matrix = torch.zeros(d_model, d_model)
      matrix[even, even] = angles.cos()  # sin -> sin
      matrix[odd, even] = angles.sin()  # cos -> sin
      matrix[even, odd] = -angles.sin()  # sin -> cos
      matrix[odd, odd] = angles.cos()  # cos -> cos
      return matrix


  def shift_matrix(k, d_model):
      assert k > 0
      return right_shift_matrix(k, d_model)
- in block_diag
  angles = k * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model) => row = sinusoidal_encoding(k + 1, d_model)[k]
  c, s = angles.cos(), angles.sin() => blocks = [torch.tensor([[c, -s], [s, c]]) for s, c in row.view(-1, 2).tolist()]
  [torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())] => blocks
- |
  def right_shift_matrix(k, d_model):
      if d_model % 2 != 0:
          raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
      even = torch.arange(0, d_model, 2)  # (d_model / 2,): the columns of sines, 2i
      odd = even + 1  # the columns of cosines, 2i + 1
      angles = k * 10000.0 ** (-even / d_model)  # (d_model / 2,): how far each pair turns in k steps
      matrix = torch.zeros(d_model, d_model)
      matrix[even, even] = angles.cos()  # sin -> sin
      matrix[odd, even] = angles.sin()  # cos -> sin
      matrix[even, odd] = -angles.sin()  # sin -> cos
      matrix[odd, odd] = angles.cos()  # cos -> cos
      return matrix


  def shift_matrix(k, d_model):
      matrix = torch.eye(d_model)
      for _ in range(k):
          matrix = matrix @ right_shift_matrix(1, d_model)
      return matrix
exponent: The rates are not those of the table: pair i turns by k / 10000^(2i/d_model).
- (-even / d_model) => (even / d_model) || (-even / 2 / d_model) || (-2 * even / d_model) || (-odd / d_model)
- 10000.0 => 1000.0
- k * 10000.0 ** (-even / d_model) => 10000.0 ** (-k * even / d_model)
degrees (slip): The angles are taken for degrees (or multiplied by 2π): sin and cos want radians, as they are.
- k * 10000.0 ** (-even / d_model) => math.pi / 180 * k * 10000.0 ** (-even / d_model) || 2 * math.pi * k * 10000.0 ** (-even / d_model)
whole_numbers: The entries are cut to whole numbers, because the matrix was made with an integer dtype.
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  M = torch.zeros(d_model, d_model, dtype=torch.long)
  for i in range(0, d_model, 2):
      angle = k / 10000 ** (i / d_model)
      M[i, i] = M[i + 1, i + 1] = math.cos(angle)
      M[i + 1, i], M[i, i + 1] = math.sin(angle), -math.sin(angle)
  return M
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  M = torch.zeros(d_model, d_model, dtype=torch.long)
  for i in range(0, d_model, 2):
      angle = k / 10000 ** (i / d_model)
      M[i, i] = M[i + 1, i + 1] = math.cos(angle)
      M[i + 1, i], M[i, i + 1] = math.sin(angle), -math.sin(angle)
  return M.float()
other_dtype: The matrix is not float32, PyTorch's default: convert it (`.float()`).
- return matrix => return matrix.double()
table_returned (missed): A row or table of sinusoids is returned: a matrix (d_model, d_model) that turns PE[p] into PE[p + k] is asked for.
- return matrix => return sinusoidal_encoding(abs(k) + 1, d_model)[-1] || return sinusoidal_encoding(d_model, d_model)
- return matrix => return sinusoidal_encoding(abs(k) + 1, d_model)
fitted_to_few_positions: The matrix is fitted to positions (least squares), and does not hold exactly, or not for all: derive it from the formulas of sin(α + β) and
    cos(α + β).
- in block_diag
  angles = k * 10000.0 ** (-torch.arange(0, d_model, 2) / => PE = sinusoidal_encoding(d_model + abs(k) + 1,
  c, s = angles.cos(), angles.sin( => a, b = (PE[: len(PE) - k], PE[k:]) if k >= 0 else (PE[-k:], PE[:k]
  block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())]) => linalg.pinv(a[: d_model // 2]) @ b[: d_model // 2]
bad_input_accepted: An odd d_model is not refused: sines and cosines come in pairs, so raise a ValueError that says so.
- if d_model % 2 != 0: =>
  raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}") =>
- if d_model % 2 != 0: => d_model = d_model // 2 * 2
  raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}") =>
not_a_tensor (slip): A list is returned: a tensor is asked for.
- return matrix => return matrix.tolist()
array_returned:
- return matrix => return matrix.numpy()
other_signature (slip): The arguments have other names: keep the signature shift_matrix(k, d_model), so that they may be given by name.
- d_model => width
- k, d_model): => steps, d_model):
  angles = k * => angles = steps *
""",
    right=r"""
block_diag:
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  angles = k * 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
  c, s = angles.cos(), angles.sin()
  return torch.block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())])
loop:
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  M = torch.zeros((d_model, d_model))
  for i in range(d_model // 2):
      w = 1 / 10000 ** (2 * i / d_model)
      M[2 * i, 2 * i] = M[2 * i + 1, 2 * i + 1] = math.cos(k * w)
      M[2 * i + 1, 2 * i] = math.sin(k * w)
      M[2 * i, 2 * i + 1] = -math.sin(k * w)
  return M
diagonals:
- in block_diag
  return torch.block_diag(*[torch.tensor([[a, -b], [b, a]]) for a, b in zip(c.tolist(), s.tolist())]) =>
      zero = torch.zeros_like(s)
      beside = torch.stack([s, zero], 1).flatten()[: d_model - 1]
      return torch.diag(c.repeat_interleave(2)) + torch.diag(beside, -1) - torch.diag(beside, 1)
from_the_table:
- |
  row = sinusoidal_encoding(abs(k) + 1, d_model)[-1]  # sin and cos of |k| steps
  s, c = row[0::2] * (1 if k >= 0 else -1), row[1::2]
  matrix = torch.zeros(d_model // 2, 2, d_model // 2, 2)
  i = torch.arange(d_model // 2)
  matrix[i, 0, i, 0] = matrix[i, 1, i, 1] = c
  matrix[i, 1, i, 0], matrix[i, 0, i, 1] = s, -s
  return matrix.view(d_model, d_model)
""",
)
