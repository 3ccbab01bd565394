"""`bigram_step`: the new logits after one step over a whole text, against the gradient that autograd finds.

The mistakes: a sum for the mean, probabilities of the wrong rows or columns, uphill, pairs lost, gradients that pile up.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.spec.compare import a_tensor, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal
from autograder.spec.student import Student

from .common import same_values, text_of

WHAT = "The new table"


def _stepped(logits: torch.Tensor, ids: torch.Tensor, learning_rate: float) -> torch.Tensor:
    """By autograd, which is the other road to it than the reference's."""
    if len(ids) < 2:
        return logits.clone()
    table = logits.clone().requires_grad_(True)
    [gradient] = torch.autograd.grad(F.cross_entropy(table[ids[:-1]], ids[1:]), [table])
    return logits - learning_rate * gradient


def _asked(
    student: Student, logits: torch.Tensor, ids: torch.Tensor, rate: float, where: str, rough: bool = False
) -> None:
    with student.case():
        got = student.value("bigram_step", logits, ids, rate, where=where)
        same_values(got, _stepped(logits, ids, rate), WHAT, where, rough)


def _step_values(student: Student) -> None:
    banana = torch.tensor([1, 0, 2, 0, 2, 0])
    _asked(student, torch.zeros(3, 3), banana, 3.0, "for banana, from zeros")
    _asked(student, torch.tensor([[0.5, -1.0], [2.0, 0.0]]), torch.tensor([0, 0, 1]), 1.0, "for the text 0 0 1")
    for V, N, rate in (
        (4, 7, 0.1),
        (7, 60, 2.0),
        (5, 12, 20.0),
        (3, 200, 0.7),
        (11, 11, 5.0),
        (2, 3, 1.0),
        (6, 3000, 9.0),
    ):
        ids = text_of(N, V)
        _asked(student, normal(V, V, scale=1.5), ids, rate, f"for V = {V}, N = {N}, learning rate {rate:g}")


def _step_rows(student: Student) -> None:
    """Nothing is learnt about a row that no pair begins with, and nothing at all from a text without pairs."""
    for ids, where in (
        ([2], "for a text of one token"),
        ([], "for an empty text"),
        ([1, 3], "for a single pair"),
        ([0, 0, 0, 4], "for 0 0 0 4, in which 4 is only ever the last"),
    ):
        _asked(student, normal(5, 5), torch.tensor(ids, dtype=torch.int64), 2.5, where)


def _step_stable(student: Student) -> None:
    for rows, ids, where in (
        ([[1e4, 0.0, -1e4], [0.0, 1e4, 1e4 - 1], [-1e4, -1e4 + 2, -1e4]], [0, 1, 2, 2, 1, 0, 0], "for logits of ±1e4"),
        ([[200.0, -200.0], [-1e4, -1e4 - 1]], [0, 1, 1, 0, 0], "for rows near 200 and near −1e4"),
    ):
        _asked(student, torch.tensor(rows), torch.tensor(ids), 3.0, where, rough=True)
        _asked(student, torch.tensor(rows).double(), torch.tensor(ids), 3.0, f"{where}, in float64")


_KEPT = """
def kept(tensor):
    return tensor.clone()
"""

_ASKED = """
def asked(tensor):
    return tensor.requires_grad or tensor.grad is not None
"""

_SHARED = """
def shared(one, other):
    return isinstance(other, torch.Tensor) and other.numel() > 0 and one.data_ptr() == other.data_ptr()
"""


def _step_again(student: Student) -> None:
    """The very same tensor, as a training loop or a careful reader would pass it twice."""
    logits, ids = normal(4, 4), text_of(15, 4)
    expected = _stepped(logits, ids, 2.0)
    theirs = student.call(student.probe("kept", _KEPT), [logits], keep=True, record=False)["value"]
    for where in ("the first time", "the second time, with the same arguments"):
        with student.case():
            got = a_tensor(student.call("bigram_step", [theirs, ids, 2.0], where=where)["value"], WHAT)
            same_values(got, expected, WHAT, where)
            if got.was_differentiable:  # type: ignore[attr-defined]  # decoding sets it
                raise Wrong(
                    "A graph hangs on the result (`requires_grad` is True): each further step makes it longer, and a "
                    "thousand of them fill the memory. Return it detached.",
                    "graph_kept",
                )
    if student.value(student.probe("asked", _ASKED), theirs) is True:
        raise Wrong(
            "After the call the caller's own table asks for gradients (`requires_grad`): it should stay as it was.",
            "caller_asked_for_gradients",
        )
    with student.case():
        answer = student.call("bigram_step", [theirs, ids[:1], 2.0], where="for a text of one token", keep=True)
        shared = student.value(student.probe("shared", _SHARED), theirs, answer["value"])
        if shared is True:
            raise Wrong(
                "For a text of one token the tensor that was passed in comes back itself: a new tensor is asked for.",
                "same_tensor_back",
            )


