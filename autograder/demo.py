"""`autograder demo`: releases, submits and marks for a made-up class in `classroom/demo`, then checks the marks."""

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import nbformat
from rich.console import Console
from rich.progress import Progress

from .batch.grade import Classroom, grade, progress
from .batch.marking import warm_up
from .batch.pool import pool
from .files import MANIFESTS, WouldOverwrite, edited_by_user, files, hashes, listed, read_manifest, write_manifest
from .nbgrader_plugin.class_secret import FILE as SECRET
from .nbgrader_plugin.converters import release
from .nbgrader_plugin.preprocessors import Judge
from .nbgrader_plugin.report.data import Answer, collect_class
from .nbgrader_plugin.report.terminal import marks_table
from .sample_class import Submission, sample_class, submitted_notebook
from .spec import course

CLASSROOM = "classroom/demo"
RELEASE = f"{CLASSROOM}/course"
MARK = "made-by-demo.json"  # manifest of the released and submitted files
WRITTEN = ("course", "submitted")  # a person may have edited these; the others hold results
MADE = (*WRITTEN, "autograded", "feedback", "marked", "exchange", "gradebook.db", "gradebook.db.turn", SECRET, MARK)
WORTH_A_LOOK = {  # pages by their students, and what they show
    "mistaken": "mistakes called by their names",
    "crashing": "a cell that ends Python costs that cell",
    "test-cell-deleted": "a deleted test cell is put back",
}


def run(console: Console, no_sandbox: bool = False) -> bool:
    """Run the demo; return True if every mark is deserved. Raise WouldOverwrite if somebody wrote in classroom/demo."""
    root = course.root()
    classroom = root / CLASSROOM
    prepare(classroom)
    with (
        progress(console) as bar,
        pool(
            preload=course.course().preload
        ) as processes,  # started after `prepare`, so that they inherit COURSE_RELEASE
        contextlib.closing(Classroom(CLASSROOM, processes, not no_sandbox)) as marking,
    ):
        sandboxed = marking.sandboxed and Judge(parent=marking.app).sandbox
        for _ in range(processes.workers):
            processes.executor().submit(warm_up, sandboxed)  # while the first notebook is released
        wrong = sum(mark_sample_class(marking, notebook, bar) for notebook in course.course().notebooks)
    pages = sorted(classroom.glob("feedback/*/*/*.html"))
    console.print(f"{len(pages)} feedback pages are in {CLASSROOM}/feedback/. Look at these first:")
    first, *_ = course.course().notebooks
    for student, shown in WORTH_A_LOOK.items():
        page = classroom / "feedback" / student / first / f"{first}.html"
        if page in pages:
            console.print(f"  {page.relative_to(root)}  ({shown})", highlight=False, soft_wrap=True)
    return not wrong


def prepare(classroom: Path) -> None:
    """Remove an earlier demo's files and make the demo's own folder the one to release into."""
    os.environ["COURSE_RELEASE"] = RELEASE  # for nbgrader_config.py, here and in the processes that mark
    clear(classroom)
    write_manifest(classroom / MARK, {})


def mark_sample_class(marking: Classroom, notebook: str, bar: Progress) -> int:
    """Release a notebook, submit and mark the sample class, print the marks. Return how many of them are wrong."""
    task = bar.add_task(f"{notebook}: the sample class submits", total=None, failures="")
    release(CLASSROOM, [notebook])
    submissions = sample_class(notebook)
    hand_in(marking.folder, notebook, submissions)
    bar.remove_task(task)
    outcome = grade(marking, notebook, bar=bar)
    [marked] = collect_class(marking.folder, [notebook]).assignments
    bar.console.print(marks_table(marked))
    return compare(submissions, marked.answers, bar.console) + len(outcome.failed)


def clear(classroom: Path) -> None:
    """Remove an earlier demo's files. Raise WouldOverwrite, and remove nothing, if somebody edited them."""
    known = read_manifest(classroom / MARK)
    if known is None and classroom.is_dir() and any(classroom.iterdir()):
        raise WouldOverwrite(
            f"{classroom} holds files and no {MARK}, so the demo does not know what of it is yours: move what you want "
            "to keep elsewhere, remove the folder, and start the demo again."
        )
    released = {
        f"course/{about.stem}/{name}": values
        for about in (classroom / "course" / MANIFESTS).glob("*.json")
        for name, values in (read_manifest(about) or {}).items()
    }
    there = [path for name in WRITTEN for path in files(classroom / name) if path.parent.name != MANIFESTS]
    if lost := edited_by_user(classroom, there, known or {}, released):
        raise WouldOverwrite(
            f"Somebody wrote in {listed(lost)} since the last demo: move it out of {classroom}, then start again."
        )
    for name in MADE:
        if (classroom / name).is_dir():
            shutil.rmtree(classroom / name)
        else:
            (classroom / name).unlink(missing_ok=True)


def hand_in(classroom: Path, notebook: str, submissions: Sequence[Submission]) -> None:
    """Write a class's notebooks where nbgrader looks for them, after entering them in the manifest."""
    name = f"{notebook}.ipynb"
    blank = nbformat.read(classroom / "course" / notebook / name, as_version=4)
    known, texts = dict(read_manifest(classroom / MARK) or {}), {}
    for one in submissions:
        path = classroom / "submitted" / one.student / notebook / name
        texts[path] = nbformat.writes(submitted_notebook(one, blank)).encode()
        known[path.relative_to(classroom).as_posix()] = [value for _, value in hashes(texts[path], notebook=True)]
    write_manifest(classroom / MARK, known)
    for path, text in texts.items():
        path.parent.mkdir(parents=True)
        path.write_bytes(text)


def compare(submissions: list[Submission], answers: list[Answer], console: Console) -> int:
    """Print and count the marks that differ from the deserved ones and the mistakes that were not named."""
    wrong = 0
    found = {(answer.student, answer.exercise): answer for answer in answers}
    for submission in submissions:
        for name, points in submission.deserved.items():
            answer = found.get((submission.student, name))
            earned = None if answer is None else answer.earned
            if earned != points:
                wrong += 1
                console.print(f"[red]{submission.student}, {name}: deserves {points}, got {earned}[/]")
            expected = submission.mistakes.get(name)
            if expected and (answer is None or expected not in answer.mistakes):
                wrong += 1
                console.print(f"[red]{submission.student}, {name}: the mistake {expected} was not named[/]")
    return wrong
