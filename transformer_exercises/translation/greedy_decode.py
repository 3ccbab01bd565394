"""`greedy_decode`: a scripted model, many rows that end at different times, any special ids, no step too many."""

from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Kept,
    Reply,
    Student,
    ValuesDiffer,
    Wrong,
    cases_of,
    drawn,
    kind,
    normal,
)

from .scripted_models import decodes, ids_differ, noted, side_effects


def _same(got: Any, expected: list[list[int]], *limits: Any) -> None:
    where = limits[-1]
    if not isinstance(got, list) or len(got) != len(expected):
        wanted = f"The result should be a list of {len(expected)} lists, one for each row"
        raise Wrong(f"{wanted}{where and ' '}{where}; yours is {kind(got)}.", "form")
    for actual, right in zip(got, expected, strict=True):
        if not ids_differ(actual, right, *limits):
            continue
        if actual[: len(right)] == right:
            raise ValuesDiffer(f"The result goes on after its end {where}: its first eos_id ends a row.", "too_long")
        if right[: len(actual)] == actual:
            raise ValuesDiffer(f"The result stops too early {where}: its own eos_id or max_len ends it.", "too_short")
        raise ValuesDiffer(f"The tokens are not the right ones {where}.")


cases = cases_of("greedy_decode", same=_same)


def _source(*shape: int) -> torch.Tensor:
    return 3 + (normal(*shape).abs() * 1000).long() % 20


@cases
def _one() -> Cases:
    for args, S in (((9, 1, 2, 1.0, 3), 4), ((12, 1, 2, 0.5, 8), 1), ((30, 1, 2, 2.0, 1), 7), ((7, 1, 2, 0.0, 5), 3)):
        yield decodes(args, _source(1, S), f"for one sentence and V = {args[0]}", max_len=25)


@cases
def _rows() -> Cases:
    limit = drawn(1500, lambda _: 60)  # of more tokens, drawn ones may be equally likely up to a rounding
    for V, bonus, seed, B, S, what in (
        *((9, 1.0, 4, 6, 3, ""), (11, 0.6, 2, 9, 5, ""), (8, 2.5, 7, 12, 2, ""), (25, 1.5, 9, 4, 4, "")),
        *((6, 30.0, 6, 3, 3, " (all at once)"), (9, -40.0, 6, 3, 4, " (none of them)"), (1500, 1.0, 6, 40, 4, "")),
    ):
        where = f"for {B} rows that end at different times{what}"
        yield decodes((min(V, limit), 1, 2, bonus, seed), _source(B, S), where, max_len=20)


@cases
def _max_len() -> Cases:
    for max_len, B, S, bonus, seed, what in (
        *((n, 3, 4, -40.0, 3, "when no row ends before") for n in (7, 1, 2)),
        (100, 2, 70, -40.0, 3, "when no row ends before"),
        *((n, 8, 3, 0.8, 4, "when some rows end before") for n in (3, 4, 5, 6)),
    ):
        yield decodes((9, 1, 2, bonus, seed), _source(B, S), f"with max_len = {max_len}, {what}", max_len=max_len)


@cases
def _other_ids() -> Cases:
    for V, bos_id, eos_id, pad in ((9, 0, 1, 8), (10, 5, 0, 1), (8, 7, 6, 0), (9, 2, 3, 1)):
        source = _source(5, 4)
        source[1:3, 2:] = pad
        yield decodes((V, bos_id, eos_id, 1.0, 2), source, f"with bos_id = {bos_id} and eos_id = {eos_id}", max_len=15)


def _stopped(student: Student, _: Reply, notes: Kept, right: list[list[int]]) -> None:
    if noted(student, notes, "calls") > sum(len(row) + 1 for row in right):
        raise Wrong("The model is asked again although all rows have ended: stop decoding then.", "never_stops")


@cases
def _stops() -> Cases:
    for args, B in (((9, 1, 2, 1.5, 4), 4), ((9, 1, 2, 30.0, 4), 3), ((11, 1, 2, 3.0, 5), 1)):
        yield decodes(args, _source(B, 3), f"for {B} rows, with max_len = 60", max_len=60, then=_stopped)


@cases
def _side_effects() -> Cases:
    yield from side_effects((9, 1, 2, 1.0, 4), _source(4, 3), what="all", max_len=12)


EXERCISE = Exercise(
    Check("one sentence, the likeliest token each time", 1.0, _one),
    Check("many rows, each up to its own end", 1.25, _rows),
    Check("at most max_len new tokens", 0.75, _max_len),
    Check("any bos_id and eos_id", 0.5, _other_ids, dependent=True),
    Check("stops when all rows have ended", 0.25, _stops, dependent=True),
    Check("no gradients, source_ids and the model's mode unchanged, device", 0.25, _side_effects, dependent=True),
    takes="other",
    gives="list",
)
