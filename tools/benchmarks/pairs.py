"""Measures how well answers with two catalogued mistakes at once are named.

    python tools/benchmarks/pairs.py [exercise …]

For each exercise, answers are made from two catalogued edits, drawn at random (the same at each run), that together
answer like no single catalogued version. `both`, `one`, `none`: how many of the two were named, and nothing else;
`wrong`: another mistake was named. `CPU ms`: the time to mark such an answer for the first time, with its checks.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import torch
from timing import console, table
from tqdm.auto import tqdm
from two_mistakes import drawn, marked, outcome

from autograder.spec.course import exercise, exercises
from autograder.spec.exercise import Exercise

OUTCOMES = ("both", "one", "none", "wrong")
COUNT = 5  # answers of each exercise


def spent() -> float:
    """Return the CPU seconds of this process and of the children that it has waited for."""
    return sum(os.times()[:4])


def counted(declared: Exercise) -> tuple[Counter[str], float]:
    found: Counter[str] = Counter()
    seconds = 0.0
    for two in drawn(declared, COUNT):
        started = spent()
        verdict = marked(declared, two)
        seconds += spent() - started
        found[outcome(declared, two, verdict)] += 1
    return found, seconds


def main() -> None:
    torch.set_num_threads(1)
    chosen = [exercise(name) for name in sys.argv[1:]] or exercises()
    shown = table("Answers with two mistakes: how many of both are named", "exercise", *OUTCOMES, "CPU ms")
    total: Counter[str] = Counter()
    seconds = 0.0
    for declared in tqdm(chosen, desc="two mistakes", disable=None, leave=False):
        found, took = counted(declared)
        total += found
        seconds += took
        numbers = (str(found[one] or "") for one in OUTCOMES)
        shown.add_row(declared.name, *numbers, f"{1000 * took / max(1, found.total()):.0f}")
    shown.add_section()
    shown.add_row("all", *(str(total[one]) for one in OUTCOMES), f"{1000 * seconds / max(1, total.total()):.0f}")
    console.print(shown)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as nothing_kept:
        os.environ["XDG_CACHE_HOME"] = nothing_kept
        main()
