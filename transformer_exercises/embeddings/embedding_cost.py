"""`embedding_cost`: the count and the mebibytes of five tables; the mistakes are units, bytes per number and types."""

from __future__ import annotations

from autograder.spec.compare import a_pair, kind
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import an_int

NAMED = "with arguments given by name"
TABLES = ((32100, 512), (32100, 128), (50257, 64), (1000, 300), (30522, 768))


def _cost(student: Student, V: int, C: int) -> tuple[tuple, str]:
    where = f"for vocab_size = {V} and embed_dim = {C}"
    return a_pair(student.value("embedding_cost", V, C, where=where), "(parameters, mebibytes)"), where


def _cost_parameters(student: Student) -> None:
    for V, C in TABLES:
        with student.case():
            (parameters, _), where = _cost(student, V, C)
            if an_int(parameters, f"The number of parameters {where}") != V * C:
                raise ValuesDiffer(
                    f"The number of parameters {where} is wrong: how many numbers are in a table of V rows of C?"
                )
    with student.case():
        got = student.call("embedding_cost", [], {"vocab_size": 30, "embed_dim": 2}, where=NAMED)["value"]
        if a_pair(got, "(parameters, mebibytes)")[0] != 60:
            raise ValuesDiffer(f"The number of parameters {NAMED} is wrong.")


def _cost_mebibytes(student: Student) -> None:
    for V, C in TABLES:
        with student.case():
            (_, mebibytes), where = _cost(student, V, C)
            if type(mebibytes) is not float:
                raise Wrong(f"The mebibytes {where} should be a float; yours are {kind(mebibytes)}.")
            if not abs(mebibytes - V * C * 4 / 2**20) < 0.0051:  # rounded to two digits is as good
                raise ValuesDiffer(
                    f"The mebibytes {where} are wrong: a float32 takes 4 bytes, a mebibyte is 2**20 bytes."
                )


EXERCISE = Exercise(
    points=1,
    checks=[
        Check("the number of parameters", 0.5, _cost_parameters),
        Check("mebibytes in float32", 0.5, _cost_mebibytes),
    ],
    working=r"""
import torch

def embedding_cost(vocab_size, embed_dim):
    weight = torch.nn.Embedding(vocab_size, embed_dim, device="meta").weight
    return weight.numel(), weight.numel() * weight.element_size() / 1024**2
""",
    takes="number",
    gives="tuple",
)
