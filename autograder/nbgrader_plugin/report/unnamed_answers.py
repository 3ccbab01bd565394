"""Group wrong answers that no catalogued mistake explains by their behaviour, so that an instructor names each once."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ...judge.diagnosis.behaviour import alike
from ...spec.course import mistakes_file, names, root
from .bare_code import shortest
from .data import Answer, Assignment, ClassData


@dataclass(frozen=True)
class Group:
    """Answers to one exercise that fail the same checks with the same results."""

    assignment: str
    exercise: str
    section: str  # the notebook's section to reread
    answers: tuple[Answer, ...]

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(answer.student for answer in self.answers)

    @property
    def example(self) -> str:
        return shortest(answer.source for answer in self.answers)

    @property
    def fails(self) -> list[tuple[str, str]]:
        """Return title and message of each check that no named mistake explains."""
        first = self.answers[0]
        return [(line.title, line.message) for line in first.lines if line.title in first.behaviour]

    @property
    def lost(self) -> float:
        return sum(answer.points - answer.earned for answer in self.answers)

    def entry(self) -> str:
        """Return a class for the exercise's module of mistakes; the instructor fills in the name and the sentence."""
        return ENTRY.format(code=_literal(self.example))


ENTRY = '''\
class name_of_the_mistake(Misconception):
    """The sentence that you would say to them."""

    code = {code}
'''


def _literal(program: str) -> str:
    """Return a program as a string, over several lines and indented as in a class if its quotes allow that."""
    quotes = "'''" if '"""' in program else '"""'
    if quotes in program:
        return repr(program)
    raw = "r" if "\\" in program else ""
    return f"{raw}{quotes}\n{textwrap.indent(program, '    ')}\n    {quotes}"


def groups(data: ClassData) -> list[Group]:
    """Return the groups, the largest first; then by points lost, then in the course's order."""
    order = {name: index for index, name in enumerate(names())}
    found = [group for assignment in data.assignments for group in _of(assignment)]
    return sorted(found, key=lambda group: (-len(group.answers), -group.lost, order.get(group.exercise, len(order))))


def _of(assignment: Assignment) -> Iterable[Group]:
    for exercise in assignment.exercises:
        together: list[list[Answer]] = []
        for answer in filter(lambda answer: answer.behaviour, assignment.answers_to(exercise)):
            same = (group for group in together if alike(group[0].behaviour, answer.behaviour))
            if (group := next(same, None)) is None:
                together.append(group := [])
            group.append(answer)
        section = assignment.sections.get(exercise, "")
        yield from (Group(assignment.name, exercise, section, tuple(group)) for group in together)


def show(found: Sequence[Group], console: Console, limit: int) -> None:
    """Print at most `limit` groups, with a class for the catalogue."""
    if not found:
        console.print("Every wrong answer that could be judged has its name.", highlight=False)
        return
    answers = sum(len(group.answers) for group in found)
    summary = f"{answers} wrong answers that nothing catalogued explains, in {len(found)} groups by what they do."
    console.print(summary, highlight=False)
    for rank, group in enumerate(found[:limit], 1):
        console.print("\n".join(_group_lines(rank, group)), markup=False, highlight=False, soft_wrap=True)
    if len(found) > limit:
        console.print(f"\n{len(found) - limit} more groups: --most {len(found)} shows them all", highlight=False)
    console.print(f"\n{WHAT_TO_DO}", markup=False, highlight=False, soft_wrap=True)


WHAT_TO_DO = (
    "Name each of them once: put such a class into the exercise's module of mistakes, with the name and "
    "your sentence (CONTRIBUTING.md), and run `autograder grade` again: whoever answers like that gets the sentence."
)


def _group_lines(rank: int, group: Group) -> Iterator[str]:
    section = f" ({group.section})" if group.section else ""
    yield f"\n{rank}. {group.exercise}, {group.assignment}{section}: {', '.join(group.students)}"
    for title, message in group.fails:
        yield f"   {title}: {message}"
    file = mistakes_file(group.exercise) if group.exercise in names() else Path("its module of mistakes")
    yield f"   {file.relative_to(root()) if file.is_absolute() else file}:"
    yield textwrap.indent(group.entry(), "     ")
