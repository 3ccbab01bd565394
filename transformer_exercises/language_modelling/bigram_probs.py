"""`bigram_probs`: rows that sum to 1, with alpha and without, unseen rows; mistakes in what is divided by what.

Totals without alpha, columns for rows, NaN or zeros where nothing was counted, an alpha that is ignored or cut off.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, gradients_agree, normal
from autograder.spec.student import Student

from .common import quiet_and_pure, same_values

bigram_probs = reference("bigram_probs")


def _counts(vocab_size: int, high: int = 9) -> torch.Tensor:
    """Whole numbers, about a quarter of them 0, another total in each row."""
    return (normal(vocab_size, vocab_size) * high).long().clamp(min=0) + (
        normal(vocab_size, vocab_size).abs() * 2
    ).long()


def _probs_values(student: Student) -> None:
    with student.case():
        counts, where = torch.tensor([[3, 1], [0, 0]]), "for counts [[3, 1], [0, 0]] and no alpha given"
        same_values(student.value("bigram_probs", counts, where=where), bigram_probs(counts), "The table", where)
    for vocab_size, alpha in ((3, 0.5), (5, 1), (7, 0.1), (4, 2.0), (30, 0.01), (1, 1.0)):
        with student.case():
            counts, where = _counts(vocab_size), f"for V = {vocab_size} and alpha = {alpha}"
            got = student.value("bigram_probs", counts, alpha, where=where)
            same_values(got, bigram_probs(counts, alpha), "The table", where)
    with student.case():
        counts, where = _counts(4), "with alpha given by name"
        got = student.call("bigram_probs", [counts], {"alpha": 0.25}, where=where)["value"]
        same_values(got, bigram_probs(counts, 0.25), "The table", where)
    with student.case():
        counts, where = _counts(6), "when no alpha is given"
        same_values(student.value("bigram_probs", counts, where=where), bigram_probs(counts), "The table", where)


def _probs_unsmoothed(student: Student) -> None:
    for rows, where in (
        ([[3, 1, 0], [2, 2, 4], [0, 5, 0]], "with alpha = 0"),
        ([[0, 7], [1, 1]], "with alpha = 0"),
    ):
        for alpha in (0, 0.0):
            with student.case():
                counts = torch.tensor(rows)
                got = student.value("bigram_probs", counts, alpha, where=where)
                same_values(got, bigram_probs(counts, alpha), "The table", where)
                if got[counts == 0].any():
                    raise Wrong(
                        "With alpha = 0 a pair that was never seen, in a row that was, has probability exactly 0; "
                        "yours is a little more. Is something added to keep a division from failing?",
                        "epsilon_in_counts",
                    )


def _probs_unseen(student: Student) -> None:
    for rows, where in (
        ([[3, 1, 0], [0, 0, 0], [0, 5, 0]], "with alpha = 0 and a row without counts"),
        ([[0, 0, 0, 0], [0, 1, 0, 2], [0, 0, 0, 0], [4, 0, 0, 0]], "with alpha = 0 and two rows without counts"),
        ([[0]], "with alpha = 0 and V = 1"),
        ([[0, 0], [0, 0]], "with alpha = 0 and no counts at all"),
    ):
        with student.case():
            counts = torch.tensor(rows)
            got = student.value("bigram_probs", counts, 0.0, where=where)
            same_values(got, bigram_probs(counts, 0.0), "The table", where)
    for alpha in (0.5, 0.01):
        with student.case():
            counts, where = (
                torch.tensor([[0, 0, 0], [1, 2, 3], [0, 0, 1]]),
                f"with alpha = {alpha}, a row without counts",
            )
            got = student.value("bigram_probs", counts, alpha, where=where)
            same_values(got, bigram_probs(counts, alpha), "The table", where)


def _probs_manners(student: Student) -> None:
    counts = _counts(5)
    quiet_and_pure(student, "bigram_probs", [counts, 0.5], bigram_probs(counts, 0.5), "The table", "`counts`")
    real = _counts(4).float()
    quiet_and_pure(student, "bigram_probs", [real, 0.5], bigram_probs(real, 0.5), "The table", "`counts`")
    empty = torch.tensor([[0, 0, 0], [1, 2, 3], [0, 4, 0]])
    for given in (empty, empty.float()):
        quiet_and_pure(student, "bigram_probs", [given, 0.0], bigram_probs(given, 0.0), "The table", "`counts`")
    device_is_kept(student, "bigram_probs", [counts, 0.5])
    device_is_kept(student, "bigram_probs", [empty, 0.0])


def _probs_precision(student: Student) -> None:
    where = "for float64 counts"
    many, empty = _counts(5).double(), torch.tensor([[0, 0, 0], [1, 2, 3], [0, 4, 0]]).double()
    for counts, alpha in ((many, 0.3), (many, 0.0), (empty, 0.0)):
        with student.case():
            same_tensor(
                student.value("bigram_probs", counts, alpha, where=where),
                bigram_probs(counts, alpha),
                "The table",
                where,
            )
    with student.case():
        gradients_agree(student, "bigram_probs", bigram_probs, [_counts(4).float()], ["`counts`"], fixed=(0.7,))


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("add-alpha smoothing, each row a distribution", 1.5, _probs_values),
        Check("alpha = 0: shares of the counts, exactly", 0.4, _probs_unsmoothed),
        Check("alpha = 0: an unseen row is uniform", 0.6, _probs_unseen),
        Check("float32 from whole numbers, inputs unchanged, any device", 0.3, _probs_manners, further=True),
        Check("float64 stays float64; gradients", 0.2, _probs_precision, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def bigram_probs(counts, alpha=1.0):
    real = counts if counts.is_floating_point() else counts.to(torch.get_default_dtype())
    shares = F.normalize(real + alpha, p=1, dim=1, eps=1e-30)
    return shares + (1 - shares.sum(dim=1, keepdim=True)).clamp(min=0).round() / len(counts)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
        "global_generator",
    ),
    wrong=r"""
