"""`recall_step`: parameters after each step of a small model, against ours with the same optimiser, and the loss.

The mistakes: gradients that pile up, steps in another order or missing, another loss, classes in the wrong dimension.
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

recall_step = reference("recall_step")

# A model small enough to follow: the logits of a question are a row of a table, chosen by its word, plus a row chosen
# by its number. It stands in for LookUp in the student's process, and in the judge's.
_TOY = """
def make(table, bias, scale=1.0, training=True):
    class Toy(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(table.clone())  # (W, V)
            self.bias = nn.Parameter(bias.clone())  # (V,)
            self.modes, self.backwards = [], []
            self.bias.register_hook(lambda grad: self.backwards.append(1))

        def forward(self, pages):
            self.modes.append(self.training)
            logits = scale * (self.table[pages[..., 0]] + self.bias)  # (B, S, V)
            return logits, (logits / 2).softmax(-1)

    return Toy().train(training)
"""

_OPTIMISER = """
def optimiser(model, name, **options):
    made = getattr(torch.optim, name)(model.parameters(), **options)
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
    modes = {"inside": model.modes, "after": model.training}
    return {"modes": modes, "backwards": len(model.backwards), "steps": len(optimiser.steps), "gradients": there}
"""

_NUMBERS = """
def numbers(model):
    return [p.detach().clone() for p in model.parameters()]
"""


@dataclass
class _Run:
    """Some steps of training: what the toy is, what the optimiser is, and how it is asked."""

    V: int = 5
    shape: tuple[int, int] = (3, 4)
    scale: float = 1.0
    optimiser: str = "SGD"
    options: tuple = (("lr", 0.5),)
    steps: int = 1
    stale: float = 0.0
    dtype: torch.dtype = torch.float32
    training: bool = True
    turned: bool = False  # answers that are not contiguous, and arguments given by name


def _trained(student: Student, run: _Run, where: str, values: bool = True, notes: bool = False) -> list[Any]:
    """Takes the steps and compares the parameters after each; returns the answers."""
    table, bias = normal(6, run.V, dtype=run.dtype), normal(run.V, dtype=run.dtype)
    mine = define_in_judge(_TOY, "make")(table, bias, run.scale, run.training)
    my_optimiser = define_in_judge(_OPTIMISER, "optimiser")(mine, run.optimiser, **dict(run.options))
    model = student.call(student.probe("make", _TOY), [table, bias, run.scale, run.training], keep=True)["value"]
    making = student.probe("optimiser", _OPTIMISER)
    optimiser = student.call(making, [model, run.optimiser], dict(run.options), keep=True)["value"]
    numbers = student.probe("numbers", _NUMBERS)
    if run.stale:
        student.call(student.probe("stale", _STALE), [model, run.stale])
    answers = []
    for step in range(run.steps):
        pages = (normal(*run.shape, 2).abs() * 2.3).long() % 6
        right = (normal(*run.shape).abs() * 2.3).long() % run.V
        expected = recall_step(mine, my_optimiser, pages, right)
        given = {"model": model, "optimizer": optimiser, "pages": pages, "answers": right}
        if run.turned:
            given |= {"pages": pages.transpose(0, 1).contiguous().transpose(0, 1), "answers": right.T.contiguous().T}
            answer = student.call("recall_step", [], given, where=where)
        else:
            answer = student.call("recall_step", list(given.values()), where=where)
        note_rounded(student, answer["value"])
        answers.append((answer, expected, (pages, right)))
        if notes:  # mostly for the record: it tells mistakes apart that leave the same numbers behind
            modes = student.value(student.probe("happened", _HAPPENED), model, optimiser)["modes"]
            if modes["after"] != run.training or run.training not in modes["inside"]:
                raise Wrong("The model's mode is changed (by train() or eval()): leave it as it is.", "mode_changed")
        if values:
            for got, own in zip(student.value(numbers, model), mine.parameters(), strict=True):
                same_tensor(got, own.detach(), "A parameter", f"after step {step + 1} {where}")
    return answers


def _update(student: Student) -> None:
    for run, where in (
        (_Run(), "with SGD"),
        (_Run(V=7, shape=(1, 6), options=(("lr", 0.3),)), "with SGD, for one page"),
        (_Run(V=4, shape=(4, 4), options=(("lr", 1.0),)), "with SGD, where B = S = V"),
        (_Run(V=3, shape=(5, 3), optimiser="AdamW", options=(("lr", 0.02),)), "with AdamW"),
        (_Run(V=6, shape=(2, 7), scale=100.0), "for logits in the hundreds"),
    ):
        with student.case():
            _trained(student, run, where)


def _steps(student: Student) -> None:
    for run, where in (
        (_Run(stale=0.3), "when gradients of an earlier backward() are still there"),
        (_Run(stale=-20.0, V=6, shape=(2, 5)), "when large gradients of an earlier backward() are still there"),
        (_Run(steps=4), "one after the other"),
        (_Run(V=7, shape=(1, 6), options=(("lr", 0.2), ("momentum", 0.9)), steps=3), "with momentum"),
        (_Run(optimiser="AdamW", options=(("lr", 0.02),), steps=3), "with AdamW, one after the other"),
    ):
        with student.case():
            _trained(student, run, where)


def _loss(student: Student) -> None:
    for run, where in (
        (_Run(options=(("lr", 5.0),)), "of one step"),
        (_Run(scale=10.0, options=(("lr", 1.0),), steps=2, shape=(2, 7)), "of two steps"),
    ):
        with student.case():
            for answer, expected, _ in _trained(student, run, where, values=False):
                got = answer["value"]
                if isinstance(got, torch.Tensor) and got.numel() == 1:
                    number = got.item()
                elif isinstance(got, (int, float)) and not isinstance(got, bool):
                    number = float(got)
                else:
                    raise Wrong(f"The loss {where} should be a float; yours is {kind(got)}.", "not_a_float")
                if not math.isclose(number, expected, rel_tol=1e-4, abs_tol=1e-6):
                    raise ValuesDiffer(
                        f"The number that is returned {where} is not the loss of this batch before the update (the "
                        "mean cross-entropy over all questions)."
                    )
                if type(got) is not float:
                    raise Wrong(f"A plain float is asked for; yours is {kind(got)}: `loss.item()`.", "not_a_float")


def _manners(student: Student) -> None:
    for run, where in (
        (_Run(steps=2, V=6), "in float32"),
        (_Run(dtype=torch.float64, steps=2, V=6), "in float64"),
        (_Run(training=False), "of a model in evaluation mode"),
    ):
        with student.case():
            for answer, _, given in _trained(student, run, where, notes=True):
                unchanged(answer["inputs"], list(given), "pages or answers")
                generator_unchanged(answer)
    with student.case():
        where = "for transposed pages and answers (not contiguous), with arguments given by name"
        _trained(student, _Run(turned=True), where)


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("the parameters after one step", 1.5, _update),
        Check("gradients of earlier steps forgotten", 1.0, _steps),
        Check("the loss before the update, as a float", 1.0, _loss),
        Check("float64, batch and mode unchanged", 0.5, _manners, further=True),
    ],
    working=r"""
import torch
from torch import nn

def recall_step(model, optimizer, pages, answers):
    chances = model(pages)[0].log_softmax(-1)
    loss = -chances.gather(-1, answers[..., None]).mean()
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = torch.autograd.grad(loss, p, retain_graph=True, allow_unused=True)[0]
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
step_before_backward: The optimiser makes its step before backward() has made the gradients: the order is zero, forward, loss, backward, step.
- optimizer.step() =>
  loss.backward() =>
      optimizer.step()
      loss.backward()
step_and_zero_before_backward: The gradients of this batch come too late: step() stands before backward(). The order is zero, forward, loss, backward, step.
- optimizer.zero_grad()  # backward() adds to what is there =>
  optimizer.step() =>
  loss.backward() =>
      optimizer.step()
      optimizer.zero_grad()
      loss.backward()
no_step (missed): optimizer.step() is missing, so the model stays as it was.
- optimizer.step() =>
two_steps (slip): The optimiser makes two steps: one call of recall_step is one update.
- optimizer.step() =>
      optimizer.step()
      optimizer.step()
no_backward (missed): No gradient arrives: loss.backward() is missing, or is called on a new tensor that has forgotten where it came from.
- loss.backward() =>
detached (missed): The logits are cut off from the model (detach, .data, no_grad), so no gradient can come back.
- logits.flatten(0, 1) => logits.detach().flatten(0, 1)
backward_twice (slip): The gradients are counted twice: backward() runs twice.
- loss.backward() =>
      loss.backward(retain_graph=True)
      loss.backward()
by_hand: The parameters are changed by hand (or with an optimiser of its own): the step is the optimiser's, optimizer.step().
- optimizer.step() =>
      with torch.no_grad():
          for p in model.parameters():
              p -= optimizer.param_groups[0]['lr'] * p.grad
- optimizer.step() => torch.optim.SGD(model.parameters(), lr=0.3).step()
- optimizer.step() => torch.optim.AdamW(model.parameters(), lr=optimizer.param_groups[0]['lr']).step()
uphill: The step goes uphill: the loss is to become smaller, so backward() starts from the loss itself, not from its negative.
- loss.backward() => (-loss).backward()
class_0_ignored: Class 0 is left out of the loss (`ignore_index=0`, as for padding): here it is a class like the others.
- answers.flatten()) => answers.flatten(), ignore_index=0)
sum (slip): The loss is a sum over the questions: a mean is asked for, so that its size does not depend on the batch.
- answers.flatten()) => answers.flatten(), reduction='sum')
divided_by_pages: The sum over the questions is divided by the number of pages only: the mean is over all B · S questions.
- answers.flatten())  # a mean over B * S questions => answers.flatten(), reduction='sum') / len(pages)
classes_in_dimension_one: The questions are taken for the classes: F.cross_entropy takes dimension 1 for the classes, and here they are the last.
    Flatten B and S into one.
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => F.cross_entropy(logits, answers)
scrambled: The logits are reshaped in a way that mixes questions and classes: flatten the first two dimensions and leave the last.
- logits.flatten(0, 1) => logits.transpose(1, 2).reshape(-1, logits.shape[-1])
- logits.flatten(0, 1) => logits.transpose(0, 1).flatten(0, 1)
last_question_only: Only one question of each page is learnt from: the loss is the mean over all of them.
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => F.cross_entropy(logits[:, -1], answers[:, -1])
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => F.cross_entropy(logits[:, 0], answers[:, 0])
first_page_only: Only the first page of the batch is learnt from: the loss is the mean over all of them.
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => F.cross_entropy(logits[0], answers[0])
softmax_twice: A softmax is taken before F.cross_entropy, which takes one itself: give it the logits.
- logits.flatten(0, 1) => logits.flatten(0, 1).softmax(-1)
probabilities: The loss is not the cross-entropy: the mean of −log of the probability of the right answer.
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => -logits.softmax(-1).gather(-1, answers[..., None]).mean()
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => -logits.gather(-1, answers[..., None]).mean()
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => (logits.softmax(-1) - F.one_hot(answers, logits.shape[-1])).square().mean()
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => (logits - F.one_hot(answers, logits.shape[-1])).square().mean()
unstable: The logarithm is taken of a softmax, which is 0 for large differences, so the loss becomes infinite. `F.cross_entropy` (or log_softmax)
    takes both in one.
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => -logits.softmax(-1).gather(-1, answers[..., None]).log().mean()
- F.cross_entropy(logits.flatten(0, 1), answers.flatten()) => -(logits.exp() / logits.exp().sum(-1, keepdim=True)).gather(-1, answers[..., None]).log().mean()
weights_for_logits: The second result of the model, the weights, is taken for the logits: they come first.
- logits, _ = model => _, logits = model
pair_as_logits (missed): model(pages) returns a pair, (logits, weights): take the first of the two.
- logits, _ = model(pages) => logits = model(pages)
clipped: The gradients are clipped: the update is the optimiser's, with the gradients as they are.
- optimizer.step() =>
      torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
      optimizer.step()
