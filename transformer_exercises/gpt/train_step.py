"""`train_step`: parameters after each step of a small model, against ours with the same optimiser.

The mistakes: gradients that pile up, clipping missing, by value or by parameter, steps in another order, another loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from autograder.spec.compare import kind, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import define_in_judge, generator_unchanged, normal, note_rounded
from autograder.spec.student import Student

from .common import a_number

train_step = reference("train_step")

# A model small enough to follow: the logits are a row of a table plus a bias, so the loss is GPT's and the gradients
# are those of a softmax. It stands in for GPT in the student's process, and in the judge's.
_TOY = """
def make(table, bias, scale=1.0):
    class Toy(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(table.clone())  # (V, V)
            self.bias = nn.Parameter(bias.clone())  # (V,)
            self.backwards, self.modes = [], []
            self.bias.register_hook(lambda grad: self.backwards.append(1))

        def forward(self, ids, targets=None):
            self.modes.append(self.training)
            logits = scale * (self.table[ids] + self.bias)  # (B, T, V)
            if targets is None:
                return logits, None
            return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return Toy()
"""

_OPTIMISER = """
def optimiser(model, name, groups=False, **options):
    parameters = [{"params": [p]} for p in model.parameters()] if groups else model.parameters()
    made = getattr(torch.optim, name)(parameters, **options)
    made.steps = []
    made.register_step_pre_hook(lambda *args: made.steps.append(1))
    return made
"""

_STALE = """
def stale(model, size):
    for p in model.parameters():
        p.grad = torch.full_like(p, size)
"""

_HAPPENED = """
def happened(model, optimiser):
    there = [p.grad is not None and bool(p.grad.abs().max()) for p in model.parameters()]
    trained = all(model.modes) and model.training
    return {"backwards": len(model.backwards), "steps": len(optimiser.steps), "gradients": there, "training": trained}
"""

_NUMBERS = """
def numbers(model):
    return [p.detach().clone() for p in model.parameters()]
"""


@dataclass
class _Run:
    """Some training steps: what the toy is, what the optimiser is, and how it is asked."""

    V: int = 5
    scale: float = 1.0
    optimiser: str = "SGD"
    options: tuple = (("lr", 0.1),)
    max_norm: float | None = None
    steps: int = 1
    stale: float = 0.0
    dtype: torch.dtype = torch.float32
    shape: tuple[int, int] = (3, 4)


def _trained(student: Student, run: _Run, where: str, values: bool = True, notes: bool = False) -> list[Any]:
    """Takes the steps and compares the parameters after each; returns the answers."""
    table, bias = normal(run.V, run.V, dtype=run.dtype), normal(run.V, dtype=run.dtype)
    mine = define_in_judge(_TOY, "make")(table, bias, run.scale)
    my_optimiser = define_in_judge(_OPTIMISER, "optimiser")(mine, run.optimiser, **dict(run.options))
    model = student.call(student.probe("make", _TOY), [table, bias, run.scale], keep=True)["value"]
    making = student.probe("optimiser", _OPTIMISER)
    optimiser = student.call(making, [model, run.optimiser], dict(run.options), keep=True)["value"]
    numbers = student.probe("numbers", _NUMBERS)
    if run.stale:
        student.call(student.probe("stale", _STALE), [model, run.stale])
    kwargs = {} if run.max_norm is None else {"max_norm": run.max_norm}
    answers = []
    for step in range(run.steps):
        x, y = ((normal(*run.shape).abs() * 2.3).long() % run.V for _ in range(2))
        expected = train_step(mine, my_optimiser, x, y, **kwargs)
        answer = student.call("train_step", [model, optimiser, x, y], kwargs, where=where)
        note_rounded(student, answer["value"])
        answers.append((answer, expected, (x, y)))
        if notes:  # mostly for the record: it tells mistakes apart that leave the same numbers behind
            happened = student.value(student.probe("happened", _HAPPENED), model, optimiser)
            if not happened["training"]:
                raise Wrong(
                    "A model that is in training mode is trained in eval mode (or left in it), so its dropout does "
                    "not act: train_step does not call model.eval().",
                    "eval_mode",
                )
        if values:
            for got, own in zip(student.value(numbers, model), mine.parameters(), strict=True):
                same_tensor(got, own.detach(), "A parameter", f"after step {step + 1} {where}")
    return answers


def _step_update(student: Student) -> None:
    for run, where in (
        (_Run(), "with SGD"),
        (_Run(V=7, shape=(1, 6), options=(("lr", 0.03), ("momentum", 0.9)), steps=3), "with SGD and momentum"),
        (_Run(V=4, shape=(5, 1), optimiser="AdamW", options=(("lr", 0.02),), steps=3), "with AdamW"),
    ):
        with student.case():
            _trained(student, run, where)


def _step_clipped(student: Student) -> None:
    for run, where in (
        (_Run(scale=40.0), "when the gradients are large, with the default max_norm = 1"),
        (_Run(scale=9.0, max_norm=0.25, V=6), "when the gradients are large, with max_norm = 0.25"),
        (_Run(scale=40.0, max_norm=3.0), "when the gradients are large, with max_norm = 3"),
        (_Run(scale=0.02), "when the gradients are far below max_norm (they stay as they are)"),
        (_Run(scale=40.0, max_norm=1e6), "when the gradients are large, but below max_norm"),
        (
            _Run(scale=40.0, options=(("lr", 0.1), ("groups", True))),
            "when the optimiser holds its parameters in two groups",
        ),
        (_Run(scale=12.0, steps=3, options=(("lr", 0.5),)), "in three steps with large gradients"),
    ):
        with student.case():
            _trained(student, run, where)


def _step_stale(student: Student) -> None:
    for run, where in (
        (_Run(stale=0.3), "when gradients of an earlier backward() are still there"),
        (_Run(stale=50.0, scale=20.0), "when large gradients of an earlier backward() are still there"),
        (_Run(steps=4, max_norm=1e6), "one after the other"),
    ):
        with student.case():
            _trained(student, run, where)


def _step_loss(student: Student) -> None:
    for run, where in (
        (_Run(options=(("lr", 5.0),)), "of one step"),
        (_Run(scale=10.0, options=(("lr", 1.0),), steps=2, shape=(2, 7)), "of two steps"),
    ):
        with student.case():
            for answer, expected, _ in _trained(student, run, where, values=False):
                got = answer["value"]
                number = a_number(got, "The loss", where)
                if not math.isclose(number, expected, rel_tol=1e-4, abs_tol=1e-6):
                    raise ValuesDiffer(
                        f"The number that is returned {where} is not the loss of this batch before the update (mean "
                        "cross-entropy, as the model returns it)."
                    )
                if type(got) is not float:
                    raise Wrong(f"A plain float is asked for; yours is {kind(got)}: `loss.item()`.", "not_a_float")


def _step_manners(student: Student) -> None:
    for dtype, where in ((torch.float32, "in float32"), (torch.float64, "in float64")):
        with student.case():
            for answer, _, (x, y) in _trained(student, _Run(dtype=dtype, steps=2, V=6), where, notes=True):
                unchanged(answer["inputs"], [x, y], "x, y")
                generator_unchanged(answer)


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("the parameters after a step, as the optimiser makes it", 1.25, _step_update),
        Check("gradients clipped by their common norm", 1.0, _step_clipped),
        Check("gradients of earlier steps forgotten", 0.75, _step_stale),
        Check("the loss before the update, as a float", 0.75, _step_loss),
        Check("float64, batch unchanged", 0.25, _step_manners, further=True),
    ],
    working=r"""
import torch

def train_step(model, optimizer, x, y, max_norm=1.0):
    model.zero_grad()
    loss = model(x, targets=y)[1]
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm)
    optimizer.step()
    return float(loss)
