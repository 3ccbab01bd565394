"""`simple_attention`: values alone and in batches, large x, gradients.

The mistakes: softmax over queries or not at all, batches mixed, features that attend, scores scaled or masked.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_agree, normal
from autograder.spec.student import Student

simple_attention = reference("simple_attention")


def _simple_values(student: Student) -> None:
    for shape in (
        (4, 6),
        (6, 3),
        (2, 5, 3),
        (3, 3),
        (1, 4),
        (2, 3, 4, 5),
        (1, 1),
        (3, 33, 4),
        (150, 2),
        (2, 1, 3, 4, 2),
        (5, 5, 5),
    ):
        with student.case():
            x, where = normal(*shape), f"for x of shape {shape}"
            same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)
    for rows, where in (
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "for whole numbers, 0 among them"),
        (
            [[0.5, -1.0, 2.0], [0.0, 0.0, 0.0], [0.5, -1.0, 2.0], [0.5, 0.5, 0.5]],
            "where tokens are equal, or all zeros",
        ),
    ):
        with student.case():
            x = torch.tensor(rows)
            same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)


def _simple_large(student: Student) -> None:
    x = normal(2, 4, 5)  # a value first: where the softmax saturates, scores of any scale give the same
    same_tensor(student.value("simple_attention", x), simple_attention(x), "The result")
    x = normal(2, 4, 5, scale=60.0)
    where = "for large x (scores beyond 1e4)"
    same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)


def _simple_gradient(student: Student) -> None:
    for shape, dtype in (((4, 3), torch.float32), ((2, 3, 5), torch.float64)):
        with student.case():
            gradients_agree(
                student, "simple_attention", simple_attention, [normal(*shape, dtype=dtype, scale=0.7)], ["`x`"]
            )


def _simple_manners(student: Student) -> None:
    x = normal(2, 4, 3, dtype=torch.float64)
    answer = student.call("simple_attention", [x], where="for float64 x")
    same_tensor(answer["value"], simple_attention(x), "The result", "for float64 x")
    unchanged(answer["inputs"], [x], "`x`")
    generator_unchanged(answer)
    where = "when called a second time"
    same_tensor(student.value("simple_attention", x, where=where), simple_attention(x), "The result", where)
    for turned in (normal(3, 5).T, normal(2, 4, 3, 5).transpose(1, 2)):
        where = "for a tensor that is not contiguous (a transpose)"
        same_tensor(
            student.value("simple_attention", turned, where=where), simple_attention(turned), "The result", where
        )
    where = "with x given by name"
    same_tensor(
        student.call("simple_attention", [], {"x": x}, where=where)["value"], simple_attention(x), "The result", where
    )
    device_is_kept(student, "simple_attention", [normal(2, 4, 3)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("values, alone and in batches", 1.5, _simple_values),
        Check("stable for large x", 0.5, _simple_large, further=True),
        Check("gradients", 0.5, _simple_gradient, further=True),
        Check("float64, inputs unchanged, any layout and device", 0.5, _simple_manners, further=True),
    ],
    working=r"""
import torch.nn.functional as F

def simple_attention(x):
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)
""",
    takes="tensor",
    gives="tensor",
)
