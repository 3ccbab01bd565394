"""`causal_mask`: True exactly above the diagonal, on the device asked for; the mistakes shift, invert or convert it."""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.student import Student

causal_mask = reference("causal_mask")


def _causal(student: Student) -> None:
    for T in (4, 1, 2, 3, 7, 40, 130, 520):
        with student.case():
            where = f"for T = {T}"
            same_tensor(student.value("causal_mask", T, where=where), causal_mask(T), "The mask", where)


def _causal_device(student: Student) -> None:
    with student.case():
        same_tensor(student.value("causal_mask", 5), causal_mask(5), "The mask", "without a device")
    with student.case():
        got = student.call("causal_mask", [5], {"device": "meta"}, where="with device given")["value"]
        if not isinstance(got, torch.Tensor) or got.device.type != "meta":
            raise Wrong("The mask is not made on the device that is asked for: pass `device=device` on.")
    with student.case():
        got = student.value("causal_mask", 3, "cpu", where="with device given by position")
        same_tensor(got, causal_mask(3), "The mask", "with device given by position")
    with student.case():
        got = student.call("causal_mask", [], {"T": 3}, where="with T given by name")["value"]
        same_tensor(got, causal_mask(3), "The mask", "with T given by name")


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("True exactly above the diagonal", 1.5, _causal),
        Check("made on the device that is asked for", 0.5, _causal_device),
    ],
    working=r"""
import torch
from torch import nn

def causal_mask(T, device=None):
    return nn.Transformer.generate_square_subsequent_mask(T, device=device).isinf()
""",
    takes="number",
    gives="tensor",
    slips=("nothing_returned", "double_precision", "squeezed", "rounded"),
    wrong=r"""
diagonal_blocked: The diagonal is blocked too, so a token may not look at itself (and the first one at nothing). The mask is True *strictly* above the
    diagonal: diagonal=1.
- diagonal=1 => diagonal=0
one_step_ahead: Each token may still see the next one, which is the very token it has to predict: diagonal=1, not 2.
- diagonal=1 => diagonal=2
inverted: True and False are swapped: here True = blocked, so the allowed part (on and below the diagonal) is False.
- ones.triu(diagonal=1) => ones.tril()
past_blocked: The past is blocked instead of the future: True belongs above the diagonal (triu), not below it (tril).
- ones.triu(diagonal=1) => ones.tril(diagonal=-1)
past_and_self_open_inverted: The mask is True everywhere on and below the diagonal's neighbour: an inverted mask that is also off by one.
- ones.triu(diagonal=1) => ones.tril(diagonal=1)
off_by_one_below: The triangle starts below the diagonal (diagonal=-1), so each token's own past is blocked as well.
- diagonal=1 => diagonal=-1
all_but_diagonal: Everything but the diagonal is blocked: a token could look only at itself.
- ones.triu(diagonal=1) => ones & ~torch.eye(T, dtype=torch.bool, device=device)
floats (slip): The mask is a float tensor of ones and zeros: a boolean tensor is asked for (dtype=torch.bool).
- dtype=torch.bool, =>
integers (slip): The mask is an integer tensor: a boolean tensor is asked for (dtype=torch.bool).
- torch.bool => torch.long || torch.uint8 || torch.int32
infinities: The mask holds 0 and −inf, to be added to scores. That is one of PyTorch's conventions, but here a boolean mask is asked for, True =
    blocked.
- ones.triu(diagonal=1) => torch.zeros(T, T, device=device).masked_fill(ones.triu(diagonal=1), float('-inf'))
- ones.triu(diagonal=1) => torch.zeros(T, T, device=device).masked_fill(ones.triu(diagonal=1), -1e9)
flipped: The triangle lies on the wrong diagonal, the one from the lower left to the upper right: a mask was flipped instead of transposed.
- ones.triu(diagonal=1) => ones.tril(diagonal=-1).flip(0) || ones.tril(diagonal=-1).flip(1)
loop_ends_early (slip): A loop stops one too early, so the last row or column is never written: `range(n)` ends at n − 1 already.
- return ones.triu(diagonal=1) =>
      mask = ones.triu(diagonal=1)
      mask[:, -1] = False
      return mask
- return ones.triu(diagonal=1) =>
      mask = ones.triu(diagonal=1)
      mask[:, :1] = False
      mask[0] = False
      return mask
next_token_only: Only the next token is blocked, not the whole future: everything above the diagonal is True.
- ones.triu(diagonal=1) => ones.triu(diagonal=1).tril(diagonal=1)
upper_half_fixed: All rows block the same keys. Each query has a future of its own: row t blocks the keys after t.
- ones.triu(diagonal=1) => ones & (torch.arange(T, device=device) > T // 2) || ones & (torch.arange(T, device=device) > 0)
one_row (missed): The mask has one row only: (T, T) is asked for, one row for each query.
- ones.triu(diagonal=1) => torch.arange(T, device=device) > torch.arange(T, device=device) || ones.triu(diagonal=1)[0]
squeezed:
- ones.triu(diagonal=1) => ones.triu(diagonal=1).squeeze(0)
no_device: `device` is not a parameter: keep the signature causal_mask(T, device=None) and make the mask there.
- T, device=None => T
  , device=device =>
device_always_needed: `device` is used as if it were always given: with the default None (the CPU) the call fails.
- T, device=None => T, device
nothing_blocked (missed): The mask blocks nothing: all entries are False.
- ones.triu(diagonal=1) => ~ones
everything_blocked (missed): The mask blocks everything: all entries are True.
- ones.triu(diagonal=1) => ones
leading_dimension (slip): The mask has an extra leading dimension: (T, T) is asked for.
- ones.triu(diagonal=1) => ones.triu(diagonal=1)[None] || ones.triu(diagonal=1)[None, None]
list (slip): A list is returned: a tensor is asked for.
- ones.triu(diagonal=1) => ones.triu(diagonal=1).tolist()
array_returned:
- ones.triu(diagonal=1) => ones.triu(diagonal=1).numpy()
inverted_numbers: True and False are swapped, and the mask holds numbers: a boolean tensor is asked for, True = blocked.
- dtype=torch.bool, =>
  triu(diagonal=1) => tril()
- torch.bool => torch.long
  triu(diagonal=1) => tril()
- torch.bool => torch.int32
  triu(diagonal=1) => tril()
one_token_refused (slip): T = 1 is refused or fails: the mask of a single token is (1, 1), with nothing blocked.
- |
  if T < 2:
      raise ValueError('too few')
  ones = torch.ones(T, T, dtype=torch.bool, device=device)
  return ones.triu(diagonal=1)  # (T, T): keeps the part above the diagonal
- |
  assert T > 1
  ones = torch.ones(T, T, dtype=torch.bool, device=device)
  return ones.triu(diagonal=1)  # (T, T): keeps the part above the diagonal
fixed_size: The size is fixed, or has a fixed maximum (a buffer that is sliced): the mask must be (T, T) for every T.
- ones = torch.ones(T, T, => ones = torch.ones(4, 4,
- ones = torch.ones(T, T, => ones = torch.ones(8, 8,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
- ones = torch.ones(T, T, => ones = torch.ones(10, 10,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
- ones = torch.ones(T, T, => ones = torch.ones(16, 16,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
- ones = torch.ones(T, T, => ones = torch.ones(32, 32,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
- ones = torch.ones(T, T, => ones = torch.ones(64, 64,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
- ones = torch.ones(T, T, => ones = torch.ones(100, 100,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
- ones = torch.ones(T, T, => ones = torch.ones(128, 128,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
- ones = torch.ones(T, T, => ones = torch.ones(256, 256,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
- ones = torch.ones(T, T, => ones = torch.ones(512, 512,
  ones.triu(diagonal=1) => ones.triu(diagonal=1)[:T, :T]
device_ignored: `device` is ignored: the mask is always made on the CPU.
- , device=device =>
rounded (missed):
mask_remembered: The mask of the first call is kept and returned for every T: a call uses the T that it is given.
- |
  if not hasattr(causal_mask, 'kept'):
      causal_mask.kept = torch.ones(T, T, dtype=torch.bool, device=device).triu(diagonal=1)
  return causal_mask.kept
other_signature (slip): The arguments have other names: keep the signature causal_mask(T, device=None), so that they may be given by name.
- def causal_mask(T, => def causal_mask(n,
  ones = =>
      T = n
      ones =
""",
    right=r"""
compare_positions:
- ones = torch.ones(T, T, dtype=torch.bool, device=device) => t = torch.arange(T, device=device)
  return ones.triu(diagonal=1) => return t[None, :] > t[:, None]
inverted_tril:
- |
  def causal_mask(T: int, device=None):
      return ~torch.tril(torch.ones((T, T), device=device)).bool()
loops:
- |
  mask = torch.zeros(T, T, dtype=torch.bool)
  for t in range(T):
      for s in range(t + 1, T):
          mask[t, s] = True
  return mask.to(device)
list_comprehension:
- ones = torch.ones(T, T, dtype=torch.bool, device=device) => return torch.tensor([[s > t for s in range(T)] for t in range(T)], device=device)
  return ones.triu(diagonal=1) =>
""",
)
