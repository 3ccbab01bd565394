"""`skipgram_pairs`: the pairs as often as they occur, short texts and wide windows, in any order.

The mistakes: windows cut at an edge or one too wide, words compared for places, pairs dropped or turned round.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

skipgram_pairs = reference("skipgram_pairs")


def _same_pairs(got: Any, ids: list[int], window: int, where: str, exact: bool = False) -> None:
    """The same pairs as often, in any order.

    Unless `exact`, they may be lists or a tensor: that is marked elsewhere.
    """
    if isinstance(got, torch.Tensor) and not exact:
        got = got.tolist()
    if not isinstance(got, (list, tuple)):
        raise Wrong(f"A list of pairs is asked for; {where} yours is {kind(got)}.")
    if exact and type(got) is not list:
        raise Wrong(f"A list is asked for; {where} yours is {kind(got)}.")
    pairs = []
    for pair in got:
        if isinstance(pair, torch.Tensor) and not exact:
            pair = pair.tolist()
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise Wrong(f"Every entry should be a pair (centre, context) {where}; one of yours is {kind(pair)}.")
        if exact and (type(pair) is not tuple or any(type(i) is not int for i in pair)):
            raise Wrong(f"Every pair should be a tuple of two ints {where}; one of yours is {kind(pair)}.")
        pair = [i.item() if isinstance(i, torch.Tensor) and i.numel() == 1 else i for i in pair]
        if any(type(i) is not int for i in pair):
            raise Wrong(
                f"A pair is two ids, two ints {where}; one of yours holds "
                f"{kind(next(i for i in pair if type(i) is not int))}."
            )
        pairs.append(tuple(pair))
    mine, expected = Counter(pairs), Counter(skipgram_pairs(ids, window))
    if mine == expected:
        return
    missing, extra = (expected - mine).total(), (mine - expected).total()
    if set(mine) == set(expected):
        raise ValuesDiffer(
            f"The right pairs {where}, but not as often as they occur: {missing} missing, {extra} too many."
        )
    raise ValuesDiffer(f"{missing} pairs are missing {where}, and {extra} do not belong there.")


def _pairs_of(student: Student, ids: list[int], window: int) -> None:
    with student.case():
        where = f"for ids {ids} and window = {window}" if len(ids) < 12 else f"for {len(ids)} ids and window = {window}"
        _same_pairs(student.value("skipgram_pairs", ids, window, where=where), ids, window, where)


def _pairs_values(student: Student) -> None:
    for ids, window in (
        *(([7, 3, 5], 1), ([10, 20, 30, 40, 50, 60], 2), ([5, 0, 2, 9, 4, 8, 1, 3], 3), ([1, 2], 1)),
        *((list(range(40, 0, -1)), 4), ([4, 1, 3, 2, 0], 4)),
    ):
        _pairs_of(student, ids, window)


def _pairs_repeated(student: Student) -> None:
    for ids, window in (([4, 4, 7], 1), ([1, 2, 1, 2, 1], 2), ([3, 3, 3, 3], 3), ([i * i % 7 for i in range(60)], 3)):
        _pairs_of(student, ids, window)


def _pairs_edges(student: Student) -> None:
    for ids, window in (
        ([6, 2, 9], 5),
        ([8, 1], 4),
        ([3], 2),
        ([], 2),
        ([5, 6, 7], 0),
        ([0, 1, 2, 3], 3),
        ([2, 5, 1, 7], 100),
    ):
        _pairs_of(student, ids, window)


def _pairs_manners(student: Student) -> None:
    for ids, window in (([3, 1, 2, 0], 2), ([9, 8], 1), ([50256, 2**40, 32768], 1)):
        with student.case():
            where = f"for ids {ids} and window = {window}"
            answer = student.call("skipgram_pairs", [ids, window], where=where, after=True)
            _same_pairs(answer["value"], ids, window, where, exact=True)
            if len(answer["after"]) == 2 and answer["after"][0] != ids:
                raise Wrong("Your code changes the caller's list `ids`: make a list of your own.", "input_changed")
    with student.case():
        given, where = {"ids": [4, 2, 6], "window": 1}, "with arguments given by name"
        got = student.call("skipgram_pairs", [], given, where=where)["value"]
        _same_pairs(got, [4, 2, 6], 1, where, exact=True)


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("all the pairs within the window", 1.75, _pairs_values),
        Check("words that occur more than once", 0.75, _pairs_repeated),
        Check("short texts, wide windows, no window", 1.0, _pairs_edges),
        Check("a list of tuples, input unchanged", 0.5, _pairs_manners, further=True),
    ],
    working=r"""
