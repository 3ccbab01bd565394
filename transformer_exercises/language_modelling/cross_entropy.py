"""`cross_entropy`: against PyTorch's, for any leading dimensions and logits of ±1e4, without using PyTorch's.

The mistakes: a logsumexp that overflows, another dimension, another mean, another sign, probabilities for logits.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_tensor
from autograder.spec.exercise import Ban, Check, Exercise
from autograder.spec.inputs import device_is_kept, normal
from autograder.spec.student import Student

from .common import gradient_agrees, quiet_and_pure, same_values


def _loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def _targets(*shape: int, vocab_size: int) -> torch.Tensor:
    return (normal(*shape, 1).abs() * 997).long().remainder(vocab_size).squeeze(-1)


def _entropy_asked(student: Student, *shape: int) -> None:
    with student.case():
        logits, targets = normal(*shape, scale=2.0), _targets(*shape[:-1], vocab_size=shape[-1])
        where = f"for logits of shape {shape} and targets of shape {shape[:-1]}"
        got = student.value("cross_entropy", logits, targets, where=where)
        same_values(got, _loss(logits, targets), "The loss", where)


def _entropy_values(student: Student) -> None:
    for rows, ids, where in (
        ([[0.0, 0.0]], [1], "for logits [[0, 0]] and targets [1]"),
        ([[2.0, -1.0, 0.5], [0.0, 3.0, 0.0]], [0, 0], "for whole numbers and target 0 twice"),
        ([[-3.0, -1.0, -2.0, -1.5]], [3], "where all logits are negative"),
    ):
        with student.case():
            logits, targets = torch.tensor(rows), torch.tensor(ids)
            got = student.value("cross_entropy", logits, targets, where=where)
            same_values(got, _loss(logits, targets), "The loss", where)
    for shape in ((4, 3), (7, 5), (3, 8), (1, 6), (5, 5), (40, 33), (4, 1)):
        _entropy_asked(student, *shape)


def _entropy_dimensions(student: Student) -> None:
    for shape in ((2, 3, 5), (4, 3, 4), (3, 1, 2), (2, 2, 3, 7), (1, 4, 1, 3), (6,), (2, 1, 3, 2, 4)):
        _entropy_asked(student, *shape)


def _entropy_stable(student: Student) -> None:
    # The targets are not the likeliest tokens: a loss near 0 would be lost in the rounding of a logsumexp of 1e4.
    rows = torch.tensor([[1e4, 1e4 - 1, 1e4 - 4], [-1e4, -1e4 + 2, -1e4 - 3], [1e4, -1e4, 0.0], [0.3, -2.2, 0.1]])
    targets = torch.tensor([2, 2, 1, 1])
    for logits, ids, where in (
        (rows[:1], targets[:1], "for logits near 1e4"),
        (rows[1:2], targets[1:2], "for logits near −1e4"),
        (rows[2:3], targets[2:3], "when the target's logit lies 2e4 below another"),
        (rows[2:3], torch.tensor([0]), "when the target's logit lies 1e4 above the others"),
        (
            torch.tensor([[0.0, 200.0], [-150.0, 0.0]]),
            torch.tensor([0, 0]),
            "when the target's logit lies 200 below another",
        ),
        (rows, targets, "when rows near 1e4 and near −1e4 stand together (each row needs its own maximum)"),
        (
            rows[[1, 3]],
            targets[[1, 3]],
            "when rows near 0 and near −1e4 stand together (each row needs its own maximum)",
        ),
        (rows.double(), targets, "for float64 logits of ±1e4"),
    ):
        with student.case():
            got = student.value("cross_entropy", logits, ids, where=where)
            same_values(got, _loss(logits, ids), "The loss", where, rough=True)


def _entropy_gradient(student: Student) -> None:
    large = torch.tensor([[1e4, 1e4 - 1, 0.0], [0.0, 1.0, -1e4]])
    for logits, targets, where in (
        (normal(4, 3), torch.tensor([2, 0, 0, 1]), ""),
        (normal(2, 3, 4, dtype=torch.float64), torch.tensor([[3, 0, 1], [2, 2, 0]]), "in float64"),
        (large, torch.tensor([1, 0]), "for logits of 1e4"),
    ):
        with student.case():
            gradient_agrees(
                student,
                "cross_entropy",
                _loss,
                [logits, targets],
                "`logits`",
                where,
                rough=where == "for logits of 1e4",
            )


def _entropy_manners(student: Student) -> None:
    for shape, dtype in (((4, 3), torch.float32), ((2, 3, 4), torch.float64)):
        with student.case():
            logits, targets = normal(*shape, dtype=dtype), _targets(*shape[:-1], vocab_size=shape[-1])
            quiet_and_pure(
                student, "cross_entropy", [logits, targets], _loss(logits, targets), "The loss", "`logits`, `targets`"
            )
    for turned, targets, what in (
        (normal(3, 5, 2).mT, _targets(3, 2, vocab_size=5), "logits"),
        (normal(3, 2, 5), _targets(2, 3, vocab_size=5).T, "targets"),
    ):
        where = f"for {what} that are not contiguous"
        got = student.value("cross_entropy", turned, targets, where=where)
        same_tensor(got, _loss(turned, targets), "The loss", where)
    device_is_kept(student, "cross_entropy", [normal(4, 3), torch.tensor([2, 0, 0, 1])])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("mean of −log p(target), logits (N, V)", 1.25, _entropy_values),
        Check("any number of leading dimensions", 0.75, _entropy_dimensions, further=True),
        Check("stable for logits of ±1e4", 1.0, _entropy_stable, further=True),
        Check("gradients", 0.5, _entropy_gradient, further=True),
        Check(
            "a scalar tensor of the dtype of `logits`, inputs unchanged, any layout and device",
            0.5,
            _entropy_manners,
            further=True,
        ),
    ],
    ban=Ban(
        pattern="(?<!binary)crossentropy|nllloss|ctcloss|adaptivelogsoftmax",
        without="`F.cross_entropy` and its relatives (`F.nll_loss`, `nn.CrossEntropyLoss` …)",
        fine="`log_softmax` and `logsumexp` are fine",
    ),
    working=r"""
