"""`analogy`: tables with one clear answer, in which a, b or c would win or rows differ in length."""

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import dtype_name, kind, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Answer, Student

from .common import an_int, vectors

analogy = reference("analogy")
cosine_similarity = reference("cosine_similarity")


def _case(V: int, C: int, equal: bool = True, nearest: str = "") -> tuple[int, int, int, torch.Tensor]:
    """Three ids and a table in which the answer is clear: none of the three is nearer but one named as `nearest`.

    With `equal`, their rows have one length, so that normalising them first changes nothing; otherwise it does.
    """
    while True:
        weight = vectors(V, C)
        a, b, c = torch.argsort(normal(V))[:3].tolist()
        if equal:
            weight[[a, b, c]] = 1.7 * F.normalize(weight[[a, b, c]], dim=-1)
        best, unit = _ranked(a, b, c, weight), _ranked(a, b, c, F.normalize(weight, dim=-1))
        clear = len(best) < 2 or best[0][0] - best[1][0] > 5e-3
        top = cosine_similarity(weight[b] - weight[a] + weight[c], weight).argmax().item()
        if clear and (best[0][1] == unit[0][1]) is equal and top == {"a": a, "b": b, "c": c}.get(nearest, best[0][1]):
            return a, b, c, weight


def _ranked(a: int, b: int, c: int, weight: torch.Tensor) -> list[tuple[float, int]]:
    cosines = cosine_similarity(weight[b] - weight[a] + weight[c], weight)
    return sorted(((cosines[i].item(), i) for i in range(len(weight)) if i not in (a, b, c)), reverse=True)


def _an_id(got: Any, where: str) -> int:
    """Return the id, also when it comes as a tensor, list or float: that is marked elsewhere."""
    if isinstance(got, (list, tuple)) and len(got) == 1:
        got = got[0]
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if type(got) is float and got.is_integer():
        got = int(got)
    return an_int(got, f"The result {where}")


def _asked(student: Student, a: int, b: int, c: int, weight: torch.Tensor, where: str, **how: Any) -> Answer:
    given = {"a": a, "b": b, "c": c, "weight": weight}
    by_place, by_name = ([], given) if how.pop("named", False) else ([*given.values()], {})
    answer = student.call("analogy", by_place, by_name, where=where, **how)
    got = _an_id(answer["value"], where)
    if got in (a, b, c):
        raise ValuesDiffer(f"The id of a, b or c itself is returned {where}: these three are never the answer.")
    if got != analogy(a, b, c, weight):
        rows = "made of the rows as they are, not normalised first"
        raise ValuesDiffer(f"The id {where} is not the one whose row is nearest, by cosine, to b − a + c, {rows}.")
    return answer


def _values(student: Student) -> None:
    for V, C in ((12, 4), (9, 5), (20, 3), (15, 8), (5, 5), (30, 6), (10, 2), (4, 3)):
        with student.case():
            a, b, c, weight = _case(V, C)
            _asked(student, a, b, c, weight, f"for a = {a}, b = {b}, c = {c}, V = {V}, C = {C}")


def _never(student: Student) -> None:
    """Tables in which a, b or c would be nearest; and the same id twice."""
    for nearest in ("a", "b", "c"):
        with student.case():
            _asked(student, *_case(8, 3, nearest=nearest), f"where {nearest} itself would be nearest")
    with student.case():
        a, b, c, weight = _case(8, 4)
        cosines = cosine_similarity(weight[b] - weight[a] + weight[c], weight)
        others = [i for i in range(8) if i not in (a, b, c)]
        weight[others] *= -cosines[others].sign()[:, None]
        _asked(student, a, b, c, weight, "where all the other rows are dissimilar to b − a + c")
    for twice, where in (((0, 1, 0), "for a = c"), ((2, 2, 1), "for a = b"), ((3, 1, 1), "for b = c")):
        with student.case():
            clear = False
            while not clear:
                weight = vectors(9, 4)
                weight[[*twice]] = 1.7 * F.normalize(weight[[*twice]], dim=-1)
                best, second, *_ = _ranked(*twice, weight)
                clear = best[0] - second[0] > 5e-3
            _asked(student, *twice, weight, where)


def _raw(student: Student) -> None:
    for V, C in ((9, 3), (14, 4)):
        with student.case():
            _asked(student, *_case(V, C, equal=False), f"for a, b and c of different lengths, V = {V}, C = {C}")


def _int(student: Student) -> None:
    got = _asked(student, *_case(10, 4), "in a small table")["value"]
    if type(got) is not int:
        raise Wrong(f"The id should be a Python int; yours is {kind(got)}: `.item()` takes a number out of a tensor.")


def _manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            a, b, c, weight = _case(8, 3)
            answer = _asked(student, a, b, c, weight.to(dtype), f"in {dtype_name(weight.to(dtype))}")
            unchanged(answer["inputs"], [weight.to(dtype)], "weight")
    with student.case():
        a, b, c, weight = _case(8, 3)
        _asked(student, a, b, c, weight.T.contiguous().T, "with arguments given by name, of a transpose", named=True)
    with student.case():
        _asked(student, *_case(8, 3), "when weight is a parameter that is being trained", upstream=[None])


EXERCISE = Exercise(
    Check("the row nearest to b − a + c by cosine", 1.5, _values),
    Check("never a, b or c themselves", 0.7, _never, further=True),
    Check("made of the rows as they are", 0.25, _raw, further=True),
    Check("a Python int", 0.25, _int, further=True),
    Check("float64, weight unchanged", 0.3, _manners, further=True),
    working=r"""
def analogy(a, b, c, weight):
    cosines = F.cosine_similarity(weight[b] - weight[a] + weight[c], weight, dim=-1)
    return cosines.index_fill(0, torch.tensor([a, b, c]), -2.0).argmax().item()
""",
)
