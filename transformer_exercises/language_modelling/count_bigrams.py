"""`count_bigrams`: the table of pairs, short texts, ids out of range, and whether Python loops over the text.

The mistakes are pairs that are missed, invented or turned round, repeats counted once, and tables of another size.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Problem, Wrong
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

from .common import quiet_and_pure, same_values, text_of

count_bigrams = reference("count_bigrams")

# Whether more lines of Python run for a longer text; a loop runs at least one for each token. No clock is involved.
_GROWS = """
import sys

def grows(count, short, long, vocab_size):
    def lines(ids):
        seen = 0
        def trace(frame, event, arg):
            nonlocal seen
            seen += 1
            return trace
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            count(ids, vocab_size)
        finally:
            sys.settrace(before)
        return seen
    lines(short)  # the first call may import things
    return lines(long) - lines(short) > (len(long) - len(short)) // 2
"""


def _count_values(student: Student) -> None:
    for ids, vocab_size in (
        ([0, 1, 0, 1, 1], 2),
        ([2, 0, 2, 2, 1, 0, 2, 0], 3),
        ([0, 1], 2),
        ([4, 4, 4, 4, 0, 3, 2, 1, 4], 5),
    ):
        with student.case():
            where = f"for ids {ids} and vocab_size = {vocab_size}"
            given = torch.tensor(ids)
            got = student.value("count_bigrams", given, vocab_size, where=where)
            same_values(got, count_bigrams(given, vocab_size), "The table", where)
    for n, vocab_size in ((25, 6), (8, 11), (150, 7)):
        with student.case():
            given, where = text_of(n, vocab_size), f"for {n} ids and vocab_size = {vocab_size}"
            got = student.value("count_bigrams", given, vocab_size, where=where)
            same_values(got, count_bigrams(given, vocab_size), "The table", where)


def _count_edges(student: Student) -> None:
    for ids, vocab_size, where in (
        ([], 3, "for an empty text"),
        ([2], 4, "for a text of one token"),
        ([0, 0, 1], 6, "when the last tokens of the vocabulary do not occur"),
        ([5, 4, 5, 5], 8, "when the first tokens of the vocabulary do not occur"),
        ([0, 0, 0], 1, "for a vocabulary of one token"),
        ([1] * 300, 2, "when one pair occurs 299 times"),
    ):
        with student.case():
            given = torch.tensor(ids, dtype=torch.int64)
            got = student.value("count_bigrams", given, vocab_size, where=where)
            same_values(got, count_bigrams(given, vocab_size), "The table", where)


def _count_without_loop(student: Student) -> None:
    ids, where = text_of(350, 3), "for a text of 350 tokens"
    same_values(student.value("count_bigrams", ids, 3, where=where), count_bigrams(ids, 3), "The table", where)
    try:
        function = student.call(("count_bigrams", "__get__"), [None, 0], keep=True)["value"]  # the function itself
    except Problem:
        return  # something else that can be called: what runs inside stays its secret
    grows = student.value(student.probe("grows", _GROWS), function, ids[:50], ids, 3)
    if grows is True:
        raise Wrong(
            "The counts are right, but Python runs through the text token by token. Let torch count all pairs at once: "
            "the two shifted views `ids[:-1]` and `ids[1:]` hold them.",
            "python_loop",
        )
    ids = torch.ones(40_000, dtype=torch.int64)
    ids[::1000] = 0
    where = "for a text of 40,000 tokens"
    same_values(student.value("count_bigrams", ids, 3, where=where), count_bigrams(ids, 3), "The table", where)


def _count_bad_ids(student: Student) -> None:
    for ids, where in (
        ([0, 3, 1], "for ids that contain vocab_size itself"),
        ([0, 2, 7], "when the last id is too large"),
        ([1, -1, 2], "for a negative id"),
        ([3, 1], "when the first of two ids is too large"),
        ([-1, 0, 1], "when the first id is negative"),
    ):
        with student.case():
            try:
                student.value("count_bigrams", torch.tensor(ids), 3, where=where)
            except Problem as problem:
                if problem.error == "ValueError":
                    continue
                if problem.error in ("", "NotImplementedError"):
                    raise
                raise Wrong(
                    f"Your code stops with {problem.error} {where}: raise a ValueError that says what is wrong with "
                    "`ids`.",
                    "bad_ids_accepted",
                ) from None
            raise Wrong(
                f"The result is a table as if nothing were wrong {where}: a ValueError is asked for, because such "
                "pairs would be counted in a wrong cell, or not at all.",
                "bad_ids_accepted",
            )
    got = student.value("count_bigrams", torch.tensor([0, 2, 1]), 3)  # nothing wrong here
    same_values(got, count_bigrams(torch.tensor([0, 2, 1]), 3), "The table")


def _count_manners(student: Student) -> None:
    ids = text_of(12, 5)
    quiet_and_pure(student, "count_bigrams", [ids, 5], count_bigrams(ids, 5), "The table", "`ids`")
    every_other = text_of(24, 5)[::2]
    got = student.value("count_bigrams", every_other, 5, where="for a tensor that is not contiguous")
    same_tensor(got, count_bigrams(every_other, 5), "The table", "for a tensor that is not contiguous")
    device_is_kept(student, "count_bigrams", [ids, 5])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("how often j follows i", 1.5, _count_values),
        Check("empty texts, one token, tokens that do not occur", 0.5, _count_edges, further=True),
        Check("no Python loop over the text", 0.4, _count_without_loop, further=True),
        Check("an id outside the vocabulary is a ValueError", 0.3, _count_bad_ids),
        Check("int64, inputs unchanged, any layout and device", 0.3, _count_manners, further=True),
    ],
    working=r"""
