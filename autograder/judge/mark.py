"""Marking one exercise: run its checks against a student, add up the weights, and name the mistake."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from ..exercises import given_in, names_in, question_or_exercise, working_versions
from ..exercises.declare import Check, Exercise, Mistake, Question, Wrong
from ..exercises.draw import fresh
from .rules import banned_in_source, uses
from .student import Problem, Student, agree, in_process

log = logging.getLogger(__name__)


@dataclass
class Line:
    """One line of the rubric as it came out."""

    title: str
    weight: float
    passed: bool
    message: str = ""
    symptom: str = ""


@dataclass
class Diagnosis:
    """A mistake by name: a catalogued one that gives the results of the student's code, or one that shows itself."""

    mistake: str
    sentence: str
    checks: list[str]  # titles of the checks that it explains


@dataclass
class Verdict:
    """What an exercise earned, and why."""

    exercise: str
    points: float
    earned: float
    lines: list[Line] = field(default_factory=list)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    remark: str = ""  # a sentence about the whole: not answered, a banned function, a dead process

    def as_data(self) -> dict:
        return asdict(self)

    @property
    def full(self) -> bool:
        return self.earned == self.points


MAX_DIAGNOSES = 3  # more would not be read
UNANSWERED = "This exercise has not been answered yet."


def zero(name: str, remark: str) -> Verdict:
    """An explicit zero with its reason."""
    declared = question_or_exercise(name)
    return Verdict(name, declared.points, 0.0, remark=remark)


@torch.enable_grad()  # an answer that runs in this process and leaves gradients off must not touch what is marked next
def mark(name: str, student: Student, sources: Sequence[str] = (), own_parts: bool = False) -> Verdict:
    """The verdict on one exercise or question.

    `sources` are the student's code cells, for rules about the source. With `own_parts` the other exercises' names keep
    the student's versions; otherwise they are bound to working ones, so that one mistake is not marked twice.
    """
    declared = question_or_exercise(name)
    if isinstance(declared, Question):
        return _mark_question(declared, student)
    others = {other: text for other, text in working_versions(declared.notebook).items() if other != name}
    try:
        if not student.has(name):
            return zero(name, f"`{name}` is not defined: is the name unchanged, and did its cell run without an error?")
        if not own_parts:
            student.bind(others)
    except Problem as problem:
        return zero(name, str(problem))
    verdict = _run_checks(declared, student)
    if verdict.earned and declared.ban:
        found = banned_in_source(name, declared.ban, sources, stop=names_in(declared.notebook))
        with contextlib.suppress(Wrong):  # what cannot be called has not earned anything by it
            found |= declared.ban.trial(student) & declared.ban.operations
        if found:
            used = ", ".join(sorted({f"`{word.lstrip('_')}`" for word in found}))
            return Verdict(name, declared.points, 0.0, verdict.lines, [], f"{declared.ban.sentence} Yours uses {used}.")
    return verdict


def follow_through(name: str, sources: Sequence[str], asked: set[str]) -> bool:
    """Whether an answer, or what its checks `asked` for, involves other exercises of its notebook."""
    declared = question_or_exercise(name)
    return bool((uses(name, sources) | asked) & (names_in(declared.notebook) - {name}))


def _run_checks(exercise: Exercise, student: Student) -> Verdict:
    lines = _lines(exercise, student)
    if lines[0].message == UNANSWERED:
        return zero(exercise.name, UNANSWERED)
    share = sum(line.weight for line in lines if line.passed) / sum(line.weight for line in lines)
    earned = exercise.points if all(line.passed for line in lines) else round(exercise.points * share, 2)
    verdict = Verdict(exercise.name, exercise.points, min(earned, exercise.points), lines)
    if not verdict.full:
        verdict.diagnoses = diagnose(exercise, lines, student.record)
    return verdict


def _lines(exercise: Exercise, student: Student) -> list[Line]:
    """The rubric, line by line. An unanswered exercise stops at the first."""
    lines: list[Line] = []
    for check in exercise.checks:
        try:
            _ask(exercise, check, student)
        except Wrong as wrong:
            lines.append(Line(check.title, check.weight, False, str(wrong), wrong.symptom))
            if str(wrong) == UNANSWERED and len(lines) == 1:
                break
        else:
            lines.append(Line(check.title, check.weight, True))
    return lines


def _ask(exercise: Exercise, check: Check, student: Student) -> None:
    student.begin(check.title)
    fresh(f"{exercise.name}: {check.title}")
    try:
        check.ask(student)
    except Wrong:
        raise
    except Exception as error:  # an answer so strange that comparing it failed: wrong, and worth a look by us
        log.exception("%s: the check %r stopped on a strange answer", exercise.name, check.title)
        raise Wrong("The result could not be compared: it is not of the kind that was asked for.") from error
    student.finish()


