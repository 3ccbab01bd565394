"""Tests that the tests keep the rules of CONTRIBUTING.md."""

import ast

import pytest
from conftest import ROOT

LONGEST = 70  # characters of a test's name


@pytest.fixture(scope="module")
def parsed():
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "tests").rglob("*.py"))}


def test_no_name_of_a_test_is_longer_than_70_characters(parsed):
    functions = [node for tree in parsed.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    names = [function.name for function in functions if function.name.startswith("test_")]
    assert names
    assert [name for name in names if len(name) > LONGEST] == []


def test_no_test_module_imports_another(parsed):
    """What several modules need is in a helper module, such as `tests/submissions.py`."""
    for path, tree in parsed.items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("test_")], path


def test_no_list_unpacks_a_literal(parsed):
    """A formatter would write each element into a line of its own, and `*(…)` keeps it from doing so."""
    for path, tree in parsed.items():
        unpacked = [node.value for node in ast.walk(tree) if isinstance(node, ast.Starred)]
        assert not [value.lineno for value in unpacked if isinstance(value, ast.Tuple | ast.List)], path


def test_no_two_test_modules_have_one_name(parsed):
    """Where two have one, pytest refuses to collect both in one run, as `make test` does."""
    names = [path.name for path in parsed if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))
