"""Compute, store and look up fingerprints: the replies of every catalogued wrong variant to every check.

A fingerprint is a matrix for each exercise: for each variant and check, whether it failed, and a hash of its replies.
It is stored under a key of the sources that decide what checks test and how replies are read (`keys`), with one row for
each variant's own source. Rows of changed sources are never used; new variants are computed alone. Fingerprints lie
with the course; those that it lacks lie in the user's cache. If the files are unchanged to the letter, a fingerprint
is known to be valid without parsing anything.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import platformdirs

from ...spec import course
from ...spec.exercise import Check, Exercise, Wrong
from ..check_cache import shared_cache
from ..run_check import student_with_answer
from ..student import Reply, Student
from . import keys, reply_hash
from .reply_hash import KINDS, PROJECTIONS, ReplyHash

PRECISION = {kind: np.float64 if kind.endswith("double") else np.float32 for kind in KINDS}  # dtypes of the stored sums
FIELDS = ("failed", "strange", "digests", "error_hashes", *KINDS)


@dataclass
class Fingerprints:
    """The fingerprints of one exercise, in the catalogue's order: `failed` [variants, checks], and the reply hashes."""

    variants: tuple[str, ...]  # the variants' sources
    names: tuple[str, ...]  # the names of their mistakes
    failed: np.ndarray  # bool [variants, checks]
    strange: np.ndarray  # bool [variants, checks]: the check itself crashed
    digests: np.ndarray  # int64 [variants, checks]
    error_hashes: np.ndarray  # int64 [variants, checks]
    single: np.ndarray  # float32 [variants, checks, PROJECTIONS]
    double: np.ndarray  # float64 [variants, checks, PROJECTIONS]
    input_single: np.ndarray  # float32 [variants, checks, PROJECTIONS]
    input_double: np.ndarray  # float64 [variants, checks, PROJECTIONS]

    @classmethod
    def empty(cls, checks: int) -> Fingerprints:
        flags, digests = np.zeros((0, checks), bool), np.zeros((0, checks), np.int64)
        sums = [np.zeros((0, checks, PROJECTIONS), PRECISION[kind]) for kind in KINDS]
        return cls((), (), flags, flags, digests, digests, *sums)

    def reply_hash(self, variant: int, check: int) -> ReplyHash:
        sums = np.stack([getattr(self, kind)[variant, check].astype(np.float64) for kind in KINDS])
        return ReplyHash(int(self.digests[variant, check]), int(self.error_hashes[variant, check]), sums)

    def select(self, rows: list[int]) -> Fingerprints:
        return Fingerprints(
            tuple(self.variants[row] for row in rows),
            tuple(self.names[row] for row in rows),
            *(getattr(self, name)[rows] for name in FIELDS),
        )

    def joined(self, more: Fingerprints) -> Fingerprints:
        return Fingerprints(
            self.variants + more.variants,
            self.names + more.names,
            *(np.concatenate([getattr(self, name), getattr(more, name)]) for name in FIELDS),
        )


def shipped(name: str) -> Path:
    """Return the path where the course keeps an exercise's fingerprints."""
    return course.home() / "fingerprints" / f"{name}.npz"


def cached(name: str, key: str = "") -> Path:
    """Return the path in the user's cache for fingerprints that the course lacks; the default key is the exercise's.

    The file holds the results key. Its name holds the run key, since another Python or torch may answer differently.
    """
    folder = platformdirs.user_cache_path("autograder") / "fingerprints"
    return folder / f"{name}-{keys.run_key(key or keys.results_key(name))}.npz"


def write(found: Fingerprints, file: IO[bytes], key: str, name: str = "") -> None:
    """Write fingerprints. `name` is the exercise whose whole catalogue they are, in its order."""
    arrays: dict[str, Any] = {field: getattr(found, field) for field in FIELDS}
    arrays["names"] = np.array(found.names, dtype=np.str_)
    arrays["variants"] = np.frombuffer(json.dumps(found.variants).encode(), np.uint8)  # np.str_ pads all to the longest
    if name:
        arrays |= {"text_hash": np.array(keys.exact_text_hash(name)), "modules": np.array(keys.deciding_modules(name))}
    np.savez_compressed(file, key=np.array(key), **arrays)


def read(file: Path | IO[bytes], key: str = "", name: str = "") -> Fingerprints:
    """Return the fingerprints in a file. Raises ValueError if their key is another.

    With `name` instead of `key`: if they are not this exercise's whole catalogue, in order, as its files are now.
    """
    with np.load(file) as kept:
        if name:
            same = str(kept["text_hash"]) == keys.exact_text_hash(name, tuple(kept["modules"].tolist()))
        else:
            same = str(kept["key"]) == key
        if not same:
            raise ValueError("these fingerprints are of another state of the exercise")
        variants, names = tuple(json.loads(kept["variants"].tobytes())), tuple(map(str, kept["names"]))
        return Fingerprints(variants, names, *(kept[field] for field in FIELDS))


def load(path: Path, key: str = "", name: str = "") -> Fingerprints | None:
    """Return what `read` does, or None where it raises: the file is missing, truncated or outdated."""
    try:
        return read(path, key, name)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def save(found: Fingerprints, path: Path, key: str, name: str = "") -> None:
    """Write in one step: a reader, or a process that is killed meanwhile, sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with open(descriptor, "wb") as file:
            write(found, file, key, name)
        os.chmod(part, 0o644)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def sources_of(name: str) -> list[str]:
    """Return the source of every catalogued variant of an exercise, in the catalogue's order."""
    return [source for mistake in course.exercise(name).mistakes for source in mistake.sources]


def names_of(name: str) -> tuple[str, ...]:
    """Return the mistake's name for each of these variants."""
    return tuple(mistake.name for mistake in course.exercise(name).mistakes for _ in mistake.sources)


def lock_of(name: str) -> Path:
    path = cached(name).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def load_stored(name: str, key: str) -> Fingerprints:
    """Return all stored fingerprints of an exercise under this key, from the course and the cache, in any order."""
    parts = [found for path in (shipped(name), cached(name)) if (found := load(path, key)) is not None]
    return functools.reduce(Fingerprints.joined, parts, Fingerprints.empty(len(course.exercise(name).checks)))


def missing(name: str) -> list[int]:
    """Return the numbers of an exercise's catalogued variants that have no stored fingerprints."""
    there = set(load_stored(name, keys.results_key(name)).variants)
    return [row for row, source in enumerate(sources_of(name)) if source not in there]


def compute(name: str, rows: Sequence[int]) -> Fingerprints:
    """Compute the fingerprints of these variants of the catalogue, given by number, in this process."""
    exercise = course.exercise(name)
    sources = [sources_of(name)[row] for row in rows]
    replies = [replies_of(exercise, source) for source in sources]
    hashes = [[reply_hash.reply_hash(line.replies) for line in lines] for lines in replies]
    return Fingerprints(
        tuple(sources),
        tuple(names_of(name)[row] for row in rows),
        np.array([[line.failed for line in lines] for lines in replies]),
        np.array([[line.strange for line in lines] for lines in replies]),
        np.array([[one.digest for one in line] for line in hashes], np.int64),
        np.array([[one.error_hash for one in line] for line in hashes], np.int64),
        *(np.array([[one.sums[n] for one in line] for line in hashes], PRECISION[k]) for n, k in enumerate(KINDS)),
    )


@dataclass
class CheckReplies:
    """The replies of one variant to one check."""

    failed: bool
    strange: bool
    replies: list[Reply]


def replies_of(exercise: Exercise, source: str) -> list[CheckReplies]:
    """Return a variant's replies to every check of its exercise."""
    student = student_with_answer(exercise, source)
    return [replies_to(exercise, check, student) for check in exercise.checks]


def replies_to(exercise: Exercise, check: Check, student: Student) -> CheckReplies:
    failed = strange = False
    try:
        shared_cache.run(exercise, check, student)
    except Wrong as wrong:
        failed, strange = True, wrong.__cause__ is not None
    return CheckReplies(failed, strange, student.replies[check.title])
