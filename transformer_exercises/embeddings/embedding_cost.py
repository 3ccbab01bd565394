"""`embedding_cost`: the count and the mebibytes of five tables; the mistakes are units, bytes per number and types."""

from typing import Any

from autograder.spec.compare import a_pair, kind
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import an_int

TABLES = ((32100, 512), (32100, 128), (50257, 64), (1000, 300), (30522, 768))


def _cost(student: Student, V: int, C: int) -> tuple[tuple[Any, ...], str]:
    where = f"for vocab_size = {V} and embed_dim = {C}"
    return a_pair(student.value("embedding_cost", V, C, where=where), "(parameters, mebibytes)"), where


def _parameters(student: Student) -> None:
    for V, C in TABLES:
        with student.case():
            (parameters, _), where = _cost(student, V, C)
            if an_int(parameters, f"The number of parameters {where}") != V * C:
                raise ValuesDiffer(f"The number of parameters {where} is wrong: a table has V rows of C numbers.")
    with student.case():
        where = "with arguments given by name"
        got = student.call("embedding_cost", [], {"vocab_size": 30, "embed_dim": 2}, where=where)["value"]
        if a_pair(got, "(parameters, mebibytes)")[0] != 60:
            raise ValuesDiffer(f"The number of parameters {where} is wrong.")


def _mebibytes(student: Student) -> None:
    for V, C in TABLES:
        with student.case():
            (_, mebibytes), where = _cost(student, V, C)
            if type(mebibytes) is not float:
                raise Wrong(f"The mebibytes {where} should be a float; yours are {kind(mebibytes)}.")
            if not abs(mebibytes - V * C * 4 / 2**20) < 0.0051:  # rounded to two digits is as good
                raise ValuesDiffer(f"The mebibytes {where} are wrong: 4 bytes a float32, 2**20 bytes a mebibyte.")


EXERCISE = Exercise(
    Check("the number of parameters", 0.5, _parameters),
    Check("mebibytes in float32", 0.5, _mebibytes),
    working=r"""
def embedding_cost(vocab_size, embed_dim):
    weight = torch.nn.Embedding(vocab_size, embed_dim, device="meta").weight
    return weight.numel(), weight.numel() * weight.element_size() / 1024**2
""",
)
