"""Name the mistake: find the catalogued variant that gives the same replies as the student's code."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...spec.course import exercise
from ...spec.exercise import Exercise
from ...untrusted.wire import is_tensor
from ..run_check import student_with_answer
from ..student import RecordedReplies, Reply, agree
from . import fingerprint_store, mistake_costs, pair_cache
from .fingerprints import replies_to
from .mistake_costs import NOTHING_SAVED
from .pairs import Errors, StudentReplies, errors
from .reply_hash import compare, reply_hash

if TYPE_CHECKING:
    import torch

MAX_DIAGNOSES = 3  # students would not read more


@dataclass
class Line:
    """The outcome of one line of the rubric."""

    title: str
    weight: float
    passed: bool
    message: str = ""
    symptom: str = ""
    judged: bool = True  # False: it failed only because of something that another line tests


@dataclass
class Diagnosis:
    """A named mistake: a catalogued one with the same results as the student's code, or one that shows by itself."""

    mistake: str
    sentence: str
    checks: list[str]  # titles of the checks that it explains
    share: float = NOTHING_SAVED  # share of the points that it costs if all else is right


Explanation = tuple[int, list[str]]  # a catalogued variant's number, and the titles of the checks that it explains


def diagnose(exercise: Exercise, lines: Sequence[Line], replies: RecordedReplies) -> list[Diagnosis]:
    """Return the catalogued mistakes behind the lines that failed; `replies` holds what the student's code returned, by
    check.

    They are named only if they explain every answer that failed: one by itself, each a part of them, or two together in
    one program. Where something is left unexplained, the rest may have another cause, too, so the checks speak.
    """
    failed = {line.title: line.weight for line in lines if not line.passed}
    answered = {title: weight for title, weight in failed.items() if replies.get(title)}
    catalogue = _Catalogue(exercise, replies)
    passed = [title for title in replies if title not in failed]
    alone = _single_mistakes(catalogue, answered, passed)
    found: list[Diagnosis] = []
    if len({title for _, titles in alone for title in titles}) == len(answered):
        for variant, titles in alone:
            _add(found, catalogue.diagnosis(variant, titles, catalogue.cost(variant, titles)))
    if answered and len(found) != 1 and _shows_work(replies):
        found = catalogue.two_mistakes(list(answered), passed, [variant for variant, _ in alone]) or found
    unexplained = [title for title in answered if not any(title in one.checks for one in found)]
    for line in lines:
        if line.title in unexplained and line.symptom and len(found) < MAX_DIAGNOSES:
            _add(found, Diagnosis(line.symptom, line.message, [line.title]))
    # A changed input makes other checks fail as a consequence, so it is named first.
    return sorted(found, key=lambda diagnosis: diagnosis.mistake != "input_changed")


def indistinguishable_variants(exercise: Exercise, lines: Sequence[Line], replies: RecordedReplies) -> list[int]:
    """Return the numbers of the catalogued variants that pass the same checks and answer the failed ones the same.

    Their error messages are the same, too: a diagnosis cannot tell them from this answer.
    """
    failed = [line.title for line in lines if not line.passed]
    catalogue = _Catalogue(exercise, replies)
    return [
        variant
        for variant in catalogue.passing([line.title for line in lines if line.passed])
        if all(
            catalogue.hashes_match(variant, title) and catalogue.error_hashes_match(variant, title) for title in failed
        )
    ]