""",
    gives="number",
    slips=(
        "nothing_returned",
        "rounded",
        "text_returned",
        "global_generator",
    ),
    wrong=r"""
gradients_pile_up: Old gradients are never set to zero: backward() adds to them, so each step also repeats all earlier ones. Begin with
    optimizer.zero_grad().
- optimizer.zero_grad()  # backward() adds to what is there =>
zeroed_too_late (missed): The gradients are set to zero between backward() and step(), so nothing is left to learn from: do it before backward().
- optimizer.zero_grad()  # backward() adds to what is there =>
  optimizer.step() =>
      optimizer.zero_grad()
      optimizer.step()
zeroed_at_the_end_only: The gradients are set to zero only at the end, so whatever was there before the call is added to the first step: do it before
    backward().
- optimizer.zero_grad()  # backward() adds to what is there =>
  optimizer.step() =>
      optimizer.step()
      optimizer.zero_grad()
not_clipped: The gradients are not clipped when the optimiser makes its step: nn.utils.clip_grad_norm_ comes after backward(), which makes them, and
    before step(), which uses them.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
clipped_by_value: Each gradient entry is clipped on its own, which changes the direction: clip the norm of all together (clip_grad_norm_, not
    clip_grad_value_).
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => nn.utils.clip_grad_value_(model.parameters(), max_norm)
clipped_one_by_one: Each parameter's gradient is clipped on its own, which changes the direction: the norm is that of all gradients taken together.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
      for p in model.parameters():
          nn.utils.clip_grad_norm_(p, max_norm)