import torch

def cross_entropy(logits, targets):
    return -torch.distributions.Categorical(logits=logits, validate_args=False).log_prob(targets).mean()
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
log_of_softmax: The logarithm of a softmax breaks down: far below the largest logit the softmax is exactly 0, and its logarithm −inf, with the maximum
    subtracted too. Use log_softmax, or write it out: shifted − log(sum of exp(shifted)).
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1))
- |
  p = torch.softmax(logits, -1)
  return -p.gather(-1, targets.unsqueeze(-1)).log().mean()
- |
  onehot = F.one_hot(targets, logits.shape[-1])
  return -(onehot * torch.softmax(logits, -1).log()).sum(-1).mean()
no_shift: exp(1e4) overflows: subtract the largest logit of each row first, which changes nothing in exact arithmetic (torch.logsumexp and log_softmax
    do it for you).
- torch.log_softmax(logits, dim=-1) => logits - logits.exp().sum(dim=-1, keepdim=True).log()
- torch.log_softmax(logits, dim=-1) => (logits.exp() / logits.exp().sum(dim=-1, keepdim=True)).log()
global_shift: The maximum of the whole tensor is subtracted, not that of each row: rows far below it underflow to log(0). Take the maximum along the
    last dimension, with keepdim=True.
- torch.log_softmax(logits, dim=-1) => logits - logits.max() - (logits - logits.max()).exp().sum(dim=-1, keepdim=True).log()
- torch.log_softmax(logits, dim=-1) => torch.log(torch.exp(logits - logits.max()) / torch.exp(logits - logits.max()).sum(dim=-1, keepdim=True))
shift_not_undone: The maximum is subtracted inside the logarithm and not accounted for outside: log Σ exp(x) = m + log Σ exp(x − m).
- torch.log_softmax(logits, dim=-1) => logits - (logits - logits.amax(dim=-1, keepdim=True)).exp().sum(dim=-1, keepdim=True).log()
- torch.log_softmax(logits, dim=-1) => logits - logits.amax(dim=-1, keepdim=True) - logits.exp().sum(dim=-1, keepdim=True).log()
epsilon: A small number is added to the probability before the logarithm (or it is clamped): that only hides log(0), and limits the loss. Work with
    log_softmax, which stays exact.
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1) + 1e-9) || torch.log(torch.softmax(logits, dim=-1) + 1e-12)
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1) + 1e-10) || torch.log(torch.softmax(logits, dim=-1) + 1e-8)
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1) + 1e-7) || torch.log(torch.softmax(logits, dim=-1) + 1e-6)
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1) + 1e-5) || torch.log(torch.softmax(logits, dim=-1) + 1e-20)
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1).clamp(min=1e-12))
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1).clamp(min=1e-10))
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1).clamp(min=1e-9))
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1).clamp(min=1e-8))
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1).clamp(min=1e-7))
- torch.log_softmax(logits, dim=-1) => torch.log(torch.softmax(logits, dim=-1).clamp(min=1e-6))
clamped: The logits are clamped to keep exp from overflowing, which changes them. Subtract each row's maximum instead.
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits.clamp(-80, 80), dim=-1) || torch.log_softmax(logits.clamp(-100, 100), dim=-1)
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits.clamp(-50, 50), dim=-1) || torch.log_softmax(logits.clamp(max=80), dim=-1)
first_dimension: The softmax runs over the positions: it belongs on the vocabulary, the last dimension (dim=-1).
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits, dim=0) || torch.softmax(logits, dim=0).log()
second_dimension (slip): dim=1 is the vocabulary only when the logits have two dimensions: use dim=-1, the last one.
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits, dim=1)
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits, dim=1)
  log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs.gather(1, targets.unsqueeze(1))
