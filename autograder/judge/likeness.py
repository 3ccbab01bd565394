"""Sketches of answers as plain data, and whether two students' are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sketch import Sketch, verdict

FIELDS = ("digest", "words", "single", "double", "near", "far")


def alike(one: dict[str, dict], other: dict[str, dict]) -> bool:
    """Whether two behaviours are the same as far as sketches can tell; those of different checks are not."""
    return one.keys() == other.keys() and all(
        verdict(_unpacked(one[title]), _unpacked(other[title])) is not False
        and one[title]["words"] == other[title]["words"]
        for title in one
    )


def packed(found: Sketch) -> dict[str, Any]:
    """A sketch as plain data."""
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
