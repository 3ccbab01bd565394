"""`block_parameters`: the number for many sizes; the mistakes forget biases, norms, projections or a width."""

from autograder.spec.compare import same_count
from autograder.spec.exercise import Check, Exercise
from autograder.spec.student import Student


def _number(C: int, F_: int) -> int:
    return 4 * C * C + 2 * C * F_ + 9 * C + F_


def _count(student: Student) -> None:
    for C, F_ in ((2, 3), (1, 1), (3, 5), (4, 16), (5, 2), (8, 8), (64, 256), (128, 512), (768, 3072)):
        with student.case():
            where = f"for embed_dim = {C} and ff_dim = {F_}"
            same_count(student.value("block_parameters", C, F_, where=where), _number(C, F_), where)


def _by_name(student: Student) -> None:
    for C, F_ in ((3, 7), (6, 2)):
        with student.case():
            where = f"with embed_dim={C} and ff_dim={F_} given by name"
            got = student.value("block_parameters", ff_dim=F_, embed_dim=C, where=where)
            same_count(got, _number(C, F_), where)


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the number, for many sizes", 1.75, _count),
        Check("arguments by name", 0.25, _by_name, further=True),
    ],
    working=r"""
from torch import nn

def block_parameters(embed_dim, ff_dim):
    layer = nn.TransformerEncoderLayer(embed_dim, 1, ff_dim, device="meta")
    return sum(p.numel() for p in layer.parameters())
""",
    takes="number",
    gives="number",
)