whole_tensor: One softmax runs over all logits together: each position has its own, along the last dimension.
- torch.log_softmax(logits, dim=-1) => logits - logits.flatten().logsumexp(0)
two_dimensions_only: Only logits of shape (N, V) work: targets may have any shape [...], so flatten both first, or use `gather` along the last
    dimension.
- |
  return -torch.log_softmax(logits, dim=-1)[torch.arange(len(targets)), targets].mean()
- |
  N, V = logits.shape
  return -torch.log_softmax(logits, dim=-1)[range(N), targets].mean()
- log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs.gather(1, targets[:, None])
- |
  losses = [torch.logsumexp(row, 0) - row[t] for row, t in zip(logits, targets)]
  return torch.stack(losses).mean()
three_dimensions_only: Only logits of shape (B, T, V) work: any number of leading dimensions may come, none at all too.
- |
  B, T, V = logits.shape
  return -torch.log_softmax(logits.reshape(B * T, V), -1)[torch.arange(B * T), targets.reshape(-1)].mean()
- log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs[torch.arange(logits.shape[0])[:, None], torch.arange(logits.shape[1]), targets]
no_leading_dimension_fails: Logits of shape (V,) with a single target fail: there may be no leading dimension at all.
- torch.log_softmax(logits, dim=-1) =>
      torch.log_softmax(logits, dim=-1)
      targets[0]
dimension_lost_or_kept: One of the two terms has a dimension more than the other, (…, 1) against (…), so that all positions are paired with all (or
    the subtraction fails): give both the same shape, with `squeeze(-1)` or keepdim=True.
- |
  return (logits.logsumexp(-1) - logits.gather(-1, targets.unsqueeze(-1))).mean()
