"""What was proved once of an exercise is not proved again until something changes on which it depends.

A test that asks hundreds of versions takes all of them where `proved.json` does not know the state of what it tests,
and every tenth where it does, another tenth in each state. The same for what is run from end to end, a notebook, a
script or a whole class: what is known is run again in one state of thirty, which keeps `make test` within ten minutes.
`make prove` takes all, and writes down what it has proved. The state is that of every letter the test depends on: a
comment changes it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from autograder.judge.diagnosis.keys import environment
from autograder.spec.course import course, everything_about, notebooks

ROOT = course().root
KEPT = Path(__file__).with_name("proved.json")
ENGINE = ("asked", "inside", "judge")
PROPERTY = "proved"
EVERY = 10  # of the versions that a test asks
AGAIN = 30  # of the states of what is run from end to end
# What marks a class, whatever the course: the package without its exercises, and the libraries it stands on
MARKING = (
    *("asked", "batch", "grading", "inside", "judge", "sandbox", "cli.py", "sample_class.py"),
    *("../nbgrader_config.py", "../constraints.txt", "../tests/conftest.py", "../tests/class_copies.py"),
)
ATTENTION = ("exercises/05_attention", "../solutions/05-attention", "../course/05-attention")
UNCHANGED = "nothing of it has changed since it was run: --prove runs it again"

Item = TypeVar("Item")


class Proof:
    """Of one test; the fixture `proof` hands it out."""

    def __init__(self, item: pytest.Item) -> None:
        self.everything = item.config.getoption("--prove")
        self.name = f"{item.path.stem}::{item.name}"
        self.test = item.path.read_bytes()
        self.properties = item.user_properties

    def of(self, items: Sequence[Item], notebook: str, later: bool = False, every: int = EVERY) -> list[Item]:
        """Those of the items that must be tried: all, or one in so many; the test is skipped where that is none.

        `later`: the test depends on releases of later notebooks, too.
        """
        state = _state(self.test, notebook, later)
        self.properties.append((PROPERTY, [self.name, state]))
        if self.everything or _kept().get(self.name) != state:
            return list(items)
        chosen = list(items[number_of(self.name, state) % every :: every])
        if items and not chosen:
            pytest.skip(UNCHANGED)
        return chosen

    def run_again(self, *folders: Path, together: bool = False) -> bool:
        """Whether to run again what takes long, and depends on nothing but what lies in these folders or files.

        `together`: all such tests of a file have their turn at once, as those do that share what takes long.
        """
        state = state_of(*folders, test=self.test)
        self.properties.append((PROPERTY, [self.name, state]))
        return self.everything or due(self.name, state, turn=self.name.split("::")[0] if together else self.name)


def skip_what_is_proved(item: pytest.Item) -> None:
    """A test marked with `depends_on`: the files and folders that decide what comes of it, from the package on."""
    marker = item.get_closest_marker("depends_on")
    if marker is not None:
        places = [ROOT / "autograder" / name for name in marker.args]
        if not Proof(item).run_again(*places, **marker.kwargs):
            pytest.skip(UNCHANGED)


def due(name: str, state: str, turn: str = "") -> bool:
    """Whether what has one item is to be tried: nothing is known of its state, or its turn has come."""
    return _kept().get(name) != state or number_of(turn or name, state) % AGAIN == 0


def number_of(name: str, state: str) -> int:
    """Drawn by lot, but always the same for the same test in the same state."""
    return int(hashlib.sha256(f"{name} {state}".encode()).hexdigest(), 16)


@functools.cache
def state_of(*folders: Path, test: bytes = b"") -> str:
    """Of all that lies in folders (or of a file), what Jupyter and Python leave there aside."""
    found = hashlib.sha256(environment().encode() + test)
    for folder in folders:
        if not folder.exists():
            raise FileNotFoundError(f"A proof is said to depend on {folder}, which is not there")
        for path in sorted(folder.rglob("*")) or [folder]:
            if path.is_file() and not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts):
                found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


@functools.cache
def _kept() -> dict[str, str]:
    return json.loads(KEPT.read_text()) if KEPT.is_file() else {}


@functools.cache
def _state(test: bytes, notebook: str, later: bool) -> str:
    found = hashlib.sha256(b"\0".join([environment().encode(), _engine(), test, everything_about(notebook)]))
    for name in notebooks() if later else ():
        if name >= notebook:
            found.update((ROOT / "course" / name / f"{name}.ipynb").read_bytes())
    return found.hexdigest()[:16]


@functools.cache
def _engine() -> bytes:
    files = [path for folder in ENGINE for path in sorted((ROOT / "autograder" / folder).rglob("*.py"))]
    return b"\0".join(
        path.read_bytes() for path in [*files, ROOT / "autograder" / "exercises" / "equivalent_mutants.py"]
    )


class Keeper:
    """Writes down what was proved, in the process that hears of all tests."""

    def __init__(self) -> None:
        self.proved: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.proved |= {name: state for what, (name, state) in _of(report)}

    def pytest_sessionfinish(self) -> None:
        if self.proved:
            keep(self.proved)


def keep(proved: dict[str, str]) -> None:
    """Write down what was proved, in a file with a line for each test."""
    KEPT.write_text(json.dumps(_kept() | proved, indent=1, sort_keys=True) + "\n")


def _of(report: pytest.TestReport) -> list[tuple[str, list[str]]]:
    return [(what, found) for what, found in report.user_properties if what == PROPERTY]