def _single_mistakes(catalogue: _Catalogue, failed: dict[str, float], passed: Sequence[str]) -> list[Explanation]:
    """Return variants that explain failed checks by themselves, each with the checks that it explains.

    A variant is a candidate if it answers a failed check as the student did and fails nothing that the student passed.
    Of the candidates for the heaviest failed check, the one that explains most of the others is named (among equals,
    the one with the same error messages). Then the same is done for the checks left unexplained. A variant that
    explains all of them beyond doubt is named before others are run for their answers.
    """
    unexplained = dict(failed)
    possible = catalogue.passing(passed)
    found: list[Explanation] = []
    for title in sorted(failed, key=lambda title: -failed[title]):
        if title not in unexplained or len({catalogue.names[variant] for variant, _ in found}) == MAX_DIAGNOSES:
            continue
        best = _best(catalogue, possible, title, unexplained, catalogue.hashes_match)
        # Without doubt: no other variant could explain more of these checks, or match more error messages.
        if (
            best is None
            or best[1] != list(unexplained)
            or not all(catalogue.error_hashes_match(best[0], t) for t in best[1])
        ):
            best = _best(catalogue, possible, title, unexplained, catalogue.replies_match)
        if best is not None:
            found.append(best)
            for other in best[1]:
                del unexplained[other]
    return found


def _best(
    catalogue: _Catalogue,
    possible: Sequence[int],
    title: str,
    weights: dict[str, float],
    match: Callable[[int, str], bool],
) -> Explanation | None:
    """Return the variant that answers this check as the student did and explains most weight, with the checks."""

    def rank(explanation: Explanation) -> tuple[float, int]:
        variant, titles = explanation
        return sum(weights[other] for other in titles), sum(
            catalogue.error_hashes_match(variant, other) for other in titles
        )

    variants = [variant for variant in possible if match(variant, title)]
    explained = [(variant, [other for other in weights if match(variant, other)]) for variant in variants]
    return max(explained, key=rank, default=None)


def _add(found: list[Diagnosis], new: Diagnosis) -> None:
    for old in found:
        if old.mistake == new.mistake:
            old.checks += [title for title in new.checks if title not in old.checks]
            old.share = max(old.share, new.share)
            return
    found.append(new)


