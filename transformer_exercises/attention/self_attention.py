"""`SelfAttention`: its parameters, values with given weights, masks, gradients, how fresh layers start."""

from itertools import starmap

import torch
import torch.nn.functional as F

from autograder.spec import (
    Check,
    Exercise,
    KnownModule,
    Student,
    Weights,
    device_is_kept,
    has_layers,
    normal,
    other_sizes,
    reference,
    starts_as_linear,
    unchanged,
)

from ..attention_layers import Maybe, blocked_is_zero, built_by_name, same_pair, striped_mask, weights_for

scaled_dot_product_attention = reference("scaled_dot_product_attention")

NAME, PROJECTIONS = "SelfAttention", ("q_proj", "k_proj", "v_proj")


def _expected(weights: Weights, x: torch.Tensor, mask: Maybe = None) -> tuple:
    Q, K, V = (F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in PROJECTIONS)
    return scaled_dot_product_attention(Q, K, V, mask)


def _loaded(student: Student, embed_dim: int, head_dim: int, dtype: torch.dtype = torch.float32) -> KnownModule:
    weights = weights_for(PROJECTIONS, head_dim, embed_dim, 0.8, dtype)
    return KnownModule(student, (NAME, [embed_dim, head_dim], {}), weights, _expected, dtype=dtype, same=same_pair)


def _parameters(student: Student) -> None:
    for C, width in starmap(other_sizes, ((6, 4), (3, 8))):
        with student.case():
            has_layers(student, NAME, (C, width), PROJECTIONS, (width, C), "nn.Linear(embed_dim, head_dim)")


def _values(student: Student) -> None:
    for B, T, C, width in (
        *((2, 5, 6, 4), (1, 3, 2, 7), (3, 1, 4, 3), (1, 1, 3, 2), (2, 4, 4, 4)),
        *((3, 3, 5, 2), (2, 12, 3, 5), (1, 40, 4, 3), (9, 2, 8, 2), (1, 520, 2, 3)),
    ):
        with student.case():
            where = f"for B = {B}, T = {T}, embed_dim = {C}, head_dim = {width}"
            _loaded(student, C, width).gives(normal(B, T, C), where=where)


def _mask(student: Student) -> None:
    layer, x, mask = _loaded(student, 6, 5), normal(2, 4, 6), striped_mask(4, 4)
    own = torch.stack([mask, mask.roll(1, 0)])
    for given, training, where in (
        (mask, True, "with a mask of shape (T, T)"),
        (own, True, "with a mask of shape (B, T, T)"),
        (own[:, :1], True, "with a mask of shape (B, 1, T)"),
        (own[0, 0], True, "with a mask of shape (T,), about keys"),
        (mask, False, "with a mask, in evaluation mode"),
        (None, True, "without a mask, after calls with one"),
    ):
        with student.case():
            layer.gives(x, given, where=where, training=training)
    with student.case():
        open_, where = torch.zeros(1, 1, dtype=torch.bool), "with the mask given by position, for a single token"
        layer.gives(normal(2, 1, 6), open_, where=where, positional=2)


def _forbidden(student: Student) -> None:
    """Ask that a blocked token gets exactly 0, also where allowed scores are hugely negative or it scores highest."""
    mask = torch.arange(5).expand(5, 5) == 2
    for sign, wide, far, where in (
        (1.0, 1.0, 1.0, "for the blocked token"),
        (1.0, 1.0, 1e6, "for a blocked token that would have scored far above the others"),
        (-1.0, 1e6, 1.0, "where all allowed scores are far below zero (a finite fill such as −1e9 is the largest)"),
    ):
        with student.case():
            layer = _loaded(student, 3, 4)
            weights = {name: (sign if name[0] == "k" else 1.0) * t.abs() for name, t in layer.weights.items()}
            layer.load(weights)
            x = wide * normal(2, 5, 3).abs()
            x[:, 2] *= far
            got = student.call(layer.module, [x], {"mask": mask}, where=where)["value"]
            blocked_is_zero(got, mask, where)
            same_pair(got, _expected(weights, x, mask), "", where)


def _gradient(student: Student) -> None:
    for mask, where in ((None, ""), (striped_mask(5, 5), "with a mask")):
        with student.case():
            _loaded(student, 6, 4).has_gradients(normal(2, 5, 6), mask, where=where, values_first=True)


def _side_effects(student: Student) -> None:
    layer, other, x = _loaded(student, 7, 4), _loaded(student, 7, 4), normal(2, 5, 7)
    where = "when two modules exist (each needs layers of its own)"
    unchanged(layer.gives(x, where=where)["inputs"], [x], "x")
    other.gives(x, where=where)
    layer.is_kept()
    for training, where in ((True, "in training mode"), (False, "in evaluation mode")):
        with student.case():
            layer.gives(x, where=where, training=training)
    with student.case():
        where = "for x that is not contiguous (a transpose), with arguments given by name"
        layer.gives(normal(2, 7, 5).mT, striped_mask(5, 5), where=where, positional=0)
    _loaded(student, 5, 4, torch.float64).gives(normal(2, 4, 5, dtype=torch.float64), where="in float64")
    built_by_name(student, NAME, {"embed_dim": 3, "head_dim": 2}, (2, 3))


def _device(student: Student) -> None:
    layer, x = _loaded(student, 6, 4), normal(2, 5, 6)
    layer.gives(x)
    for args in ([x], [x, striped_mask(5, 5)]):
        device_is_kept(student, layer.module, args)


def _start(student: Student) -> None:
    starts_as_linear(student, NAME, (64, 32), PROJECTIONS)


EXERCISE = Exercise(
    Check("q_proj, k_proj and v_proj, and nothing else", 1.5, _parameters),
    Check("values with given weights, for many combinations of sizes", 2.5, _values),
    Check("masks of every shape, in training and evaluation", 1.0, _mask, dependent=True),
    Check("a blocked token gets exactly 0", 0.5, _forbidden, dependent=True),
    Check("gradients reach the input and every parameter", 1.0, _gradient, dependent=True),
    Check("inputs unchanged, modules independent, float64", 0.75, _side_effects, dependent=True),
    Check("stays on the inputs' device", 0.5, _device, dependent=True),
    Check("fresh layers differ from each other", 0.25, _start),
    takes="tensor",
    gives="pair",
    harmless=("other_signature", "global_generator"),
)