import torch

def count_bigrams(ids, vocab_size):
    if len(ids) and not 0 <= ids.min() <= ids.max() < vocab_size:
        raise ValueError("ids")
    counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
    return counts.index_put((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "input_changed",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
        "global_generator",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
transposed: The table is transposed: counts[i, j] says how often j follows i, so the row is the earlier token and the column the later one.
- first * vocab_size + second => second * vocab_size + first
- |
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
  counts.index_put_((ids[1:], ids[:-1]), torch.ones_like(ids[1:]), accumulate=True)
  return counts
- first * vocab_size + second => second * vocab_size + first
  if ((ids < 0) | (ids >= vocab_size)).any(): => if False:
repeats_counted_once: A pair that occurs several times is counted once: `counts[i, j] += 1` with index *tensors* reads all old values first, and the
    last write wins. Use `bincount`, or `index_put_` with accumulate=True.
- return counts.view(vocab_size, vocab_size) => return counts.clamp(max=1).view(vocab_size, vocab_size)
- |
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
  counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=False)
  return counts
wraps_round (slip): The last token is paired with the first: `torch.roll`, or the index −1 at the start of a loop, wraps round. N tokens have N − 1 pairs.
- ids[:-1], ids[1:] => ids, ids.roll(-1)
- ids[:-1], ids[1:] => ids, ids.roll(-1)
  if ((ids < 0) | (ids >= vocab_size)).any(): => if False:
last_pair_missed (slip): The last pair is not counted: N tokens have N − 1 pairs, and `range(n)` ends at n − 1 already.
- ids[:-1], ids[1:] => ids[:-2], ids[1:-1]
- ids[:-1], ids[1:] => ids[:-2], ids[1:-1]
  if ((ids < 0) | (ids >= vocab_size)).any(): => if False:
first_pair_missed (slip): The first pair is not counted: it begins with the token at position 0.
- ids[:-1], ids[1:] => ids[1:-1], ids[2:]
without_overlap: Every other pair is missed: the pairs overlap, since each token but the first and last belongs to two of them.
- ids[:-1], ids[1:] => ids[:-1:2], ids[1::2]
both_directions: Each pair is counted in both directions, so the table is symmetric. Order matters: only counts[i, j] grows when j follows i.
- return counts.view(vocab_size, vocab_size) =>
      counts = counts.view(vocab_size, vocab_size)
      return counts + counts.T
two_apart: Tokens two apart are paired instead of neighbours: shift by one.
- ids[:-1], ids[1:] => ids[:-2], ids[2:]
any_later_token: Every later token is counted as a follower, not just the next one.
- in index_put
  counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True) =>
      for k in range(len(ids)):
          for j in ids[k + 1 :]:
              counts[ids[k], j] += 1
repeated_token_skipped: A token that follows itself is left out: such pairs belong on the diagonal.
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).fill_diagonal_(0)
loop_runs_too_far (missed): The loop reaches beyond the last token: the last k has no ids[k + 1]. N tokens have N − 1 pairs.
- in any_later_token
  for j in ids[k + 1 :]: => counts[ids[k], ids[k + 1]] += 1
  counts[ids[k], j] += 1 =>
- |
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
  for k in range(len(ids)):
      counts[ids[k], ids[k + 1]] += 1
  return counts
rows_shared: `[[0] * V] * V` holds the same row V times, so each count appears in all of them. Make a row for each: torch.zeros(V, V,
    dtype=torch.long).
- |
  counts = [[0] * vocab_size] * vocab_size
  for i, j in zip(ids[:-1], ids[1:]):
      counts[i][j] += 1
  return torch.tensor(counts)
first_token_has_a_predecessor: The first token is counted as a follower of token 0: nothing stands before it.
- in index_put
  counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True) =>
      i = 0
      for j in ids:
          counts[i, j] += 1
          i = j