own_rate: The optimiser's learning rate is changed: leave it as it is set.
- optimizer.step() =>
      for group in optimizer.param_groups:
          group['lr'] = 0.1
      optimizer.step()
- optimizer.step() =>
      for group in optimizer.param_groups:
          group['lr'] = 1e-3
      optimizer.step()
loss_after (slip): The loss from after the update is returned: the one from before it is asked for.
- return loss.item() =>
      with torch.no_grad():
          return F.cross_entropy(model(pages)[0].flatten(0, 1), answers.flatten()).item()
accuracy_returned: The share of right answers is returned: the loss is asked for.
- return loss.item() => return (logits.argmax(-1) == answers).float().mean().item()
tensor_returned (slip): The loss is returned as a tensor: a plain float is asked for, `loss.item()`.
- return loss.item() => return loss || return loss.detach()
perplexity_returned: The exponential of the loss is returned: the loss itself is asked for.
- return loss.item() => return loss.exp().item()
logits_returned: The logits are returned too: the loss alone is asked for, a float.
- return loss.item() => return loss.item(), logits
eval_mode: The model is put into evaluation mode (or into training mode): leave its mode as it is.
- optimizer.zero_grad()  # backward() adds to what is there =>
      model.eval()
      optimizer.zero_grad()  # backward() adds to what is there