class _Catalogue:
    """An exercise's catalogued variants, compared with a student's replies; numbered in the catalogue's order."""

    def __init__(self, exercise: Exercise, replies: RecordedReplies) -> None:
        self.exercise, self.replies = exercise, replies
        self.fingerprints = fingerprint_store.of(exercise.name)
        self.names = self.fingerprints.names
        self.columns = {check.title: column for column, check in enumerate(exercise.checks)}
        self.hash_of = functools.cache(lambda title: reply_hash(replies[title]))

    def passing(self, titles: Sequence[str]) -> list[int]:
        columns = [self.columns[title] for title in titles if title in self.columns]
        return [variant for variant, failed in enumerate(self.fingerprints.failed) if not failed[columns].any()]

    def fails(self, variant: int, title: str) -> bool:
        return bool(self.fingerprints.failed[variant, self.columns[title]])

    def diagnosis(self, variant: int, titles: Sequence[str], share: float) -> Diagnosis:
        name = self.names[variant]
        return Diagnosis(name, self.exercise.sentences[name], list(titles), share)

    def two_mistakes(self, failed: Sequence[str], passed: Sequence[str], alone: Sequence[int]) -> list[Diagnosis]:
        """Return two mistakes that together answer all these checks as the student did, or [] if a search finds none.

        Each costs what it costs alone. If the error messages differ, the mistakes may be others, and cost everything.
        If several pairs answer like that, and their errors do not decide, only the mistakes common to all are returned.
        """
        actual = StudentReplies({t: self.replies[t] for t in failed}, {t: self.hash_of(t) for t in failed}, (*passed,))
        first = list(itertools.combinations(alone, 2))
        found = pair_cache.explaining_pairs(self.exercise, self.fingerprints, actual, first)
        if not found:
            return []
        same_errors = [
            pair for pair in found if all(list(errors(self.replies[t])) == pair.errors.get(t, []) for t in failed)
        ]
        [pair, *others] = same_errors or found
        common = set.intersection(*({self.names[one] for one in each.variants} for each in same_errors or found))
        certain = not others and all(self._errors_match(title, pair.errors.get(title, [])) for title in failed)
        result: list[Diagnosis] = []
        for variant in pair.variants:
            if self.names[variant] in common:
                share = mistake_costs.cost(self.exercise, self.fingerprints, variant) if certain else NOTHING_SAVED
                _add(result, self.diagnosis(variant, [t for t in failed if self.fails(variant, t)], share))
        if not others:  # it also explains the checks that neither fails alone
            result[0].checks += [title for title in failed if not any(title in one.checks for one in result)]
        return result

    def cost(self, variant: int, titles: Sequence[str]) -> float:
        """Return the share that a variant costs; everything if its error messages differ: it may be another mistake."""
        for title in titles:
            alike = self.error_hashes_match(variant, title)
            if not (alike or self._errors_match(title, list(errors(self.replies_of(variant, title))))):
                return NOTHING_SAVED
        return mistake_costs.cost(self.exercise, self.fingerprints, variant)

    def _errors_match(self, title: str, expected: Errors) -> bool:
        """Return whether the error messages agree, except for errors that the task asks for: their wording is free."""
        actual = list(errors(self.replies[title]))
        if actual == expected:
            return True
        asked_for = set(errors(_answers(self.exercise.name, self.exercise.source, self.columns[title])))
        return len(actual) == len(expected) and all(
            own == other or (own[0] == other[0] and other in asked_for)
            for own, other in zip(actual, expected, strict=True)
        )

    def error_hashes_match(self, variant: int, title: str) -> bool:
        """Return whether the errors of both, if there are any, have the same messages."""
        return self.hash_of(title).error_hash == self.fingerprints.reply_hash(variant, self.columns[title]).error_hash

    def hashes_match(self, variant: int, title: str) -> bool:
        """Return whether the hashes alone show that a variant fails a check as the student did."""
        return self._compare_hashes(variant, title) is True

    def replies_match(self, variant: int, title: str) -> bool:
        """Return whether a variant fails a check that the student failed, with the student's answers."""
        same = self._compare_hashes(variant, title)
        return agree(self.replies[title], self.replies_of(variant, title)) if same is None else same

    def _compare_hashes(self, variant: int, title: str) -> bool | None:
        if not self.fails(variant, title):
            return False  # a variant that passes explains nothing, even if its numbers are near
        return compare(self.hash_of(title), self.fingerprints.reply_hash(variant, self.columns[title]))

    def replies_of(self, variant: int, title: str) -> list[Reply]:
        return _answers(self.exercise.name, self.fingerprints.variants[variant], self.columns[title])


def _shows_work(replies: RecordedReplies) -> bool:
    """Return whether an answer shows work of its own: two mistakes may also give a constant, or the unchanged input.

    Visible tensors decide; if there are none, answers that are not all the same count as work.
    """
    answers = [answer for answers in replies.values() for answer in answers if isinstance(answer, dict)]
    values = [(value, answer) for answer in answers for value in _tensors(answer.get("value"))]
    if not values:
        return len({repr(answer["value"]) for answer in answers if "value" in answer}) > 1
    return any(
        value.device.type != "meta"
        and value.numel() > 1
        and bool((value != value.reshape(-1)[0]).any())
        and not any(_same_numbers(value, given) for given in _tensors(answer.get("inputs")))
        for value, answer in values
    )


def _same_numbers(value: torch.Tensor, given: torch.Tensor) -> bool:
    return value.shape == given.shape and value.double().equal(given.double())  # copies only where they may be equal


def _tensors(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a value, at its top level."""
    found = value if isinstance(value, (list, tuple)) else [value]
    return [one for one in found if is_tensor(one)]


@functools.lru_cache(maxsize=256)
def _answers(name: str, source: str, check: int) -> list[Reply]:
    """Return a variant's own answers to one check, for the few cases that a hash does not decide."""
    declared = exercise(name)
    return replies_to(declared, declared.checks[check], student_with_answer(declared, source)).replies
