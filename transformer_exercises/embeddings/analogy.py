"""`analogy`: tables with one clear answer, in which a, b or c would win or rows differ in length."""

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    ValuesDiffer,
    Wrong,
    an_int,
    behaves,
    cases_of,
    dtype_name,
    kind,
    normal,
    reference,
    trained,
)

from .random_inputs import vectors

analogy = reference("analogy")
cosine_similarity = reference("cosine_similarity")


def _cosines(a: int, b: int, c: int, weight: torch.Tensor) -> torch.Tensor:
    return cosine_similarity(weight[b] - weight[a] + weight[c], weight)


def _allowed(a: int, b: int, c: int, weight: torch.Tensor) -> torch.Tensor:
    """Return cosines of the rows with b − a + c, and -2 for a, b and c themselves."""
    return _cosines(a, b, c, weight).index_fill(0, torch.tensor([a, b, c]), -2.0)


def _case(V: int, C: int, equal: bool = True, nearest: str = "", ids: Any = None) -> list[Any]:
    """Return three ids and a table whose answer is clear: none of the three is nearer but one named as `nearest`.

    With `equal`, their rows have one length, so that normalising them first changes nothing; otherwise it does.
    """
    while True:
        weight = vectors(V, C)
        a, b, c = ids or torch.argsort(normal(V))[:3].tolist()
        if equal:
            weight[[a, b, c]] = 1.7 * F.normalize(weight[[a, b, c]], dim=-1)
        highest, second = _allowed(a, b, c, weight).topk(2).values.tolist()
        best, unit = (_allowed(a, b, c, rows).argmax().item() for rows in (weight, F.normalize(weight, dim=-1)))
        top = {"a": a, "b": b, "c": c}.get(nearest, best)
        if highest - second > 5e-3 and (best == unit) is equal and top == _cosines(a, b, c, weight).argmax():
            return [a, b, c, weight]


def _same(got: Any, right: tuple[int, list[int]], what: str, where: str, exact: bool = False) -> None:
    """Compare the id; a tensor, list or float that holds it is as good unless `exact`."""
    id = got[0] if isinstance(got, (list, tuple)) and len(got) == 1 else got
    if isinstance(id, torch.Tensor) and id.numel() == 1:
        id = id.item()
    if type(id) is float and id.is_integer():
        id = int(id)
    best, never = right
    if an_int(id, f"{what} {where}") in never:
        raise ValuesDiffer(f"The id of a, b or c itself is returned {where}: these three are never the answer.")
    if id != best:
        rows = "made of the rows as they are, not normalised first"
        raise ValuesDiffer(f"The id {where} is not the one whose row is nearest, by cosine, to b − a + c, {rows}.")
    if exact and type(got) is not int:
        raise Wrong(f"The id should be a Python int; yours is {kind(got)}: `.item()` takes a number out of a tensor.")


cases = cases_of("analogy", lambda a, b, c, weight: (analogy(a, b, c, weight), [a, b, c]), _same)


@cases
def _values() -> Cases:
    for V, C in ((12, 4), (9, 5), (20, 3), (15, 8), (5, 5), (30, 6), (10, 2), (4, 3)):
        a, b, c, weight = _case(V, C)
        yield [a, b, c, weight], f"for a = {a}, b = {b}, c = {c}, V = {V}, C = {C}"


@cases
def _never() -> Cases:
    """Return tables in which a, b or c would be nearest; and the same id twice."""
    for nearest in ("a", "b", "c"):
        yield _case(8, 3, nearest=nearest), f"where {nearest} itself would be nearest"
    a, b, c, weight = _case(8, 4)
    weight *= -_allowed(a, b, c, weight).sign()[:, None]  # 1 for the three, which stay as they are
    yield [a, b, c, weight], "where all the other rows are dissimilar to b − a + c"
    a, b, c, weight = _case(8, 4)
    weight[[a, b, c]] = weight[b] - weight[a] + weight[c] + 0.01 * weight[[a, b, c]]  # b − a + c points where it did
    yield [a, b, c, weight], "where a, b and c are all nearer than the other rows"
    for ids, nearest, where in (((0, 1, 0), "b", "a = c"), ((2, 2, 1), "c", "a = b"), ((3, 1, 1), "b", "b = c")):
        yield _case(9, 4, nearest=nearest, ids=ids), f"for {where}"


@cases
def _raw() -> Cases:
    for V, C in ((9, 3), (14, 4)):
        yield _case(V, C, equal=False), f"for a, b and c of different lengths, V = {V}, C = {C}"


@cases
def _int() -> Cases:
    yield _case(10, 4), "in a small table", True


@cases
def _side_effects() -> Cases:
    for dtype in (torch.float32, torch.float64):
        *ids, weight = _case(8, 3)
        yield behaves([*ids, weight.to(dtype)], "weight", f"in {dtype_name(weight.to(dtype))}")
    a, b, c, weight = _case(8, 3)
    given = {"a": a, "b": b, "c": c, "weight": weight.T.contiguous().T}
    yield given, "with arguments given by name, of a transpose"
    yield trained(*_case(8, 3))


EXERCISE = Exercise(
    Check("the row nearest to b − a + c by cosine", 1.5, _values),
    Check("never a, b or c themselves", 0.7, _never, dependent=True),
    Check("made of the rows as they are", 0.25, _raw, dependent=True),
    Check("a Python int", 0.25, _int, dependent=True),
    Check("float64, weight unchanged", 0.3, _side_effects, dependent=True),
    takes="number",
    gives="number",
    harmless=("rounded", "global_generator"),
    library_equivalent=r"""
def analogy(a, b, c, weight):
    cosines = F.cosine_similarity(weight[b] - weight[a] + weight[c], weight, dim=-1)
    return cosines.index_fill(0, torch.tensor([a, b, c]), -2.0).argmax().item()
""",
)