- optimizer.zero_grad()  # backward() adds to what is there =>
      model.train()
      optimizer.zero_grad()  # backward() adds to what is there
input_changed (slip): `pages` or `answers` is changed in place: the caller's own data are different afterwards.
- return loss.item() =>
      answers.zero_()
      return loss.item()
- return loss.item() =>
      pages.zero_()
      return loss.item()
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape` or `flatten`.
- answers.flatten() => answers.view(-1)
other_signature (slip): The arguments have other names: keep the signature recall_step(model, optimizer, pages, answers), so that they may be given by
    name.
- optimizer => optimiser
- answers => targets
""",
    right=r"""
transposed_for_cross_entropy:
- |
  logits = model(pages)[0]
  loss = F.cross_entropy(logits.transpose(1, 2), answers)
  optimizer.zero_grad(set_to_none=False)
  loss.backward()
  optimizer.step()
  return float(loss.detach())
by_the_formula:
- |
  scores, weights = model(pages)
  picked = scores.gather(-1, answers.unsqueeze(-1)).squeeze(-1)
  loss = (torch.logsumexp(scores, dim=-1) - picked).mean()
  for p in model.parameters():
      p.grad = None
  loss.backward()
  optimizer.step()
  return loss.item()
negative_log_likelihood:
- |
  output = model(pages)
  V = output[0].size(-1)
  log_p = torch.log_softmax(output[0].reshape(-1, V), dim=1)
  loss = nn.NLLLoss()(log_p, answers.reshape(-1))
  model.zero_grad()
  loss.backward()
  optimizer.step()
  return loss.detach().cpu().item()
loop_over_questions:
- |
  optimizer.zero_grad()
  logits, _ = model(pages)
  B, S = answers.shape
  total = 0.0
  for b in range(B):
      for s in range(S):
          total = total + F.cross_entropy(logits[b, s][None], answers[b, s][None])
  loss = total / (B * S)
  loss.backward()
  optimizer.step()
  return loss.item()
closed_at_the_end:
- |
  optimizer.zero_grad()
  loss = nn.CrossEntropyLoss()(model(pages)[0].flatten(end_dim=1), answers.flatten())
  value = loss.item()
  loss.backward()
  optimizer.step()
  optimizer.zero_grad()
  return value
""",
)
