"""`softmax`: any dimension, scores of ±1e4 and −∞, gradients, without PyTorch's own.

The mistakes: no shift or one for the whole tensor, `dim` ignored, epsilons, −∞ not exactly 0, in-place arithmetic.
"""

from __future__ import annotations

import math

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Ban, Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_agree, normal
from autograder.spec.student import Student

softmax = reference("softmax")


def _softmax_values(student: Student) -> None:
    for shape in ((5,), (3, 4), (2, 3, 5), (2, 1, 4, 3), (1,), (6, 1), (4, 33), (2, 2, 1, 3, 2)):
        with student.case():
            scores, where = normal(*shape, scale=2.0), f"for scores of shape {shape}"
            got = student.value("softmax", scores, where=where)
            same_tensor(got, torch.softmax(scores, -1), "The result", where)
    for rows, where in (
        ([[0.0, 1.0, -1.0], [2.0, 0.0, 3.0]], "for whole numbers, 0 among them"),
        ([[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [-1.0, -1.0, 4.0]], "where scores are equal"),
        ([[-3.0, -1.0, -2.0], [5.0, 1.0, 0.5]], "where all scores of a row have one sign"),
    ):
        with student.case():
            scores = torch.tensor(rows)
            same_tensor(student.value("softmax", scores, where=where), torch.softmax(scores, -1), "The result", where)


def _softmax_dim(student: Student) -> None:
    for shape, dim in (
        ((3, 4), 0),
        ((3, 4), 1),
        ((2, 3, 5), 1),
        ((2, 3, 5), -2),
        ((2, 3, 5), 0),
        ((4, 4), 0),
        ((4,), 0),
    ):
        with student.case():
            scores = normal(*shape)
            where = f"for shape {shape} with dim={dim}"
            got = student.call("softmax", [scores], {"dim": dim}, where=where)["value"]
            same_tensor(got, torch.softmax(scores, dim), "The result", where)
    scores = normal(3, 4)
    got = student.value("softmax", scores, 0, where="with dim given by position")
    same_tensor(got, torch.softmax(scores, 0), "The result", "with dim given by position")
    where = "with both arguments given by name"
    got = student.call("softmax", [], {"scores": scores, "dim": 0}, where=where)["value"]
    same_tensor(got, torch.softmax(scores, 0), "The result", where)


def _softmax_stable(student: Student) -> None:
    rows = torch.tensor([[1e4, 1e4 - 1, 1e4 - 3], [-1e4, -1e4 + 2, -1e4], [1e4, -1e4, 0.0], [0.3, -0.2, 0.1]])
    for scores, where in (
        (rows[0], "for scores near 1e4"),
        (rows[1], "for scores near −1e4"),
        (rows[2], "for scores between −1e4 and 1e4"),
        (rows, "when rows near 1e4 and near −1e4 stand in one batch (each row needs its own maximum)"),
        (rows.double(), "for float64 scores near ±1e4"),
    ):
        with student.case():
            same_tensor(
                student.value("softmax", scores, where=where),
                torch.softmax(scores, -1),
                "The result",
                where,
                rough=True,
            )
    columns = rows.T.contiguous()
    where = "for columns near ±1e4 with dim=0"
    got = student.call("softmax", [columns], {"dim": 0}, where=where)["value"]
    same_tensor(got, torch.softmax(columns, 0), "The result", where, rough=True)


def _softmax_blocked(student: Student) -> None:
    scores = normal(4, 5)
    scores[0, 1] = scores[2, :4] = scores[3, 0] = scores[3, 4] = -math.inf
    got = student.value("softmax", scores, where="when some scores are −inf")
    same_tensor(got, torch.softmax(scores, -1), "The result", "when some scores are −inf")
    if got[scores == -math.inf].abs().max() != 0:
        raise Wrong("A score of −inf must get a weight of exactly 0, not just a small one.")
    for low, where in (
        (torch.tensor([[-1e4, -math.inf, -1e4 + 1]]), "when −inf stands next to scores near −1e4"),
        (torch.tensor([[-1e10, -math.inf, -2e10]]), "when −inf stands next to scores lower than any finite fill"),
    ):
        with student.case():
            got = student.value("softmax", low, where=where)
            same_tensor(got, torch.softmax(low, -1), "The result", where, rough=True)


def _softmax_gradient(student: Student) -> None:
    blocked = normal(3, 4)
    blocked[1, 2] = -math.inf
    for scores, where in (
        (normal(3, 4), ""),
        (normal(2, 3, 4, dtype=torch.float64), "in float64"),
        (torch.tensor([[1e4, 1e4 - 1, 0.0]]), "for scores near 1e4"),
        (blocked, "when a score is −inf"),
    ):
        with student.case():
            gradients_agree(student, "softmax", softmax, [scores], ["`scores`"], where=where, rough="1e4" in where)


def _softmax_precision(student: Student) -> None:
    for shape in ((3, 4), (2, 3, 4)):
        with student.case():
            scores = normal(*shape, dtype=torch.float64, scale=3.0)
            got = student.value("softmax", scores, where="for float64 scores")
            same_tensor(got, torch.softmax(scores, -1), "The result", "for float64 scores")


def _softmax_manners(student: Student) -> None:
    scores = normal(3, 4)
    for turn in ("", "when called a second time"):
        answer = student.call("softmax", [scores], where=turn)
        same_tensor(answer["value"], torch.softmax(scores, -1), "The result", turn)
        unchanged(answer["inputs"], [scores], "`scores`")
        generator_unchanged(answer)
    for turned in (normal(4, 3).T, normal(2, 4, 3, 5).transpose(1, 2)):
        answer = student.call("softmax", [turned], where="for a tensor that is not contiguous (a transpose)")
        same_tensor(answer["value"], torch.softmax(turned, -1), "The result", "for a tensor that is not contiguous")
        unchanged(answer["inputs"], [turned], "`scores`")
    device_is_kept(student, "softmax", [normal(3, 4)])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("values for one to five dimensions", 1.0, _softmax_values),
        Check("the dimension that was asked for", 0.75, _softmax_dim, further=True),
        Check("stable for scores of ±1e4", 0.75, _softmax_stable, further=True),
        Check("−inf gets exactly 0", 0.5, _softmax_blocked, further=True),
        Check("gradients", 0.5, _softmax_gradient, further=True),
        Check("float64 stays float64, with its precision", 0.25, _softmax_precision, further=True),
        Check("inputs unchanged, any layout and device", 0.25, _softmax_manners, further=True),
    ],
    ban=Ban(
        pattern="softmax|softmin|attention",
        without="`torch.softmax` and its relatives (`log_softmax`, `nn.Softmax`, fused attention …)",
        fine="`logsumexp` is fine",
    ),
    working=r"""
import torch

def softmax(scores, dim=-1):
    return torch.softmax(scores, dim)
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
        "global_generator",
    ),
    wrong=r"""
