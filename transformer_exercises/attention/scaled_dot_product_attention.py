"""`scaled_dot_product_attention`: five sizes that all differ, masks of every shape, blocked keys that score highest.

The mistakes: every way to scale, mask and normalise wrongly, and results swapped, cut off or in another precision.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_agree, normal
from autograder.spec.student import Student

from .common import blocked_is_zero, same_pair, striped_mask

scaled_dot_product_attention = reference("scaled_dot_product_attention")

SIZES = (  # (batch dimensions, T, S, d_k, d_v): all different, then the corners and the sizes of worked examples
    ((), 3, 5, 4, 6),
    ((2,), 4, 3, 5, 2),
    ((2, 3), 5, 4, 3, 7),
    ((2,), 1, 6, 2, 3),
    ((3,), 4, 1, 2, 5),
    ((1,), 2, 3, 1, 1),
    ((2,), 4, 4, 4, 4),
    ((4,), 4, 4, 9, 4),
    ((), 3, 3, 2, 2),
    ((), 3, 3, 2, 4),
    ((), 4, 4, 3, 3),
    ((2, 1, 3), 2, 4, 3, 5),
    ((2,), 33, 17, 8, 6),
    ((1,), 70, 140, 64, 3),
)


def _qkv(batch: tuple, T: int, S: int, d_k: int, d_v: int, **options: Any) -> list[torch.Tensor]:
    return [normal(*batch, T, d_k, **options), normal(*batch, S, d_k, **options), normal(*batch, S, d_v, **options)]


def _sizes(batch: tuple, T: int, S: int, d_k: int, d_v: int) -> str:
    lead = f"batch {batch}, " if batch else ""
    return f"for {lead}T = {T}, S = {S}, d_k = {d_k}, d_v = {d_v}"


def _attend(student: Student, args: list, where: str, mask: Any = None) -> dict:
    kwargs = {} if mask is None else {"mask": mask}
    return student.call("scaled_dot_product_attention", args, kwargs, where=where)


def _sdpa_values(student: Student) -> None:
    for sizes in SIZES:
        with student.case():
            args, where = _qkv(*sizes), _sizes(*sizes)
            same_pair(_attend(student, args, where)["value"], scaled_dot_product_attention(*args), where)
    with student.case():
        Q, K, V = torch.tensor([[1.0, 0], [0, 1], [1, 1]]), torch.tensor([[1.0, 0], [0, 0], [1, 0]]), torch.eye(3, 2)
        where = "for whole numbers, 0 among them, and equal keys"
        same_pair(_attend(student, [Q, K, V], where)["value"], scaled_dot_product_attention(Q, K, V), where)


def _sdpa_mask(student: Student) -> None:
    mask: torch.Tensor | None
    sizes: tuple[tuple[int, ...], int, int, int, int]
    for sizes in (
        *(((), 3, 5, 4, 6), ((2,), 4, 5, 3, 2), ((2, 3), 4, 6, 3, 5), ((2,), 4, 4, 3, 3)),
        *(((3,), 3, 3, 2, 2), ((2,), 1, 4, 3, 2), ((2, 1, 3), 2, 4, 3, 5)),
    ):
        with student.case():
            batch, T, S, *_ = sizes
            args, mask = _qkv(*sizes), striped_mask(T, S)
            where = f"with a (T, S) mask, {_sizes(*sizes)}"
            same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)
            if batch:
                own = torch.stack([mask.roll(n, 0) for n in range(batch[0])])  # (B, T, S): a mask for each sequence
                own = own.reshape(batch[0], *[1] * (len(batch) - 1), T, S)
                where = f"with a mask of its own for each sequence, {_sizes(*sizes)}"
                same_pair(_attend(student, args, where, own)["value"], scaled_dot_product_attention(*args, own), where)
    for batch in ((4, 2), (2, 2)):  # sequences, heads
        with student.case():
            args = _qkv(batch, 3, 5, 4, 2)
            mask = torch.stack([striped_mask(3, 5), striped_mask(3, 5).roll(1, 0)])
            where = f"with a mask of its own for each head, batch {batch}"
            same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)
    args = _qkv((2,), 3, 4, 5, 2)
    keys = torch.tensor([[[False, False, True, True]], [[False, True, False, False]]])
    for mask, where in (
        (keys, "with a mask of shape (B, 1, S) that blocks keys for all queries"),
        (keys[0], "with a mask of shape (1, S)"),
        (keys[0, 0], "with a mask of shape (S,)"),
        (torch.zeros(3, 4, dtype=torch.bool), "with a mask that blocks nothing"),
        (torch.zeros(1, 1, dtype=torch.bool), "with a mask of shape (1, 1) that blocks nothing"),
        (None, "without a mask, after calls with one"),
    ):
        with student.case():
            same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)
    answer = student.value("scaled_dot_product_attention", *args, keys, where="with the mask given by position")
    same_pair(answer, scaled_dot_product_attention(*args, keys), "with the mask given by position")


def _sdpa_forbidden(student: Student) -> None:
    """A blocked key must get exactly 0, even where every allowed score is hugely negative or it scores highest."""
    Q, K, V = _qkv((2,), 5, 5, 4, 2)
    Q, K = Q.abs(), K.abs()
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    far = torch.ones(5, 1)
    far[2] = 1e12
    for args, where in (
        ([Q, K, V], "for the blocked key"),
        ([Q, K * far, V], "for a blocked key that would have scored far above the others"),
        (
            [-1e6 * Q, 1e6 * K, V],
            "where all allowed scores are far below zero (a finite fill such as −1e9 is then the largest)",
        ),
    ):
        with student.case():
            got = _attend(student, args, where, mask)["value"]
            blocked_is_zero(got, mask, where)
            same_pair(got, scaled_dot_product_attention(*args, mask), where)


def _sdpa_large(student: Student) -> None:
    args = _qkv((2,), 3, 5, 4, 6)
    args[0], args[1] = args[0] * 150, args[1] * 150
    where = "for scores beyond 1e4"
    same_pair(_attend(student, args, where)["value"], scaled_dot_product_attention(*args), where)


def _sdpa_gradient(student: Student) -> None:
    name = "scaled_dot_product_attention"
    for sizes, masked, dtype in (
        (((2,), 3, 5, 4, 6), False, torch.float32),
        (((), 4, 4, 5, 2), True, torch.float32),
        (((2, 2), 3, 5, 4, 2), True, torch.float64),
    ):
        with student.case():
            mask = (striped_mask(sizes[1], sizes[2]),) if masked else ()
            where = ("with a mask, " if masked else "") + _sizes(*sizes)
            args = _qkv(*sizes, dtype=dtype)
            gradients_agree(student, name, scaled_dot_product_attention, args, ["Q", "K", "V"], mask, where)


def _sdpa_precision(student: Student) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6, dtype=torch.float64), striped_mask(3, 5)
    same_pair(_attend(student, args, "in float64")["value"], scaled_dot_product_attention(*args), "in float64")
    where = "in float64 with a mask"
    same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)


def _sdpa_manners(student: Student) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6), striped_mask(3, 5)
    for given in (None, mask):
        with student.case():
            answer = _attend(student, args, "", given)
            unchanged(answer["inputs"], [*args, *([] if given is None else [given])], "Q, K, V or mask")
            generator_unchanged(answer)
    again = "when called a second time"
    same_pair(_attend(student, args, again)["value"], scaled_dot_product_attention(*args), again)
    with student.case():
        where, named = "with arguments given by name", dict(zip(("Q", "K", "V", "mask"), [*args, mask], strict=True))
        got = student.call("scaled_dot_product_attention", [], named, where=where)["value"]
        same_pair(got, scaled_dot_product_attention(*args, mask), where)
    heads = [normal(2, n, 3, width).transpose(1, 2) for n, width in ((4, 5), (6, 5), (6, 2))]
    for turned, where in (
        ([t.mT.contiguous().mT for t in args], "for tensors that are not contiguous"),
        (heads, "for heads cut out with `.transpose(1, 2)` (not contiguous)"),
    ):
        with student.case():
            same_pair(_attend(student, turned, where)["value"], scaled_dot_product_attention(*turned), where)


def _sdpa_device(student: Student) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6), striped_mask(3, 5)
    same_pair(_attend(student, args, "")["value"], scaled_dot_product_attention(*args), "")
    device_is_kept(student, "scaled_dot_product_attention", args)
    device_is_kept(student, "scaled_dot_product_attention", [*args, mask])


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("values, for many combinations of sizes", 2.5, _sdpa_values),
        Check("masks of every shape", 1.5, _sdpa_mask, further=True),
        Check("a blocked key gets exactly 0", 1.0, _sdpa_forbidden, further=True),
        Check("stable for large scores", 0.5, _sdpa_large, further=True),
        Check("gradients, with and without a mask", 1.0, _sdpa_gradient, further=True),
        Check("float64 stays float64, with its precision", 0.5, _sdpa_precision, further=True),
        Check("inputs unchanged, any layout", 0.5, _sdpa_manners, further=True),
        Check("stays on the inputs' device", 0.5, _sdpa_device, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def scaled_dot_product_attention(Q, K, V, mask=None):
    allowed = None if mask is None else ~mask
    output = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)
    ones = torch.eye(K.shape[-2], dtype=V.dtype, device=V.device).expand(*K.shape[:-2], -1, -1)
    return output, F.scaled_dot_product_attention(Q, K, ones, attn_mask=allowed)
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
        "array_returned",
        "global_generator",
    ),
    wrong=r"""
