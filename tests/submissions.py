"""Submissions of notebook 05 for the tests: fills answers into the release and marks it as nbgrader does."""

import nbformat
from conftest import ROOT, cell_of, read, with_hidden_tests
from nbformat import NotebookNode

from autograder.nbgrader_plugin.intake.repair import grade_id, repair
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in
from autograder.sandbox.session import Limits
from autograder.spec.course import exercises, in_notebook, questions


def answers(name: str) -> dict[str, str]:
    return {e.name: e.source for e in exercises(name)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(name)}


NAME = "05-attention"
ANSWERS = answers(NAME)
FULL = read("course", NAME)
FILES = ROOT / "course" / NAME  # what lies beside it
POINTS = {declared.name: declared.points for declared in in_notebook(NAME)}
LIMITS = Limits(cell=4, question=2, grace=1, notebook=120, memory=6 * 2**30)


def insert_before(notebook: NotebookNode, name: str, *sources: str) -> NotebookNode:
    """Insert code cells before the cell with this grade_id; return the same notebook."""
    [index] = [i for i, cell in enumerate(notebook.cells) if grade_id(cell) == name]
    notebook.cells[index:index] = map(nbformat.v4.new_code_cell, sources)
    return notebook


def mended(submitted: NotebookNode, release: NotebookNode) -> NotebookNode:
    """Return a submission as it is marked: repaired, with the hidden tests."""
    for cell in submitted.cells:
        cell.grade_id = grade_id(cell)
    return with_hidden_tests(repair(submitted, release, []))


def verdicts_on(notebook, template, limits=LIMITS):
    """Mark a mended notebook; return the verdicts by exercise."""
    files = ROOT / "course" / notebook.metadata.get("name", NAME)  # what lies beside it
    verdicts = NotebookMarker(notebook, template, files, limits).run()
    nbformat.validate(notebook)
    return {verdict.exercise: verdict for verdict in verdicts.values()}


def mark(template, short, answers, extra=None, limits=LIMITS):
    """Mark answers, with `extra` cells before those solution cells; return the notebook and verdicts by exercise."""
    submitted = filled_in(short, answers)
    for name, source in (extra or {}).items():
        insert_before(submitted, name, source)
    notebook = mended(submitted, short)
    return notebook, verdicts_on(notebook, template, limits)


def earned(verdicts):
    return {name: verdict.earned for name, verdict in verdicts.items()}


def mark_in(notebook, name):
    """Return the number that nbgrader reads from an exercise's test cell."""
    cell = cell_of(notebook, f"test_{name}")
    results = [output for output in cell.outputs if output.output_type == "execute_result"]
    assert len(results) == 1
    assert all(output.get("name") != "stderr" and output.output_type != "error" for output in cell.outputs)
    return float(results[0].data["text/plain"])
