"""Compares the time to learn BPE merges: the simple algorithm, the course's indexed one, and the tokenizers library.

    python tools/benchmarks/bpe.py [corpus.txt]

Each learns 256 merges from a text; counting the words is included. The simple algorithm, which counts all pairs again
for each merge, gets a tenth of the text. Goal: the indexed one takes at most ten times as long as the library.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from timing import ROOT, console, in_turns, seconds, table
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from autograder.spec.course import reference

count_pairs, merge_pair, train_bpe = map(reference, ("count_pairs", "merge_pair", "train_bpe"))

MERGES = 256
CHARACTERS, REPEATS = 500_000, 5
LIMIT = 10.0  # multiple of the library's time


def simple(words: dict, num_merges: int) -> list:
    """Return the merges by the algorithm that most students write first: count all pairs, merge, count all again."""
    merges = []
    for _ in range(num_merges):
        counts = count_pairs(words)
        if not counts:
            break
        merges.append(min(counts, key=lambda pair: (-counts[pair], pair)))
        words = {merge_pair(symbols, merges[-1]): frequency for symbols, frequency in words.items()}
    return merges


def of_the_library(text: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    alphabet = len(set("".join(text.split())))
    trainer = trainers.BpeTrainer(vocab_size=alphabet + MERGES, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    assert tokenizer.get_vocab_size() == alphabet + MERGES, "the text is too short for so many merges"
    return tokenizer


def words_of(text: str) -> dict:
    return Counter(map(tuple, text.split()))


def main(corpus: str = "") -> None:
    path = Path(corpus) if corpus else next(ROOT.glob("solutions/*/stories.txt"))
    text = path.read_text(encoding="utf-8")[:CHARACTERS]
    short = text[: len(text) // 10]
    rows: dict[str, tuple[str, Callable[[], object], int]] = {
        "simple, a tenth": (short, lambda: simple(words_of(short), MERGES), 1),
        "indexed, a tenth": (short, lambda: train_bpe(words_of(short), MERGES), REPEATS),
        "indexed": (text, lambda: train_bpe(words_of(text), MERGES), REPEATS),
        "library": (text, lambda: of_the_library(text), REPEATS),
    }
    assert train_bpe(words_of(short), 20) == simple(words_of(short), 20)
    of_the_library(short)  # warm-up: the first use of a library is slow
    timed = {name: partial(seconds, run) for name, (_, run, _) in rows.items()}
    times = in_turns(timed, {name: count for name, (*_, count) in rows.items()})
    median = {name: statistics.median(measured) for name, measured in times.items()}
    columns = ("characters", "distinct words", "runs", "seconds", "/ library")
    shown = table(f"{MERGES} merges from {path.name}", "", *columns)
    for name, (given, _, count) in rows.items():
        ratio = f"{median[name] / median['library']:.1f}" if given is text else ""
        shown.add_row(name, f"{len(given):,}", f"{len(words_of(given)):,}", str(count), f"{median[name]:.3f}", ratio)
    console.print(shown)
    ratio = median["indexed"] / median["library"]
    print(f"goal: at most {LIMIT:.0f} times the library's time; it took {ratio:.1f} times")


if __name__ == "__main__":
    main(*sys.argv[1:])
