"""`attention_parameters`: the number for many widths; the mistakes are biases, forgotten projections, heads counted."""

from __future__ import annotations

from autograder.spec.compare import same_count
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student


def _count_with(student: Student) -> None:
    for C in (1, 2, 3, 8, 10, 64, 512, 768):
        with student.case():
            where = f"for embed_dim = {C}, with biases"
            same_count(student.value("attention_parameters", C, where=where), 4 * C * C + 4 * C, where)
    with student.case():
        same_count(student.value("attention_parameters", 6, True), 168, "with bias=True given by position")


def _count_without(student: Student) -> None:
    for C in (1, 2, 3, 8, 10, 64, 512):
        with student.case():
            where = f"for embed_dim = {C}, with bias=False"
            same_count(student.value("attention_parameters", C, bias=False, where=where), 4 * C * C, where)
    with student.case():
        same_count(student.value("attention_parameters", 6, False), 144, "with bias=False given by position")
    with student.case():
        same_count(student.value("attention_parameters", embed_dim=5, bias=False), 100, "with arguments given by name")


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("with biases", 1.2, _count_with),
        Check("without biases", 0.8, _count_without),
    ],
    working=r"""
from torch import nn

def attention_parameters(embed_dim, bias=True):
    module = nn.MultiheadAttention(embed_dim, 1, bias=bias, device="meta")
    return sum(p.numel() for p in module.parameters())
""",
    takes="number",
    gives="number",
)