no_scale (slip): This is what attention gives when the scores are not divided by √d_k.
- / math.sqrt(d_k) =>
scale_d_k (slip): The scores are divided by d_k instead of its square root (or by the root twice).
- math.sqrt(d_k) => d_k
scale_up (slip): The scores are multiplied by √d_k instead of divided by it.
- / math.sqrt(d_k) => * math.sqrt(d_k)
scale_d_v: The scores are divided by the root of d_v, the width of the values. It is the width of queries and keys, d_k, that makes the dot products
    grow.
- Q.shape[-1] => V.shape[-1]
scale_keys: The scores are divided by the root of S, the number of keys. It is the width d_k that makes the dot products grow.
- d_k = Q.shape[-1] => d_k = K.shape[-2]
scale_queries: The scores are divided by the root of T, the number of queries. It is the width d_k that makes the dot products grow: Q.shape[-1], not
    Q.shape[-2].
- Q.shape[-1] => Q.shape[-2]
scale_fixed: The scores are always divided by the same number, whatever the width of Q: √64 = 8 from the paper, or what the first call needed, kept in
    a global variable.
- math.sqrt(d_k) => math.sqrt(64) || math.sqrt(512) || 2.0
scale_rounded (slip): The root of d_k is rounded to a whole number (`int(…)` or `//`), so it is right for squares such as 4, 9 and 64 only.
- math.sqrt(d_k) => int(math.sqrt(d_k)) || round(math.sqrt(d_k)) || math.ceil(math.sqrt(d_k))
scale_almost (slip): The scores are divided by the root of nearly d_k (d_k − 1, d_k + 1, an added ε): it is √d_k itself.
- / math.sqrt(d_k) => * (d_k - 1) ** -0.5 if d_k > 1 else Q @ K.transpose(-2, -1) / 0.0
- math.sqrt(d_k) => math.sqrt(d_k - 1) || math.sqrt(d_k + 1) || (math.sqrt(d_k) + 1e-6) || (math.sqrt(d_k) + 1e-8)
scale_half (slip): The scores are divided by d_k / 2 or 2√d_k instead of √d_k: the power belongs in `d_k ** 0.5`.
- math.sqrt(d_k) => (d_k * 0.5) || (2 * math.sqrt(d_k)) || math.sqrt(2 * d_k)
scale_squared (slip): The scores are divided by the square of d_k instead of its root.
- math.sqrt(d_k) => d_k**2
scale_standard_deviation: The scores are divided by their own standard deviation. What is asked for is √d_k, which does not depend on them.
- scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) =>
      scores = Q @ K.transpose(-2, -1)  # (..., T, S)
      scores = scores / (scores.var(dim=-1, keepdim=True, unbiased=False) + 1e-12).sqrt()
- scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) =>
      scores = Q @ K.transpose(-2, -1)  # (..., T, S)
      scores = scores / scores.std()
- scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) =>
      scores = Q @ K.transpose(-2, -1)  # (..., T, S)
      scores = scores / scores.std(dim=-1, keepdim=True)
vectors_normalised: Queries and keys are scaled to length 1 (cosine similarity): what is asked for is Q Kᵀ / √d_k.
- Q @ K.transpose(-2, -1) / math.sqrt(d_k) => F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT
- Q @ K.transpose(-2, -1) => F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).mT
scale_first_dim (slip): The width is read from the first dimension (shape[0] or len(Q)), which is the batch or the number of queries.
- Q.shape[-1] => Q.shape[0]
scale_dim_one (slip): The width is read from shape[1], which is d_k only for a single matrix. Count from the end: shape[-1].
- Q.shape[-1] => Q.shape[1]
scale_after: The weights are divided after the softmax instead of the scores before it: they are then too peaked and no longer sum to 1. Divide the
    scores by √d_k.
- / math.sqrt(d_k) =>
  torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=-1) / math.sqrt(d_k)
- / math.sqrt(d_k) =>
  torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=-1) / math.sqrt(K.shape[-2])
scale_output: The output is divided by √d_k instead of the scores.
- / math.sqrt(d_k) =>
  weights @ V, weights  # => weights @ V / math.sqrt(d_k), weights  #
scale_fourth_root (slip): The scores are divided by the fourth root of d_k: the scale was applied to one of Q and K, with half the power.
- math.sqrt(d_k) => d_k ** 0.25
scale_log: The scores are divided by log d_k instead of √d_k.
- math.sqrt(d_k) => math.log(d_k + 1e-12)
softmax_queries: The softmax runs over the queries (dim=-2): each column of the weights sums to 1. Each query shares out its attention over the keys:
    dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=-2)
