"""`generate_bigram`: chains that are certain, shares over 4,000 draws, and where the chance comes from.

The mistakes: the wrong row, one token too few or too many, greedy or uniform draws, a generator not used or reseeded.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import dtype_name, kind, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import their_generator
from autograder.spec.student import Student

from .common import rows_of_probs

count_bigrams = reference("count_bigrams")


def _as_ids(got: Any, where: str) -> list[int]:
    """The ids of an answer.

    Scalar tensors in a list are let pass here: whether they are ints has a check of its own.
    """
    if isinstance(got, torch.Tensor):
        if got.dim() != 1 or got.is_floating_point():
            raise Wrong(f"A list of Python ints is asked for; yours is {kind(got)} {where}.")
        return got.tolist()
    if type(got) not in (list, tuple):
        raise Wrong(f"A list of Python ints is asked for; yours is {kind(got)} {where}.")
    ids = [item.item() if isinstance(item, torch.Tensor) and item.numel() == 1 else item for item in got]
    if not all(type(item) in (int, float) and item == int(item) for item in ids):
        raise Wrong(f"A list of Python ints is asked for; yours holds other things {where}.")
    return [int(item) for item in ids]


def _has_length(ids: list[int], num_tokens: int, where: str) -> None:
    if len(ids) != num_tokens + 1:
        raise Wrong(
            f"The list should have {num_tokens + 1} ids {where}: the start id and {num_tokens} new ones; yours has "
            f"{len(ids)}."
        )


_CHAINS = ([1, 2, 3, 4, 0], [3, 0, 4, 1, 2], [2, 2, 0, 3, 1])  # token k is followed by chain[k], with certainty


def _certain(chain: list[int]) -> torch.Tensor:
    return F.one_hot(torch.tensor(chain), len(chain)).float()


def _follow(chain: list[int], start: int, steps: int) -> list[int]:
    ids = [start]
    for _ in range(steps):
        ids.append(chain[ids[-1]])
    return ids


_SPREAD = [[0.1, 0.6, 0.3, 0.0], [0.45, 0.0, 0.05, 0.5], [0.0, 0.25, 0.25, 0.5], [0.7, 0.1, 0.0, 0.2]]


def _generated_chain(student: Student) -> None:
    for chain, start, num_tokens in zip(_CHAINS * 2, (0, 2, 1, 4, 1, 4), (7, 11, 6, 3, 2, 23), strict=True):
        with student.case():
            where = f"for {num_tokens} tokens from start id {start}, when each next token is certain"
            got = student.value(
                "generate_bigram", _certain(chain), start, num_tokens, their_generator(student, 3), where=where
            )
            ids = _as_ids(got, where)
            _has_length(ids, num_tokens, where)
            if ids[0] != start:
                raise ValuesDiffer(f"The list should begin with the start id {where}.")
            if ids != _follow(chain, start, num_tokens):
                raise ValuesDiffer(
                    f"The tokens are not those that the table makes certain {where}: row i is what follows i."
                )


def _generated_few(student: Student) -> None:
    for num_tokens, start in ((0, 3), (1, 2), (0, 0)):
        with student.case():
            where = f"for num_tokens = {num_tokens}"
            got = student.value(
                "generate_bigram", _certain(_CHAINS[0]), start, num_tokens, their_generator(student, 5), where=where
            )
            ids = _as_ids(got, where)
            _has_length(ids, num_tokens, where)
            if ids != _follow(_CHAINS[0], start, num_tokens):
                raise ValuesDiffer(f"The ids are wrong {where}: the list begins with the start id.")


def _generated_shares(student: Student) -> None:
    """Each transition as often as its probability says, up to six standard deviations and a little.

    That fails for a right answer with a probability below 1e-6 (16 cells, 2e-9 each for a normal distribution; the five
    more allow for the rare cell of 0.05), whatever its way of sampling.
    """
    probs, counts = torch.tensor(_SPREAD), torch.zeros(4, 4)
    for seed in range(10):
        where = "for 400 tokens"
        got = student.value("generate_bigram", probs, seed % 4, 400, their_generator(student, 100 + seed), where=where)
        ids = _as_ids(got, where)
        _has_length(ids, 400, where)
        if not all(0 <= token < 4 for token in ids):
            raise Wrong(f"There are ids outside the vocabulary {where}.")
        counts += count_bigrams(torch.tensor(ids), 4)
    if counts[probs == 0].any():
        raise Wrong("Tokens of probability 0 are drawn: they must never follow.", "impossible_token")
    wide, where = torch.full((300, 300), 1 / 300), "for 300 tokens that are all alike"
    ids = _as_ids(student.value("generate_bigram", wide, 7, 900, their_generator(student, 77), where=where), where)
    _has_length(ids, 900, where)
    if len(set(ids)) < 240:  # 285 are to be expected, give or take 4
        raise Wrong(
            f"Far too few different tokens come {where}: rare ones must have their chance too.", "wrong_frequencies"
        )
    visits = counts.sum(1, keepdim=True)
    allowed = 6 * (visits * probs * (1 - probs)).sqrt() + 5
    if ((counts - visits * probs).abs() > allowed).any():
        raise Wrong(
            "Over thousands of draws tokens do not come as often as the row of the token before says: draw from that "
            "row as it is (torch.multinomial).",
            "wrong_frequencies",
        )


def _generated_by_generator(student: Student) -> None:
    probs = torch.full((7, 7), 1 / 7)  # two runs of 40 tokens agree by chance once in 7 ** 40
    draws = []
    for seed in (11, 11, 12, 13):
        answer = student.call("generate_bigram", [probs, 2, 40, their_generator(student, seed)])
        draws.append(_as_ids(answer["value"], "for a uniform table"))
        _has_length(draws[-1], 40, "for a uniform table")
        if answer["rng_moved"]:
            raise Wrong(
                "Your code draws from the global random generator: pass `generator=generator` on to the sampling, and "
                "seed nothing.",
                "global_generator",
            )
    if draws[0] != draws[1]:
        raise Wrong(
            "Two generators with the same seed give different texts: some chance comes from elsewhere (`random`, "
            "NumPy).",
            "other_source",
        )
    if draws[0] == draws[2] == draws[3]:
        raise Wrong(
            "Generators with different seeds give the same text: is the generator not used, or seeded anew inside?",
            "generator_ignored",
        )
    generator = their_generator(student, 11)
    first, second = (
        _as_ids(student.value("generate_bigram", probs, 2, 40, generator), "for a uniform table") for _ in range(2)
    )
    if first == second:
        raise Wrong(
            "Two calls with one generator give the same text: draw from the generator that is passed, do not seed it "
            "(or another) anew.",
            "seeded_anew",
        )


def _generated_manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            probs = rows_of_probs(5, 5, dtype=dtype)
            answer = student.call(
                "generate_bigram",
                [probs, 1, 30, their_generator(student, 8)],
                where=f"for {dtype_name(probs)} probabilities",
            )
            got = answer["value"]
            _has_length(_as_ids(got, ""), 30, "")
            unchanged(answer["inputs"][:1], [probs], "`probs`")
            if type(got) is not list:
                raise Wrong(f"A list of Python ints is asked for; yours is {kind(got)}.", "not_a_list")
            if not all(type(item) is int for item in got):
                raise Wrong(
                    "The list should hold Python ints; yours holds "
                    f"{kind(next(i for i in got if type(i) is not int))}: use `.item()`.",
                    "not_ints",
                )


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("start id, then one token after the other", 1.25, _generated_chain),
        Check("no token, one token", 0.25, _generated_few, further=True),
        Check("tokens as often as their probabilities say", 0.75, _generated_shares),
        Check("chance comes from the generator alone", 0.5, _generated_by_generator, further=True),
        Check("a list of ints, inputs unchanged", 0.25, _generated_manners, further=True),
    ],
    working=r"""
