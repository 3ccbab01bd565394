"""`label_smoothed_loss`: against PyTorch's, with padding inside, at the edge of and outside the vocabulary.

The mistakes: shares of another size, padding in the sum or in the mean, logarithms that overflow, limits refused.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_gradients, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal, raises_error, sliced
from autograder.spec.student import Student

_LOSS = "The loss"


def _torchs_loss(logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad_id: int) -> torch.Tensor:
    V = logits.shape[-1]
    flat = logits.reshape(-1, V), targets.reshape(-1)
    return F.cross_entropy(*flat, label_smoothing=smoothing, ignore_index=pad_id)


def _some_targets(*shape: int, V: int, pads: float = 0.0, pad_id: int = 0) -> torch.Tensor:
    """Ids other than pad_id, and a share of pad_id; the very first target is none."""
    targets = (normal(1, *shape)[0].abs() * 1000).long() % V
    if 0 <= pad_id < V:
        targets = torch.where(targets == pad_id, (pad_id + 1) % V, targets)
    padding = normal(*shape).argsort(-1).argsort(-1) < round(pads * shape[-1]) if shape else torch.tensor(False)
    return torch.where(padding, pad_id, targets)


def _same_loss(
    student: Student, logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad_id: int, where: str, **how: Any
) -> dict:
    answer = student.call("label_smoothed_loss", [logits, targets, smoothing, pad_id], where=where)
    same_tensor(answer["value"], _torchs_loss(logits, targets, smoothing, pad_id), _LOSS, where, **how)
    return answer


def _loss_values(student: Student) -> None:
    for shape, V, smoothing in (
        ((6,), 5, 0.1),
        ((3, 4), 7, 0.3),
        ((5, 2), 11, 0.0),
        ((2, 3, 4), 6, 0.2),
        ((4,), 3, 1.0),
        ((1,), 8, 0.1),
        ((3, 3), 3, 0.5),
        ((2, 6), 2, 0.1),
        ((), 9, 0.4),
        ((2, 1, 3, 2), 5, 0.1),
        ((2, 3), 10_000, 0.1),
        ((8, 100), 4, 0.1),
    ):
        with student.case():
            where = f"for logits of shape {(*shape, V)} and smoothing = {smoothing}, without padding"
            logits = normal(*shape, V, scale=2)
            _same_loss(student, logits, _some_targets(*shape, V=V, pad_id=0), smoothing, 0, where)


def _loss_padding(student: Student) -> None:
    for shape, V, smoothing, pad_id in (
        ((2, 6), 5, 0.1, 0),
        ((3, 5), 7, 0.3, 3),
        ((8,), 6, 0.2, 5),
        ((4, 7), 9, 0.0, 0),
        ((2, 3, 5), 4, 0.6, 1),
        ((3, 6), 8, 1.0, 2),
    ):
        with student.case():
            where = f"for targets of shape {shape}, V = {V}, smoothing = {smoothing} and pad_id = {pad_id}"
            targets = _some_targets(*shape, V=V, pads=0.4, pad_id=pad_id)
            if len(shape) == 2:
                targets[0] = _some_targets(shape[1], V=V, pad_id=pad_id)  # rows of different lengths
            _same_loss(student, normal(*shape, V, scale=2), targets, smoothing, pad_id, where)
    with student.case():
        targets = torch.full((3, 4), 2)
        targets[1] = 0
        _same_loss(student, normal(3, 4, 6), targets, 0.1, 0, "for a row that is padding throughout")
    with student.case():
        logits = normal(2, 5, 6)
        logits[..., 0] += 20
        where = "where padding is the likeliest prediction (pad_id as a target is left out, not as a prediction)"
        _same_loss(student, logits, _some_targets(2, 5, V=6, pads=0.4), 0.1, 0, where)


def _loss_extremes(student: Student) -> None:
    for scale, offset, where in (
        (1e4, 0.0, "for logits of about 1e4"),
        (1.0, 1e4, "for logits with a large common offset"),
        (1.0, -1e4, "for logits with a large negative offset"),
        (200.0, 0.0, "for logits of about 200 (their exponentials overflow)"),
    ):
        with student.case():
            logits, targets = normal(3, 4, 5, scale=scale) + offset, _some_targets(3, 4, V=5, pads=0.25)
            _same_loss(student, logits, targets, 0.1, 0, where, rough=True)


def _loss_gradient(student: Student) -> None:
    for shape, V, smoothing, pad_id, dtype in (
        ((2, 5), 6, 0.1, 0, torch.float32),
        ((7,), 4, 0.0, 2, torch.float64),
        ((2, 2, 4), 5, 0.4, 1, torch.float64),
    ):
        with student.case():
            logits = normal(*shape, V, dtype=dtype)
            targets = _some_targets(*shape, V=V, pads=0.4, pad_id=pad_id)
            args = (targets, smoothing, pad_id)
            where = f"for logits of shape {(*shape, V)}"
            _same_loss(student, logits, *args, where)
            leaf, weight = logits.clone().requires_grad_(True), torch.tensor(1.7, dtype=dtype)
            expected = torch.autograd.grad(weight * _torchs_loss(leaf, *args), [leaf])
            answer = student.call("label_smoothed_loss", [logits, *args], where=where, upstream=[weight])
            same_gradients(answer["gradients"].get("inputs", []), list(expected), ["logits"], where)


def _loss_outside(student: Student) -> None:
    for pad_id in (-100, -1):
        with student.case():
            targets = _some_targets(2, 5, V=6, pads=0.4, pad_id=pad_id)
            _same_loss(student, normal(2, 5, 6), targets, 0.1, pad_id, f"for pad_id = {pad_id}")


def _loss_manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            logits, targets = normal(3, 5, 6, dtype=dtype), _some_targets(3, 5, V=6, pads=0.4, pad_id=2)
            where = "in " + str(dtype).removeprefix("torch.")
            answer = _same_loss(student, logits, targets, 0.1, 2, where)
            unchanged(answer["inputs"], [logits, targets], "logits or targets")
            generator_unchanged(answer)
    with student.case():
        logits, targets = normal(6, 3, 5).permute(1, 2, 0), _some_targets(5, 3, V=6, pads=0.4).mT
        _same_loss(student, logits, targets, 0.1, 0, "for tensors that are not contiguous")
    with student.case():
        logits, targets = normal(3, 5, 6), _some_targets(3, 5, V=6, pads=0.4, pad_id=2)
        given = {"pad_id": 2, "smoothing": 0.1, "targets": sliced(student, targets), "logits": sliced(student, logits)}
        where = "for slices of tensors, given by name"
        got = student.call("label_smoothed_loss", [], given, where)["value"]
        same_tensor(got, _torchs_loss(logits, targets, 0.1, 2), _LOSS, where)
    with student.case():
        device_is_kept(student, "label_smoothed_loss", [normal(3, 5, 6), _some_targets(3, 5, V=6, pads=0.4), 0.1, 0])


def _loss_refusals(student: Student) -> None:
    logits, targets = normal(4, 3), torch.tensor([1, 2, 0, 1])
    for smoothing in (0.0, 1.0):
        with student.case():
            _same_loss(student, logits, targets, smoothing, 0, f"for smoothing = {smoothing}")
    for smoothing in (-0.1, 1.1, 10.0):
        with student.case(), raises_error(f"smoothing = {smoothing}"):
            student.call("label_smoothed_loss", [logits, targets, smoothing, 0])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("equals PyTorch's, for any shape and smoothing", 1.25, _loss_values),
        Check("padding is left out, of the sum and of the mean", 1.0, _loss_padding),
        Check("stable for large logits", 0.5, _loss_extremes, further=True),
        Check("gradients, none at padding", 0.5, _loss_gradient, further=True),
        Check("a pad_id outside the vocabulary", 0.25, _loss_outside, further=True),
        Check("inputs unchanged, float64, any layout and device", 0.25, _loss_manners, further=True),
        Check("smoothing from 0 to 1, else a ValueError", 0.25, _loss_refusals),
    ],
    working=r"""
