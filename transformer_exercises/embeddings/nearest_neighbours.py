"""`nearest_neighbours`: order by cosine, every kind of `exclude`, queries to which nothing is similar, zero rows."""

from typing import Any

import torch

from autograder.spec.compare import a_tensor, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.student import Student

from ..asking import asks
from .common import stays_on_device, vectors

cosine_similarity = reference("cosine_similarity")
nearest_neighbours = reference("nearest_neighbours")


def _clear(V: int, C: int, gap: float = 2e-3) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a query and rows of very different lengths, whose cosines lie too far apart for rounding to matter."""
    while True:
        query, weight = vectors(C), vectors(V, C)
        cosines = cosine_similarity(query, weight).sort().values
        if V < 2 or cosines.diff().min() > gap:
            return query, weight


def _ask(student: Student, args: list[Any], where: str, **named: Any) -> None:
    """Compare the ids; a list of them, or another dtype, is marked elsewhere."""
    with student.case():
        got = student.call("nearest_neighbours", args, named, where=where)["value"]
        if isinstance(got, (list, tuple)) and all(type(i) is int for i in got):
            got = torch.tensor(got, dtype=torch.int64)
        if isinstance(got, torch.Tensor) and got.device.type == "cpu" and torch.equal(got, got.long()):
            got = got.long()
        same_tensor(got, nearest_neighbours(*args, **named), "The result", where)


def _values(student: Student) -> None:
    for V, C, k in ((5, 3, 2), (9, 4, 1), (12, 6, 12), (7, 2, 3), (4, 4, 2), (30, 8, 5), (1, 3, 1), (20, 5, 4)):
        _ask(student, [*_clear(V, C), k], f"for V = {V}, C = {C}, k = {k}")
    _, weight = _clear(8, 3)
    _ask(student, [3 * weight[5], weight, 4], "for a query that is a multiple of a row")


def _exclude(student: Student) -> None:
    query, weight = _clear(8, 3)
    best = nearest_neighbours(query, weight, 8).tolist()
    for exclude, k in (
        *(([best[0]], 3), ((best[0], best[1]), 3), ({best[1], best[3]}, 4), ((best[2],), 2), ([best[0], best[0]], 2)),
        *(([], 3), (set(), 2), ([best[7]], 7), ([0], 5), ((7, 0), 6), (best[:5], 3), (tuple(best[1:]), 1)),
    ):
        _ask(student, [query, weight, k], f"with exclude = {exclude} of 8 ids, k = {k}", exclude=exclude)
    _ask(student, [weight[2], weight, 3, (2,)], "with the query's own id excluded, given by position")


def _negative(student: Student) -> None:
    """Ask where all that is left is dissimilar, some exactly opposite: a stand-in such as 0 or -1 would come first."""
    query, weight = _clear(7, 4)
    weight = weight * -cosine_similarity(query, weight).sign()[:, None]
    weight[3] = 2 * query
    _ask(student, [query, weight, 3, [3]], "when all ids that are left have a negative cosine")
    with student.case():
        query = torch.tensor([0.0, 2.0])  # all cosines are exactly -1
        weight = -query * torch.tensor([0.5, 4.0, 1.0, 8.0, 2.0, 0.25])[:, None]
        where = "when all ids that are left are exactly opposite to the query"
        got = a_tensor(student.value("nearest_neighbours", query, weight, 4, [0, 1], where=where), "The result")
        if sorted(got.flatten().tolist()) != [2, 3, 4, 5]:
            raise Wrong(f"{where.capitalize()}, an excluded id comes back, or one is missing.")


def _zero_rows(student: Student) -> None:
    query, weight = _clear(9, 3)
    cosines = cosine_similarity(query, weight)
    weight[:4] *= cosines[:4].sign()[:, None]
    weight[4:] *= -cosines[4:].sign()[:, None]
    weight[6] = 0
    for k in (2, 4, 5, 9):
        _ask(student, [query, weight, k], f"with a row of zeros (whose cosine is 0), k = {k}")


def _manners(student: Student) -> None:
    query, weight = _clear(6, 4)

    turned = torch.stack([weight, weight.flip(0)], dim=-1)[..., 0]
    others = (
        ([query.double(), weight.double(), 3], "in float64"),
        ({"query": query, "weight": turned, "k": 3}, "with arguments given by name, of a slice"),
    )
    with student.case():
        answer = student.call("nearest_neighbours", [query, weight, 2, exclude := [5, 2]], after=True)
        same_tensor(answer["value"], nearest_neighbours(query, weight, 2, exclude), "The result")
        unchanged(answer["inputs"], [query, weight], "query, weight")
        if len(answer["after"]) == 4 and answer["after"][3] != exclude:
            raise Wrong("Your code changes the caller's list `exclude`: make one of your own.", "input_changed")
    asks("nearest_neighbours")(lambda: iter(others))(student)
    with student.case():
        where = "when weight is a parameter that is being trained"
        answer = student.call("nearest_neighbours", [query, weight, 3, (1,)], where=where, upstream=[None])
        same_tensor(answer["value"], nearest_neighbours(query, weight, 3, (1,)), "The result", where)
    with student.case():
        stays_on_device(student, "nearest_neighbours", [query, weight, 3])


EXERCISE = Exercise(
    Check("the k most similar rows by cosine, best first", 1.5, _values),
    Check("excluded ids are left out, as a list, tuple or set", 1.25, _exclude),
    Check("excluded ids stay out when all others are dissimilar", 0.35, _negative),
    Check("a row of zeros has cosine 0", 0.4, _zero_rows, further=True),
    Check("a LongTensor, inputs unchanged, float64, device", 0.5, _manners, further=True),
    working=r"""
def nearest_neighbours(query, weight, k, exclude=()):
    order = F.cosine_similarity(query, weight, dim=-1).sort(descending=True).indices
    banned = torch.tensor([int(i) for i in exclude], dtype=torch.int64, device=order.device)
    if order.is_meta and k == len(order):
        return order
    return order[~torch.isin(order, banned)][:k] if len(banned) else order[:k]
""",
)
