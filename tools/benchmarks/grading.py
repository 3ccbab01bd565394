"""Compares marking a class with feedback by stock nbgrader, one submission after another, and by `autograder grade`.

    python tools/benchmarks/grading.py [--students 40] [--stock 40]

The class is made from the sample class, with no two submissions alike. Stock nbgrader takes minutes, so `--stock N`
gives it only the first N (0: none); its rate is for these. The table shows wall-clock seconds, CPU seconds of all
processes, start-up included, and the memory of all processes together (proportional set size): the peak, and the value
halfway through the run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import nbformat
import psutil
from marking import NOTEBOOK, counted, course, nbgrader
from rich.console import Console
from timing import console, print_load, table

from autograder.sample_class import sample_class, submitted_notebook


class Measured(NamedTuple):
    """The measurements of one run over a class."""

    seconds: float
    cpu: float
    memory: list[float]  # GiB, once a second
    students: int


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


def ours(folder: Path, students: int, *options: str) -> Measured:
    memory: list[float] = []
    over = threading.Event()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder), "COURSE_CLASSROOM": "classroom"}
    command = [sys.executable, "-m", "autograder.cli", "grade", NOTEBOOK, *options]
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


def stock(folder: Path, students: int) -> Measured:
    with counted() as cpu:
        started = time.monotonic()
        nbgrader(folder, "autograde", NOTEBOOK)
        nbgrader(folder, "generate_feedback", NOTEBOOK)
        seconds = time.monotonic() - started
    return Measured(seconds, cpu[0], [], students)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--stock", type=int, default=40)
    chosen = parser.parse_args()
    columns = ("students", "wall s", "CPU s", "students/s", "against stock", "GiB at most", "GiB at a half")
    shown = table(f"{NOTEBOOK}, with feedback pages", "", *columns)
    base: float | None = None

    def show(name: str, found: Measured) -> None:
        halfway = found.memory[len(found.memory) // 2 :][:1]
        memory = [f"{max(found.memory):.1f}", *(f"{one:.1f}" for one in halfway)] if found.memory else []
        rate = found.students / found.seconds
        against = f"{rate / base:.0f} x" if base else ""
        rates = (f"{found.seconds:.1f}", f"{found.cpu:.1f}", f"{rate:.2f}", against)
        shown.add_row(name, str(found.students), *rates, *memory)
        Console(stderr=True).print(name, str(found.students), *rates, *memory, highlight=False)

    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        if chosen.stock:
            folder = Path(temporary, "stock")
            course(folder, stock=True)
            hand_in(folder, ".", chosen.stock)
            found = stock(folder, chosen.stock)
            show("stock nbgrader", found)
            base = found.students / found.seconds
        for workers in (1, 2):
            folder = Path(temporary, f"ours-{workers}")
            course(folder, stock=False)
            hand_in(folder, "classroom", chosen.students)
            name = f"autograder grade --workers {workers}"
            show(name, ours(folder, chosen.students, "--workers", str(workers)))
            show("   the second run, unchanged", ours(folder, chosen.students))
    console.print(shown)
    print_load()


if __name__ == "__main__":
    main()
