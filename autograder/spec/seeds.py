"""Give checks the seeds of their inputs, and choose between the known inputs and those drawn for one submission."""

import itertools
import random
import zlib
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_seeds = itertools.count()
_drawing = False


def restart_seeds(topic: str, submission_key: str = "") -> None:
    """Restart the seeds for a check: the same topic gives the same inputs each time, in every process.

    With `submission_key`, the secret text of a submission, all inputs are drawn for it, also those otherwise fixed.
    """
    global _seeds, _drawing
    _seeds = itertools.count(1000 * (zlib.crc32((topic + submission_key).encode()) % 1_000_000))
    _drawing = bool(submission_key)


def next_seed() -> int:
    """Return a seed that depends only on the topic, the submission, and the calls since `restart_seeds`."""
    return next(_seeds)


def drawn(known: T, draw: Callable[[random.Random], T]) -> T:
    """Return a fixed input as it is, or one that `draw` makes while inputs are drawn for a submission."""
    return draw(random.Random(next_seed())) if _drawing else known
