"""`count_pairs`: neighbours weighted by their word's frequency, repeated pairs, symbols longer than a letter.

The mistakes: frequencies left out, pairs counted once or without overlap, pairs across words, keys that are no pairs.
"""

from __future__ import annotations

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import LOWER, STORY, as_before, spelt

count_pairs = reference("count_pairs")


def _counted(student: Student, words: dict, where: str) -> None:
    got = student.value("count_pairs", words, where=where)
    if not isinstance(got, dict):
        raise Wrong(f"The result should be a Counter, from pairs to numbers; yours is {kind(got)} {where}.")
    expected = count_pairs(words)
    got = {pair: n for pair, n in got.items() if n != 0}  # a Counter says 0 for what it does not hold
    if any(type(pair) is not tuple or len(pair) != 2 for pair in got):
        raise Wrong(f"The keys should be pairs of symbols, tuples of two strings {where}.")
    if set(got) != set(expected):
        missing, more = bool(set(expected) - set(got)), bool(set(got) - set(expected))
        what = "are missing and others do not stand side by side" if missing and more else "are missing"
        raise ValuesDiffer(f"Pairs {what if missing else 'are counted that do not stand side by side'} {where}.")
    if got != dict(expected):
        raise ValuesDiffer(f"The pairs are right {where}, but not all of the counts.")


IS_COUNTER = """
def is_counter(counts):
    from collections import Counter
    return isinstance(counts, Counter)
"""


def _count_values(student: Student) -> None:
    for words, where in (
        (LOWER, "for low ×5, lower ×2, newest ×6, widest ×3"),
        ({("a", "b", "a"): 3, ("a", "b"): 2}, "for aba ×3 and ab ×2"),
        (spelt(STORY), "for the words of a short story"),
        ({tuple("banana"): 2, tuple("anna"): 7}, "for banana ×2 and anna ×7"),
        ({tuple("abc"): 1}, "for abc ×1"),
    ):
        with student.case():
            _counted(student, words, where)


def _count_symbols(student: Student) -> None:
    for words, where in (
        ({("lo", "w", "er"): 2, ("lo", "w"): 5, ("l", "ow"): 3}, "for words of longer symbols"),
        ({("a", "bc"): 2, ("ab", "c"): 3}, "for (a, bc) ×2 and (ab, c) ×3"),
        (spelt("low low lowest newer", "</w>"), "for words that end in </w>"),
        ({("এ", "\u0995\u09be"): 2, ("ọ", "🙂", "ọ", "🙂"): 4}, "for symbols of other scripts"),
    ):
        with student.case():
            _counted(student, words, where)


def _count_repeated(student: Student) -> None:
    for words, where in (
        ({tuple("aaa"): 1}, "for aaa ×1"),
        ({tuple("aaaa"): 3, tuple("aa"): 2}, "for aaaa ×3 and aa ×2"),
        ({tuple("abab"): 2, tuple("baab"): 5}, "for abab ×2 and baab ×5"),
        ({("ab", "ab", "ab"): 4}, "for (ab, ab, ab) ×4"),
    ):
        with student.case():
            _counted(student, words, where)


def _count_manners(student: Student) -> None:
    for words, where in (
        ({}, "for no words at all"),
        ({("a",): 4}, "for a word of one symbol"),
        ({("a",): 4, (): 2, ("a", "b"): 1}, "with words of two, one and no symbols"),
        (dict(LOWER), "for low ×5, lower ×2, newest ×6, widest ×3"),
    ):
        with student.case():
            answer = student.call("count_pairs", [words], where=where, after=True)
            if answer["value"] != dict(count_pairs(words)):
                raise ValuesDiffer(f"The counts {where} are not right.")
            as_before(answer["after"], [words], "words")
    counts = student.call("count_pairs", [dict(LOWER)], keep=True)["value"]
    if student.value(student.probe("is_counter", IS_COUNTER), counts) is not True:
        raise Wrong("A Counter is asked for; yours is another kind of dictionary.", "plain_dictionary")


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("adjacent pairs, weighted by the frequency of their word", 1.0, _count_values),
        Check("symbols of several characters", 0.4, _count_symbols, further=True),
        Check("pairs that occur several times in a word", 0.4, _count_repeated, further=True),
        Check("no words, very short words, a Counter, input unchanged", 0.2, _count_manners, further=True),
    ],
    working=r"""
from collections import Counter
from itertools import pairwise

def count_pairs(words):
    total = Counter()
    for symbols, frequency in words.items():
        total.update({pair: frequency * n for pair, n in Counter(pairwise(symbols)).items()})
    return total
""",
    takes="dict",
    gives="dict",
)
