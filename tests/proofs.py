"""What was proved once of an exercise is not proved again until something changes on which it depends.

A test that asks hundreds of versions takes all of them where `proved.json` does not know the state of what it tests,
and every tenth where it does, another tenth in each state. The same for what is run from end to end, a notebook or a
script: what is known is run again in one state of ten. `make prove` takes all, and writes down what it has proved.
The state is that of every letter the test depends on: a comment changes it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from autograder.asked.course import course, everything_about, notebooks
from autograder.judge.signatures import environment

ROOT = course().root
KEPT = Path(__file__).with_name("proved.json")
ENGINE = ("asked", "inside", "judge")
PROPERTY = "proved"
EVERY = 10
UNCHANGED = "nothing of it has changed since it was run: --prove runs it again"

Item = TypeVar("Item")


class Proof:
    """Of one test of one exercise; the fixture `proof` hands it out."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self.everything = request.config.getoption("--prove")
        self.name = f"{request.node.path.stem}::{request.node.name}"
        self.test = request.node.path.read_bytes()
        self.properties = request.node.user_properties

    def of(self, items: Sequence[Item], notebook: str, later: bool = False) -> list[Item]:
        """Those of the items that must be tried. `later`: the test depends on releases of later notebooks, too."""
        state = _state(self.test, notebook, later)
        self.properties.append((PROPERTY, [self.name, state]))
        if self.everything or _kept().get(self.name) != state:
            return list(items)
        return list(items[int(state, 16) % EVERY % max(1, len(items)) :: EVERY])

    def run_again(self, *folders: Path) -> bool:
        """Whether to run again what takes long, and depends on nothing but what lies in these folders or files."""
        state = state_of(*folders, test=self.test)
        self.properties.append((PROPERTY, [self.name, state]))
        return self.everything or due(self.name, state)


def due(name: str, state: str) -> bool:
    """Whether what has one item is to be tried: nothing is known of its state, or its turn has come."""
    return _kept().get(name) != state or int(state, 16) % EVERY == 0


def state_of(*folders: Path, test: bytes = b"") -> str:
    """Of all that lies in folders (or of a file), what Jupyter and Python leave there aside."""
    found = hashlib.sha256(environment().encode() + test)
    for folder in folders:
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
