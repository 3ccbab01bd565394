"""Read the points and minutes of each notebook and exercise from the solution notebooks, for `autograder plan`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from .cell_counts import BOX, WRITTEN, Cell, cells, sittings
from .spec.course import is_optional, names_in, notebook_path, questions

RUNNING = "running_seconds"  # in a notebook's metadata: what all its cells took when its outputs were last made
READ, SCANNED, DECIDED = 130, 15, 2  # words a minute, lines of code a minute, minutes a question or prediction
SLOWER = 1.25  # than the boxes say
TIME = re.compile(r"(\*\*Time:\*\* about )\d+( minutes to read and try, )\d+( to answer)")


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


class Minutes(NamedTuple):
    """The minutes that a notebook or a part of it takes."""

    looking: float  # reading, trying, deciding, waiting
    doing: float  # answering exercises and written answers

    @property
    def whole(self) -> int:
        return sum(map(rounded, self))


@dataclass(frozen=True)
class Notebook:
    name: str
    minutes: Minutes
    tasks: tuple[Task, ...]  # in the notebook's order
    questions: int  # number of questions, of one point each

    @property
    def points(self) -> float:
        return sum(task.points for task in self.tasks) + self.questions


class Unannounced(Exception):
    """Raised when an answer lacks a matching box. The message says where."""


def rounded(minutes: float) -> int:
    """Return minutes rounded to fives, as texts give them."""
    return 5 * round(minutes / 5)


def minutes_of(found: Iterable[Cell], seconds: float) -> Minutes:
    """Return what cells take that run for `seconds`."""
    words = lines = decisions = boxes = 0
    for cell in found:
        words += cell.words
        lines += cell.lines if cell.kind == "provided" else 0
        decisions += cell.predictions + (cell.kind in ("question", "practice"))
        boxes += cell.minutes
    return Minutes(words / READ + lines / SCANNED + seconds / 60 + DECIDED * decisions, SLOWER * boxes)


def minutes_by_sitting(notebook: NotebookNode) -> list[Minutes]:
    """Return what each part of a notebook takes, from one stopping place to the next. Running is spread evenly."""
    found = cells(notebook)
    each = notebook.metadata.get(RUNNING, 0) / len(found)
    return [minutes_of(part, each * len(part)) for part in sittings(found)]


def minutes_in_all(notebook: NotebookNode) -> Minutes:
    return Minutes(*map(sum, zip(*minutes_by_sitting(notebook), strict=True)))


def sitting_lengths(notebook: NotebookNode) -> list[int]:
    """Return the rounded minutes of each sitting; their sum is the whole notebook's."""
    ends = list(accumulate(sum(part) for part in minutes_by_sitting(notebook)))
    starts = [0, *map(rounded, ends[:-1]), minutes_in_all(notebook).whole]
    return [end - start for start, end in pairwise(starts)]


def opening(notebook: NotebookNode) -> str:
    """Return a notebook's first cell; where it says its minutes, with those that are computed."""
    looking, doing = map(rounded, minutes_in_all(notebook))
    return TIME.sub(rf"\g<1>{looking}\g<2>{doing}\g<3>", notebook.cells[0].source)


def notebook(name: str, root: Path | None = None) -> Notebook:
    """Read a notebook of the checkout at `root`, or of the course. Raise Unannounced if a box does not fit."""
    path = root / "solutions" / name / f"{name}.ipynb" if root else notebook_path(name)
    read = nbformat.read(path, as_version=4)
    points = {cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points for cell in read.cells if _earns(cell)}
    return Notebook(name, minutes_in_all(read), tuple(_tasks(name, read.cells, points)), len(questions(name)))


def _earns(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def _tasks(name: str, cells: list[NotebookNode], points: dict[str, float]) -> list[Task]:
    """Match each answer to the last box above it, and each box to one answer. Raise Unannounced if that fails."""
    coded, found = names_in(name), []  # without importing their modules, which import torch
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


def notebooks_table(wanted: list[Notebook]) -> str:
    """Return a Markdown table of notebooks with their minutes and points."""
    lines = ["| notebook | to read and try | to answer | points |", "| --- | --- | --- | --- |"]
    for one in wanted:
        looking, doing = map(rounded, one.minutes)
        name = f"`{one.name}`, optional" if is_optional(one.name) else f"`{one.name}`"
        lines.append(f"| {name} | {looking} | {doing} | {one.points:g} |")
    for optional, title in ((False, "together"), (True, "optional, together")):
        if some := [one for one in wanted if is_optional(one.name) == optional]:
            looking, doing = (sum(rounded(one.minutes[column]) for one in some) for column in (0, 1))
            points, hours = sum(one.points for one in some), round((looking + doing) / 60)
            lines.append(f"| {title}, about {hours} hour{'s' * (hours != 1)} | {looking} | {doing} | {points:g} |")
    return "\n".join(lines)


def answers_table(one: Notebook) -> str:
    """Return a Markdown table of a notebook's exercises and written answers with their minutes and points."""
    lines = [f"| {one.name} | minutes | points |", "| --- | --- | --- |"]
    lines += [f"| `{task.name}` | {task.minutes} | {task.points:g} |" for task in one.tasks]
    return "\n".join([*lines, f"| {one.questions} question{'s' * (one.questions != 1)} | | {one.questions} |"])