- |
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
  i = 0
  for j in ids:
      counts[i, j] += 1
      i = j
  return counts
single_tokens (missed): Single tokens are counted, not pairs: what matters is which token comes next.
- return counts.view(vocab_size, vocab_size) => return torch.bincount(ids, minlength=vocab_size)
- return counts.view(vocab_size, vocab_size) => return torch.bincount(ids, minlength=vocab_size).expand(vocab_size, vocab_size)
- return counts.view(vocab_size, vocab_size) => return torch.diag(torch.bincount(ids, minlength=vocab_size))
smoothed_already: The table starts at ones: that is smoothing, which is the next exercise. Counts start at zero.
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size) + 1
probabilities: Probabilities are returned: the counts themselves are asked for, undivided.
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size) / max(len(ids) - 1, 1)
- return counts.view(vocab_size, vocab_size) =>
      counts = counts.view(vocab_size, vocab_size)
      return counts / counts.sum(1, keepdim=True).clamp(min=1)
size_from_the_text: The size of the table comes from the text (`ids.max() + 1`, or the tokens that occur), so it shrinks when the last tokens of the
    vocabulary are missing: it must be vocab_size on each side.
- first, second =>
      vocab_size = int(ids.max()) + 1 if len(ids) else vocab_size
      first, second
- first, second =>
      vocab_size = int(ids.max()) + 1
      first, second
- first, second =>
      vocab_size = len(ids.unique())
      first, second
- first, second =>
      vocab_size = int(ids.max()) + 1
      first, second
  if ((ids < 0) | (ids >= vocab_size)).any(): => if False:
width_from_the_text: Cells are numbered with `ids.max() + 1` to a row and read with vocab_size to a row, so that counts slide into other rows when the last
    tokens of the vocabulary are missing: both are vocab_size.
- cells = first * vocab_size + second => cells = first * (int(ids.max()) + 1 if len(ids) else vocab_size) + second
no_minlength (slip): `bincount` without `minlength` is only as long as the largest cell that occurs, so the reshape fails. Give it minlength=vocab_size**2.
- torch.bincount(cells, minlength=vocab_size**2) => torch.bincount(cells)
- torch.bincount(cells, minlength=vocab_size**2) => torch.bincount(cells)
  if ((ids < 0) | (ids >= vocab_size)).any(): => if False:
wrong_multiplier: Different pairs share a cell: the number of cell (i, j), read row by row, is i * vocab_size + j.
- first * vocab_size + second => first * (vocab_size - 1) + second || first + second || first * second
flat (slip): The counts are a flat list of V·V numbers: shape them to (V, V) at the end.
- return counts.view(vocab_size, vocab_size) => return counts || return counts.view(1, vocab_size, vocab_size)
short_texts_refused: A text of 0 or 1 tokens fails or is refused: it has no pairs, so its table is all zeros.
- return counts.view(vocab_size, vocab_size) =>
      if len(ids) < 2:
          raise ValueError('ids: too short')
      return counts.view(vocab_size, vocab_size)
- return counts.view(vocab_size, vocab_size) =>
      assert len(ids) > 1
      return counts.view(vocab_size, vocab_size)
- return counts.view(vocab_size, vocab_size) =>
      if len(ids) < 2:
          return None
      return counts.view(vocab_size, vocab_size)
- if ((ids < 0) | (ids >= vocab_size)).any(): => if ids.min() < 0 or ids.max() >= vocab_size:
- return counts.view(vocab_size, vocab_size) =>
      if len(ids) < 2:
          return torch.zeros(0, 0, dtype=torch.long)
      return counts.view(vocab_size, vocab_size)
- return counts.view(vocab_size, vocab_size) =>
      if len(ids) < 2:
          return 0
      return counts.view(vocab_size, vocab_size)
python_loop: The counts are right, but Python runs through the text token by token, which takes seconds for a book. Let torch count all pairs at once:
    `ids[:-1]` and `ids[1:]` hold them.
- in loop_runs_too_far
  for k in range(len(ids)): => for i, j in zip(ids[:-1], ids[1:]):
  counts[ids[k], ids[k + 1]] += 1 => counts[i, j] += 1
python_loop_and_no_error: The counts are right, but Python runs through the text token by token: let torch count all pairs of `ids[:-1]` and `ids[1:]`
    at once. And ids outside the vocabulary should be a ValueError.
- in python_loop
  if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size): =>
  raise ValueError("ids: out of range") =>
- in rows_shared
  vocab_size] * vocab_size => vocab_size for _ in range(vocab_size)]
bad_input_accepted: Ids outside 0 … vocab_size − 1 are not refused with a ValueError. With negative ids indexing counts from the end, and i * V + j
    falls into another row: the table would be wrong without a word.
