"""`count_pairs`: neighbours weighted by their word's frequency, repeated pairs, symbols longer than a letter."""

from collections import Counter
from typing import Any

from autograder.spec import Check, Exercise, ValuesDiffer, Wrong, kind

from .sequence_checks import LOWER, STORY, Asked, listed, of, spelt


def _same_counts(got: Any, expected: Counter, _: str, where: str, _exactly: bool) -> None:
    if not isinstance(got, dict):
        raise Wrong(f"A dictionary from pairs to numbers is asked for {where}; yours is {kind(got)}.")
    got = {pair: n for pair, n in got.items() if n != 0}  # a Counter says 0 for what it does not hold
    if any(type(pair) is not tuple or len(pair) != 2 for pair in got):
        raise Wrong(f"The keys should be pairs of symbols, tuples of two strings {where}.")
    if set(expected) - set(got):
        raise ValuesDiffer(f"Pairs that stand side by side are missing {where}.")
    if set(got) - set(expected):
        raise ValuesDiffer(f"Pairs are counted that do not stand side by side {where}.")
    if got != expected:
        raise ValuesDiffer(f"The pairs are right {where}, but not all of the counts.")


asked = Asked("count_pairs", "The counts", listed, _same_counts)
VALUES = (LOWER, of(aba=3, ab=2), spelt(STORY), of(banana=2, anna=7), of(abc=1))

SYMBOLS = (
    *({("lo", "w", "er"): 2, ("lo", "w"): 5, ("l", "ow"): 3}, {("a", "bc"): 2, ("ab", "c"): 3}),
    *(spelt("low low lowest newer", "</w>"), {("এ", "\u0995\u09be"): 2, ("ọ", "🙂", "ọ", "🙂"): 4}),
)

REPEATED = (of(aaa=1), of(aaaa=3, aa=2), of(abab=2, baab=5), {("ab", "ab", "ab"): 4})
SHORT: Any = ({}, {("a",): 4}, {("a",): 4, ("b",): 2, ("a", "b"): 1}, LOWER)

EXERCISE = Exercise(
    Check("adjacent pairs, weighted by the frequency of their word", 1.0, asked(*VALUES)),
    Check("symbols of several characters", 0.4, asked(*SYMBOLS), dependent=True),
    Check("pairs that occur several times in a word", 0.4, asked(*REPEATED), dependent=True),
    Check("no words, very short words, input unchanged", 0.2, asked(*SHORT, changes="words"), dependent=True),
    takes="dict",
    gives="dict",
    harmless=("other_signature", "global_generator"),
    library_equivalent=r"""
def count_pairs(words):
    pairs = defaultdict(int)
    for word in words:
        for i in range(1, len(word)):
            pairs[word[i - 1], word[i]] += words[word]
    return Counter(pairs)
""",
)
