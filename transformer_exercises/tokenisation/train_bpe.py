"""`train_bpe`: merges in their order, ties that only the right rule breaks, words that run out of pairs.

The mistakes: ties by first sight, frequencies forgotten, counts not brought up to date, one merge too many or too few.
"""

from __future__ import annotations

from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Check, Exercise, Wrong
from autograder.spec.student import Student

from .common import LOWER, STORY, as_before, exactly_same, same_sequence, spelt, weighted

train_bpe = reference("train_bpe")


def _of(**words: int) -> dict[tuple[str, ...], int]:
    return {tuple(word): frequency for word, frequency in words.items()}


BANANAS = "banana bandana anna nab cabana ban nana band canal an ana ba"


def _learns(*cases: tuple[dict, int, str]) -> Asking:
    def ask(student: Student) -> None:
        for words, num_merges, text in cases:
            with student.case():
                where = f"for {text} and num_merges = {num_merges}"
                got = student.value("train_bpe", words, num_merges, where=where)
                if isinstance(got, (list, tuple)) and any(not isinstance(pair, (list, tuple)) for pair in got):
                    raise Wrong(f"The list of merges should hold pairs (left, right) {where}.")
                same_sequence(got, train_bpe(words, num_merges), "The list of merges", where)

    return ask


def _learn_manners(student: Student) -> None:
    for words, num_merges, text in (
        (dict(LOWER), 3, "low ×5, lower ×2, newest ×6, widest ×3"),
        (_of(ab=2, abc=3), 1, "ab, abc"),
    ):
        with student.case():
            where = f"for {text} and num_merges = {num_merges}"
            answer = student.call("train_bpe", [words, num_merges], where=where, after=True)
            exactly_same(answer["value"], train_bpe(words, num_merges), "The list of merges", where)
            as_before(answer["after"], [words, num_merges], "words")


EXERCISE = Exercise(
    points=6,
    checks=[
        Check(
            "the most frequent pair first",
            2.0,
            _learns(
                (_of(low=8, lower=5, newest=13, widest=2, west=3, wes=30, lo=21, est=70), 5, "eight words"),
                (_of(rug=10, pug=5, hug=12, bun=4, hugs=5, pun=12, gs=1), 5, "rug, pug, hug and others"),
                (weighted(STORY, 31), 17, "the words of a story"),
                (_of(abc=2, ab=1), 2, "abc ×2, ab ×1"),
                (_of(abab=5, baba=3, ab=2, bab=7), 4, "abab, baba, ab, bab"),
                (_of(aaaa=3, aab=4, baa=9), 4, "aaaa, aab, baa"),
                (_of(aaa=4, bc=6), 2, "aaa ×4, bc ×6"),
            ),
        ),
        Check(
            "ties go to the lexicographically smallest pair",
            1.5,
            _learns(
                (LOWER, 4, "low ×5, lower ×2, newest ×6, widest ×3"),
                (_of(zy=2, ba=2, ab=2), 3, "zy, ba and ab, twice each"),
                ({("a", "z"): 2, ("ab", "a"): 2}, 2, "(a, z) and (ab, a), twice each"),
                (_of(xy=4, xZ=4, Xy=4, éx=4), 4, "xy, xZ, Xy and éx, four times each"),
                ({("b", "c"): 3, ("a", "zz"): 3, ("a", "b"): 3, ("aa", "a"): 3}, 4, "four pairs, three times each"),
                (spelt(STORY), 12, "the words of a story, as often as they occur"),
            ),
        ),
        Check(
            "merges build on earlier merges",
            1.0,
            _learns(
                (weighted(STORY, 37, "</w>"), 15, "the words of a story that end in </w>"),
                (weighted(BANANAS, 51), 10, "banana and words like it"),
                ({("t", "he", "n"): 3, ("th", "e"): 5, ("th", "en"): 4}, 3, "words of longer symbols"),
                (_of(thinking=3, think=2), 6, "thinking ×3, think ×2"),
                (_of(aaab=5, caaa=3), 4, "aaab ×5, caaa ×3"),
            ),
        ),
        Check(
            "stops early, no merges, no words",
            1.0,
            _learns(
                (_of(abc=2, ab=1), 10, "abc ×2, ab ×1"),
                (LOWER, 0, "low ×5, lower ×2, newest ×6, widest ×3"),
                ({}, 3, "no words at all"),
                ({("a",): 4, ("b",): 2}, 2, "words of one symbol"),
                (_of(a=3, banana=1), 50, "a ×3, banana ×1"),
                (_of(ab=1), 1, "ab ×1"),
            ),
        ),
        Check("a list of tuples, input unchanged", 0.5, _learn_manners, further=True),
    ],
    working=r"""
from collections import Counter

def train_bpe(words, num_merges):
    def join(symbols, pair):
        out = []
        for symbol in symbols:
            if out and (out[-1], symbol) == pair:
                out[-1] += symbol
            else:
                out.append(symbol)
        return out

    spelt, merges = [(list(word), n) for word, n in words.items()], []
    while len(merges) < num_merges:
        counts = Counter()
        for symbols, n in spelt:
            for pair in zip(symbols, symbols[1:]):
                counts[pair] += n
        if not counts:
            break
        merges.append(min(counts, key=lambda pair: (-counts[pair], pair)))
        spelt = [(join(symbols, merges[-1]), n) for symbols, n in spelt]
    return merges
""",
    takes="dict",
    gives="list",
)
