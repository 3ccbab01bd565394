"""What the benchmarks share: runs that take turns, tables, and the machine's load."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
Found = TypeVar("Found")
console = Console(width=None if sys.stdout.isatty() else 120)


def seconds(run: Callable[[], object], times: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of one call, the mean of several."""
    started = clock()
    for _ in range(times):
        run()
    return (clock() - started) / times


def in_turns(runs: dict[str, Callable[[], Found]], turns: dict[str, int]) -> dict[str, list[Found]]:
    """Return what each run returned in its calls. They take turns, so that other load affects all alike."""
    found: dict[str, list[Found]] = {name: [] for name in runs}
    for turn in range(max(turns.values())):
        for name, run in runs.items():
            if turn < turns[name]:
                found[name].append(run())
    return found


def medians(runs: dict[str, Callable[[], object]], turns: int, times: int = 1) -> dict[str, float]:
    """Return the median milliseconds of a call of each run, after a warm-up."""
    timed = {name: lambda run=run: 1000 * seconds(run, times) for name, run in runs.items()}
    found = in_turns(timed, dict.fromkeys(runs, turns + 1))
    return {name: statistics.median(times[1:]) for name, times in found.items()}


def table(title: str, *columns: str) -> Table:
    """Return an empty table: the first column is text, the others are numbers."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        made.add_column(column, justify="right" if made.columns else "left")
    return made


def print_load() -> None:
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
