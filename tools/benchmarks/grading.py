"""Compares marking a class with feedback by stock nbgrader, one submission after another, and by `autograder grade`.

    python tools/benchmarks/grading.py [--students 40] [--stock 5] [--quickstart] [--seed 0]

Every answer is drawn: a right one, a wrong one or none, by SHARES, so that no two submissions are alike. The wrong ones
are the catalogued ones of this course, or with `--quickstart` made up for the example course of `nbgrader quickstart`.
`--stock N` gives stock nbgrader only the first N (0: none). A student's CPU seconds include the start; compare these
on a machine that does other work as well, not the seconds on the clock. The memory is that of all processes together
(proportional set size): the peak, and the value halfway through the run.
"""

import contextlib
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import nbformat
import psutil
import typer
from rich.console import Console
from rich.table import Table

from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.sample_class import filled_in
from autograder.spec.course import exercises, questions

STOCK = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "course"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.ExecutePreprocessor.timeout = 600
"""
GROUP = Path(f"/sys/fs/cgroup/cpuacct/bench-{os.getpid()}")
ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "05-attention"
PS1 = "ps1"  # of `nbgrader quickstart`
SHARES = {"right": 0.45, "wrong": 0.47, "none": 0.08}  # of the answers
RIGHT_LETTERS = 0.7
QUICKSTART = {  # right and wrong bodies of the functions in problem1
    "squares": (
        (
            "if n < 1:\n        raise ValueError(n)\n    return [i**2 for i in range(1, n + 1)]",
            "if n <= 0:\n        raise ValueError(n)\n    return [(i + 1) ** 2 for i in range(n)]",
            "if not n > 0:\n        raise ValueError(n)\n    return list(map(lambda i: i * i, range(1, n + 1)))",
        ),
        (
            "return [i**2 for i in range(1, n + 1)]",
            "return [i**2 for i in range(n)]",
            "return [2 * i for i in range(1, n + 1)]",
            "return n / 0",
            "print([i**2 for i in range(1, n + 1)])",
        ),
    ),
    "sum_of_squares": (
        ("return sum(squares(n))", "total = 0\n    for one in squares(n):\n        total += one\n    return total"),
        ("return n * (n + 1) * (2 * n + 1) // 6", "return sum(squares(n - 1))", "return squares(n)", "return sum(n)"),
    ),
}


class Measured(NamedTuple):
    """The measurements of one run over a class."""

    seconds: float
    cpu: float
    memory: list[float]  # GiB, once a second


def cpu_seconds() -> float:
    """Return the CPU seconds of all processes started; without a control group, of those that were waited for."""
    if GROUP.exists():
        return int((GROUP / "cpuacct.usage").read_text()) / 1e9
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def course(folder: Path, stock: bool) -> None:
    """Copy the course to `folder`, with this course's nbgrader configuration or a minimal one, and release it."""
    shutil.copytree(ROOT / "solutions", folder / "solutions")  # the others decide what is imported ahead
    if stock:
        (folder / "nbgrader_config.py").write_text(STOCK)
    else:
        for package in ("autograder", "transformer_exercises"):
            shutil.copytree(ROOT / package, folder / package)
        shutil.copy(ROOT / "nbgrader_config.py", folder)
    nbgrader(folder, "generate_assignment", NOTEBOOK)


def environment(path: Path) -> dict[str, str]:
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # nbgrader calls `alembic`
    return os.environ | {"PATH": programs, "PYTHONPATH": str(path)}