some_clipped: Only some of the parameters are clipped: the norm is that of all gradients of the model taken together.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => nn.utils.clip_grad_norm_(list(model.parameters())[0], max_norm)
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => nn.utils.clip_grad_norm_(list(model.parameters())[-1], max_norm)
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => nn.utils.clip_grad_norm_(optimizer.param_groups[0]['params'], max_norm)
parameters_clipped: The weights themselves are clipped, not their gradients.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
      for p in model.parameters():
          p.data.clamp_(-max_norm, max_norm)
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
      for p in model.parameters():
          p.data.mul_(min(1.0, max_norm / p.data.norm().item()))
loss_clipped: The loss is clipped instead of the gradients.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
  loss.backward() => loss.clamp(max=max_norm).backward()
always_normalised: The gradients are scaled to max_norm even when they are smaller: clipping leaves small gradients as they are.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
      norm = nn.utils.clip_grad_norm_(model.parameters(), float('inf'))
      for p in model.parameters():
          p.grad.mul_(max_norm / norm)
max_norm_ignored (slip): max_norm is ignored: pass it on instead of a fixed number.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => nn.utils.clip_grad_norm_(model.parameters(), 1.0)
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => nn.utils.clip_grad_norm_(model.parameters(), 0.5)
other_default (slip): Without max_norm the gradients are not clipped to 1: that is its default.
- max_norm=1.0 => max_norm=float("inf") || max_norm=0.5
other_norm (slip): The norm is not the Euclidean one: leave norm_type at its default, 2.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=float('inf'))
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=1)
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
      norm = sum(p.grad.norm() for p in model.parameters())
      for p in model.parameters():
          p.grad.mul_((max_norm / norm).clamp(max=1.0))
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
      norm = sum(p.grad.pow(2).sum() for p in model.parameters())
      for p in model.parameters():
          p.grad.mul_((max_norm / norm).clamp(max=1.0))
clipped_group_by_group: Each of the optimiser's groups of parameters is clipped on its own: the norm is that of all gradients of the model taken
    together.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
      for group in optimizer.param_groups:
          nn.utils.clip_grad_norm_(group['params'], max_norm)
eval_mode: The model is put into eval mode, so its dropout does not act while it is trained: eval() is for measuring and writing.
- optimizer.zero_grad()  # backward() adds to what is there =>
      model.eval()
      optimizer.zero_grad()  # backward() adds to what is there
no_step (missed): optimizer.step() is missing, so the model stays as it was.
- optimizer.step() =>
two_steps (slip): The optimiser makes two steps: one call of train_step is one update.
- optimizer.step() =>
      optimizer.step()
      optimizer.step()
step_before_backward: The optimiser makes its step before backward() has made the gradients: the order is zero, forward, backward, clip, step.
- optimizer.step() =>
  loss.backward() =>
      optimizer.step()
      loss.backward()
no_backward (missed): No gradient arrives: loss.backward() is missing, or is called on a new tensor that has forgotten where it came from instead of the
    model's own loss.
- loss.backward() =>
backward_twice (slip): The gradients are counted twice: backward() runs twice.
- loss.backward() =>
      loss.backward(retain_graph=True)
      loss.backward()
by_hand: The parameters are changed by hand (or with an optimiser of its own): the step is the optimiser's, optimizer.step().
- optimizer.step() =>
      with torch.no_grad():
          for p in model.parameters():
              p -= optimizer.param_groups[0]['lr'] * p.grad
- optimizer.step() => torch.optim.AdamW(model.parameters(), lr=optimizer.param_groups[0]['lr']).step()
own_rate: The optimiser's learning rate is changed: train_step leaves it as it is set.
- optimizer.step() =>
      for group in optimizer.param_groups:
          group['lr'] = 1e-3
      optimizer.step()