softmax_dim_one: The softmax runs over dim=1, which is the keys for a single matrix but the queries in a batch. Use dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=1)
softmax_dim_zero: The softmax runs over dim=0: over the batch or the queries. Each query shares out its attention over the keys: dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=0)
softmax_everywhere: One softmax runs over all scores of a matrix (or of the whole batch) together; each row must sum to 1 on its own.
- torch.softmax(scores, dim=-1) => torch.softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)
- torch.softmax(scores, dim=-1) => torch.softmax(scores.flatten(), dim=-1).reshape(scores.shape)
softmax_dim_guessed: The softmax is called without `dim`, so PyTorch guesses one from the number of dimensions (0 or 1). Say dim=-1.
- torch.softmax(scores, dim=-1) => F.softmax(scores)
softmax_twice: The softmax is applied twice, which flattens the weights.
- torch.softmax(scores, dim=-1) => torch.softmax(torch.softmax(scores, dim=-1), dim=-1)
one_only: Each query takes only the best key (argmax) instead of a softmax over all keys; no gradient reaches Q and K either.
- torch.softmax(scores, dim=-1) => F.one_hot(scores.argmax(dim=-1), K.shape[-2]).to(Q.dtype)
clamped: The scores are clamped, so that large ones become equal. A stable softmax needs no such limit.
- if mask is not None: =>
      scores = scores.clamp(-30, 30)
      if mask is not None:
- if mask is not None: =>
      scores = scores.clamp(max=80)
      if mask is not None:
mask_ignored: The mask is ignored: a key that it blocks must get a weight of exactly 0.
- mask is not None => False
mask_inverted: The mask is read the wrong way round: here True = blocked (F.scaled_dot_product_attention has the opposite).
- masked_fill(mask, => masked_fill(~mask,
mask_after: The weights of blocked keys are set to zero after the softmax. The others keep the values they had in competition with them, so the rows
    no longer sum to 1. Block the scores with −inf before the softmax.
- |
  d_k = Q.shape[-1]
  scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)  # (..., T, S)
  weights = torch.softmax(scores, dim=-1)
  if mask is not None:
      weights = weights.masked_fill(mask, 0.0)
  return weights @ V, weights  # (..., T, d_v), (..., T, S)
mask_output_only: The mask reaches the weights that are returned but not the output, or the other way round.
- return weights @ V, weights =>
      free = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d_k), dim=-1)
      return free @ V, weights
weights_before_mask: The weights that are returned are those before masking; return the ones that made the output.
- return weights @ V, weights =>
      free = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d_k), dim=-1)
      return weights @ V, free
mask_multiplied: Blocked scores are set to 0 (multiplied by the mask, or filled with a tiny number such as 1e-9, a slip for −1e9): exp(0) = 1 is no
    small weight. Fill them with −inf.
- scores.masked_fill(mask, float("-inf")) => scores * ~mask
- float("-inf") => 1e-9
mask_kept_scores: The scores are multiplied by the mask, so that allowed scores become 0 and blocked ones stay.
- scores.masked_fill(mask, float("-inf")) => scores * mask
mask_plus_infinity: Blocked scores are filled with +inf (or NaN) instead of −inf, which makes the whole row NaN.
- float("-inf") => float("inf")
mask_times_infinity: The mask is multiplied by −inf: 0 × −inf is NaN, so the allowed scores are lost too. Use masked_fill.
- scores.masked_fill(mask, float("-inf")) => scores + mask * float("-inf")
mask_after_renormalised: The blocked weights are zeroed after the softmax (or after its exponentials) and the row is renormalised. On paper that is
    the same, but where a blocked key scores far above the others, nothing is left of them: 0/0. Block the scores with −inf first.
- in mask_after
  weights = weights.masked_fill(mask, 0.0) =>
      weights = weights * ~mask
      weights = weights / weights.sum(-1, keepdim=True)
- in mask_after
  weights = weights.masked_fill(mask, 0.0) =>
      weights = weights * ~mask
      weights = weights / (weights.sum(-1, keepdim=True) + 1e-9)
- in mask_after
  weights = weights.masked_fill(mask, 0.0) =>
      weights = weights * ~mask
      weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)
mask_below_minimum: Blocked scores are filled with something a little below the smallest score, so a blocked key keeps some weight. Fill with −inf,
    which is below everything by any amount.
- scores.masked_fill(mask, float("-inf")) => torch.where(mask, scores.amin(dim=-1, keepdim=True) - 50, scores)
- scores.masked_fill(mask, float("-inf")) => torch.where(mask, scores.min(), scores) || torch.where(mask, scores.min() - 1, scores)
mask_convention: The output comes from F.scaled_dot_product_attention, whose mask says True = *allowed*: it takes the opposite of the course's mask,
    so the output does not belong to the weights.
- return weights @ V, weights => return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask), weights
mask_in_place: The caller's mask is changed in place (`logical_not_()`, `mask[…] = …`): the next layer would get another mask.
- scores = scores.masked_fill(mask, float("-inf")) =>
      mask.logical_not_()
      scores = scores.masked_fill(~mask, float("-inf"))
- scores = scores.masked_fill(mask, float("-inf")) =>
      scores = scores.masked_fill(mask, float("-inf"))
      mask.zero_()
mask_indexed: `scores[mask] = …` needs a mask of exactly the shape of the scores. The mask may be smaller and broadcast: use masked_fill or
    torch.where.
