"""`masked_softmax`: masks that broadcast, rows without a key, blocked scores of any size, finite gradients.

The mistakes: NaN rows or hidden ones, finite fills, zeroing without renormalising, gradients that become NaN.
"""

from __future__ import annotations

import math

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_agree, normal
from autograder.spec.student import Student

masked_softmax = reference("masked_softmax")


def _pattern(*shape: int) -> torch.Tensor:
    """A mask with about a third blocked, and no fully blocked row."""
    count = math.prod(shape)
    mask = ((torch.arange(count) * 7 + torch.arange(count) // 5) % 3 == 1).reshape(shape)
    mask[..., -1] &= ~mask.all(-1)
    return mask


def _masked_case(student: Student, scores: torch.Tensor, mask: torch.Tensor, where: str, rough: bool = False) -> None:
    answer = student.call("masked_softmax", [scores, mask], where=where)
    same_tensor(answer["value"], masked_softmax(scores, mask), "The result", where, rough)


def _masked_values(student: Student) -> None:
    for shape in ((3, 5), (2, 4, 3), (2, 3, 4, 5), (1, 4), (4, 4), (2, 3, 1, 2), (2, 1, 3, 2, 4), (2, 33, 17)):
        with student.case():
            _masked_case(student, normal(*shape), _pattern(*shape), f"for scores and mask of shape {shape}")
    whole = torch.tensor([[0.0, 1.0, -1.0, 0.0], [2.0, 2.0, 0.0, 2.0]])
    for scores, mask, where in (
        (normal(3, 4), torch.zeros(3, 4, dtype=torch.bool), "with a mask that blocks nothing"),
        (whole, _pattern(2, 4), "for whole numbers, 0 among them"),
    ):
        with student.case():
            _masked_case(student, scores, mask, where)


def _masked_broadcast(student: Student) -> None:
    for shape, size in (
        ((2, 4, 5), (4, 5)),
        ((2, 3, 4, 5), (2, 1, 4, 5)),
        ((2, 3, 4, 5), (2, 1, 1, 5)),
        ((2, 3, 4, 5), (3, 4, 5)),
        ((2, 2, 3, 4), (2, 3, 4)),
        ((2, 3, 4, 4), (4, 4)),
        ((3, 5), (5,)),
        ((2, 3, 4), (4,)),
        ((2, 3, 4), (1, 1, 4)),
        ((2, 3, 3), (2, 1, 3)),
        ((3, 4), (1, 1)),
    ):
        with student.case():
            where = f"for scores of shape {shape} and a mask of shape {size}"
            _masked_case(student, normal(*shape), _pattern(*size), where)


def _masked_empty(student: Student) -> None:
    some = _pattern(2, 4, 5)
    some[0, 1] = some[1, 3] = True
    for scores, mask, where in (
        (normal(2, 4, 5), some, "when some rows are fully blocked"),
        (normal(3, 4), torch.ones(3, 4, dtype=torch.bool), "when everything is blocked"),
        (normal(2, 3), torch.ones(1, 1, dtype=torch.bool), "with a mask of shape (1, 1) that blocks everything"),
        (
            normal(2, 3, 4),
            torch.tensor([[True], [False], [True]]),
            "with a mask of shape (T, 1) that blocks whole rows",
        ),
        (
            normal(3, 4, scale=1e4),
            torch.tensor([[True] * 4, [False, True, True, True], [True] * 4]),
            "with large scores",
        ),
    ):
        with student.case():
            _masked_case(student, scores, mask, where)


def _masked_extreme(student: Student) -> None:
    mask = torch.tensor([[False, True, False, False], [True, False, False, True], [False, False, True, True]])
    base = normal(3, 4)
    with student.case():
        low = base - 1e4
        _masked_case(student, low, mask, "where all allowed scores are near −1e4", rough=True)
    with student.case():
        very_low = torch.where(mask, base, base - 1e12)
        _masked_case(student, very_low, mask, "where all allowed scores are far below a finite fill such as −1e9")
    with student.case():
        high = torch.where(mask, base + 1e4, base)
        _masked_case(student, high, mask, "where the blocked scores are much the largest (1e4)")
    with student.case():
        far = torch.where(mask, base + 1e12, base)
        _masked_case(student, far, mask, "where the blocked scores are much the largest (1e12)")
    with student.case():
        large = base * 1e4
        _masked_case(student, large, mask, "for scores of ±1e4", rough=True)


def _masked_gradient(student: Student) -> None:
    mask = _pattern(2, 4, 5)
    empty = mask.clone()
    empty[0, 2] = empty[1, 0] = True
    for given, dtype, where in (
        (mask, torch.float32, "without fully blocked rows"),
        (empty, torch.float32, "when some rows are fully blocked"),
        (empty, torch.float64, "in float64, when some rows are fully blocked"),
    ):
        with student.case():
            scores = normal(2, 4, 5, dtype=dtype)
            gradients_agree(student, "masked_softmax", masked_softmax, [scores], ["`scores`"], (given,), where)


def _masked_precision(student: Student) -> None:
    mask = _pattern(3, 5)
    mask[1] = True
    _masked_case(student, normal(3, 5, dtype=torch.float64), mask, "for float64 scores")


def _masked_manners(student: Student) -> None:
    mask = _pattern(2, 4, 5)
    mask[0, 2] = True
    for given in (mask, mask[0]):
        with student.case():
            scores = normal(2, 4, 5)
            for turn in ("", "when called a second time"):
                answer = student.call("masked_softmax", [scores, given], where=turn)
                unchanged(answer["inputs"], [scores, given], "scores or mask")
                generator_unchanged(answer)
                same_tensor(answer["value"], masked_softmax(scores, given), "The result", turn)
    with student.case():
        turned = normal(2, 5, 4).mT
        _masked_case(student, turned, mask, "for scores that are not contiguous")
    with student.case():
        named, where = {"scores": normal(2, 4, 5), "mask": mask}, "with arguments given by name"
        got = student.call("masked_softmax", [], named, where=where)["value"]
        same_tensor(got, masked_softmax(**named), "The result", where)
    with student.case():
        device_is_kept(student, "masked_softmax", [normal(2, 4, 5), mask])


EXERCISE = Exercise(
    points=6,
    checks=[
        Check("values for two to five dimensions", 1.5, _masked_values),
        Check("masks that broadcast", 0.75, _masked_broadcast, further=True),
        Check("a fully blocked row is all zeros", 1.0, _masked_empty),
        Check("exactly 0 for blocked entries, whatever the scores", 1.0, _masked_extreme, further=True),
        Check("gradients, with fully blocked rows too", 1.0, _masked_gradient, further=True),
        Check("float64 stays float64, with its precision", 0.25, _masked_precision, further=True),
        Check("inputs unchanged, any layout and device", 0.5, _masked_manners, further=True),
    ],
    working=r"""
import torch

def masked_softmax(scores, mask):
    bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(mask, -torch.inf)
    dead = mask.all(-1, keepdim=True)
    weights = torch.nn.functional.softmax(torch.where(dead, torch.zeros_like(scores), scores + bias), -1)
    return torch.where(mask, torch.zeros_like(weights), weights)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
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
nan_rows: A fully blocked row gives NaN: it is a softmax over nothing but −inf, that is 0/0. Such rows must be zeros.
- |
  return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
nan_hidden: The NaN of fully blocked rows is replaced after it has arisen (nan_to_num or torch.where). The values look right, but the gradient still
    goes through the NaN. Make such rows harmless *before* the division or the softmax.
- |
  bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(mask, float("-inf"))
  return torch.softmax(scores + bias, dim=-1).nan_to_num(0.0)
- |
  exps = torch.exp(scores - scores.masked_fill(mask, torch.finfo(scores.dtype).min).amax(-1, keepdim=True))
  exps = exps * ~mask
  weights = exps / exps.sum(-1, keepdim=True)
  return torch.where(weights.isnan(), torch.zeros_like(weights), weights)
uniform_rows: A fully blocked row gets equal weights instead of zeros: where every score is the same finite number, softmax shares out evenly. Set
    blocked weights to 0 afterwards.
- weights.masked_fill(mask, 0.0) => weights
- |
  open_ = mask & ~mask.all(-1, keepdim=True)
  return torch.softmax(scores.masked_fill(open_, float('-inf')), dim=-1)
row_ones: A fully blocked row gets ones instead of zeros.
- return weights.masked_fill(mask, 0.0) => return weights.masked_fill(mask, 0.0).masked_fill(empty, 1.0)
raises_for_empty_rows: An error is raised for a fully blocked row. Such rows happen (an empty sequence, padding) and must give zeros.
- scores = scores.masked_fill(empty =>
      if empty.any():
          raise ValueError('empty')
      scores = scores.masked_fill(empty
- scores = scores.masked_fill(empty =>
      assert not empty.any()
      scores = scores.masked_fill(empty
finite_fill: Blocked scores are filled with (or lowered by) a finite number such as −1e9: a fully blocked row gets weights instead of zeros, and where
    allowed scores are lower still the blocked entry wins.
- |
  return torch.softmax(scores.masked_fill(mask, -1e9), dim=-1)
- |
  return torch.softmax(scores.masked_fill(mask, -1e4), dim=-1)
- |
  return torch.softmax(scores - 1e9 * mask, dim=-1)
- |
  return torch.softmax(scores - 1e4 * mask, dim=-1)
finite_fill_zeroed: Blocked scores are filled with (or lowered by) a finite number such as −1e9 and zeroed after the softmax. Where the allowed scores
    are lower still, the blocked entries take all the weight, and zeroing them leaves a row that sums to 0. Fill with −inf.
- |
  return torch.softmax(scores.masked_fill(mask, -1e9), dim=-1).masked_fill(mask, 0.0)
- |
  return torch.softmax(scores.masked_fill(mask, -1e4), dim=-1).masked_fill(mask, 0.0)
- |
  return torch.softmax(scores.masked_fill(mask, -100.0), dim=-1).masked_fill(mask, 0.0)
- |
  return torch.softmax(scores - 1e9 * mask, dim=-1) * ~mask
- |
  return torch.softmax(scores - 1e4 * mask, dim=-1) * ~mask
- |
  weights = torch.softmax(scores.masked_fill(mask, -1e9), dim=-1)
  return weights.masked_fill(mask.all(-1, keepdim=True), 0.0)
- |
  weights = torch.softmax(scores.masked_fill(mask, -1e4), dim=-1)
  return weights.masked_fill(mask.all(-1, keepdim=True), 0.0)
small_fill: Blocked scores are filled with a small finite number (−100, −10 …), so blocked entries keep a little weight.
- |
  return torch.softmax(scores.masked_fill(mask, -100.0), dim=-1)
- |
  return torch.softmax(scores.masked_fill(mask, -10.0), dim=-1)
- |
  return torch.softmax(scores.masked_fill(mask, scores.min() - 10), dim=-1)
- |
  return torch.softmax(scores.masked_fill(mask, scores.min() - 1), dim=-1)
small_fill_zeroed: Blocked scores are filled with a small finite number (−10 or the like) and zeroed after the softmax: until then they took a share,
    so the rows do not sum to 1.
- |
  return torch.softmax(scores.masked_fill(mask, -10.0), dim=-1).masked_fill(mask, 0.0)
- |
  return torch.softmax(scores.masked_fill(mask, -5.0), dim=-1).masked_fill(mask, 0.0)
zero_after: The weights of blocked entries are set to zero after the softmax, without −inf before it: the others keep the values they had in
    competition with them, so rows no longer sum to 1.
- |
  return torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)
zero_after_renormalised: The blocked entries still take part in the row's maximum or sum, and are zeroed (and the row renormalised) afterwards. That
    is right on paper, but where a blocked score is much the largest, nothing is left of the others. Mask the scores first.
- |
  weights = torch.softmax(scores, dim=-1) * ~mask
  return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)
- |
  weights = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)
  return weights / (weights.sum(-1, keepdim=True) + 1e-9)
- |
  exps = torch.exp(scores - scores.amax(-1, keepdim=True)).masked_fill(mask, 0.0)
  total = exps.sum(-1, keepdim=True)
  return exps / total.masked_fill(total == 0, 1.0)
global_shift: The maximum of the whole tensor is subtracted, not that of each row: a row far below it underflows, and nothing of it is left. Take the
    maximum of each row's *allowed* scores.
- |
  exps = torch.exp(scores - scores.max()).masked_fill(mask, 0.0)
  total = exps.sum(-1, keepdim=True)
  return exps / total.masked_fill(total == 0, 1.0)
minus_one (missed): `1 - mask` and `-mask` are not defined for boolean tensors: write `~mask`.
- |
  return torch.softmax(scores, dim=-1) * (1 - mask)
mask_as_condition: A whole tensor is asked for one truth value (`if mask:`), which fails. Use masked_fill or torch.where, entry by entry.
- |
  if mask:
      return torch.zeros_like(scores)
  return torch.softmax(scores, dim=-1)
any_empty_row: As soon as one row is fully blocked, everything becomes zero: each row counts on its own.
- |
  if mask.all(dim=-1).any():
      return torch.zeros_like(scores)
  return torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)
one_key_opened: One key is opened in fully blocked rows, and gets all the weight: such rows must be all zeros. Set blocked weights to 0 afterwards.
- |
  mask = mask.expand(scores.shape).clone()
  mask[..., 0] &= ~mask.all(-1)
  return torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)
- |
  mask = mask.expand(scores.shape).clone()
  mask[..., -1] &= ~mask.all(-1)
  return torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)
all_or_nothing: Rows are looked after only where *everything* is blocked (`mask.all()` without `dim`): each row counts on its own.
- |
  if mask.all():
      return torch.zeros_like(scores)
  return torch.softmax(scores.masked_fill(mask, float('-inf')), dim=-1)
some_dimensions_only: The number of dimensions is fixed in the code (unpacking `scores.shape`, `dim=2`, `dim=3`): scores may have any number of
    leading dimensions. Count from the end.
- |
  T, S = scores.shape
  empty = mask.all(dim=-1, keepdim=True)  # (..., T, 1): rows in which nothing is allowed
  scores = scores.masked_fill(mask, float("-inf"))
  scores = scores.masked_fill(empty, 0.0)  # a row of only -inf would give 0/0: any finite number avoids it
  weights = torch.softmax(scores, dim=-1)  # (..., T, S)
  return weights.masked_fill(mask, 0.0)
- |
  B, T, S = scores.shape
  empty = mask.all(dim=-1, keepdim=True)  # (..., T, 1): rows in which nothing is allowed
  scores = scores.masked_fill(mask, float("-inf"))
  scores = scores.masked_fill(empty, 0.0)  # a row of only -inf would give 0/0: any finite number avoids it
  weights = torch.softmax(scores, dim=-1)  # (..., T, S)
  return weights.masked_fill(mask, 0.0)
- |
  B, H, T, S = scores.shape
  empty = mask.all(dim=-1, keepdim=True)  # (..., T, 1): rows in which nothing is allowed
  scores = scores.masked_fill(mask, float("-inf"))
  scores = scores.masked_fill(empty, 0.0)  # a row of only -inf would give 0/0: any finite number avoids it
  weights = torch.softmax(scores, dim=-1)  # (..., T, S)
  return weights.masked_fill(mask, 0.0)
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=2) || torch.softmax(scores, dim=3)
softmax_everywhere: One softmax runs over all scores together; each row must sum to 1 on its own: dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores.flatten(), 0).reshape(scores.shape)
- torch.softmax(scores, dim=-1) => torch.softmax(scores.flatten(-2), -1).reshape(scores.shape)
mask_transposed (slip): The mask is transposed: its rows are queries, its columns are keys.
- in some_dimensions_only
  T, S = scores.shape => mask = mask.mT
mask_in_place: The caller's mask is changed in place (rows opened, `logical_not_()`): the next call would get another mask.
- in some_dimensions_only
  T, S = scores.shape =>
      blocked = mask.clone()
      mask[mask.all(dim=-1)] = False
  return weights.masked_fill(mask, 0.0) => return weights.masked_fill(blocked, 0.0)
- return weights.masked_fill(mask, 0.0) => return weights * mask.logical_not_()
zero_as_blocked: A score of exactly 0 is treated as blocked: only the mask says what is blocked.
- in some_dimensions_only
  T, S = scores.shape => mask = mask | (scores == 0)
pair_returned (slip): Two things are returned: only the weights are asked for.
- return weights.masked_fill(mask, 0.0) => return weights.masked_fill(mask, 0.0), mask
overwritten: A tensor that the backward pass still needs is overwritten in place (`weights[mask] = 0`, `masked_fill_`, `/=`). The values are right,
    but the gradient fails.
- return weights.masked_fill(mask, 0.0) => return weights.masked_fill_(mask, 0.0)
sum_detached: The denominator is detached: the values are right, but the gradient treats the sum as a constant.
- empty = mask.all(dim=-1, keepdim=True) => safe = scores.masked_fill(mask, float('-inf'))
  scores = scores.masked_fill(mask, float("-inf")) => top = safe.amax(-1, keepdim=True).detach()
  scores = scores.masked_fill(empty, 0.0) => exps = (safe - top.masked_fill(top.isinf(), 0.0)).exp()
  weights = torch.softmax(scores, dim=-1) => total = exps.sum(-1, keepdim=True).detach()
  return weights.masked_fill(mask, 0.0) => return exps / total.masked_fill(total == 0, 1.0)
renormalised_nan: The blocked weights are zeroed after the softmax and the row is divided by its sum: 0/0 in a fully blocked row.
- |
  weights = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)
  return weights / weights.sum(-1, keepdim=True)
scores_zeroed: Blocked scores are set to 0 (or multiplied by the mask): exp(0) = 1 is no small weight. Fill with −inf.
- |
  return torch.softmax(scores.masked_fill(mask, 0.0), dim=-1)
scores_zeroed_then_weights: Blocked scores are set to 0 before the softmax and their weights to 0 after it, so rows do not sum to 1.
- |
  return torch.softmax(scores.masked_fill(mask, 0.0), dim=-1).masked_fill(mask, 0.0)
inverted: The mask is read the wrong way round: True = blocked.
- in some_dimensions_only
  T, S = scores.shape => mask = ~mask
inverted_plain: The mask is read the wrong way round (True = blocked), and fully blocked rows are not looked after.
- |
  return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
mask_ignored (missed): The mask is ignored: this is the plain softmax.
- |
  return torch.softmax(scores, dim=-1)
wrong_dimension: The softmax runs over the queries (dim=-2): each row is to be shared out over the keys, dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=-2)
  mask.all(dim=-1, => mask.all(dim=-2,
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=-2)
dimension_one (slip): The softmax runs over dim=1, which is the keys for a matrix only. Use dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=1)
dimension_zero: The softmax runs over dim=0. Use dim=-1: each row is to be shared out over the keys.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=0)
empty_any: Every row with *any* blocked entry is treated as fully blocked: `any` where `all` belongs.
- mask.all( => mask.any(
- mask.all( => mask.any(
  weights.masked_fill(mask, 0.0) => weights.masked_fill(mask | empty, 0.0)
in_place: The scores are changed in place (`masked_fill_` or `scores[mask] = …`): the caller's tensor is destroyed.
- scores = scores.masked_fill(mask, float("-inf")) => scores.masked_fill_(mask, float("-inf"))
- |
  scores[mask.expand_as(scores)] = float('-inf')
  return torch.softmax(scores, -1)
single_precision:
- torch.softmax(scores, dim=-1) => torch.softmax(scores.float(), dim=-1)
double_precision:
- torch.softmax(scores, dim=-1) => torch.softmax(scores.double(), dim=-1)
device_dropped: A new tensor is made without `device=`: on a GPU it lands on the CPU and the computation fails.
- scores = scores.masked_fill(mask, float("-inf")) => scores = torch.where(mask, torch.full(scores.shape, float("-inf"), dtype=scores.dtype), scores)
epsilon: A small number is added to the sum of the exponentials to avoid 0/0: then no row sums to exactly 1.
- |
  safe = scores.masked_fill(mask, float('-inf'))
  shift = safe.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
  exps = torch.exp(scores.masked_fill(mask, 0) - shift).masked_fill(mask, 0.0)
  return exps / (exps.sum(-1, keepdim=True) + 1e-4)
- |
  safe = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
  exps = torch.exp(safe - safe.amax(-1, keepdim=True)).masked_fill(mask, 0.0)
  return exps / (exps.sum(-1, keepdim=True) + 1e-6)
- |
  safe = scores.masked_fill(mask, float('-inf'))
  shift = safe.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
  exps = torch.exp(scores.masked_fill(mask, 0) - shift).masked_fill(mask, 0.0)
  return exps / (exps.sum(-1, keepdim=True) + 1e-9)
unstable: The exponential is taken of the raw scores, which overflows (or underflows to 0/0) for scores of ±1e4. Subtract the row's largest *allowed*
    score first.
- |
  exps = torch.exp(scores).masked_fill(mask, 0.0)
  total = exps.sum(-1, keepdim=True)
  return exps / total.masked_fill(total == 0, 1.0)
- |
  exps = torch.exp(scores) * ~mask
  return exps / exps.sum(-1, keepdim=True).clamp(min=1e-30)
- |
  exps = torch.exp(scores) * ~mask
  return exps / (exps.sum(-1, keepdim=True) + 1e-9)
boolean_index: Only the allowed scores are picked out and shared out all together: boolean indexing flattens the rows.
- |
  weights = torch.zeros_like(scores)
  open_ = ~mask.expand_as(scores)
  weights[open_] = torch.softmax(scores[open_], dim=0)
  return weights
mask_added: The boolean mask is added to the scores, which only adds 1 to the blocked ones.
- |
  return torch.softmax(scores + mask, dim=-1)
infinity_times_mask (missed): The mask is multiplied by −inf: 0 × −inf is NaN, so the allowed entries are lost (or become 0 when the NaN is replaced). Use
    masked_fill.
- |
  return torch.softmax(scores + mask * float('-inf'), dim=-1)
- |
  return torch.softmax(scores + mask * float('-inf'), dim=-1).nan_to_num(0.0)
log_softmax: The result is the logarithm of the weights.
- torch.softmax(scores, dim=-1) => torch.log_softmax(scores, dim=-1)
no_broadcast: The mask is indexed as if it had the shape of the scores; it may be smaller and broadcast: use masked_fill or torch.where, or expand it
    first.
- |
  scores = scores.clone()
  scores[mask] = float('-inf')
  empty = mask.all(-1)
  scores[empty] = 0.0
  weights = torch.softmax(scores, dim=-1)
  weights = weights.clone()
  weights[mask] = 0.0
  return weights
dropout (slip): Chance plays a part (dropout or random numbers): the result must depend on scores and mask only.
- return weights.masked_fill(mask, 0.0) => return torch.dropout(weights, 0.1, True).masked_fill(mask, 0.0)
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape`, or count dimensions from the end.
- empty = =>
      scores = scores.view(-1, scores.shape[-1]).view(scores.shape)
      empty =
other_signature (slip): The arguments have other names: keep the signature masked_softmax(scores, mask), so that they may be given by name.
- scores, mask): => logits, mask):
  empty = =>
      scores = logits
      empty =
mask_unsqueezed: The mask is given a further dimension (unsqueeze), so that one for each head is taken for one for each sequence, or no longer fits. Use
    the mask as it comes: it broadcasts by itself.
- empty = =>
      if mask.dim() == 3 and scores.dim() == 4:
          mask = mask.unsqueeze(1)
      empty =
- empty = =>
      if mask.dim() == 2 and scores.dim() == 4:
          mask = mask[:, None, None, :]
      empty =
""",
    right=r"""
where:
- |
  dead = mask.all(-1, keepdim=True)
  s = torch.where(mask & ~dead, torch.full_like(scores, -torch.inf), scores)
  return torch.where(mask, torch.zeros_like(scores), s.softmax(-1))
by_hand:
- |
  mask = mask.expand(scores.shape)
  lowest = torch.finfo(scores.dtype).min
  top = scores.masked_fill(mask, lowest).amax(-1, keepdim=True)
  e = (scores - top).masked_fill(mask, -torch.inf).exp()
  total = e.sum(-1, keepdim=True)
  return e / total.masked_fill(total == 0, 1.0)
loop_over_rows:
- |
  mask = mask.expand(scores.shape)
  rows = []
  flat = scores.reshape(-1, scores.shape[-1])
  for row, hidden in zip(flat, mask.reshape(-1, scores.shape[-1])):
      if hidden.all():
          rows.append(row * 0)
      else:
          rows.append(torch.softmax(row.masked_fill(hidden, -math.inf), 0))
  return torch.stack(rows).reshape(scores.shape)
lowest_finite_then_zero:
- |
  bias = torch.zeros_like(scores).masked_fill(mask, float('-inf'))
  alive = ~mask.all(dim=-1, keepdim=True)
  weights = F.softmax(torch.where(alive, scores + bias, torch.zeros_like(scores)), dim=-1)
  return weights * alive * ~mask
masked_fill_twice:
- |
  return torch.softmax(scores.masked_fill(mask, -torch.inf), -1).masked_fill(mask, 0.0)
float64_inside:
- |
  s = scores.double().masked_fill(mask, -torch.inf)
  s = s.masked_fill(mask.all(-1, True), 0)
  return s.softmax(-1).masked_fill(mask, 0).to(scores.dtype)
""",
)
