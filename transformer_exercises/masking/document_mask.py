"""`document_mask`: causal and within a document, for ids in any order, of any type and size, with any batch in front.

The mistakes: one of the two rules missing or inverted, ids taken as sorted or as special, batches mixed up.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

document_mask = reference("document_mask")

MIXED = torch.tensor([[3, 3, 1, 3, 1], [0, 2, 2, 0, 2], [4, 4, 4, 4, 4]])


def _compared(student: Student, ids: torch.Tensor, where: str) -> None:
    with student.case():
        same_tensor(student.value("document_mask", ids, where=where), document_mask(ids), "The mask", where)


def _packed(student: Student) -> None:
    for ids in ([0, 0, 0, 1, 1], [0, 1, 1, 1, 2, 2], [5, 5, 2, 2, 2, 9, 9], [1, 1, 1], [4], [0, 1, 2, 3]):
        _compared(student, torch.tensor(ids), f"for ids {ids}")
    _compared(student, torch.arange(40) // 7, "for 40 tokens in documents of 7")
    _compared(student, torch.arange(140) // 50, "for 140 tokens in documents of 50")


def _batches(student: Student) -> None:
    steps = torch.arange(2 * 3 * 6).reshape(2, 3, 6)
    for ids in (
        *(torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]]), torch.tensor([[0, 0, 1], [0, 1, 2], [2, 2, 2]])),
        *(steps // 4, torch.tensor([[6, 6, 8, 8, 8]]), steps[:, :1] // 3),
    ):
        _compared(student, ids, f"for ids of shape {tuple(ids.shape)}")


def _any_order(student: Student) -> None:
    for ids in ([7, 7, 2, 7], [0, 1, 0, 1, 0], [3, 2, 2, 1, 3], [-1, 0, 0, -1, 2, -1], [0, 0, 5, 0]):
        _compared(student, torch.tensor(ids), f"for ids {ids}")
    _compared(student, MIXED, "for ids in another order in each row")
    large = torch.tensor([2**40 + 1, 2**40, 1, 2**40 + 1, 0])
    _compared(student, large, "for large ids")
    _compared(student, torch.tensor([2**62 + 1, 2**62, 2**62 + 1, -(2**62)]), "for ids of 63 bits")


def _manners(student: Student) -> None:
    for ids in (MIXED, torch.tensor([[2, 2, 0, 2]], dtype=torch.int32), torch.tensor([200, 200, 3], dtype=torch.uint8)):
        with student.case():
            where = f"for {dtype_name(ids)} ids"
            answer = student.call("document_mask", [ids], where=where)
            same_tensor(answer["value"], document_mask(ids), "The mask", where)
            unchanged(answer["inputs"], [ids], "document_ids")
    _compared(student, MIXED.T, "for ids that are not contiguous (a transpose)")
    with student.case():
        where = "with document_ids given by name"
        got = student.call("document_mask", [], {"document_ids": MIXED}, where=where)["value"]
        same_tensor(got, document_mask(MIXED), "The mask", where)
    with student.case():
        device_is_kept(student, "document_mask", [MIXED])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("causal, and within each document", 1.25, _packed),
        Check("batch dimensions", 0.75, _batches),
        Check("ids in any order and of any size", 0.5, _any_order, further=True),
        Check("any integer type, ids unchanged, any layout and device", 0.5, _manners, further=True),
    ],
    working=r"""
import torch

