"""`sequence_log_prob`: sums of logarithms for short, very long, single-token and impossible texts, and gradients.

The mistakes: the product before its logarithm, steps missed or counted twice, rows for columns, an epsilon for −∞.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

from .common import gradient_agrees, quiet_and_pure, rows_of_probs, same_values, text_of

sequence_log_prob = reference("sequence_log_prob")


def _log_values(student: Student) -> None:
    for ids, vocab_size in (([0, 1, 1], 2), ([1, 0], 2), ([2, 0, 2, 2, 1, 0], 3), ([4, 4, 0, 3, 1, 2, 0, 4], 5)):
        with student.case():
            given, probs, where = torch.tensor(ids), rows_of_probs(vocab_size, vocab_size), f"for ids {ids}"
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)
    for n, vocab_size in ((12, 7), (30, 4)):
        with student.case():
            given, probs, where = text_of(n, vocab_size), rows_of_probs(vocab_size, vocab_size), f"for {n} ids"
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)
    with student.case():
        given, probs = torch.tensor([0, 1, 2, 0]), torch.eye(3).roll(1, dims=1)
        where = "for a text that is certain (each step has probability 1)"
        got = student.value("sequence_log_prob", given, probs, where=where)
        same_values(got, sequence_log_prob(given, probs), "The result", where)


def _log_long(student: Student) -> None:
    for n, vocab_size, dtype in ((200, 6, torch.float32), (2000, 4, torch.float32), (1500, 5, torch.float64)):
        with student.case():
            given, probs = text_of(n, vocab_size), rows_of_probs(vocab_size, vocab_size, dtype=dtype)
            where = f"for {n} ids, whose probability is too small for {dtype_name(probs)}"
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)
    with student.case():
        tiny = torch.tensor([[1.0, 1e-30], [1e-25, 1.0]])
        given, where = torch.tensor([0, 1, 0, 0, 1, 1]), "when single steps are as improbable as 1e-30"
        got = student.value("sequence_log_prob", given, tiny, where=where)
        same_values(got, sequence_log_prob(given, tiny), "The result", where)


def _log_edges(student: Student) -> None:
    for vocab_size, start in ((3, 1), (4, 0)):
        with student.case():
            given, probs, where = torch.tensor([start]), rows_of_probs(vocab_size, vocab_size), "for a single id"
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)
    for ids, where in (
        ([0, 1, 2, 0], "when a step has probability 0"),
        ([1, 2, 1, 2, 0], "when two steps have probability 0"),
        ([0, 1, 0, 0, 1], "when zeros stand in the table, but no step meets one"),
    ):
        with student.case():
            probs = torch.tensor([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
            given = torch.tensor(ids)
            got = student.value("sequence_log_prob", given, probs, where=where)
            same_values(got, sequence_log_prob(given, probs), "The result", where)


def _log_gradient(student: Student) -> None:
    for ids, dtype, where in (
        ([2, 0, 2, 2, 1, 2, 0], torch.float32, ""),
        ([0, 3, 1], torch.float64, "in float64"),
    ):
        with student.case():
            args = [torch.tensor(ids), rows_of_probs(max(ids) + 1, max(ids) + 1, dtype=dtype)]
            gradient_agrees(student, "sequence_log_prob", sequence_log_prob, args, "`probs`", where)


def _log_manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            ids, probs = torch.tensor([3, 0, 1, 1, 2, 0]), rows_of_probs(4, 4, dtype=dtype)
            expected = sequence_log_prob(ids, probs)
            quiet_and_pure(student, "sequence_log_prob", [ids, probs], expected, "The result", "`ids`, `probs`")
    for dtype in (torch.float32, torch.float64):
        with student.case():
            ids, probs = torch.tensor([2]), rows_of_probs(4, 4, dtype=dtype)
            where = f"for a single id and {dtype_name(probs)} probabilities"
            got = student.value("sequence_log_prob", ids, probs, where=where)
            same_tensor(got, sequence_log_prob(ids, probs), "The result", where)
    with student.case():
        ids, probs, where = text_of(12, 4)[::2], rows_of_probs(4, 4).T, "for tensors that are not contiguous"
        same_tensor(
            student.value("sequence_log_prob", ids, probs, where=where),
            sequence_log_prob(ids, probs),
            "The result",
            where,
        )
    for ids in (torch.tensor([1, 0, 1, 1]), torch.tensor([1])):
        device_is_kept(student, "sequence_log_prob", [ids, rows_of_probs(3, 3)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("log p(x2 .. xN given x1)", 1.25, _log_values),
        Check("long and improbable texts do not underflow", 0.75, _log_long, further=True),
        Check("one token: 0; an impossible step: −inf", 0.5, _log_edges, further=True),
        Check("gradients", 0.25, _log_gradient, further=True),
        Check(
            "a scalar tensor of the dtype of `probs`, inputs unchanged, any device", 0.25, _log_manners, further=True
        ),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def sequence_log_prob(ids, probs):
    return -F.nll_loss(F.embedding(ids[:-1], probs).log(), ids[1:], reduction="sum")
""",
    takes="tensor",
    gives="scalar",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "rounded",
        "python_number",
        "array_returned",
        "global_generator",
    ),
    wrong=r"""
product_first: The probabilities are multiplied first and the logarithm is taken of the product, which underflows to 0 for a text of some hundred
    tokens. Take logarithms first, then add.
- return steps.log().sum() => return steps.prod().log()
- |
  total = 1.0
  for k in range(1, len(ids)):
      total *= probs[ids[k - 1], ids[k]].item()
  return torch.tensor(total).log()
- return steps.log().sum() => return steps.double().prod().log().to(probs.dtype)
no_logarithm: The probability itself is returned (the product): its natural logarithm is asked for.
- return steps.log().sum() => return steps.prod()
sum_of_probabilities: The probabilities are added. The chain rule multiplies them, so it is their logarithms that add up.
- return steps.log().sum() => return steps.sum().log() || return steps.sum()
base_two (slip): The logarithm has base 2 (bits): the natural logarithm is asked for, torch.log.
- return steps.log().sum() => return steps.log2().sum()
base_ten (slip): The logarithm has base 10: the natural logarithm is asked for, torch.log.
- return steps.log().sum() => return steps.log10().sum()
log1p: torch.log1p is the logarithm of 1 + p: torch.log is meant.
- return steps.log().sum() => return steps.log1p().sum()
negative (slip): The sign is wrong: a log-probability is never positive. (Its negative is the loss.)
- return steps.log().sum() => return -steps.log().sum()
mean: The mean of the logarithms is returned: the logarithm of a product is their sum.
- return steps.log().sum() => return steps.log().mean() || return steps.log().sum() / len(ids) || return steps.log().sum() / max(len(steps), 1)
negative_mean: The mean negative logarithm is returned, which is the loss: the sum of the logarithms is asked for.
- return steps.log().sum() => return -steps.log().mean()
not_summed (slip): One number for each step is returned: add them up.
- return steps.log().sum() => return steps.log() || return steps.log().cumsum(0) || return steps.log().sum(dim=0, keepdim=True)
transposed: Rows and columns are swapped: probs[i, j] is p(j given i), so the earlier token is the row.
- probs[ids[:-1], ids[1:]] => probs[ids[1:], ids[:-1]]
- in loop
  - 1], ids[k => ], ids[k - 1
wraps_round (slip): The last token is taken as the one before the first (index −1, or torch.roll): p(x1) is not part of the result, which begins with p(x2
    given x1).
- probs[ids[:-1], ids[1:]] => probs[ids.roll(1), ids]
- in loop
  range(1, => range(0,
last_step_missed (slip): The last step is missing: N tokens have N − 1 steps, and `range(n)` ends at n − 1 already.
- probs[ids[:-1], ids[1:]] => probs[ids[:-2], ids[1:-1]]
- in loop
  ids)): => ids) - 1):
first_step_missed (slip): The first step, p(x2 given x1), is missing.
- probs[ids[:-1], ids[1:]] => probs[ids[1:-1], ids[2:]]
- in loop
  range(1, => range(2,
first_token_counted: A factor for the first token is counted too. The text is *given* its first token: the product begins with p(x2 given x1).
- return steps.log().sum() => return steps.log().sum() - math.log(len(probs)) || return steps.log().sum() + probs[ids[0], ids[0]].log()
- return steps.log().sum() => return steps.log().sum() + probs[0, ids[0]].log() || return steps.log().sum() + probs.mean(dim=0)[ids[0]].log()
same_row: Each step looks in the row of the first token, or of the token itself: the row is the token just before.
- probs[ids[:-1], ids[1:]] => probs[ids[0], ids[1:]] || probs[ids, ids] || probs[ids[1:], ids[1:]] || probs[ids[:-1], ids[:-1]]
all_pairs: `probs[ids[:-1]][:, ids[1:]]` takes every row with every column: pair them, `probs[ids[:-1], ids[1:]]`.
- probs[ids[:-1], ids[1:]] => probs[ids[:-1]][:, ids[1:]] || probs[ids[:-1]] || probs[ids]
positions_for_ids: Positions in the text are used where the ids should be.
- probs[ids[:-1], ids[1:]] => probs[torch.arange(len(ids) - 1) % len(probs), ids[1:]]
- |
  total = 0.0
  for i, token in enumerate(ids[1:]):
      total = total + probs[i % len(probs), token].log()
  return total
epsilon: A small number is added before the logarithm (or zeros are clamped), so an impossible text gets a finite value, and very improbable ones a
    wrong one. log(0) is −inf, as it should be.
- return steps.log().sum() => return (steps + 1e-10).log().sum() || return (steps + 1e-12).log().sum() || return (steps + 1e-9).log().sum()
- return steps.log().sum() => return (steps + 1e-8).log().sum() || return (steps + 1e-7).log().sum() || return (steps + 1e-6).log().sum()
- return steps.log().sum() => return (steps + 1e-5).log().sum() || return (steps + 1e-30).log().sum() || return steps.clamp(min=1e-12).log().sum()
- return steps.log().sum() => return steps.clamp(min=1e-10).log().sum() || return steps.clamp(min=1e-9).log().sum()
- return steps.log().sum() => return steps.clamp(min=1e-8).log().sum() || return steps.clamp(min=1e-6).log().sum()
- return steps.log().sum() => return steps.clamp(min=1e-30).log().sum()
zero_skipped: Steps of probability 0 are left out: one impossible step makes the whole text impossible, −inf.
- return steps.log().sum() => return steps[steps > 0].log().sum()
zero_refused: A step of probability 0 raises an error: the result is −inf, no error.
- return steps.log().sum() =>
      if (steps == 0).any():
          raise ValueError('probs')
      return steps.log().sum()
- return steps.log().sum() =>
      assert (steps > 0).all()
      return steps.log().sum()
math_log: `math.log` works on single Python numbers: it stops with an error at 0 (also at a product that underflowed to 0), and no gradient gets
    through. Use torch.log, and add up its results.
- |
  total = 0.0
  for k in range(1, len(ids)):
      total += math.log(probs[ids[k - 1], ids[k]])
  return torch.tensor(total, dtype=probs.dtype)
- |
  total = 0.0
  for k in range(1, len(ids)):
      total += math.log(probs[ids[k - 1], ids[k]])
  return torch.tensor(total)
- in loop
  probs.new_zeros(()) => 0.0
  = total + probs[ids[k - 1], ids[k]].log( => += math.log(probs[ids[k - 1], ids[k]]
- |
  total = 1.0
  for k in range(1, len(ids)):
      total *= probs[ids[k - 1], ids[k]].item()
  return math.log(total)
- |
  total = 1.0
  for k in range(1, len(ids)):
      total *= probs[ids[k - 1], ids[k]]
  return math.log(total)
- |
  total = 1.0
  for k in range(1, len(ids)):
      total *= probs[ids[k - 1], ids[k]]
  return torch.tensor(math.log(total))
nan_for_impossible: An impossible step gives NaN: 0 · −inf, or the difference of two infinities. The result is −inf.
- return steps.log().sum() => return steps.log().sum().nan_to_num(neginf=float('nan'))
- steps = probs[ids[:-1], ids[1:]] => onehot = F.one_hot(ids[1:], len(probs)).to(probs.dtype)
  return steps.log().sum() => return (probs[ids[:-1]].log() * onehot).sum()
one_token_refused: A text of one token fails or is refused: nothing is left to predict, the product is empty, and its logarithm is 0.
- return steps.log().sum() =>
      if len(ids) < 2:
          raise ValueError('ids')
      return steps.log().sum()
- return steps.log().sum() => return torch.stack([p.log() for p in steps]).sum() || return steps.log().cumsum(0)[-1]
- return steps.log().sum() =>
      if len(ids) < 2:
          return None
      return steps.log().sum()
one_token_special: A text of one token has the log-probability 0: the product is empty, which is 1.
- return steps.log().sum() =>
      if len(ids) < 2:
          return probs.new_tensor(1.0)
      return steps.log().sum()
- return steps.log().sum() =>
      if len(ids) < 2:
          return probs.new_tensor(float('-inf'))
      return steps.log().sum()
log_softmax: The probabilities are treated as logits: they are normalised already, so take their logarithm, without a softmax.
- probs[ids[:-1], ids[1:]] => torch.softmax(probs, dim=-1)[ids[:-1], ids[1:]]
already_logarithms: The table holds probabilities, not logarithms: take the logarithm before adding.
- return steps.log().sum() => return steps.log().log().sum() || return (steps * steps.log()).sum()
perplexity: A perplexity is returned: the log-probability is asked for.
- return steps.log().sum() => return (-steps.log().mean()).exp()
python_number:
- |
  total = 0.0
  for k in range(1, len(ids)):
      p = probs[ids[k - 1], ids[k]].item()
      total += math.log(p) if p else -math.inf
  return total
- in loop
  probs.new_zeros(()) => 0.0
  = total + probs[ids[k - 1], ids[k]].log => += probs[ids[k - 1], ids[k]].log().item
- in loop
  probs.new_zeros(()) => 0.0
  return total => return total.item()
gradient_cut_off:
- in math_log
  math.log(probs[ids[k - 1], ids[k]] => probs[ids[k - 1], ids[k]].log().item(
- in math_log
  math.log(probs[ids[k - 1], ids[k]] => probs[ids[k - 1], ids[k]].log().item(
  , dtype=probs.dtype =>
- steps = probs[ids[:-1], ids[1:]] => import numpy as np
  return steps.log().sum() => return torch.tensor(np.log(probs.numpy()[ids[:-1], ids[1:]]).sum())
number_for_one_token: For a single token a plain 0 comes back (a sum that starts from a number): a scalar tensor is asked for there too. Start from
    one, such as `probs.new_zeros(())`.
- in loop
  probs.new_zeros(()) => 0.0
- in loop
  probs.new_zeros(()) => 0
view_needed (slip): The code takes the numbers in the order in which they lie in memory (`view`), which fails for a table that was transposed
    or sliced before: index with rows and columns, or use `reshape`.
- in flat_index
  reshape(-1) => view(-1)
float32_for_one_token: For a single token a float32 zero comes back, whatever the dtype of `probs`: make it of theirs, `probs.new_zeros(())`.
- return steps.log().sum() =>
      if len(ids) < 2:
          return torch.tensor(0.0)
      return steps.log().sum()
- return steps.log().sum() =>
      if len(ids) < 2:
          return torch.tensor(0.0, device=probs.device)
      return steps.log().sum()
double_precision:
- return steps.log().sum() => return steps.double().log().sum()
single_precision:
- return steps.log().sum() => return steps.float().log().sum()
input_changed:
- steps = probs[ids[:-1], ids[1:]] => probs.data.log_()
  return steps.log().sum() => return probs[ids[:-1], ids[1:]].sum()
- steps = probs[ids[:-1], ids[1:]] => probs.log_()
  return steps.log().sum() => return probs[ids[:-1], ids[1:]].sum()
device_not_kept: A tensor is made without `device=probs.device`: on a GPU the call fails, or the result comes back on the CPU.
- steps = probs[ids[:-1], ids[1:]] => total = torch.zeros(1, dtype=probs.dtype)
  return steps.log().sum() => return (total + probs[ids[:-1], ids[1:]].log().sum())[0]
- return steps.log().sum() =>
      if len(ids) < 2:
          return torch.tensor(0.0, dtype=probs.dtype)
      return steps.log().sum()
""",
    right=r"""
logarithms_first:
- steps = probs[ids[:-1], ids[1:]] => return torch.log(probs)[ids[:-1], ids[1:]].sum()
  return steps.log().sum() =>
loop:
- |
  total = probs.new_zeros(())
  for k in range(1, len(ids)):
      total = total + probs[ids[k - 1], ids[k]].log()
  return total
gather:
- steps = probs[ids[:-1], ids[1:]] => rows = probs.index_select(0, ids[:-1])
  return steps.log().sum() => return rows.gather(1, ids[1:, None]).squeeze(1).log().sum()
flat_index:
- steps = probs[ids[:-1], ids[1:]] => cells = ids[:-1] * probs.shape[1] + ids[1:]
  return steps.log().sum() => return probs.reshape(-1).take(cells).log().sum(0)
zipped:
- |
  total = torch.tensor(0.0, dtype=probs.dtype, device=probs.device)
  for i, j in zip(ids[:-1].tolist(), ids[1:].tolist()):
      total = total + torch.log(probs[i, j])
  return total
""",
)
