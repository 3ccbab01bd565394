"""`bpe_encode`: words in which another order of merging gives other subwords, runs of one letter, unknown letters.

The mistakes: the longest or first match instead of the rank, one pass for each merge, replacing text for symbols.
"""

from __future__ import annotations

from typing import Any

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise
from autograder.spec.student import Student

from .common import STORY, as_before, exactly_same, same_sequence, weighted

bpe_encode = reference("bpe_encode")
train_bpe = reference("train_bpe")

LOWER_MERGES = [("e", "r"), ("l", "o"), ("lo", "w"), ("low", "er")]

STORY_MERGES = train_bpe(weighted(STORY, 31), 30)  # a pair comes after the merges that made its symbols

LATE_MERGES = [("b", "c"), ("a", "b"), ("c", "d"), ("bc", "d"), ("ab", "c"), ("a", "bcd")]

RUN_MERGES = [("a", "a"), ("aa", "aa"), ("aa", "b"), ("b", "aa")]

NA_MERGES = [("a", "n"), ("an", "a"), ("b", "ana"), ("n", "ana")]


def _encodes(*cases: tuple[Any, str]) -> Asking:
    """Merges, and the words to encode with them as one text."""

    def ask(student: Student) -> None:
        for merges, text in cases:
            for word in text.split():
                with student.case():
                    known = ", ".join("+".join(pair) for pair in merges[:6]) + (" …" if len(merges) > 6 else "")
                    where = f"for the word {word!r} and the merges {known or '(none)'}"
                    got = student.value("bpe_encode", word, list(merges), where=where)
                    same_sequence(got, bpe_encode(word, merges), "The list of subwords", where)

    return ask


def _encode_word_manners(student: Student) -> None:
    for word, merges in (
        *(("", []), ("", [("a", "b")]), ("a", [("a", "b")]), ("ab", []), ("ab", [("a", "b")]), ("xyz", [("a", "b")])),
        ("abcab", [("b", "c"), ("a", "b")]),
    ):
        with student.case():
            where = f"for the word {word!r} and {len(merges)} merges"
            answer = student.call("bpe_encode", [word, list(merges)], where=where, after=True)
            exactly_same(answer["value"], bpe_encode(word, merges), "The list of subwords", where)
            as_before(answer["after"], [word, merges], "merges")


EXERCISE = Exercise(
    points=4,
    checks=[
        Check(
            "merges by rank, the one learned earliest first",
            1.75,
            _encodes(
                (LATE_MERGES, "abc abcd abcab bcd abcdabc cdab abd"),
                ([("a", "b"), ("b", "c")], "abcbc bcbcabc"),
                (LOWER_MERGES, "lower low slower err lowlower"),
                ([("n", "k"), ("i", "n"), ("in", "g")], "thinking ink king nking"),
                (STORY_MERGES, "thinking weather drink others"),
            ),
        ),
        Check(
            "each merge everywhere, until none is left",
            1.25,
            _encodes(
                (RUN_MERGES, "aaa aaaa aaaaa aaaab baab baaaab"),
                (NA_MERGES, "banana bananabanana nanana ananan"),
                (STORY_MERGES, "thethethe water dogdogs drinkdrinking"),
            ),
        ),
        Check(
            "characters without a merge stay single",
            0.5,
            _encodes(
                (LOWER_MERGES, "Löwe xyzlower 🙂low er. LOWER"), ([], "abc a"), ([("আ", "ম"), ("\u09be", "র")], "আমার")
            ),
        ),
        Check("a list, the empty word, `merges` unchanged", 0.5, _encode_word_manners, further=True),
    ],
    working=r"""
from tokenizers import models

def bpe_encode(word, merges):
    if not word:
        return []
    symbols = dict.fromkeys([*word, *(part for pair in merges for part in (*pair, "".join(pair)))])
    model = models.BPE({symbol: i for i, symbol in enumerate(symbols)}, [tuple(pair) for pair in merges])
    return [token.value for token in model.tokenize(word)]
""",
    takes="str",
    gives="list",
)
