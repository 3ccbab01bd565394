"""`sinusoidal_encoding`: tables of one to 5,000 rows within float32's rounding, and an odd width refused.

The mistakes: sines and cosines swapped or in halves, exponents and bases, positions from 1.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import generator_unchanged
from autograder.spec.student import Student

from .common import near, refuses_odd_widths, sinusoids


def _table(student: Student, max_len: int, d_model: int) -> None:
    with student.case():
        where = f"for max_len = {max_len} and d_model = {d_model}"
        positions = torch.arange(max_len)
        got = student.value("sinusoidal_encoding", max_len, d_model, where=where)
        near(got, sinusoids(positions, d_model), positions[:, None], "The table", where)


def _sinusoidal_values(student: Student) -> None:
    for max_len, d_model in ((6, 8), (10, 2), (5, 12), (8, 8), (7, 4), (3, 64), (2, 6), (50, 10)):
        _table(student, max_len, d_model)


def _sinusoidal_lengths(student: Student) -> None:
    for max_len, d_model in ((1, 4), (5000, 6), (1200, 16), (1, 2), (6000, 2), (30, 512)):
        _table(student, max_len, d_model)


def _sinusoidal_odd(student: Student) -> None:
    refuses_odd_widths(student, "sinusoidal_encoding", [3, 4], [[5, 7], [4, 1], [2, 3], [10, 511]])


def _sinusoidal_manners(student: Student) -> None:
    for max_len, d_model in ((4, 6), (9, 2)):
        with student.case():
            where = f"for max_len = {max_len} and d_model = {d_model}"
            answer = student.call("sinusoidal_encoding", [max_len, d_model], where=where)
            expected = sinusoids(torch.arange(max_len), d_model).float()
            same_tensor(answer["value"], expected, "The table", where)
            generator_unchanged(answer)
    with student.case():
        got = student.value("sinusoidal_encoding", max_len=3, d_model=2)
        same_tensor(got, sinusoids(torch.arange(3), 2).float(), "The table", "with arguments given by name")


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("sines in even columns, cosines in odd ones", 2.25, _sinusoidal_values),
        Check("tables of no, one and thousands of rows", 0.5, _sinusoidal_lengths, further=True),
        Check("an odd d_model is a ValueError", 0.75, _sinusoidal_odd),
        Check("a float32 tensor, nothing left to chance", 0.5, _sinusoidal_manners, further=True),
    ],
    working=r"""
import torch