columns_normalised: The columns sum to 1, not the rows. Row i is the distribution of what follows i, so sum along the last dimension: dim=-1 (or 1),
    with keepdim=True.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed / smoothed.sum(dim=0, keepdim=True)
- dim=-1 => dim=0
- |
  return (counts + alpha) / (counts + alpha).sum(0)
whole_table: All entries together sum to 1: that is p(i, j), how likely the pair is. Each row must sum to 1 on its own.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed / smoothed.sum()
- |
  return (counts + alpha) / (counts + alpha).sum()
no_keepdim: Without keepdim=True the sums have shape (V,) and broadcasting takes them for columns: entry (i, j) is divided by the total of row j. Keep
    the dimension: `sum(dim=-1, keepdim=True)`.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed / smoothed.sum(dim=-1)
- |
  return (counts + alpha) / (counts + alpha).sum(1)
not_normalised: The smoothed counts are not divided by their row's total, so they are no probabilities.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed * 1.0
- |
  return counts + alpha
alpha_not_in_total: alpha is added to the counts but not to the row's total, so the rows sum to more than 1. Each of the V counts grew by alpha, so
    the total grows by alpha · V: sum the smoothed counts.
- |
  return (counts + alpha) / counts.sum(dim=-1, keepdim=True)
- |
  return (counts + alpha) / counts.sum(dim=-1, keepdim=True).clamp(min=1)
alpha_once_in_total: The row's total grows by alpha once: it must grow by alpha · V, since each of the V counts grew by alpha.
- |
  return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha)
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed / (counts.sum(dim=-1, keepdim=True) + alpha).clamp(min=1e-9)
one_in_total: The row's total grows by V, which is right for alpha = 1 only: it must grow by alpha · V.
- |
  return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + len(counts))
squared_in_total: The row's total grows by alpha · V²: a row has V entries, the table has V².
- |
  return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha * counts.numel())
no_smoothing: alpha is not used (or in empty rows only), so a pair that was never seen gets probability 0: add alpha to every count.
- smoothed = counts + alpha => smoothed = counts
- |
  return counts / counts.sum(dim=-1, keepdim=True)