def _step_manners(student: Student) -> None:
    for V, N, dtype in ((4, 9, torch.float32), (6, 20, torch.float64)):
        with student.case():
            logits, ids = normal(V, V, dtype=dtype), text_of(N, V)
            answer = student.call("bigram_step", [logits, ids, 1.5])
            same_tensor(answer["value"], _stepped(logits, ids, 1.5), WHAT)
            unchanged(answer["inputs"], [logits, ids], "`logits`, `ids`")
            generator_unchanged(answer)
    with student.case():
        logits = normal(5, 5)
        answer = student.call("bigram_step", [logits, torch.tensor([3]), 1.5])
        same_tensor(answer["value"], logits, WHAT, "for a text of one token")
        unchanged(answer["inputs"], [logits], "`logits`")
    with student.case():
        logits, ids, where = normal(5, 5).T, text_of(18, 5)[::2], "for tensors that are not contiguous"
        same_tensor(
            student.value("bigram_step", logits, ids, 1.5, where=where), _stepped(logits, ids, 1.5), WHAT, where
        )
    with student.case():
        device_is_kept(student, "bigram_step", [normal(4, 4), text_of(9, 4), 1.5])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("logits − learning rate · gradient of the mean loss", 2.0, _step_values),
        Check("rows without a pair, and texts without one, as they were", 0.5, _step_rows),
        Check("stable for logits of ±1e4", 0.5, _step_stable, further=True),
        Check("the same call twice, and no graph on the result", 0.5, _step_again, further=True),
        Check("dtype kept, inputs unchanged, any device", 0.5, _step_manners, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def bigram_step(logits, ids, learning_rate):
    table = torch.nn.Parameter(logits.detach().clone())
    optimizer = torch.optim.SGD([table], lr=learning_rate)
    if len(ids) > 1:
        F.cross_entropy(table[ids[:-1]], ids[1:]).backward()
        optimizer.step()
    return table.detach()
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "input_changed",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "rounded",
        "list_returned",
        "array_returned",
        "global_generator",
    ),
    wrong=r"""
uphill: The step goes uphill: the gradient points to where the loss rises, so it is subtracted.
- logits - learning_rate => logits + learning_rate
sum_of_losses: The gradient is that of the sum of the losses: L is their mean, so divide by the number of pairs.
- (expected - seen) / max(1, len(before)) => expected - seen
- in autograd
  F.cross_entropy(table[ids[:-1]], ids[1:]) => F.cross_entropy(table[ids[:-1]], ids[1:], reduction="sum")
divided_by_tokens (slip): The mean is taken over N: N tokens have N − 1 pairs.
- max(1, len(before)) => max(1, len(ids))
divided_by_entries: The mean is taken over the entries of the table (or of all logits), not over the pairs: each pair has one loss.
- max(1, len(before)) => logits.numel()
- max(1, len(before)) => (max(1, len(before)) * len(logits))
- max(1, len(before)) => len(logits)
rows_weighted_alike: Each row takes its own mean, as if all rows were equally frequent: the mean goes over the pairs, so a row that begins a tenth of
    them gets a tenth of the weight.
- gradient = (expected - seen) / max(1, len(before)) => gradient = (expected - seen) / seen.sum(dim=1, keepdim=True).clamp(min=1)
- gradient = (expected - seen) / max(1, len(before)) => gradient = (expected - seen) / seen.sum(dim=1, keepdim=True).clamp(min=1) / len(logits)
expected_not_weighted: The softmax stands there once for each row, however many pairs begin with it (also with none): it counts once for every pair.
- seen.sum(dim=1, keepdim=True) * torch.softmax(logits, dim=1) => torch.softmax(logits, dim=1)
- gradient = (expected - seen) / max(1, len(before)) => gradient = torch.softmax(logits, dim=1) - seen / seen.sum(dim=1, keepdim=True).clamp(min=1)
- gradient = (expected - seen) / max(1, len(before)) => gradient = torch.softmax(logits, dim=1) - seen / max(1, len(before))
only_seen: Only the logits of what was seen are pushed up: the softmax pulls all others down at the same time, by p each.
- expected - seen => -seen
only_expected: What was seen is left out: the derivative is p − 1 at the target, and p elsewhere.
- expected - seen => expected
ones_for_seen: The difference is taken to 1 in each seen place and counted once: a pair that occurs twice pulls twice.
- .index_put((before, after), one, accumulate=True) => .index_put((before, after), one)
no_softmax: The logits themselves (or their exponentials) stand where probabilities belong: p = softmax of the row.
- torch.softmax(logits, dim=1) => logits
- torch.softmax(logits, dim=1) => torch.sigmoid(logits)
- torch.softmax(logits, dim=1) => torch.log_softmax(logits, dim=1)
softmax_of_columns: The softmax runs down the columns: row i holds the logits of what follows i, so it runs along the row (dim=1, or −1).
- torch.softmax(logits, dim=1) => torch.softmax(logits, dim=0)
softmax_of_the_table: One softmax runs over the whole table: each row has its own.
- torch.softmax(logits, dim=1) => torch.softmax(logits.flatten(), dim=0).view_as(logits)
transposed: The table is read the wrong way round: rows are the token before, columns the token after.
- (before, after), one => (after, before), one
- seen.sum(dim=1, keepdim=True) => seen.sum(dim=0, keepdim=True)
own_token_as_target: The model is trained to repeat the token itself: the target is the one after it.
- before, after = ids[:-1], ids[1:] => before, after = ids[:-1], ids[:-1]
pair_lost (slip): A pair is lost at one end of the text: N tokens have N − 1 pairs.
- before, after = ids[:-1], ids[1:] => before, after = ids[:-2], ids[1:-1] || before, after = ids[1:-1], ids[2:]
wraps_round: There is a pair too many, from the last token back to the first: the text ends where it ends.
- before, after = ids[:-1], ids[1:] => before, after = ids, ids.roll(-1)
two_steps_apart: The pairs are two places apart: each token and the one directly after it are a pair.
- before, after = ids[:-1], ids[1:] => before, after = ids[:-2], ids[2:]
every_second_pair: Only every second pair counts (0 and 1, 2 and 3, …): each token but the last begins a pair.
- before, after = ids[:-1], ids[1:] => before, after = ids[: len(ids) // 2 * 2 : 2], ids[1::2]
all_pairs: Every token is paired with all that come later: only direct neighbours are pairs.
- before, after = ids[:-1], ids[1:] => before, after = ids[torch.triu_indices(len(ids), len(ids), 1, device=ids.device)]
one_row_only: Only one row is moved, that of the first or the last pair: all pairs of the text count in every step.
- before, after = ids[:-1], ids[1:] => before, after = ids[:1][: len(ids) - 1], ids[1:2] || before, after = ids[-2:-1], ids[1:][-1:]
rate_ignored (slip): The learning rate is ignored, or fixed in the code: use the argument.
- learning_rate * gradient => gradient
- learning_rate * gradient => 0.1 * gradient
- learning_rate * gradient => 3.0 * gradient
rate_divides: The gradient is divided by the learning rate: it is multiplied.
- learning_rate * gradient => gradient / learning_rate
rate_on_the_whole: The learning rate multiplies the logits, too: only the gradient is scaled.
- logits - learning_rate * gradient => learning_rate * (logits - gradient)
two_steps (slip): Two steps are taken: one call is one step.
- return logits - learning_rate * gradient =>
      logits = logits - learning_rate * gradient
      expected = seen.sum(dim=1, keepdim=True) * torch.softmax(logits, dim=1)
      return logits - learning_rate * (expected - seen) / max(1, len(before))
update_only (slip): The change is returned: the new logits are asked for, the old ones with the change.
- logits - learning_rate * gradient => -learning_rate * gradient
- logits - learning_rate * gradient => learning_rate * gradient
gradient_only: The gradient is returned: the new logits are asked for, logits − learning rate · gradient.
- logits - learning_rate * gradient => gradient
logits_returned (missed): The logits come back as they went in: no step is taken.
- logits - learning_rate * gradient => logits
- logits - learning_rate * gradient => logits.clone()
loss_returned: The loss is returned: the new table of logits is asked for.
- |
  return F.cross_entropy(logits[ids[:-1]], ids[1:])
probabilities_returned: Probabilities are returned (or the logits are normalised on the way out): the logits as the step leaves them are asked for.
- return logits - learning_rate * gradient => return torch.softmax(logits - learning_rate * gradient, dim=1)
- return logits - learning_rate * gradient => return torch.log_softmax(logits - learning_rate * gradient, dim=1)
probabilities_moved: The step is taken from the probabilities: it is the logits that are moved.
- logits - learning_rate * gradient => torch.softmax(logits, dim=1) - learning_rate * gradient
by_counting: The logarithms of the counted shares are returned: that is where many steps lead; one step is asked for.
- return logits - learning_rate * gradient => return torch.log_softmax((seen + 1e-9).log(), dim=1)
squared_error: The gradient is that of the squared error between probabilities and ones: the loss is the cross-entropy.
- in autograd
  F.cross_entropy(table[ids[:-1]], ids[1:]) => (torch.softmax(table[ids[:-1]], -1) - F.one_hot(ids[1:], len(logits))).pow(2).sum(-1).mean()
- in autograd
  F.cross_entropy(table[ids[:-1]], ids[1:]) => (1 - torch.softmax(table[ids[:-1]], -1).gather(1, ids[1:, None])).mean()
softmax_twice: A softmax is taken before the cross-entropy, which takes one itself: hand it the logits.
- in autograd
  F.cross_entropy(table[ids[:-1]], ids[1:]) => F.cross_entropy(torch.softmax(table[ids[:-1]], -1), ids[1:])
in_bits (slip): The loss is in bits: L is in nats, with the natural logarithm.
- learning_rate * gradient => learning_rate * gradient / math.log(2)
normalised: The gradient is scaled to a fixed length (or only its sign is used): plain gradient descent takes it as it is.
- learning_rate * gradient => learning_rate * gradient / gradient.norm().clamp(min=1e-12)
- learning_rate * gradient => learning_rate * gradient.sign()
clipped: The gradient is clipped: plain gradient descent takes it as it is.
- learning_rate * gradient => learning_rate * gradient.clamp(-0.1, 0.1)
other_optimiser: The step is that of another optimiser: plain gradient descent is asked for, without momentum, decay or rates of its own.
- |
  table = logits.detach().clone().requires_grad_()
  optimizer = torch.optim.Adam([table], lr=learning_rate)
  if len(ids) > 1:
      F.cross_entropy(table[ids[:-1]], ids[1:]).backward()
      optimizer.step()
  return table.detach()
- |
  table = logits.detach().clone().requires_grad_()
  optimizer = torch.optim.SGD([table], lr=learning_rate, weight_decay=0.01)
  if len(ids) > 1:
      F.cross_entropy(table[ids[:-1]], ids[1:]).backward()
      optimizer.step()
  return table.detach()
unstable: exp of a logit of 10,000 overflows, and the step is NaN or none: take the softmax in one piece (torch.softmax, log_softmax, F.cross_entropy).
- torch.softmax(logits, dim=1) => logits.exp() / logits.exp().sum(dim=1, keepdim=True)
- in autograd
  F.cross_entropy(table[ids[:-1]], ids[1:]) => -torch.softmax(table, -1)[ids[:-1], ids[1:]].log().mean()
epsilon_in_the_logarithm: A small number inside the logarithm avoids −inf, but where the model errs most nothing is learnt: use log_softmax.
- in autograd
  F.cross_entropy(table[ids[:-1]], ids[1:]) => -torch.log(torch.softmax(table, -1)[ids[:-1], ids[1:]] + 1e-9).mean()
- in autograd
  F.cross_entropy(table[ids[:-1]], ids[1:]) => -torch.log(torch.softmax(table, -1)[ids[:-1], ids[1:]].clamp(min=1e-9)).mean()
table_shifted: The maximum of the whole table is subtracted before exp, not that of each row: rows far below it become 0 / 0.
- torch.softmax(logits, dim=1) => (logits - logits.max()).exp() / (logits - logits.max()).exp().sum(dim=1, keepdim=True)
no_pairs_nan: A text without pairs gives NaN: the mean over nothing is 0 / 0. Such a text teaches nothing, so the logits come back as they were.
- max(1, len(before)) => len(before)
no_pairs_error: A text without pairs ends in an error (a division by 0): the logits come back as they were.
- (expected - seen) / max(1, len(before)) => (expected - seen) * (1 / len(before))
nothing_for_no_pairs (slip): For a text without pairs nothing (or zeros) is returned: the logits come back as they were.
- before, after = ids[:-1], ids[1:] =>
      before, after = ids[:-1], ids[1:]
      if len(ids) < 2:
          return None
- before, after = ids[:-1], ids[1:] =>
      before, after = ids[:-1], ids[1:]
      if len(ids) < 2:
          return torch.zeros_like(logits)
caller_asked_for_gradients (slip): The caller's own tensor is asked for gradients (`logits.requires_grad_()`), and goes on asking after the call: it
    should stay as it was. Ask a copy, `logits.detach().clone()`.
- |
  if len(ids) < 2:
      return logits.clone()
  logits.requires_grad_(True)
  loss = F.cross_entropy(logits[ids[:-1]], ids[1:])
  [gradient] = torch.autograd.grad(loss, [logits])
  return (logits - learning_rate * gradient).detach()
view_needed (slip): The code takes the numbers in the order in which they lie in memory (`view`), which fails for a table that was transposed
    or sliced before: index with rows and columns, or use `reshape`.
- .index_put((before, after), one, accumulate=True) => .view(-1).index_add(0, before * len(logits) + after, one).view(logits.shape)
same_tensor_back (slip): For a text without pairs the caller's own tensor is returned: a new tensor is asked for, such as `logits.clone()`.
- before, after = ids[:-1], ids[1:] =>
      before, after = ids[:-1], ids[1:]
      if len(ids) < 2:
          return logits
- in autograd
  logits.clone() => logits
beginning_only: Only the beginning of the text counts: the loss is the mean over all of its pairs.
- before, after = ids[:-1], ids[1:] => before, after = ids[:-1][:256], ids[1:][:256] || before, after = ids[:-1][:1024], ids[1:][:1024]
graph_kept: A graph hangs on the result, so each further step makes it longer: detach the new table (or compute it under `torch.no_grad()`).
- in autograd
  logits.detach() - learning_rate => table - learning_rate
gradients_pile_up: The caller's own tensor is asked for a gradient, and keeps it: backward() adds to what is there, so the second call with the same
    table takes a longer step. Begin each call with a fresh copy.
- |
  if len(ids) < 2:
      return logits.clone()
  logits.requires_grad_(True)
  F.cross_entropy(logits[ids[:-1]], ids[1:]).backward()
  return logits.detach() - learning_rate * logits.grad
input_changed:
- return logits - learning_rate * gradient =>
      logits -= learning_rate * gradient
      return logits
device_not_kept: A tensor is made without `device=logits.device`: on a GPU the call fails, or the result comes back on the CPU.
- , device=logits.device =>
vocabulary_fixed: V is fixed in the code (or taken from the largest id): take it from the shape of logits.
- |
  V = 53
  if len(ids) < 2:
      return logits.clone()
  counts = torch.bincount(ids[:-1] * V + ids[1:], minlength=V * V).view(V, V).to(logits.dtype)
  return logits - learning_rate * (counts.sum(1, keepdim=True) * logits.softmax(1) - counts) / (len(ids) - 1)
- |
  V = int(ids.max()) + 1
  if len(ids) < 2:
      return logits.clone()
  counts = torch.bincount(ids[:-1] * V + ids[1:], minlength=V * V).view(V, V).to(logits.dtype)
  return logits - learning_rate * (counts.sum(1, keepdim=True) * logits.softmax(1) - counts) / (len(ids) - 1)
""",
    right=r"""
autograd:
- |
  if len(ids) < 2:
      return logits.clone()
  table = logits.detach().clone().requires_grad_()
  loss = F.cross_entropy(table[ids[:-1]], ids[1:])
  [gradient] = torch.autograd.grad(loss, [table])
  return logits.detach() - learning_rate * gradient
backward:
- |
  table = logits.clone().detach().requires_grad_(True)
  if ids.numel() > 1:
      log_probs = torch.log_softmax(table, dim=-1)
      loss = -log_probs[ids[:-1], ids[1:]].mean()
      loss.backward()
      with torch.no_grad():
          table -= learning_rate * table.grad
  return table.detach()
one_position_at_a_time:
- |
  gradient = torch.zeros_like(logits)
  pairs = list(zip(ids[:-1].tolist(), ids[1:].tolist()))
  for i, j in pairs:
      p = torch.softmax(logits[i], dim=-1)
      p[j] -= 1
      gradient[i] += p / len(pairs)
  return logits - learning_rate * gradient
one_hot_rows:
- |
  V = logits.shape[0]
  if len(ids) < 2:
      return logits.clone()
  x = F.one_hot(ids[:-1], V).to(logits.dtype)
  y = F.one_hot(ids[1:], V).to(logits.dtype)
  error = torch.softmax(x @ torch.nan_to_num(logits), dim=-1) - y
  return logits - learning_rate * x.T @ error / (len(ids) - 1)
bincount:
- |
  V = len(logits)
  counts = torch.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V).to(logits.dtype)
  total = counts.sum()
  if total == 0:
      return logits.clone()
  visits = counts.sum(1, keepdim=True)
  return logits + learning_rate * (counts - visits * logits.softmax(1)) / total
""",
)
