"""Merge two catalogued variants into one program, if they change different places of the reference."""

import difflib
import functools
import itertools
import re
from collections import Counter

from ...spec.common_mistakes import COMMON_MISTAKES, CommonMistake
from ...spec.course import exercise

TOKENS = re.compile(r"\w+|[^\S\n]+|.|\n", re.DOTALL)
MAX_CHANGED = 0.5  # share of the reference; a variant that changes more is another answer, not an edit of this one

Change = tuple[int, int, tuple[str, ...]]  # start and end in the reference's tokens, and the tokens there instead


def composed(name: str, one: str, other: str) -> str | None:
    """Return a right answer with the changes of two variants: the reference, or else one in another style.

    None if they conflict, or if none is near both.
    """
    # A common mistake can be made from any program, so it is applied last
    for first, common in ((one, other), (other, one)):
        if made := _common_mistakes(name).get(common):
            return _with_common_mistake(name, first, *made)
    right = exercise(name).source
    if _changes(right, one) is None and _changes(right, other) is None:
        right = next((text for text in _other_styles(name) if _changes(text, one) and _changes(text, other)), right)
    reference = _words(right)
    one_changes, other_changes = _changes(right, one), _changes(right, other)
    if one_changes is None or other_changes is None or _conflict(reference, one_changes, other_changes):
        return None
    result: list[str] = []
    position = 0
    for start, end, tokens in sorted((*one_changes, *other_changes)):
        result += [*reference[position:start], *tokens]
        position = end
    source = "".join([*result, *reference[position:]])
    return None if source in (one, other) else source


@functools.cache
def _other_styles(name: str) -> list[str]:
    """Return the catalogued right answers: variants that change most of the reference may be edits of one of them."""
    return [source for entry in exercise(name).alternatives for source in entry.sources]


def _conflict(reference: tuple[str, ...], one: tuple[Change, ...], other: tuple[Change, ...]) -> bool:
    """Return whether changes in one line touch, or most of a line is changed by one variant and some by the other.

    Together they could make any third program of that line.
    """
    line_of = [*itertools.accumulate(word == "\n" for word in reference)]
    line_of.append(line_of[-1])  # of what is added at the end
    size_of = Counter(line_of)
    places = [[i for start, end, _ in changes for i in range(start, max(end, start + 1))] for changes in (one, other)]
    changed = [Counter(line_of[i] for i in each) for each in places]
    shared = changed[0].keys() & changed[1].keys()
    if any(2 * count[line] > size_of[line] for count in changed for line in shared):
        return True
    touching = (max(a[0], b[0]) for a in one for b in other if a[0] <= b[1] and b[0] <= a[1])
    return any(line_of[place] in shared for place in touching)


@functools.lru_cache(maxsize=2048)
def _words(source: str) -> tuple[str, ...]:
    return tuple(TOKENS.findall(source))


@functools.lru_cache(maxsize=8192)
def _changes(right: str, variant: str) -> tuple[Change, ...] | None:
    """Return a variant's changes of a right answer; None if it changes most of it."""
    reference, changed = _words(right), _words(variant)
    if (Counter(reference) - Counter(changed)).total() > MAX_CHANGED * len(reference):
        return None  # so many words are gone wherever the others stand
    shorter = min(len(reference), len(changed))
    before = next((i for i in range(shorter) if reference[i] != changed[i]), shorter)
    after = next((i for i in range(shorter - before) if reference[-1 - i] != changed[-1 - i]), shorter - before)
    old, new = reference[before : len(reference) - after], changed[before : len(changed) - after]
    steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    found = tuple((before + a, before + b, new[c:d]) for step, a, b, c, d in steps if step != "equal")
    return found if sum(end - start for start, end, _ in found) <= MAX_CHANGED * len(reference) else None


@functools.cache
def _common_mistakes(name: str) -> dict[str, tuple[type[CommonMistake], int]]:
    """Return the common mistakes made in the reference, by source: the mistake, and the number of its variant."""
    declared = exercise(name)
    return {
        source: (common, number)
        for common in COMMON_MISTAKES
        for number, source in enumerate(declared.common.get(common.name, ()))
    }


def _with_common_mistake(name: str, source: str, common: type[CommonMistake], number: int) -> str | None:
    declared = exercise(name)
    made = declared.with_common_mistake(common, source)
    known = sum(other is common for other, _ in _common_mistakes(name).values())
    return made[number] if len(made) == known else None
