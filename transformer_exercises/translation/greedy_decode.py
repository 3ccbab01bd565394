"""`greedy_decode`: a scripted model, many rows that end at different times, any special ids, no step too many."""

from typing import Any

import torch

from autograder.spec.compare import kind
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Kept, Student

from .common import SCRIPTED, decoded, id_list, ids_differ, manners


def _same(got: Any, expected: list[list[int]], bos_id: int, eos_id: int, max_len: int, where: str) -> None:
    if not isinstance(got, list) or len(got) != len(expected):
        raise Wrong(f"A list of {len(expected)} lists, one for each row, is asked for {where}; yours is {kind(got)}.")
    for mine, right in zip([id_list(row, where) for row in got], expected, strict=True):
        ids_differ(mine, right, bos_id, eos_id, max_len, where)
        if mine != right and mine[: len(right)] == right:
            raise ValuesDiffer(f"The result goes on after its end {where}: its first eos_id ends a row.", "too_long")
        if mine != right and right[: len(mine)] == mine:
            raise ValuesDiffer(f"The result stops too early {where}: its own eos_id or max_len ends it.", "too_short")
        if mine != right:
            raise ValuesDiffer(f"The tokens are not the right ones {where}.")


def _source(*shape: int) -> torch.Tensor:
    return 3 + (normal(*shape).abs() * 1000).long() % 20


def _ask(
    student: Student, args: tuple[Any, ...], source: torch.Tensor, max_len: int, where: str
) -> tuple[Kept, list[list[int]]]:
    """Return the model that was asked, and what is right."""
    answer, model, expected = decoded(student, "greedy_decode", args, source, max_len, where=where)
    _same(answer["value"], expected, args[1], args[2], max_len, where)
    return model, expected


def _one(student: Student) -> None:
    for args, S in (((9, 1, 2, 1.0, 3), 4), ((12, 1, 2, 0.5, 8), 1), ((30, 1, 2, 2.0, 1), 7), ((7, 1, 2, 0.0, 5), 3)):
        with student.case():
            _ask(student, args, _source(1, S), 25, f"for one sentence and V = {args[0]}")


def _rows(student: Student) -> None:
    for V, bonus, seed, B, S, what in (
        *((9, 1.0, 4, 6, 3, ""), (11, 0.6, 2, 9, 5, ""), (8, 2.5, 7, 12, 2, ""), (25, 1.5, 9, 4, 4, "")),
        *((6, 30.0, 6, 3, 3, " (all at once)"), (9, -40.0, 6, 3, 4, " (none of them)"), (1500, 1.0, 6, 40, 4, "")),
    ):
        with student.case():
            _ask(student, (V, 1, 2, bonus, seed), _source(B, S), 20, f"for {B} rows that end at different times{what}")


def _max_len(student: Student) -> None:
    for max_len, B, S, bonus, seed, what in (
        *((n, 3, 4, -40.0, 3, "when no row ends before") for n in (7, 1, 2, 0)),
        (100, 2, 70, -40.0, 3, "when no row ends before"),
        *((n, 8, 3, 0.8, 4, "when some rows end before") for n in (3, 4, 5, 6)),
    ):
        with student.case():
            _ask(student, (9, 1, 2, bonus, seed), _source(B, S), max_len, f"with max_len = {max_len}, {what}")


def _other_ids(student: Student) -> None:
    for V, bos_id, eos_id, pad in ((9, 0, 1, 8), (10, 5, 0, 1), (8, 7, 6, 0), (9, 2, 3, 1)):
        with student.case():
            source = _source(5, 4)
            source[1:3, 2:] = pad
            _ask(student, (V, bos_id, eos_id, 1.0, 2), source, 15, f"with bos_id = {bos_id} and eos_id = {eos_id}")


def _stops(student: Student) -> None:
    for args, B in (((9, 1, 2, 1.5, 4), 4), ((9, 1, 2, 30.0, 4), 3), ((11, 1, 2, 3.0, 5), 1)):
        with student.case():
            model, expected = _ask(student, args, _source(B, 3), 60, f"for {B} rows, with max_len = 60")
            asked = student.value(student.probe("calls", SCRIPTED), model)
            if asked > sum(len(row) + 1 for row in expected):
                raise Wrong("The model is asked again although all rows have ended: stop decoding then.", "never_stops")


def _manners(student: Student) -> None:
    def same(got: Any, expected: Any, where: str) -> None:
        _same(got, expected, 1, 2, 12, where)

    manners(student, "greedy_decode", (9, 1, 2, 1.0, 4), _source(4, 3), same, max_len=12)
    with student.case():
        model, _ = _ask(student, (9, 1, 2, 1.0, 4), _source(4, 3), 12, "for four rows")
        if student.value(student.probe("graphs", SCRIPTED), model):
            raise Wrong("The model keeps graphs for gradients that nobody needs: `@torch.no_grad()`.", "graphs_kept")


EXERCISE = Exercise(
    Check("one sentence, the likeliest token each time", 1.0, _one),
    Check("many rows, each up to its own end", 1.25, _rows),
    Check("at most max_len new tokens", 0.75, _max_len),
    Check("any bos_id and eos_id", 0.5, _other_ids, further=True),
    Check("stops when all rows have ended", 0.25, _stops),
    Check("no gradients, source_ids and the model's mode unchanged, device", 0.25, _manners, further=True),
)
