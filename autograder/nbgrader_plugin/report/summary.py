"""Summarise a class's data: distributions, pass rates, misconceptions with examples, progress, time."""

import builtins
import functools
import keyword
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...spec.course import notebooks, provided_code_in, right_programs
from .bare_code import shortest
from .data import Answer, Assignment, ClassData, plain

BINS = 10
EXAMPLE_LINES, EXAMPLE_WIDTH = 14, 110
HIDDEN = "…"  # replaces text that may name a student in an example
WORD = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True)
class Distribution:
    shares: tuple[float, ...]  # of an assignment's points

    @property
    def bins(self) -> list[int]:
        """Return the numbers of students from 0 to under 10 %, …, from 90 to 100 %."""
        counts = Counter(min(BINS - 1, int(share * BINS + 1e-9)) for share in self.shares)
        return [counts[index] for index in range(BINS)]

    @property
    def median(self) -> float:
        return statistics.median(self.shares)

    @property
    def quartiles(self) -> tuple[float, float]:
        if len(self.shares) < 2:
            return self.shares[0], self.shares[0]
        low, _, high = statistics.quantiles(self.shares, method="inclusive")
        return low, high


def distribution(assignment: Assignment) -> Distribution | None:
    """Return the distribution of the final marks, with manual marks and late penalties; None if there are no points."""
    shares = [min(1.0, max(0.0, sheet.total / sheet.points)) for sheet in assignment.sheets if sheet.points]
    return Distribution(tuple(shares)) if shares else None


@dataclass(frozen=True)
class CheckRate:
    title: str
    passed: int
    judged: int  # answers in which it could be judged
    unjudged: int = 0

    @property
    def share(self) -> float:
        return self.passed / self.judged if self.judged else 0.0


@dataclass(frozen=True)
class ExerciseRates:
    exercise: str
    handed_in: int
    answered: int
    checks: tuple[CheckRate, ...]


def rates(assignment: Assignment) -> list[ExerciseRates]:
    """Return the pass rates of the checks of each exercise, except exercises that only a person marks."""
    rows = []
    for exercise in assignment.exercises:
        if not (answers := [answer for answer in assignment.answers_to(exercise) if answer.kind != "written"]):
            continue
        judged = [answer for answer in answers if answer.judged]
        counts: dict[str, list[bool | None]] = defaultdict(list)
        for one in judged or answers:
            for line in one.lines:
                counts[line.title] += [line.passed] if judged else []
        checks = tuple(
            CheckRate(title, found.count(True), len(found) - found.count(None), found.count(None))
            for title, found in counts.items()
        )
        rows.append(ExerciseRates(exercise, len(answers), len(judged), checks))
    return rows


@dataclass(frozen=True)
class Occurrence:
    assignment: str
    exercise: str  # in which a misconception shows
    students: int
    sentence: str
    section: str  # to reread


@dataclass
class Misconception:
    """A named mistake, and all exercises in which the class makes it."""

    name: str
    students: int
    occurrences: list[Occurrence] = field(default_factory=list)  # the one with most students first
    example: str = ""  # an anonymous answer to the exercise of the first occurrence


def misconceptions(data: ClassData) -> list[Misconception]:
    """Return the class's mistakes by name, across exercises, the most common first."""
    holders: dict[str, dict[tuple[Assignment, str], list[tuple[Answer, str]]]] = defaultdict(lambda: defaultdict(list))
    for assignment in data.assignments:
        for answer in assignment.answers:
            for one in answer.diagnosed:
                holders[one.mistake][assignment, answer.exercise].append((answer, one.sentence))
    names = functools.cache(functools.partial(_names, data))
    found = []
    for name, answers in holders.items():
        result = Misconception(name, len({answer.student for held in answers.values() for answer, _ in held}))
        ranked = sorted(answers.items(), key=lambda item: -len(item[1]))
        for (home, exercise), held in ranked:
            sentence = Counter(sentence for _, sentence in held).most_common(1)[0][0]
            students = len({answer.student for answer, _ in held})
            section = home.sections.get(exercise, "")
            result.occurrences.append(Occurrence(home.name, exercise, students, sentence, section))
        (home, _), held = ranked[0]
        result.example = _example((answer for answer, _ in held if answer.kind == "exercise"), names(home))
        found.append(result)
    return sorted(found, key=lambda one: (-one.students, -len(one.occurrences), one.name))


def _example(answers: Iterable[Answer], names: re.Pattern[str]) -> str:
    """Return the shortest of these answers, without names and cut to EXAMPLE_LINES and EXAMPLE_WIDTH."""
    code = names.sub(HIDDEN, shortest(answer.source for answer in answers))
    lines = [line if len(line) <= EXAMPLE_WIDTH else line[: EXAMPLE_WIDTH - 1] + "…" for line in code.splitlines()]
    return plain("\n".join(lines if len(lines) <= EXAMPLE_LINES else [*lines[: EXAMPLE_LINES - 1], "…"]))


def _names(data: ClassData, assignment: Assignment) -> re.Pattern[str]:
    """Return a pattern for all students' ids and names and their parts, except words of the course or of Python."""
    own = [cell.source for cell in assignment.released]
    if assignment.name in notebooks():
        own += [provided_code_in(assignment.name), *right_programs(assignment.name).values()]
    common = {word.lower() for word in (*WORD.findall("\n".join(own)), *keyword.kwlist, *dir(builtins))}
    everybody = set(data.names) | {sheet.student for a in data.assignments for sheet in a.sheets}
    named = {text for who in everybody for text in (who, data.names.get(who, ""))}
    parts = {part for text in named for part in WORD.findall(text) if len(part) > (3 if part.isdigit() else 1)}
    secrets = {text for text in named | parts if len(text) > 1 and text.lower() not in common}
    patterns = [
        re.escape(text) if len(text) > 3 else rf"(?<![^\W_]){re.escape(text)}(?![^\W_])"
        for text in sorted(secrets, key=len, reverse=True)
    ]
    return re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)


@dataclass(frozen=True)
class Progress:
    student: str
    shares: tuple[float, ...]  # of an assignment's points, in the order of markings

    @property
    def gain(self) -> float:
        """Return the difference of the whole percents shown next to it: readers subtract them."""
        return (round(100 * self.shares[-1]) - round(100 * self.shares[0])) / 100


def progress(data: ClassData, assignment: Assignment) -> list[Progress]:
    """Return the progress of students who were marked more than once, the largest gain first."""
    shares: dict[str, list[float]] = defaultdict(list)
    for marking in data.history or ():
        if marking.assignment == assignment.name:
            shares[marking.student].append(marking.share)
    again = [Progress(student, tuple(found)) for student, found in shares.items() if len(found) > 1]
    return sorted(again, key=lambda one: (-one.gain, one.student))


@dataclass(frozen=True)
class Time:
    markings: int
    seconds: float  # of all markings
    median: float
    longest: float


def time_spent(data: ClassData, assignment: Assignment) -> Time | None:
    seconds = [marking.seconds for marking in data.history or () if marking.assignment == assignment.name]
    return Time(len(seconds), sum(seconds), statistics.median(seconds), max(seconds)) if seconds else None


def duration(seconds: float) -> str:
    """Return a time such as 4.2 s, 3 min 20 s, or 2 h 5 min."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