import torch

def generate_bigram(probs, start_id, num_tokens, generator):
    ids = [start_id]
    for _ in range(num_tokens):
        ids += torch.multinomial(probs, 1, generator=generator)[ids[-1]].tolist()
    return ids
""",
    takes="tensor",
    gives="list",
    slips=(
        "nothing_returned",
        "input_changed",
        "global_generator",
    ),
    wrong=r"""
start_row_always: Every token is drawn from the row of the start id: the row is that of the *latest* token, ids[-1].
- row = probs[ids[-1]] => row = probs[start_id]
- |
  return [start_id] + torch.multinomial(probs[start_id], num_tokens, replacement=True, generator=generator).tolist()
- in while_loop
  while len(ids) < num_tokens + 1 => if num_tokens
  .append(int(torch.multinomial(probs[ids[-1]], 1, generator=generator)) => += torch.multinomial(probs[start_id], num_tokens, replacement=True, generator=generator).tolist(
columns: Columns are read instead of rows: probs[i, j] is p(j given i), so what follows i stands in row i.
- row = probs[ids[-1]] => row = probs[:, ids[-1]]
first_row_always: The row does not depend on the latest token (row 0, or the number of the step): use probs[ids[-1]].
- row = probs[ids[-1]] => row = probs[0] || row = probs.mean(dim=0) || row = torch.ones(len(probs))
- for _ in => for step in
  row = probs[ids[-1]] => row = probs[step % len(probs)]
two_back: The row is that of the token before the latest: use ids[-1].
- row = probs[ids[-1]] => row = probs[ids[-2] if len(ids) > 1 else ids[-1]]
one_too_few (slip): The start id is counted among the num_tokens: it comes on top, so the list has num_tokens + 1 ids.
- range(num_tokens) => range(num_tokens - 1)
one_too_many (slip): One token too many is drawn: num_tokens new ones after the start id.
- range(num_tokens) => range(num_tokens + 1)
start_left_out (slip): The start id is missing: the list begins with it.
- return ids => return ids[1:]
start_ignored (slip): The text always begins with token 0: it begins with start_id.
- ids = [start_id] => ids = [0]
start_drawn (slip): The first token is drawn (or replaced by its follower): the list begins with start_id itself.
- return ids => return ids[1:] + [torch.multinomial(probs[ids[-1]], 1, generator=generator).item()]
- ids = [start_id] => ids = [torch.randint(len(probs), (1,), generator=generator).item()]
last_left_out (slip): The last token is missing: num_tokens new ones come after the start id.
- return ids => return ids[:-1]
last_only: Only the last token is returned: the whole list is asked for.
- return ids => return ids[-1] || return ids[-1:] || return next_id.item()
returns_too_early (slip): The `return` stands inside the loop, so only one token is drawn.
- ids.append(next_id.item()) =>
      ids.append(next_id.item())
      return ids
stops_early: The text ends at some token (a `break`), as if it were an end token: num_tokens are always drawn.
- ids.append(next_id.item()) =>
      ids.append(next_id.item())
      if ids[-1] == 0:
          break
- ids.append(next_id.item()) =>
      ids.append(next_id.item())
      if ids[-1] == len(probs) - 1:
          break
several_in_a_step: More than one token is added in a step: when one is found in the cumulative sum, leave the inner loop with `break`.
- row = probs[ids[-1]] =>
      u = torch.rand(1, generator=generator).item()
      total = 0.0
      for j in range(len(probs)):
          total += probs[ids[-1]][j].item()
          if u < total:
              ids.append(j)
  next_id = torch.multinomial(row, num_samples=1, generator=generator) =>
  ids.append(next_id.item()) =>
all_at_once: All tokens are drawn at once, without replacement: draw one at a time, each from the row of the token before.
- |
  return [start_id] + torch.multinomial(probs[start_id], num_tokens, generator=generator).tolist()
- in while_loop
  while len(ids) < num_tokens + 1 => if num_tokens
  .append(int(torch.multinomial(probs[ids[-1]], 1, generator=generator)) => += torch.multinomial(probs[start_id], num_tokens, generator=generator).tolist(
one_number_for_all: One random number decides all tokens: draw a new one for each.
- |
  ids = [start_id]
  u = torch.rand(1, generator=generator)
  for _ in range(num_tokens):
      ids.append((probs[ids[-1]].cumsum(0) <= u).sum().clamp(max=len(probs) - 1).item())
  return ids
reversed (slip): The list is in reverse: the start id comes first, each new token at the end.
- return ids => return ids[::-1]
latest_not_updated: The first drawn token is repeated: nothing new is drawn inside the loop.
- |
  next_id = torch.multinomial(probs[start_id], 1, generator=generator).item()
  return [start_id] + [next_id] * num_tokens
greedy: The likeliest token is taken each time (argmax): that is not sampling, and gives the same text for every generator.
- torch.multinomial(row, num_samples=1, generator=generator) => row.argmax()
uniform (missed): All tokens are drawn alike, whatever the table says: draw from the row of the latest token.
- torch.multinomial(row, num_samples=1, generator=generator) => torch.randint(len(row), (1,), generator=generator)
uniform_among_possible: All possible tokens are drawn alike: their probabilities should decide.
- row = probs[ids[-1]] => row = (probs[ids[-1]] > 0).float()
softmax: The row goes through a softmax, although it holds probabilities already: that flattens it, and gives impossible tokens a chance.
- row = probs[ids[-1]] => row = torch.softmax(probs[ids[-1]], dim=-1)
smoothed_again: A number is added to the probabilities, so that impossible tokens get a chance: draw from the row as it is.
- row = probs[ids[-1]] => row = probs[ids[-1]] + 1e-2 || row = probs[ids[-1]] + 0.1 || row = probs[ids[-1]] + 1
logarithms: Logarithms are passed where probabilities are asked for: torch.multinomial takes the probabilities themselves.
- row = probs[ids[-1]] => row = -probs[ids[-1]].clamp(min=1e-9).log()
temperature: The probabilities are sharpened or flattened (squared, a root, top-k): draw from the row as it is.
- row = probs[ids[-1]] => row = probs[ids[-1]] ** 2 || row = probs[ids[-1]] ** 0.5
- row = probs[ids[-1]] => row = probs[ids[-1]] * (probs[ids[-1]] >= probs[ids[-1]].topk(2).values[-1])
hundredths: The probabilities are turned into whole shares (hundredths), or the drawn number has few digits: in a real vocabulary most tokens are
    rarer than that, and would never come. Draw from the row as it is.
- |
  ids = [start_id]
  for _ in range(num_tokens):
      pool = [j for j, p in enumerate(probs[ids[-1]].tolist()) for _ in range(round(100 * p))]
      ids.append(pool[torch.randint(len(pool), (1,), generator=generator).item()])
  return ids
- |
  ids = [start_id]
  for _ in range(num_tokens):
      drawn = torch.randint(100, (1,), generator=generator) / 100
      ids.append(min(int((probs[ids[-1]].cumsum(-1) <= drawn).sum()), len(probs) - 1))
  return ids
likeliest_forty: Only the likeliest tokens of a row may come (top-k): draw from the row as it is.
- next_id = torch.multinomial(row, num_samples=1, generator=generator) =>
      best = row.topk(min(40, len(row)))
      next_id = best.indices[torch.multinomial(best.values, num_samples=1, generator=generator)]
no_repeats: A token never follows itself: repeats are allowed, the table decides.
- row = probs[ids[-1]] =>
      row = probs[ids[-1]].clone()
      row[ids[-1]] = 0
cumulative_off_by_one (slip): The search in the cumulative probabilities is off by one: the token is the first whose cumulative probability exceeds the drawn
    number.
- torch.multinomial(row, num_samples=1, generator=generator) => (row.cumsum(0) < torch.rand(1, generator=generator)).sum().sub(1).clamp(min=0)
- torch.multinomial(row, num_samples=1, generator=generator) => (row.cumsum(0) < torch.rand(1, generator=generator)).sum().add(1).clamp(max=len(row) - 1)
normal_numbers: Normal random numbers are compared with the cumulative probabilities: they need uniform ones, torch.rand.
- torch.multinomial(row, num_samples=1, generator=generator) => (row.cumsum(0) < torch.randn(1, generator=generator)).sum().clamp(max=len(row) - 1)
global_generator:
- , generator=generator =>
- ids = [start_id] =>
      generator.manual_seed(generator.initial_seed())
      ids = [start_id]
other_source: Chance comes from elsewhere (`random`, NumPy), so the generator decides nothing: use torch.multinomial with generator=generator.
- in one_number_for_all
  ids = [start_id] => import random
  u = torch.rand(1, generator=generator) => ids = [start_id]
  (probs[ids[-1]].cumsum(0) <= u).sum().clamp(max=len(probs) - 1).item() => random.choices(range(len(probs)), probs[ids[-1]].tolist())[0]
- |
  import numpy as np
  ids = [start_id]
  for _ in range(num_tokens):
      p = probs[ids[-1]].double().numpy()
      ids.append(int(np.random.choice(len(p), p=p / p.sum())))
  return ids
generator_ignored: A generator of its own, with a fixed seed, is used: the one that is passed decides.
- ids = [start_id] =>
      generator = torch.Generator().manual_seed(0)
      ids = [start_id]
- ids = [start_id] =>
      generator = torch.Generator().manual_seed(42)
      ids = [start_id]
- ids = [start_id] =>
      generator = torch.Generator()
      ids = [start_id]
seeded_each_step: The generator is seeded anew before each token, so all draws are the same number: draw from it as it comes.
- row = probs[ids[-1]] =>
      generator.manual_seed(0)
      row = probs[ids[-1]]
- row = probs[ids[-1]] =>
      generator.manual_seed(42)
      row = probs[ids[-1]]
- row = probs[ids[-1]] =>
      generator.manual_seed(generator.initial_seed())
      row = probs[ids[-1]]
- generator=generator => generator=torch.Generator()
tensor: A tensor is returned: a list of Python ints is asked for (`.tolist()`).
- return ids => return torch.tensor(ids)
tensors_in_the_list (slip): The list holds tensors: take the number out of each, with `.item()`.
- ids.append(next_id.item()) => ids.append(next_id) || ids.append(next_id[0])
- ids.append(next_id.item()) => ids.append(next_id)
  , generator=generator =>
lists_in_the_list (slip): The list holds lists: take the number out of each draw, with `.item()`.
- ids.append(next_id.item()) => ids.append(next_id.tolist())
  row = probs[ids[-1]] => row = probs[ids[-1]].reshape(-1)
tuple: A tuple is returned: a list is asked for.
- return ids => return tuple(ids)
text (slip): A string is returned: a list of Python ints is asked for.
- return ids => return ' '.join(map(str, ids)) || return [str(token) for token in ids]
only_if_asked: For num_tokens = 0 the call fails or nothing comes back: the list with the start id alone is asked for.
- return ids => return ids if num_tokens else None || return ids if num_tokens else []
- return ids =>
      assert num_tokens > 0
      return ids
unknown_name (missed): Three arguments are taken: the signature is generate_bigram(probs, start_id, num_tokens, generator).
- , generator) => )
  , generator=generator =>
input_changed:
- row = probs[ids[-1]] =>
      row = probs[ids[-1]]
      row /= row.sum()
      row *= 1 + 1e-3
- row = probs[ids[-1]] =>
      probs *= 1.001
      row = probs[ids[-1]]
""",
    right=r"""
while_loop:
- |
  ids = [start_id]
  while len(ids) < num_tokens + 1:
      ids.append(int(torch.multinomial(probs[ids[-1]], 1, generator=generator)))
  return ids
cumulative:
- |
  cumulative = probs.double().cumsum(dim=1)
  last, ids = start_id, [start_id]
  for u in torch.rand(num_tokens, generator=generator, dtype=torch.float64).tolist():
      last = min(int(torch.searchsorted(cumulative[last], u, right=True)), probs.shape[1] - 1)
      ids.append(last)
  return ids
race:
- row = probs[ids[-1]] =>
      clocks = torch.empty(probs.shape[1], dtype=probs.dtype).exponential_(generator=generator)
      ids.append((probs[ids[-1]] / clocks).argmax().item())
  next_id = torch.multinomial(row, num_samples=1, generator=generator) =>
  ids.append(next_id.item()) =>
recursion:
- |
  if num_tokens == 0:
      return [start_id]
  next_id = torch.multinomial(probs[start_id], 1, replacement=True, generator=generator).item()
  return [start_id] + generate_bigram(probs, next_id, num_tokens - 1, generator)
python_numbers:
- |
  table = probs.tolist()
  ids = [start_id]
  for k in range(num_tokens):
      u, j = torch.rand((), generator=generator).item(), 0
      row = table[ids[k]]
      while j < len(row) - 1 and (u >= row[j] or row[j] == 0):
          u -= row[j]
          j += 1
      ids.append(j)
  return ids
""",
)