no_shift: This is what softmax gives when the largest score is not subtracted first: exp(1e4) overflows to infinity, and inf / inf is NaN. Subtracting
    the maximum of each row changes nothing in exact arithmetic.
- shifted = scores - scores.amax(dim=dim, keepdim=True) =>
  exps = torch.exp(shifted) => exps = torch.exp(scores)
global_shift: The maximum of the whole tensor is subtracted, not that of each row: a row whose scores are all far below it underflows to 0/0. Take the
    maximum along `dim`, with keepdim=True.
- scores.amax(dim=dim, keepdim=True) => scores.max()
shift_last_dim: The maximum is taken along the last dimension even when another `dim` is asked for. With large scores the exponentials then underflow
    or overflow. Shift along the same `dim` that you normalise.
- scores.amax(dim=dim, keepdim=True) => scores.amax(dim=-1, keepdim=True)
shift_by_minimum: The smallest score is subtracted instead of the largest, so the exponentials still overflow.
- scores.amax => scores.amin
shift_by_absolute: The largest *absolute* value is subtracted instead of the largest score: rows of large negative scores, or with a −inf, underflow
    to 0/0.
- scores.amax => scores.abs().amax
shift_added: The maximum is added instead of subtracted, so the exponentials overflow even sooner.
- scores - scores.amax => scores + scores.amax
shift_in_denominator_only: The maximum is subtracted in the numerator or the denominator only. Use the same exponentials in both.
- |
  shifted = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
  return torch.exp(scores) / shifted.sum(dim=dim, keepdim=True)
