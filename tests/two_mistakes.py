"""Draws answers with two catalogued mistakes at once: two random edits of the same reference."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.judge.diagnosis import fingerprint_store
from autograder.judge.diagnosis.fingerprints import replies_of
from autograder.judge.diagnosis.reply_hash import compare, reply_hash
from autograder.judge.mark import Verdict, mark
from autograder.judge.run_check import student_with_answer
from autograder.spec.catalogue import Edited, replaced
from autograder.spec.common_mistakes import COMMON_MISTAKES
from autograder.spec.exercise import Exercise


@dataclass(frozen=True)
class Two:
    """A program with two mistakes, and their names."""

    names: frozenset[str]
    source: str


@dataclass(frozen=True)
class _Edits:
    """A catalogued variant of the reference: edits of its text, or a slip, by its index among the slip's variants."""

    name: str
    edits: tuple[tuple[str, str], ...] = ()
    slip: int = -1


def drawn(exercise: Exercise, count: int, seed: int = 0) -> Iterator[Two]:
    """Yield up to `count` answers that lose marks and answer like no single catalogued variant."""
    chance = random.Random(f"{exercise.name} {seed}")
    variants = list(_versions(exercise))
    found = 0
    for _ in range(12 * count):
        one, other = chance.sample(variants, 2)
        source = _both(exercise, one, other)
        if one.name == other.name or source is None or not _is_new(exercise, source):
            continue
        yield Two(frozenset((one.name, other.name)), source)
        found += 1
        if found == count:
            return


def _versions(exercise: Exercise) -> Iterator[_Edits]:
    for mistake in exercise.catalogue.wrong:
        for variant in mistake.expanded():
            if isinstance(variant, Edited) and variant.base is None:
                yield _Edits(mistake.name, tuple(variant.edits.items()))
    for name, made in exercise.common.items():
        yield from (_Edits(name, slip=number) for number in range(len(made)))


def _both(exercise: Exercise, one: _Edits, other: _Edits) -> str | None:
    """Return the reference with both edits, or None if their order matters or one cannot be applied."""
    if one.slip >= 0 and other.slip >= 0:
        return None
    if other.slip < 0 <= one.slip:
        one, other = other, one
    first = _applied(exercise, exercise.source, one)
    both = None if first is None else _applied(exercise, first, other)
    if both is None or other.slip >= 0:
        return both
    second = _applied(exercise, exercise.source, other)
    return both if second is not None and _applied(exercise, second, one) == both else None


def _applied(exercise: Exercise, source: str, variant: _Edits) -> str | None:
    if variant.slip >= 0:
        [slip] = [slip for slip in COMMON_MISTAKES if slip.name == variant.name]
        try:
            made = exercise.with_common_mistake(slip, source)
        except SyntaxError:
            return None
        return made[variant.slip] if variant.slip < len(made) else None
    for old, new in variant.edits:
        if old not in source:
            return None
        source = replaced(source, old, new)
    return source


def _is_new(exercise: Exercise, source: str) -> bool:
    """Return True if the source loses marks and no catalogued variant that passes the same checks fails like it."""
    try:
        replies = replies_of(exercise, source)
    except SyntaxError:
        return False
    known, hashes = fingerprint_store.of(exercise.name), [reply_hash(line.replies) for line in replies]
    failed = [column for column, line in enumerate(replies) if line.failed]
    passed = [column for column, line in enumerate(replies) if not line.failed]
    return bool(failed) and not any(
        not known.failed[row, passed].any()
        and all(compare(hashes[column], known.reply_hash(row, column)) is not False for column in failed)
        for row in range(len(known.variants))
    )


def marked(exercise: Exercise, two: Two) -> Verdict:
    return mark(exercise.name, student_with_answer(exercise, two.source))


def outcome(exercise: Exercise, two: Two, verdict: Verdict) -> str:
    """Return "both", "one" or "none" for the mistakes named, "wrong" if another one was. Symptoms do not count."""
    named = {one.mistake for one in verdict.diagnoses if one.sentence == exercise.sentences.get(one.mistake)}
    if named - two.names:
        return "wrong"
    return {0: "none", 1: "one", 2: "both"}[len(named)]
