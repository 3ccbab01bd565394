"""The command line: `autograder demo`, `report`, `kill-table` and `run-solutions`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .asked.course import course, exercises, notebooks
from .asked.declare import Exercise

ROOT = course().root
app = typer.Typer(help="Marks the exercises of the course.", no_args_is_help=True, add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 150)


@app.command()
def report(
    notebook: Annotated[str, typer.Argument(help="For example 05-attention")],
    classroom: Annotated[Path, typer.Option(help="Folder with the term's data")] = ROOT / "classroom",
) -> None:
    """Print a class's marks and the misconceptions behind the lost ones."""
    from .grading.class_report import collect, collect_noticed, show, show_noticed

    results = collect(classroom.resolve(), notebook)
    if not results:
        raise typer.BadParameter(
            f"nothing has been marked for {notebook} in {classroom}; run `nbgrader autograde` first"
        )
    show(results, notebook, console)
    show_noticed(collect_noticed(classroom.resolve(), notebook), notebook, console)


@app.command()
def kill_table(
    wanted: Annotated[list[str] | None, typer.Argument(help="Notebooks or exercises; all if none is named")] = None,
) -> None:
    """For each exercise: how many catalogued mistakes the checks catch, and how many the feedback names."""
    from .judge.asking import namespace_with
    from .judge.mark import mark
    from .judge.student import in_process

    table = Table(title="Catalogued wrong answers")
    for heading in ("notebook", "exercise", "mistakes", "wrong versions", "caught", "named", "alternatives accepted"):
        table.add_column(heading, justify="left" if heading in ("notebook", "exercise") else "right")
    for exercise in _chosen(wanted or ()):

        def verdict(source: str, exercise=exercise):
            return mark(exercise.name, in_process(namespace_with(exercise, source)), [source])

        wrong = [(m, verdict(source)) for m in exercise.mistakes for source in m.sources]
        caught = sum(not v.full for _, v in wrong)
        named = sum(m.name in [d.mistake for d in v.diagnoses[:1]] for m, v in wrong)
        right = sum(verdict(alternative.source).full for alternative in exercise.alternatives)
        counts = (len(exercise.mistakes), len(wrong), caught, named, f"{right} of {len(exercise.alternatives)}")
        table.add_row(exercise.notebook, exercise.name, *map(str, counts))
    console.print(table)


def _chosen(wanted: Collection[str]) -> list[Exercise]:
    """The exercises that are named, or whose notebook is, in the course's order; all if nothing is named."""
    found = [each for each in exercises() if not wanted or each.name in wanted or each.notebook in wanted]
    unknown = set(wanted) - {name for each in found for name in (each.name, each.notebook)}
    if unknown:
        raise typer.BadParameter(f"no notebook or exercise is named {', '.join(sorted(unknown))}")
    return found


@app.command()
def run_solutions(
    wanted: Annotated[list[str] | None, typer.Argument(help="Which ones; all if none is named")] = None,
) -> None:
    """Execute the solution notebooks and keep their outputs. Run `make release` afterwards."""
    from .authoring import run

    for notebook in wanted or notebooks():
        seconds = run(ROOT / "solutions" / notebook / f"{notebook}.ipynb")
        console.print(f"{notebook}: {seconds:.1f} s", highlight=False)


@app.command()
def demo(
    no_sandbox: Annotated[bool, typer.Option("--no-sandbox", help="Run notebooks uncaged, with your rights")] = False,
) -> None:
    """Release the course, hand in a sample class, mark it through nbgrader, write feedback, and check the marks."""
    from .grading.class_report import collect, show
    from .sample_class import hand_in, sample_class

    classroom = ROOT / "classroom" / "demo"
    shutil.rmtree(classroom, ignore_errors=True)
    _nbgrader("generate_assignment", "--assignment", "*", "--force")
    classes = {notebook: sample_class(notebook) for notebook in notebooks()}
    for notebook, submissions in classes.items():
        for submission in submissions:
            hand_in(submission, ROOT / "course" / notebook / f"{notebook}.ipynb", classroom / "submitted")

    def process(notebook: str) -> None:
        _nbgrader("autograde", notebook, *(["--Judge.sandbox=False"] if no_sandbox else []))
        _nbgrader("generate_feedback", notebook)

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # one nbgrader for each core
        list(pool.map(process, classes))
    wrong = 0
    for notebook, submissions in classes.items():
        results = collect(classroom, notebook)
        show(results, notebook, console)
        wrong += _compare(submissions, results)
    pages = len(list(classroom.glob("feedback/*/*/*.html")))
    console.print(f"{pages} feedback pages are in {classroom.relative_to(ROOT)}/feedback/")
    if wrong:
        console.print(f"[bold red]{wrong} marks are not what the sample class deserves.[/]")
        raise typer.Exit(1)
    console.print("[bold green]Every mark is what the sample class deserves.[/]")


def _compare(submissions: list, results: list) -> int:
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


def _nbgrader(*command: str) -> None:
    """A plain nbgrader command, as an instructor would give it."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command],
        cwd=ROOT,
        env=os.environ | {"COURSE_CLASSROOM": "classroom/demo"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        console.print(done.stdout + done.stderr, markup=False)
        raise typer.Exit(done.returncode)
    console.print(f"$ nbgrader {' '.join(command)}    {time.monotonic() - started:.1f} s", highlight=False)


if __name__ == "__main__":
    app()
