"""Makes classrooms as nbgrader leaves them after marking, without marking anything: verdicts are written as given."""

import copy
import functools
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from conftest import read
from nbgrader.api import Gradebook

from autograder.judge.diagnosis.diagnose import Diagnosis, Line
from autograder.judge.mark import Verdict, mark_choice
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.marking.notebook_marker import write_verdict
from autograder.nbgrader_plugin.report.data import collect_class
from autograder.spec.course import exercise, question_or_exercise

NAME = "06-masking"
POINTS = 28.0
WRITTEN, DIAGONAL = "written_no_mask", exercise("causal_mask").sentences["diagonal_blocked"]


def right(name):
    declared = question_or_exercise(name)
    if not hasattr(declared, "checks"):
        return mark_choice(declared, declared.key)
    return Verdict(name, declared.points, declared.points, [Line(c.title, c.weight, True) for c in declared.checks])


def wrong(name, mistake="", sentence="", fails=None):
    """Return a verdict that loses the checks of these numbers (by default, all), with a mistake named for them."""
    verdict = copy.deepcopy(right(name))
    fails = range(len(verdict.lines)) if fails is None else fails
    for number in fails:
        verdict.lines[number].passed = False
        verdict.lines[number].message = f"Line {number} is wrong."
    kept = sum(line.weight for line in verdict.lines if line.passed)
    verdict.earned = verdict.points * kept / sum(line.weight for line in verdict.lines)
    if mistake:
        verdict.diagnoses = [Diagnosis(mistake, sentence, [verdict.lines[number].title for number in fails])]
    return verdict


@dataclass
class Student:
    """Describe what one student handed in and got. Everything is right where nothing else is said."""

    verdicts: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict)
    written: float | None = None  # a person's mark
    waits: bool = False
    penalty: float = 0.0
    name: tuple = (None, None)
    change: object = None  # what else is done to the marked notebook


@functools.cache
def _release():
    return [cell for cell in read("course", NAME).cells if grade_id(cell)]


@functools.cache
def _empty_gradebook():
    """Return the file of a gradebook without students; nbgrader takes seconds to make one."""
    with tempfile.TemporaryDirectory() as folder, Gradebook(f"sqlite:///{folder}/g.db", "transformers") as gradebook:
        gradebook.add_assignment(NAME)
        gradebook.add_notebook(NAME, NAME)
        for cell in _release():
            graded = cell.metadata.nbgrader
            if graded.grade:
                gradebook.add_grade_cell(graded.grade_id, NAME, NAME, max_score=graded.points, cell_type=cell.cell_type)
        gradebook.db.commit()
        return (Path(folder) / "g.db").read_bytes()


def make_class(folder, students, absent=()):
    """Make a classroom as nbgrader leaves it after marking: a gradebook and the marked notebooks."""
    folder.mkdir(exist_ok=True)
    (folder / "gradebook.db").write_bytes(_empty_gradebook())
    best = {grade_id(cell): cell.metadata.nbgrader.get("points") for cell in _release()}
    with Gradebook(url(folder), "transformers") as gradebook:
        for student in absent:
            gradebook.add_student(student)
        for student, made in students.items():
            gradebook.add_student(student, first_name=made.name[0], last_name=made.name[1])
            submission = gradebook.add_submission(NAME, student)
            submission.notebooks[0].late_submission_penalty = made.penalty
            for grade in submission.notebooks[0].grades:
                verdict = made.verdicts.get(grade.name.removeprefix("test_"))
                grade.auto_score = best[grade.name] if verdict is None else verdict.earned
                grade.needs_manual_grade = False
                if grade.name == WRITTEN:
                    grade.auto_score, grade.manual_score = (None if made.waits else 0.0), made.written
                    grade.needs_manual_grade = made.waits
            target = folder / "autograded" / student / NAME / f"{NAME}.ipynb"
            target.parent.mkdir(parents=True)
            target.write_text(json.dumps(_marked(made)))
        gradebook.db.commit()
    return folder


def _marked(made):
    notebook = nbformat.v4.new_notebook(cells=copy.deepcopy(_release()))
    for cell in notebook.cells:
        name = grade_id(cell)
        cell.source = made.answers.get(name, cell.source)
        if name.startswith("test_"):
            name = name.removeprefix("test_")
            write_verdict(cell, made.verdicts.get(name) or right(name))
    if made.change:
        made.change(notebook)
    return notebook


def blocked(source="def causal_mask(T, device=None):\n    return torch.ones(T, T).triu(0).bool()\n"):
    return Student({"causal_mask": wrong("causal_mask", "diagonal_blocked", DIAGONAL)}, {"causal_mask": source})


def url(folder):
    return f"sqlite:///{folder}/gradebook.db"


def collected(folder, *names):
    return collect_class(folder, names, url(folder))
