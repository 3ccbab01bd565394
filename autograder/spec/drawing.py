"""Draw sizes, ids and texts near the known ones while inputs are drawn for a submission; else return the known ones.

What a case is about stays: equal parts stay equal, different ones different, 0 and 1 as they are, letters of a script.
"""

import itertools
import random
import re
import string
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from .seeds import drawn

_WORD = re.compile(r"(?<=\s)\S+")  # a word with white space before it


def other_sizes(*known: int) -> tuple[int, ...]:
    """Return sizes within about a third of these."""

    def draw(rng: random.Random) -> tuple[int, ...]:
        new = {0: 0, 1: 1}
        for size in known:
            while size not in new:
                near = rng.randint(max(2, size - size // 3), size + size // 3 + len(known) + 2)
                if near not in new.values():
                    new[size] = near
        return tuple(new[size] for size in known)

    return drawn(known, draw)


def other_lengths(lengths: list[int], longest: int) -> tuple[list[int], int]:
    """Return other lengths and the length of the whole row: full rows stay full, and empty ones empty."""
    (whole,) = other_sizes(longest)

    def draw(rng: random.Random) -> list[int]:
        return [whole if n == longest else n and rng.randint(1, whole) for n in lengths]

    return drawn(lengths, draw), whole


def other_ids(known: list[Any], below: int = 0) -> list[Any]:
    """Return a list of ids, or of such lists, with other ids: all below `below`, if that is given."""

    def draw(rng: random.Random) -> Any:
        found = sorted(set(_leaves(known)))
        others = rng.sample(range(below or 4 * max(map(abs, found), default=0) + 100), len(found))
        return replaced(known, dict(zip(found, others, strict=True)).__getitem__, int)

    return drawn(known, draw)


def other_counts(known: list[Any]) -> list[Any]:
    """Return lists of counts with other numbers, but 0 where it stands."""
    return drawn(known, lambda rng: replaced(known, lambda count: count and rng.randint(1, 9), int))


def shuffled(known: list[Any]) -> list[Any]:
    """Return a list in another order."""
    return drawn(known, lambda rng: rng.sample(known, len(known)))


def other_number(known: float, low: float, high: float) -> float:
    """Return a number between these."""
    return drawn(known, lambda rng: rng.uniform(low, high))


def other_letters(known: Any) -> Any:
    """Return a text, or what holds texts, in other letters: the same for the same, of the same script and case."""

    def draw(rng: random.Random) -> Any:
        small = dict(zip(string.ascii_lowercase, rng.sample(string.ascii_lowercase, 26), strict=True))
        table = small | {letter.upper(): other.upper() for letter, other in small.items()}
        found = sorted({c for text in _leaves(known) if isinstance(text, str) for c in text} - set(table))
        for _, alike in itertools.groupby(sorted(found, key=_kind), key=_kind):
            if letters := [c for c in alike if unicodedata.category(c)[0] == "L"]:
                table |= zip(letters, rng.sample(_alphabet(letters[0]), len(letters)), strict=True)
        return replaced(known, lambda text: "".join(table.get(c, c) for c in text), str)

    return drawn(known, draw)


def _kind(letter: str) -> tuple[int, str]:
    """Return the block of 128 characters in which one stands, and its category."""
    return ord(letter) >> 7, unicodedata.category(letter)


def _alphabet(letter: str) -> list[str]:
    start = ord(letter) & ~127
    return [other for other in map(chr, range(start, start + 128)) if _kind(other) == _kind(letter)]


def other_words(text: str, *others: str) -> str:
    """Return a text in which each word after the first is one of its words or of the others, parted as before."""

    def draw(rng: random.Random) -> str:
        words = [*_WORD.findall(text), *others]
        return _WORD.sub(lambda _: rng.choice(words), text)

    return drawn(text, draw)


def _leaves(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple)):
        return itertools.chain.from_iterable(map(_leaves, value))
    return [value]


def replaced(value: Any, other: Callable[[Any], Any], kind: type) -> Any:
    """Return a value, however nested, in which everything of this type is replaced."""
    if isinstance(value, dict):
        return {replaced(key, other, kind): replaced(item, other, kind) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(item, other, kind) for item in value)
    return other(value) if isinstance(value, kind) else value
