"""`FeedForward`: two layers under any names, the activation that is given, positions apart, dropout on the result.

The mistakes: activations fixed or in the wrong place, dropout elsewhere or in evaluation, layers too few or too many.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import close, same_gradients, same_tensor, shape_of, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import (
    device_is_kept,
    generator_unchanged,
    gradients_of,
    normal,
    outline,
    parameters_unchanged,
    sliced,
)
from autograder.spec.student import Student

from .common import LAYERS, OUTPUT, begin, fed, layer_names, layer_weights


def _ff(
    student: Student, C: int, F_: int, *args: Any, dtype: str = "", **kwargs: Any
) -> tuple[Any, dict[str, torch.Tensor], dict]:
    """A module, its new weights under the names of LAYERS, and the names they have there."""
    module = student.call("FeedForward", [C, F_, *args], kwargs, "while building it", keep=True)["value"]
    if dtype:
        student.move(module, dtype)
    try:
        names = layer_names(student.state(module, record=False)["parameters"], C, F_)
    except Wrong:
        outline(student, module, 0)
        raise
    state = layer_weights(C, F_, torch.float64 if dtype else torch.float32)
    student.load(module, {names[role]: value for role, value in state.items()})
    return module, state, names


_ACTIVATIONS = """
def tanh(x):
    return torch.tanh(x)

def square(x):
    return x * x

def gelu():
    return nn.GELU()
"""


def _ff_parameters(student: Student) -> None:
    for C, F_ in ((6, 9), (5, 2), (4, 16)):
        with student.case():
            module = student.build("FeedForward", C, F_)
            outline(student, module, 0)
            state = student.state(module, record=False)
            names = layer_names(state["parameters"], C, F_)
            frozen = sorted(set(names.values()) - set(state["trainable"]))
            if frozen:
                raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
            extra = sorted(map(str, set(state["parameters"]) - set(names.values())))
            if extra:
                raise Wrong(f"Two linear layers are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
            weights = [state["parameters"][names[role]] for role in ("up.weight", "down.weight")]
            if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
                raise Wrong("A layer starts with all its weights alike: every hidden feature would learn the same.")
    with student.case():
        named = student.build("FeedForward", embed_dim=3, ff_dim=4, dropout=0.1)
        layer_names(student.state(named, record=False)["parameters"], 3, 4)


def _ff_values(student: Student) -> None:
    for shape, F_ in (
        ((2, 5, 6), 9),
        ((3, 4), 7),
        ((5,), 2),
        ((2, 3, 4, 3), 8),
        ((1, 1, 4), 16),
        ((3, 3, 3), 1),
        ((2, 40, 2), 5),
        ((2, 1, 3, 2, 4), 6),
        ((1, 1024, 4), 16),
        ((16, 2, 520), 64),
    ):
        with student.case():
            module, state, _ = _ff(student, shape[-1], F_)
            x, where = normal(*shape), f"for x of shape {shape} and ff_dim = {F_}"
            same_tensor(student.value(module, x, where=where), fed(state, x), OUTPUT, where)


def _ff_activation(student: Student) -> None:
    tanh, square = (student.probe(name, _ACTIVATIONS) for name in ("tanh", "square"))
    gelu = student.call(student.probe("gelu", _ACTIVATIONS), [], keep=True)["value"]
    x = normal(2, 4, 6)
    for given, function, where in (
        (tanh, torch.tanh, "with activation=torch.tanh"),
        (square, torch.square, "with a function of its own as activation"),
        (gelu, F.gelu, "with activation=nn.GELU() (a module can be called, too)"),
        (None, F.relu, "with the default activation, after others"),
    ):
        with student.case():
            kwargs = {} if given is None else {"activation": given}
            module, state, _ = _ff(student, 6, 9, **kwargs)
            same_tensor(student.value(module, x, where=where), fed(state, x, function), OUTPUT, where)
    with student.case():
        module, state, _ = _ff(student, 6, 9, 0.0, tanh)
        where = "with the activation as the fourth argument"
        same_tensor(student.value(module, x, where=where), fed(state, x, torch.tanh), OUTPUT, where)


def _ff_positions(student: Student) -> None:
    """Changing one position moves no other output."""
    module, state, _ = _ff(student, 4, 7)
    x = normal(3, 6, 4)
    before = student.value(module, x)
    same_tensor(before, fed(state, x), OUTPUT)
    changed = x.clone()
    changed[1, 3] = normal(4)
    after = student.value(module, changed)
    others = torch.ones(3, 6, dtype=torch.bool)
    others[1, 3] = False
    if shape_of(after) != (3, 6, 4) or not close(after[others], before[others]):
        raise Wrong(
            "Changing one position moves outputs elsewhere: each position goes through the two layers on its own."
        )
    one = student.value(module, x[:, 2:3])
    same_tensor(one, fed(state, x)[:, 2:3], "The output of a single position")


def _ff_dropout(student: Student) -> None:
    """In training each number of the result is 0 with probability p and 1/(1 − p) times as large otherwise.

    Of 2400 numbers a share within p ± 0.1 is dropped: a right answer misses that with a probability below 1e-20, and
    loses a whole token of 40 numbers with one below 1e-9.
    """
    x = normal(3, 20, 40)
    for p in (0.5, 0.25):
        with student.case():
            module, state, _ = _ff(student, 40, 9, p)
            full, where = fed(state, x), f"in training with dropout = {p}"
            got = student.call(module, [x], training=True, where=where)["value"]
            if shape_of(got) != shape_of(full):
                same_tensor(got, full, OUTPUT, where)
            dropped = got == 0
            share = dropped.float().mean().item()
            if share < 0.005:
                raise Wrong(
                    f"No number of the result is dropped {where}: nn.Dropout(dropout) belongs after the second linear "
                    "layer."
                )
            if not close(got[~dropped], full[~dropped] / (1 - p)):
                raise Wrong(
                    f"{begin(where)}, each number of the result should be 0 or 1/(1 − p) times what it is without "
                    "dropout; yours are not: dropout comes last, after the second linear layer."
                )
            if abs(share - p) > 0.1:
                raise Wrong(
                    f"{begin(where)}, a share of {share:.2f} of the result is dropped: `dropout` is the probability of "
                    "dropping."
                )
            if dropped.all(dim=-1).any() or dropped.flatten(0, 1).all(dim=0).any():
                raise Wrong(
                    f"Whole tokens or whole columns are dropped {where}: each number is dropped on its own "
                    "(nn.Dropout)."
                )


def _ff_modes(student: Student) -> None:
    x = normal(2, 5, 6)
    cases: tuple[tuple[list[float], dict[str, Any], bool, str], ...] = (
        ([0.9], {}, False, "in evaluation mode with dropout = 0.9"),
        ([], {"dropout": 0.9}, False, "in evaluation mode with dropout=0.9 given by name"),
        ([0.0], {}, True, "in training mode with dropout = 0.0"),
        ([], {}, True, "in training mode with the default dropout of 0"),
        ([], {}, False, "in evaluation mode"),
    )
    for args, kwargs, training, where in cases:
        with student.case():
            module, state, _ = _ff(student, 6, 9, *args, **kwargs)
            answer = student.call(module, [x], where=where, training=training)
            same_tensor(answer["value"], fed(state, x), OUTPUT, where)
            if not training:
                generator_unchanged(answer)


def _ff_gradient(student: Student) -> None:
    for shape, F_, dtype in (((2, 5, 6), 9, torch.float32), ((3, 4), 7, torch.float64)):
        with student.case():
            C = shape[-1]
            module, state, names = _ff(student, C, F_, dtype="float64" if dtype == torch.float64 else "")
            x, where = normal(*shape, dtype=dtype), f"for x of shape {shape}"
            expected, upstream = gradients_of(
                lambda x, *leaves: fed(dict(zip(LAYERS, leaves, strict=True)), x), [x, *state.values()]
            )
            same_tensor(student.value(module, x, where=where), fed(state, x), OUTPUT, where)
            answer = student.call(module, [x], where=where, upstream=upstream)
            same_gradients(answer["gradients"].get("inputs", []), expected[:1], ["x"], where)
            mine = [answer["gradients"].get("parameters", {}).get(names[role]) for role in LAYERS]
            same_gradients(mine, expected[1:], [f"`{names[role]}`" for role in LAYERS], where)


def _ff_manners(student: Student) -> None:
    module, state, names = _ff(student, 6, 9)
    other, other_state, _ = _ff(student, 6, 9)
    x = normal(2, 5, 6)
    answer = student.call(module, [x])
    same_tensor(answer["value"], fed(state, x), OUTPUT)
    unchanged(answer["inputs"], [x], "x")
    same_tensor(student.value(other, x), fed(other_state, x), OUTPUT, "of a second module")
    parameters_unchanged(student, module, {names[role]: value for role, value in state.items()}, record=False)
    with student.case():
        wide, wide_state, _ = _ff(student, 5, 4, dtype="float64")
        x = normal(2, 3, 5, dtype=torch.float64)
        same_tensor(student.value(wide, x, where="in float64"), fed(wide_state, x), OUTPUT, "in float64")
    with student.case():
        turned, where = normal(3, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"
        same_tensor(student.value(module, turned, where=where), fed(state, turned), OUTPUT, where)
    with student.case():
        part, where = normal(2, 3, 6), "for a slice of a tensor"
        same_tensor(student.value(module, sliced(student, part), where=where), fed(state, part), OUTPUT, where)
    device_is_kept(student, module, [normal(2, 5, 6)])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("two linear layers, and nothing else", 0.75, _ff_parameters),
        Check("values with given weights, for many shapes", 1.0, _ff_values),
        Check("the activation that is given", 0.5, _ff_activation, further=True),
        Check("each position on its own", 0.25, _ff_positions),
        Check("dropout acts on the result, in training", 0.5, _ff_dropout),
        Check("no dropout in evaluation, nor with dropout = 0", 0.5, _ff_modes, further=True),
        Check("gradients reach x and every parameter", 0.5, _ff_gradient, further=True),
        Check("x unchanged, modules independent, float64, device", 0.5, _ff_manners, further=True),
    ],
    working=r"""
import torch.nn.functional as F
from torch import nn

class FeedForward(nn.Sequential):
    def __init__(self, embed_dim, ff_dim, dropout=0.0, activation=F.relu):
        middle = nn.Identity()
        middle.forward = lambda hidden: activation(hidden)
        super().__init__(nn.Linear(embed_dim, ff_dim), middle, nn.Linear(ff_dim, embed_dim), nn.Dropout(dropout))
""",
    takes="tensor",
    gives="tensor",
)