- |
  return counts / counts.sum(dim=-1, keepdim=True).clamp(min=1)
alpha_always_one: 1 is added whatever alpha says: use the argument.
- smoothed = counts + alpha => smoothed = counts + 1
alpha_times: The counts are multiplied by alpha, which cancels in the division: alpha is added to them.
- smoothed = counts + alpha => smoothed = counts * alpha
alpha_over_size: alpha is divided by (or multiplied with) V before it is added: alpha itself is added to every count.
- smoothed = counts + alpha => smoothed = counts + alpha / len(counts) || smoothed = counts + alpha * len(counts)
zeros_only: Only counts of 0 are smoothed: alpha is added to every count, seen or not.
- smoothed = counts + alpha => smoothed = torch.where(counts == 0, alpha, counts) || smoothed = counts.clamp(min=alpha)
added_after: alpha is added after the division, or mixed in as a share: add it to the counts, then divide by the new totals.
- |
  probs = counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha
  return probs / probs.sum(-1, keepdim=True)
- |
  return (1 - alpha) * counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha / len(counts)
- |
  return counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha
unseen_nan: With alpha = 0 a row without counts is 0 / 0, which is NaN. Decide first which rows are empty, and make them uniform.
- smoothed = smoothed.masked_fill(unseen, 1) => pass
- |
  counts = counts.float()
  return (counts + alpha) / (counts + alpha).sum(-1, keepdim=True)
- |
  return (counts.double() + alpha) / (counts.double() + alpha).sum(-1, keepdim=True)
unseen_zero: With alpha = 0 a row without counts is all zeros, which is no distribution: it must be uniform, 1 / V each. (A small number added to the
    total, `clamp` or `nan_to_num` hides the 0 / 0, but does not make the row sum to 1.)
- smoothed = smoothed.masked_fill(unseen, 1) => return (smoothed / smoothed.sum(dim=-1, keepdim=True)).nan_to_num(0.0)
- |
  counts = counts.float() + alpha
  return (counts / counts.sum(-1, keepdim=True)).nan_to_num(0.0)
- |
  return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-4)
- |
  return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-5)
- |
  return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-6)
- |
  return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-8)
- |
  return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-10)
unseen_one: With alpha = 0 a row without counts must be uniform: 1 / V each, so that it sums to 1.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed / smoothed.sum(dim=-1, keepdim=True).masked_fill(unseen, 1.0)
- smoothed = smoothed.masked_fill(unseen, 1) => smoothed = smoothed + torch.diag(unseen[:, 0])
- smoothed = smoothed.masked_fill(unseen, 1) => smoothed = torch.where(unseen & (torch.arange(len(counts)) == 0), 1, smoothed)
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed / smoothed.sum(dim=-1, keepdim=True).masked_fill(unseen, 1 / len(counts) ** 2)
total_at_least_one: The row's total is kept from falling below 1 (`clamp`, `max`), against division by 0: with a small alpha an empty row's total,
    alpha · V, lies below 1, and the row does not sum to 1.
- |
  smoothed = counts + alpha
  totals = smoothed.sum(dim=-1, keepdim=True)
  return torch.where(totals > 0, smoothed / totals.clamp(min=1), 1 / len(counts))
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed / smoothed.sum(dim=-1, keepdim=True).clamp(min=0.1)
unseen_float64: For float64 counts a row without counts fails, or has the digits of float32 only: the uniform row is made of another dtype.
- |
  smoothed = counts + alpha
  probs = smoothed / smoothed.sum(dim=-1, keepdim=True)
  probs[smoothed.sum(dim=-1) == 0] = torch.full((counts.shape[1],), 1 / counts.shape[1], device=counts.device)
  return probs
- |
  smoothed = counts + alpha
  probs = smoothed / smoothed.sum(dim=-1, keepdim=True)
  uniform = torch.full_like(probs, 1 / counts.shape[1], dtype=torch.float32)
  return torch.where(smoothed.sum(dim=-1, keepdim=True) == 0, uniform, probs)
