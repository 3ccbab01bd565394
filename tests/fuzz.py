"""Fuzzes the properties of the modules in MODULES for as long as you like, with new examples each round.

make fuzz MINUTES=60, or python tests/fuzz.py --minutes 60 [NAME …]

Every property gets the same share of the time. A failure is printed with the smallest example that shows it, and saved
in `.hypothesis`; the next run tries it first. The last lines are a table; the exit status is 1 if anything was found.
"""

import argparse
import contextlib
import gc
import logging
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
MODULES = ("test_damaged_notebooks", "test_wire")
MEMORY = 12 * 2**30  # bytes of address space: a larger example raises MemoryError and does not exhaust the machine
SHOWN = 3_000  # characters of an example

settings.register_profile("fuzz", deadline=None, print_blob=True)
settings.load_profile("fuzz")  # before the properties are imported


@dataclass
class Property:
    """A Hypothesis test and its results."""

    name: str
    test: Callable[[], None]
    examples: int = 0
    rounds: int = 0
    seconds: float = 0.0
    found: dict[str, str] = field(default_factory=dict)  # reports of failures, by error and place


def properties(names: list[str]) -> list[Property]:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "engine")]
    found = []
    for module in MODULES:
        for name, test in vars(__import__(module)).items():
            wanted = not names or any(part in name for part in names)
            if name.startswith("test_") and hasattr(test, "hypothesis") and test.__module__ == module and wanted:
                found.append(Property(name.removeprefix("test_"), test))
                test.hypothesis.inner_test = _counted(found[-1], test.hypothesis.inner_test)
    return found


def _counted(one: Property, inner: Callable[..., None]) -> Callable[..., None]:
    def counted(*args: Any, **kwargs: Any) -> None:
        one.examples += 1
        inner(*args, **kwargs)

    return counted


def rounds(chosen: list[Property], seconds: float) -> None:
    """Run rounds until the time is up, each of the property that has had the least time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        one = min(chosen, key=lambda one: one.seconds)
        one.rounds += 1
        started = time.monotonic()  # the CPU time of notebooks' processes is unknown until they end
        try:
            one.test()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _report(one, error)
        one.seconds += time.monotonic() - started


def _report(one: Property, error: BaseException) -> None:
    if isinstance(error, BaseExceptionGroup):  # Hypothesis raises it for several failures
        for inner in error.exceptions:
            _report(one, inner)
        return
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if str(ROOT) in frame.filename and ".venv" not in frame.filename] or frames
    where = f"{type(error).__name__} at {Path(ours[-1].filename).name}:{ours[-1].lineno}"
    if where not in one.found:
        notes = "\n".join(getattr(error, "__notes__", []))
        one.found[where] = f"{where}: {str(error)[:500]}\n{notes[:SHOWN]}"
        trace = "".join(traceback.format_tb(error.__traceback__)[-4:])
        print(f"\n=== {one.name}\n{trace}{one.found[where]}\n", flush=True)


def table(chosen: list[Property]) -> str:
    width = max(len(one.name) for one in chosen)
    lines = [f"{'property':{width}}  examples  rounds  seconds  found"]
    for one in chosen:
        found = "; ".join(one.found) or "nothing"
        lines.append(f"{one.name:{width}}  {one.examples:8,}  {one.rounds:6}  {one.seconds:7.0f}  {found}")
    return "\n".join([*lines, f"processor time of this process: {time.process_time():.0f} s"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of those properties that are meant")
    parser.add_argument("--minutes", type=float, default=3.0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    logging.disable(logging.CRITICAL)  # skipped cells would be logged thousands of times
    warnings.simplefilter("ignore")
    chosen = properties(options.names)
    if not chosen:
        sys.exit("There is no property of this name.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the table is printed after SIGTERM too
    gc.collect()
    gc.freeze()  # scanning torch and other imports takes longer than most examples
    with contextlib.suppress(KeyboardInterrupt):
        rounds(chosen, 60 * options.minutes)
    print(table(chosen), flush=True)
    return int(any(one.found for one in chosen))


if __name__ == "__main__":
    sys.exit(main())