def nbgrader(folder: Path, *command: str) -> None:
    surroundings = environment(ROOT) | {"COURSE_CLASSROOM": "."}
    whole = [sys.executable, "-m", "nbgrader", *command]
    done = subprocess.run(whole, cwd=folder, env=surroundings, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def drawn(draw: random.Random, right: Sequence[str], wrong: Sequence[str]) -> str | None:
    """Return a right or a wrong answer, or None."""
    kind = draw.choices((right, wrong, ()), tuple(SHARES.values()))[0]
    return draw.choice(kind) if kind else None


def answers_of(draw: random.Random) -> dict[str, str]:
    """Return a student's answers to NOTEBOOK: the sources of solution cells by name."""
    answers = {}
    for declared in exercises(NOTEBOOK):
        right = (declared.source, *(one.source for one in declared.alternatives))
        if (source := drawn(draw, right, draw.choice(declared.mistakes).sources)) is not None:
            answers[declared.name] = source
    for question in questions(NOTEBOOK):
        right_letter = draw.random() < RIGHT_LETTERS
        letter = question.key if right_letter else draw.choice(sorted(question.explanations))
        answers[question.name] = f'{question.name} = "{letter}"'
    return answers


def hand_in(folder: Path, classroom: str, students: int, seed: int) -> None:
    blank = nbformat.read(folder / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb", as_version=4)
    for number in range(students):
        filled = filled_in(blank, answers_of(random.Random(f"{seed} {number}")))
        filled.cells.append(nbformat.v4.new_code_cell(f"# {number}"))  # two may have drawn the same
        student_folder = folder / classroom / "submitted" / f"student-{number:04}" / NOTEBOOK
        student_folder.mkdir(parents=True)
        nbformat.write(filled, student_folder / f"{NOTEBOOK}.ipynb")


def hand_in_quickstart(folder: Path, students: int, seed: int) -> None:
    """Make the course of `nbgrader quickstart` in `folder`, and hand in both its notebooks for each student."""
    folder.mkdir()
    nbgrader(folder, "quickstart", ".")
    nbgrader(folder, "generate_assignment", PS1)
    for number in range(students):
        draw = random.Random(f"{seed} {number}")
        student_folder = folder / "submitted" / f"student-{number:04}" / PS1
        shutil.copytree(folder / "release" / PS1, student_folder)
        notebook = nbformat.read(student_folder / "problem1.ipynb", as_version=4)
        for cell in notebook.cells:
            body = drawn(draw, *QUICKSTART[name]) if (name := grade_id(cell)) in QUICKSTART else None
            if body is not None:
                cell.source = f"def {name}(n):  # {number}\n    {body}"
        nbformat.write(notebook, student_folder / "problem1.ipynb")


def ours(folder: Path, assignment: str, *options: str) -> Measured:
    memory: list[float] = []
    surroundings = environment(ROOT if assignment == PS1 else folder) | {"COURSE_CLASSROOM": "classroom"}
    command = [sys.executable, "-m", "autograder.cli", "grade", assignment, *options]
    started, cpu = time.monotonic(), cpu_seconds()
    process = psutil.Popen(command, cwd=folder, env=surroundings, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            pss = [one.memory_full_info().pss for one in (process, *process.children(recursive=True))]
            memory.append(sum(pss) / 2**30)
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(1)
    if process.returncode:
        raise SystemExit(process.returncode)
    return Measured(time.monotonic() - started, cpu_seconds() - cpu, memory)


def marked_by_stock(folder: Path, assignment: str) -> Measured:
    started, cpu = time.monotonic(), cpu_seconds()
    nbgrader(folder, "autograde", assignment)
    nbgrader(folder, "generate_feedback", assignment)
    return Measured(time.monotonic() - started, cpu_seconds() - cpu, [])


def main(students: int = 40, stock: int = 5, quickstart: bool = False, seed: int = 0) -> None:
    """Mark a class of so many students, and the first of them by stock nbgrader; print a table."""
    assignment = PS1 if quickstart else NOTEBOOK
    columns = ("", "students", "wall s", "CPU s", "CPU s a student", "against stock", "GiB at most", "GiB at a half")
    shown = Table(*columns, title=f"{assignment}, with feedback pages")
    costs: list[float] = []  # CPU seconds a student; stock nbgrader's first

    def show(name: str, count: int, found: Measured) -> None:
        memory = [f"{max(found.memory):.1f}", f"{found.memory[len(found.memory) // 2]:.1f}"] if found.memory else []
        costs.append(found.cpu / count)
        against = f"1/{costs[0] / costs[-1]:.0f}" if stock else ""
        row = (f"{found.seconds:.1f}", f"{found.cpu:.1f}", f"{costs[-1]:.2f}", against)
        shown.add_row(name, str(count), *row, *memory)

    def made(folder: Path, count: int, by_stock: bool) -> Path:
        if quickstart:
            hand_in_quickstart(folder, count, seed)
        else:
            course(folder, by_stock)
            hand_in(folder, "." if by_stock else "classroom", count, seed)
        return folder

    with contextlib.suppress(OSError):
        GROUP.mkdir()
        (GROUP / "tasks").write_text(str(os.getpid()))
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        if stock:
            folder = made(Path(temporary, "stock"), stock, by_stock=True)
            show("stock nbgrader", stock, marked_by_stock(folder, assignment))
        for workers in (1, 2):
            folder = made(Path(temporary, f"ours-{workers}"), students, by_stock=False)
            name = f"autograder grade --workers {workers}"
            show(name, students, ours(folder, assignment, "--workers", str(workers)))
            show("   the second run, unchanged", students, ours(folder, assignment))
    with contextlib.suppress(OSError):
        (GROUP.parent / "tasks").write_text(str(os.getpid()))
        GROUP.rmdir()
    Console(width=None if sys.stdout.isatty() else 120).print(shown)
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    typer.run(main)
