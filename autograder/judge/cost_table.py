"""Tabulate the points that catalogued mistakes earn, for the guide and for teachers who set their costs."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..spec.catalogue import MISCONCEPTION
from ..spec.course import exercise
from .diagnosis import fingerprint_store
from .formatting import number
from .mark import by_lines, points_of_variant


@dataclass(frozen=True)
class CostRange:
    """The lowest and highest points that variants of a mistake earn: by their lines alone, and as they are marked."""

    exercise: str
    mistake: str
    severity: str
    points: float
    by_lines: tuple[float, float]
    marked: tuple[float, float]


def costs_of(name: str) -> list[CostRange]:
    """Return what all catalogued mistakes of an exercise earn, in the catalogue's order."""
    declared, fingerprints = exercise(name), fingerprint_store.of(name)
    found = []
    for mistake in dict.fromkeys(fingerprints.names):
        variants = [row for row, other in enumerate(fingerprints.names) if other == mistake]
        alone = [by_lines(declared, fingerprints, variant) for variant in variants]
        marks = [points_of_variant(declared, fingerprints, variant) for variant in variants]
        severity = declared.severities.get(mistake, "") or MISCONCEPTION
        spans = (min(alone), max(alone)), (min(marks), max(marks))
        found.append(CostRange(name, mistake, severity, declared.points, *spans))
    return found


def markdown(wanted: Iterable[tuple[str, str]]) -> str:
    """Return a Markdown table of these mistakes, each an exercise and a name."""
    lines = ["| exercise | mistake | grade | points | by its checks | now |", "| --- | --- | --- | --- | --- | --- |"]
    for name, mistake in wanted:
        [one] = [cost_range for cost_range in costs_of(name) if cost_range.mistake == mistake]
        cells = (f"`{name}`", f"`{mistake}`", one.severity, number(one.points), span(one.by_lines), span(one.marked))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def span(marks: tuple[float, float]) -> str:
    """Return "lowest to highest", or the one number if both are equal."""
    return number(marks[0]) if marks[0] == marks[1] else f"{number(marks[0])} to {number(marks[1])}"
