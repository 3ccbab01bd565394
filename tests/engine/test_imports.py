"""Tests that the code keeps the import contracts in pyproject.toml, so that imports go one way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


def lint_imports(folder: Path) -> subprocess.CompletedProcess:
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)


def test_the_contracts_are_kept():
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("autograder/spec/common_mistakes.py", "def late():\n    from ..judge import mark"),
        ("autograder/sandbox/selftest.py", "from . import session"),
        ("autograder/sandbox/template.py", "from ..spec import course"),
        ("autograder/untrusted/wire.py", "from transformer_exercises.stories import sample"),
        ("autograder/judge/source_rules.py", "import transformer_exercises"),
        ("autograder/judge/verdict.py", "from ..untrusted import shell"),
        ("transformer_exercises/stories/write.py", "from autograder.spec import course"),
        ("transformer_exercises/attention/softmax.py", "from autograder.judge import mark"),
        ("transformer_exercises/attention/softmax.py", "from ..masking import common"),
    ],
)
def test_an_import_in_the_wrong_direction_is_noticed(tmp_path, file, line):
    for package in ("autograder", "transformer_exercises", "tools"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / file).open("a") as module:
        module.write(f"\n{line}\n")
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout
