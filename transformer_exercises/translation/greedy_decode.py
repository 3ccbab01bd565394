"""`greedy_decode`: a scripted model, many rows that end at different times, any special ids, no step too many.

The mistakes: rows cut or continued wrongly, one row that ends all, the wrong position or ids, max_len off by one.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import kind, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import define_in_judge, generator_unchanged, normal
from autograder.spec.student import Student

from .common import SCRIPTED, asked_in_its_mode, decoded_on_device, id_list, left_in_eval_mode, their_scripted

greedy_decode = reference("greedy_decode")


def _ids_lists(got: Any, rows: int, where: str) -> list[list[int]]:
    """A list of as many lists of whole numbers."""
    if not isinstance(got, list) or len(got) != rows:
        raise Wrong(f"A list of {rows} lists is asked for, one for each row, {where}; yours is {kind(got)}.")
    for row in got:
        id_list(row, where)
    return got


def _same_ids(got: list[int], expected: list[int], bos_id: int, eos_id: int, max_len: int, where: str) -> None:
    """The sentence says what is remarkable about a wrong list of ids."""
    if got == expected:
        return
    if bos_id in got:
        raise ValuesDiffer(f"bos_id is in the result {where}: it is only what the model is given first.", "bos_kept")
    if eos_id in got:
        raise ValuesDiffer(f"eos_id is in the result {where}: leave it out, and all that would follow it.", "eos_kept")
    if len(got) > max_len:
        raise ValuesDiffer(f"The result has more than max_len new tokens {where}.", "too_long")
    if got[: len(expected)] == expected:
        raise ValuesDiffer(
            f"The result goes on after its end {where}: a sentence ends at its first eos_id.", "too_long"
        )
    if expected[: len(got)] == got:
        raise ValuesDiffer(
            f"The result stops too early {where}: only its own eos_id, or max_len, ends a sentence.", "too_short"
        )
    raise ValuesDiffer(f"The tokens are not the right ones {where}.")


def _source(*shape: int) -> torch.Tensor:
    return 3 + (normal(*shape).abs() * 1000).long() % 20


def _greedy(student: Student, args: tuple, source: torch.Tensor, max_len: int, where: str) -> tuple[dict, Any, list]:
    """The answer to a call, the model that was asked, and what is right."""
    _, bos_id, eos_id, *_ = args
    model = their_scripted(student, args)
    given = {"source_ids": source, "bos_id": bos_id, "eos_id": eos_id, "max_len": max_len}
    answer = student.call("greedy_decode", [model, *given.values()], where=where)
    expected = greedy_decode(define_in_judge(SCRIPTED, "Scripted")(*args), *given.values())
    got = _ids_lists(answer["value"], len(source), where)
    for mine, right in zip(got, expected, strict=True):
        _same_ids(mine, right, bos_id, eos_id, max_len, where)
    return answer, model, expected


def _greedy_one(student: Student) -> None:
    for args, S in (((9, 1, 2, 1.0, 3), 4), ((12, 1, 2, 0.5, 8), 1), ((30, 1, 2, 2.0, 1), 7), ((7, 1, 2, 0.0, 5), 3)):
        with student.case():
            _greedy(student, args, _source(1, S), 25, f"for one sentence and V = {args[0]}")


def _greedy_rows(student: Student) -> None:
    for args, B, S in (
        ((9, 1, 2, 1.0, 4), 6, 3),
        ((11, 1, 2, 0.6, 2), 9, 5),
        ((8, 1, 2, 2.5, 7), 12, 2),
        ((25, 1, 2, 1.5, 9), 4, 4),
        ((6, 1, 2, 30.0, 6), 3, 3),
        ((9, 1, 2, -40.0, 6), 3, 4),
        ((1500, 1, 2, 1.0, 6), 40, 4),
    ):
        with student.case():
            ends = {30.0: ", all of which end at once", -40.0: ", none of which ends"}.get(
                args[3], " that end at different times"
            )
            _greedy(student, args, _source(B, S), 20, f"for {B} rows{ends}")


def _greedy_max_len(student: Student) -> None:
    for max_len in (7, 1, 2, 0):
        with student.case():
            where = f"with max_len = {max_len}, when no row ends before"
            _greedy(student, (9, 1, 2, -40.0, 3), _source(3, 4), max_len, where)
    with student.case():
        _greedy(student, (9, 1, 2, -40.0, 3), _source(2, 70), 100, "with max_len = 100, when no row ends before")
    for max_len in (3, 4, 5, 6):
        with student.case():
            where = f"with max_len = {max_len}, when some rows end before"
            _greedy(student, (9, 1, 2, 0.8, 4), _source(8, 3), max_len, where)


def _greedy_other_ids(student: Student) -> None:
    for V, bos_id, eos_id, pad in ((9, 0, 1, 8), (10, 5, 0, 1), (8, 7, 6, 0), (9, 2, 3, 1)):
        with student.case():
            source = _source(5, 4)
            source[1:3, 2:] = pad
            where = f"with bos_id = {bos_id} and eos_id = {eos_id}"
            _greedy(student, (V, bos_id, eos_id, 1.0, 2), source, 15, where)


def _greedy_stops(student: Student) -> None:
    for args, B in (((9, 1, 2, 1.5, 4), 4), ((9, 1, 2, 30.0, 4), 3), ((11, 1, 2, 3.0, 5), 1)):
        with student.case():
            _, model, expected = _greedy(student, args, _source(B, 3), 60, f"for {B} rows, with max_len = 60")
            asked = student.value(student.probe("calls", SCRIPTED), model)
            if asked > sum(len(row) + 1 for row in expected):
                raise Wrong(
                    "The model is asked again although all rows have ended: decoding stops then, or short sentences "
                    "cost as much as long ones.",
                    "never_stops",
                )


def _greedy_manners(student: Student) -> None:
    args = (9, 1, 2, 1.0, 4)
    with student.case():
        source = _source(4, 3)
        answer, model, _ = _greedy(student, args, source, 12, "for 4 rows")
        unchanged(answer["inputs"][:1], [source], "source_ids")
        generator_unchanged(answer)
        left_in_eval_mode(student, model)
    with student.case():
        given = {"max_len": 5, "eos_id": 2, "bos_id": 1, "source_ids": source, "model": their_scripted(student, args)}
        where = "with the arguments given by name"
        got = _ids_lists(student.call("greedy_decode", [], given, where)["value"], 4, where)
        expected = greedy_decode(define_in_judge(SCRIPTED, "Scripted")(*args), source, 1, 2, 5)
        for mine, right in zip(got, expected, strict=True):
            _same_ids(mine, right, 1, 2, 5, where)
    with student.case():
        asked_in_its_mode(student, "greedy_decode", args, [source, 1, 2, 5])
    with student.case():
        decoded_on_device(student, "greedy_decode", [their_scripted(student, args), _source(4, 3), 1, 2, 12])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("one sentence, the likeliest token each time", 1.0, _greedy_one),
        Check("many rows, each up to its own end", 1.25, _greedy_rows),
        Check("at most max_len new tokens", 0.75, _greedy_max_len),
        Check("any bos_id and eos_id", 0.5, _greedy_other_ids, further=True),
        Check("stops when all rows have ended", 0.25, _greedy_stops),
        Check("source_ids and the model's mode unchanged, device", 0.25, _greedy_manners, further=True),
    ],
    working=r"""
import torch

def greedy_decode(model, source_ids, bos_id, eos_id, max_len):
    written = []
    for row in source_ids:
        target = torch.full((1, 1), bos_id, device=source_ids.device)
        while target.shape[1] <= max_len:
            with torch.no_grad():
                best = model(row[None], target)[0, -1].topk(1).indices
            if best == eos_id:
                break
            target = torch.cat([target, best[None]], 1)
        written.append(target[0, 1:].tolist())
    return written
""",
    gives="list",
    slips=(
        "nothing_returned",
        "global_generator",
    ),
    wrong=r"""
bos_kept (slip): bos_id is part of the result: it is only what the model is given first, leave it out.
- target_ids[:, 1:].tolist() => target_ids.tolist()
eos_kept (slip): eos_id is part of the result: a row goes up to its first eos_id, without it.
- row[: row.index(eos_id)] => row[: row.index(eos_id) + 1]
bos_and_eos_kept (slip): bos_id and eos_id are part of the result: leave both out.
- target_ids[:, 1:].tolist() => target_ids.tolist()
  row[: row.index(eos_id)] => row[: row.index(eos_id) + 1]
last_token_cut (slip): The last token is cut off too: only eos_id and what follows it does not belong to a row.
- row[: row.index(eos_id)] => row[: row.index(eos_id) - 1]
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [row[:-1] for row in rows]
eos_filtered (slip): eos_id is taken out, but what was written after it stays: a row ends at its first eos_id.
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [[token for token in row if token != eos_id] for row in rows]
not_cut: Rows are not cut at their eos_id: what the model writes after it does not belong to the sentence.
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return rows
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [row[: row.index(eos_id)] if row and row[-1] == eos_id else row for row in rows]
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [row[:-1] if row and row[-1] == eos_id else row for row in rows]
cut_at_the_last_eos (slip): A row is cut at its last eos_id: the first one ends it.
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [row[: len(row) - 1 - row[::-1].index(eos_id)] if eos_id in row else row for row in rows]
first_row_to_end_stops_all: Decoding stops for all rows as soon as one ends: the others go on to their own eos_id (`.all()`, not `.any()`).
- if ended.all() => if ended.any()
first_row_decides: Only the first row's (or the last row's) eos_id is looked at: each row has its own end.
- if ended.all() => if ended[0] || if ended[-1]
all_at_the_same_time: Decoding stops only when all rows write eos_id in the same step: remember which rows have ended.
- ended |= next_ids == eos_id => ended = next_ids == eos_id
never_stops: The model is asked again and again until max_len although all rows have ended.
- if ended.all(): =>
  break =>
