"""Summarise one student's work over all notebooks: marks, mistakes named more than once, what to practise."""

from collections import defaultdict
from dataclasses import dataclass

from .data import Answer, ClassData
from .marks import Sheet


@dataclass(frozen=True)
class Mark:
    assignment: str
    sheet: Sheet | None  # None if nothing is marked

    @property
    def share(self) -> float:
        return min(1.0, self.sheet.total / self.sheet.points) if self.sheet and self.sheet.points else 0.0


@dataclass(frozen=True)
class Repeated:
    """A mistake that was named in several answers."""

    name: str
    sentence: str
    places: tuple[str, ...]


@dataclass(frozen=True)
class Practice:
    """An answer that lost points."""

    assignment: str
    exercise: str
    lost: float
    points: float
    reasons: tuple[str, ...]
    section: str  # to read again


@dataclass(frozen=True)
class StudentPage:
    marks: list[Mark]
    earned: float  # in notebooks that are not optional
    points: float
    has_optional: bool
    repeated: list[Repeated]
    practise: list[Practice]


def student_page(data: ClassData, student: str) -> StudentPage:
    """Return what a student's page says. Of the others it has nothing."""
    sheets = [next((s for s in one.sheets if s.student == student), None) for one in data.assignments]
    marks = [Mark(one.title, sheet) for one, sheet in zip(data.assignments, sheets, strict=True)]
    required = [s for one, s in zip(data.assignments, sheets, strict=True) if s is not None and not one.optional]
    own = [(one, answer) for one in data.assignments for answer in one.answers if answer.student == student]
    named: dict[str, list[tuple[str, str]]] = defaultdict(list)  # (place, sentence) by mistake
    for assignment, answer in own:
        for diagnosed in answer.diagnosed if answer.kind == "exercise" else ():
            named[diagnosed.mistake].append((f"{answer.exercise} ({assignment.name})", diagnosed.sentence))
    repeated = [
        Repeated(name, found[0][1], tuple(dict.fromkeys(place for place, _ in found)))
        for name, found in sorted(named.items(), key=lambda pair: -len(pair[1]))
        if len({place for place, _ in found}) > 1
    ]
    practise = [
        Practice(
            *(assignment.name, answer.exercise, answer.points - answer.earned, answer.points),
            *(_reasons(answer), assignment.sections.get(answer.exercise, "")),
        )
        for assignment, answer in own
        if not answer.waits and answer.earned < answer.points
    ]
    practise.sort(key=lambda one: -one.lost)
    earned, points = (sum(values) for values in zip(*((s.total, s.points) for s in required), (0.0, 0.0), strict=True))
    has_optional = any(one.optional for one in data.assignments)
    return StudentPage(marks, earned, points, has_optional, repeated, practise)


def _reasons(answer: Answer) -> tuple[str, ...]:
    if answer.refused:
        return ("Your file could not be read.",)
    return tuple(answer.reasons) or ("See the feedback page.",)
