"""Merge two catalogued variants into one program, if they change different places of the reference."""

import difflib
import functools
import itertools
import re

from ...spec.common_mistakes import COMMON_MISTAKES, CommonMistake
from ...spec.course import exercise

WORDS = re.compile(r"\w+|[^\S\n]+|.|\n", re.DOTALL)
MOST = 0.5  # share of the reference; a variant that changes more is another answer, not an edit of this one

Change = tuple[int, int, tuple[str, ...]]  # start and end in the reference's words, and the words there instead


def composed(name: str, one: str, other: str) -> str | None:
    """Return the reference of an exercise with the changes of two variants; None if they conflict."""
    for first, slip in ((one, other), (other, one)):  # a slip can be made from any program, so it is applied last
        if made := _common_mistakes(name).get(slip):
            return _with_common_mistake(name, first, *made)
    reference = _words(exercise(name).source)
    one_changes, other_changes = _changes(name, one), _changes(name, other)
    if one_changes is None or other_changes is None:
        return None
    if _lines(reference, one_changes) & _lines(
        reference, other_changes
    ):  # two changes of one line can make any other program of it
        return None
    result: list[str] = []
    place = 0
    for start, end, words in sorted((*one_changes, *other_changes)):
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
def _changes(name: str, variant: str) -> tuple[Change, ...] | None:
    """Return a variant's changes of the reference; None if it changes most of it."""
    reference, changed = _words(exercise(name).source), _words(variant)
    shorter = min(len(reference), len(changed))
    before = next((i for i in range(shorter) if reference[i] != changed[i]), shorter)
    after = next((i for i in range(shorter - before) if reference[-1 - i] != changed[-1 - i]), shorter - before)
    old, new = reference[before : len(reference) - after], changed[before : len(changed) - after]
    steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    found = tuple((before + a, before + b, new[c:d]) for step, a, b, c, d in steps if step != "equal")
    return found if sum(end - start for start, end, _ in found) <= MOST * len(reference) else None


@functools.cache
def _common_mistakes(name: str) -> dict[str, tuple[type[CommonMistake], int]]:
    """Return the slips made from the reference, by source: the slip, and the variant's number among its own."""
    declared = exercise(name)
    return {
        source: (slip, number)
        for slip in COMMON_MISTAKES
        for number, source in enumerate(declared.common.get(slip.name, ()))
    }


def _with_common_mistake(name: str, source: str, slip: type[CommonMistake], number: int) -> str | None:
    declared = exercise(name)
    made = declared.with_common_mistake(slip, source)
    known = sum(other is slip for other, _ in _common_mistakes(name).values())
    return made[number] if len(made) == known else None
