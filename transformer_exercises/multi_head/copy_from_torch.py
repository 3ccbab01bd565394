"""`copy_from_torch`: every weight in its place, the same output, copied and not shared, still trainable.

The mistakes: the stack taken apart in another way, transposed, names rebound, parameters frozen or replaced.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from autograder.spec.compare import a_tensor, close, same_tensor
from autograder.spec.exercise import Check, Exercise, Problem, ValuesDiffer, Wrong
from autograder.spec.inputs import future, normal
from autograder.spec.student import Student

from .common import build_loaded, stacked, torchs, weights_for

_THEIRS = """
def theirs(embed_dim, num_heads, batch_first):
    return nn.MultiheadAttention(embed_dim, num_heads, batch_first=batch_first)
"""

MODULES = ((6, 2, True), (4, 4, True), (5, 1, False), (12, 3, True))  # (C, H, batch_first)


def _pair(
    student: Student, C: int, H: int, batch_first: bool, dtype: str = ""
) -> tuple[Any, Any, dict[str, torch.Tensor]]:
    """mine and theirs, with different weights, and the weights of theirs under the names of mine."""
    mine = build_loaded(student, C, H, dtype)[0]
    theirs = student.call(student.probe("theirs", _THEIRS), [C, H, batch_first], keep=True)["value"]
    if dtype:
        student.move(theirs, dtype)
    state = weights_for(C, torch.float64 if dtype else torch.float32)
    student.load(theirs, stacked(state))
    return mine, theirs, state


def _copied(student: Student, mine: Any, state: dict[str, torch.Tensor], where: str) -> None:
    parameters = student.state(mine)["parameters"]
    for name, value in state.items():
        got = parameters.get(name)
        if not isinstance(got, torch.Tensor):
            raise Wrong(f"mine has lost its parameter `{name}` {where}: copy values into the layers that are there.")
        same_tensor(got, value, f"`{name}` of mine", where)


def _copy(student: Student, mine: Any, theirs: Any, where: str = "") -> None:
    """Copy. What was copied before an error, and what is copied where nothing needs gradients, tell mistakes apart."""
    try:
        student.value("copy_from_torch", mine, theirs, where=where)
    except Problem:
        student.state(mine)
        for module in (mine, theirs):
            student.call((module, "requires_grad_"), [False])
        with contextlib.suppress(Problem):
            student.value("copy_from_torch", mine, theirs)
        student.state(mine)
        raise


def _unmoved(student: Student, module: Any, state: dict[str, torch.Tensor], sentence: str) -> None:
    parameters = student.state(module)["parameters"]
    for name, value in state.items():
        got = parameters.get(name)
        if not isinstance(got, torch.Tensor) or got.shape != value.shape or not torch.equal(got, value):
            raise ValuesDiffer(sentence)


def _copy_values(student: Student) -> None:
    for C, H, batch_first in MODULES:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            where = f"for embed_dim = {C}, num_heads = {H}"
            _copy(student, mine, theirs, where)
            student.state(theirs)  # what has become of theirs tells mistakes apart
            _copied(student, mine, state, where)


def _copy_output(student: Student) -> None:
    for C, H, batch_first in MODULES:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            _copy(student, mine, theirs)
            x, context, where = normal(2, 5, C), normal(2, 5, C), f"for embed_dim = {C}, num_heads = {H}"
            for given, tokens in ((None, x), (context, context)):
                expected = torchs(state, H)(x, tokens, tokens, attn_mask=future(5), need_weights=False)[0].detach()
                got = a_tensor(student.value(mine, x, future(5), given, where=where), "The output of mine")
                if got.shape != expected.shape or not close(got, expected):
                    raise ValuesDiffer(f"mine does not give the output of theirs {where}.")


def _copy_independent(student: Student) -> None:
    """Values are copied, not shared: a step of training in one is not felt by the other."""
    for C, H, batch_first in MODULES[:3]:
        with student.case():
            mine, theirs, state = _pair(student, C, H, batch_first)
            _copy(student, mine, theirs)
            _copied(student, mine, state, "")
            _unmoved(student, theirs, stacked(state), "theirs is changed by the copying: only mine should be.")
            student.load(mine, weights_for(C))
            shared = (
                "mine and theirs share their numbers: training mine changes theirs too. Copy values (`copy_`, or "
                "`clone` first)."
            )
            _unmoved(student, theirs, stacked(state), shared)
            _copy(student, mine, theirs)
            student.load(theirs, stacked(weights_for(C)))
            _unmoved(student, mine, state, shared)


def _copy_trainable(student: Student) -> None:
    mine, theirs, state = _pair(student, 6, 2, True)
    _copy(student, mine, theirs)
    _copied(student, mine, state, "")
    for module, who, names in ((mine, "mine", state), (theirs, "theirs", stacked(state))):
        after = student.state(module)
        frozen = sorted(set(names) - set(after["trainable"]))
        if frozen:
            raise Wrong(
                f"`{frozen[0]}` of {who} can no longer be trained: it should stay a parameter that requires gradients."
            )
        extra = sorted(set(after["parameters"]) - set(names))
        if extra:
            raise Wrong(f"{who} has a parameter more than before: {str(extra[0])[:60]}.")
    x, upstream = normal(2, 4, 6), normal(2, 4, 6)
    grads = student.call(mine, [x], upstream=[upstream])["gradients"].get("parameters", {})
    if any(not isinstance(grads.get(name), torch.Tensor) for name in state):
        raise Wrong("After the copying, gradients no longer reach every parameter of mine.")


def _copy_manners(student: Student) -> None:
    mine, theirs, state = _pair(student, 6, 3, True, "float64")
    _copy(student, mine, theirs)
    _copied(student, mine, state, "in float64")
    with student.case():
        mine, theirs, state = _pair(student, 4, 2, True)
        student.value("copy_from_torch", mine=mine, theirs=theirs)
        _copied(student, mine, state, "with the arguments given by name")
    with student.case():
        _copy(student, mine, theirs)
        _copied(student, mine, state, "when copied a second time")


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("every weight and bias in its place", 1.5, _copy_values),
        Check("the same output afterwards", 1.0, _copy_output, further=True),
        Check("copied, not shared; theirs unchanged", 0.75, _copy_independent, further=True),
        Check("mine can still be trained", 0.5, _copy_trainable, further=True),
        Check("float64, arguments by name", 0.25, _copy_manners, further=True),
    ],
    working=r"""
import torch

def copy_from_torch(mine, theirs):
    state = {f"out_proj.{part}": value for part, value in theirs.out_proj.state_dict().items()}
    for part in ("weight", "bias"):
        stacked = theirs.state_dict()[f"in_proj_{part}"]
        state |= {f"{n}_proj.{part}": t for n, t in zip("qkv", stacked.tensor_split(3))}
    mine.load_state_dict(state)
""",
)