- torch.log_softmax(logits, dim= => logits - logits.logsumexp(
index_without_dimension (missed): `gather` needs an index with as many dimensions as the logits: targets.unsqueeze(-1), one column for each position.
- log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs.gather(-1, targets)
accuracy (missed): The share of right predictions is returned: the loss is −log p(target), also where the target is the likeliest token.
- |
  return (logits.argmax(-1) == targets).float().mean()
- |
  return (logits.argmax(-1) != targets).float().mean()
- |
  return -(logits.argmax(-1) == targets).float().mean()
sum (slip): The losses are added up: their mean over all positions is asked for.
- return -log_p_target.mean() => return -log_p_target.sum()
mean_over_first_only (slip): The sum is divided by the size of one dimension only (`len(targets)`): the mean runs over *all* positions.
- return -log_p_target.mean() => return -log_p_target.sum() / (len(targets) if targets.dim() else 1) || return -log_p_target.sum() / len(targets)
- return -log_p_target.mean() => return -log_p_target.sum() / logits.shape[0]
mean_over_last_only: The mean runs over the last dimension only, so one number for each row is left: take it over all positions.
- return -log_p_target.mean() => return -log_p_target.squeeze(-1).mean(dim=-1) || return -log_p_target.mean(dim=0)
not_averaged (slip): One loss for each position is returned: a single number is asked for, their mean.
- return -log_p_target.mean() => return -log_p_target.squeeze(-1) || return -log_p_target
divided_by_vocabulary: The mean also runs over the vocabulary (after multiplying with one-hot targets), so the loss is V times too small: sum over the
    vocabulary, then take the mean over positions.
- return -log_p_target.mean() => return -log_p_target.mean() / logits.shape[-1]
positive (slip): The sign is wrong: the loss is *minus* the log-probability, so it is never negative.
- return -log_p_target.mean() => return log_p_target.mean()
not_logarithm: The probabilities themselves are averaged: their logarithms are asked for.
- torch.log_softmax(logits, dim=-1) => torch.softmax(logits, dim=-1)
- torch.log_softmax(logits, dim=-1) => torch.softmax(logits, dim=-1)
  return -log_p_target.mean() => return 1 - log_p_target.mean()
log_of_mean: The logarithm is taken of the mean probability: take the mean of the logarithms.
- torch.log_softmax(logits, dim=-1) => torch.softmax(logits, dim=-1)
  return -log_p_target.mean() => return -log_p_target.mean().log()
no_softmax: The logits are used as if they were log-probabilities: they have to be normalised first (log_softmax).
- torch.log_softmax(logits, dim=-1) => logits
logits_as_probabilities: The logits are treated as probabilities (their logarithm is taken): they can be any real numbers; the softmax makes
    probabilities of them.
- torch.log_softmax(logits, dim=-1) => torch.log(logits) || torch.log(logits.clamp(min=1e-9))
softmax_twice: The softmax is applied twice (log_softmax of probabilities): the logits go straight into log_softmax.
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(torch.softmax(logits, dim=-1), dim=-1)
sigmoid: Each logit goes through a sigmoid on its own: probabilities over the vocabulary come from the softmax.
- torch.log_softmax(logits, dim=-1) => F.logsigmoid(logits) || torch.sigmoid(logits).log()
base_two (slip): The loss is in bits (base 2): the natural logarithm is asked for.
- return -log_p_target.mean() => return -log_p_target.mean() / math.log(2)
- torch.log_softmax(logits, dim=-1) => torch.log2(torch.softmax(logits, dim=-1))
base_ten (slip): The logarithm has base 10: the natural logarithm is asked for.
- torch.log_softmax(logits, dim=-1) => torch.log10(torch.softmax(logits, dim=-1))
- return -log_p_target.mean() => return -log_p_target.mean() / math.log(10)
entropy (missed): The entropy of the model's own distribution is returned; the targets decide whose −log p counts.
- |
  logs = torch.log_softmax(logits, -1)
  return -(logs.exp() * logs).sum(-1).mean()
likeliest_token (missed): The likeliest token's log-probability is taken: it is the *target's* that counts.
- log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs.amax(dim=-1, keepdim=True)
all_log_probs (missed): All log-probabilities are averaged, whatever the targets say: pick the target's at each position.
- log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs || log_probs[..., targets]
targets_shifted: The targets are shifted inside: each target belongs to the logits at its own position (the caller shifts).
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits[:-1], dim=-1)
  log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs.gather(-1, targets[1:].unsqueeze(-1))
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits[..., :-1, :], dim=-1)
  log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs.gather(-1, targets[..., 1:].unsqueeze(-1))
