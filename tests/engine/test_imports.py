"""Imports go one way: the contracts stand in pyproject.toml, and here they are held to the code."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT


def lint_imports(folder: Path) -> subprocess.CompletedProcess:
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)


def imported_by(source: str) -> Iterator[tuple[int, str]]:
    """(dots, module) of every import in a program, wherever it stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""
        elif isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)


def goes_elsewhere(dots: int, module: str) -> bool:
    """Whether an import in a room leads to a part of the package that no room may know."""
    if dots:
        return dots > 1  # to another notebook, or up into the package
    return module.split(".")[0] == "autograder" and not module.startswith("autograder.spec")


def test_the_contracts_are_kept():
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("asked/slips.py", "def late():\n    from ..judge import mark"),
        ("sandbox/selftest.py", "from . import session"),
        ("sandbox/template.py", "from ..asked import course"),
        ("inside/wire.py", "from ..corpus import sample"),
        ("judge/rules.py", "from .. import exercises"),
        ("judge/report.py", "from ..inside import shell"),
        ("corpus/write.py", "from ..asked import course"),
    ],
)
def test_an_import_in_the_wrong_direction_is_noticed(tmp_path, file, line):
    shutil.copytree(ROOT / "autograder", tmp_path / "autograder", ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "autograder" / file).open("a") as module:
        module.write(f"\n{line}\n")
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout


def test_rooms_import_only_what_exercises_are_declared_with():
    """Their folders' names begin with a number, so the linter passes over them."""
    rooms = sorted((ROOT / "autograder" / "exercises").glob("*/*.py"))
    assert len(rooms) > 70
    found = [
        f"{room.relative_to(ROOT)}: {'.' * dots}{module}"
        for room in rooms
        for dots, module in imported_by(room.read_text("utf-8"))
        if goes_elsewhere(dots, module)
    ]
    assert not found, found


def test_a_room_that_imports_the_judge_or_its_neighbour_is_noticed():
    program = "from autograder.judge.mark import mark\ndef f():\n    from ..common import x\n    import autograder.cli"
    assert all(goes_elsewhere(*found) for found in imported_by(program))
    fine = "import torch\nfrom autograder.spec.exercise import Check\nfrom .common import x"
    assert not any(goes_elsewhere(*found) for found in imported_by(fine))
