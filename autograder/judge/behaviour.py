"""How a wrong answer behaves where nothing catalogued explains it: enough to tell whether two students' do the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .diagnosis import Diagnosis, Line
from .sketch import Sketch, sketch, verdict
from .student import SYMPTOMS

STOPS = SYMPTOMS["raised"]  # by an error that nothing catalogued gives
FIELDS = ("digest", "words", "single", "double", "near", "far")


def unexplained(lines: Sequence[Line], diagnoses: Sequence[Diagnosis]) -> list[str]:
    """The lines that were judged, failed, and are explained by no named mistake; that it stops is no explanation."""
    explained = {title for one in diagnoses if one.mistake != STOPS for title in one.checks}
    return [line.title for line in lines if not line.passed and line.judged and line.title not in explained]


def behaviour(titles: Sequence[str], record: dict[str, list[Any]]) -> dict[str, dict]:
    """By check, a sketch of what was answered, as plain data."""
    return {title: _packed(sketch(record[title])) for title in titles if record.get(title)}


def alike(one: dict[str, dict], other: dict[str, dict]) -> bool:
    """Whether two behaviours are the same as far as sketches can tell; those of different checks are not."""
    return one.keys() == other.keys() and all(
        verdict(_unpacked(one[title]), _unpacked(other[title])) is not False
        and one[title]["words"] == other[title]["words"]
        for title in one
    )


def _packed(found: Sketch) -> dict[str, Any]:
    return {
        field: value.tolist() if isinstance(value := getattr(found, field), np.ndarray) else value for field in FIELDS
    }


def _unpacked(data: dict[str, Any]) -> Sketch:
    return Sketch(
        int(data["digest"]),
        int(data["words"]),
        np.asarray(data["single"], np.float64),
        np.asarray(data["double"], np.float64),
        tuple(data["near"]),
        tuple(data["far"]),
    )
