"""Reads the points and expected minutes of each notebook and exercise from the solution notebooks.

A notebook's minutes are in its first cell, an exercise's in the box above it, and the points in the metadata of the
cells that earn them. `autograder plan` prints the table, and the instructor's guide shows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import nbformat

from .spec.course import exercises, notebook_path, questions

TIME = re.compile(r"\*\*Time:?\*\*:? about (\d+) minutes")
BOX = re.compile(r"^> · (\d+) points? · (\w+) · (\d+) minutes$", re.MULTILINE)
WRITTEN = re.compile(r"^### Written answer: .+ \((\d+) points?, about (\d+) minutes\)$", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """An exercise or a written answer, as described in the box above it."""

    name: str
    points: float
    minutes: int
    level: str  # difficulty; empty for a written answer, which a person marks

    @property
    def written(self) -> bool:
        return not self.level


@dataclass(frozen=True)
class Notebook:
    name: str
    minutes: int  # in total: reading, exercises, running
    tasks: tuple[Task, ...]  # in the notebook's order
    questions: int  # number of questions, of one point each

    @property
    def points(self) -> float:
        return sum(task.points for task in self.tasks) + self.questions


class Unannounced(Exception):
    """Raised when a notebook lacks its minutes or a matching box. The message says where."""


def minutes_of(opening: str) -> int | None:
    """Return the minutes that a notebook's first cell announces, or None."""
    return int(found[1]) if (found := TIME.search(opening)) else None


def notebook(name: str, root: Path | None = None) -> Notebook:
    """Read a notebook of the checkout at `root`, or of the course. Raise Unannounced if minutes are missing."""
    path = root / "solutions" / name / f"{name}.ipynb" if root else notebook_path(name)
    cells = nbformat.read(path, as_version=4).cells
    minutes = minutes_of(cells[0].source)
    if minutes is None:
        raise Unannounced(f"The first cell of {path.name} does not say **Time:** about … minutes.")
    points = {cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points for cell in cells if _earns(cell)}
    return Notebook(name, minutes, tuple(_tasks(name, cells, points)), len(questions(name)))


def _earns(cell: nbformat.NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def _tasks(name: str, cells: list[nbformat.NotebookNode], points: dict[str, float]) -> list[Task]:
    """Match each answer to the last box above it, and each box to one answer. Raise Unannounced if that fails."""
    coded, found = {declared.name for declared in exercises(name)}, []
    box: re.Match[str] | None = None
    for cell in cells:
        about = cell.metadata.get("nbgrader", {})
        written = cell.cell_type == "markdown" and _earns(cell)
        if about.get("solution") and (written or about.grade_id in coded):
            if box is None or (box.re is WRITTEN) != written:
                raise Unannounced(f"No box above {about.grade_id} in {name} says its points and minutes.")
            worth = points[about.grade_id if written else f"test_{about.grade_id}"]
            if float(box[1]) != worth:
                raise Unannounced(f"The box above {about.grade_id} in {name} says {box[1]} points; it earns {worth:g}.")
            found.append(Task(about.grade_id, worth, int(box[box.re.groups]), "" if written else box[2]))
            box = None
        elif cell.cell_type == "markdown":
            box = next((b for b in (BOX.search(cell.source), WRITTEN.search(cell.source)) if b), box)
    return found


def markdown(wanted: list[Notebook]) -> str:
    """Return the table of the instructor's guide."""
    lines = ["| notebook | minutes | points | of these: points in minutes |", "| --- | --- | --- | --- |"]
    for one in wanted:
        tasks = [f"`{task.name}` {task.points:g} in {task.minutes}" for task in one.tasks]
        tasks.append(f"{one.questions} questions of 1")
        lines.append(f"| `{one.name}` | {one.minutes} | {one.points:g} | {', '.join(tasks)} |")
    minutes, points = sum(one.minutes for one in wanted), sum(one.points for one in wanted)
    lines.append(f"| together | {minutes} | {points:g} | about {minutes / 60:.0f} hours |")
    return "\n".join(lines)
