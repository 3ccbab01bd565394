"""`merge_pair`: every occurrence, left to right, symbols and not letters; the mistakes overlap, skip or join text."""

from __future__ import annotations

from typing import Any

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise
from autograder.spec.student import Student

from .common import exactly_same, same_sequence

merge_pair = reference("merge_pair")


def _merges(*cases: tuple[Any, tuple[str, str]]) -> Asking:
    def ask(student: Student) -> None:
        for symbols, pair in cases:
            with student.case():
                symbols = tuple(symbols)
                where = f"for {symbols} and the pair {pair}"
                same_sequence(
                    student.value("merge_pair", symbols, pair, where=where),
                    merge_pair(symbols, pair),
                    "The tuple",
                    where,
                )

    return ask


def _merge_manners(student: Student) -> None:
    for symbols, pair in (((), ("a", "b")), (("a",), ("a", "a")), (("x", "y"), ("a", "b")), (("a", "b"), ("a", "b"))):
        with student.case():
            where = f"for {symbols} and the pair {pair}"
            got = student.value("merge_pair", symbols, pair, where=where)
            exactly_same(got, merge_pair(symbols, pair), "The tuple", where)


EXERCISE = Exercise(
    points=3,
    checks=[
        Check(
            "every occurrence becomes one symbol",
            1.0,
            _merges(
                *(
                    ("lower", ("e", "r")),
                    ("newest", ("e", "s")),
                    ("banana", ("a", "n")),
                    ("abcab", ("a", "b")),
                    ("xaby", ("a", "b")),
                ),
                *(
                    (("lo", "w", "e", "r"), ("lo", "w")),
                    ("ababab", ("b", "a")),
                    (("আ", "ম", "\u09be", "র"), ("ম", "\u09be")),
                ),
            ),
        ),
        Check(
            "left to right, without overlap",
            1.0,
            _merges(
                *(
                    ("aaa", ("a", "a")),
                    ("aaaa", ("a", "a")),
                    ("aaaaa", ("a", "a")),
                    ("baaab", ("a", "a")),
                    ("aaabaa", ("a", "a")),
                ),
                *(
                    (("ab", "ab", "ab"), ("ab", "ab")),
                    (("aa", "aa", "a"), ("aa", "a")),
                    (("a", "aa", "a", "aa"), ("a", "aa")),
                ),
            ),
        ),
        Check(
            "symbols are compared, not their letters",
            0.75,
            _merges(
                *(
                    (("xa", "b"), ("a", "b")),
                    (("a", "bx"), ("a", "b")),
                    (("a", "bc", "ab", "c"), ("ab", "c")),
                    (("ab", "a", "b"), ("a", "b")),
                ),
                *(
                    ("ba", ("a", "b")),
                    ((".", "*", ".", "x", "*"), (".", "*")),
                    (("$", "(", "$"), ("$", "(")),
                    (("a", "ab", "b"), ("a", "b")),
                ),
            ),
        ),
        Check("no or one symbol, nothing to merge, a tuple", 0.25, _merge_manners, further=True),
    ],
    working=r"""
def merge_pair(symbols, pair):
    result = []
    rest = list(symbols)
    while rest:
        size = 2 if tuple(rest[:2]) == tuple(pair) else 1
        result.append("".join(rest[:size]))
        rest = rest[size:]
    return tuple(result)
""",
    takes="tuple",
    gives="tuple",
)
