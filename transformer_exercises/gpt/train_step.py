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
)
