"""Merge two catalogued versions into one program, if they change different places of the reference."""

import difflib
import functools
import itertools
import re

from ...spec.common_mistakes import COMMON_MISTAKES, CommonMistake
from ...spec.course import exercise

WORDS = re.compile(r"\w+|[^\S\n]+|.|\n", re.DOTALL)
MOST = 0.5  # share of the reference; a version that changes more is another answer, not an edit of this one

Change = tuple[int, int, tuple[str, ...]]  # start and end in the reference's words, and the words there instead


def composed(name: str, one: str, other: str) -> str | None:
    """Return the reference of an exercise with the changes of two versions; None if they conflict."""
    for first, slip in ((one, other), (other, one)):  # a slip can be made from any program, so it is applied last
        if made := _slips(name).get(slip):
            return _slipped(name, first, *made)
    reference = _words(exercise(name).source)
    mine, theirs = _changes(name, one), _changes(name, other)
    if mine is None or theirs is None:
        return None
    if _lines(reference, mine) & _lines(reference, theirs):  # two changes of one line can make any other program of it
        return None
    result: list[str] = []
    place = 0
    for start, end, words in sorted((*mine, *theirs)):
        result += [*reference[place:start], *words]
        place = end
    source = "".join([*result, *reference[place:]])
    return None if source in (one, other) else source


def _lines(words: tuple[str, ...], changes: tuple[Change, ...]) -> set[int]:
    """Return the numbers of the lines that these changes touch."""
    line_of = list(itertools.accumulate(word == "\n" for word in words))
    return {line_of[min(at, len(words) - 1)] for start, end, _ in changes for at in range(start, max(end, start + 1))}


@functools.lru_cache(maxsize=2048)
def _words(source: str) -> tuple[str, ...]:
    return tuple(WORDS.findall(source))


@functools.lru_cache(maxsize=2048)
def _changes(name: str, version: str) -> tuple[Change, ...] | None:
    """Return a version's changes of the reference; None if it changes most of it."""
    mine, theirs = _words(exercise(name).source), _words(version)
    shorter = min(len(mine), len(theirs))
    before = next((i for i in range(shorter) if mine[i] != theirs[i]), shorter)
    after = next((i for i in range(shorter - before) if mine[-1 - i] != theirs[-1 - i]), shorter - before)
    old, new = mine[before : len(mine) - after], theirs[before : len(theirs) - after]
    steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    found = tuple((before + a, before + b, new[c:d]) for step, a, b, c, d in steps if step != "equal")
    return found if sum(end - start for start, end, _ in found) <= MOST * len(mine) else None


@functools.cache
def _slips(name: str) -> dict[str, tuple[type[CommonMistake], int]]:
    """Return the slips made from the reference, by source: the slip, and the version's number among its own."""
    declared = exercise(name)
    return {
        source: (slip, number)
        for slip in COMMON_MISTAKES
        for number, source in enumerate(declared.common.get(slip.name, ()))
    }


def _slipped(name: str, source: str, slip: type[CommonMistake], number: int) -> str | None:
    declared = exercise(name)
    made = declared.slipped(slip, source)
    known = sum(other is slip for other, _ in _slips(name).values())
    return made[number] if len(made) == known else None
