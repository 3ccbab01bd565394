"""The whole road once, with a made-up class: release, hand in, mark, write feedback; then the marks are looked at."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
from rich.console import Console

from .asked.course import course, notebooks
from .batch.grade import Classroom, grade, progress
from .batch.pool import pool
from .grading.class_report import Result, collect, marks_table
from .grading.convert import release
from .sample_class import Submission, hand_in, sample_class

CLASSROOM = "classroom/demo"


def run(console: Console, no_sandbox: bool = False) -> bool:
    """Whether every mark is what the sample class deserves."""
    root = course().root
    classroom = root / CLASSROOM
    shutil.rmtree(classroom, ignore_errors=True)
    bar = progress(console)
    wrong = 0
    with bar, pool() as processes:
        task = bar.add_task("releasing the course", total=None, failures="")
        release(CLASSROOM, list(notebooks()))
        bar.update(task, description="the sample class hands in")
        classes = {notebook: sample_class(notebook) for notebook in notebooks()}
        for notebook, submissions in classes.items():
            path = root / "course" / notebook / f"{notebook}.ipynb"
            blank = nbformat.read(path, as_version=4)
            for submission in submissions:
                hand_in(submission, path, classroom / "submitted", blank)
        bar.remove_task(task)
        marking = Classroom(CLASSROOM, processes, not no_sandbox)
        try:
            for notebook, submissions in classes.items():
                outcome = grade(marking, notebook, bar=bar)
                results = collect(classroom, notebook)
                bar.console.print(marks_table(results, notebook))
                wrong += compare(submissions, results, bar.console) + len(outcome.failed)
        finally:
            marking.close()
    _point_out(classroom, root, console)
    return not wrong


def compare(submissions: list[Submission], results: list[Result], console: Console) -> int:
    """How many marks differ from what is deserved, and how many mistakes went unnamed; each is printed."""
    wrong = 0
    found = {(result.student, result.exercise): result for result in results}
    for submission in submissions:
        for name, points in submission.deserved.items():
            result = found.get((submission.student, name))
            earned = None if result is None else result.earned
            if earned != points:
                wrong += 1
                console.print(f"[red]{submission.student}, {name}: deserves {points}, got {earned}[/]")
            expected = submission.mistakes.get(name)
            if expected and (result is None or expected not in result.named):
                wrong += 1
                console.print(f"[red]{submission.student}, {name}: the mistake {expected} was not named[/]")
    return wrong


def _point_out(classroom: Path, root: Path, console: Console) -> None:
    """The pages most worth looking at."""
    pages = sorted(classroom.glob("feedback/*/*/*.html"))
    console.print(f"{len(pages)} feedback pages are in {classroom.relative_to(root)}/feedback/. Look at these first:")
    for student, notebook, why in (
        ("mistaken-1", "05-attention", "mistakes called by their names"),
        ("crashing", "06-masking", "a cell that ends Python costs that cell"),
        ("test-cell-deleted", "08-blocks", "a deleted test cell is put back"),
    ):
        page = classroom / "feedback" / student / notebook / f"{notebook}.html"
        if page in pages:
            console.print(f"  {page.relative_to(root)}  ({why})", highlight=False, soft_wrap=True)
