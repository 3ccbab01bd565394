"""Sketch how a wrong answer behaves if nothing catalogued explains it, to tell whether two students' answers agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..student import SYMPTOMS
from .diagnose import Diagnosis, Line
from .similarity import alike, packed
from .sketch import sketch

__all__ = ["alike", "behaviour", "unexplained"]

STOPS = SYMPTOMS["raised"]  # an error that no catalogued version gives


def unexplained(lines: Sequence[Line], diagnoses: Sequence[Diagnosis]) -> list[str]:
    """Return the titles of judged lines that failed and that no named mistake explains; an error is no explanation."""
    explained = {title for one in diagnoses if one.mistake != STOPS for title in one.checks}
    return [line.title for line in lines if not line.passed and line.judged and line.title not in explained]


def behaviour(titles: Sequence[str], record: dict[str, list[Any]]) -> dict[str, dict]:
    """Return a sketch of the answers to each check, as plain data."""
    return {title: packed(sketch(record[title])) for title in titles if record.get(title)}