import itertools

def skipgram_pairs(ids, window):
    return [(ids[i], ids[j]) for i, j in itertools.permutations(range(len(ids)), 2) if abs(i - j) <= window]
""",
    takes="list",
    gives="list",
    slips=("nothing_returned", "input_changed"),
    wrong=r"""
right_edge (slip): The window is one short on the right: `range` ends before its second number, so i + window + 1 is needed.
- i + window) => i + window - 1)
left_edge (slip): The window is one short on the left: it begins at i − window.
- i - window) => i - window + 1)
window_too_narrow (slip): The window is too narrow on both sides: `window` counts how far context reaches to each side.
- i - window) => i - window + 1)
  i + window) => i + window - 1)
- pairs = [] =>
      window //= 2
      pairs = []
window_too_wide (slip): The window reaches too far: `window` places to each side.
- i + window) => i + window + 1)
- i - window) => i - window - 1)
- pairs = [] =>
      window += 1
      pairs = []
- first = max(0, i - window) => first = 0
  last = min(len(ids) - 1, i + window) => last = len(ids) - 1
itself (slip): Each word is paired with itself, at its own place: leave j == i out.
- if j != i: => if True:
same_word_skipped: Ids are compared where places should be: the same word at another place is context too (`j != i`, not `ids[j] != centre`).
- if j != i: => if ids[j] != centre:
first_place_of_the_word: `ids.index(…)` finds the first place where a word occurs: use enumerate, for a word may occur more than once.
- for i, centre in enumerate(ids): =>
      for centre in ids:
          i = ids.index(centre)
right_only: Only context on the right is paired: the window reaches to both sides.
- first = max(0, i - window) => first = i
left_only: Only context on the left is paired: the window reaches to both sides.
- last = min(len(ids) - 1, i + window) => last = i
farthest_only: Only the words exactly `window` places away are paired: all those in between belong too.
- if j != i: => if abs(j - i) == window and j != i:
- |
  return [(ids[i], ids[j]) for i in range(len(ids)) for j in (i - window, i + window) if 0 <= j < len(ids)]
neighbours_only: Only the words next to each other are paired: the window reaches further.
- if j != i: => if abs(j - i) == 1:
edges_skipped: Words near the beginning or the end, whose window is not full, are left out: they have the context that there is.
- if j != i: => if j != i and window <= i < len(ids) - window: || if j != i and window <= i: || if j != i and i < len(ids) - window:
wraps_around (slip): A negative index counts from the end, so that the first words get the last ones as context: stop at 0.
- |
  pairs = []
  for i in range(len(ids)):
      for j in range(i - window, min(len(ids), i + window + 1)):
          if j != i:
              pairs.append((ids[i], ids[j]))
  return pairs
- |
  pairs = []
  for i in range(len(ids)):
      for j in range(i - window, i + window + 1):
          if j != i:
              pairs.append((ids[i], ids[j % len(ids)]))
  return pairs