- ended |= next_ids == eos_id => ended = next_ids == eos_id
  if ended.all() => if B == 1 and ended.all()
wrong_position (missed): The logits of the wrong position are used: the next token follows the last one, `logits[:, -1]`.
- logits[:, -1] => logits[:, 0] || logits[:, max(logits.shape[1] - 2, 0)] || logits.mean(dim=1) || logits[:, -2]
new_tokens_do_not_fit (missed): The new tokens do not fit target_ids: the maximum over the vocabulary (dim=-1) of the last position gives (B,); as a column (B,
    1) it is appended along dim=1.
- argmax(dim=-1) => argmax(dim=0)
- logits[:, -1].argmax(dim=-1) => logits[-1].argmax(dim=-1)
wrong_dimension: The maximum is taken over the wrong dimension: over the vocabulary, the last one.
- argmax(dim=-1) => argmax().expand(B)
- logits[:, -1].argmax(dim=-1) => logits[:, -1].softmax(dim=0).argmax(dim=-1)
first_row_for_all: All rows get the first row's token: each row has logits of its own.
- logits[:, -1].argmax(dim=-1) => logits[0, -1].argmax(dim=-1).expand(B)
least_likely (slip): The least likely token is taken.
- argmax => argmin
sampled: The tokens are drawn at random: greedy takes the likeliest one.
- next_ids = logits[:, -1].argmax(dim=-1)  # (B,): the last position only => next_ids = torch.multinomial(logits[:, -1].softmax(dim=-1), 1)[:, 0]
last_token_only: The model is given only the last token: it has no memory, so give it everything written so far.
- model(source_ids, target_ids) => model(source_ids, target_ids[:, -1:])
bos_left_out: The model is no longer given bos_id once there are tokens: target_ids begin with it always, as in training.
- model(source_ids, target_ids) => model(source_ids, target_ids if target_ids.shape[1] == 1 else target_ids[:, 1:])
not_appended (missed): What is written does not get longer: append each new token to target_ids.
- target_ids = torch.cat([target_ids, next_ids[:, None]], dim=1)  # (B, T + 1) => target_ids = next_ids[:, None]
put_in_front (slip): New tokens are put in front: append them at the end.
- target_ids = torch.cat([target_ids, next_ids[:, None]], dim=1)  # (B, T + 1) => target_ids = torch.cat([next_ids[:, None], target_ids], dim=1)
stacked_as_rows (missed): New tokens are appended as rows: torch.cat along dim=1, of (B, T) and (B, 1).
- target_ids = torch.cat([target_ids, next_ids[:, None]], dim=1)  # (B, T + 1) => target_ids = torch.cat([target_ids, next_ids[:, None]], dim=0)
starts_with_eos (slip): target_ids begin with something else than bos_id.
- bos_id, device => eos_id, device
- target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1) => target_ids = torch.zeros(B, 1, dtype=torch.long, device=source_ids.device)
- target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1) => target_ids = source_ids[:, :1]
empty_start (missed): target_ids are empty at the start: the model is given bos_id first.
- target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1) => target_ids = torch.zeros(B, 0, dtype=torch.long, device=source_ids.device)
  target_ids[:, 1:].tolist() => target_ids.tolist()