epsilon_in_counts: A small number is added to the counts to avoid 0 / 0, so with alpha = 0 pairs never seen get a little probability. They should have
    exactly 0 in a row that was seen; only an empty row needs help.
- smoothed = counts + alpha => smoothed = counts + alpha + 1e-8 || smoothed = counts + alpha + 1e-5 || smoothed = counts + alpha + 1e-6
- smoothed = counts + alpha => smoothed = counts + alpha + 1e-7 || smoothed = counts + alpha + 1e-9 || smoothed = counts + alpha + 1e-10
- smoothed = counts + alpha => smoothed = counts + alpha + 1e-12 || smoothed = counts + max(alpha, 1e-8) || smoothed = counts + max(alpha, 1e-10)
- smoothed = counts + alpha => smoothed = counts + max(alpha, 1e-6)
alpha_zero_is_one (slip): alpha = 0 is treated as if no alpha were given (`alpha or 1`): 0 is a real choice, and means no smoothing.
- smoothed = counts + alpha => smoothed = counts + (alpha or 1.0)
all_rows_uniform: With alpha = 0 every row becomes uniform as soon as one of them is empty (or as alpha is 0): decide row by row.
- smoothed = smoothed.masked_fill(unseen, 1) => smoothed = smoothed.masked_fill(unseen.any(), 1) || smoothed = smoothed.masked_fill(smoothed == 0, 1)
- smoothed = counts + alpha =>
      if alpha == 0:
          return torch.full(counts.shape, 1 / len(counts))
      smoothed = counts + alpha
- smoothed = smoothed.masked_fill(unseen, 1) => smoothed = smoothed + unseen.any().long()
zero_entries_uniform: With alpha = 0 every probability of 0 becomes 1 / V: only a row without any count is uniform; in the other rows a pair that was
    never seen keeps 0.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) =>
      probs = smoothed / smoothed.sum(dim=-1, keepdim=True)
      return torch.where(probs == 0, 1 / len(counts), probs)
zero_refused (slip): alpha = 0 is refused: it is allowed, and means no smoothing.
- smoothed = counts + alpha =>
      if alpha <= 0:
          raise ValueError('alpha')
      smoothed = counts + alpha
- smoothed = counts + alpha =>
      assert alpha > 0
      smoothed = counts + alpha
wrong_default (slip): The default of alpha is not 1.0: keep the signature bigram_probs(counts, alpha=1.0).
- alpha=1.0 => alpha=0.0 || alpha=0.1 || alpha=0.5 || alpha
softmax: A softmax turns the counts into probabilities by exponentials: shares of the counts are asked for, without exp.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return torch.softmax(smoothed.float(), dim=-1)
- |
  return torch.softmax(counts.double() + alpha, dim=-1)
euclidean: Each row is divided by its length (the root of the sum of squares): divide by the sum. F.normalize needs p=1.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return F.normalize(smoothed.float(), dim=-1) || return F.normalize(smoothed * 1.0, dim=-1)
- |
  return F.normalize(counts.float() + alpha, dim=-1)
logarithms: Logarithms are returned: the probabilities themselves are asked for.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return (smoothed / smoothed.sum(dim=-1, keepdim=True)).log()
transposed: The table is transposed: row i holds what follows i.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return (smoothed / smoothed.sum(dim=-1, keepdim=True)).T
whole_division: Whole numbers are divided with `//` (or the result is cast to integers), so almost all probabilities are 0.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed // smoothed.sum(dim=-1, keepdim=True)
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return (smoothed / smoothed.sum(dim=-1, keepdim=True)).long()
alpha_cut_off (slip): alpha is cast to the integers of the counts, so that 0.5 becomes 0: make the counts real numbers first.
- smoothed = counts + alpha => smoothed = counts + int(alpha) || smoothed = (counts + alpha).to(counts.dtype)
in_place_on_integers: `counts += alpha` writes real numbers into a tensor of integers, which fails, and into the caller's tensor at that: write
    `counts + alpha`, which makes a new one.
- |
  counts += alpha
  return counts / counts.sum(dim=-1, keepdim=True)
