"""`split_heads`: numbers that tell where they came from, widths that do not divide; the mistakes mix dimensions up."""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, gradients_agree, normal, raises_error, sliced
from autograder.spec.student import Student

from .common import HEADS, counting, heads_sizes, split


def _split_values(student: Student) -> None:
    for B, T, H, d_k in HEADS:
        with student.case():
            x, where = counting(B, T, H * d_k), heads_sizes(B, T, H, d_k)
            same_tensor(student.value("split_heads", x, H, where=where), split(x, H), "The result", where)


def _split_refused(student: Student) -> None:
    same_tensor(student.value("split_heads", counting(2, 3, 8), 4), split(counting(2, 3, 8), 4), "The result")
    for C, H in ((8, 3), (6, 4), (5, 2), (9, 6), (4, 8)):
        with student.case(), raises_error(f"A width of {C} with {H} heads"):
            student.value("split_heads", normal(2, 3, C), H)


def _split_gradient(student: Student) -> None:
    for B, T, H, d_k, dtype in ((2, 5, 3, 4, torch.float32), (3, 2, 2, 3, torch.float64)):
        with student.case():
            where = heads_sizes(B, T, H, d_k)
            x = normal(B, T, H * d_k, dtype=dtype)
            same_tensor(student.value("split_heads", x, H, where=where), split(x, H), "The result", where)
            gradients_agree(student, "split_heads", split, [x], ["x"], (H,), where)


def _split_manners(student: Student) -> None:
    x = normal(2, 3, 8)
    answer = student.call("split_heads", [x, 4])
    same_tensor(answer["value"], split(x, 4), "The result")
    unchanged(answer["inputs"], [x], "x")
    for given, where in (
        (normal(2, 3, 6, dtype=torch.float64), "in float64"),
        (normal(3, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"),
        (normal(2, 6, 3).mT, "for a transposed tensor"),
    ):
        with student.case():
            same_tensor(student.value("split_heads", given, 2, where=where), split(given, 2), "The result", where)
    with student.case():
        where = "for a slice of a tensor"
        same_tensor(student.value("split_heads", sliced(student, x), 2, where=where), split(x, 2), "The result", where)
    with student.case():
        got = student.value("split_heads", x=x, num_heads=2)
        same_tensor(got, split(x, 2), "The result", "with the arguments given by name")
    device_is_kept(student, "split_heads", [x, 4])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("head h holds its columns of every token", 1.75, _split_values),
        Check("a width that cannot be divided is a ValueError", 0.5, _split_refused),
        Check("gradients", 0.25, _split_gradient, further=True),
        Check("input unchanged, float64, any layout, device", 0.5, _split_manners, further=True),
    ],
    working=r"""
import torch

def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("num_heads must divide the width of x")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
""",
    takes="tensor",
    gives="tensor",
)
