"""Compares two ways to name a wrong answer: running the catalogue's versions, and looking up their recorded answers.

    python tools/benchmarks/naming.py [--all] [exercise …]

The table shows CPU milliseconds, without the checks, for the first catalogued mistake of each exercise. `tried`: every
version of the catalogue runs the heaviest check that failed (about 24 are measured, the rest extrapolated). `cold`: the
first diagnosis of a new process, in a fork that has looked nothing up. `warm`: the next one. With --all every mistake
is diagnosed cold, and the slowest ones are listed; this takes half an hour, since each runs all checks first.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

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
SLOWEST = 10


def milliseconds(work: Callable[[], object]) -> float:
    return 1000 * seconds(work, clock=time.process_time)


def asked(declared: Exercise, source: str) -> tuple[list[Line], dict[str, list]]:
    """Return the rubric's lines and the record for an answer, without a diagnosis."""
    someone, lines = student_with_answer(declared, source), []
    for check in declared.checks:
        found = signatures.answer_to(declared, check, someone)
        lines.append(Line(check.title, check.weight, not found.failed))
    return lines, someone.record


def measured(declared: Exercise) -> dict[str, float]:
    """Return the times for an exercise. Call it in a fork, so that its caches do not help the next exercise."""
    source = declared.mistakes[0].source
    lines, record = asked(declared, source)
    [heaviest, *_] = sorted((line for line in lines if not line.passed), key=lambda line: -line.weight)
    [check] = [check for check in declared.checks if check.title == heaviest.title]
    sources = signatures.sources_of(declared.name)
    chosen = sources[:: max(1, len(sources) // SAMPLE)]
    tried = milliseconds(
        lambda: [signatures.answer_to(declared, check, student_with_answer(declared, version)) for version in chosen]
    )
    _forget(declared)
    cold = milliseconds(lambda: diagnose(declared, lines, record))
    warm = milliseconds(lambda: diagnose(declared, lines, record))
    return {"versions": len(sources), "tried": tried * len(sources) / len(chosen), "cold": cold, "warm": warm}


def cold_for(declared: Exercise, mistake: int) -> float:
    """Return the time of the first diagnosis of one catalogued mistake. Call it in a fork."""
    lines, record = asked(declared, declared.mistakes[mistake].source)
    _forget(declared)
    return milliseconds(lambda: diagnose(declared, lines, record))


def _forget(declared: Exercise) -> None:
    for attribute in ("mistakes", "alternatives", "sentences"):
        declared.__dict__.pop(attribute, None)


def in_a_fork(work: Callable[[], Any]) -> Any:
    reading, writing = os.pipe()
    if not os.fork():
        with open(writing, "w") as out:
            json.dump(work(), out)
        os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        found = json.load(answer)
    os.wait()
    return found


def every_mistake(chosen: list[Exercise]) -> None:
    """Diagnose every mistake, each in a process that has looked nothing up, and print the times."""
    pairs = [(one, number) for one in chosen for number in range(len(one.mistakes))]
    costs = [in_a_fork(partial(cold_for, *pair)) for pair in tqdm(pairs, desc="mistakes", disable=None, leave=False)]
    ordered = sorted(costs)
    print(
        f"{len(costs)} mistakes, each diagnosed by a process that has just started: median {median(costs):.0f} ms,"
        f" 99 of 100 within {ordered[int(0.99 * len(ordered))]:.0f} ms; {sum(cost > 50 for cost in costs)} above 50 ms"
    )
    for cost, (one, number) in sorted(zip(costs, pairs, strict=True), key=lambda row: -row[0])[:SLOWEST]:
        print(f"{cost:8.0f}  {one.name}: {one.mistakes[number].name}")


def main() -> None:
    torch.set_num_threads(1)
    names = [name for name in sys.argv[1:] if name != "--all"]
    chosen = [exercise(name) for name in names] or exercises()
    shown = table("CPU ms to name a mistake, above the checks", "exercise", "versions", "tried", "cold", "warm")
    rows = [
        (one.name, in_a_fork(partial(measured, one))) for one in tqdm(chosen, desc="naming", disable=None, leave=False)
    ]
    for name, row in rows:
        shown.add_row(name, f"{row['versions']}", *(f"{row[column]:.1f}" for column in ("tried", "cold", "warm")))
    worst = {column: max(row[column] for _, row in rows) for column in ("tried", "cold", "warm")}
    shown.add_section()
    shown.add_row("the most", "", *(f"{value:.1f}" for value in worst.values()))
    console.print(shown)
    if "--all" in sys.argv:
        every_mistake(chosen)
    print_load()


if __name__ == "__main__":
    main()