def _mark_question(question: Question, student: Student) -> Verdict:
    try:
        answer = student.read(question.name)
    except Problem as problem:
        return zero(question.name, str(problem))
    if answer is None:
        return zero(question.name, UNANSWERED)
    letter = answer.strip().upper() if type(answer) is str else None
    if letter not in question.explanations:
        options = ", ".join(sorted(question.explanations))
        return zero(question.name, f'Answer with one letter in quotation marks, such as "A" (options: {options}).')
    right = letter == question.key
    line = Line(f"You chose {letter}", 1.0, right, question.explanations[letter])
    return Verdict(question.name, question.points, question.points if right else 0.0, [line])


# --- naming the mistake -----------------------------------------------------------------------------------------------


def diagnose(exercise: Exercise, lines: Sequence[Line], record: dict[str, list]) -> list[Diagnosis]:
    """The catalogued mistakes that give, on the same questions, the answers that the student's code gave.

    A mistake is a candidate if it answers a failed check as the student did and fails nothing that the student passed.
    Of the candidates for the heaviest failed check, the one that explains most of the others is named (among equals,
    the one that stops with the same words); then the same for what it leaves unexplained. Few mistakes are tried on
    more than that one check, which keeps this quick.
    """
    failed = {line.title: line.weight for line in lines if not line.passed}
    unexplained = {title: weight for title, weight in failed.items() if record.get(title)}
    found: list[Diagnosis] = []
    for title in sorted(unexplained, key=lambda title: -failed[title]):
        if title not in unexplained or len(found) == MAX_DIAGNOSES:
            continue
        explained = {
            trial: [other for other in unexplained if agree(record[other], trial.answers(other))]
            for trial in _trials(exercise.name)
            if agree(record[title], trial.answers(title))
            and not any(trial.fails(passed) for passed in record if passed not in failed)
        }
        best = max(
            explained,
            key=lambda trial: (
                sum(failed[other] for other in explained[trial]),
                sum(_same_words(record[other], trial.answers(other)) for other in explained[trial]),
            ),
            default=None,
        )
        if best is not None:
            _add(found, Diagnosis(best.mistake.name, best.mistake.sentence, explained[best]))
            for other in explained[best]:
                del unexplained[other]
    for line in lines:
        if line.title in unexplained and line.symptom and len(found) < MAX_DIAGNOSES:
            _add(found, Diagnosis(line.symptom, line.message, [line.title]))
    # A changed input makes other checks fail in its wake, so it is said first.
    return sorted(found, key=lambda diagnosis: diagnosis.mistake != "input_changed")


def _same_words(mine: list, theirs: list) -> int:
    """How many of the errors in two records have the same message."""
    both = [(a, b) for a, b in zip(mine, theirs, strict=False) if isinstance(a, dict) and isinstance(b, dict)]
    problems = [(a.get("problem"), b.get("problem")) for a, b in both]
    return sum(isinstance(a, dict) and isinstance(b, dict) and a.get("text") == b.get("text") for a, b in problems)


def _add(found: list[Diagnosis], new: Diagnosis) -> None:
    for known in found:
        if known.mistake == new.mistake:
            known.checks += new.checks
            return
    found.append(new)


class _Trial:
    """A catalogued mistake before the judge: its answers to a check are found when first asked for, and kept."""

    def __init__(self, exercise: Exercise, mistake: Mistake, source: str) -> None:
        self.mistake = mistake
        self._exercise, self._source = exercise, source
        self._seen: dict[str, tuple[list, bool]] = {}

    def answers(self, title: str) -> list:
        return self._on(title)[0]

    def fails(self, title: str) -> bool:
        return self._on(title)[1]

    def _on(self, title: str) -> tuple[list, bool]:
        if title not in self._seen:
            [check] = [check for check in self._exercise.checks if check.title == title]
            student = in_process(namespace_with(self._exercise, self._source))
            failed = False
            try:
                _ask(self._exercise, check, student)
            except Wrong:
                failed = True
            self._seen[title] = student.record[title], failed
        return self._seen[title]


@functools.cache
def _trials(name: str) -> list[_Trial]:
    exercise = question_or_exercise(name)
    assert isinstance(exercise, Exercise)
    return [_Trial(exercise, mistake, source) for mistake in exercise.mistakes for source in mistake.sources]


def namespace_with(exercise: Exercise, source: str) -> dict[str, Any]:
    """A notebook's namespace in which this source is the answer and the other exercises are right."""
    namespace: dict[str, Any] = {"__name__": "notebook"}
    _run(IMPORTS + given_in(exercise.notebook), namespace, "<given>")
    for other, text in working_versions(exercise.notebook).items():
        if other != exercise.name:
            _run(text, namespace, "<working version>")
    _run(source, namespace, f"<{exercise.name}>")
    return namespace


def _run(source: str, namespace: dict[str, Any], filename: str) -> None:
    """Run source as a notebook would: this module's `from __future__` is not its own."""
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)


@functools.cache
def given_names(notebook: str) -> frozenset[str]:
    """What a notebook's locked cells define for the answers and for the checks."""
    namespace: dict[str, Any] = {"__name__": "notebook"}
    _run(IMPORTS, namespace, "<imports>")
    imported = set(namespace)
    _run(given_in(notebook), namespace, "<given>")
    return frozenset(namespace) - imported


IMPORTS = """
import heapq
import math
import re
import unicodedata
from collections import Counter, defaultdict

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn
"""
