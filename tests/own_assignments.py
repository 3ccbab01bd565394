"""Assignments of an instructor's own, marked by a grader that finds neither this course nor PyTorch."""

import contextlib
import os
import sqlite3
from pathlib import Path

from conftest import ROOT
from forked_commands import run_command
from nbformat.v4 import new_code_cell, new_markdown_cell

# The grader's processes find nothing of this course and its libraries.
HIDING = """
import importlib.metadata, importlib.util, sys

GONE = {"torch", "transformers", "tokenizers", "huggingface_hub", "distributed", "transformer_exercises"}
find, points = importlib.util.find_spec, importlib.metadata.entry_points

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Finder())
importlib.util.find_spec = lambda name, package=None: None if name in GONE else find(name, package)

def entry_points(**wanted):
    return () if wanted.get("group") == "autograder.courses" else points(**wanted)

importlib.metadata.entry_points = entry_points
"""


def graded(name, source, points=0, *, answer=False, by_hand=False, task=False, text=False):
    about = {"grade_id": name, "grade": (not answer or by_hand) and not task, "solution": answer, "locked": not answer}
    about |= {"task": task, "schema_version": 3} | ({"points": points} if about["grade"] or task else {})
    return (new_markdown_cell if text else new_code_cell)(source, id=name, metadata={"nbgrader": about})


def run(folder: Path, *command: str, fails: bool = False) -> str:
    """Run a command in a course's folder; the grader finds neither this course nor PyTorch."""
    module = {"nbgrader": "nbgrader", "autograder": "autograder.cli"}[command[0]]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COURSE_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder.parent / "hiding"), str(ROOT)])
    (folder.parent / "hiding").mkdir(exist_ok=True)
    (folder.parent / "hiding" / "sitecustomize.py").write_text(HIDING)
    status, output = run_command(module, *command[1:], folder=folder, environment=environment)
    assert bool(status) == fails, output
    assert "Traceback" not in output or fails
    return output


MARKS = """
SELECT student_id, notebook.name, base_cell.name, auto_score, manual_score, extra_credit, needs_manual_grade
FROM grade JOIN submitted_notebook ON grade.notebook_id = submitted_notebook.id
JOIN submitted_assignment ON submitted_notebook.assignment_id = submitted_assignment.id
JOIN notebook ON submitted_notebook.notebook_id = notebook.id JOIN base_cell ON grade.cell_id = base_cell.id
"""
PENALTIES = """
SELECT student_id, notebook.name, late_submission_penalty FROM submitted_notebook
JOIN submitted_assignment ON submitted_notebook.assignment_id = submitted_assignment.id
JOIN notebook ON submitted_notebook.notebook_id = notebook.id
"""


def rows(folder: Path, query: str, key: int) -> dict[tuple[str, ...], tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(folder / "gradebook.db")) as gradebook:
        return {row[:key]: row[key:] for row in gradebook.execute(query)}
