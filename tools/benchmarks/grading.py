"""Compares marking a class with feedback by stock nbgrader, one submission after another, and by `autograder grade`.

    python tools/benchmarks/grading.py [--students 40] [--stock 40] [--quickstart]

The class is made from the sample class, or with `--quickstart` from the example course of `nbgrader quickstart`; no two
submissions are alike. Stock nbgrader takes minutes, so `--stock N` gives it only the first N (0: none); its rate is for
these. The table shows wall-clock seconds, CPU seconds of all
processes, start-up included, and the memory of all processes together (proportional set size): the peak, and the value
halfway through the run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
import psutil
from rich.console import Console
from timing import ROOT, console, print_load, table

from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.sample_class import sample_class, submitted_notebook

STOCK = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "course"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.ExecutePreprocessor.timeout = 600
"""
GROUPS = Path("/sys/fs/cgroup/cpuacct")
NOTEBOOK = "05-attention"
PS1 = "ps1"  # of `nbgrader quickstart`
SQUARES = ("return [i**2 for i in range(1, n + 1)]", "return n / 0", "raise NotImplementedError()")


class Measured(NamedTuple):
    """The measurements of one run over a class."""

    seconds: float
    cpu: float
    memory: list[float]  # GiB, once a second
    students: int


@contextlib.contextmanager
def counted() -> Iterator[list[float]]:
    """Measure the CPU seconds of all processes started in the block. The yielded list holds them afterwards."""
    result: list[float] = []
    group = GROUPS / f"bench-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        yield result
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        result.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return
    home = next(
        line.split(":")[2] for line in Path("/proc/self/cgroup").read_text().splitlines() if ":cpuacct:" in line
    )
    (group / "tasks").write_text(str(os.getpid()))
    started = int((group / "cpuacct.usage").read_text())
    try:
        yield result
    finally:
        result.append((int((group / "cpuacct.usage").read_text()) - started) / 1e9)
        (GROUPS / home.lstrip("/") / "tasks").write_text(str(os.getpid()))
        with contextlib.suppress(OSError):
            group.rmdir()


def course(folder: Path, stock: bool) -> None:
    """Copy the course to `folder`, with this course's nbgrader configuration or a minimal one, and release it."""
    shutil.copytree(ROOT / "solutions" / NOTEBOOK, folder / "solutions" / NOTEBOOK)
    if stock:
        (folder / "nbgrader_config.py").write_text(STOCK)
    else:
        for package in ("autograder", "transformer_exercises"):
            shutil.copytree(ROOT / package, folder / package)
        shutil.copy(ROOT / "nbgrader_config.py", folder)
    nbgrader(folder, "generate_assignment", NOTEBOOK)


def nbgrader(folder: Path, *command: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # nbgrader calls `alembic`
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "COURSE_CLASSROOM": "."}
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def hand_in(folder: Path, classroom: str, students: int) -> None:
    blank = nbformat.read(folder / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb", as_version=4)
    samples = sample_class(NOTEBOOK)
    for number in range(students):
        sample = samples[number % len(samples)]
        filled = submitted_notebook(sample, blank)
        filled.cells.append(nbformat.v4.new_code_cell(f"# {number}"))
        place = folder / classroom / "submitted" / f"student-{number:04}" / NOTEBOOK
        place.mkdir(parents=True)
        nbformat.write(filled, place / f"{NOTEBOOK}.ipynb")


def hand_in_quickstart(folder: Path, students: int) -> None:
    """Make the course of `nbgrader quickstart` in `folder`, and hand in both its notebooks for each student."""
    folder.mkdir()
    nbgrader(folder, "quickstart", ".")
    nbgrader(folder, "generate_assignment", PS1)
    for number in range(students):
        place = folder / "submitted" / f"student-{number:04}" / PS1
        shutil.copytree(folder / "release" / PS1, place)
        notebook = nbformat.read(place / "problem1.ipynb", as_version=4)
        [answer] = [cell for cell in notebook.cells if grade_id(cell) == "squares"]
        answer.source = f"def squares(n):  # {number}\n    {SQUARES[number % len(SQUARES)]}"
        nbformat.write(notebook, place / "problem1.ipynb")


def ours(folder: Path, assignment: str, students: int, *options: str) -> Measured:
    memory: list[float] = []
    over = threading.Event()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COURSE_CLASSROOM": "classroom"}
    environment["PYTHONPATH"] = str(ROOT if assignment == PS1 else folder)
    command = [sys.executable, "-m", "autograder.cli", "grade", assignment, *options]
    with counted() as cpu:
        started = time.monotonic()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        watcher = threading.Thread(target=lambda: watch(process.pid, memory, over))
        watcher.start()
        said, _ = process.communicate()
        seconds = time.monotonic() - started
        over.set()
        watcher.join()
    if process.returncode:
        raise SystemExit(said.decode())
    return Measured(seconds, cpu[0], memory, students)


def watch(pid: int, memory: list[float], over: threading.Event) -> None:
    while not over.wait(1):
        total = 0
        try:
            for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
                total += process.memory_full_info().pss
        except psutil.Error:
            continue
        memory.append(total / 2**30)


def stock(folder: Path, assignment: str, students: int) -> Measured:
    with counted() as cpu:
        started = time.monotonic()
        nbgrader(folder, "autograde", assignment)
        nbgrader(folder, "generate_feedback", assignment)
        seconds = time.monotonic() - started
    return Measured(seconds, cpu[0], [], students)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--stock", type=int, default=40)
    parser.add_argument("--quickstart", action="store_true")
    chosen = parser.parse_args()
    assignment = PS1 if chosen.quickstart else NOTEBOOK
    columns = ("students", "wall s", "CPU s", "students/s", "against stock", "GiB at most", "GiB at a half")
    shown = table(f"{assignment}, with feedback pages", "", *columns)
    base: float | None = None

    def show(name: str, found: Measured) -> None:
        halfway = found.memory[len(found.memory) // 2 :][:1]
        memory = [f"{max(found.memory):.1f}", *(f"{one:.1f}" for one in halfway)] if found.memory else []
        rate = found.students / found.seconds
        against = f"{rate / base:.0f} x" if base else ""
        rates = (f"{found.seconds:.1f}", f"{found.cpu:.1f}", f"{rate:.2f}", against)
        shown.add_row(name, str(found.students), *rates, *memory)
        Console(stderr=True).print(name, str(found.students), *rates, *memory, highlight=False)

    def made(folder: Path, count: int, stock: bool) -> Path:
        if chosen.quickstart:
            hand_in_quickstart(folder, count)
        else:
            course(folder, stock)
            hand_in(folder, "." if stock else "classroom", count)
        return folder

    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        if chosen.stock:
            found = stock(made(Path(temporary, "stock"), chosen.stock, stock=True), assignment, chosen.stock)
            show("stock nbgrader", found)
            base = found.students / found.seconds
        for workers in (1, 2):
            folder = made(Path(temporary, f"ours-{workers}"), chosen.students, stock=False)
            name = f"autograder grade --workers {workers}"
            show(name, ours(folder, assignment, chosen.students, "--workers", str(workers)))
            show("   the second run, unchanged", ours(folder, assignment, chosen.students))
    console.print(shown)
    print_load()


if __name__ == "__main__":
    main()
