"""`attention_mask`: causal and padding together, for ragged, full and empty batches.

The mistakes: `&` for `|`, padding on queries, no dimension for heads, masks inverted or shared between sequences.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

attention_mask = reference("attention_mask")
causal_mask = reference("causal_mask")


def _attention(student: Student) -> None:
    for lengths, max_len in (
        *(([3, 2], 3), ([3, 5, 1], 5), ([4, 0, 2, 3], 4), ([2], 4), ([1, 1, 1], 1), ([6, 2], 7)),
        *(([2, 1, 2], 2), ([0, 0], 2), ([7, 20, 13], 20), ([140, 100], 140)),
    ):
        with student.case():
            where = f"for lengths {lengths} and max_len = {max_len}"
            given = torch.tensor(lengths)
            got = student.value("attention_mask", given, max_len, where=where)
            same_tensor(got, attention_mask(given, max_len), "The mask", where)


def _attention_full(student: Student) -> None:
    for B, T in ((3, 4), (4, 4), (1, 3)):
        with student.case():
            where = f"without any padding, for B = {B} and T = {T}"
            got = student.value("attention_mask", torch.full((B,), T), T, where=where)
            same_tensor(got, causal_mask(T).expand(B, 1, T, T), "The mask", where)


def _attention_manners(student: Student) -> None:
    for given in (torch.tensor([3, 0, 2]), torch.tensor([2, 4, 1, 3], dtype=torch.int32)):
        with student.case():
            where = f"for {dtype_name(given)} lengths"
            answer = student.call("attention_mask", [given, 4], where=where)
            same_tensor(answer["value"], attention_mask(given, 4), "The mask", where)
            unchanged(answer["inputs"], [given], "lengths")
    with student.case():
        named, where = {"lengths": torch.tensor([2, 1]), "max_len": 3}, "with arguments given by name"
        got = student.call("attention_mask", [], named, where=where)["value"]
        same_tensor(got, attention_mask(**named), "The mask", where)
    device_is_kept(student, "attention_mask", [torch.tensor([3, 1]), 4])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("causal and padding together, for many batches", 2.5, _attention),
        Check("without padding it is the causal mask", 1.0, _attention_full),
        Check("inputs unchanged, on the device of `lengths`", 0.5, _attention_manners, further=True),
    ],
    working=r"""
import torch

