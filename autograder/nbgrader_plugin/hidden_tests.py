"""Read the hidden part of test cells, which names the exercise that a cell marks. Students never get it."""

import re
from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution

from ..judge.parsing import cached_by_source
from ..spec.course import names, notebooks, questions

HIDDEN = re.compile(r"\n*[^\n]*BEGIN HIDDEN TESTS.*?END HIDDEN TESTS[^\n]*", re.DOTALL)
CHECK = re.compile(r"^check\(\s*[\"'](\w+)[\"']\s*\)", re.MULTILINE)


class UnknownName(ValueError):
    """Raised for a hidden line that names nothing in this course, or another notebook's question."""


def exercise_of(cell: NotebookNode) -> str | None:
    """Return the exercise that a cell's hidden `check("NAME")` names; None for others, such as an instructor's test."""
    if cell.cell_type != "code" or not is_grade(cell) or is_solution(cell):
        return None
    return _named_in(cell.source)


@cached_by_source
def _named_in(source: str) -> str | None:
    named = next((found for part in HIDDEN.findall(source) if (found := CHECK.search(part))), None)
    return named[1] if named else None


@cached_by_source
def visible(source: str) -> str:
    """Return the part of a test's source that students see."""
    return HIDDEN.sub("", source)


def refuse_unknown_names(cells: Iterable[NotebookNode], file: str) -> None:
    """Raise UnknownName if a hidden line names nothing in this course, or another notebook's question."""
    notebook = Path(file).stem
    elsewhere = {q.name: q.notebook for q in questions() if notebook in notebooks() and q.notebook != notebook}
    for cell in cells:
        name = exercise_of(cell)
        if name is None or (name in names() and name not in elsewhere):
            continue
        start = f"{file}: the hidden tests of “{cell.metadata.nbgrader.grade_id}” say check({name!r}), but "
        if name in elsewhere:
            raise UnknownName(
                f"{start}that question is in {elsewhere[name]}. If this notebook was released when questions had other "
                "numbers, its marks stay as they are: mark it with the version of the course that released it."
            )
        raise UnknownName(
            f"{start}this course has no exercise or question of that name. Correct the name, or take the line out if "
            "the cell's own tests are to decide; then generate the assignment again."
        )