def sinusoidal_encoding(max_len, d_model):
    if d_model % 2:
        raise ValueError("d_model must be even")
    positions = torch.arange(max_len, dtype=torch.float64)
    angles = torch.outer(positions, torch.logspace(0, -4, d_model // 2 + 1, dtype=torch.float64)[:-1])
    return torch.view_as_real(torch.polar(torch.ones_like(angles), angles)).flip(-1).flatten(1).float()
""",
    takes="number",
    gives="tensor",
    slips=(
        "nothing_returned",
        "squeezed",
        "rounded",
        "global_generator",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
sine_and_cosine_swapped (slip): Sines and cosines are swapped: sines stand in the even columns (0, 2, …), so that row 0 is 0, 1, 0, 1 and so on.
- 0::2] = angles.sin => 0::2] = angles.cos
  1::2] = angles.cos => 1::2] = angles.sin
halves: All the sines stand on the left and all the cosines on the right: they alternate here, sin cos sin cos … (some programs use halves, which is
    another order of the same columns).
- 0::2] => : d_model // 2]
  1::2] => d_model // 2 :]
- 0::2] => d_model // 2 :]
  1::2] => : d_model // 2]
reshaped: Sines and cosines were stacked in the wrong dimension and then cut anew by a reshape, which scrambles the rows: stack them on a new last
    dimension, then flatten it.
- return table => return torch.stack([angles.sin(), angles.cos()]).reshape(max_len, d_model)
exponent_of_cosine: The cosine of a pair has another rate than its sine: columns 2i and 2i+1 share the exponent 2i/d_model.
- angles.cos() => (positions[:, None] * 10000.0 ** (-torch.arange(1, d_model, 2) / d_model)).cos()
- in stacked
  w = 1 / torch.pow(10000, torch.arange(d_model // 2) * 2 => angles = torch.arange(max_len)[:, None] * 10000.0 ** (-2 * torch.arange(d_model)
  a = torch.outer(torch.arange(max_len, dtype=torch.float32), w => angles[:, 0::2], angles[:, 1::2] = angles[:, 0::2].sin(), angles[:, 1::2].cos(
  torch.stack((a.sin(), a.cos()), dim=2).reshape(max_len, d_model) => angles
exponent_halved: The exponent is i/d_model where it should be 2i/d_model: i counts pairs, from 0 to d_model/2 − 1.
- torch.arange(0, d_model, 2) / d_model => torch.arange(d_model // 2) / d_model
exponent_doubled: The 2 of the exponent is there twice: torch.arange(0, d_model, 2) holds the numbers 2i already.
- -torch.arange(0, d_model, 2) => -2 * torch.arange(0, d_model, 2)
exponent_off_by_one (slip): The exponents begin at 2/d_model: the first pair has i = 0, a rate of 1.
- torch.arange(0, d_model, 2) => torch.arange(2, d_model + 2, 2) || torch.arange(1, d_model + 1, 2)
multiplied: The position is multiplied by 10000^(2i/d_model): it is divided by it, so that later pairs turn ever more slowly.
- (-torch.arange => (torch.arange
- 10000.0 ** (-torch.arange(0, d_model, 2) / d_model) => torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))
- 10000.0 ** (-torch.arange(0, d_model, 2) / d_model) => 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
exponent_without_d_model: The exponent is not divided by d_model: 2i/d_model runs from 0 to just below 1.
- 2) / d_model => 2).float()
other_range: The rates run from 1 to exactly 1/10000: with the exponent 2i/d_model, the last one stops short of it.
- 2) / d_model => 2) / max(d_model - 2, 1) || 2) / (d_model - 1)
other_base (slip): The base is not 10000: the rates are 10000^(−2i/d_model).
- 10000.0 => 1000.0 || 100000.0 || math.e || 10.0 || 1024.0 || math.exp(4)
one_rate: All the pairs turn at the same rate: i is missing from the formula (or fixed in a loop).
- 10000.0 ** (-torch.arange(0, d_model, 2) / d_model) => torch.ones(d_model // 2) || torch.full((d_model // 2,), 1 / 10000)
rate_rounded_to_0: The exponent is rounded to a whole number (`//`, or integers): 2i/d_model is a fraction.
- 2) / d_model => 2) // d_model
from_one (slip): The positions begin at 1: row 0 belongs to position 0 and is 0, 1, 0, 1 and so on.
- torch.arange(max_len) => torch.arange(1, max_len + 1)
only_sines: Only sines (or only cosines) fill the table: sines stand in the even columns, cosines in the odd ones.
- angles.cos() => angles.sin()
- angles.sin() => angles.cos()
cosines_missing: Half of the columns are never filled: the sines go into the even ones and the cosines into the odd ones.
- torch.empty => torch.zeros
  table[:, 1::2] = angles.cos() =>
- torch.empty => torch.zeros
  table[:, 0::2] = angles.sin() =>
half_as_wide: The table has d_model / 2 columns, or 2 · d_model: a sine and a cosine for each of d_model / 2 pairs are d_model columns.
- return table => return angles.sin() || return angles.sin() + angles.cos() || return table.repeat(1, 2)
angles_returned: The angles are returned as they are: their sines and cosines are asked for.
- return table => return angles.repeat_interleave(2, dim=1) || return angles
degrees (slip): The angles are taken for degrees: sin and cos want radians, as they are.
- table = =>
      angles = torch.deg2rad(angles)
      table =
- table = =>
      angles = 2 * math.pi * angles
      table =
transposed (slip): The table is transposed: one row for each position, (max_len, d_model).
- return table => return table.T
batch_dimension (slip): The table has a dimension too many: (max_len, d_model) is asked for.
- return table => return table[None] || return table[:, None]
one_row_too_many (slip): The number of rows is off by one, or fixed: max_len rows are asked for.
- |
  def right_sinusoidal_encoding(max_len, d_model):
      if d_model % 2 != 0:
          raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
      positions = torch.arange(max_len)  # (max_len,)
      rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model / 2,): radians per step, from 1 to ~1/10000
      angles = positions[:, None] * rates  # (max_len, d_model / 2)
      table = torch.empty(max_len, d_model)
      table[:, 0::2] = angles.sin()
      table[:, 1::2] = angles.cos()
      return table


  def sinusoidal_encoding(max_len, d_model):
      return right_sinusoidal_encoding(max_len + 1, d_model)
- |
  def right_sinusoidal_encoding(max_len, d_model):
      if d_model % 2 != 0:
          raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
      positions = torch.arange(max_len)  # (max_len,)
      rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model / 2,): radians per step, from 1 to ~1/10000
      angles = positions[:, None] * rates  # (max_len, d_model / 2)
      table = torch.empty(max_len, d_model)
      table[:, 0::2] = angles.sin()
      table[:, 1::2] = angles.cos()
      return table


  def sinusoidal_encoding(max_len, d_model):
      return right_sinusoidal_encoding(5000, d_model)
- |
  def right_sinusoidal_encoding(max_len, d_model):
      if d_model % 2 != 0:
          raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
      positions = torch.arange(max_len)  # (max_len,)
      rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model / 2,): radians per step, from 1 to ~1/10000
      angles = positions[:, None] * rates  # (max_len, d_model / 2)
      table = torch.empty(max_len, d_model)
      table[:, 0::2] = angles.sin()
      table[:, 1::2] = angles.cos()
      return table


  def sinusoidal_encoding(max_len, d_model):
      return right_sinusoidal_encoding(512, d_model)
- |
  def right_sinusoidal_encoding(max_len, d_model):
      if d_model % 2 != 0:
          raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}")
      positions = torch.arange(max_len)  # (max_len,)
      rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (d_model / 2,): radians per step, from 1 to ~1/10000
      angles = positions[:, None] * rates  # (max_len, d_model / 2)
      table = torch.empty(max_len, d_model)
      table[:, 0::2] = angles.sin()
      table[:, 1::2] = angles.cos()
      return table


  def sinusoidal_encoding(max_len, d_model):
      return right_sinusoidal_encoding(1000, d_model)
bad_input_accepted: An odd d_model is not refused: sines and cosines come in pairs, so raise a ValueError that says so.
- if d_model % 2 != 0: =>
  raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}") =>
- if d_model % 2 != 0: =>
  raise ValueError(f"d_model must be even, because sines and cosines come in pairs; got {d_model}") =>
  table[:, 1::2] = angles.cos() => table[:, 1::2] = angles[:, : d_model // 2].cos()
even_refused (missed): Even widths are refused: only an odd d_model is an error.
- % 2 != 0 => % 2 == 0 || % 4 != 0
other_dtype: The table is not float32, PyTorch's default: convert it (`.float()`).
- return table => return table.double() || return table.half()
whole_numbers: The values are cut to whole numbers, because the table was made with an integer dtype.
- torch.empty(max_len, d_model) => torch.empty(max_len, d_model, dtype=torch.long)
- torch.empty(max_len, d_model) => torch.empty(max_len, d_model, dtype=torch.long)
  return table => return table.float()
not_a_tensor (slip): A list is returned: a tensor is asked for.
- return table => return table.tolist() || return list(table)
array_returned:
- return table => return table.numpy()
noise (missed): The table is random, or noise is added to it: it follows from the formula alone.
- return table => return torch.randn(max_len, d_model) || return table + 0.1 * torch.randn(max_len, d_model)
- return table => return nn.functional.dropout(table, 0.1)
scaled (slip): The table is scaled: sines and cosines stand in it as they are.
- return table => return table * d_model**-0.5 || return table * d_model**0.5 || return table / table.norm(dim=-1, keepdim=True)
last_left_out (slip): The last row, or the last pair of columns, is left out: `range` ends before its second number.
- return table =>
      table[-1:] = 0
      return table
- return table =>
      table[:, -2:] = 0
      return table
returned_too_early: `return` stands inside a loop, so that only one row or pair is filled.
- return table =>
      table[1:] = 0
      return table
- return table =>
      table[:, 2:] = 0
      return table
length_limited (slip): The table has a fixed maximum of rows (a long one that is cut): max_len rows are asked for, however many.
- torch.arange(max_len) => torch.arange(1000)[:max_len] || torch.arange(5000)[:max_len]
  torch.empty(max_len, => torch.empty(len(positions),
other_signature (slip): The arguments have other names: keep the signature sinusoidal_encoding(max_len, d_model), so that they may be given by name.
- d_model => width
- max_len => length
""",
    right=r"""
loops:
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  table = torch.zeros(max_len, d_model)
  for p in range(max_len):
      for i in range(d_model // 2):
          angle = p / 10000 ** (2 * i / d_model)
          table[p, 2 * i], table[p, 2 * i + 1] = math.sin(angle), math.cos(angle)
  return table
annotated_transformer:
- |
  if d_model % 2 == 1:
      raise ValueError(f'd_model={d_model} is odd')
  pe = torch.zeros(max_len, d_model)
  position = torch.arange(0, max_len).unsqueeze(1).float()
  div_term = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
  pe[:, 0::2] = torch.sin(position * div_term)
  pe[:, 1::2] = torch.cos(position * div_term)
  return pe
stacked:
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  w = 1 / torch.pow(10000, torch.arange(d_model // 2) * 2 / d_model)
  a = torch.outer(torch.arange(max_len, dtype=torch.float32), w)
  return torch.stack((a.sin(), a.cos()), dim=2).reshape(max_len, d_model)
shifted_sine:
- |
  if d_model % 2 != 0:
      raise ValueError('d_model must be even')
  column = torch.arange(d_model, dtype=torch.float64)
  rate = 10000 ** (-(column - column % 2) / d_model)
  angles = torch.arange(max_len, dtype=torch.float64).unsqueeze(1) * rate + column % 2 * math.pi / 2
  return torch.sin(angles).to(torch.float32)
""",
)