empty_slice_at_the_edge (slip): A slice such as `ids[i - window : i]` is empty when its start is negative: begin at max(0, i − window).
- in by_distance
  d in range(1, window + 1 => i in range(len(ids)
  left, right in zip(ids, ids[d:]) => context in ids[i - window : i] + ids[i + 1 : i + 1 + window]
  += [(left, right), (right, left)] => .append((ids[i], context))
runs_off_the_end (missed): The window runs past the end (IndexError): it ends where the text does.
- last = min(len(ids) - 1, i + window) => last = i + window
places_returned: Places in the text are returned: pairs of ids are asked for.
- pairs.append((centre, ids[j])) => pairs.append((i, j)) || pairs.append((centre, j)) || pairs.append((i, ids[j]))
each_pair_once: A pair that occurs more than once is kept only once (a set, or `not in pairs`): how often words meet is what is learned.
- |
  def right_skipgram_pairs(ids, window):
      pairs = []
      for i, centre in enumerate(ids):
          first = max(0, i - window)  # the window ends where the text does
          last = min(len(ids) - 1, i + window)
          for j in range(first, last + 1):
              if j != i:  # places are compared, not ids: a word may be its own neighbour
                  pairs.append((centre, ids[j]))
      return pairs


  def skipgram_pairs(ids, window):
      return list(set(right_skipgram_pairs(ids, window)))
- |
  def right_skipgram_pairs(ids, window):
      pairs = []
      for i, centre in enumerate(ids):
          first = max(0, i - window)  # the window ends where the text does
          last = min(len(ids) - 1, i + window)
          for j in range(first, last + 1):
              if j != i:  # places are compared, not ids: a word may be its own neighbour
                  pairs.append((centre, ids[j]))
      return pairs


  def skipgram_pairs(ids, window):
      return sorted(set(right_skipgram_pairs(ids, window)))
- if j != i: => if j != i and (centre, ids[j]) not in pairs:
set (slip): A set is returned: a list is asked for, with every pair as often as it occurs.
- in each_pair_once
  list(set(right_skipgram_pairs(ids, window) => set(right_skipgram_pairs(ids, window
one_direction: Each two places are paired once: both are centres, so (x, y) and (y, x) both belong.
- pairs.append((centre, ids[j])) => pairs.append((min(centre, ids[j]), max(centre, ids[j])))
- in each_pair_once
  list(set(right_skipgram_pairs(ids, window)) => sorted({tuple(sorted(pair)) for pair in right_skipgram_pairs(ids, window)}
grouped (slip): The contexts of a centre are grouped together: one pair (centre, context) for each of them is asked for.
- |
  pairs = []
  for i in range(len(ids)):
      context = ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window]
      pairs.append((ids[i], context))
  return pairs
- |
  pairs = []
  for i in range(len(ids)):
      context = ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window]
      pairs.append([(ids[i], c) for c in context])
  return pairs
- |
  pairs = []
  for i in range(len(ids)):
      context = ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window]
      pairs.append((context, ids[i]))
  return pairs
- |
  return {c: ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window] for i, c in enumerate(ids)}
two_lists (slip): Centres and contexts are returned in two lists: one list of pairs (centre, context) is asked for.
- in each_pair_once
  return list(set(right_skipgram_pairs(ids, window))) =>
      pairs = right_skipgram_pairs(ids, window)
      return [c for c, _ in pairs], [o for _, o in pairs]
- in each_pair_once
  (set(right_skipgram_pairs => (zip(*right_skipgram_pairs
flat: The ids are in one flat list: a list of pairs (centre, context) is asked for.
- pairs.append((centre, ids[j])) => pairs += [centre, ids[j]]
returned_too_early: `return` stands inside the loop, which ends after the first word.
- |
  pairs = []
  for i, centre in enumerate(ids):
      first = max(0, i - window)  # the window ends where the text does
      last = min(len(ids) - 1, i + window)
      for j in range(first, last + 1):
          if j != i:  # places are compared, not ids: a word may be its own neighbour
              pairs.append((centre, ids[j]))
      return pairs
last_word_missed (slip): The loop ends one too early, so the last word is never a centre: range(len(ids)).
- enumerate(ids) => enumerate(ids[:-1])
first_word_missed (slip): The loop begins at the second word, so the first is never a centre: places count from 0.
- if j != i: => if i > 0 and j != i:
short_texts_refused: A text that is empty, or shorter than the window, fails: it has the pairs that there are, perhaps none.
- in two_lists
  pairs = right_skipgram_pairs(ids, window) => assert len(ids) > window
  [c for c, _ in pairs], [o for _, o in pairs] => right_skipgram_pairs(ids, window)
- in each_pair_once
  return list(set(right_skipgram_pairs(ids, window))) =>
      if len(ids) < 2:
          raise ValueError('too short')
      return right_skipgram_pairs(ids, window)
- in each_pair_once
  return list(set(right_skipgram_pairs(ids, window))) =>
      if not ids:
          raise ValueError('no ids')
      return right_skipgram_pairs(ids, window)
- in two_lists
  pairs = right_skipgram_pairs(ids, window) => assert window > 0
  [c for c, _ in pairs], [o for _, o in pairs] => right_skipgram_pairs(ids, window)
none_for_nothing: None is returned where there are no pairs: an empty list is asked for.
- in each_pair_once
  list(set(right_skipgram_pairs(ids, window))) => right_skipgram_pairs(ids, window) or None
- in short_texts_refused
  assert len(ids) > window =>
      if len(ids) < 2:
          return
lists_for_tuples: The pairs are lists: tuples are asked for, `(centre, context)`.
- pairs.append((centre, ids[j])) => pairs.append([centre, ids[j]])
tensor: A tensor is returned: a list of tuples of ints is asked for.
- in each_pair_once
  list(set(right_skipgram_pairs(ids, window) => torch.tensor(right_skipgram_pairs(ids, window
- pairs.append((centre, ids[j])) => pairs.append(torch.tensor([centre, ids[j]]))
generator (missed): A generator is returned (yield): a list is asked for.
- in each_pair_once
  return list(set(right_skipgram_pairs(ids, window)) => yield from right_skipgram_pairs(ids, window
tuple: A tuple is returned: a list of tuples is asked for.
- in each_pair_once
  list(set(right_skipgram_pairs(ids, window) => tuple(right_skipgram_pairs(ids, window
input_changed: The caller's list is changed (pop, append, insert): make a list of your own.
- in each_pair_once
  return list(set(right_skipgram_pairs(ids, window))) =>
      result = right_skipgram_pairs(ids, window)
      while ids:
          ids.pop()
      return result
- in each_pair_once
  return list(set(right_skipgram_pairs(ids, window))) =>
      result = right_skipgram_pairs(ids, window)
      ids.extend([0] * window)
      return result
- in each_pair_once
  return list(set(right_skipgram_pairs(ids, window))) =>
      result = right_skipgram_pairs(ids, window)
      ids.sort()
      return result
padded: The text is padded, and the padding turns up in the pairs: the window simply ends where the text does.
- pairs = [] =>
      ids = [0] * window + ids + [0] * window
      pairs = []
- pairs = [] =>
      ids = [-1] * window + ids + [-1] * window
      pairs = []
- in wraps_around
  min(len(ids), i + window + 1) => i + window + 1
  [j])) => [j] if 0 <= j < len(ids) else 0))
other_signature (slip): The arguments have other names: keep the signature skipgram_pairs(ids, window), so that they may be given by name.
- window => size
small_integers (slip): The ids go through a small integer type, in which large ones become others or fail: ids are ints of any size.
- pairs = [] =>
      ids = torch.tensor(ids).to(torch.int16).tolist()
      pairs = []
- pairs = [] =>
      ids = torch.tensor(ids).int().tolist()
      pairs = []
""",
    right=r"""
slices:
- |
  return [
      (centre, context)
      for i, centre in enumerate(ids)
      for context in ids[max(i - window, 0) : i] + ids[i + 1 : i + window + 1]
  ]
by_distance:
- |
  pairs = []
  for d in range(1, window + 1):
      for left, right in zip(ids, ids[d:]):
          pairs += [(left, right), (right, left)]
  return pairs
offsets:
- |
  pairs = []
  for i in range(len(ids)):
      for offset in range(-window, window + 1):
          j = i + offset
          if offset == 0 or j < 0 or j >= len(ids):
              continue
          pairs.append((ids[i], ids[j]))
  return pairs
""",
)
