"""Find a class's easy and hard exercises, with the share of students who met each named mistake."""

from collections import Counter
from dataclasses import dataclass

from .data import Assignment

EASY, HARD = 0.95, 0.4  # mean shares of the points
FEWEST = 5  # answers from which an item can be called easy or hard


@dataclass(frozen=True)
class Item:
    exercise: str
    answered: int
    share: float  # mean share of its points in the answers to it
    mistakes: tuple[tuple[str, int], ...]  # names and the number of students, the commonest first

    @property
    def remark(self) -> str:
        if self.answered < FEWEST or HARD < self.share < EASY:
            return ""
        return "too easy?" if self.share >= EASY else "too hard?"


def items(assignment: Assignment) -> list[Item]:
    """Return the items of an assignment that are marked and worth points, the hardest first."""
    found = []
    for exercise in assignment.exercises:
        answers = [one for one in assignment.answers_to(exercise) if one.answered and not one.waits and one.points > 0]
        if answers:
            share = sum(min(1.0, one.earned / one.points) for one in answers) / len(answers)
            met = Counter(name for one in answers for name in {diagnosed.mistake for diagnosed in one.diagnosed})
            mistakes = sorted(met.items(), key=lambda pair: (-pair[1], pair[0]))
            found.append(Item(exercise, len(answers), share, tuple(mistakes)))
    return sorted(found, key=lambda item: item.share)
