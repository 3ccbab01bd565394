"""Tests that imports go one way, as the contracts in pyproject.toml say, and that plug-ins load nothing slow."""

import shutil
from pathlib import Path

import pytest
from conftest import ROOT, python


def lint_imports(folder: Path):
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    return python("-c", program, cwd=folder, path=folder)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for package in ("autograder", "transformer_exercises", "tools"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_the_contracts_are_kept(copy):
    done = lint_imports(copy)
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
def test_an_import_in_the_wrong_direction_is_noticed(copy, file, line):
    text = (copy / file).read_text()
    (copy / file).write_text(f"{text}\n{line}\n")
    done = lint_imports(copy)
    (copy / file).write_text(text)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout
