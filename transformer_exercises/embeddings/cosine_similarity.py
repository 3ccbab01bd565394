"""`cosine_similarity`: values, broadcasting, zero vectors and their gradients, tiny and huge lengths.

The mistakes: 0/0 forwards or backwards, an epsilon that shows, another dimension, shapes that do not broadcast.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from autograder.spec.compare import a_tensor, dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import all_gradients_agree, stays_on_device, vectors

cosine_similarity = reference("cosine_similarity")


def _with_zeros() -> list[tuple[torch.Tensor, torch.Tensor, str]]:
    a, b = vectors(5, 3), vectors(5, 3)
    a[1], b[3] = 0, 0
    a[4], b[4] = 0, 0
    zero, some = torch.zeros(4), vectors(4)
    return [
        (a, b, "with zero vectors in a, in b, and in both"),
        (zero, some, "for a zero vector a"),
        (some, zero, "for a zero vector b"),
        (zero, zero, "for two zero vectors"),
    ]


def _cosine_values(student: Student) -> None:
    for shape in ((7,), (5, 3), (2, 3, 4), (4, 4), (1, 6), (3, 1), (2, 1, 5, 2), (0, 3), (2, 40)):
        with student.case():
            a, b = vectors(*shape), vectors(*shape)
            where = f"for a and b of shape {tuple(shape)}"
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)
    a = torch.tensor([[3.0, 4.0], [1.0, 0.0], [2.0, -1.0], [0.5, 0.5]])
    b = torch.tensor([[30.0, 40.0], [0.0, 2.0], [-2.0, 1.0], [7.0, 0.0]])
    where = "for parallel, perpendicular, opposite vectors and such as are 45° apart"
    same_tensor(student.value("cosine_similarity", a, b, where=where), cosine_similarity(a, b), "The result", where)


def _cosine_broadcast(student: Student) -> None:
    for one, other in (
        *(((5,), (3, 5)), ((3, 5), (5,)), ((4, 1, 5), (3, 5)), ((3, 5), (4, 1, 5)), ((2, 1, 3), (2, 4, 3))),
        *(((3, 1, 4), (1, 2, 4)), ((6, 4), (1, 4)), ((4,), (4, 4))),
    ):
        with student.case():
            a, b = vectors(*one), vectors(*other)
            where = f"for a of shape {tuple(one)} and b of shape {tuple(other)}"
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)


def _cosine_zeros(student: Student) -> None:
    for a, b, where in _with_zeros():
        with student.case():
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)


def _cosine_zero_gradients(student: Student) -> None:
    for a, b, where in _with_zeros():
        with student.case():
            expected = cosine_similarity(a, b)
            answer = student.call("cosine_similarity", [a, b], where=where, upstream=[torch.ones_like(expected)])
            same_tensor(answer["value"], expected, "The result", where)
            for name, gradient in zip(("a", "b"), answer["gradients"].get("inputs", []), strict=False):
                if gradient is None:
                    raise Wrong(
                        f"No gradient reaches {name} {where}: the result is cut off from it.", "gradient_cut_off"
                    )
                if a_tensor(gradient, f"The gradient of {name}").isnan().any():
                    raise Wrong(
                        f"The gradient of {name} contains NaN {where}, although the values are right: backwards, 0 · "
                        "inf or 0/0 happens at a length of 0 (where a root of a sum of squares, or a division, was not "
                        "kept from 0)."
                    )


def _cosine_lengths(student: Student) -> None:
    """One vector may be tiny; two at once not: PyTorch's own formula once compared the product with 1e-8."""
    for one, other, digits in (
        (1e-6, 1, 0.02),
        (1, 1e-6, 0.02),
        (1e-3, 1e-3, 0.02),
        (1e6, 1e-6, 1e-4),
        (1e6, 1e6, 1e-4),
    ):
        with student.case():
            a, b = (F.normalize(normal(6, 5), dim=-1) * 2 * length for length in (one, other))
            where = f"for lengths of about {one:g} and {other:g}"
            got, expected = student.value("cosine_similarity", a, b, where=where), cosine_similarity(a, b)
            if a_tensor(got, "The result").shape == expected.shape and (got - expected).abs().max() < digits:
                continue
            same_tensor(got, expected, "The result", where)


def _cosine_gradient(student: Student) -> None:
    for one, other in (((5, 3), (5, 3)), ((4,), (2, 4)), ((3, 1, 2), (4, 2))):
        with student.case():
            where = f"for shapes {one} and {other}"
            args = [vectors(*one), vectors(*other)]
            all_gradients_agree(student, "cosine_similarity", cosine_similarity, args, ["a", "b"], where)


def _cosine_manners(student: Student) -> None:
    for dtype, one, other in (
        (torch.float32, (5, 3), (5, 3)),
        (torch.float64, (4, 3), (4, 3)),
        (torch.float64, (3,), (2, 3)),
    ):
        with student.case():
            # long vectors: 1e-8 added to the product of their lengths must not show in float64 either
            a, b = 100 * vectors(*one, dtype=dtype), 100 * vectors(*other, dtype=dtype)
            where = f"in {dtype_name(a)}"
            answer = student.call("cosine_similarity", [a, b], where=where)
            same_tensor(answer["value"], cosine_similarity(a, b), "The result", where)
            unchanged(answer["inputs"], [a, b], "a, b")
    a, b = vectors(3, 5).T, vectors(3, 2, 5).transpose(0, 2)  # (5, 3), (5, 2, 3)
    for left, right, where in (
        (a, b[:, 0], "for a transpose and a slice (not contiguous)"),
        (a[:, None], b, "for transposes (not contiguous) that broadcast"),
    ):
        with student.case():
            got = student.value("cosine_similarity", left, right, where=where)
            same_tensor(got, cosine_similarity(left, right), "The result", where)
    with student.case():
        where = "with arguments given by name"
        got = student.call("cosine_similarity", [], {"a": a, "b": a[1]}, where=where)["value"]
        same_tensor(got, cosine_similarity(a, a[1]), "The result", where)
    with student.case():
        stays_on_device(student, "cosine_similarity", [vectors(5, 3), vectors(5, 3)])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("dot products over lengths, along the last dimension", 1.25, _cosine_values),
        Check("broadcasts", 0.75, _cosine_broadcast, further=True),
        Check("zero vectors give 0", 0.6, _cosine_zeros, further=True),
        Check("no NaN in the gradients of zero vectors", 0.25, _cosine_zero_gradients, further=True),
        Check("short and long vectors", 0.25, _cosine_lengths, further=True),
        Check("gradients", 0.5, _cosine_gradient, further=True),
        Check("float64, inputs unchanged, device", 0.4, _cosine_manners, further=True),
    ],
    working=r"""
import torch.nn.functional as F

def cosine_similarity(a, b):
    return F.cosine_similarity(a, b, dim=-1)
""",
    takes="tensor",
    gives="tensor",
)