- optimizer.step() =>
      for group in optimizer.param_groups:
          group['lr'] = 3e-4
      optimizer.step()
targets_swapped (slip): x and y are swapped: the model gets the inputs first.
- _, loss = model(x, y) => _, loss = model(y, x)
own_input_as_target: The model is trained to repeat its input: y holds the targets.
- _, loss = model(x, y) => _, loss = model(x, x)
shifted_again: The targets are shifted once more: y is already one step on.
- _, loss = model(x, y) =>
      logits, _ = model(x)
      loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), y[:, 1:].flatten())
sum: The loss is not the model's own: take the mean cross-entropy that the model returns, without another factor.
- loss.backward() =>
      loss = loss * y.numel()
      loss.backward()
- loss.backward() =>
      loss = loss / len(x)
      loss.backward()
- loss.backward() =>
      loss = loss.exp()
      loss.backward()
- loss.backward() =>
      loss = loss / max_norm
      loss.backward()
- loss.backward() =>
      loss = -loss
      loss.backward()
part_of_the_loss: The loss is that of a part of the batch: all positions of all rows count.
- _, loss = model(x, y) =>
      logits, _ = model(x)
      loss = nn.functional.cross_entropy(logits[:, -1], y[:, -1])
- _, loss = model(x, y) => _, loss = model(x[:1], y[:1])
pair_not_unpacked (missed): The loss is not there: the model returns the pair (logits, loss), and a loss only if it is given the targets, `_, loss = model(x,
    y)`.
- _, loss = model(x, y) => loss = model(x, y) || loss = model(x, y)[0].mean()
nothing_to_go_back_from (missed): backward() has nothing to start from: it needs the scalar loss (not the logits), computed with gradients on (no
    torch.no_grad(), no .detach()).
- _, loss = model(x, y) =>
      with torch.no_grad():
          _, loss = model(x, y)
loss_after: The loss is computed once more after the update: return that of the forward pass before it.
- return loss.item() => return model(x, y)[1].item()
not_a_float: A tensor is returned: a plain float is asked for, `loss.item()`. A list of such tensors would keep every step's graph in memory.
- return loss.item() => return loss || return loss.detach()
rounded:
- return loss.item() => return int(loss.item())
norm_returned: The norm of the gradients is returned (clip_grad_norm_ gives it back): the loss is asked for.
- nn.utils.clip_grad_norm_(model.parameters(), max_norm) => norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
  return loss.item() => return norm.item()
perplexity: The perplexity is returned: the loss itself is asked for.
- return loss.item() => return math.exp(loss.item())
pair_returned: More than the loss is returned: one float is asked for.
- return loss.item() => return loss.item(), model || return [loss.item()]
- _, loss = model(x, y) => logits, loss = model(x, y)
  return loss.item() => return logits, loss
input_changed: The batch is changed in place: x and y are different afterwards.
- return loss.item() =>
      x += 1
      return loss.item()
- return loss.item() =>
      y.zero_()
      return loss.item()
""",
    right=r"""
own_loss:
- |
  model.train()
  logits = model(x)[0]
  loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
  for p in model.parameters():
      p.grad = None
  loss.backward()
  torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
  optimizer.step()
  optimizer.zero_grad(set_to_none=True)
  return loss.detach().cpu().item()
clipped_by_hand:
- optimizer.zero_grad() => logits, loss = model(x, y)
  _, loss = model(x, y) => optimizer.zero_grad(set_to_none=False)
  nn.utils.clip_grad_norm_(model.parameters(), max_norm) =>
      grads = [p.grad for p in model.parameters() if p.grad is not None]
      norm = torch.sqrt(sum((g**2).sum() for g in grads))
      if norm > max_norm:
          for g in grads:
              g *= max_norm / norm
  return loss.item() => return float(loss.detach())
optimisers_parameters:
- |
  model.train()
  optimizer.zero_grad()
  loss = model(x, y)[1]
  loss.backward()
  torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], max_norm)
  optimizer.step()
  return loss.item()
autograd:
- |
  value = model(x, targets=y)[-1]
  parameters = list(model.parameters())
  for p, g in zip(parameters, torch.autograd.grad(value, parameters)):
      p.grad = g
  nn.utils.clip_grad_norm_(parameters, max_norm, norm_type=2.0)
  optimizer.step()
  return value.tolist()
""",
)
