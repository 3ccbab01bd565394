"""`skipgram_pairs`: the pairs as often as they occur, short texts and wide windows, in any order."""

from collections import Counter
from typing import Any

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Student,
    ValuesDiffer,
    Wrong,
    kind,
    other_ids,
    other_sizes,
    reference,
)

skipgram_pairs = reference("skipgram_pairs")


def _plain(value: Any) -> Any:
    """Put tuples in place of lists and tensors."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    return tuple(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def _same_pairs(got: Any, ids: list[int], window: int, where: str, exact: bool) -> None:
    """Return the same pairs as often, in any order; unless `exact`, they may be lists, a tensor or a generator."""
    pairs = got if exact else _plain(got)
    if not isinstance(pairs, list if exact else tuple):
        raise Wrong(f"A list of pairs is asked for; {where} yours is {kind(got)}.")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise Wrong(f"Every entry should be a tuple (centre, context) {where}; one of yours is {kind(pair)}.")
        for i in pair:
            if type(i) is not int:
                raise Wrong(f"A pair is two ids, two ints {where}; one of yours holds {kind(i)}.")
    actual, expected = Counter(pairs), Counter(skipgram_pairs(ids, window))
    if actual != expected:
        missing, extra = (expected - actual).total(), (actual - expected).total()
        what = "The right pairs, but not as often as they occur: " if set(actual) == set(expected) else ""
        raise ValuesDiffer(f"{what}{missing} pairs are missing {where}, and {extra} do not belong there.")


_LISTED = """
def listed(pairs):
    from itertools import islice
    return list(islice(pairs, 10_000))  # it may be endless
"""


def _pairs(student: Student, args: list[Any], value: Any, where: str) -> Any:
    """Return what was returned, or a list of what a generator gives (zip and map are such, too)."""
    if getattr(value, "type_name", "") not in ("generator", "zip", "map", "filter", "chain"):
        return value
    kept = student.call("skipgram_pairs", args, where=where, keep=True, record=False)["value"]
    return student.value(student.probe("listed", _LISTED), kept, where=where)


def _of(*cases: tuple[list[int], int], exact: bool = False) -> CheckFunction:
    def check(student: Student) -> None:
        for known_ids, known_window in cases:
            with student.case():
                ids, (window,) = other_ids(known_ids), other_sizes(known_window)
                where = f"for {f'ids {ids}' if len(ids) < 12 else f'{len(ids)} ids'} and window = {window}"
                answer = student.call("skipgram_pairs", [ids, window], where=where, after=True)
                got = answer["value"] if exact else _pairs(student, [ids, window], answer["value"], where)
                if isinstance(got, list):
                    student.note(sorted(got, key=repr))  # whatever their order
                _same_pairs(got, ids, window, where, exact)
                if exact and len(answer["after"]) == 2 and answer["after"][0] != ids:
                    raise Wrong("Your code changes the caller's list `ids`: make a list of your own.", "input_changed")

    return check


_values = _of(
    *(([7, 3, 5], 1), ([10, 20, 30, 40, 50, 60], 2), ([5, 0, 2, 9, 4, 8, 1, 3], 3), ([1, 2], 1)),
    *((list(range(40, 0, -1)), 4), ([4, 1, 3, 2, 0], 4)),
)
_repeated = _of(([4, 4, 7], 1), ([1, 2, 1, 2, 1], 2), ([3, 3, 3, 3], 3), ([i * i % 7 for i in range(60)], 3))
_edges = _of(([6, 2, 9], 5), ([8, 1], 4), ([3], 2), ([], 2), ([5, 6, 7], 0), ([0, 1, 2, 3], 3), ([2, 5, 1, 7], 100))


def _side_effects(student: Student) -> None:
    _of(([3, 1, 2, 0], 2), ([9, 8], 1), ([50256, 2**40, 32768], 1), exact=True)(student)
    with student.case():
        ids, where = [4, 2, 6], "with arguments given by name"
        _same_pairs(student.value("skipgram_pairs", ids=ids, window=1, where=where), ids, 1, where, exact=True)


EXERCISE = Exercise(
    Check("all the pairs within the window", 1.75, _values),
    Check("words that occur more than once", 0.75, _repeated, dependent=True),
    Check("short texts, wide windows, no window", 1.0, _edges, dependent=True),
    Check("a list of tuples, input unchanged", 0.5, _side_effects, dependent=True),
    takes="list",
    gives="list",
    harmless=("global_generator",),
)
