"""`train_bpe`: merges in their order, ties that only the right rule breaks, words that run out of pairs."""

from typing import Any

from autograder.spec import Check, Exercise

from .sequence_checks import LOWER, STORY, Asked, listed, of, spelt, weighted

asked = Asked("train_bpe", "The list of merges", lambda words, n: f"{listed(words)} and num_merges = {n}")

FREQUENT = (
    (of(low=8, lower=5, newest=13, widest=2, west=3, wes=30, lo=21, est=70), 5),
    (of(rug=10, pug=5, hug=12, bun=4, hugs=5, pun=12, gs=1), 5),
    *((weighted(STORY, 31), 17), (of(abc=2, ab=1), 2), (of(abab=5, baba=3, ab=2, bab=7), 4)),
    *((of(aaaa=3, aab=4, baa=9), 4), (of(aaa=4, bc=6), 2)),
)

TIES = (
    *((LOWER, 4), (of(zy=2, ba=2, ab=2), 3), ({("a", "z"): 2, ("ab", "a"): 2}, 2), (of(xy=4, xZ=4, Xy=4, éx=4), 4)),
    *(({("b", "c"): 3, ("a", "zz"): 3, ("a", "b"): 3, ("aa", "a"): 3}, 4), (spelt(STORY), 12)),
)

GROWING = (
    (weighted(STORY, 37, "</w>"), 15),
    (weighted("banana bandana anna nab cabana ban nana band canal an ana ba", 51), 10),
    ({("t", "he", "n"): 3, ("th", "e"): 5, ("th", "en"): 4}, 3),
    *((of(thinking=3, think=2), 6), (of(aaab=5, caaa=3), 4)),
)

ENDS: Any = ((of(abc=2, ab=1), 10), (LOWER, 0), ({}, 3), (of(a=4, b=2), 2), (of(a=3, banana=1), 50), (of(ab=1), 1))
SIDE_EFFECTS = asked((LOWER, 3), (of(ab=2, abc=3), 1), changes="words")

EXERCISE = Exercise(
    Check("the most frequent pair first", 2.0, asked(*FREQUENT)),
    Check("ties go to the lexicographically smallest pair", 1.5, asked(*TIES)),
    Check("merges build on earlier merges", 1.0, asked(*GROWING), dependent=True),
    Check("stops early, no merges, no words", 1.0, asked(*ENDS), dependent=True),
    Check("a list of tuples, input unchanged", 0.5, SIDE_EFFECTS, dependent=True),
    takes="dict",
    gives="list",
    harmless=("other_signature", "global_generator"),
)
