"""Naming the mistake: the catalogued version that answers the same questions as the student's code does."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..asked.course import exercise
from ..asked.declare import Exercise
from . import costs, learning
from .asking import answering
from .signatures import answer_to
from .sketch import Sketch, sketch, verdict
from .student import agree

MAX_DIAGNOSES = 3  # more would not be read


@dataclass
class Line:
    """One line of the rubric as it came out."""

    title: str
    weight: float
    passed: bool
    message: str = ""
    symptom: str = ""
    judged: bool = True  # False: what failed is no fault of what the line is about


@dataclass
class Diagnosis:
    """A mistake by name: a catalogued one that gives the results of the student's code, or one that shows itself."""

    mistake: str
    sentence: str
    checks: list[str]  # titles of the checks that it explains
    share: float = costs.NOTHING_SAVED  # of the points that it costs if all else is right


def diagnose(exercise: Exercise, lines: Sequence[Line], record: dict[str, list]) -> list[Diagnosis]:
    """The catalogued mistakes behind the lines that failed; `record` holds the student's answers by check.

    A version is a candidate if it answers a failed check as the student did and fails nothing that the student passed.
    Of the candidates for the heaviest failed check, the one that explains most of the others is named (among equals,
    the one whose errors say the same words); then the same for what it leaves unexplained.
    """
    failed = {line.title: line.weight for line in lines if not line.passed}
    unexplained = {title: weight for title, weight in failed.items() if record.get(title)}
    catalogue = _Catalogue(exercise, record)
    passed = [title for title in record if title not in failed]
    possible = list(catalogue.failing_none_of(passed))
    found: list[Diagnosis] = []
    for title in sorted(unexplained, key=lambda title: -failed[title]):
        if title not in unexplained or len(found) == MAX_DIAGNOSES:
            continue
        explained = {
            version: [other for other in unexplained if catalogue.same(version, other)]
            for version in possible
            if catalogue.same(version, title)
        }
        best = max(
            explained,
            key=lambda version: (
                sum(failed[other] for other in explained[version]),
                sum(catalogue.says_the_same(version, other) for other in explained[version]),
            ),
            default=None,
        )
        if best is not None:
            name = catalogue.known.names[best]
            share = catalogue.cost(best, explained[best])
            _add(found, Diagnosis(name, exercise.sentences[name], explained[best], share))
            for other in explained[best]:
                del unexplained[other]
    for line in lines:
        if line.title in unexplained and line.symptom and len(found) < MAX_DIAGNOSES:
            _add(found, Diagnosis(line.symptom, line.message, [line.title]))
    # A changed input makes other checks fail in its wake, so it is said first.
    return sorted(found, key=lambda diagnosis: diagnosis.mistake != "input_changed")


def _add(found: list[Diagnosis], new: Diagnosis) -> None:
    for known in found:
        if known.mistake == new.mistake:
            known.checks += new.checks
            known.share = max(known.share, new.share)
            return
    found.append(new)


class _Catalogue:
    """An exercise's catalogued versions beside one student's answers. Versions have the numbers of their order."""

    def __init__(self, exercise: Exercise, record: dict[str, list]) -> None:
        self.exercise, self.record = exercise, record
        self.known = learning.of(exercise.name)
        self.columns = {check.title: column for column, check in enumerate(exercise.checks)}
        self._own: dict[str, Sketch] = {}

    def failing_none_of(self, titles: Sequence[str]) -> Iterator[int]:
        columns = [self.columns[title] for title in titles if title in self.columns]
        for version in range(len(self.known.versions)):
            if not self.known.failed[version, columns].any():
                yield version

    def says_the_same(self, version: int, title: str) -> bool:
        """Whether the errors of both, if there are any, have the same messages."""
        return self._own[title].words == self.known.sketch(version, self.columns[title]).words

    def cost(self, version: int, titles: Sequence[str]) -> float:
        """What a version costs; everything where its errors say something else: then it may be another mistake."""
        if all(self.says_the_same(version, title) or self.refuses_alike(version, title) for title in titles):
            return costs.cost(self.exercise, self.known, version)
        return costs.NOTHING_SAVED

    def refuses_alike(self, version: int, title: str) -> bool:
        """Whether their errors say the same but for what is refused as asked: that is said in everybody's own words."""
        column = self.columns[title]
        name = self.exercise.name
        asked_for = set(_errors(_answers(name, self.exercise.source, column)))
        mine = list(_errors(self.record[title]))
        theirs = list(_errors(_answers(name, self.known.versions[version], column)))
        return len(mine) == len(theirs) and all(
            own == other or (own[0] == other[0] and other in asked_for) for own, other in zip(mine, theirs, strict=True)
        )

    def same(self, version: int, title: str) -> bool:
        """Whether a version answers a check as the student did."""
        if title not in self._own:
            self._own[title] = sketch(self.record[title])
        decided = verdict(self._own[title], self.known.sketch(version, self.columns[title]))
        if decided is None:
            theirs = _answers(self.exercise.name, self.known.versions[version], self.columns[title])
            return agree(self.record[title], theirs)
        return decided


def _errors(answers: list) -> Iterator[tuple[str, str]]:
    """What was raised among these answers, in order: the type, and what was said."""
    for answer in answers:
        problem = answer.get("problem") if isinstance(answer, dict) else None
        if isinstance(problem, dict) and problem.get("kind") == "raised":
            yield str(problem.get("type")), str(problem.get("text"))


@functools.lru_cache(maxsize=256)
def _answers(name: str, source: str, check: int) -> list:
    """A version's own answers to one check, for the few cases that a sketch leaves open."""
    declared = exercise(name)
    return answer_to(declared, declared.checks[check], answering(declared, source)).answers
