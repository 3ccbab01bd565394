"""Builds a class of made-up students from the exercises' catalogues. Their deserved marks are known."""

import copy
from dataclasses import dataclass, field

from nbformat import NotebookNode

from .judge.diagnosis import fingerprint_store, fingerprints
from .judge.mark import mark, points_of_variant
from .judge.run_check import namespace_with
from .judge.source_rules import uses
from .judge.student import in_process
from .nbgrader_plugin.intake.repair import grade_id
from .spec.course import exercises, in_notebook, questions

CRASH = "import os\n\nos._exit(1)"


@dataclass
class Submission:
    """One student's notebook, and the points that each exercise and question in it deserves."""

    student: str
    answers: dict[str, str]  # source of the solution cell, by exercise or question
    deserved: dict[str, float]
    mistakes: dict[str, str] = field(default_factory=dict)  # the mistake that should be named, by exercise
    deleted: str = ""  # the grade_id of a cell that is not in it


def sample_class(notebook: str) -> list[Submission]:
    """Return five submissions: right, blank, wrong in catalogued ways, and damaged."""
    best = {e.name: e.source for e in exercises(notebook)}
    best |= {q.name: f'{q.name} = "{q.key}"' for q in questions(notebook)}
    full = {declared.name: declared.points for declared in in_notebook(notebook)}
    first, *_ = exercises(notebook)
    return [
        Submission("perfect", best, full),
        Submission("blank", {}, dict.fromkeys(full, 0.0)),
        _mistaken(notebook, best, full),
        Submission("crashing", best | {first.name: CRASH}, full | {first.name: 0.0}),
        Submission("test-cell-deleted", best, full, deleted=f"test_{first.name}"),
    ]


def _mistaken(notebook: str, best: dict[str, str], full: dict[str, float]) -> Submission:
    """Return a submission with a catalogued mistake or wrong letter everywhere. Its points are looked up."""
    guessed = {q.name: f'{q.name} = "{min(set(q.explanations) - {q.key})}"' for q in questions(notebook)}
    answers, deserved, named = best | guessed, full | dict.fromkeys(guessed, 0.0), {}
    for exercise in exercises(notebook):
        mistake = exercise.mistakes[0]
        answers[exercise.name] = mistake.source
        row = fingerprints.sources_of(exercise.name).index(mistake.source)
        deserved[exercise.name] = points_of_variant(exercise, fingerprint_store.of(exercise.name), row)
        named[exercise.name] = mistake.name
    using_others = [e for e in exercises(notebook) if uses(e.name, answers.values()) & set(answers) - {e.name}]
    for exercise in using_others:  # the better mark counts: with the student's other parts, or with library equivalents
        namespace = namespace_with(exercise, "\n".join(answers[e.name] for e in exercises(notebook)))
        own = mark(exercise.name, in_process(namespace), own_parts=True).earned
        if own > deserved[exercise.name]:
            deserved[exercise.name] = own
            del named[exercise.name]
    return Submission("mistaken", answers, deserved, named)


def filled_in(release: NotebookNode, answers: dict[str, str]) -> NotebookNode:
    """Return a copy of the release with these sources in its solution cells."""
    notebook = copy.deepcopy(release)
    for cell in notebook.cells:
        if (name := grade_id(cell)) in answers:
            cell.source = answers[name]
    return notebook


def submitted_notebook(submission: Submission, blank: NotebookNode) -> NotebookNode:
    """Return the notebook that a student submits; `blank` is the release."""
    notebook = filled_in(blank, submission.answers)
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell) != submission.deleted]
    return notebook
