"""The whole road once, with a made-up class: release, hand in, mark, write feedback; then the marks are looked at."""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import nbformat
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .asked.course import course, notebooks
from .grading.class_report import Result, collect, marks_table
from .grading.convert import STEPS, Worker, release
from .grading.gradebook import make_ready
from .sample_class import Submission, hand_in, sample_class

CLASSROOM = "classroom/demo"


def run(console: Console, no_sandbox: bool = False) -> bool:
    """Whether every mark is what the sample class deserves."""
    root = course().root
    classroom = root / CLASSROOM
    shutil.rmtree(classroom, ignore_errors=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    wrong = 0
    with bar:
        task = bar.add_task("releasing the course", total=None)
        release(CLASSROOM, list(notebooks()))
        bar.update(task, description="the sample class hands in")
        classes = {notebook: sample_class(notebook) for notebook in notebooks()}
        for notebook, submissions in classes.items():
            path = root / "course" / notebook / f"{notebook}.ipynb"
            blank = nbformat.read(path, as_version=4)
            for submission in submissions:
                hand_in(submission, path, classroom / "submitted", blank)
        students = {submission.student for submissions in classes.values() for submission in submissions}
        make_ready(f"sqlite:///{classroom}/gradebook.db?timeout=60", "transformers", students)
        steps = STEPS * sum(map(len, classes.values()))
        bar.update(task, total=steps, description=f"{len(students)} students, {len(classes)} notebooks")
        for message in _marked(list(classes), str(root), ["--no-sandbox"] if no_sandbox else []):
            if "done" in message:
                notebook = message["done"]
                results = collect(classroom, notebook)
                bar.console.print(marks_table(results, notebook))
                wrong += compare(classes[notebook], results, bar.console)
            else:
                bar.update(task, advance=1, description=f"{message['step']}: {message['student']}")
        bar.update(task, description="marked and fed back")
    _point_out(classroom, root, console)
    return not wrong


def _marked(names: list[str], root: str, options: list[str]) -> Iterator[dict]:
    """What the workers say, as they say it; one for each core, each with one notebook at a time."""
    todo: queue.SimpleQueue = queue.SimpleQueue()
    for name in names:
        todo.put(name)
    said: queue.SimpleQueue = queue.SimpleQueue()

    def work() -> None:
        worker = Worker(CLASSROOM, root, *options)
        try:
            while True:
                for message in worker.mark(todo.get_nowait()):
                    said.put(message)
        except queue.Empty:
            said.put(None)
        except BaseException as error:
            said.put(error)
        finally:
            worker.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(os.cpu_count() or 1, len(names)))]
    for thread in threads:
        thread.start()
    at_work = len(threads)
    while at_work:
        message = said.get()
        if isinstance(message, BaseException):
            raise message
        if message is None:
            at_work -= 1
        else:
            yield message


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
