"""Order the reruns that judge an exercise with library equivalents in place of the student's other exercises.

Library equivalents are right answers, and the student's process could keep them. So reruns come last, one after the
other, with library equivalents only of exercises whose marks are final.
"""

from dataclasses import dataclass

from nbformat import NotebookNode

from ...judge.mark import Verdict


@dataclass(frozen=True)
class Postponed:
    """An exercise to judge again: its test cell, that cell's index, and the exercises that the answer uses.

    `named`: whether mistakes were looked for in its first verdict.
    """

    cell: NotebookNode
    name: str
    index: int
    needs: frozenset[str]
    verdict: Verdict
    named: bool = True


def next_to_rerun(postponed: list[Postponed]) -> Postponed:
    """Return the first exercise that uses none of the others, or the first of all if they form a cycle."""
    names = {rerun.name for rerun in postponed}
    return next((rerun for rerun in postponed if not rerun.needs & (names - {rerun.name})), postponed[0])
