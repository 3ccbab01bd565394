"""`sgns_loss`: values for sizes that all differ, scores of ±1e4, gradients in all three arguments.

The mistakes: a mean for the sum over negatives, signs, log of a sigmoid that underflows, scores across the batch.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import all_gradients_agree, stays_on_device

sgns_loss = reference("sgns_loss")


def _sgns_inputs(B: int, K: int, C: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [normal(B, C, dtype=dtype), normal(B, C, dtype=dtype), normal(B, K, C, dtype=dtype)]


SGNS_NAMES = ["centre", "context", "negatives"]


def _sgns_extreme(B: int, K: int, C: int, positive: float, negative: float) -> list[torch.Tensor]:
    """Inputs whose scores with the context are all `positive`, and with the negatives all `negative`."""
    centre = torch.full((B, C), 10.0)
    shares = torch.full((B, C), 1.0 / C)
    return [centre, shares * positive / 10, (shares * negative / 10)[:, None].repeat(1, K, 1)]


def _sgns_values(student: Student) -> None:
    for B, K, C in (
        (4, 3, 5),
        (3, 1, 4),
        (1, 4, 6),
        (2, 5, 3),
        (3, 3, 3),
        (1, 1, 2),
        (5, 5, 2),
        (6, 2, 1),
        (2, 15, 20),
        (1, 1, 1),
    ):
        with student.case():
            args = _sgns_inputs(B, K, C)
            where = f"for B = {B}, K = {K}, C = {C}"
            same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where)
    with student.case():
        args = [torch.zeros_like(t) for t in _sgns_inputs(3, 4, 2)]
        where = "when all vectors are zero"
        same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where)


def _sgns_stable(student: Student) -> None:
    for positive, negative in (
        (-1e4, 1.0),
        (1.0, 1e4),
        (1e4, -1e4),
        (-1e4, 1e4),
        (-200.0, 0.5),
        (0.5, 200.0),
        (-30.0, -30.0),
    ):
        with student.case():
            args = _sgns_extreme(2, 3, 4, positive, negative)
            where = f"when the scores with contexts are {positive:g} and with negatives {negative:g}"
            same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where, rough=True)
    with student.case():
        args = _sgns_extreme(2, 3, 4, -1e4, 1e4)
        all_gradients_agree(student, "sgns_loss", sgns_loss, args, SGNS_NAMES, "for scores of ±1e4")


def _sgns_gradient(student: Student) -> None:
    for B, K, C in ((4, 3, 5), (2, 1, 3), (3, 3, 3)):
        with student.case():
            where = f"for B = {B}, K = {K}, C = {C}"
            all_gradients_agree(student, "sgns_loss", sgns_loss, _sgns_inputs(B, K, C), SGNS_NAMES, where)


def _sgns_manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            args = _sgns_inputs(3, 4, 5, dtype)
            where = f"in {dtype_name(args[0])}"
            answer = student.call("sgns_loss", args, where=where)
            same_tensor(answer["value"], sgns_loss(*args), "The loss", where)
            unchanged(answer["inputs"], args, "centre, context, negatives")
    with student.case():
        args = [normal(5, 3).T, normal(5, 3).T, normal(4, 3, 5).transpose(0, 1)]
        where = "for transposes (not contiguous)"
        same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where)
    with student.case():
        given, where = dict(zip(SGNS_NAMES, args, strict=True)), "with arguments given by name"
        got = student.call("sgns_loss", [], given, where=where)["value"]
        same_tensor(got, sgns_loss(*args), "The loss", where)
    with student.case():
        stays_on_device(student, "sgns_loss", _sgns_inputs(3, 4, 5))


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("values, for many combinations of sizes", 2.25, _sgns_values),
        Check("stable for scores of ±1e4", 1.0, _sgns_stable, further=True),
        Check("gradients reach centre, context and negatives", 1.0, _sgns_gradient, further=True),
        Check("float64, inputs unchanged, device", 0.75, _sgns_manners, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def sgns_loss(centre, context, negatives):
    scores = torch.cat([context[:, None], negatives], dim=1) @ centre[:, :, None]
    labels = torch.zeros_like(scores)
    labels[:, 0] = 1
    return F.binary_cross_entropy_with_logits(scores, labels, reduction="sum") / len(centre)
""",
    takes="tensor",
    gives="scalar",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "double_precision",
        "single_precision_inside",
        "rounded",
        "python_number",
        "array_returned",
    ),
    wrong=r"""
mean_over_negatives (slip): The negatives are averaged: their terms are summed for each pair, and only the mean over B is taken.
- F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(-negative).mean(dim=-1)
mean_over_everything: The mean is taken over positive and negative terms together (as binary_cross_entropy_with_logits does by itself): sum the 1 + K
    terms of a pair, and take the mean over B.
- .mean() => .mean() / (1 + negatives.shape[1])
sum_over_batch (slip): The losses of the batch are summed: the mean over B is asked for.
- .mean() => .sum()
- - F.logsigmoid(-negative).sum(dim=-1) => - F.logsigmoid(-negative).sum()
no_mean (slip): One loss for each pair is returned: a scalar is asked for, their mean.
- .mean() =>
one_number_in_a_tensor (slip): The result has shape (1,): a scalar (no dimensions) is asked for.
- .mean() => .mean(dim=0, keepdim=True)
negatives_not_negated: The negatives are treated like contexts: their score has a minus sign inside the σ, −log σ(−c·n).
- logsigmoid(-negative) => logsigmoid(negative)
negatives_added: The term of the negatives is added to the loss without its minus sign, so it is pushed the wrong way: −Σ log σ(−c·n).
- - F.logsigmoid(-negative) => + F.logsigmoid(-negative)
negatives_twice_wrong: The minus sign of the negatives is outside σ instead of inside: +log σ(c·n) is not −log σ(−c·n).
- - F.logsigmoid(-negative) => + F.logsigmoid(negative)
positive_negated: The score of the true pair has a minus sign: −log σ(c·o) pulls the two together, the negatives are pushed away.
- logsigmoid(positive) => logsigmoid(-positive)
- -F.logsigmoid(positive) => F.logsigmoid(positive)
- positive) - F.logsigmoid(- => -positive) - F.logsigmoid(
sign_of_the_loss (slip): The sign of the whole is wrong: log-probabilities are negative, and a loss is minus their sum.
- -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=-1)
no_logarithm: The logarithm is missing: −log σ(…), not −σ(…).
- logsigmoid => sigmoid
no_sigmoid: The σ is missing: scores are turned into probabilities first, log σ(…).
- -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => -positive + negative.sum(dim=-1)
- -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => -torch.log(positive) - torch.log(-negative).sum(dim=-1)
other_base (slip): The logarithm has another base: the natural one is asked for (torch.log).
- .mean() => .mean() / math.log(2) || .mean() / math.log(10)
unstable: log(sigmoid(x)) is log(0) = −inf for very negative scores, and its gradient NaN: F.logsigmoid computes both in one step, without overflow.
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive)) - torch.log(torch.sigmoid(-negative)
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive)) - torch.log(1 - torch.sigmoid(negative)
- F.logsigmoid(-negative) => torch.log(torch.sigmoid(-negative)) || torch.log(1 - torch.sigmoid(negative))
- F.logsigmoid(positive) => torch.log(torch.sigmoid(positive))
- -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => torch.log(1 + torch.exp(-positive)) + torch.log(1 + torch.exp(negative)).sum(dim=-1)
epsilon_in_the_logarithm: A small number added inside the logarithm, or scores and probabilities that are clamped, avoid −inf but give wrong losses
    and no gradient just where the model errs most: use F.logsigmoid.
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-10) - torch.log(torch.sigmoid(-negative) + 1e-10
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-10) - torch.log(1 - torch.sigmoid(negative) + 1e-10
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-9) - torch.log(torch.sigmoid(-negative) + 1e-9
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-9) - torch.log(1 - torch.sigmoid(negative) + 1e-9
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-8) - torch.log(torch.sigmoid(-negative) + 1e-8
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-8) - torch.log(1 - torch.sigmoid(negative) + 1e-8
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-7) - torch.log(torch.sigmoid(-negative) + 1e-7
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-7) - torch.log(1 - torch.sigmoid(negative) + 1e-7
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-12) - torch.log(torch.sigmoid(-negative) + 1e-12
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-12) - torch.log(1 - torch.sigmoid(negative) + 1e-12
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-6) - torch.log(torch.sigmoid(-negative) + 1e-6
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive) + 1e-6) - torch.log(1 - torch.sigmoid(negative) + 1e-6
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive).clamp(min=1e-10)) - torch.log(torch.sigmoid(-negative).clamp(min=1e-10)
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive).clamp(min=1e-9)) - torch.log(torch.sigmoid(-negative).clamp(min=1e-9)
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive).clamp(min=1e-8)) - torch.log(torch.sigmoid(-negative).clamp(min=1e-8)
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive).clamp(min=1e-7)) - torch.log(torch.sigmoid(-negative).clamp(min=1e-7)
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive).clamp(min=1e-12)) - torch.log(torch.sigmoid(-negative).clamp(min=1e-12)
- F.logsigmoid(positive) - F.logsigmoid(-negative => torch.log(torch.sigmoid(positive).clamp(min=1e-6)) - torch.log(torch.sigmoid(-negative).clamp(min=1e-6)
- (centre * context).sum(dim=-1) => (centre * context).sum(dim=-1).clamp(-10, 10)
  (negatives * centre[:, None, :]).sum(dim=-1) => (negatives * centre[:, None, :]).sum(dim=-1).clamp(-10, 10)
- (centre * context).sum(dim=-1) => (centre * context).sum(dim=-1).clamp(-20, 20)
  (negatives * centre[:, None, :]).sum(dim=-1) => (negatives * centre[:, None, :]).sum(dim=-1).clamp(-20, 20)
- (centre * context).sum(dim=-1) => (centre * context).sum(dim=-1).clamp(-50, 50)
  (negatives * centre[:, None, :]).sum(dim=-1) => (negatives * centre[:, None, :]).sum(dim=-1).clamp(-50, 50)
- -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => F.binary_cross_entropy(positive.sigmoid(), torch.ones_like(positive), reduction='none') + F.binary_cross_entropy(negative.sigmoid(), torch.zeros_like(negative), reduction='none').sum(dim=-1)
positive_only: The negatives are left out: without them all vectors would become the same.
- - F.logsigmoid(-negative).sum(dim=-1) =>
negatives_only: The true pair is left out: −log σ(c·o) belongs to the loss.
- -F.logsigmoid(positive) - => -
sum_over_the_wrong_dimension: The terms of the negatives are summed over the batch and averaged over K: sum over the K negatives (dim=1), average over
    B.
- F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(-negative).sum(dim=0).mean()
positive_counted_for_each_negative: The term of the true pair is counted K times, once for each negative: it belongs to the loss once.
- -F.logsigmoid(positive) - => -negatives.shape[1] * F.logsigmoid(positive) -
squeezed: `squeeze()` removes every dimension of size 1, so that B = 1 or K = 1 fails or changes the shape: name the dimension, squeeze(-1).
- (negatives * centre[:, None, :]).sum(dim=-1) => torch.bmm(negatives, centre[:, :, None]).squeeze()
- (negatives * centre[:, None, :]).sum(dim=-1) => (negatives * centre[:, None, :]).sum(dim=-1).squeeze()
  (-negative).sum(dim=-1) => (-negative).sum(dim=1)
one_negative: Only one of the K negatives counts: their terms are summed.
- F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(-negative)[:, 0] || F.logsigmoid(-negative)[:, -1]
summed_inside: The scores of the negatives are summed before the logarithm of σ: each negative has its own log σ, and these are summed.
- F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(-negative.sum(dim=-1)) || torch.log(torch.sigmoid(-negative).sum(dim=-1))
- F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(-negative.mean(dim=-1))
context_with_negatives: The negatives are compared with the context: all scores are with the centre.
- centre[:, None, :] => context[:, None, :]
negatives_of_the_whole_batch: Each centre is compared with the negatives of all pairs (a product with negatives.view(B · K, C)): every pair has K
    negatives of its own, `centre[:, None, :]` against (B, K, C), or `torch.bmm`.
- (negatives * centre[:, None, :]).sum(dim=-1) => centre @ negatives.flatten(0, 1).mT
- (negatives * centre[:, None, :]).sum(dim=-1) => torch.einsum("bkc,dc->dbk", negatives, centre).sum(0)
no_dimension_for_negatives: centre (B, C) is multiplied with negatives (B, K, C) without a dimension for K: it fails, or, when B = K or B = 1, pairs
    the wrong vectors. `centre[:, None, :]` or `unsqueeze(1)`.
- centre[:, None, :] => centre
scores_across_the_batch: `centre @ context.T` compares each centre with every context of the batch: each has a context of its own (row by row).
- (centre * context).sum(dim=-1) => centre @ context.T
  -F.logsigmoid(positive) - => -F.logsigmoid(positive).mean(dim=-1) -
- (centre * context).sum(dim=-1) => centre @ context.T
  -F.logsigmoid(positive) - => -F.logsigmoid(positive).sum(dim=-1) -
not_summed_over_features: The products are not summed over the features: a dot product is one number for each pair (sum over the last dimension).
- (centre * context).sum(dim=-1) => centre * context
  (negatives * centre[:, None, :]).sum(dim=-1) => negatives * centre[:, None, :]
  -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => -F.logsigmoid(positive).sum(-1) - F.logsigmoid(-negative).sum(dim=(-1, -2))
- (centre * context).sum(dim=-1) => (centre * context).mean(dim=-1)
  (negatives * centre[:, None, :]).sum(dim=-1) => (negatives * centre[:, None, :]).mean(dim=-1)
- (centre * context).sum(dim=-1) => (centre * context).sum(dim=0) || (centre * context).sum()
cosines: The scores are cosines: dot products are asked for, lengths count.
- positive = =>
      centre, context, negatives = (F.normalize(t, dim=-1) for t in (centre, context, negatives))
      positive =
scaled: The scores are divided by √C: here they are plain dot products (the root belongs to attention).
- (centre * context).sum(dim=-1) => (centre * context).sum(dim=-1) / centre.shape[-1] ** 0.5
  (negatives * centre[:, None, :]).sum(dim=-1) => (negatives * centre[:, None, :]).sum(dim=-1) / centre.shape[-1] ** 0.5
softmax: This is a softmax over the context and the negatives: skip-gram with negative sampling asks a yes/no question about each, with σ.
- -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => torch.logsumexp(torch.cat([positive[:, None], negative], dim=-1), dim=-1) - positive
fixed_number_of_negatives: The number of negatives is fixed in the code: K is negatives.shape[1].
- F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(-negative).mean(dim=-1) * 2 || F.logsigmoid(-negative).mean(dim=-1) * 3
- F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(-negative).mean(dim=-1) * 4 || F.logsigmoid(-negative).mean(dim=-1) * 5
- F.logsigmoid(-negative).sum(dim=-1) => F.logsigmoid(-negative).mean(dim=-1) * 10 || sum(F.logsigmoid(-negative[:, k]) for k in range(3))
- F.logsigmoid(-negative).sum(dim=-1) => sum(F.logsigmoid(-negative[:, k]) for k in range(5))
negatives_detached: No gradient reaches some of the inputs (`.detach()`): centre, context and negatives are all trained.
- (negatives * centre => (negatives.detach() * centre
- * context) => * context.detach())
- (negatives * centre[:, None, :]) => (negatives * centre.detach()[:, None, :])
float32_only: The computation is in float32 (`.float()`), or the result is: keep the dtype.
- |
  def right_sgns_loss(centre, context, negatives):
      positive = (centre * context).sum(dim=-1)  # (B,)
      negative = (negatives * centre[:, None, :]).sum(dim=-1)  # (B, K)
      loss = -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1)  # (B,); log(sigmoid(x)) would give -inf
      return loss.mean()


  def sgns_loss(centre, context, negatives):
      centre, context, negatives = centre.float(), context.float(), negatives.float()
      return right_sgns_loss(centre, context, negatives)
array_returned:
- positive = (centre * context).sum(dim=-1) => import numpy as np
  negative = (negatives * centre[:, None, :]).sum(dim=-1) => positive = (centre * context).sum(-1).numpy()
  loss = -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => negative = (negatives * centre[:, None]).sum(-1).numpy()
  return loss.mean() => return torch.tensor((np.logaddexp(0, -positive) + np.logaddexp(0, negative).sum(-1)).mean())
gradient_cut_off:
- .mean() => .mean().clone().detach().requires_grad_()
input_changed:
- in float32_only
  centre, context, negatives = centre.float(), context.float(), negatives.float() =>
      result = right_sgns_loss(centre, context, negatives)
      with torch.no_grad():
          negatives.neg_()
      return result
  return right_sgns_loss(centre, context, negatives) =>
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape` or `flatten`.
- (negatives * centre[:, None, :]).sum(dim=-1) => (negatives.view(-1, negatives.shape[-1]) * centre.repeat_interleave(negatives.shape[1], 0)).sum(-1).view(len(centre), -1)
other_signature (slip): The arguments have other names: keep the signature sgns_loss(centre, context, negatives), so that they may be given by name.
- centre => center
- negatives => noise
""",
    right=r"""
softplus_and_einsum:
- |
  positive = torch.einsum("bc,bc->b", centre, context)
  negative = torch.einsum("bkc,bc->bk", negatives, centre)
  return (F.softplus(-positive) + F.softplus(negative).sum(1)).mean()
batched_product:
- |
  pos = torch.bmm(context.unsqueeze(1), centre.unsqueeze(2)).view(-1)
  neg = torch.bmm(negatives, centre.unsqueeze(2)).squeeze(2)
  return -(F.logsigmoid(pos).mean() + F.logsigmoid(-neg).sum(1).mean())
loops:
- |
  losses = []
  for c, o, ns in zip(centre, context, negatives):
      loss = -F.logsigmoid(torch.dot(c, o))
      for n in ns:
          loss = loss - F.logsigmoid(-(c @ n))
      losses.append(loss)
  return torch.stack(losses).mean()
logaddexp:
- loss = -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) =>
      zero = torch.zeros((), dtype=centre.dtype, device=centre.device)
      total = torch.logaddexp(zero, -positive).sum() + torch.logaddexp(zero, negative).sum()
      return total / centre.shape[0]
  return loss.mean() =>
""",
)