import torch.nn.functional as F

def label_smoothed_loss(logits, targets, smoothing, pad_id):
    if smoothing < 0 or smoothing > 1:
        raise ValueError("smoothing must be from 0 to 1")
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(logits, targets, label_smoothing=smoothing, ignore_index=pad_id)
""",
    takes="tensor",
    gives="scalar",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "single_precision_inside",
        "rounded",
        "array_returned",
        "global_generator",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
smoothing_ignored (missed): smoothing makes no difference: a share `smoothing` of each target is spread evenly over all tokens.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -right.mean()
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right + smoothing * right).mean()
right_token_only: Only the right token counts, with weight 1 - smoothing: the share that was taken from it goes to all tokens evenly.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right).mean()
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing + smoothing / logits.shape[-1]) * right).mean()
shares_swapped (slip): The two shares are swapped: the right token has 1 - smoothing, the even part smoothing.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -(smoothing * right + (1 - smoothing) * evenly).mean()
right_token_keeps_all: The right token keeps its full weight of 1, so the weights add up to more than 1: it gives away the share that is spread.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -(right + smoothing * evenly).mean()
spread_over_the_others (slip): The share is spread over the *other* tokens only (smoothing / (V - 1) each), as some implementations do: here, as in PyTorch,
    every token has smoothing / V, the right one too.
- evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V => evenly = (log_probs.sum(dim=-1) - right) / (logits.shape[-1] - 1)
- evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V => evenly = (log_probs.sum(dim=-1) - right) / logits.shape[-1]
- evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V => evenly = (log_probs.sum(dim=-1) - right) / (logits.shape[-1] - 2)
spread_without_padding: The share is not spread over the padding token: here, as in PyTorch, every token of the vocabulary has smoothing / V; pad_id
    only says which *targets* to leave out.
- evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V =>
      others = torch.arange(logits.shape[-1], device=logits.device) != pad_id
      evenly = log_probs[:, others].mean(dim=-1)
- evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V =>
      others = torch.arange(logits.shape[-1], device=logits.device) != pad_id
      evenly = log_probs[:, others].sum(dim=-1) / logits.shape[-1]
- evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V =>
      others = torch.arange(logits.shape[-1], device=logits.device) != pad_id
      evenly = (log_probs[:, others].sum(dim=-1) - right) / max(logits.shape[-1] - 2, 1)
even_part_summed: The even part is a sum over the V tokens, without the weight 1 / V: each token has smoothing / V.
- log_probs.mean(dim=-1) => log_probs.sum(dim=-1)
mean_of_probabilities: The even part takes the mean of the probabilities (or the logarithm of that mean): it is the mean of the *log*-probabilities.
- log_probs.mean(dim=-1) => log_probs.exp().mean(dim=-1) || log_probs.exp().mean(dim=-1).log() || logits[real].mean(dim=-1)
probabilities_smoothed: The *predictions* are smoothed: label smoothing changes the targets, the loss is a mixture of two logarithms.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right.exp() + smoothing / logits.shape[-1]).log().mean()
kl_divergence: The entropy of the smoothed targets is subtracted (a KL divergence): the gradients agree, the value does not. Cross-entropy is asked
    for.
- in masked
  nll = -log_probs.gather(-1, index[..., None])[..., 0] =>
      wanted = F.one_hot(index, V).to(logits.dtype) * (1 - smoothing) + smoothing / V
      loss = F.kl_div(log_probs, wanted, reduction='none').sum(-1)
  smooth = -log_probs.mean(-1) =>
  loss = (1 - smoothing) * nll + smoothing * smooth =>
padding_in_the_mean (slip): Padding is left out of the sum but counted in the mean: divide by the number of targets that are not padding.
- in masked
  sum() / real.sum => mean
padding_counted: Padding counts like any other target: targets equal to pad_id are left out.
- real = targets != pad_id  # (...) => real = torch.ones_like(targets, dtype=torch.bool)
padding_hidden_in_the_logits: Padding is hidden by changing logits (or log-probabilities) there: such a position still counts in the mean; leave it
    out.
- in masked
  log_probs = torch.log_softmax(logits, dim=-1) =>
      log_probs = torch.log_softmax(logits, dim=-1)
      log_probs = torch.log_softmax(logits * real[..., None], dim=-1)
  return (loss * real).sum() / real.sum() => return loss.mean()
padding_in_one_part: Padding is left out of one of the two parts only: both are means over the targets that are not padding.
- evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V => evenly = torch.log_softmax(logits, dim=-1).mean()
- right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1)  # (N,) =>
      index = targets.clamp(min=0).unsqueeze(-1)
      right = torch.log_softmax(logits, dim=-1).gather(-1, index).mean()
- in masked
  loss = (1 - smoothing) * nll + smoothing * smooth => return ((1 - smoothing) * (nll * real).sum() + smoothing * smooth.sum()) / real.sum()
  return (loss * real).sum() / real.sum() =>
only_padding (slip): The condition is the wrong way round: what is *not* padding counts.
- targets != pad_id => targets == pad_id
padding_is_zero: pad_id is taken to be 0 (or larger ids are): compare with the pad_id that is given.
- targets != pad_id => targets != 0 || targets > 0 || targets > pad_id
predicted_padding: Positions are left out where the model *predicts* padding: it is the targets that say what is padding.
- real = targets != pad_id  # (...) => real = logits.argmax(dim=-1) != pad_id || real = (targets != pad_id) & (logits.argmax(dim=-1) != pad_id)
row_by_row (slip): The mean is taken for each row first and then over the rows: all targets that are not padding have the same weight.
- in masked
  loss * real).sum() / real.sum => (loss * real).sum(-1) / real.sum(-1).clamp(min=1)).mean
- in masked
  loss * real).sum() / real.sum => (loss * real).sum(-1) / real.sum(-1)).mean
summed (slip): The losses are added up: their mean is asked for.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right + smoothing * evenly).sum()
- in masked
  real.sum( => len(targets
not_reduced (slip): The losses of the positions are returned one by one: their mean is asked for.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right + smoothing * evenly)
- in masked
  (loss * real).sum() / real.sum() => loss * real
sign (slip): The sign is wrong: log-probabilities are negative, a loss is positive.
- return -( => return (
- smoothing * evenly => -smoothing * evenly
log_base (slip): The logarithm is not the natural one.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right + smoothing * evenly).mean() / math.log(2)
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right + smoothing * evenly).mean() / math.log(10)
softmax_of_another_dimension: The softmax runs over the wrong dimension: over the vocabulary, the last one.
- torch.log_softmax(logits[real], dim=-1) => torch.log_softmax(logits[real], dim=0) || torch.log_softmax(logits, dim=0)[real]
- torch.log_softmax(logits[real], dim=-1) => torch.log_softmax(logits, dim=1)[real]
softmax_twice: A softmax is taken of what is one already (or the logits are taken for log-probabilities): logits, then log_softmax, once.
- torch.log_softmax(logits[real], dim=-1) => torch.log_softmax(torch.softmax(logits[real], dim=-1), dim=-1) || logits[real]
- torch.log_softmax(logits[real], dim=-1) => torch.softmax(logits[real], dim=-1)
log_of_softmax: log(softmax(…)) gives −∞ or NaN for large logits: torch.log_softmax does both at once, stably.
- torch.log_softmax(logits[real], dim=-1) => torch.softmax(logits[real], dim=-1).log()
- torch.log_softmax(logits[real], dim=-1) => logits[real] - logits[real].exp().sum(-1, keepdim=True).log()
epsilon: A small number is added inside the logarithm, or probabilities are clipped: that changes the loss where a probability is small.
    torch.log_softmax needs nothing of the kind.
- torch.log_softmax(logits[real], dim=-1) => (torch.softmax(logits[real], dim=-1) + 1e-9).log()
- torch.log_softmax(logits[real], dim=-1) => torch.softmax(logits[real], dim=-1).clamp(min=1e-8).log()
fixed_shape: Only one number of dimensions works: logits [..., V] may have any number of leading ones, or none.
- real = targets != pad_id  # (...) =>
      B, T, V = logits.shape
      real = targets != pad_id  # (...)
- real = targets != pad_id  # (...) =>
      N, V = logits.shape
      real = targets != pad_id  # (...)
- real = targets != pad_id  # (...) =>
      assert logits.dim() > 1
      real = targets != pad_id  # (...)
size_limited: Only a number of tokens counts, or one size of vocabulary is allowed: all targets count, and V may be ten thousand.
- real = targets != pad_id => real = (targets != pad_id) & (torch.arange(targets.numel(), device=targets.device).view(targets.shape) < 512)
- log_probs.mean(dim=-1) => log_probs[:, :512].mean(dim=-1)
beginning_of_memory: The numbers are read from the beginning of the memory that a tensor lies in: a slice lies further on. Take the tensor itself.
- real = targets != pad_id =>
      logits = torch.as_strided(logits, logits.shape, logits.stride(), 0)
      real = targets != pad_id
other_signature (slip): A parameter has another name than in the signature: label_smoothed_loss(logits, targets, smoothing, pad_id).
- def label_smoothed_loss(logits, targets, smoothing, pad_id): =>
      def label_smoothed_loss(logits, targets, epsilon, ignore_index):
          smoothing, pad_id = epsilon, ignore_index
padding_as_index: A pad_id outside the vocabulary (-100, say) is used as an index: take the padding out first, or put any id in its place.
- in masked
  index[ => targets[
- in masked
  index[ => (targets % V)[
  (loss * real).sum() / real.sum => loss[targets >= 0].mean
- in kl_divergence
  index, V).to(logits.dtype => targets, V
  F.kl_div(log_probs, wanted, reduction='none' => -(wanted * log_probs
gradient_cut_off:
- evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V => evenly = log_probs.detach().mean(dim=-1)  # (N,): each token with weight 1 / V
a_number (slip): A Python number is returned: a scalar tensor is asked for, or there is nothing to train by.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right + smoothing * evenly).mean().item()
dimension_kept (slip): The result has a dimension (shape (1,)): a scalar is asked for.
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right + smoothing * evenly).mean()[None]
input_changed:
- real = targets != pad_id  # (...) =>
      real = targets != pad_id  # (...)
      targets[~real] = 0
- real = targets != pad_id  # (...) =>
      real = targets != pad_id  # (...)
      logits.data.sub_(1.0)
single_precision:
- return -((1 - smoothing) * right + smoothing * evenly).mean() => return -((1 - smoothing) * right + smoothing * evenly).mean().double()
device_not_kept: A tensor is made without `device=…`, so this fails on a GPU.
- in masked
  nll = -log_probs.gather(-1, index[..., None])[..., 0] => wanted = torch.full(logits.shape, 1.0, dtype=logits.dtype) * smoothing / V
  smooth = -log_probs.mean(-1 => wanted = wanted.scatter_add(-1, index[..., None], torch.full((*index.shape, 1), 1 - smoothing, dtype=logits.dtype)
  (1 - smoothing) * nll + smoothing * smooth => -(wanted * log_probs).sum(-1)
not_contiguous: `.view` fails for tensors that are not contiguous: use `.reshape` or `.flatten`.
- real = targets != pad_id  # (...) =>
      logits, targets = logits.view(-1, logits.shape[-1]), targets.view(-1)
      real = targets != pad_id  # (...)
bad_input_accepted: A smoothing below 0 or above 1 is accepted: it should be a ValueError that names it.
- if not 0 <= smoothing <= 1: =>
  raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}") =>
- if not 0 <= smoothing <= 1: => if smoothing < 0: || if smoothing > 1:
limits_refused (slip): smoothing = 0 or smoothing = 1 is refused: both are allowed.
- if not 0 <= smoothing <= 1: => if not 0 < smoothing <= 1: || if not 0 <= smoothing < 1: || if not 0 < smoothing < 1:
""",
    right=r"""
masked:
- |
  if not 0 <= smoothing <= 1:
      raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")
  V = logits.shape[-1]
  real = targets != pad_id
  index = targets.masked_fill(~real, 0)
  log_probs = torch.log_softmax(logits, dim=-1)
  nll = -log_probs.gather(-1, index[..., None])[..., 0]
  smooth = -log_probs.mean(-1)
  loss = (1 - smoothing) * nll + smoothing * smooth
  return (loss * real).sum() / real.sum()
smoothed_targets:
- in masked
  nll = -log_probs.gather(-1, index[..., None])[..., 0] =>
      wanted = F.one_hot(index, V).to(logits) * (1 - smoothing) + smoothing / V
      return -(wanted * log_probs).sum(-1)[real].mean()
  smooth = -log_probs.mean(-1) =>
  loss = (1 - smoothing) * nll + smoothing * smooth =>
  return (loss * real).sum() / real.sum() =>
logsumexp:
- |
  if smoothing > 1 or smoothing < 0:
      raise ValueError("smoothing out of range")
  V = logits.size(-1)
  logits, targets = logits.reshape(-1, V), targets.reshape(-1)
  keep = torch.nonzero(targets != pad_id)[:, 0]
  logits, targets = logits[keep], targets[keep]
  chosen = logits[torch.arange(len(keep), device=logits.device), targets]
  return (logits.logsumexp(-1) - (1 - smoothing) * chosen - smoothing * logits.sum(-1) / V).mean()
loop:
- |
  if not (smoothing >= 0 and smoothing <= 1):
      raise ValueError("smoothing")
  losses = []
  for row, target in zip(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).tolist()):
      if target != pad_id:
          log_p = row - torch.logsumexp(row, 0)
          losses.append(-(1 - smoothing) * log_p[target] - smoothing * log_p.mean())
  return sum(losses) / len(losses)
divergence_and_entropy:
- in smoothed_targets
  wanted = F.one_hot(index, V).to(logits) * (1 - smoothing) + smoothing / V =>
      wanted = torch.full_like(logits, smoothing / V)
      wanted.scatter_(-1, index.unsqueeze(-1), 1 - smoothing + smoothing / V)
      entropy = -torch.special.xlogy(wanted, wanted).sum(-1)
      loss = F.kl_div(log_probs, wanted.detach(), reduction='none').sum(-1) + entropy
      return torch.where(real, loss, 0).sum() / real.sum()
  return -(wanted * log_probs).sum(-1)[real].mean() =>
""",
)