- if ((ids < 0) | (ids >= vocab_size)).any(): => if False: || if (ids > vocab_size).any(): || if (ids >= vocab_size).any():
- if ((ids < 0) | (ids >= vocab_size)).any(): => if (ids[:-1] >= vocab_size).any() or (ids[:-1] < 0).any():
- |
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
  counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)
  return counts
first_id_unchecked (slip): Only the ids that follow another are looked at, so an unknown id at the very start of the text is accepted, or ends in
    another error: look at all of `ids`.
- if ((ids < 0) | (ids >= vocab_size)).any(): => if ((ids[1:] < 0) | (ids[1:] >= vocab_size)).any():
- |
  second = ids[1:]
  if len(second) and (second.min() < 0 or second.max() >= vocab_size):
      raise ValueError("ids: out of range")
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
  counts.index_put_((ids[:-1], second), torch.ones_like(second), accumulate=True)
  return counts
beginning_only: Only the beginning of a long text is counted: every pair of neighbours counts, whatever the length.
- first, second = ids[:-1], ids[1:] => first, second = ids[:-1][:1024], ids[1:][:1024]
- first, second = ids[:-1], ids[1:] => first, second = ids[:-1][:10_000], ids[1:][:10_000]
floats: The table is made of floats: counts are whole numbers (dtype=torch.long). float32 cannot even count beyond 16,777,216.
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).float()
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).float()
  if ((ids < 0) | (ids >= vocab_size)).any(): => if False:
- |
  counts = torch.zeros(vocab_size, vocab_size, device=ids.device)
  counts.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids[1:]), device=ids.device), accumulate=True)
  return counts
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).double()
small_integers: The table is of a smaller integer type: keep torch.long (int64).
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).int() || return counts.view(vocab_size, vocab_size).short()
overflow (slip): Counts overflow: a type of 8 bits ends at 127 or 255, one of 16 bits at 32,767. Use torch.long.
- in index_put
  dtype=torch.long, device => dtype=torch.int16, device
  torch.ones_like(ids[1:]) => torch.ones_like(ids[1:], dtype=torch.int16)
  return counts => return counts.long()
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).byte()
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).byte().long()
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).to(torch.int8)
vocabulary_fixed: The size is fixed in the code: use vocab_size.
- first, second =>
      vocab_size = 5
      first, second
- first, second =>
      vocab_size = 27
      first, second
list_returned: A list is returned: a tensor is asked for, so leave out `.tolist()` (or the brackets).
- return counts.view(vocab_size, vocab_size) => return counts.view(vocab_size, vocab_size).tolist()
dictionary: A dictionary of pairs is returned: a tensor of shape (V, V) is asked for.
- |
  counts = {}
  for pair in zip(ids.tolist(), ids.tolist()[1:]):
      counts[pair] = counts.get(pair, 0) + 1
  return counts
device_not_kept: The table is made without `device=ids.device`: on a GPU the call fails, or the result comes back on the CPU.
- in index_put
  , device=ids.device =>
input_changed:
- first * vocab_size + second => first.mul_(vocab_size) + second
rounded (missed):
""",
    right=r"""
index_put:
- |
  if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size):
      raise ValueError("ids: out of range")

  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
  counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)
  return counts
one_hot_product:
- |
  if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size):
      raise ValueError("ids: out of range")
  before = F.one_hot(ids[:-1], vocab_size)
  after = F.one_hot(ids[1:], vocab_size)
  return before.T @ after
scatter_add:
- in index_put
  torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device => ids.new_zeros(vocab_size * vocab_size
  index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True => scatter_add_(0, ids[:-1] * vocab_size + ids[1:], torch.ones_like(ids[1:])
  return counts => return counts.reshape(vocab_size, vocab_size)
sparse:
- in index_put
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device => pairs = torch.stack([ids[:-1], ids[1:]]
  counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True => ones = torch.ones(pairs.shape[1], dtype=torch.int64, device=ids.device
  return counts => return torch.sparse_coo_tensor(pairs, ones, (vocab_size, vocab_size)).to_dense()
row_by_row:
- in index_put
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device) =>
      counts = torch.zeros((vocab_size, vocab_size), dtype=torch.int64, device=ids.device)
      if ids.numel() < 2:
          return counts
      for i in range(vocab_size):
          counts[i] = torch.bincount(ids[1:][ids[:-1] == i], minlength=vocab_size)
  counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True) =>
unique_pairs:
- in index_put
  counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device) =>
      counts = torch.zeros(vocab_size, vocab_size, dtype=torch.int64, device=ids.device)
      pairs, times = torch.stack([ids[:-1], ids[1:]], dim=1).unique(dim=0, return_counts=True) if len(ids) > 1 else (ids.new_zeros(0, 2), ids.new_zeros(0))
      counts[pairs[:, 0], pairs[:, 1]] = times
  counts.index_put_((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True) =>
""",
)
