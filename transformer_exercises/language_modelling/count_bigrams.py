"""`count_bigrams`: the table of pairs, short texts, ids out of range, and whether Python loops over the text.

The mistakes are pairs that are missed, invented or turned round, repeats counted once, and tables of another size.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Problem, Wrong
from autograder.spec.inputs import device_is_kept
from autograder.spec.student import Student

from .common import quiet_and_pure, same_values, text_of

count_bigrams = reference("count_bigrams")

# Whether more lines of Python run for a longer text; a loop runs at least one for each token. No clock is involved.
_GROWS = """
import sys

def grows(count, short, long, vocab_size):
    def lines(ids):
        seen = 0
        def trace(frame, event, arg):
            nonlocal seen
            seen += 1
            return trace
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            count(ids, vocab_size)
        finally:
            sys.settrace(before)
        return seen
    lines(short)  # the first call may import things
    return lines(long) - lines(short) > (len(long) - len(short)) // 2
"""


def _count_values(student: Student) -> None:
    for ids, vocab_size in (
        ([0, 1, 0, 1, 1], 2),
        ([2, 0, 2, 2, 1, 0, 2, 0], 3),
        ([0, 1], 2),
        ([4, 4, 4, 4, 0, 3, 2, 1, 4], 5),
    ):
        with student.case():
            where = f"for ids {ids} and vocab_size = {vocab_size}"
            given = torch.tensor(ids)
            got = student.value("count_bigrams", given, vocab_size, where=where)
            same_values(got, count_bigrams(given, vocab_size), "The table", where)
    for n, vocab_size in ((25, 6), (8, 11), (150, 7)):
        with student.case():
            given, where = text_of(n, vocab_size), f"for {n} ids and vocab_size = {vocab_size}"
            got = student.value("count_bigrams", given, vocab_size, where=where)
            same_values(got, count_bigrams(given, vocab_size), "The table", where)


def _count_edges(student: Student) -> None:
    for ids, vocab_size, where in (
        ([], 3, "for an empty text"),
        ([2], 4, "for a text of one token"),
        ([0, 0, 1], 6, "when the last tokens of the vocabulary do not occur"),
        ([5, 4, 5, 5], 8, "when the first tokens of the vocabulary do not occur"),
        ([0, 0, 0], 1, "for a vocabulary of one token"),
        ([1] * 300, 2, "when one pair occurs 299 times"),
    ):
        with student.case():
            given = torch.tensor(ids, dtype=torch.int64)
            got = student.value("count_bigrams", given, vocab_size, where=where)
            same_values(got, count_bigrams(given, vocab_size), "The table", where)


def _count_without_loop(student: Student) -> None:
    ids, where = text_of(350, 3), "for a text of 350 tokens"
    same_values(student.value("count_bigrams", ids, 3, where=where), count_bigrams(ids, 3), "The table", where)
    try:
        function = student.call(("count_bigrams", "__get__"), [None, 0], keep=True)["value"]  # the function itself
    except Problem:
        return  # something else that can be called: what runs inside stays its secret
    grows = student.value(student.probe("grows", _GROWS), function, ids[:50], ids, 3)
    if grows is True:
        raise Wrong(
            "The counts are right, but Python runs through the text token by token. Let torch count all pairs at once: "
            "the two shifted views `ids[:-1]` and `ids[1:]` hold them.",
            "python_loop",
        )
    ids = torch.ones(40_000, dtype=torch.int64)
    ids[::1000] = 0
    where = "for a text of 40,000 tokens"
    same_values(student.value("count_bigrams", ids, 3, where=where), count_bigrams(ids, 3), "The table", where)


def _count_bad_ids(student: Student) -> None:
    for ids, where in (
        ([0, 3, 1], "for ids that contain vocab_size itself"),
        ([0, 2, 7], "when the last id is too large"),
        ([1, -1, 2], "for a negative id"),
        ([3, 1], "when the first of two ids is too large"),
        ([-1, 0, 1], "when the first id is negative"),
    ):
        with student.case():
            try:
                student.value("count_bigrams", torch.tensor(ids), 3, where=where)
            except Problem as problem:
                if problem.error == "ValueError":
                    continue
                if problem.error in ("", "NotImplementedError"):
                    raise
                raise Wrong(
                    f"Your code stops with {problem.error} {where}: raise a ValueError that says what is wrong with "
                    "`ids`.",
                    "bad_ids_accepted",
                ) from None
            raise Wrong(
                f"The result is a table as if nothing were wrong {where}: a ValueError is asked for, because such "
                "pairs would be counted in a wrong cell, or not at all.",
                "bad_ids_accepted",
            )
    got = student.value("count_bigrams", torch.tensor([0, 2, 1]), 3)  # nothing wrong here
    same_values(got, count_bigrams(torch.tensor([0, 2, 1]), 3), "The table")


def _count_manners(student: Student) -> None:
    ids = text_of(12, 5)
    quiet_and_pure(student, "count_bigrams", [ids, 5], count_bigrams(ids, 5), "The table", "`ids`")
    every_other = text_of(24, 5)[::2]
    got = student.value("count_bigrams", every_other, 5, where="for a tensor that is not contiguous")
    same_tensor(got, count_bigrams(every_other, 5), "The table", "for a tensor that is not contiguous")
    device_is_kept(student, "count_bigrams", [ids, 5])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("how often j follows i", 1.5, _count_values),
        Check("empty texts, one token, tokens that do not occur", 0.5, _count_edges, further=True),
        Check("no Python loop over the text", 0.4, _count_without_loop, further=True),
        Check("an id outside the vocabulary is a ValueError", 0.3, _count_bad_ids),
        Check("int64, inputs unchanged, any layout and device", 0.3, _count_manners, further=True),
    ],
    working=r"""
import torch

def count_bigrams(ids, vocab_size):
    if len(ids) and not 0 <= ids.min() <= ids.max() < vocab_size:
        raise ValueError("ids")
    counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
    return counts.index_put((ids[:-1], ids[1:]), torch.ones_like(ids[1:]), accumulate=True)
""",
    takes="tensor",
    gives="tensor",
)
