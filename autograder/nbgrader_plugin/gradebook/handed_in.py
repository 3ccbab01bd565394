"""Compare a new release with the gradebook, which takes no other cells once an assignment is handed in."""

from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.utils import is_grade, is_locked, is_solution, is_task
from sqlalchemy.engine import make_url

KINDS = {  # of cells in the gradebook, and nbgrader's condition for each
    "grade_cells": is_grade,
    "solution_cells": is_solution,
    "task_cells": is_task,
    "source_cells": lambda cell: is_grade(cell) or is_solution(cell) or is_locked(cell) or is_task(cell),
}


def different_cells(db_url: str, course_id: str, assignment: str, notebooks: Iterable[Path]) -> list[str]:
    """Return the names of the cells that came, went or changed their kind since an assignment was handed in, if it was.

    nbgrader's `SaveCells` refuses these, but only when other assignments may be released already.
    """
    url = make_url(db_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        return []  # opening it would create it
    with Gradebook(db_url, course_id) as gradebook:
        known = [one for one in gradebook.assignments if one.name == assignment and one.num_submissions]
        before = {
            (notebook.name, kind, cell.name)
            for notebook in (notebook for one in known for notebook in one.notebooks)
            for kind in KINDS
            for cell in getattr(notebook, kind)
        }
    now = {(path.stem, *cell) for path in notebooks for cell in _cells(nbformat.read(path, as_version=4))}
    return sorted({name for _, _, name in before ^ now}) if known else []


def _cells(notebook: NotebookNode) -> set[tuple[str, str]]:
    return {
        (kind, cell.metadata.nbgrader.grade_id)
        for cell in notebook.cells
        for kind, belongs in KINDS.items()
        if belongs(cell)
    }
