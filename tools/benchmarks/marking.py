"""Compares the cost of marking a right submission by `nbgrader autograde`, with this course's configuration and stock.

The cost is the CPU seconds of all processes without start-up: the command is run for one submission and for several,
and the difference is divided by the number of additional ones. On Linux as root, a control group counts all processes;
otherwise the command and the children that it waited for are counted.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

os.environ["OMP_NUM_THREADS"] = "1"

from timing import ROOT, print_load

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
GROUPS = Path("/sys/fs/cgroup/cpuacct")
NOTEBOOK = "05-attention"
SEVERAL = 9  # submissions


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


def cost(folder: Path, students: list[str]) -> float:
    """Return the CPU seconds of marking a right submission of each student."""
    answers = {e.name: e.source for e in exercises(NOTEBOOK)}
    answers |= {q.name: f'{q.name} = "{q.key}"' for q in questions(NOTEBOOK)}
    shutil.rmtree(folder / "submitted", ignore_errors=True)
    right = filled_in(nbformat.read(folder / "course" / NOTEBOOK / f"{NOTEBOOK}.ipynb", as_version=4), answers)
    for student in students:
        place = folder / "submitted" / student / NOTEBOOK
        place.mkdir(parents=True)
        nbformat.write(right, place / f"{NOTEBOOK}.ipynb")
    with counted() as seconds:
        nbgrader(folder, "autograde", NOTEBOOK, "--force")
    return seconds[0]


def main() -> None:
    print(f"{NOTEBOOK}, right submissions: CPU seconds of all processes")
    for title, stock in (("this course's nbgrader_config.py", False), ("stock nbgrader", True)):
        with tempfile.TemporaryDirectory(prefix="course-") as name:
            folder = Path(name)
            course(folder, stock)
            cost(folder, ["warm-up"])
            one = cost(folder, ["one"])
            many = cost(folder, [f"student-{n}" for n in range(SEVERAL)])
        print(f"  {title:35} start-up and one {one:6.2f}   each further one {(many - one) / (SEVERAL - 1):6.2f}")
    print_load()


if __name__ == "__main__":
    main()