def document_mask(document_ids):
    T = document_ids.shape[-1]
    apart = (document_ids.unsqueeze(-1) - document_ids.unsqueeze(-2)).ne(0)
    open_ = apart.logical_not().tril()
    return open_.logical_not()
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
future_open: Only other documents are blocked: the future must be blocked, too, also within a document.
- future | ~same => ~same
causal_only (missed): Only the future is blocked: earlier documents must be blocked, too.
- future | ~same => future.expand(same.shape) || future
and: The two rules are joined with *and*: a key is blocked if it is in the future *or* of another document (`|`).
- future | ~same => future & ~same
exclusive_or (slip): The two rules are joined with exclusive or (`^` or `!=`): where both block, the key comes free again. Use `|`.
- future | ~same => future ^ ~same
same_blocked: The token's own document is blocked and the others are open: it is the other way round (`~`, or `!=` for `==`).
- future | ~same => future | same
inverted: True and False are swapped: here True = blocked.
- future | ~same => ~future & same
one_inverted: One of the two rules is inverted before they are joined (the causal one): True = blocked in both.
- future | ~same => ~future | ~same
past_blocked: The past is blocked instead of the future: rows are queries, columns are keys.
- return future | ~same => return (future | ~same).transpose(-2, -1)
diagonal_blocked (slip): The diagonal is blocked too: a token always sees itself.
- future | ~same => torch.ones_like(future).triu() | ~same
one_step_ahead (slip): Each token may see the next one: the future begins right after the token itself.
- future | ~same => future.triu(2) | ~same
runs_only: A new document is taken to begin wherever the id changes: equal ids are the same document, also after an interruption.
- same = =>
      changed = document_ids[..., 1:] != document_ids[..., :-1]
      start = torch.zeros_like(document_ids[..., :1])
      document_ids = torch.cat([start, changed.long().cumsum(-1)], dim=-1)
      same =
sorted_first: The ids are sorted first, which moves tokens to other places: they need not be sorted.
- same = =>
      document_ids = document_ids.sort(dim=-1).values
      same =
earlier_documents_open: Documents with a smaller id stay open: only keys with an *equal* id are (`==`, not `>=`).
- document_ids[..., :, None] == document_ids => document_ids[..., :, None] >= document_ids
later_documents_open: Documents with a larger id stay open: only keys with an *equal* id are (`==`, not `<=`).
- document_ids[..., :, None] == document_ids => document_ids[..., :, None] <= document_ids
neighbours_open: Documents whose ids are neighbours are taken for one: only *equal* ids are.
- document_ids[..., :, None] == document_ids[..., None, :] => (document_ids[..., :, None] - document_ids[..., None, :]).abs() <= 1
first_document_open: The first document is open for all: only keys of the token's own document are.
- future | ~same => future | (~same & (document_ids != document_ids[..., :1])[..., None, :])
zero_is_padding: The id 0 is treated as padding: no id is special.
- future | ~same => future | ~same | (document_ids == 0)[..., None, :]
minus_one_is_padding: Negative ids are treated as padding: no id is special.
- future | ~same => future | ~same | (document_ids < 0)[..., None, :] || future | ~same | (document_ids == -1)[..., None, :]
product: The ids are multiplied to compare them, which takes 0 for equal to anything: compare with `==`.
- document_ids[..., :, None] == document_ids[..., None, :] => document_ids[..., :, None] * document_ids[..., None, :] == document_ids[..., :, None] ** 2
one_hot: The ids are used as positions of one-hot vectors or in a table: ids are any integers, also negative and large ones.
- same = document_ids[..., :, None] == document_ids[..., None, :] =>
      hot = torch.nn.functional.one_hot(document_ids.long()).float()
      same = hot @ hot.transpose(-2, -1) > 0
floats_compared: The ids are turned into floats before they are compared: large ids that differ become equal.
- same = document_ids[..., :, None] == document_ids[..., None, :] => same = document_ids[..., :, None].float() == document_ids[..., None, :].float()
- same = document_ids[..., :, None] == document_ids[..., None, :] => same = document_ids[..., :, None].double() == document_ids[..., None, :].double()
small_integers (slip): The ids are cast to a smaller integer type: large ids that differ become equal.
- same = =>
      document_ids = document_ids.int()
      same =
first_sequence: All rows of the batch get the mask of the first one: each has its own documents.
- same = =>
      document_ids = document_ids[:1].expand_as(document_ids) if document_ids.dim() > 1 else document_ids
      same =
all_rows_joined: One mask is made for the whole batch: each row has its own documents.
- return future | ~same =>
      mask = future | ~same
      while mask.dim() > 2:
          mask = mask.any(0)
      return mask
flattened: The batch is flattened into one long row: (..., T, T) is asked for, a mask for each row.
- same = =>
      document_ids = document_ids.flatten()
      same =
