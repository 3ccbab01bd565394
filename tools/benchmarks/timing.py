"""What the benchmarks share: times, tables, and the machine's load."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
console = Console(width=None if sys.stdout.isatty() else 120)


def seconds(run: Callable[[], object], times: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of one call, the mean of several."""
    started = clock()
    for _ in range(times):
        run()
    return (clock() - started) / times


def table(title: str, *columns: str) -> Table:
    """Return an empty table: the first column is text, the others are numbers."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        made.add_column(column, justify="right" if made.columns else "left")
    return made


def print_load() -> None:
    print(f"load of the machine at the end: {os.getloadavg()[0]:.1f}")