- log_probs.gather(-1, targets.unsqueeze(-1)) => log_probs.gather(-1, targets.roll(-1, dims=-1).unsqueeze(-1)) if targets.dim() else log_probs.gather(-1, targets.unsqueeze(-1))
last_position_only: Only one position is used: the mean runs over all of them.
- |
  logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), -1)
  return -logs[-1, targets.reshape(-1)[-1]]
- |
  logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), -1)
  return -logs[0, targets.reshape(-1)[0]]
zero_ignored: Target 0 is treated as padding and left out: no token was said to be padding here.
- return -log_p_target.mean() =>
      keep = (targets != 0).unsqueeze(-1)
      return -(log_p_target * keep).sum() / keep.sum().clamp(min=1)
- return -log_p_target.mean() => return -log_p_target[targets.unsqueeze(-1) != 0].mean()
perplexity: The exponential of the loss is returned, which is the perplexity: the loss itself is asked for.
- return -log_p_target.mean() => return (-log_p_target.mean()).exp()
smoothed: The targets are smoothed (label smoothing): the plain cross-entropy is asked for.
- return -log_p_target.mean() => return -0.9 * log_p_target.mean() - 0.1 * log_probs.mean()
square_error: The squared error between probabilities and one-hot targets is returned: the cross-entropy is −log p(target).
- |
  return ((torch.softmax(logits, -1) - F.one_hot(targets, logits.shape[-1])) ** 2).mean()
- |
  return ((torch.softmax(logits, -1) - F.one_hot(targets, logits.shape[-1])) ** 2).sum(-1).mean()
binary: The terms for the other tokens (log of 1 − p) are added: that is the binary cross-entropy. Only the target's −log p counts.
- |
  return F.binary_cross_entropy_with_logits(logits, F.one_hot(targets, logits.shape[-1]).to(logits.dtype))
- log_probs = torch.log_softmax(logits, dim=-1) => p = torch.softmax(logits, -1)
  log_p_target = log_probs.gather(-1, targets.unsqueeze(-1)) => y = F.one_hot(targets, logits.shape[-1])
  return -log_p_target.mean() => return -(y * p.log() + (1 - y) * (1 - p).log()).sum(-1).mean()
rounded:
- return -log_p_target.mean() => return round(-log_p_target.mean().item(), 4)
gradient_cut_off:
- return -log_p_target.mean() => return torch.tensor(-log_p_target.mean().item(), dtype=logits.dtype, device=logits.device)
- return -log_p_target.mean() => return torch.tensor(-log_p_target.mean().item())
- return -log_p_target.mean() =>
      import numpy as np
      return torch.tensor(-np.mean(log_p_target.numpy()))
view_needed (slip): The code takes the numbers in the order in which they lie in memory (`view`), which fails for logits or targets that were
    transposed or sliced before: use `reshape`, or `gather` along the last dimension.
- |
  log_probs = torch.log_softmax(logits.view(-1, logits.shape[-1]), dim=-1)
  return -log_probs.gather(-1, targets.view(-1, 1)).mean()
- in flattened
  targets.reshape(-1) => targets.view(-1)
