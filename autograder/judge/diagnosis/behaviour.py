"""How a wrong answer behaves where nothing catalogued explains it: enough to tell whether two students' do the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..student import SYMPTOMS
from .diagnose import Diagnosis, Line
from .similarity import alike, packed
from .sketch import sketch

__all__ = ["alike", "behaviour", "unexplained"]

STOPS = SYMPTOMS["raised"]  # by an error that nothing catalogued gives


def unexplained(lines: Sequence[Line], diagnoses: Sequence[Diagnosis]) -> list[str]:
    """The lines that were judged, failed, and are explained by no named mistake; that it stops is no explanation."""
    explained = {title for one in diagnoses if one.mistake != STOPS for title in one.checks}
    return [line.title for line in lines if not line.passed and line.judged and line.title not in explained]


def behaviour(titles: Sequence[str], record: dict[str, list[Any]]) -> dict[str, dict]:
    """By check, a sketch of what was answered, as plain data."""
    return {title: packed(sketch(record[title])) for title in titles if record.get(title)}
