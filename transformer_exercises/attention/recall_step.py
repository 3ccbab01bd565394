"""`recall_step`: parameters after each step of a small model, against ours with the same optimiser, and the loss."""

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Student,
    ValuesDiffer,
    Wrong,
    define_in_judge,
    generator_unchanged,
    kind,
    normal,
    note_rounded,
    reference,
    same_tensor,
    unchanged,
)

recall_step = reference("recall_step")

# A model small enough to follow: the logits of a question are a row of a table, chosen by its word, plus a row chosen
# by its number. It stands in for LookUp in the student's process, and in the judge's. What `happened` says is noted in
# no attribute, which could be changed.
_TOY = """
def make(table, bias, scale, training, stale, name, options):
    modes, backwards, steps = [], [], []

    class Toy(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(table.clone())  # (W, V)
            self.bias = nn.Parameter(bias.clone())  # (V,)
            self.bias.register_hook(lambda grad: backwards.append(1))

        def forward(self, pages):
            modes.append(self.training)
            logits = scale * (self.table[pages[..., 0]] + self.bias)  # (B, S, V)
            return logits, (logits / 2).softmax(-1)

    toy = Toy().train(training)
    for p in toy.parameters():
        p.grad = torch.full_like(p, stale) if stale else None

    def happened():
        there = [p.grad is not None and bool(p.grad.abs().max()) for p in toy.parameters()]
        counts = {"backwards": len(backwards), "steps": len(steps)}
        return counts | {"modes": {"inside": modes, "after": toy.training}, "gradients": there}

    optimiser = getattr(torch.optim, name)(toy.parameters(), **options)
    optimiser.register_step_pre_hook(lambda *args: steps.append(1))
    return toy, optimiser, happened
"""


@dataclass
class _Run:
    """Some steps of training: the toy, the optimiser, and how it is asked."""

    where: str
    V: int = 5
    shape: tuple[int, int] = (3, 4)
    scale: float = 1.0
    optimiser: str = "SGD"
    options: dict[str, float] = field(default_factory=lambda: {"lr": 0.5})
    steps: int = 1
    stale: float = 0.0
    dtype: torch.dtype = torch.float32
    training: bool = True
    turned: bool = False  # answers that are not contiguous, and arguments given by name


def _trained(student: Student, run: _Run, values: bool = True, notes: bool = False) -> list[Any]:
    """Take the steps and compare the parameters after each; return the answers."""
    toy = [normal(6, run.V, dtype=run.dtype), normal(run.V, dtype=run.dtype), run.scale, run.training, run.stale]
    toy += [run.optimiser, run.options]
    toy_model, toy_optimiser, _ = define_in_judge(_TOY, "make")(*toy)
    model, optimiser, happened = student.build_parts(3, student.probe("make", _TOY), *toy)
    answers = []
    for step in range(run.steps):
        pages = (normal(*run.shape, 2).abs() * 2.3).long() % 6
        right = (normal(*run.shape).abs() * 2.3).long() % run.V
        expected = recall_step(toy_model, toy_optimiser, pages, right)
        given = {"model": model, "optimizer": optimiser, "pages": pages, "answers": right}
        if run.turned:
            given |= {"pages": pages.transpose(0, 1).contiguous().transpose(0, 1), "answers": right.T.contiguous().T}
        args, named = ([], given) if run.turned else (list(given.values()), {})
        answer = student.call("recall_step", args, named, where=run.where)
        note_rounded(student, answer["value"])
        answers.append((answer, expected, [pages, right]))
        if notes:  # mostly for the record: it tells mistakes apart that leave the same numbers behind
            modes = student.value(happened)["modes"]
            if modes["after"] != run.training or run.training not in modes["inside"]:
                raise Wrong("The model's mode is changed (by train() or eval()): leave it as it is.", "mode_changed")
        if values:
            after = student.state(model)["parameters"]
            for name, own in toy_model.named_parameters():
                same_tensor(after.get(name), own.detach(), "A parameter", f"after step {step + 1} {run.where}")
    return answers


def _runs(*runs: _Run) -> CheckFunction:
    """Make a check of the parameters after each step."""

    def check(student: Student) -> None:
        for run in runs:
            with student.case():
                _trained(student, run)

    return check


_update = _runs(
    _Run("with SGD"),
    _Run("with SGD, for one page", V=7, shape=(1, 6), options={"lr": 0.3}),
    _Run("with SGD, where B = S = V", V=4, shape=(4, 4), options={"lr": 1.0}),
    _Run("with AdamW", V=3, shape=(5, 3), optimiser="AdamW", options={"lr": 0.02}),
    _Run("for logits in the hundreds", V=6, shape=(2, 7), scale=100.0),
)
_steps = _runs(
    _Run("when gradients of an earlier backward() are still there", stale=0.3),
    _Run("when large gradients of an earlier backward() are still there", stale=-20.0, V=6, shape=(2, 5)),
    _Run("one after the other", steps=4),
    _Run("with momentum", V=7, shape=(1, 6), options={"lr": 0.2, "momentum": 0.9}, steps=3),
    _Run("with AdamW, one after the other", optimiser="AdamW", options={"lr": 0.02}, steps=3),
)


def _loss(student: Student) -> None:
    large = _Run("for logits in the tens", scale=10.0, options={"lr": 1.0}, shape=(2, 7))
    for run in (_Run("of one step", options={"lr": 5.0}), large):
        with student.case():
            for answer, expected, _ in _trained(student, run, values=False):
                got = answer["value"]
                one = isinstance(got, torch.Tensor) and got.numel() == 1
                if not one and (isinstance(got, bool) or not isinstance(got, (int, float))):
                    raise Wrong(f"The loss {run.where} should be a float; yours is {kind(got)}.", "not_a_float")
                if not math.isclose(float(got), expected, rel_tol=1e-4, abs_tol=1e-6):
                    right = "the mean cross-entropy over all questions, before the update"
                    raise ValuesDiffer(f"The number returned {run.where} is not the loss of this batch: {right}.")
                if type(got) is not float:
                    raise Wrong(f"A plain float is asked for; yours is {kind(got)}: `loss.item()`.", "not_a_float")


def _side_effects(student: Student) -> None:
    for run in (
        _Run("in float32", V=6),
        _Run("in float64", V=6, dtype=torch.float64),
        _Run("of a model in evaluation mode", training=False),
        _Run("for pages and answers that are not contiguous, with arguments given by name", turned=True),
    ):
        with student.case():
            for answer, _, given in _trained(student, run, notes=True):
                unchanged(answer["inputs"], given, "pages or answers")
                generator_unchanged(answer)


EXERCISE = Exercise(
    Check("the parameters after one step", 1.5, _update),
    Check("gradients of earlier steps forgotten", 1.0, _steps, dependent=True),
    Check("the loss before the update, as a float", 1.0, _loss, dependent=True),
    Check("float64, batch and mode unchanged", 0.5, _side_effects, dependent=True),
    takes="other",
    gives="number",
)
