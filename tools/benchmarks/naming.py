"""Compares two ways to name a wrong answer: running the catalogue's versions, and looking up their recorded answers.

    python tools/benchmarks/naming.py [exercise …]

The table shows CPU milliseconds, without the checks, for the first catalogued mistake of each exercise. `tried`: every
version of the catalogue runs the heaviest check that failed (about 24 are measured, the rest extrapolated). `cold`: the
first diagnosis of a new process, in a fork that has looked nothing up. `warm`: the next one.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from timing import console, print_load, seconds, table
from tqdm.auto import tqdm

from autograder.judge.diagnosis import signatures
from autograder.judge.diagnosis.diagnose import Line, diagnose
from autograder.judge.run_check import student_with_answer
from autograder.spec.course import exercise, exercises
from autograder.spec.exercise import Exercise

SAMPLE = 24


def milliseconds(work: Callable[[], object]) -> float:
    return 1000 * seconds(work, clock=time.process_time)


def asked(declared: Exercise, source: str) -> tuple[list[Line], dict[str, list]]:
    """Return the rubric's lines and the record for an answer, without a diagnosis."""
    someone, lines = student_with_answer(declared, source), []
    for check in declared.checks:
        found = signatures.answer_to(declared, check, someone)
        lines.append(Line(check.title, check.weight, not found.failed))
    return lines, someone.record


def measured(name: str) -> dict[str, float]:
    """Return the times for an exercise. Call it in a fork, so that its caches do not help the next exercise."""
    declared = exercise(name)
    source = declared.mistakes[0].source
    lines, record = asked(declared, source)
    [heaviest, *_] = sorted((line for line in lines if not line.passed), key=lambda line: -line.weight)
    [check] = [check for check in declared.checks if check.title == heaviest.title]
    sources = signatures.sources_of(declared.name)
    chosen = sources[:: max(1, len(sources) // SAMPLE)]
    tried = milliseconds(
        lambda: [signatures.answer_to(declared, check, student_with_answer(declared, version)) for version in chosen]
    )
    for attribute in ("mistakes", "alternatives", "sentences"):
        declared.__dict__.pop(attribute, None)
    cold = milliseconds(lambda: diagnose(declared, lines, record))
    warm = milliseconds(lambda: diagnose(declared, lines, record))
    return {"versions": len(sources), "tried": tried * len(sources) / len(chosen), "cold": cold, "warm": warm}


def main() -> None:
    torch.set_num_threads(1)
    names = sys.argv[1:] or [one.name for one in exercises()]
    shown = table("CPU ms to name a mistake, above the checks", "exercise", "versions", "tried", "cold", "warm")
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        rows = list(tqdm(pool.imap(measured, names), desc="naming", total=len(names), disable=None, leave=False))
    for name, row in zip(names, rows, strict=True):
        shown.add_row(name, f"{row['versions']}", *(f"{row[column]:.1f}" for column in ("tried", "cold", "warm")))
    worst = {column: max(row[column] for row in rows) for column in ("tried", "cold", "warm")}
    shown.add_section()
    shown.add_row("the most", "", *(f"{value:.1f}" for value in worst.values()))
    console.print(shown)
    print_load()


if __name__ == "__main__":
    main()
