"""Cache searches for two mistakes at once: the pairs that explain given answers, or that there are none.

Each entry is a file in the user's cache, named after a hash of the answers, and written in one step: concurrent
processes at worst do the same work twice. Entries are valid for one state of the exercise's files and of the searching
program.
"""

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import platformdirs

from ...spec.exercise import Exercise
from . import keys, pairs
from .behaviour import alike, packed
from .fingerprints import Fingerprints
from .pairs import Pair, StudentReplies

log = logging.getLogger(__name__)

SEARCHING = ("pair_cache", "pairs", "compose")  # modules that decide what a search finds


def explaining_pairs(
    exercise: Exercise, fingerprints: Fingerprints, actual: StudentReplies, first: Sequence[tuple[int, int]] = ()
) -> list[Pair]:
    """Return the pairs that explain these answers, from the cache or by a new search."""
    entry: dict[str, Any] = {
        "failed": {title: packed(one) for title, one in actual.hashes.items()},
        "passed": sorted(actual.passed),
    }
    folder = home(exercise.name)
    path = folder / (hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:24] + ".json")
    if (kept := _read(path, len(fingerprints.variants))) is not None:
        return list(kept["pairs"])
    for other in sorted(folder.glob("*.json")):
        kept = _read(other, len(fingerprints.variants))
        if kept is not None and kept["passed"] == entry["passed"] and alike(kept["failed"], entry["failed"]):
            if not kept["pairs"]:  # the same answers up to rounding had no explanation
                return []
            first = [*(pair.variants for pair in kept["pairs"]), *first]
            break
    found = pairs.search(exercise, fingerprints, actual, first)
    if found is not None:
        _write(path, entry | {"pairs": [asdict(pair) for pair in found]})
    return found or []


def home(name: str) -> Path:
    """Return the folder of the entries that are valid for an exercise in its present state."""
    key = keys.run_key(
        keys.exact_text_hash(name) + keys.files_hash(Path(__file__).with_name(f"{module}.py") for module in SEARCHING)
    )
    return platformdirs.user_cache_path("autograder") / "pairs" / f"{name}-{key}"


def _read(path: Path, variants: int) -> dict[str, Any] | None:
    """Return an entry, with its pairs; None if it is missing or malformed."""
    try:
        entry = json.loads(path.read_text("utf-8"))
        found = [pairs.read(pair) for pair in entry["pairs"]]
        fits = all(0 <= variant < variants for pair in found for variant in pair.variants)
        fits = fits and isinstance(entry["failed"], dict) and isinstance(entry["passed"], list)
        return entry | {"pairs": found} if fits else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(path: Path, entry: dict[str, Any]) -> None:
    """Write an entry in one step. If it cannot be stored, the answer is just as valid."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # other processes may write it, too
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.write_text(json.dumps(entry), "utf-8")
        os.replace(part, path)
    except OSError as error:
        log.warning("what was found out about two mistakes at once cannot be kept: %s", error)
    finally:
        part.unlink(missing_ok=True)
