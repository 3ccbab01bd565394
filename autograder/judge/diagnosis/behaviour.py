"""Keep how wrong answers behave as plain data, a sketch for each check, and compare them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..student import Record
from .sketch import Sketch, compare, sketch

Behaviour = dict[str, dict[str, Any]]  # by the checks' titles


def behaviour(titles: Iterable[str], record: Record) -> Behaviour:
    return {title: packed(sketch(record[title])) for title in titles if record.get(title)}


def packed(found: Sketch) -> dict[str, Any]:
    return vars(found) | {"sums": found.sums.tolist()}


def alike(one: Behaviour, other: Behaviour) -> bool:
    """Return whether two behaviours are the same as far as sketches can tell; those of different checks are not.

    Data with other fields, from an earlier version of this package, are like nothing.
    """
    try:
        pairs = [(_unpacked(**one[title]), _unpacked(**other[title])) for title in one.keys() | other.keys()]
    except (KeyError, TypeError):
        return False
    return all(compare(mine, theirs) is not False and mine.words == theirs.words for mine, theirs in pairs)


def _unpacked(digest: Any, words: Any, sums: Any, near: Any, far: Any) -> Sketch:
    return Sketch(int(digest), int(words), np.asarray(sums, np.float64), tuple(near), tuple(far))