source_continued: The source is continued, as a GPT would do: the translation begins anew, with bos_id, and the source is the model's first argument.
- target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1) => target_ids = source_ids
  target_ids[:, 1:] => target_ids[:, source_ids.shape[1] :]
- target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1) => target_ids = torch.cat([source_ids, torch.full((B, 1), bos_id, device=source_ids.device)], dim=1)
  target_ids[:, 1:] => target_ids[:, source_ids.shape[1] + 1 :]
model_arguments_swapped (missed): The model's arguments are the wrong way round (or one is missing): model(source_ids, target_ids).
- model(source_ids, target_ids) => model(target_ids, source_ids) || model(target_ids) || model(target_ids, target_ids)
one_too_few (slip): A row that never ends is one token short: max_len counts the new tokens, bos_id is not among them, and all are kept.
- row.index(eos_id)] if eos_id in row else row for => row.index(eos_id)] if eos_id in row else row[:-1] for
one_too_many (slip): One token too many is written: at most max_len new ones.
- range(max_len) => range(max_len + 1)
max_len_ignored: max_len is not kept to: a row that never writes eos_id goes on.
- range(max_len) => range(100)
- for _ in range(max_len): => while True:
source_length_as_limit: The length of the source limits the translation: max_len does, and languages differ in length.
- range(max_len) => range(min(max_len, source_ids.shape[1]))
fixed_ids: The ids of bos and eos (or of padding) are written into the code: use bos_id and eos_id.
- ended |= next_ids == eos_id => ended |= next_ids == 2
  return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [row[: row.index(2)] if 2 in row else row for row in rows]
- bos_id, device => 1, device
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [[token for token in (row[: row.index(eos_id)] if eos_id in row else row) if token != 0] for row in rows]
rows_out_of_order (slip): The rows come back in another order than they were given in (by the time at which they end, say).
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return sorted([row[: row.index(eos_id)] if eos_id in row else row for row in rows], key=len)
empty_rows_dropped: Rows that end at once are missing in the result: they are empty lists.
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [row[: row.index(eos_id)] if eos_id in row else row for row in rows if row[:1] != [eos_id]]
first_row_only: Only one row comes back: a list for each row of source_ids.
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [row[: row.index(eos_id)] if eos_id in row else row for row in rows][0]
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [row[: row.index(eos_id)] if eos_id in row else row for row in rows][:1]
tensors (slip): Tensors are returned: lists of ints are asked for (`.tolist()`).
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return target_ids[:, 1:]
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [torch.tensor(x) for x in [row[: row.index(eos_id)] if eos_id in row else row for row in rows]]
- rows = target_ids[:, 1:].tolist() => rows = [list(row) for row in target_ids[:, 1:]]
tuples (slip): The rows are tuples: a list of lists is asked for.
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return [tuple(row) for row in [row[: row.index(eos_id)] if eos_id in row else row for row in rows]]
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return tuple([row[: row.index(eos_id)] if eos_id in row else row for row in rows])
shared_list (slip): All rows share one list (`[[]] * B`): make a list for each, `[[] for _ in range(B)]`.
- |
  rows, ended = [[]] * len(source_ids), [False] * len(source_ids)
  target_ids = torch.full((len(source_ids), 1), bos_id, device=source_ids.device)
  for _ in range(max_len):
      next_ids = model(source_ids, target_ids)[:, -1].argmax(dim=-1)
      target_ids = torch.cat([target_ids, next_ids[:, None]], dim=1)
      for b, token in enumerate(next_ids.tolist()):
          ended[b] = ended[b] or token == eos_id
          if not ended[b]:
              rows[b].append(token)
      if all(ended):
          break
  return rows
training_mode: The model is put into training mode, so dropout would be at work: it is called in the mode it is in.
- target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1) =>
      model.train()
      target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1)
eval_mode (slip): The model is put into eval mode (`model.eval()`): it is asked in the mode it is in, and stays in it. Whoever calls decides that.
- B = len(source_ids) =>
      model.eval()
      B = len(source_ids)
other_signature (slip): A parameter has another name than in the signature: greedy_decode(model, source_ids, bos_id, eos_id, max_len).
- def greedy_decode(model, source_ids, bos_id, eos_id, max_len): =>
      def greedy_decode(model, source, bos, eos, max_len):
          source_ids, bos_id, eos_id = source, bos, eos
