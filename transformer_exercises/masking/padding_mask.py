"""`padding_mask`: ragged lengths from 0 to the full width; the mistakes are off by one, inverted or fixed in size."""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

padding_mask = reference("padding_mask")

RAGGED = (
    *(([3, 5, 1], 5), ([0, 4], 4), ([2], 6), ([4, 1, 3, 2], 4), ([1, 1], 1), ([2, 3, 1, 5, 6], 7)),
    *(([3, 3, 3], 3), ([0, 0], 3), ([12, 33, 0, 40], 40), ([1], 1), ([300, 513, 77], 520)),
)


def _padding(student: Student) -> None:
    for lengths, max_len in RAGGED:
        with student.case():
            where = f"for lengths {lengths} and max_len = {max_len}"
            given = torch.tensor(lengths)
            got = student.value("padding_mask", given, max_len, where=where)
            same_tensor(got, padding_mask(given, max_len), "The mask", where)


def _padding_manners(student: Student) -> None:
    for given in (torch.tensor([3, 0, 2, 1, 4]), torch.tensor([3, 0, 2], dtype=torch.int32)):
        with student.case():
            where = f"for {dtype_name(given)} lengths"
            answer = student.call("padding_mask", [given, 4], where=where)
            same_tensor(answer["value"], padding_mask(given, 4), "The mask", where)
            unchanged(answer["inputs"], [given], "lengths")
    with student.case():
        given, where = torch.tensor([3, 0, 200], dtype=torch.uint8), "for uint8 lengths and max_len = 300"
        got = student.value("padding_mask", given, 300, where=where)
        same_tensor(got, padding_mask(given, 300), "The mask", where)
    with student.case():
        named, where = {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"
        got = student.call("padding_mask", [], named, where=where)["value"]
        same_tensor(got, padding_mask(**named), "The mask", where)
    device_is_kept(student, "padding_mask", [torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("True exactly at padding", 2.5, _padding),
        Check("inputs unchanged, on the device of `lengths`", 0.5, _padding_manners, further=True),
    ],
    working=r"""
import torch

def padding_mask(lengths, max_len):
    return torch.ones(len(lengths), max_len, device=lengths.device).cumsum(-1) > lengths[:, None]
""",
    takes="tensor",
    gives="tensor",
    slips=("nothing_returned", "input_changed", "double_precision", "squeezed", "rounded"),
    wrong=r"""
inverted: True and False are swapped: True marks padding (blocked), False the real tokens.
- >= => <
off_by_one (slip): Off by one: the first position of padding is left open. With length 3, positions 0, 1 and 2 are real, so padding begins at position 3:
    `>=`, not `>`.
- >= => >
last_token_blocked (slip): Off by one: the last real token is blocked too. With length 3, positions 0, 1 and 2 are real.
- >= lengths => >= -1 + lengths
inverted_off_by_one: True and False are swapped (True marks padding), and the boundary is off by one.
- >= => <=
reshaped: The mask was made with the wrong dimension first and then cut anew with `view` or `reshape`, which scrambles it. Use `transpose`, or compare
    positions (max_len,) with lengths (B, 1).
- positions >= lengths[:, None] => (positions[:, None] >= lengths).reshape(len(lengths), max_len)
- positions >= lengths[:, None] => positions.repeat_interleave(len(lengths)).view(len(lengths), max_len) >= lengths[:, None]
inverted_numbers: True and False are swapped, and the mask holds numbers: a boolean tensor is asked for, True at padding.
- positions >= lengths[:, None] => (positions < lengths[:, None]).float() || (positions < lengths[:, None]).long()
- positions >= lengths[:, None] => (positions < lengths[:, None]).int()
zero_refused (slip): A length of 0 is refused or fails. An empty sequence is allowed: all of its positions are padding.
- |
  if (lengths <= 0).any():
      raise ValueError('empty')
  positions = torch.arange(max_len, device=lengths.device)  # (max_len,)
  return positions >= lengths[:, None]  # (max_len,) against (B, 1) gives (B, max_len)
- |
  assert (lengths > 0).all()
  positions = torch.arange(max_len, device=lengths.device)  # (max_len,)
  return positions >= lengths[:, None]  # (max_len,) against (B, 1) gives (B, max_len)
index_compared: The number of the sequence in the batch is compared with the positions instead of its length.
- >= lengths[:, None] => >= torch.arange(len(lengths), device=lengths.device)[:, None]
negative_slice (slip): A slice such as `mask[b, -n:]` takes the whole row when n is 0, so a sequence without padding is blocked altogether. Slice from the
    length on: `mask[b, length:]`.
- return positions >= lengths[:, None] =>
      mask = positions >= lengths[:, None]
      mask[lengths == max_len] = True
      return mask
last_position_only (slip): A loop stops one too early, so the last position is never marked: `range(n)` ends at n − 1 already.
- return positions >= lengths[:, None] =>
      mask = positions >= lengths[:, None]
      mask[:, -1] = False
      return mask
last_sequence_missed (slip): The last sequence of the batch is left out of the loop.
- return positions >= lengths[:, None] =>
      mask = positions >= lengths[:, None]
      mask[-1] = False
      return mask
square: The mask is square: (B, max_len) is asked for, one number for each position of each sequence.
- return positions >= lengths[:, None] =>
      mask = positions >= lengths[:, None]
      return mask[:, None, :] | mask[:, :, None]
- return positions >= lengths[:, None] =>
      mask = positions >= lengths[:, None]
      return mask[:, None, :].expand(-1, max_len, -1)
size_limited: The number of positions is fixed or has a fixed maximum: the mask must be max_len wide.
- torch.arange(max_len => torch.arange(min(max_len, 16) || torch.arange(min(max_len, 32) || torch.arange(16
- torch.arange(max_len => torch.arange(min(max_len, 64) || torch.arange(min(max_len, 512)
ids_expected: `lengths` is taken for the ids themselves (`== 0`): it holds how many real tokens each sequence has.
- positions >= lengths[:, None] => (lengths == 0)[:, None].expand(-1, max_len) || lengths == 0
nothing_blocked (missed): Nothing is blocked: all entries are False.
- positions >= lengths[:, None] => (positions >= lengths[:, None]) & False
left_padding: The padding is marked on the left: the real tokens come first here.
- positions >= lengths[:, None] => positions < max_len - lengths[:, None]
longest (slip): The mask is as wide as the longest sequence of the batch; it should be max_len wide.
- torch.arange(max_len => torch.arange(int(lengths.max())
transposed (slip): The mask is transposed: (B, max_len) is asked for, one row for each sequence.
- positions >= lengths[:, None] => positions[:, None] >= lengths
no_broadcast_dimension: `lengths` has shape (B,) and the positions (max_len,): compared directly they are paired one with one, which fails, or is
    nonsense when B = max_len. Give lengths a dimension: `lengths[:, None]`.
- lengths[:, None] => lengths
first_sequence: Every row uses the length of the first sequence.
- lengths[:, None] => lengths[:1, None].expand(len(lengths), 1)
equal_only: Only one position of each row is marked: everything from the length on is padding.
- >= => ==
floats (slip): The mask is a float tensor: a boolean tensor is asked for, True at padding.
- return positions >= lengths[:, None] => return (positions >= lengths[:, None]).float()
integers (slip): The mask is an integer tensor: a boolean tensor is asked for.
- return positions >= lengths[:, None] => return (positions >= lengths[:, None]).long() || return (positions >= lengths[:, None]).int()
- return positions >= lengths[:, None] => return (positions >= lengths[:, None]).byte()
infinities: The mask holds 0 and −inf, to be added to scores: here a boolean mask is asked for, True = blocked.
- return positions >= lengths[:, None] =>
      mask = positions >= lengths[:, None]
      return torch.zeros(mask.shape).masked_fill(mask, float('-inf'))
extra_dimensions (slip): The mask has extra dimensions: (B, max_len) is asked for.
- return positions >= lengths[:, None] => return (positions >= lengths[:, None])[:, None] || return (positions >= lengths[:, None])[:, None, None]
list (slip): A list is returned: a tensor is asked for.
- return positions >= lengths[:, None] => return (positions >= lengths[:, None]).tolist() || return list(positions >= lengths[:, None])
array_returned:
- return positions >= lengths[:, None] => return (positions >= lengths[:, None]).numpy()
zero_length (slip): A sequence of length 0 is treated as if it had one token: all of its positions are padding.
- lengths[:, None] => lengths[:, None].clamp(min=1)
device_dropped: The positions are made without `device=lengths.device`: on a GPU the comparison fails.
- , device=lengths.device =>
input_changed:
- |
  lengths -= 1
  positions = torch.arange(max_len, device=lengths.device)  # (max_len,)
  return positions > lengths[:, None]  # (max_len,) against (B, 1) gives (B, max_len)
rounded (missed):
small_integers (slip): The positions are counted in the type of the lengths, or one is taken from them: in uint8, 256 is 0 and 0 − 1 is 255. Lengths may
    be integers of any type.
- positions >= lengths[:, None] => positions.to(lengths.dtype) >= lengths[:, None] || positions > lengths[:, None] - 1
other_signature (slip): The arguments have other names: keep the signature padding_mask(lengths, max_len), so that they may be given by name.
- max_len => width
- lengths => sizes
""",
    right=r"""
loop:
- |
  mask = torch.zeros(len(lengths), max_len, dtype=torch.bool, device=lengths.device)
  for b, n in enumerate(lengths.tolist()):
      mask[b, n:] = True
  return mask
inverted_less_than:
- positions = torch.arange(max_len, device=lengths.device) => idx = torch.arange(max_len, device=lengths.device).expand(lengths.shape[0], max_len)
  return positions >= lengths[:, None] => return ~(idx < lengths.unsqueeze(1))
comprehension:
- positions = torch.arange(max_len, device=lengths.device) => rows = [[j >= int(n) for j in range(max_len)] for n in lengths]
  return positions >= lengths[:, None] => return torch.tensor(rows, dtype=torch.bool, device=lengths.device)
""",
)
