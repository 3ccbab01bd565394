"""A class with a marked assignment whose only question is a written answer with a rubric."""

from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_markdown_cell, new_notebook
from nbgrader.api import Gradebook
from own_assignments import graded

RUBRIC = """Why are scores divided by $\\sqrt{d_k}$?

**Rubric**

- 1 point: names the *variance*.
- 2 points: says what happens to gradients
  of the softmax. (Half for "they vanish" alone.)
"""
RELEASED = "YOUR ANSWER HERE"
FULL = "1. 1 of 1 point: names the *variance*.\n2. 2 of 2 points: says what happens to gradients of the softmax."
HALF = (
    "1. 1 of 1 point: names the *variance*.\n"
    '2. 1 of 2 points: says what happens to gradients of the softmax. (Half for "they vanish" alone.)'
)


def class_in(folder: Path, answers: dict[str, str], db_url: str = "") -> None:
    """Make a class with a marked assignment `essay`, as `autograder grade` leaves it, in an empty folder."""
    solution = graded("why", "### BEGIN SOLUTION\nVariance.\n### END SOLUTION", 3, answer=True, by_hand=True, text=True)
    write_rubric(folder, RUBRIC, solution)
    with Gradebook(db_url or f"sqlite:///{folder}/gradebook.db", "essays") as book:
        book.add_assignment("essay", course_id="essays")
        book.add_notebook("essay", "essay")
        book.add_grade_cell("why", "essay", "essay", max_score=3, cell_type="markdown")
        book.add_solution_cell("why", "essay", "essay")
        book.add_source_cell("why", "essay", "essay", cell_type="markdown", source=RELEASED)
        for student, answer in answers.items():
            book.add_student(student)
            book.add_submission("essay", student)
            cell = graded("why", answer, 3, answer=True, by_hand=True, text=True)
            path = folder / "autograded" / student / "essay"
            path.mkdir(parents=True)
            nbformat.write(new_notebook(cells=[cell]), path / "essay.ipynb")
            if answer == RELEASED:  # nbgrader's points for an answer that came back as it was
                grade = book.find_grade("why", "essay", "essay", student)
                grade.auto_score, grade.needs_manual_grade = 0.0, False
        book.db.commit()


def write_rubric(folder: Path, rubric: str, solution: Any = None) -> None:
    path = folder / "source" / "essay" / "essay.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    solution = solution or nbformat.read(path, as_version=4).cells[1]
    nbformat.write(new_notebook(cells=[new_markdown_cell(rubric, id="above"), solution]), path)