- |
  shifted = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
  return shifted / torch.exp(scores).sum(dim=dim, keepdim=True)
divided_by_maximum: The scores are divided by their maximum (or another size of the row) instead of shifted: that changes the weights. Subtract the
    maximum, which changes nothing.
- scores - scores.amax => scores / scores.amax || scores / scores.abs().amax
- scores - scores.amax( => scores / scores.norm( || scores / scores.std(
shift_by_mean: The mean is subtracted instead of the maximum: large scores stay large and overflow, and one of −inf makes the mean −inf too.
- scores.amax => scores.mean
- scores.amax(dim=dim, keepdim=True) => scores.masked_fill(scores.isinf(), 0).mean(dim=dim, keepdim=True)
temperature: The scores are divided or multiplied by a number first (a temperature, a root of the size): softmax takes them as they are.
- torch.exp(shifted) => torch.exp(shifted / 2) || torch.exp(shifted * 2) || torch.exp(shifted / scores.shape[dim])
- torch.exp(shifted) => torch.exp(shifted / scores.shape[dim] ** 0.5)
numbers_one_by_one: This works for a single row of numbers only (`max(scores)`, `math.exp`, a loop over plain numbers), and no gradient gets through.
    Use `amax`, `torch.exp` and `sum` along `dim`.
- |
  exps = [math.exp(s - max(scores)) for s in scores]
  return torch.tensor([e / sum(exps) for e in exps])
- |
  exps = [math.exp(s) for s in scores]
  return torch.tensor([e / sum(exps) for e in exps])
clamped: The scores are clamped to keep exp from overflowing. That changes them: scores beyond the limit become equal. Subtract the row's maximum
    instead, which changes nothing.
- shifted = scores - scores.amax(dim=dim, keepdim=True) => exps = torch.exp(scores.clamp(-80, 80))
  exps = torch.exp(shifted) =>
- shifted = scores - scores.amax(dim=dim, keepdim=True) => exps = torch.exp(scores.clamp(max=80))
  exps = torch.exp(shifted) =>
- shifted = scores - scores.amax(dim=dim, keepdim=True) => exps = torch.exp(scores.clamp(-100, 100))
  exps = torch.exp(shifted) =>
- shifted = scores - scores.amax(dim=dim, keepdim=True) => exps = torch.exp(scores.clamp(-10, 10))
  exps = torch.exp(shifted) =>
ignores_dim: `dim` is ignored: the result is always normalised along the last dimension.
- dim=dim => dim=-1
first_dim (slip): Without a `dim` the result is normalised along the first dimension instead of the last: the default is dim=-1.
- dim=-1): => dim=0):
always_first_dim: The result is always normalised along the first dimension, whatever `dim` says.
- dim=dim => dim=0
whole_tensor: The exponentials are divided by their sum over the whole tensor, so that all entries together sum to 1. Each row must sum to 1 on its
    own: sum along `dim`, with keepdim=True.
- exps.sum(dim=dim, keepdim=True) => exps.sum()
no_keepdim (slip): Without keepdim=True the maxima or the sums lose a dimension, and broadcasting then pairs rows with the numbers of other rows (or fails
    when the sizes do not match).
- exps.sum(dim=dim, keepdim=True) => exps.sum(dim=dim)
- scores.amax(dim=dim, keepdim=True) => scores.amax(dim=dim)
- , keepdim=True =>
epsilon (slip): A small number is added to the denominator, so the weights sum to a little less than 1 (in float64 even 1e-8 shows). Once the maximum is
    subtracted the denominator is at least 1: nothing need be added.
- / exps.sum(dim=dim, keepdim=True) => / (exps.sum(dim=dim, keepdim=True) + 1e-4) || / (exps.sum(dim=dim, keepdim=True) + 1e-3)
- / exps.sum(dim=dim, keepdim=True) => / (exps.sum(dim=dim, keepdim=True) + 1e-5) || / (exps.sum(dim=dim, keepdim=True) + 1e-6)
- / exps.sum(dim=dim, keepdim=True) => / (exps.sum(dim=dim, keepdim=True) + 1e-7) || / (exps.sum(dim=dim, keepdim=True) + 1e-8)
- / exps.sum(dim=dim, keepdim=True) => / (exps.sum(dim=dim, keepdim=True) + 1e-9)
no_shift_but_epsilon: A small number added to the denominator does not help when exp(1e4) overflows, and it changes the weights. Subtract the maximum
    of each row first; then nothing need be added.
- |
  exps = torch.exp(scores)
  return exps / (exps.sum(dim=dim, keepdim=True) + 1e-8)
- |
  exps = torch.exp(scores)
  return exps / (exps.sum(dim=dim, keepdim=True) + 1e-5)
- |
  exps = torch.exp(scores)
  return exps / (exps.sum(dim=dim, keepdim=True) + 1e-6)
- |
  exps = torch.exp(scores)
  return exps / (exps.sum(dim=dim, keepdim=True) + 1e-9)
- |
  exps = torch.exp(scores)
  return exps / (exps.sum(dim=dim, keepdim=True) + 1e-10)
not_normalised: The exponentials are not divided by their sum, so the weights do not sum to 1.
- / exps.sum(dim=dim, keepdim=True) =>
no_exponential: The scores are divided by their sum without taking the exponential. Negative scores then give negative weights.
- |
  return scores / scores.sum(dim=dim, keepdim=True)
base_two (slip): The powers are taken of another number instead of e.
- torch.exp(shifted) => 2 ** shifted || 10 ** shifted || 2.718 ** shifted
squares (missed): Squares or absolute values of the scores are normalised instead of their exponentials.
- |
  return scores.abs() / scores.abs().sum(dim=dim, keepdim=True)
- |
  return scores**2 / (scores**2).sum(dim=dim, keepdim=True)
sign_changed (slip): The sign of the scores is changed, so that the smallest score gets the largest weight.
- shifted = scores - =>
      scores = -scores
      shifted = scores -
zero_as_blocked: A score of exactly 0 is treated as blocked. 0 is a score like any other: only −inf is blocked.
- torch.exp(shifted) => torch.exp(shifted).masked_fill(scores == 0, 0.0)
maximum_lost: A score that equals the maximum is treated as special (argmax or `==`): where scores are equal, they share.
- return exps / exps.sum(dim=dim, keepdim=True) => return (exps == 1).to(scores.dtype)
- return exps / exps.sum(dim=dim, keepdim=True) => return torch.zeros_like(scores).scatter(dim, scores.argmax(dim, keepdim=True), 1.0)
log_softmax (slip): The result is the logarithm of the weights (log-softmax): take the exponential of it.
- |
  return scores - torch.logsumexp(scores, dim=dim, keepdim=True)
sigmoid (missed): Each score went through a sigmoid on its own. The scores of a row compete in softmax: their weights sum to 1.
- |
  return 1 / (1 + torch.exp(-scores))
input_changed:
- shifted = scores - => scores -=
  torch.exp(shifted) => torch.exp(scores)
- shifted = scores - scores.amax(dim=dim, keepdim=True) => scores -= scores.amax(dim, True)
  exps = torch.exp(shifted) => scores.exp_()
  return exps / exps.sum(dim=dim, keepdim=True) => return scores / scores.sum(dim, True)
overwritten: A tensor that the backward pass still needs is overwritten in place (`e /= …`, `exps[…] = …`). The values are right, but the gradient
    fails. Write `e = e / …`.
- shifted = scores - scores.amax(dim=dim, keepdim=True) => exps = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
  exps = torch.exp(shifted) => exps /= exps.sum(dim=dim, keepdim=True)
  return exps / exps.sum(dim=dim, keepdim=True) => return exps
sum_detached: The denominator is detached: the values are right, but the gradient treats the sum as a constant.
- exps.sum(dim=dim, keepdim=True) => exps.sum(dim=dim, keepdim=True).detach()
single_precision:
- shifted = scores - =>
      scores = scores.float()
      shifted = scores -
double_precision:
- shifted = scores - =>
      scores = scores.double()
      shifted = scores -
single_precision_inside:
- torch.exp(shifted) => torch.exp(shifted.float()).to(scores.dtype)
two_dimensions_only: This works for a matrix only: with more or fewer dimensions the wrong entries are summed, or it fails. Use `dim` with
    keepdim=True instead of fixed positions.
- |
  e = torch.exp(scores - scores.max(1)[0][:, None])
  return e / e.sum(1)[:, None]
- shifted = scores - scores.amax(dim=dim, keepdim=True) => T, S = scores.shape
  exps = torch.exp(shifted) => e = torch.exp(scores - scores.amax(dim, True))
  return exps / exps.sum(dim=dim, keepdim=True) => return e / e.sum(dim, True)
slices_normalised: A loop over the first dimension normalises each slice as a whole: that is a softmax over rows of a matrix only, whatever `dim`
    says.
- |
  if scores.dim() == 1:
      e = torch.exp(scores - scores.max())
      return e / e.sum()
  exps = [torch.exp(row - row.max()) for row in scores]
  return torch.stack([e / e.sum() for e in exps])
- |
  exps = [torch.exp(row - row.max()) for row in scores]
  return torch.stack([e / e.sum() for e in exps])
reshaped_to_rows: The scores are reshaped into rows and normalised along the last dimension, without moving `dim` there first. `reshape` does not
    transpose.
- shifted = scores - scores.amax(dim=dim, keepdim=True) => rows = scores.reshape(-1, scores.shape[dim])
  exps = torch.exp(shifted) => e = torch.exp(rows - rows.amax(-1, keepdim=True))
  return exps / exps.sum(dim=dim, keepdim=True) => return (e / e.sum(-1, keepdim=True)).reshape(scores.shape)
finite_blocked: −inf was replaced by a finite number or the weights were given a floor, so blocked entries get a little weight.
- torch.exp(shifted) => torch.exp(shifted).clamp(min=1e-9) || (torch.exp(shifted) + 1e-9)
- in sign_changed
  -scores => scores.nan_to_num(neginf=-1e4)
- in sign_changed
  -scores => scores.nan_to_num(neginf=-1e9)
- in sign_changed
  -scores => scores.nan_to_num(neginf=-100.0)
other_signature (slip): An argument cannot be given by its name: keep the signature softmax(scores, dim=-1).
- scores => x
- |
  def softmax(scores, axis=-1):
      e = torch.exp(scores - scores.amax(axis, True))
      return e / e.sum(axis, True)
- |
  def softmax(scores):
      e = torch.exp(scores - scores.amax(-1, True))
      return e / e.sum(-1, True)
dim_required (slip): `dim` has no default: keep the signature softmax(scores, dim=-1).
- dim=-1): => dim):
array_returned:
- return exps / exps.sum(dim=dim, keepdim=True) => return (exps / exps.sum(dim=dim, keepdim=True)).detach().numpy()
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape`, or `dim` with keepdim=True.
- |
  moved = scores.movedim(dim, -1)
  rows = moved.view(-1, moved.shape[-1])
  exps = torch.exp(rows - rows.amax(dim=-1, keepdim=True))
  return (exps / exps.sum(dim=-1, keepdim=True)).view(moved.shape).movedim(-1, dim)
""",
    right=r"""
logsumexp:
- |
  return torch.exp(scores - torch.logsumexp(scores, dim=dim, keepdim=True))
max_values_helper:
- |
  def _shift(t, axis):
      biggest, _ = torch.max(t, axis, keepdim=True)
      return t - biggest

  def softmax(scores, dim=-1):
      e = _shift(scores, dim).exp()
      return torch.div(e, torch.sum(e, dim, keepdim=True))
loop_over_slices:
- |
  out = []
  moved = scores.movedim(dim, -1)
  for row in moved.reshape(-1, moved.shape[-1]):
      e = (row - row.max()).exp()
      out.append(e / e.sum())
  return torch.stack(out).reshape(moved.shape).movedim(-1, dim)
float64_inside:
- shifted = scores - scores.amax(dim=dim, keepdim=True) => wide = scores.double()
  exps = torch.exp(shifted) => e = torch.exp(wide - wide.amax(dim, keepdim=True))
  return exps / exps.sum(dim=dim, keepdim=True) => return (e / e.sum(dim, keepdim=True)).to(scores.dtype)
detached_shift:
- scores.amax(dim=dim, keepdim=True) => scores.detach().amax(dim=dim, keepdim=True)
""",
)
