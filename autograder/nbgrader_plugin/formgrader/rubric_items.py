"""Write a rubric's items into a comment as an ordinary list, and read from a comment which items it gives points for.

The gradebook holds no more than this text, so a mark can be taken up again from any copy of the gradebook.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...judge.formatting import number

NUMBER = r"\d{1,4}(?:[.,]\d{1,4})?|[½¼¾]"
FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75}
ITEM = re.compile(rf"[-*] +(?:({NUMBER}) points?\b:? *)?(.*)", re.IGNORECASE)
HALF = re.compile(r" ?(\(half\b[^()]*\))$", re.IGNORECASE)
LINE = re.compile(rf"(\d{{1,3}})\. ({NUMBER}) of ({NUMBER}) points?: (.+)")
SAME = 0.006  # points: comments have two decimals


@dataclass(frozen=True)
class Item:
    points: float
    sentence: str  # Markdown on one line
    half: str = ""  # the remark on half of its points, in parentheses


@dataclass(frozen=True)
class Line:
    """A line of a comment that gives points for an item, as the item was then."""

    number: int  # of the item, from 1
    earned: float
    points: float
    sentence: str

    @property
    def level(self) -> float:
        """Return the share of the item's points."""
        for share in (0.0, 0.5, 1.0):
            if abs(self.earned - share * self.points) < SAME:
                return share
        return round(min(self.earned / self.points, 1), 2) if self.points else 0.0


@dataclass(frozen=True)
class Reading:
    """A comment compared with the rubric as it is now."""

    levels: tuple[float, ...] | None  # by item; None if no line is an item's
    note: str  # all other text; here lines of earlier items are kept
    earned: float  # sum of the lines, as they are
    change: str = ""  # the comment with all its lines as the rubric has them now, where that is another
    changed_levels: tuple[float, ...] = ()
    differences: tuple[str, ...] = ()  # sentences: what the items were in the comment's lines
    reason: str = ""  # a sentence: why the lines cannot all be taken over into the rubric as it is now


def items_of(rubric: str, points: float) -> tuple[Item, ...]:
    """Return the items of a rubric: the list in its text. Items without points share the answer's points equally."""
    found: list[list[str]] = []
    for line in rubric.splitlines():
        if ITEM.fullmatch(line):
            found.append([line])
        elif found and line.startswith(" ") and line.strip():
            found[-1].append(line)
    items = []
    for lines in found:
        match = ITEM.fullmatch(" ".join(" ".join(lines).split()))
        assert match is not None
        sentence = HALF.sub("", match[2])
        half = HALF.search(match[2])
        worth = _number(match[1]) if match[1] else points / len(found)
        items.append(Item(worth, sentence, half[1] if half else ""))
    return tuple(items)


def total(items: Sequence[Item], levels: Sequence[float], most: float) -> float:
    """Return the points for these shares of the items, at most the answer's."""
    return min(round(sum(item.points * level for item, level in zip(items, levels, strict=True)), 2), most)


def comment_of(items: Sequence[Item], levels: Sequence[float], note: str) -> str:
    """Return the comment: a numbered line for each item, and the note below."""
    lines = []
    for index, (item, level) in enumerate(zip(items, levels, strict=True), 1):
        worth = f"{number(item.points)} point{'' if item.points == 1 else 's'}"
        remark = f" {item.half}" if item.half and 0 < level < 1 else ""
        lines.append(f"{index}. {number(item.points * level)} of {worth}: {item.sentence}{remark}")
    return "\n".join(lines) + (f"\n\n{note.strip()}" if note.strip() else "")


def read(comment: str, items: Sequence[Item]) -> Reading:
    """Return what a comment says of the items."""
    lines, others = [], []
    for text in comment.splitlines():
        if match := LINE.fullmatch(text.strip()):
            sentence = HALF.sub("", match[4])
            lines.append((Line(int(match[1]), _number(match[2]), _number(match[3]), sentence), text))
        else:
            others.append(text)
    earned = round(sum(line.earned for line, _ in lines), 2)
    note = "\n".join(others).strip()
    place = {item.sentence: index for index, item in enumerate(items)}
    known = {place[line.sentence]: line for line, _ in lines if line.sentence in place}
    earlier = [(line, text) for line, text in lines if line.sentence not in place]
    kept = "\n\n".join(filter(None, ["\n".join(text.strip() for _, text in earlier), note]))
    levels = tuple(known[index].level if index in known else 0.0 for index in range(len(items))) if known else None
    if not lines:
        return Reading(None, note, 0.0)

    after = dict(known)
    for line, _ in earlier:  # an item that was put in other words keeps its number
        if not 0 < line.number <= len(items) or line.number - 1 in after:
            reason = f"The rubric no longer has the item “{line.sentence}”."
            return Reading(levels, kept, earned, reason=reason)
        after[line.number - 1] = line
    for index, item in enumerate(items):
        if index not in after:
            return Reading(levels, kept, earned, reason=f"The rubric has a new item: “{item.sentence}”.")
    current = tuple(after[index].level for index in range(len(items)))
    differences = []
    for index, item in enumerate(items):
        if abs(after[index].points - item.points) >= SAME:
            differences.append(
                f"Item {index + 1} was worth {number(after[index].points)}, and is worth {number(item.points)}."
            )
        if after[index].sentence != item.sentence:
            differences.append(f"Item {index + 1} read “{after[index].sentence}”.")
        elif after[index].number != index + 1:
            differences.append(f"Item {index + 1} was item {after[index].number}.")
    change = comment_of(items, current, note) if differences else ""
    return Reading(levels, kept, earned, change, current if change else (), tuple(differences))


def _number(text: str) -> float:
    return FRACTIONS[text] if text in FRACTIONS else float(text.replace(",", "."))
