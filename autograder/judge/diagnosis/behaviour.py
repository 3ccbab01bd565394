"""Keep how wrong answers behave as plain data, a hash for each check, and compare them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..student import RecordedReplies
from .reply_hash import ReplyHash, compare, reply_hash

Behaviour = dict[str, dict[str, Any]]  # by the checks' titles


def behaviour(titles: Iterable[str], replies: RecordedReplies) -> Behaviour:
    return {title: packed(reply_hash(replies[title])) for title in titles if replies.get(title)}


def packed(found: ReplyHash) -> dict[str, Any]:
    return vars(found) | {"sums": found.sums.tolist()}


def alike(one: Behaviour, other: Behaviour) -> bool:
    """Return whether two behaviours are the same as far as reply hashes can tell; those of different checks are not.

    Data with other fields, from an earlier variant of this package, are like nothing.
    """
    try:
        pairs = [(_unpacked(**one[title]), _unpacked(**other[title])) for title in one.keys() | other.keys()]
    except (KeyError, TypeError):
        return False
    return all(
        compare(actual, expected) is not False and actual.error_hash == expected.error_hash
        for actual, expected in pairs
    )


def _unpacked(digest: Any, error_hash: Any, sums: Any, near: Any, far: Any) -> ReplyHash:
    return ReplyHash(int(digest), int(error_hash), np.asarray(sums, np.float64), tuple(near), tuple(far))
