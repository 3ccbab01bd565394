"""The hidden part of test cells, which names the exercise that a cell marks. Students never get it.

A release leaves it out. At marking, the gradebook gives each test cell the source that the instructor wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution

from ..spec.course import names

HIDDEN = re.compile(r"\n*[^\n]*BEGIN HIDDEN TESTS.*?END HIDDEN TESTS[^\n]*", re.DOTALL)
CHECK = re.compile(r"^check\(\s*[\"'](\w+)[\"']\s*\)", re.MULTILINE)


def exercise_of(cell: NotebookNode) -> str | None:
    """Return the exercise that a cell's hidden `check("NAME")` names; None for others, such as an instructor's test."""
    if cell.cell_type != "code" or not is_grade(cell) or is_solution(cell):
        return None
    named = next((found for part in HIDDEN.findall(cell.source) if (found := CHECK.search(part))), None)
    return named[1] if named else None


def refuse_unknown_names(cells: Iterable[NotebookNode], file: str) -> None:
    """Raise ValueError if a hidden line names nothing in this course: such a slip must cost no student marks."""
    for cell in cells:
        name = exercise_of(cell)
        if name is not None and name not in names():
            raise ValueError(
                f"{file}: the hidden tests of “{cell.metadata.nbgrader.grade_id}” say check({name!r}), but this course "
                "has no exercise or question of that name. Correct the name, or take the line out if the cell's own "
                "tests are to decide; then generate the assignment again."
            )
