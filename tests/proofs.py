"""What was proved once of an exercise is not proved again until something changes on which it depends.

A test that asks hundreds of versions takes all of them where `proved.json` does not know the state of what it tests,
and every tenth where it does, another tenth in each state. `make prove` takes all, and writes down what it has proved;
so does CI. The state is that of every letter the test depends on: a comment changes it.
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
            KEPT.write_text(json.dumps(_kept() | self.proved, indent=1, sort_keys=True) + "\n")


def _of(report: pytest.TestReport) -> list[tuple[str, list[str]]]:
    return [(what, found) for what, found in report.user_properties if what == PROPERTY]
