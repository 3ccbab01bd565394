"""Marking one exercise: run its checks against a student, add up the weights, and name the mistake."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..asked.course import names_in, question_or_exercise, working_versions
from ..asked.declare import UNANSWERED, Ban, Exercise, Problem, Question, Unanswered, Wrong
from .bans import Used, banned, watching
from .diagnosis import Diagnosis, Line, diagnose
from .known import memory
from .rules import evasions, uses
from .student import Student


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


def zero(name: str, remark: str) -> Verdict:
    """An explicit zero with its reason."""
    declared = question_or_exercise(name)
    return Verdict(name, declared.points, 0.0, remark=remark)


def mark(
    name: str,
    student: Student,
    sources: Sequence[str] = (),
    own_parts: bool = False,
    keep: Collection[str] = (),
) -> Verdict:
    """The verdict on one exercise or question.

    `sources` are the student's code cells, for rules about the source. With `own_parts` the other exercises' names keep
    the student's versions; otherwise they are bound to working ones, so that one mistake is not marked twice; all but
    those in `keep`.
    """
    declared = question_or_exercise(name)
    if isinstance(declared, Question):
        return _mark_question(declared, student)
    working = working_versions(declared.notebook)
    others = {other: text for other, text in working.items() if other != name and other not in keep}
    try:
        if not student.has(name):
            return zero(name, f"`{name}` is not defined: is the name unchanged, and did its cell run without an error?")
        if not own_parts:
            student.bind(others)
    except Problem as problem:
        return zero(name, str(problem))
    if declared.ban is None:
        return _run_checks(declared, student)
    with watching(student) as used:
        verdict = _run_checks(declared, student)
    remark = _remark_on(declared.ban, used, name, sources) if verdict.earned else ""
    return Verdict(name, declared.points, 0.0, verdict.lines, [], remark) if remark else verdict


def _remark_on(ban: Ban, used: Used, name: str, sources: Sequence[str]) -> str:
    """What is said of an answer that uses what is banned, or what could hide that; nothing of an honest one."""
    if found := banned(ban, used):
        return f"{ban.sentence} Yours uses {_quoted(found)}."
    if found := evasions(name, sources, stop=names_in(question_or_exercise(name).notebook)):
        return f"{ban.sentence} Yours uses {_quoted(found)}, which can hide what it uses; write it without."
    return ""


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def follow_through(name: str, sources: Sequence[str], asked: set[str]) -> bool:
    """Whether an answer, or what its checks `asked` for, involves other exercises of its notebook."""
    declared = question_or_exercise(name)
    return bool((uses(name, sources) | asked) & (names_in(declared.notebook) - {name}))


def _run_checks(exercise: Exercise, student: Student) -> Verdict:
    try:
        lines = _lines(exercise, student)
    except Unanswered as unanswered:
        return zero(exercise.name, str(unanswered))
    earned = share_of(exercise, sum(line.weight for line in lines if line.passed))
    verdict = Verdict(exercise.name, exercise.points, earned, lines)
    if not verdict.full:
        verdict.diagnoses = diagnose(exercise, lines, student.record)
    return verdict


def share_of(exercise: Exercise, passed: float) -> float:
    """The points for checks of this total weight."""
    total = sum(check.weight for check in exercise.checks)
    return exercise.points if passed >= total else min(round(exercise.points * passed / total, 2), exercise.points)


def _lines(exercise: Exercise, student: Student) -> list[Line]:
    """The rubric, line by line. Raises `Unanswered` if the first finds that there is nothing to mark yet."""
    lines: list[Line] = []
    for check in exercise.checks:
        try:
            memory.ask(exercise, check, student)
        except Wrong as wrong:
            if isinstance(wrong, Unanswered) and not lines:
                raise
            lines.append(Line(check.title, check.weight, False, str(wrong), wrong.symptom))
        else:
            lines.append(Line(check.title, check.weight, True))
    return lines


def _mark_question(question: Question, student: Student) -> Verdict:
    try:
        return mark_choice(question, student.read(question.name))
    except Problem as problem:
        return zero(question.name, str(problem))


def mark_choice(question: Question, answer: Any) -> Verdict:
    """The verdict on what somebody's variable holds."""
    if answer is None:
        return zero(question.name, UNANSWERED)
    letter = answer.strip().upper() if type(answer) is str else None
    if letter not in question.explanations:
        options = ", ".join(sorted(question.explanations))
        return zero(question.name, f'Answer with one letter in quotation marks, such as "A" (options: {options}).')
    right = letter == question.key
    line = Line(f"You chose {letter}", 1.0, right, question.explanations[letter])
    return Verdict(question.name, question.points, question.points if right else 0.0, [line])
