"""`nearest_neighbours`: order by cosine, every kind of `exclude`, queries to which nothing is similar, zero rows."""

from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Student,
    Wrong,
    cases_of,
    device,
    reference,
    same_tensor,
    trained,
    unchanged,
)

from .random_inputs import vectors

cosine_similarity = reference("cosine_similarity")
nearest_neighbours = reference("nearest_neighbours")


def _clear(V: int, C: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a query and rows of very different lengths, whose cosines lie too far apart for rounding to matter."""
    while True:
        query, weight = vectors(C), vectors(V, C)
        cosines = cosine_similarity(query, weight).sort().values
        if V < 2 or cosines.diff().min() > 2e-3:
            return query, weight


def _same_ids(got: Any, right: list[int], what: str, where: str, tied: bool = False) -> None:
    """Compare the ids; a list of them, or another dtype, is marked elsewhere."""
    if isinstance(got, (list, tuple)) and all(type(i) is int for i in got) and not tied:
        got = torch.tensor(got, dtype=torch.int64)
    if isinstance(got, torch.Tensor) and got.device.type == "cpu" and torch.equal(got, got.long()):
        got = got.sort().values.long() if tied else got.long()
    same_tensor(got, torch.tensor(sorted(right) if tied else right), what, where)


# A list, for which no small example is made up: rows cut to one or two numbers are equally near.
cases = cases_of("nearest_neighbours", lambda *args, **named: nearest_neighbours(*args, **named).tolist(), _same_ids)


@cases
def _values() -> Cases:
    for V, C, k in ((5, 3, 2), (9, 4, 1), (12, 6, 12), (7, 2, 3), (4, 4, 2), (30, 8, 5), (1, 3, 1), (20, 5, 4)):
        yield [*_clear(V, C), k], f"for V = {V}, C = {C}, k = {k}"
    _, weight = _clear(8, 3)
    yield [3 * weight[5], weight, 4], "for a query that is a multiple of a row"


@cases
def _exclude() -> Cases:
    query, weight = _clear(8, 3)
    best = nearest_neighbours(query, weight, 8).tolist()
    for exclude, k in (
        *(([best[0]], 3), ((best[0], best[1]), 3), ({best[1], best[3]}, 4), ((best[2],), 2), ([best[0], best[0]], 2)),
        *(([], 3), (set(), 2), ([best[7]], 7), ([0], 5), ((7, 0), 6), (best[:5], 3), (tuple(best[1:]), 1)),
    ):
        yield ([query, weight, k], {"exclude": exclude}), f"with exclude = {exclude} of 8 ids, k = {k}"
    yield [weight[2], weight, 3, (2,)], "with the query's own id excluded, given by position"


@cases
def _negative() -> Cases:
    """Ask where all that is left is dissimilar, some exactly opposite: a stand-in such as 0 or -1 would come first."""
    query, weight = _clear(7, 4)
    weight = weight * -cosine_similarity(query, weight).sign()[:, None]
    weight[3] = 2 * query
    yield [query, weight, 3, [3]], "when all ids that are left have a negative cosine"
    query = torch.tensor([0.0, 2.0])  # all cosines are exactly -1
    weight = -query * torch.tensor([0.5, 4.0, 1.0, 8.0, 2.0, 0.25])[:, None]
    yield [query, weight, 4, [0, 1]], "when all ids left (in any order) are exactly opposite to the query", True


@cases
def _zero_rows() -> Cases:
    query, weight = _clear(9, 3)
    signs = cosine_similarity(query, weight).sign()[:, None]
    weight *= torch.cat([signs[:4], -signs[4:]])
    weight[6] = 0
    for k in (2, 4, 5, 9):
        yield [query, weight, k], f"with a row of zeros (whose cosine is 0), k = {k}"


def _leaves_alone(student: Student, args: list[Any]) -> None:
    answer = student.call("nearest_neighbours", args, after=True)
    same_tensor(answer["value"], nearest_neighbours(*args), "The result")
    unchanged(answer["inputs"], args, "query, weight")
    if len(answer["after"]) == 4 and answer["after"][3] != args[3]:
        raise Wrong("Your code changes the caller's list `exclude`: make one of your own.", "input_changed")


@cases_of("nearest_neighbours")
def _side_effects() -> Cases:
    query, weight = _clear(6, 4)
    weight = weight[nearest_neighbours(query, weight, 6)]  # best first, so that the excluded ids change no result
    yield lambda student, _: _leaves_alone(student, [query, weight, 2, [5, 4]])
    yield [query.double(), weight.double(), 3], "in float64"
    turned = torch.stack([weight, weight.flip(0)], dim=-1)[..., 0]
    yield {"query": query, "weight": turned, "k": 3}, "with arguments given by name, of a slice"
    yield trained(query, weight, 2, (5,))
    yield device([query, weight, 3])


EXERCISE = Exercise(
    Check("the k most similar rows by cosine, best first", 1.5, _values),
    Check("excluded ids are left out, as a list, tuple or set", 1.25, _exclude, dependent=True),
    Check("excluded ids stay out when all others are dissimilar", 0.35, _negative, dependent=True),
    Check("a row of zeros has cosine 0", 0.4, _zero_rows, dependent=True),
    Check("a LongTensor, inputs unchanged, float64, device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("gradient_cut_off", "single_precision", "single_precision_inside", "global_generator"),
    library_equivalent=r"""
def nearest_neighbours(query, weight, k, exclude=()):
    order = F.cosine_similarity(query, weight, dim=-1).sort(descending=True).indices
    banned = torch.tensor([int(i) for i in exclude], dtype=torch.int64, device=order.device)
    if order.is_meta and k == len(order):
        return order
    return order[~torch.isin(order, banned)][:k] if len(banned) else order[:k]
""",
)