one_row_only: Only a single row of ids works: the batch dimensions are forgotten. Count dimensions from the end: `document_ids[..., :, None]`.
- document_ids[..., :, None] == document_ids[..., None, :] => document_ids[:, None] == document_ids[None, :]
- document_ids.shape[-1] => document_ids.shape[0]
two_dimensions_only: Only ids of shape (B, T) work: any number of batch dimensions may come first, also none. Count dimensions from the end.
- document_ids[..., :, None] == document_ids[..., None, :] => document_ids[:, :, None] == document_ids[:, None, :]
- same = =>
      B, T = document_ids.shape
      same =
head_dimension: A dimension for heads is added: (..., T, T) is asked for.
- return future | ~same => return (future | ~same).unsqueeze(-3)
leading_dimension (slip): The mask has an extra leading dimension: (..., T, T) is asked for.
- return future | ~same => return (future | ~same)[None]
floats (slip): The mask is a float tensor of ones and zeros: a boolean tensor is asked for.
- return future | ~same => return (future | ~same).float()
integers (slip): The mask is an integer tensor: a boolean tensor is asked for.
- return future | ~same => return (future | ~same).long() || return (future | ~same).int() || return (future | ~same).byte()
added (slip): The two rules are added as numbers, which gives 0, 1 and 2: join booleans with `|`.
- future | ~same => future.int() + (~same).int() || future.float() + (~same).float()
infinities: The mask holds 0 and −inf, to be added to scores: here a boolean mask is asked for, True = blocked.
- return future | ~same => return torch.zeros(same.shape).masked_fill(future | ~same, float('-inf'))
- return future | ~same => return torch.zeros(same.shape).masked_fill(future | ~same, -1e9)
python_or (missed): `or` and `and` ask a whole tensor for one truth value, which fails. Join entry by entry with `|`.
- future | ~same => future or ~same
pair_returned: The two masks are returned one by one: join them with `|` into one.
- future | ~same => future, ~same
device_dropped: A mask is made without `device=document_ids.device`: on a GPU the two could not be joined.
- , device=document_ids.device =>
nothing_blocked (missed): The mask blocks nothing: all entries are False.
- future | ~same => future & ~future | (same & False)
everything_blocked (missed): The mask blocks everything: all entries are True.
- future | ~same => future | ~same | True
rounded (missed):
size_limited: The number of tokens has a fixed maximum: the mask must be (..., T, T) for every T.
- same = =>
      document_ids = document_ids[..., :32]
      same =
- same = =>
      document_ids = document_ids[..., :128]
      same =
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape`, or count dimensions from the end.
- same = =>
      document_ids = document_ids.view(-1).view(document_ids.shape)
      same =
other_signature (slip): The argument has another name: keep the signature document_mask(document_ids), so that it may be given by name.
- document_ids => ids
""",
    right=r"""
positions:
- |
  ids = document_ids
  t = torch.arange(ids.size(-1), device=ids.device)
  return (t[None, :] > t[:, None]) | (ids.unsqueeze(-1) != ids.unsqueeze(-2))
triangle_of_the_open_ones:
- |
  seen = (document_ids.unsqueeze(-1) == document_ids.unsqueeze(-2)).tril()
  return torch.logical_not(seen)
loops:
- |
  T = document_ids.shape[-1]
  mask = torch.ones(*document_ids.shape, T, dtype=torch.bool, device=document_ids.device)
  for t in range(T):
      for s in range(t + 1):
          mask[..., t, s] = document_ids[..., t] != document_ids[..., s]
  return mask
row_by_row:
- |
  rows = document_ids.reshape(-1, document_ids.shape[-1])
  later = torch.arange(rows.shape[-1], device=rows.device)
  masks = [torch.stack([(later > t) | (row != row[t]) for t in range(len(row))]) for row in rows]
  return torch.stack(masks).reshape(*document_ids.shape, document_ids.shape[-1])
flex_attention:
- |
  from torch.nn.attention.flex_attention import and_masks, create_mask
  rows = document_ids.reshape(-1, document_ids.shape[-1])
  B, T = rows.shape
  rules = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: rows[b, q] == rows[b, k])
  return ~create_mask(rules, B, None, T, T, device=rows.device)[:, 0].reshape(*document_ids.shape, T)
""",
)
