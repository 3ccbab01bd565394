"""Submissions of notebook 05 for the tests: fills answers into the release and marks it as nbgrader does."""

from __future__ import annotations

import nbformat
from conftest import ROOT, read, with_hidden_tests

from autograder.nbgrader_plugin.intake.repair import grade_id, repair
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in
from autograder.sandbox.session import Limits
from autograder.spec.course import exercises, in_notebook, questions


def answers(name: str) -> dict[str, str]:
    """Return a notebook's right answers."""
    return {e.name: e.source for e in exercises(name)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(name)}


NAME = "05-attention"
ANSWERS = answers(NAME)
FULL = read("course", NAME)
FILES = ROOT / "course" / NAME  # what lies beside it
POINTS = {declared.name: declared.points for declared in in_notebook(NAME)}
LIMITS = Limits(cell=4, question=2, grace=1, notebook=120, memory=6 * 2**30)


def mark(template, short, answers, extra=None, limits=LIMITS):
    """Mark answers; return the notebook and the verdicts by exercise.

    `extra` are cells {name of a solution cell: source} inserted before that cell.
    """
    submitted = filled_in(short, answers)
    for name, source in (extra or {}).items():
        [index] = [i for i, cell in enumerate(submitted.cells) if grade_id(cell) == name]
        submitted.cells.insert(index, nbformat.v4.new_code_cell(source))
    for cell in submitted.cells:
        cell.grade_id = grade_id(cell)
    notebook = with_hidden_tests(repair(submitted, short, []))
    verdicts = NotebookMarker(notebook, template, FILES, limits).run()
    nbformat.validate(notebook)
    return notebook, {verdict.exercise: verdict for verdict in verdicts.values()}


def earned(verdicts):
    return {name: verdict.earned for name, verdict in verdicts.items()}


def mark_in(notebook, name):
    """Return the number that nbgrader reads from an exercise's test cell."""
    [cell] = [cell for cell in notebook.cells if grade_id(cell) == f"test_{name}"]
    results = [output for output in cell.outputs if output.output_type == "execute_result"]
    assert len(results) == 1
    assert all(output.get("name") != "stderr" and output.output_type != "error" for output in cell.outputs)
    return float(results[0].data["text/plain"])
