"""`copy_from_torch`: every weight in its place, the same output, copied and not shared, still trainable."""

import contextlib
from typing import Any

import torch

from autograder.spec import (
    Check,
    Exercise,
    Problem,
    Student,
    ValuesDiffer,
    Weights,
    Wrong,
    a_tensor,
    close,
    future,
    normal,
    same_tensor,
)

from .known_weights import loaded, stacked, weights_for

THEIRS = "def theirs(C, H, batch_first):\n    return nn.MultiheadAttention(C, H, batch_first=batch_first)\n"
MODULES = ((6, 2, True), (4, 4, True), (5, 1, False), (12, 3, True))  # (C, H, batch_first)
SHARED = "mine and theirs share their numbers: training one changes the other. Copy values (`copy_`, or `clone` first)."


class _Pair:
    """mine and theirs, with different weights; `state` holds those of theirs under the names of mine."""

    def __init__(
        self, student: Student, C: int, H: int, batch_first: bool = True, dtype: torch.dtype = torch.float32
    ) -> None:
        self.student, self.layer, self.state = student, loaded(student, C, H, dtype), weights_for(C, dtype)
        self.mine = self.layer.module
        self.theirs = student.call(student.probe("theirs", THEIRS), [C, H, batch_first], keep=True)["value"]
        if dtype == torch.float64:
            student.move(self.theirs, "float64")
        student.load(self.theirs, stacked(self.state))

    def copy(self, where: str = "", **by_name: Any) -> None:
        """Copy. What an error leaves, and what is copied where nothing needs gradients, tell mistakes apart."""
        student, both = self.student, (self.mine, self.theirs)
        try:
            student.value("copy_from_torch", *(() if by_name else both), where=where, **by_name)
        except Problem:
            student.state(self.mine)
            for module in both:
                student.call((module, "requires_grad_"), [False])
            with contextlib.suppress(Problem):
                student.value("copy_from_torch", *both)
            student.state(self.mine)
            raise

    def same(self, where: str = "") -> None:
        parameters = self.student.state(self.mine)["parameters"]
        for name, value in self.state.items():
            if not isinstance(got := parameters.get(name), torch.Tensor):
                raise Wrong(f"mine has lost its parameter `{name}` {where}: copy values into the layers that it has.")
            same_tensor(got, value, f"`{name}` of mine", where)

    def unmoved(self, module: Any, state: Weights, sentence: str) -> None:
        after = self.student.state(module)["parameters"]
        if not all(
            isinstance(after.get(name), torch.Tensor) and torch.equal(after[name], state[name]) for name in state
        ):
            raise ValuesDiffer(sentence)


def _values(student: Student) -> None:
    for C, H, batch_first in MODULES:
        with student.case():
            pair, where = _Pair(student, C, H, batch_first), f"for embed_dim = {C}, num_heads = {H}"
            pair.copy(where)
            student.state(pair.theirs)  # what has become of theirs tells mistakes apart
            pair.same(where)


def _output(student: Student) -> None:
    for C, H, batch_first in MODULES:
        with student.case():
            pair = _Pair(student, C, H, batch_first)
            pair.copy()
            x, context, where = normal(2, 5, C), normal(2, 5, C), f"for embed_dim = {C}, num_heads = {H}"
            for given in (None, context):
                expected = pair.layer.formula(pair.state, x, future(5), given)
                got = a_tensor(student.value(pair.mine, x, future(5), given, where=where), "The output of mine")
                if got.shape != expected.shape or not close(got, expected):
                    raise ValuesDiffer(f"mine does not give the output of theirs {where}.")


def _independent(student: Student) -> None:
    """Values are copied, not shared: a step of training in one is not felt by the other."""
    for C, H, batch_first in MODULES[:3]:
        with student.case():
            pair = _Pair(student, C, H, batch_first)
            pair.copy()
            pair.unmoved(pair.theirs, stacked(pair.state), "theirs is changed by the copying: only mine should be.")
            student.load(pair.mine, weights_for(C))
            pair.unmoved(pair.theirs, stacked(pair.state), SHARED)
            pair.copy()
            pair.same()
            student.load(pair.theirs, stacked(weights_for(C)))
            pair.unmoved(pair.mine, pair.state, SHARED)


def _trainable(student: Student) -> None:
    pair = _Pair(student, 6, 2)
    pair.copy()
    pair.same()
    for module, who, names in ((pair.mine, "mine", pair.state), (pair.theirs, "theirs", stacked(pair.state))):
        after = student.state(module)
        if frozen := sorted(set(names) - set(after["trainable"])):
            raise Wrong(f"`{frozen[0]}` of {who} can no longer be trained: it should stay a trainable parameter.")
        if extra := sorted(set(after["parameters"]) - set(names)):
            raise Wrong(f"{who} has a parameter more than before: {str(extra[0])[:60]}.")
    grads = student.call(pair.mine, [normal(2, 4, 6)], upstream=[normal(2, 4, 6)])["gradients"].get("parameters", {})
    if any(not isinstance(grads.get(name), torch.Tensor) for name in pair.state):
        raise Wrong("After the copying, gradients no longer reach every parameter of mine.")


def _side_effects(student: Student) -> None:
    pair = _Pair(student, 6, 3, dtype=torch.float64)
    pair.copy()
    pair.same("in float64")
    pair = _Pair(student, 4, 2)
    named = {"mine": pair.mine, "theirs": pair.theirs}
    for where, by_name in (("with the arguments given by name", named), ("when copied a second time", {})):
        with student.case():
            pair.copy(where, **by_name)
            pair.same(where)


EXERCISE = Exercise(
    Check("every weight and bias in its place", 1.5, _values),
    Check("the same output afterwards", 1.0, _output, dependent=True),
    Check("copied, not shared; theirs unchanged", 0.75, _independent, dependent=True),
    Check("mine can still be trained", 0.5, _trainable, dependent=True),
    Check("float64, arguments by name", 0.25, _side_effects, dependent=True),
    takes="other",
    gives="other",
    harmless=("global_generator",),
)
