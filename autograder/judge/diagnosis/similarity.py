"""Convert sketches of answers to and from plain data, and compare two students' sketches."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sketch import Sketch, compare

FIELDS = ("digest", "words", "sums", "near", "far")


def alike(one: dict[str, dict], other: dict[str, dict]) -> bool:
    """Return whether two behaviours are the same as far as sketches can tell; those of different checks are not.

    Data with other fields, from an earlier version of this package, are like nothing.
    """
    return one.keys() == other.keys() and all(
        one[title].keys() == other[title].keys() == set(FIELDS)
        and compare(_unpacked(one[title]), _unpacked(other[title])) is not False
        and one[title]["words"] == other[title]["words"]
        for title in one
    )


def packed(found: Sketch) -> dict[str, Any]:
    """Return a sketch as plain data."""
    return {
        field: value.tolist() if isinstance(value := getattr(found, field), np.ndarray) else value for field in FIELDS
    }


def _unpacked(data: dict[str, Any]) -> Sketch:
    return Sketch(
        int(data["digest"]),
        int(data["words"]),
        np.asarray(data["sums"], np.float64),
        tuple(data["near"]),
        tuple(data["far"]),
    )
