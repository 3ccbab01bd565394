"""`attention_parameters`: the number for many widths; the mistakes are biases, forgotten projections, heads counted."""

from typing import Any

from autograder.spec.compare import same_count
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student


def _same(student: Student, expected: int, where: str, *args: Any, **by_name: Any) -> None:
    with student.case():
        same_count(student.value("attention_parameters", *args, where=where, **by_name), expected, where)


def _with(student: Student) -> None:
    for C in (1, 2, 3, 8, 10, 64, 512, 768):
        _same(student, 4 * C * C + 4 * C, f"for embed_dim = {C}, with biases", C)
    _same(student, 168, "with bias=True given by position", 6, True)


def _without(student: Student) -> None:
    for C in (1, 2, 3, 8, 10, 64, 512):
        _same(student, 4 * C * C, f"for embed_dim = {C}, with bias=False", C, bias=False)
    _same(student, 144, "with bias=False given by position", 6, False)
    _same(student, 100, "with arguments given by name", embed_dim=5, bias=False)


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("with biases", 1.2, _with),
        Check("without biases", 0.8, _without),
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
