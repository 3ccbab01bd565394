"""Tabulate the points that catalogued mistakes earn, for the guide and for teachers who set their costs."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..spec.catalogue import MISCONCEPTION
from ..spec.course import exercise
from .diagnosis import signature_store
from .formatting import number
from .mark import by_lines, points_of_version


@dataclass(frozen=True)
class Price:
    """The lowest and highest points that versions of a mistake earn: by their lines alone, and as they are marked."""

    exercise: str
    mistake: str
    grade: str
    points: float
    by_lines: tuple[float, float]
    marked: tuple[float, float]


def prices(name: str) -> list[Price]:
    """Return the prices of all catalogued mistakes of an exercise, in the catalogue's order."""
    declared, signatures = exercise(name), signature_store.of(name)
    found = []
    for mistake in dict.fromkeys(signatures.names):
        versions = [row for row, other in enumerate(signatures.names) if other == mistake]
        alone = [by_lines(declared, signatures, version) for version in versions]
        marks = [points_of_version(declared, signatures, version) for version in versions]
        grade = declared.grades.get(mistake, "") or MISCONCEPTION
        spans = (min(alone), max(alone)), (min(marks), max(marks))
        found.append(Price(name, mistake, grade, declared.points, *spans))
    return found


def markdown(wanted: Iterable[tuple[str, str]]) -> str:
    """Return a Markdown table of these mistakes, each an exercise and a name."""
    lines = ["| exercise | mistake | grade | points | by its checks | now |", "| --- | --- | --- | --- | --- | --- |"]
    for name, mistake in wanted:
        [one] = [price for price in prices(name) if price.mistake == mistake]
        cells = (f"`{name}`", f"`{mistake}`", one.grade, number(one.points), span(one.by_lines), span(one.marked))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def span(marks: tuple[float, float]) -> str:
    """Return "lowest to highest", or the one number if both are equal."""
    return number(marks[0]) if marks[0] == marks[1] else f"{number(marks[0])} to {number(marks[1])}"