vocabulary_fixed: V is fixed in the code: take it from the shape of counts.
- |
  return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha * 27)
- |
  return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha * 3)
one_row (missed): Only one row is returned: the table (V, V) is asked for.
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return (smoothed / smoothed.sum(dim=-1, keepdim=True))[0]
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return (smoothed / smoothed.sum(dim=-1, keepdim=True)).flatten()
list_returned: A list is returned: a tensor is asked for, so leave out `.tolist()` (or the brackets).
- return smoothed / smoothed.sum(dim=-1, keepdim=True) => return (smoothed / smoothed.sum(dim=-1, keepdim=True)).tolist()
double_precision:
- smoothed = counts + alpha => smoothed = counts.double() + alpha
gradient_cut_off:
- return smoothed / smoothed.sum(dim=-1, keepdim=True) =>
      import numpy as np
      return torch.from_numpy((smoothed / smoothed.sum(dim=-1, keepdim=True)).numpy())
input_changed:
- smoothed = counts + alpha =>
      smoothed = counts.detach().float()
      smoothed += alpha
- smoothed = counts + alpha =>
      smoothed = counts if counts.is_floating_point() else counts.float()
      smoothed += alpha
- smoothed = counts + alpha =>
      smoothed = counts.float()
      smoothed += alpha
- smoothed = counts + alpha => counts = counts.float()
  unseen = (smoothed == 0).all(dim=-1, keepdim=True) => counts += alpha
  smoothed = smoothed.masked_fill(unseen, 1) => counts /= counts.sum(dim=1, keepdim=True)
  return smoothed / smoothed.sum(dim=-1, keepdim=True) => return counts
- smoothed = counts + alpha =>
      if alpha == 0:
          counts[counts.sum(dim=1) == 0] = 1
      smoothed = counts + alpha
device_not_kept: A tensor is made without `device=counts.device`: on a GPU the call fails, or the result comes back on the CPU.
- smoothed = counts + alpha => smoothed = counts + torch.full(counts.shape, alpha)
- |
  smoothed = counts + alpha
  uniform = torch.full(counts.shape, 1 / counts.shape[1])
  probs = smoothed / smoothed.sum(dim=-1, keepdim=True)
  unseen = smoothed.sum(dim=-1) == 0
  if unseen.any():
      probs[unseen] = uniform[unseen]
  return probs
""",
    right=r"""
where:
- smoothed = counts + alpha => dtype = counts.dtype if counts.is_floating_point() else torch.float32
  unseen = (smoothed == 0).all(dim=-1, keepdim=True) => totals = counts.sum(dim=1, keepdim=True).to(dtype) + alpha * counts.shape[1]
  smoothed = smoothed.masked_fill(unseen, 1) => uniform = torch.full_like(counts, 1 / counts.shape[1], dtype=dtype)
  return smoothed / smoothed.sum(dim=-1, keepdim=True) => return torch.where(totals > 0, (counts + alpha) / totals, uniform)
nan_to_num:
- unseen = (smoothed == 0).all(dim=-1, keepdim=True) => return torch.nan_to_num(smoothed / smoothed.sum(1, keepdim=True), nan=1.0 / counts.size(1))
  smoothed = smoothed.masked_fill(unseen, 1) =>
  return smoothed / smoothed.sum(dim=-1, keepdim=True) =>
loop_over_rows:
- |
  rows = []
  for row in counts:
      total = row.sum() + alpha * len(row)
      rows.append((row + alpha) / total if total > 0 else torch.ones_like(row) / len(row))
  return torch.stack(rows)
assignment_to_a_copy:
- |
  probs = counts.clone() if counts.dtype.is_floating_point else counts.float()
  probs = probs + alpha
  empty = probs.sum(-1) == 0
  probs[empty] = 1.0
  return probs / probs.sum(-1, keepdim=True)
transposes:
- |
  smoothed = (counts + alpha).T
  smoothed = torch.where(smoothed.sum(0) == 0, torch.ones_like(smoothed), smoothed)
  return (smoothed / smoothed.sum(0)).T
""",
)
