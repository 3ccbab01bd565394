"""Wrong answers that no catalogue explains, grouped by what they do: an instructor names each group once."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ...judge.diagnosis.behaviour import alike
from ...spec.course import exercise_files, names, root
from .bare_code import bare
from .data import Answer, Assignment, ClassData


@dataclass(frozen=True)
class Group:
    """Answers to one exercise that fail the same checks with the same results."""

    assignment: str
    exercise: str
    section: str  # of the notebook, to reread
    answers: tuple[Answer, ...]

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(answer.student for answer in self.answers)

    @property
    def example(self) -> str:
        """The shortest of them, without comments: what they have in common shows best in it."""
        codes = (bare(answer.source) for answer in self.answers)
        return min((code for code in codes if code), key=lambda code: (len(code), code), default="")

    @property
    def fails(self) -> list[tuple[str, str]]:
        """The checks that nothing explains, and what was said of each."""
        first = self.answers[0]
        return [(line.title, line.message) for line in first.lines if line.title in first.behaviour]

    @property
    def lost(self) -> float:
        """The points that these answers lost together."""
        return sum(answer.points - answer.earned for answer in self.answers)

    def entry(self) -> str:
        """Lines for the catalogue of the exercise's room; the name and the sentence are the instructor's to write."""
        return "name_of_the_mistake: The sentence that you would say to them.\n- |\n" + textwrap.indent(
            self.example, "  "
        )


def groups(data: ClassData) -> list[Group]:
    """The largest first; among equals the one that cost most, then the course's order."""
    order = {name: place for place, name in enumerate(names())}
    found = [group for assignment in data.assignments for group in _of(assignment)]
    return sorted(found, key=lambda group: (-len(group.answers), -group.lost, order.get(group.exercise, len(order))))


def _of(assignment: Assignment) -> Iterable[Group]:
    for exercise in assignment.exercises:
        together: list[list[Answer]] = []
        for answer in assignment.answers_to(exercise):
            if not answer.behaviour:
                continue
            for group in together:
                if alike(group[0].behaviour, answer.behaviour):
                    group.append(answer)
                    break
            else:
                together.append([answer])
        section = assignment.sections.get(exercise, "")
        yield from (Group(assignment.name, exercise, section, tuple(group)) for group in together)


def show(found: Sequence[Group], console: Console, most: int) -> None:
    """Print them, with lines for the catalogue; `most` groups at most."""
    if not found:
        console.print("Every wrong answer that could be judged has its name.", highlight=False)
        return
    answers = sum(len(group.answers) for group in found)
    console.print(
        f"{answers} wrong answers that nothing catalogued explains, in {len(found)} groups by what they do.",
        highlight=False,
    )
    for rank, group in enumerate(found[:most], 1):
        for line in _told(rank, group):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if len(found) > most:
        console.print(f"\n{len(found) - most} more groups: --most {len(found)} shows them all", highlight=False)
    console.print(f"\n{WHAT_TO_DO}", markup=False, highlight=False, soft_wrap=True)


WHAT_TO_DO = (
    "What one of them is, you say once: put such lines into `wrong` of the exercise's room, with the name and your "
    "sentence (CONTRIBUTING.md), and run `autograder grade` again: whoever answers like that gets the sentence."
)


def _told(rank: int, group: Group) -> Iterator[str]:
    section = f" ({group.section})" if group.section else ""
    yield f"\n{rank}. {group.exercise}, {group.assignment}{section}: {', '.join(group.students)}"
    for title, message in group.fails:
        yield f"   {title}: {message}"
    room, *_ = exercise_files(group.exercise) if group.exercise in names() else [Path("its room")]
    yield f"   {room.relative_to(root()) if room.is_absolute() else room}:"
    yield textwrap.indent(group.entry(), "     ")