size_limited: Sizes of real use are cut off: thousands of tokens in the vocabulary, 40 rows, 70 tokens of source, 100 new tokens are common.
- for _ in range(max_len): => for _ in range(min(max_len, 50)):
- logits[:, -1].argmax(dim=-1) => logits[:, -1, :1000].argmax(dim=-1)
- B = len(source_ids) =>
      source_ids = source_ids[:32]
      B = len(source_ids)
- B = len(source_ids) =>
      source_ids = source_ids[:, :50]
      B = len(source_ids)
padded_rows (slip): All rows come back equally long, filled up: each list ends where its row ends.
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] =>
      rows = [row[: row.index(eos_id)] if eos_id in row else row for row in rows]
      return [row + [0] * (max(map(len, rows)) - len(row)) for row in rows]
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] =>
      rows = [row[: row.index(eos_id)] if eos_id in row else row for row in rows]
      return [row + [eos_id] * (max(map(len, rows)) - len(row)) for row in rows]
flattened: One long list comes back: a list of lists is asked for.
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] => return sum(([row[: row.index(eos_id)] if eos_id in row else row for row in rows]), [])
nothing_left_at_zero: max_len = 0 fails: it gives an empty list for each row.
- rows = target_ids[:, 1:].tolist() =>
      next_ids = next_ids + 0
      rows = target_ids[:, 1:].tolist()
- target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1) =>
      assert max_len > 0
      target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1)
input_changed: source_ids are changed in place: the caller's tensor stays as it is.
- ended |= next_ids == eos_id =>
      ended |= next_ids == eos_id
      source_ids[ended] = 0
- return [row[: row.index(eos_id)] if eos_id in row else row for row in rows] =>
      source_ids.zero_()
      return [row[: row.index(eos_id)] if eos_id in row else row for row in rows]
device_not_kept: target_ids are made without `device=…`: on a GPU they would be on the CPU.
- bos_id, device=source_ids.device => bos_id
nothing_returned:
- break => return
""",
    right=r"""
lists:
- |
  results = [[] for _ in range(len(source_ids))]
  active = list(range(len(source_ids)))
  with torch.no_grad():
      for _ in range(max_len):
          if not active:
              break
          targets = torch.tensor([[bos_id] + results[i] for i in active], device=source_ids.device)
          best = model(source_ids[active], targets)[:, -1].max(dim=-1).indices.tolist()
          still = []
          for i, token in zip(active, best):
              if token != eos_id:
                  results[i].append(token)
                  still.append(i)
          active = still
  return results
filled_with_eos:
- |
  device = next(model.parameters()).device
  B = source_ids.size(0)
  out = torch.empty(B, max_len + 1, dtype=torch.long, device=device).fill_(bos_id)
  done = torch.zeros_like(out[:, 0], dtype=torch.bool)
  n = 0
  while n < max_len and not bool(done.all()):
      probs = torch.softmax(model(source_ids, out[:, : n + 1])[:, n, :], dim=-1)
      token = probs.argmax(-1).masked_fill(done, eos_id)
      n += 1
      out[:, n] = token
      done = done | token.eq(eos_id)
  lengths = (out[:, 1 : n + 1] != eos_id).sum(1).tolist()
  return [row[1 : 1 + length] for row, length in zip(out.tolist(), lengths)]
one_by_one:
- |
  def translate(row):
      tokens = [bos_id]
      while len(tokens) - 1 < max_len:
          logits = model(row, torch.tensor(tokens, device=row.device).unsqueeze(0))
          token = int(torch.argmax(logits[0, -1, :]))
          if token == eos_id:
              return tokens[1:]
          tokens.append(token)
      return tokens[1:]

  return [translate(source_ids[b : b + 1]) for b in range(source_ids.shape[0])]
buffer:
- |
  B = source_ids.shape[0]
  target = source_ids.new_zeros(B, max_len + 1)
  target[:, 0] = bos_id
  alive = source_ids.new_ones(B).bool()
  length = source_ids.new_zeros(B)
  for t in range(max_len):
      target[:, t + 1] = model(source_ids, target)[:, t].detach().topk(1).indices.squeeze(-1)
      alive = alive & (target[:, t + 1] != eos_id)
      length += alive
      if not alive.any():
          break
  return [target[b, 1 : 1 + int(length[b])].tolist() for b in range(B)]
""",
)