def attention_mask(lengths, max_len):
    position = torch.arange(max_len, device=lengths.device)
    last = torch.minimum(position[None, :], lengths[:, None] - 1)
    return (position > last[:, :, None]).unsqueeze(1)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "input_changed",
        "double_precision",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
    ),
    wrong=r"""
and: The two masks are joined with *and*: a key is blocked if it is in the future *or* is padding (`|`).
- future | padding => future & padding
exclusive_or (slip): The two masks are joined with exclusive or (`^` or `!=`): where both block, the key comes free again. Use `|`.
- future | padding => future ^ padding
padding_on_queries: The padding is applied to the rows (queries): rows of padded queries are blocked altogether. What must not be looked *at* is a
    padded key: padding[:, None, None, :]. (A fully blocked row makes NaN in a plain softmax.)
- [:, None, None, :] => [:, None, :, None]
no_head_dimension (slip): The dimension for the heads is missing: (B, 1, T, T) is asked for, so that the mask broadcasts over heads.
- [:, None, None, :] => [:, None, :]
queries_without_heads: The dimension for the heads is missing, (B, 1, T, T) is asked for, and the padding is applied to the rows (queries): it belongs
    to the keys.
- [:, None, None, :] => [:, :, None]
head_dimension_first (slip): The dimension of size 1 stands in the wrong place (before the batch, or after the queries): (B, 1, T, T) is asked for.
- future | padding[:, None, None, :] => (future | padding[:, None, :])[None] || (future | padding[:, None, :]).unsqueeze(2)
- future | padding[:, None, None, :] => (future | padding[:, None, :]).unsqueeze(-1)
inverted_without_heads: True and False are swapped (True = blocked), and the dimension for the heads is missing: (B, 1, T, T) is asked for.
- future | padding[:, None, None, :] => ~(future | padding[:, None, :])
inverted_numbers: True and False are swapped, and the mask holds numbers: a boolean tensor is asked for, True = blocked.
- future | padding[:, None, None, :] => (~(future | padding[:, None, None, :])).float() || (~(future | padding[:, None, None, :])).int()
batch_repeated: The mask is repeated for the batch although it has the batch already: (B, 1, T, T) is asked for.
- future | padding[:, None, None, :] => (future | padding[:, None, None, :]).repeat(len(lengths), 1, 1, 1)
- future | padding[:, None, None, :] => (future | padding[:, None, None, :])[None].expand(len(lengths), -1, -1, -1, -1)
several_heads (slip): The dimension for the heads has another size than 1: (B, 1, T, T) is asked for, which broadcasts over any number.
- future | padding[:, None, None, :] => (future | padding[:, None, None, :]).expand(-1, 8, -1, -1)
- future | padding[:, None, None, :] => (future | padding[:, None, None, :]).expand(-1, len(lengths), -1, -1)
diagonal_reopened: The diagonal is opened again, so padded tokens look at themselves: a padded key is blocked for every query. Rows that end up fully
    blocked are the business of masked_softmax.
- future | padding[:, None, None, :] => (future | padding[:, None, None, :]) & ~torch.eye(max_len, dtype=torch.bool, device=lengths.device)
empty_rows_reopened: Rows that are fully blocked are opened again. The mask says what is blocked, nothing else: such rows are the business of
    masked_softmax.
- return future | padding[:, None, None, :] =>
      mask = future | padding[:, None, None, :]
      return mask & ~mask.all(dim=-1, keepdim=True)
- return future | padding[:, None, None, :] =>
      mask = future | padding[:, None, None, :]
      mask[lengths == 0] = future
      return mask
shared_buffer: One mask is written into again and again (`|=`), so the padding of one sequence sticks to the next. Make a new mask for each.
- return future | padding[:, None, None, :] =>
      masks = []
      for row in padding:
          future |= row
          masks.append(future.clone())
      return torch.stack(masks)[:, None]
python_or (missed): `or` and `and` ask a whole tensor for one truth value, which fails. Join the masks entry by entry with `|`.
- future | padding => future or padding
last_sequence: All sequences get the mask of the last one: it is overwritten in the loop.
- future | padding[:, None, None, :] => (future | padding[-1:, None, None, :]).expand(len(lengths), 1, max_len, max_len)
- future | padding[:, None, None, :] => (future | padding[-1:, None, None, :])
any_padding: A position that is padding in one sequence is blocked in all of them (do all write into one mask?). Each sequence has a length of its
    own.
- future | padding[:, None, None, :] => (future | padding.any(0)).expand(len(lengths), 1, max_len, max_len)
pair_returned: The two masks are returned one by one: join them with `|` into one.
- return future | padding[:, None, None, :] => return future, padding
padding_only: Only padding is blocked; the future is missing.
- future | padding[:, None, None, :] => (padding[:, None, None, :] | torch.zeros_like(future))
padding_not_expanded: The mask has one row for all queries, (B, 1, 1, T), in which only padding is blocked. Each query needs a row of its own, with
    its own future blocked: (B, 1, T, T).
- future | padding[:, None, None, :] => padding[:, None, None, :]
causal_only: Only the future is blocked; the padding is missing, or is blocked for real queries only, whose future covers it anyway. A padded key is
    blocked for every query, also for padded ones.
- future | padding[:, None, None, :] => future.expand(len(lengths), 1, max_len, max_len)
inverted: True and False are swapped: here True = blocked.
- future | padding[:, None, None, :] => ~(future | padding[:, None, None, :])
one_inverted: One of the two masks is inverted before they are joined (the causal one): True = blocked in both.
- future | padding[:, None, None, :] => ~future | padding[:, None, None, :]
padding_inverted: One of the two masks is inverted before they are joined (the padding): True = blocked in both.
- future | padding[:, None, None, :] => future | ~padding[:, None, None, :]
transposed: The causal part is transposed: the past is blocked instead of the future.
- future | padding => future.T | padding
all_transposed: Rows and columns are exchanged: the mask's rows are queries, its columns are keys.
- future | padding[:, None, None, :] => (future | padding[:, None, None, :]).transpose(-2, -1)
diagonal_blocked (slip): The diagonal is blocked too: a token may look at itself.
- future | padding[:, None, None, :] => future | padding[:, None, None, :] | torch.eye(max_len, dtype=torch.bool, device=lengths.device)
one_step_ahead (slip): Each token may still see the next one: the causal mask must be True strictly above the diagonal.
- future | padding => future.triu(2) | padding
padding_off_by_one (slip): The padding is off by one: the first padded key is left open.
- padding_mask(lengths, max_len) => padding_mask(lengths + 1, max_len)
padding_off_by_one_down (slip): The padding is off by one: the last real token is blocked too.
- padding_mask(lengths, max_len) => padding_mask(lengths - 1, max_len)
longest (slip): The mask is as large as the longest sequence of the batch instead of max_len.
- future = =>
      max_len = int(lengths.max())
      future =
first_sequence: All sequences get the mask of the first one.
- future | padding[:, None, None, :] => (future | padding[:1, None, None, :]).expand(len(lengths), 1, max_len, max_len)
batch_paired_with_rows: The padding was not given its own dimensions, so broadcasting pairs sequences with rows (queries): it fails, or is nonsense
    when B = T. Use padding[:, None, None, :].
- future | padding[:, None, None, :] => (future | padding)[:, None] || future | padding || (future | padding)[None, None]
- future | padding[:, None, None, :] => (future | padding).expand(len(lengths), 1, max_len, max_len)
floats (slip): The mask is not boolean: a tensor of dtype torch.bool is asked for.
- future | padding[:, None, None, :] => (future | padding[:, None, None, :]).float() || (future | padding[:, None, None, :]).long()
- future | padding[:, None, None, :] => (future | padding[:, None, None, :]).int() || (future | padding[:, None, None, :]).byte()
added (slip): The two masks are added as numbers, which gives 0, 1 and 2: join booleans with `|`.
- future | padding[:, None, None, :] => future.int() + padding[:, None, None, :].int() || future.float() + padding[:, None, None, :].float()
- future | padding[:, None, None, :] => future.long() + padding[:, None, None, :].long()
infinities: The mask holds 0 and −inf, to be added to scores: here a boolean mask is asked for, True = blocked.
- return future | padding[:, None, None, :] =>
      mask = future | padding[:, None, None, :]
      return torch.zeros(mask.shape).masked_fill(mask, float('-inf'))
squeezed:
- future | padding[:, None, None, :] => (future | padding[:, None, None, :]).squeeze(0)
device_dropped: A mask is made without `device=lengths.device`: on a GPU the two masks could not be joined.
- causal_mask(max_len, device=lengths.device) => causal_mask(max_len)
first_key_always_open: The first key is always left open, even in an empty sequence: fully blocked rows are the business of masked_softmax.
- return future | padding[:, None, None, :] =>
      mask = future | padding[:, None, None, :]
      mask[..., 0] = False
      return mask
rounded (missed):
size_limited: The number of tokens has a fixed maximum: the mask must be max_len high and wide.
- future = =>
      max_len = min(max_len, 16)
      future =
- future = =>
      max_len = min(max_len, 128)
      future =
other_signature (slip): The arguments have other names: keep the signature attention_mask(lengths, max_len), so that they may be given by name.
- max_len => width
- attention_mask(lengths, max_len): => attention_mask(sizes, max_len):
  future = =>
      lengths = sizes
      future =
""",
    right=r"""
positions_only:
- future = causal_mask(max_len, device=lengths.device) => pos = torch.arange(max_len, device=lengths.device)
  padding = padding_mask(lengths, max_len) => query, key = pos.view(1, 1, -1, 1), pos.view(1, 1, 1, -1)
  return future | padding[:, None, None, :] => return (key > query) | (key >= lengths.view(-1, 1, 1, 1))
loops:
- |
  mask = torch.zeros(len(lengths), 1, max_len, max_len, dtype=torch.bool)
  for b, n in enumerate(lengths):
      for t in range(max_len):
          for s in range(max_len):
              mask[b, 0, t, s] = s > t or s >= n
  return mask.to(lengths.device)
allowed_inverted:
- |
  past = torch.ones(max_len, max_len, device=lengths.device).tril().bool()
  real = ~padding_mask(lengths, max_len)
  allowed = torch.logical_and(past.unsqueeze(0).unsqueeze(0), real.unsqueeze(1).unsqueeze(2))
  return torch.logical_not(allowed)
stacked:
- |
  base = causal_mask(max_len, lengths.device)
  return torch.stack([base | row for row in padding_mask(lengths, max_len)]).unsqueeze(1)
""",
)
