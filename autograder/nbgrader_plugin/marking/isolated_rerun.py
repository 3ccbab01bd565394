"""Order the reruns in which an exercise is judged again with working versions of the student's other exercises.

These versions are right answers, and the student's process could keep them. So reruns come last, one after the other,
with working versions only of exercises whose marks are final.
"""

from dataclasses import dataclass

from nbformat import NotebookNode

from ...judge.mark import Verdict


@dataclass(frozen=True)
class Postponed:
    """An exercise to judge again: its test cell, that cell's index, and the exercises that the answer uses."""

    cell: NotebookNode
    name: str
    index: int
    needs: frozenset[str]
    verdict: Verdict


def next_to_rerun(postponed: list[Postponed]) -> Postponed:
    """Return the first exercise that uses none of the others; the first of all if they form a circle."""
    names = {one.name for one in postponed}
    return next((one for one in postponed if not one.needs & (names - {one.name})), postponed[0])