dimensions_lost: All dimensions of size 1 are taken out (`squeeze()`), that of a vocabulary of one token too: name the dimension, `squeeze(-1)`.
- |
  logits, targets = logits.squeeze(), targets.squeeze()
  return -torch.log_softmax(logits, dim=-1).gather(-1, targets.unsqueeze(-1)).mean()
normaliser_detached: The sum of the exponentials is cut off from the gradient: the values are right, but the other tokens' logits would never be
    pushed down. Leave out `.detach()` there (only the subtracted maximum may have it).
- torch.log_softmax(logits, dim=-1) => logits - logits.logsumexp(-1, keepdim=True).detach()
double_precision:
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits.double(), dim=-1)
single_precision:
- torch.log_softmax(logits, dim=-1) => torch.log_softmax(logits.float(), dim=-1)
input_changed:
- log_probs = torch.log_softmax(logits, dim=-1) => logits -= logits.amax(dim=-1, keepdim=True)
  log_p_target = log_probs.gather(-1, targets.unsqueeze(-1)) => logs = logits - logits.exp().sum(-1, keepdim=True).log()
  return -log_p_target.mean() => return -logs.gather(-1, targets.unsqueeze(-1)).mean()
- |
  logits.sub_(logits.logsumexp(dim=-1, keepdim=True))
  return -logits.gather(-1, targets.unsqueeze(-1)).mean()
- log_probs = torch.log_softmax(logits, dim=-1) => logits.data -= logits.amax(dim=-1, keepdim=True)
  log_p_target = log_probs.gather(-1, targets.unsqueeze(-1)) => logs = logits - logits.exp().sum(-1, keepdim=True).log()
  return -log_p_target.mean() => return -logs.gather(-1, targets.unsqueeze(-1)).mean()
device_not_kept: A tensor is made without `device=logits.device`: on a GPU the call fails, or the result comes back on the CPU.
- log_probs = torch.log_softmax(logits, dim=-1) => logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), -1)
  log_p_target = log_probs.gather(-1, targets.unsqueeze(-1)) => ones = torch.eye(logits.shape[-1])[targets.reshape(-1)]
  return -log_p_target.mean() => return -(logs * ones.to(logs.dtype)).sum(-1).mean()
""",
    right=r"""
log_sum_exp:
- |
  return (torch.logsumexp(logits, -1) - logits.gather(-1, targets[..., None]).squeeze(-1)).mean()
by_hand:
- |
  top = logits.max(dim=-1, keepdim=True).values
  shifted = logits - top.detach()
  log_total = shifted.exp().sum(dim=-1).log()
  chosen = shifted.gather(-1, targets.unsqueeze(-1))[..., 0]
  return torch.mean(log_total - chosen)
flattened:
- |
  logits = logits.reshape(-1, logits.size(-1))
  targets = targets.reshape(-1)
  log_probs = logits.log_softmax(dim=1)
  return -log_probs[torch.arange(len(targets), device=logits.device), targets].mean()
one_hot:
- |
  onehot = F.one_hot(targets, num_classes=logits.shape[-1]).to(logits.dtype)
  return -(onehot * F.log_softmax(logits, dim=-1)).sum(dim=-1).mean()
loop:
- log_probs = torch.log_softmax(logits, dim=-1) => rows = logits.reshape(-1, logits.shape[-1])
  log_p_target = log_probs.gather(-1, targets.unsqueeze(-1)) => losses = [torch.logsumexp(row, dim=0) - row[t] for row, t in zip(rows, targets.reshape(-1))]
  return -log_p_target.mean() => return sum(losses) / len(losses)
distribution:
- |
  return -torch.distributions.Categorical(logits=logits).log_prob(targets).mean()
recursion:
- |
  if logits.dim() != 2:
      return cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
  return (logits.logsumexp(1) - logits.gather(1, targets[:, None])[:, 0]).mean()
""",
)
