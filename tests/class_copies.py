"""Copies of the course with classrooms in them, for tests that mark whole classes."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
from conftest import ROOT, graded_only
from forked_commands import run_command
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from submissions import ANSWERS, NAME, POINTS

from autograder.sample_class import filled_in

BEST, FULL = ANSWERS, sum(POINTS.values())


def notebook(answers: dict[str, str] = BEST, *, comment: str = "") -> NotebookNode:
    """Return a submission without ungraded cells: students may delete them, and marking is faster."""
    filled = filled_in(graded_only(NAME), answers)
    if comment:
        filled.cells.append(nbformat.v4.new_code_cell(f"# {comment}", id="comment"))
    return filled


def copy_of_the_course(root: Path, settings: str = "") -> Path:
    """Copy the packages, one assignment, and the configuration with additional settings to `root`; return it."""
    root.mkdir(parents=True)
    for package in ("autograder", "transformer_exercises"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "solutions" / NAME, root / "solutions" / NAME)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Judge.cell_timeout = 4.0\nc.Judge.question_timeout = 3.0\n{settings}")
    return root


def put(
    location: Path, student: str, content: NotebookNode | bytes, name: str = f"{NAME}.ipynb", when: str = ""
) -> None:
    folder = location / "submitted" / student / NAME
    folder.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, bytes):
        content = nbformat.writes(content).encode()
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    if when:
        (folder / "timestamp.txt").write_text(when)


def start(root: Path, classroom: Path, *command: str, **options: Any) -> subprocess.Popen:
    """Start a command, ("nbgrader", …), ("autograder", …) or a module's, in the course; return the process."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | options
    module = [sys.executable, "-m", *_module(command)]
    return subprocess.Popen(module, cwd=root, env=_environment(root, classroom), text=True, **streams)


def run(root: Path, classroom: Path, *command: str, status: int | None = 0) -> str:
    found, output = run_command(*_module(command), folder=root, environment=_environment(root, classroom))
    assert status is None or found == status, output
    return output


def _module(command: Sequence[str]) -> list[str]:
    return [{"autograder": "autograder.cli"}.get(command[0], command[0]), *command[1:]]


def _environment(root: Path, classroom: Path) -> dict[str, str]:
    return {**os.environ, "COURSE_CLASSROOM": str(classroom), "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}


@contextlib.contextmanager
def dask_cluster(root: Path, location: Path, workers: int, threads: int = 1) -> Iterator[tuple[str, list[Any]]]:
    """Start a Dask scheduler with workers, each a process without a classroom; yield its address and the workers."""
    about = location / "scheduler.json"
    environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    environment.pop("COURSE_CLASSROOM", None)
    worker = ["worker", "--nthreads", str(threads), "--no-nanny", "--no-dashboard", "--local-directory", str(location)]
    processes = []
    try:
        for command in (["scheduler", "--port", "0", "--no-dashboard"], *[worker] * workers):
            command = [sys.executable, "-m", "dask", *command, "--scheduler-file", str(about)]
            with (location / f"{len(processes)}.log").open("w") as log:
                processes.append(subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=log))
        until = time.monotonic() + 120
        while not about.is_file() or not about.read_text().endswith("}"):  # it is written while others look
            assert time.monotonic() < until, "the scheduler does not start"
            time.sleep(0.05)
        yield json.loads(about.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def gradebook(classroom: Path) -> dict[str, Any]:
    """Return all that the gradebook holds of the assignment, without its generated keys."""
    with Gradebook(f"sqlite:///{classroom}/gradebook.db", "transformers") as book:
        found: dict[str, Any] = {"students": sorted(student.id for student in book.students)}
        for submission in book.assignment_submissions(NAME):
            [marked] = submission.notebooks
            found[submission.student.id] = {
                "timestamp": submission.timestamp,
                "score": (submission.score, submission.max_score, marked.late_submission_penalty),
                "grades": sorted(
                    (g.name, g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade) for g in marked.grades
                ),
                "comments": sorted((c.name, c.auto_comment, c.manual_comment) for c in marked.comments),
            }
        return found


def files(classroom: Path, *folders: str) -> dict[str, bytes]:
    """Return the content of every file below these folders, by its path."""
    return {
        path.relative_to(classroom).as_posix(): path.read_bytes()
        for folder in folders
        for path in sorted((classroom / folder).rglob("*"))
        if path.is_file()
    }


def processes_of(classroom: Path) -> list[str]:
    """Return the command lines of all processes that were started for this classroom."""
    found = []
    for location in Path("/proc").glob("[0-9]*"):
        try:
            if f"COURSE_CLASSROOM={classroom}\0".encode() in (location / "environ").read_bytes():
                found.append((location / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # the process has ended, or is another user's
            continue
    return found
