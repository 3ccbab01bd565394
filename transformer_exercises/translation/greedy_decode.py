"""`greedy_decode`: a scripted model, many rows that end at different times, any special ids, no step too many.

The mistakes: rows cut or continued wrongly, one row that ends all, the wrong position or ids, max_len off by one.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import kind, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import define_in_judge, generator_unchanged, normal
from autograder.spec.student import Student

from .common import SCRIPTED, asked_in_its_mode, decoded_on_device, id_list, left_in_eval_mode, their_scripted

greedy_decode = reference("greedy_decode")


def _ids_lists(got: Any, rows: int, where: str) -> list[list[int]]:
    """A list of as many lists of whole numbers."""
    if not isinstance(got, list) or len(got) != rows:
        raise Wrong(f"A list of {rows} lists is asked for, one for each row, {where}; yours is {kind(got)}.")
    for row in got:
        id_list(row, where)
    return got


def _same_ids(got: list[int], expected: list[int], bos_id: int, eos_id: int, max_len: int, where: str) -> None:
    """The sentence says what is remarkable about a wrong list of ids."""
    if got == expected:
        return
    if bos_id in got:
        raise ValuesDiffer(f"bos_id is in the result {where}: it is only what the model is given first.", "bos_kept")
    if eos_id in got:
        raise ValuesDiffer(f"eos_id is in the result {where}: leave it out, and all that would follow it.", "eos_kept")
    if len(got) > max_len:
        raise ValuesDiffer(f"The result has more than max_len new tokens {where}.", "too_long")
    if got[: len(expected)] == expected:
        raise ValuesDiffer(
            f"The result goes on after its end {where}: a sentence ends at its first eos_id.", "too_long"
        )
    if expected[: len(got)] == got:
        raise ValuesDiffer(
            f"The result stops too early {where}: only its own eos_id, or max_len, ends a sentence.", "too_short"
        )
    raise ValuesDiffer(f"The tokens are not the right ones {where}.")


def _source(*shape: int) -> torch.Tensor:
    return 3 + (normal(*shape).abs() * 1000).long() % 20


def _greedy(student: Student, args: tuple, source: torch.Tensor, max_len: int, where: str) -> tuple[dict, Any, list]:
    """The answer to a call, the model that was asked, and what is right."""
    _, bos_id, eos_id, *_ = args
    model = their_scripted(student, args)
    given = {"source_ids": source, "bos_id": bos_id, "eos_id": eos_id, "max_len": max_len}
    answer = student.call("greedy_decode", [model, *given.values()], where=where)
    expected = greedy_decode(define_in_judge(SCRIPTED, "Scripted")(*args), *given.values())
    got = _ids_lists(answer["value"], len(source), where)
    for mine, right in zip(got, expected, strict=True):
        _same_ids(mine, right, bos_id, eos_id, max_len, where)
    return answer, model, expected


def _greedy_one(student: Student) -> None:
    for args, S in (((9, 1, 2, 1.0, 3), 4), ((12, 1, 2, 0.5, 8), 1), ((30, 1, 2, 2.0, 1), 7), ((7, 1, 2, 0.0, 5), 3)):
        with student.case():
            _greedy(student, args, _source(1, S), 25, f"for one sentence and V = {args[0]}")


def _greedy_rows(student: Student) -> None:
    for args, B, S in (
        ((9, 1, 2, 1.0, 4), 6, 3),
        ((11, 1, 2, 0.6, 2), 9, 5),
        ((8, 1, 2, 2.5, 7), 12, 2),
        ((25, 1, 2, 1.5, 9), 4, 4),
        ((6, 1, 2, 30.0, 6), 3, 3),
        ((9, 1, 2, -40.0, 6), 3, 4),
        ((1500, 1, 2, 1.0, 6), 40, 4),
    ):
        with student.case():
            ends = {30.0: ", all of which end at once", -40.0: ", none of which ends"}.get(
                args[3], " that end at different times"
            )
            _greedy(student, args, _source(B, S), 20, f"for {B} rows{ends}")


def _greedy_max_len(student: Student) -> None:
    for max_len in (7, 1, 2, 0):
        with student.case():
            where = f"with max_len = {max_len}, when no row ends before"
            _greedy(student, (9, 1, 2, -40.0, 3), _source(3, 4), max_len, where)
    with student.case():
        _greedy(student, (9, 1, 2, -40.0, 3), _source(2, 70), 100, "with max_len = 100, when no row ends before")
    for max_len in (3, 4, 5, 6):
        with student.case():
            where = f"with max_len = {max_len}, when some rows end before"
            _greedy(student, (9, 1, 2, 0.8, 4), _source(8, 3), max_len, where)


def _greedy_other_ids(student: Student) -> None:
    for V, bos_id, eos_id, pad in ((9, 0, 1, 8), (10, 5, 0, 1), (8, 7, 6, 0), (9, 2, 3, 1)):
        with student.case():
            source = _source(5, 4)
            source[1:3, 2:] = pad
            where = f"with bos_id = {bos_id} and eos_id = {eos_id}"
            _greedy(student, (V, bos_id, eos_id, 1.0, 2), source, 15, where)


def _greedy_stops(student: Student) -> None:
    for args, B in (((9, 1, 2, 1.5, 4), 4), ((9, 1, 2, 30.0, 4), 3), ((11, 1, 2, 3.0, 5), 1)):
        with student.case():
            _, model, expected = _greedy(student, args, _source(B, 3), 60, f"for {B} rows, with max_len = 60")
            asked = student.value(student.probe("calls", SCRIPTED), model)
            if asked > sum(len(row) + 1 for row in expected):
                raise Wrong(
                    "The model is asked again although all rows have ended: decoding stops then, or short sentences "
                    "cost as much as long ones.",
                    "never_stops",
                )


def _greedy_manners(student: Student) -> None:
    args = (9, 1, 2, 1.0, 4)
    with student.case():
        source = _source(4, 3)
        answer, model, _ = _greedy(student, args, source, 12, "for 4 rows")
        unchanged(answer["inputs"][:1], [source], "source_ids")
        generator_unchanged(answer)
        left_in_eval_mode(student, model)
    with student.case():
        given = {"max_len": 5, "eos_id": 2, "bos_id": 1, "source_ids": source, "model": their_scripted(student, args)}
        where = "with the arguments given by name"
        got = _ids_lists(student.call("greedy_decode", [], given, where)["value"], 4, where)
        expected = greedy_decode(define_in_judge(SCRIPTED, "Scripted")(*args), source, 1, 2, 5)
        for mine, right in zip(got, expected, strict=True):
            _same_ids(mine, right, 1, 2, 5, where)
    with student.case():
        asked_in_its_mode(student, "greedy_decode", args, [source, 1, 2, 5])
    with student.case():
        decoded_on_device(student, "greedy_decode", [their_scripted(student, args), _source(4, 3), 1, 2, 12])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("one sentence, the likeliest token each time", 1.0, _greedy_one),
        Check("many rows, each up to its own end", 1.25, _greedy_rows),
        Check("at most max_len new tokens", 0.75, _greedy_max_len),
        Check("any bos_id and eos_id", 0.5, _greedy_other_ids, further=True),
        Check("stops when all rows have ended", 0.25, _greedy_stops),
        Check("source_ids and the model's mode unchanged, device", 0.25, _greedy_manners, further=True),
    ],
    working=r"""
import torch

def greedy_decode(model, source_ids, bos_id, eos_id, max_len):
    written = []
    for row in source_ids:
        target = torch.full((1, 1), bos_id, device=source_ids.device)
        while target.shape[1] <= max_len:
            with torch.no_grad():
                best = model(row[None], target)[0, -1].topk(1).indices
            if best == eos_id:
                break
            target = torch.cat([target, best[None]], 1)
        written.append(target[0, 1:].tolist())
    return written
""",
    gives="list",
)