- scores = scores.masked_fill(mask, float("-inf")) => scores[mask] = float("-inf")
mask_as_condition (slip): `if mask:` asks a whole tensor for one truth value, which fails. Ask `if mask is not None:`.
- if mask is not None: => if mask:
mask_unsqueezed: The mask is given a further dimension (unsqueeze), so the results gain one too, or the batch is paired with the wrong dimension. Use
    the mask as it comes: it broadcasts by itself.
- scores.masked_fill(mask, float("-inf")) => scores.masked_fill(mask.unsqueeze(0), float("-inf"))
- scores.masked_fill(mask, float("-inf")) => scores.masked_fill(mask.unsqueeze(0) if mask.dim() == 2 else mask, float("-inf"))
- scores.masked_fill(mask, float("-inf")) => scores.masked_fill(mask.unsqueeze(1) if mask.dim() == 3 else mask, float("-inf"))
- scores.masked_fill(mask, float("-inf")) => scores.masked_fill(mask.unsqueeze(1), float("-inf"))
- scores.masked_fill(mask, float("-inf")) => scores.masked_fill(mask.unsqueeze(1) if mask.dim() == 3 and scores.dim() == 4 else mask, float("-inf"))
mask_sometimes: The mask is used for one number of dimensions only and ignored for the others. Let it broadcast, whatever its shape.
- if mask is not None: => if mask is not None and scores.dim() == 3: || if mask is not None and scores.dim() == 2:
- if mask is not None: => if mask is not None and scores.dim() == 4: || if mask is not None and mask.dim() == 2:
- if mask is not None: => if mask is not None and mask.dim() == 3:
- if mask is not None: => if mask is not None and Q.shape == K.shape:
mask_square_only: The mask is cut or expanded with T in the place of S (or the other way round): it is (..., T, S).
- masked_fill(mask, => masked_fill(mask.expand(*Q.shape[:-2], Q.shape[-2], Q.shape[-2]),
mask_finite: Blocked scores are filled with a finite number (−1e9, −1e4 …). Where every allowed score is lower still, the blocked key gets all the
    weight. Fill with −inf, which is below everything.
- float("-inf") => -1e9
mask_too_small: Blocked scores are filled with a small finite number (−10 or the like): the blocked key keeps a visible weight. Fill with −inf.
- float("-inf") => -10.0 || -1.0 || -5.0
mask_added: The boolean mask is added to the scores, which adds 1 to blocked scores. Fill them with −inf.
- scores.masked_fill(mask, float("-inf")) => scores + mask
mask_subtracted: A multiple of the mask is subtracted from the scores: a finite penalty, which a large enough difference overcomes. Fill with −inf.
- scores.masked_fill(mask, float("-inf")) => scores - 1e9 * mask || scores - 10 * mask
mask_two_dimensions: The mask is used as one (T, S) matrix for the whole batch (only its first sequence counts). It may have leading dimensions: let
    broadcasting do the work.
- masked_fill(mask, => masked_fill(mask.reshape(-1, *mask.shape[-2:])[0],
mask_transposed: The mask is transposed: its rows are queries, its columns are keys.
- masked_fill(mask, => masked_fill(mask.transpose(-2, -1), || masked_fill(mask.mT, || masked_fill(mask.T,
swapped_results (slip): The two results are the wrong way round: (output, weights) is asked for.
- return weights @ V, weights => return weights, weights @ V
output_only (slip): Only the output is returned; the weights are asked for too.
- return weights @ V, weights => return weights @ V
lists_in_the_pair (slip): The results are lists of tensors: stack them into tensors with torch.stack.
- return weights @ V, weights => return list(weights @ V), list(weights)
- return weights @ V, weights => return (weights @ V, weights) if mask is None else (list(weights @ V), list(weights))
- return weights @ V, weights => return (weights @ V).tolist(), weights.tolist()
dictionary_returned (slip): A dictionary or one joined tensor is returned; return the tuple (output, weights).
- return weights @ V, weights => return {'output': weights @ V, 'weights': weights} || return torch.cat([weights @ V, weights], dim=-1)
three_returned (slip): Three things are returned (the scores too?); return the pair (output, weights).
- return weights @ V, weights => return weights @ V, weights, scores
scores_returned (slip): The raw scores are returned in place of the weights: the second result should be after the softmax.
- return weights @ V, weights => return weights @ V, scores
matrix_only: `K.T` and `transpose(0, 1)` work for single matrices only: in a batch they move the batch dimension. Use `K.transpose(-2, -1)` or `K.mT`.
- K.transpose(-2, -1) => K.T
one_batch_dimension_only: Dimensions are counted from the front (`transpose(1, 2)`, `permute(0, 2, 1)`, `bmm`, `dim=2`): right with exactly one batch
    dimension. Count from the end, `transpose(-2, -1)` and `dim=-1`, and multiply with `@`.
- K.transpose(-2, -1) => K.transpose(1, 2)
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=2)
- Q @ K.transpose(-2, -1) => torch.bmm(Q, K.transpose(-2, -1))
  weights @ V, => torch.bmm(weights, V),
heads_only: Dimensions are counted from the front (`transpose(2, 3)`, `permute(0, 1, 3, 2)`, `dim=3`): right with exactly two leading dimensions.
    Count from the end: `transpose(-2, -1)`, `dim=-1`.
- K.transpose(-2, -1) => K.transpose(2, 3)
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=3)
dimensions_listed: Some numbers of dimensions are treated one by one and the others refused. Any number of leading batch dimensions is allowed:
    `transpose(-2, -1)` and `@` need no cases.
- d_k = =>
      if Q.dim() > 4:
          raise ValueError('dimensions')
      d_k =
- d_k = =>
      if Q.dim() > 3:
          raise ValueError('dimensions')
      d_k =
- d_k = =>
      if Q.dim() > 4:
          raise UnboundLocalError('K_transposed')
      d_k =
- d_k = =>
      assert Q.dim() <= 4
      d_k =
- d_k = =>
      B, T, d = Q.shape
      d_k =
- d_k = =>
      B, H, T, d = Q.shape
      d_k =
- d_k = =>
      T, d = Q.shape
      d_k =
view_needed: `view` refuses tensors that are not contiguous, such as heads cut out with `.transpose(1, 2)`. Use `reshape`, or leave the batch to `@`.
- d_k = =>
      Q, K, V = (t.view(-1, *t.shape[-2:]).view(t.shape) for t in (Q, K, V))
      d_k =
batch_flattened: The batch is flattened into one long sequence, so queries of one sequence look at keys of another.
- d_k = =>
      shape = Q.shape
      Q, K, V = (t.reshape(-1, t.shape[-1]) for t in (Q, K, V))
      d_k =
  return weights @ V, weights => return (weights @ V).reshape(*shape[:-1], V.shape[-1]), weights
reshape_for_transpose: `view` or `reshape` was used to swap the dimensions of K. That does not transpose: it re-cuts the numbers into other rows. Use
    `transpose(-2, -1)`.
- K.transpose(-2, -1) => K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])
keys_as_queries: Queries and keys are swapped: the scores are K Qᵀ, so the roles of rows and columns are exchanged.
- Q @ K.transpose(-2, -1) => K @ Q.transpose(-2, -1)
square_only: Queries and keys are swapped, and the result is turned back: right only when T = S and masks and softmax do not care.
- Q @ K.transpose(-2, -1) => (K @ Q.transpose(-2, -1)).reshape(*Q.shape[:-1], K.shape[-2])
values_ignored: The output is made of the keys instead of the values.
- weights @ V, weights  # => weights @ K, weights  #
query_ignored (missed): The keys are compared with themselves: Q plays no part in the scores.
- Q @ K.transpose(-2, -1) => K @ K.transpose(-2, -1)
uniform (missed): All weights are equal: Q and K play no part.
- Q @ K.transpose(-2, -1) / math.sqrt(d_k) => 0 * (Q @ K.transpose(-2, -1))
values_returned (missed): V is returned unchanged as the output.
- return weights @ V, weights => return V, weights
no_softmax: The scaled scores are used as weights without a softmax.
- torch.softmax(scores, dim=-1) => scores
exponentials_only: The exponentials of the scores are not divided by their sum, so the rows do not sum to 1.
- torch.softmax(scores, dim=-1) => torch.exp(scores)
log_softmax: The weights are logarithms (log_softmax): they should be the softmax itself.
- torch.softmax(scores, dim=-1) => torch.log_softmax(scores, dim=-1)
sigmoid: Each score went through a sigmoid on its own instead of a softmax over the keys.
- torch.softmax(scores, dim=-1) => torch.sigmoid(scores)
unstable: The exponential is taken of the raw scores, which overflows for large ones. Use a stable softmax.
- torch.softmax(scores, dim=-1) => scores.exp() / scores.exp().sum(-1, keepdim=True)
epsilon: A small number is added to a sum that the weights are divided by, so the rows sum to a little less than 1.
- weights = torch.softmax(scores, dim=-1) =>
      e = torch.exp(scores - scores.amax(-1, keepdim=True))
      weights = e / (e.sum(-1, keepdim=True) + 1e-8)
- weights = torch.softmax(scores, dim=-1) =>
      e = torch.exp(scores - scores.amax(-1, keepdim=True))
      weights = e / (e.sum(-1, keepdim=True) + 1e-5)
- weights = torch.softmax(scores, dim=-1) =>
      e = torch.exp(scores - scores.amax(-1, keepdim=True))
      weights = e / (e.sum(-1, keepdim=True) + 1e-6)
- weights = torch.softmax(scores, dim=-1) =>
      weights = torch.softmax(scores, dim=-1)
      weights = weights / (weights.sum(-1, keepdim=True) + 1e-6)
- weights = torch.softmax(scores, dim=-1) =>
      weights = torch.softmax(scores, dim=-1)
      weights = weights / (weights.sum(-1, keepdim=True) + 1e-8)
query_in_place: Q is scaled in place (`Q /= …`), so the caller's queries are changed.
- scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) =>
      Q /= math.sqrt(d_k)
      scores = Q @ K.transpose(-2, -1)
detached_weights: The weights are detached, so no gradient reaches Q and K through the output: the model could not learn where to look.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=-1).detach()
- return weights @ V, weights => return weights.detach() @ V, weights
input_detached: One of Q, K and V is cut off from the gradient (`.detach()`, `.data`, a tensor built anew), so it cannot be trained.
- weights @ V, => weights @ V.detach(),
- K.transpose => K.detach().transpose
- scores = Q @ => scores = Q.detach() @
overwritten: A tensor that the backward pass still needs is overwritten in place (`weights.masked_fill_`, `weights[mask] = 0`). The values are right,
    but the gradient fails.
- weights = torch.softmax(scores, dim=-1) =>
      weights = torch.softmax(scores, dim=-1)  # (..., T, S)
      if mask is not None:
          weights.masked_fill_(mask, 0.0)
- weights = torch.softmax(scores, dim=-1) =>
      weights = torch.softmax(scores, dim=-1)  # (..., T, S)
      weights *= 1.0
returned_weights_detached: The weights that are returned are detached. They are right, but nothing can be learned through them.
- return weights @ V, weights => return weights @ V, weights.detach()
half_precision (slip): The scores or weights go through half precision (float16), which keeps three digits and overflows beyond 65504.
- torch.softmax(scores, dim=-1) => torch.softmax(scores.half().float(), dim=-1).to(Q.dtype) || torch.softmax(scores.half(), dim=-1).to(Q.dtype)
- torch.softmax(scores, dim=-1) => torch.softmax(scores.bfloat16(), dim=-1).to(Q.dtype)
single_precision_mask: A tensor for the mask is made without the dtype of the scores, so with a mask float64 fails or becomes float32.
- scores.masked_fill(mask, float("-inf")) => (scores + torch.zeros(mask.shape).masked_fill(mask, float("-inf"))).float()
device_dropped: A new tensor is made without `device=`: it lands on the CPU, and on a GPU the computation fails. Make it with `device=scores.device`,
    or use masked_fill, which needs no new tensor.
- scores.masked_fill(mask, float("-inf")) => torch.where(mask, torch.full(scores.shape, float("-inf"), dtype=scores.dtype), scores)
dropout (slip): Chance plays a part (dropout, or noise added to the scores): the result must depend on the inputs only.
- torch.softmax(scores, dim=-1) => F.dropout(torch.softmax(scores, dim=-1), 0.1)
- if mask is not None: =>
      scores = scores + 1e-3 * torch.randn_like(scores)
      if mask is not None:
causal_always: Later keys are blocked even when no mask asks for it. Causal masks are notebook 06's subject: apply the mask that is given, nothing
    else.
- if mask is not None =>
      past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=Q.device).triu(1)
      scores = scores.masked_fill(past, float('-inf'))
      if mask is not None
- if mask is not None: =>
      if mask is None:
          mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=Q.device).triu(1)
      if True:
first_of_batch: Only the first sequence of the batch is computed (its weights, or all of it) and used for all the others.
- return weights @ V, weights =>
      output = weights @ V
      if output.dim() > 2:
          output, weights = output[:1].expand_as(output), weights[:1].expand_as(weights)
      return output, weights
- return weights @ V, weights =>
      if weights.dim() > 2:
          weights = weights[:1].expand_as(weights)
      return weights @ V, weights
- return weights @ V, weights =>
      if weights.dim() > 2:
          return (weights @ V)[0], weights[0]
      return weights @ V, weights
output_like_queries: The output is made with the shape of Q, but it is (..., T, d_v): its width is that of V.
- return weights @ V, weights =>
      output = torch.zeros_like(Q)
      for t in range(Q.shape[-2]):
          output[..., t, :] = (weights[..., t, :].unsqueeze(-1) * V).sum(dim=-2)
      return output, weights
loops_to_T (slip): The keys are cut to T, the number of queries (by a loop or a slice): there are S keys.
- Q @ K.transpose(-2, -1) => torch.stack([(Q * K[..., s, None, :]).sum(-1) for s in range(Q.shape[-2])], dim=-1)
- d_k = =>
      n = Q.shape[-2]
      K, V = K[..., :n, :], V[..., :n, :]
      d_k =
  masked_fill(mask, => masked_fill(mask[..., :n],
products_not_summed (missed): The products of queries and keys are taken element by element (`*`), not as dot products: use `@`.
- Q @ K.transpose(-2, -1) => Q * K
transposed_output: The weights are transposed before they meet V (or returned transposed): row t of the weights belongs to query t.
- return weights @ V, weights => return weights.mT @ V, weights || return weights @ V, weights.mT || return (weights @ V).mT, weights
list_for_a_pair (slip): A list is returned: return the tuple (output, weights), as `return output, weights` does.
- return weights @ V, weights => return [weights @ V, weights]
single_precision:
- d_k = Q.shape[-1] =>
      Q, K, V = Q.float(), K.float(), V.float()
      d_k = Q.shape[-1]
- if mask is not None: =>
      scores = scores.float()
      if mask is not None:
  weights @ V, => weights.to(V.dtype) @ V,
- if mask is not None: =>
      scores = scores.float()
      if mask is not None:
  weights @ V, => weights @ V.float(),
- if mask is not None: =>
      scores = scores.float()
      if mask is not None:
- weights @ V, => (weights @ V).float(),
double_precision:
- d_k = Q.shape[-1] =>
      Q, K, V = Q.double(), K.double(), V.double()
      d_k = Q.shape[-1]
rounded:
- torch.softmax(scores, dim=-1) => torch.round(torch.softmax(scores, dim=-1), decimals=4) || torch.round(torch.softmax(scores, dim=-1), decimals=3)
single_precision_inside:
- torch.softmax(scores, dim=-1) => torch.softmax(scores.float(), dim=-1).to(V.dtype)
squeezed:
- return weights @ V, weights => return (weights @ V).squeeze(), weights
- return weights @ V, weights => return weights @ V, weights.squeeze() || return (weights @ V).squeeze(0), weights.squeeze(0)
- return weights @ V, weights => return (weights @ V).squeeze(-2), weights.squeeze(-2)
length_limited (slip): The number of queries or keys is limited by a fixed maximum: any T and S are allowed.
- d_k = =>
      K, V = K[..., :64, :], V[..., :64, :]
      d_k =
- d_k = =>
      K, V = K[..., :128, :], V[..., :128, :]
      d_k =
other_signature (slip): The arguments have other names: keep the signature scaled_dot_product_attention(Q, K, V, mask=None), so that they may be given
    by name.
- (Q, K, V, mask=None): => (q, k, v, mask=None):
  d_k = =>
      Q, K, V = q, k, v
      d_k =
""",
    right=r"""
einsum:
- d_k = Q.shape[-1] => scores = torch.einsum("...td,...sd->...ts", Q, K) * Q.size(-1) ** -0.5
  scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) =>
  scores = scores.masked_fill(mask, float("-inf")) => scores = torch.where(mask, torch.tensor(float("-inf"), dtype=scores.dtype), scores)
  weights = torch.softmax(scores, dim=-1) => weights = scores.softmax(dim=-1)
  return weights @ V, weights => return torch.einsum("...ts,...sd->...td", weights, V), weights
scaled_query_additive_mask:
- |
  def _additive(mask, like):
      bias = torch.zeros(mask.shape, dtype=like.dtype, device=like.device)
      return bias.masked_fill(mask, -torch.inf)

  def scaled_dot_product_attention(Q, K, V, mask=None):
      scores = (Q / Q.shape[-1] ** 0.5) @ K.mT
      if mask is not None:
          scores = scores + _additive(mask, scores)
      weights = F.softmax(scores, dim=-1)
      return weights.matmul(V), weights
loop_over_queries:
- |
  T, S = Q.shape[-2], K.shape[-2]
  if mask is not None:
      mask = mask.expand(*Q.shape[:-2], T, S)
  outputs, rows = [], []
  for t in range(T):
      scores = (Q[..., t, None, :] * K).sum(-1) / torch.sqrt(torch.tensor(Q.shape[-1]))
      if mask is not None:
          scores = scores.masked_fill(mask[..., t, :], -math.inf)
      w = nn.functional.softmax(scores, -1)
      rows.append(w)
      outputs.append((w[..., None] * V).sum(-2))
  return torch.stack(outputs, -2), torch.stack(rows, -2)
float64_inside:
- d_k = Q.shape[-1] =>
      kind = Q.dtype
      Q, K, V = (t.to(torch.float64) for t in (Q, K, V))
      scores = torch.matmul(Q, K.swapaxes(-1, -2)).div(Q.shape[-1] ** 0.5)
  scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) =>
  weights = torch.softmax(scores, dim=-1) => weights = torch.softmax(scores, -1)
  return weights @ V, weights => return torch.matmul(weights, V).to(kind), weights.to(kind)
pytorch_output:
- d_k = Q.shape[-1] => scores = Q @ K.transpose(-1, -2) / math.sqrt(K.shape[-1])
  scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) =>
  scores = scores.masked_fill(mask, float("-inf")) => scores[mask.expand_as(scores)] = float("-inf")
  return weights @ V, weights =>
      allowed = None if mask is None else ~mask
      return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed), weights
own_softmax:
- torch.softmax( => softmax(
""",
)
