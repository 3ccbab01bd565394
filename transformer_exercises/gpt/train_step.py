"""`train_step`: parameters after each step of a small model, against ours with the same optimiser."""

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.spec import (
    Check,
    Exercise,
    Reply,
    Student,
    a_number,
    call_probe,
    define_in_judge,
    differ,
    drawn,
    each,
    generator_unchanged,
    kind,
    normal,
    note_rounded,
    reference,
    refusing,
    same_tensor,
    unchanged,
)

train_step = reference("train_step")
refuse = refusing("train_step")

# A model small enough to follow: the logits are a row of a table plus a bias, so the loss is GPT's and the gradients
# are those of a softmax. It stands in for GPT in the student's process, and in the judge's. What `happened` says is
# noted in no attribute, which could be cleared.
_TOY = """
def make(table, bias, scale, name, options):
    backwards, modes, steps = [], [], []

    class Toy(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(table.clone())  # (V, V)
            self.bias = nn.Parameter(bias.clone())  # (V,)
            self.bias.register_hook(lambda grad: backwards.append(1))

        def forward(self, ids, targets=None):
            modes.append(self.training)
            logits = scale * (self.table[ids] + self.bias)  # (B, T, V)
            if targets is None:
                return logits, None
            return logits, nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    model = Toy()
    groups = options.pop("groups", False)
    parameters = [{"params": [p]} for p in model.parameters()] if groups else model.parameters()
    made = getattr(torch.optim, name)(parameters, **options)
    made.register_step_pre_hook(lambda *args: steps.append(1))

    def happened():
        there = [p.grad is not None and bool(p.grad.abs().max()) for p in model.parameters()]
        trained = bool(modes) and all(modes) and model.training
        return {"backwards": len(backwards), "steps": len(steps), "gradients": there, "training": trained}

    return model, made, happened

def stale(model, size):
    for p in model.parameters():
        p.grad = torch.full_like(p, size)

def numbers(model):
    return [p.detach().clone() for p in model.parameters()]
"""


@dataclass
class _Run:
    """Some training steps: in which case, what the toy is, what the optimiser is, and how it is asked."""

    where: str
    V: int = 5
    scale: float = 1.0
    optimiser: str = "SGD"
    options: dict[str, Any] = field(default_factory=lambda: {"lr": 0.1})
    max_norm: float | None = None
    steps: int = 1
    stale: float = 0.0
    dtype: torch.dtype = torch.float32
    shape: tuple[int, int] = (3, 4)


def _trained(student: Student, run: _Run, values: bool = True, notes: bool = False) -> list[tuple[Reply, float, Any]]:
    """Take the steps, and compare the parameters after each. Return each step's answer, loss and batch."""
    given = [normal(run.V, run.V, dtype=run.dtype), normal(run.V, dtype=run.dtype), run.scale, run.optimiser]
    toy_model, toy_optimiser, _ = define_in_judge(_TOY, "make")(*given, dict(run.options))
    model, optimiser, happened = student.build_parts(3, student.probe("make", _TOY), *given, run.options)
    if run.stale:
        call_probe(student, _TOY, "stale", model, run.stale)
    kwargs, taken = {} if run.max_norm is None else {"max_norm": run.max_norm}, []
    for step in range(run.steps):
        batch = [(normal(*run.shape).abs() * 2.3).long() % run.V for _ in range(2)]
        expected = train_step(toy_model, toy_optimiser, *batch, **kwargs)
        answer = student.call("train_step", [model, optimiser, *batch], kwargs, where=run.where)
        note_rounded(student, answer["value"])
        if notes:  # mostly for the record: it tells mistakes apart that leave the same numbers behind
            refuse(not student.value(happened)["training"], "eval_mode")
        if values:
            for got, own in zip(call_probe(student, _TOY, "numbers", model), toy_model.parameters(), strict=True):
                same_tensor(got, own.detach(), "A parameter", f"after step {step + 1} {run.where}")
        taken.append((answer, expected, batch))
    return taken


_update = each(
    _Run("with SGD"),
    _Run("with SGD and momentum", V=7, shape=(1, 6), options={"lr": 0.03, "momentum": 0.9}, steps=3),
    _Run("with AdamW", V=4, shape=(5, 1), optimiser="AdamW", options={"lr": 0.02}, steps=3),
)(_trained)
_clipped = each(
    _Run("when the gradients are large, with the default max_norm = 1", scale=40.0),
    _Run("when the gradients are large, with max_norm = 0.25", scale=9.0, max_norm=0.25, V=6),
    _Run("when the gradients are large, with max_norm = 3", scale=40.0, max_norm=3.0),
    _Run("when the gradients are far below max_norm (they stay as they are)", scale=0.02),
    _Run("when the gradients are large, but below max_norm", scale=40.0, max_norm=1e6),
    _Run("when the optimiser holds its parameters in two groups", scale=40.0, options={"lr": 0.1, "groups": True}),
    _Run("in three steps with large gradients", scale=12.0, steps=3, options={"lr": 0.5}),
)(_trained)
_stale = each(
    _Run("when gradients of an earlier backward() are still there", stale=0.3),
    _Run("when large gradients of an earlier backward() are still there", stale=50.0, scale=20.0, max_norm=1e6),
    _Run("when an earlier backward() left NaN behind", stale=math.nan),
    _Run("one after the other", steps=4, max_norm=1e6),
)(_trained)


@each(
    _Run("after one step", options={"lr": 5.0}),
    _Run("in one of two steps", scale=10.0, options={"lr": 1.0}, steps=2, shape=(2, 7)),
)
def _loss(student: Student, run: _Run) -> None:
    for answer, expected, _ in _trained(student, run, values=False):
        got = answer["value"]
        right = math.isclose(a_number(got, "The loss", run.where), expected, rel_tol=1e-4, abs_tol=1e-6)
        message = f"The number that is returned {run.where} is not the loss of this batch before the update (mean "
        differ(not right, f"{message}cross-entropy, as the model returns it).")
        message = f"A plain float is asked for; yours is {kind(got)}: `loss.item()`."
        refuse(type(got) is not float, "not_a_float", message)


@each((torch.float32, "in float32"), (torch.float64, "in float64"))
def _side_effects(student: Student, dtype: torch.dtype, where: str) -> None:
    scale = drawn(1.0, lambda _: 0.2)  # nothing to clip: whether 1e-6 is added to the norm shows in float64
    for answer, _, batch in _trained(student, _Run(where, scale=scale, dtype=dtype, steps=2, V=6), notes=True):
        unchanged(answer["inputs"], batch, "x, y")
        generator_unchanged(answer)


EXERCISE = Exercise(
    Check("the parameters after a step, as the optimiser makes it", 1.25, _update),
    Check("gradients clipped by their common norm", 1.0, _clipped),
    Check("gradients of earlier steps forgotten", 0.75, _stale),
    Check("the loss before the update, as a float", 0.75, _loss, dependent=True),
    Check("float64, batch unchanged", 0.25, _side_effects, dependent=True),
    takes="other",
    gives="number",
    harmless=("other_signature",),
)
