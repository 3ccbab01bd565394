"""Compute, store and look up signatures: the answers of every catalogued wrong version to every check.

A signature is a matrix for each exercise: for each version and check, whether it failed, and a sketch of its answers.
It is stored under a key of the sources that decide what checks test and how answers are read (`keys`), with one row for
each version's own source. Rows of changed sources are never used; new versions are computed alone. Signatures lie with
the course; those that it lacks lie in the user's cache. If the files are unchanged to the letter, a signature is known
to be valid without parsing anything.
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
from ..student import Answer, Student
from . import keys, sketch
from .sketch import KINDS, PROJECTIONS, Sketch

PRECISION = {kind: np.float64 if kind.endswith("double") else np.float32 for kind in KINDS}  # dtypes of the stored sums
FIELDS = ("failed", "strange", "digests", "words", *KINDS)


@dataclass
class Signatures:
    """The signatures of one exercise, in the catalogue's order: `failed` [versions, checks], and the sketches."""

    versions: tuple[str, ...]  # the versions' sources
    names: tuple[str, ...]  # the names of their mistakes
    failed: np.ndarray  # bool [versions, checks]
    strange: np.ndarray  # bool [versions, checks]: the check itself crashed
    digests: np.ndarray  # int64 [versions, checks]
    words: np.ndarray  # int64 [versions, checks]
    single: np.ndarray  # float32 [versions, checks, PROJECTIONS]
    double: np.ndarray  # float64 [versions, checks, PROJECTIONS]
    given_single: np.ndarray  # float32 [versions, checks, PROJECTIONS]
    given_double: np.ndarray  # float64 [versions, checks, PROJECTIONS]

    @classmethod
    def empty(cls, checks: int) -> Signatures:
        flags, digests = np.zeros((0, checks), bool), np.zeros((0, checks), np.int64)
        sums = [np.zeros((0, checks, PROJECTIONS), PRECISION[kind]) for kind in KINDS]
        return cls((), (), flags, flags, digests, digests, *sums)

    def sketch(self, version: int, check: int) -> Sketch:
        sums = np.stack([getattr(self, kind)[version, check].astype(np.float64) for kind in KINDS])
        return Sketch(int(self.digests[version, check]), int(self.words[version, check]), sums)

    def select(self, rows: list[int]) -> Signatures:
        return Signatures(
            tuple(self.versions[row] for row in rows),
            tuple(self.names[row] for row in rows),
            *(getattr(self, name)[rows] for name in FIELDS),
        )

    def joined(self, more: Signatures) -> Signatures:
        return Signatures(
            self.versions + more.versions,
            self.names + more.names,
            *(np.concatenate([getattr(self, name), getattr(more, name)]) for name in FIELDS),
        )


def shipped(name: str) -> Path:
    """Return the path where the course keeps an exercise's signatures."""
    return course.home() / "signatures" / f"{name}.npz"


def cached(name: str, key: str = "") -> Path:
    """Return the path in the user's cache for signatures that the course lacks; the default key is the exercise's.

    The file holds the source key. Its name holds the run key, since another Python or torch may answer differently.
    """
    place = platformdirs.user_cache_path("autograder") / "signatures"
    return place / f"{name}-{keys.run_key(key or keys.exercise_key(name))}.npz"


def write(found: Signatures, file: IO[bytes], key: str, name: str = "") -> None:
    """Write signatures. `name` is the exercise whose whole catalogue they are, in its order."""
    arrays: dict[str, Any] = {field: getattr(found, field) for field in FIELDS}
    arrays["names"] = np.array(found.names, dtype=np.str_)
    arrays["versions"] = np.frombuffer(json.dumps(found.versions).encode(), np.uint8)  # np.str_ pads all to the longest
    if name:
        arrays |= {"letters": np.array(keys.letter_key(name)), "modules": np.array(keys.deciding_modules(name))}
    np.savez_compressed(file, key=np.array(key), **arrays)


def read(file: Path | IO[bytes], key: str = "", name: str = "") -> Signatures:
    """Return the signatures in a file. Raises ValueError if their key is another.

    With `name` instead of `key`: if they are not this exercise's whole catalogue, in order, as its files are now.
    """
    with np.load(file) as kept:
        if name:
            same = str(kept["letters"]) == keys.letter_key(name, tuple(kept["modules"].tolist()))
        else:
            same = str(kept["key"]) == key
        if not same:
            raise ValueError("these signatures are of another state of the exercise")
        versions, names = tuple(json.loads(kept["versions"].tobytes())), tuple(map(str, kept["names"]))
        return Signatures(versions, names, *(kept[field] for field in FIELDS))


def load(path: Path, key: str = "", name: str = "") -> Signatures | None:
    """Return what `read` does, or None where it raises: the file is missing, truncated or outdated."""
    try:
        return read(path, key, name)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def save(found: Signatures, path: Path, key: str, name: str = "") -> None:
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
    """Return the source of every catalogued version of an exercise, in the catalogue's order."""
    return [source for mistake in course.exercise(name).mistakes for source in mistake.sources]


def names_of(name: str) -> tuple[str, ...]:
    """Return the mistake's name for each of these versions."""
    return tuple(mistake.name for mistake in course.exercise(name).mistakes for _ in mistake.sources)


def lock_of(name: str) -> Path:
    path = cached(name).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def load_stored(name: str, key: str) -> Signatures:
    """Return all stored signatures of an exercise under this key, from the course and from the cache, in any order."""
    parts = [found for path in (shipped(name), cached(name)) if (found := load(path, key)) is not None]
    return functools.reduce(Signatures.joined, parts, Signatures.empty(len(course.exercise(name).checks)))


def missing(name: str) -> list[int]:
    """Return the numbers of an exercise's catalogued versions that have no stored signatures."""
    there = set(load_stored(name, keys.exercise_key(name)).versions)
    return [row for row, source in enumerate(sources_of(name)) if source not in there]


def compute(name: str, rows: Sequence[int]) -> Signatures:
    """Compute the signatures of these versions of the catalogue, given by number, in this process."""
    exercise = course.exercise(name)
    sources = [sources_of(name)[row] for row in rows]
    answers = [answers_of(exercise, source) for source in sources]
    sketches = [[sketch.sketch(line.answers) for line in lines] for lines in answers]
    return Signatures(
        tuple(sources),
        tuple(names_of(name)[row] for row in rows),
        np.array([[line.failed for line in lines] for lines in answers]),
        np.array([[line.strange for line in lines] for lines in answers]),
        np.array([[one.digest for one in line] for line in sketches], np.int64),
        np.array([[one.words for one in line] for line in sketches], np.int64),
        *(np.array([[one.sums[n] for one in line] for line in sketches], PRECISION[k]) for n, k in enumerate(KINDS)),
    )


@dataclass
class Answers:
    """The answers of one version to one check."""

    failed: bool
    strange: bool
    answers: list[Answer]


def answers_of(exercise: Exercise, source: str) -> list[Answers]:
    """Return a version's answers to every check of its exercise."""
    student = student_with_answer(exercise, source)
    return [answer_to(exercise, check, student) for check in exercise.checks]


def answer_to(exercise: Exercise, check: Check, student: Student) -> Answers:
    failed = strange = False
    try:
        shared_cache.run(exercise, check, student)
    except Wrong as wrong:
        failed, strange = True, wrong.__cause__ is not None
    return Answers(failed, strange, student.record[check.title])
