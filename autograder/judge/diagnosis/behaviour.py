"""Keep how wrong answers behave as plain data, a sketch for each check, and compare them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..student import Record
from .sketch import Sketch, compare, sketch

FIELDS = ("digest", "words", "sums", "near", "far")

Behaviour = dict[str, dict[str, Any]]  # by the checks' titles


def behaviour(titles: Iterable[str], record: Record) -> Behaviour:
    return {title: packed(sketch(record[title])) for title in titles if record.get(title)}


def packed(found: Sketch) -> dict[str, Any]:
    """Return a sketch as plain data."""
    return {field: getattr(found, field) for field in FIELDS} | {"sums": found.sums.tolist()}


def alike(one: Behaviour, other: Behaviour) -> bool:
    """Return whether two behaviours are the same as far as sketches can tell; those of different checks are not.

    Data with other fields, from an earlier version of this package, are like nothing.
    """
    return one.keys() == other.keys() and all(
        one[title].keys() == other[title].keys() == set(FIELDS)
        and compare(_unpacked(one[title]), _unpacked(other[title])) is not False
        and one[title]["words"] == other[title]["words"]
        for title in one
    )


def _unpacked(data: dict[str, Any]) -> Sketch:
    sums = np.asarray(data["sums"], np.float64)
    return Sketch(int(data["digest"]), int(data["words"]), sums, tuple(data["near"]), tuple(data["far"]))
