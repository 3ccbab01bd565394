"""Compute what a named mistake costs: the mark of an answer that is right otherwise.

The lines of a rubric are not independent: one early mistake fails nearly all of them. So if named mistakes explain
everything that failed, the points less the cost of these mistakes are a second score, and the better of the two
counts. The cost depends on the mistake's severity in the exercise (a slip, a misconception, or the point of the
exercise missed), and never exceeds the lines that the mistake fails by itself. The default shares are defined here;
`costs.toml`, in the folder of `nbgrader_config.py`, may change them.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...spec.catalogue import FUNDAMENTAL, MINOR, MISCONCEPTION, SEVERITIES
from ...spec.course import exercise, root
from ...spec.exercise import Exercise
from ..formatting import number

if TYPE_CHECKING:
    from .fingerprints import Fingerprints  # needs torch, which commands that mark nothing do not

FILE = "costs.toml"
NOTHING_SAVED = 1.0  # a share that costs everything, so that the lines alone decide
PRECISION = 1 / 4  # of a slip: for computing in single precision and giving the dtype back, in every exercise
SMALLEST = 0.01  # the least points that a mistake costs, so that no mark is full


class CostsError(ValueError):
    """The file holds an invalid value; the message says which."""


@dataclass(frozen=True)
class Costs:
    """The shares of an exercise's points lost by severity, and the costs of single mistakes, by exercise and name."""

    slip: float = 0.25
    misconception: float = 0.5
    single: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)

    def of(self, name: str, mistake: str, severity: str) -> float:
        """Return the share of its points that an exercise loses by a mistake if all else is right."""
        setting = self.single.get(name, {}).get(mistake)
        if isinstance(setting, float):
            return setting
        if mistake == "single_precision_inside" and not setting and self.slip < 1:
            return PRECISION * self.slip
        shares = {MINOR: self.slip, FUNDAMENTAL: NOTHING_SAVED}
        return shares.get(self.severity(name, mistake, severity), self.misconception)

    def severity(self, name: str, mistake: str, severity: str) -> str:
        """Return a mistake's severity: the file's, else the exercise's, whatever the mistake costs."""
        setting = self.single.get(name, {}).get(mistake)
        return setting if isinstance(setting, str) else severity or MISCONCEPTION


@functools.cache
def costs() -> Costs:
    path = root() / FILE
    try:
        text = path.read_text("utf-8-sig") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise CostsError(f"{path} cannot be read: {error}") from error
    return read(text, path)


def read(text: str, path: Path = Path(FILE)) -> Costs:
    """Return the costs in the text of the file. Raises `CostsError` if a value is invalid."""
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CostsError(f"{path} cannot be read: {error}") from None
    shares = {
        severity: _share(settings.pop(severity, getattr(Costs, severity)), severity, path)
        for severity in (MINOR, MISCONCEPTION)
    }
    if shares[MINOR] > shares[MISCONCEPTION]:
        raise CostsError(f"{path}: a slip costs more than a misconception")
    single = {name: _single(name, entries, path) for name, entries in settings.items()}
    return Costs(shares[MINOR], shares[MISCONCEPTION], single)


def _single(name: str, entries: Any, path: Path) -> dict[str, str | float]:
    if not isinstance(entries, dict):
        raise CostsError(f"{path}: {name!r} is none of {MINOR}, {MISCONCEPTION} and [the name of an exercise]")
    try:
        known = exercise(name).sentences
    except ValueError as error:
        raise CostsError(f"{path}: {error}") from None
    for mistake in entries:
        if mistake not in known:
            raise CostsError(f"{path}: {name} has no catalogued mistake {mistake!r}: see `autograder mistakes {name}`")
    return {m: cost if cost in SEVERITIES else _share(cost, f"{name}.{m}", path) for m, cost in entries.items()}


def _share(value: Any, key: str, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise CostsError(f"{path}: {key} is {value!r}: a share of the points above 0 and up to 1 is asked for")
    return float(value)


def cost(exercise: Exercise, fingerprints: Fingerprints, variant: int) -> float:
    """Return the share of the points that a catalogued variant costs by itself, at most the lines that it fails."""
    weights = [check.weight for check in exercise.checks]
    failed = sum(weight for weight, wrong in zip(weights, fingerprints.failed[variant], strict=True) if wrong)
    name = fingerprints.names[variant]
    return min(costs().of(exercise.name, name, exercise.severities.get(name, "")), failed / sum(weights))


def by_costs(points: float, shares: Sequence[float]) -> float:
    """Return the points less the cost of these mistakes, below full points and at least 0."""
    return max(0.0, min(round(points * (1 - sum(shares)), 2), round(points - SMALLEST, 2)))


def sentence(exercise: Exercise, mistakes: Sequence[str], earned: float, shares: Sequence[float]) -> str:
    """Return the sentence that tells the student what these mistakes cost."""
    points = exercise.points
    severities = [costs().severity(exercise.name, name, exercise.severities.get(name, "")) for name in mistakes]
    kinds = [f"a {MINOR if severity == MINOR else MISCONCEPTION}" for severity in severities]
    known = exercise.severities  # what else a check met is an error, or a fault that no catalogued mistake explains
    kinds = [kind if name in known else "another fault" for name, kind in zip(mistakes, kinds, strict=True)]
    lost = f"{number(points - earned)} of {number(points)} points"
    alone = [costs().of(exercise.name, name, exercise.severities.get(name, "")) for name in mistakes]
    if any(share > one for share, one in zip(shares, alone, strict=True)):
        return f"This is {' and '.join(kinds)} beside another, which may be one of several: together they cost {lost}."
    if len(kinds) == 1:
        return f"This is {kinds[0]} in an answer that is right otherwise: it costs {lost}."
    each = " and ".join(f"{kind} ({number(points * share)})" for kind, share in zip(kinds, shares, strict=True))
    return f"These are {each} in an answer that is right otherwise: together they cost {lost}."


def lapses_sentence(exercise: Exercise, share: float) -> str:
    """Return the sentence that tells the student what lapses cost where something else is wrong, too."""
    lost = f"{number(exercise.points * share)} of {number(exercise.points)} points"
    return f"What is named above costs {lost}; the lines are judged as they are without it."
