"""Tests that the tests keep the rules of CONTRIBUTING.md."""

import ast

from conftest import ROOT

LONGEST = 70  # characters of a test's name
TESTS = {path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "tests").rglob("*.py"))}


def test_no_name_of_a_test_is_longer_than_70_characters():
    functions = [node for tree in TESTS.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    names = [function.name for function in functions if function.name.startswith("test_")]
    assert names
    assert [name for name in names if len(name) > LONGEST] == []


def test_no_test_module_imports_another():
    """What several modules need is in a helper module, such as `tests/submissions.py`."""
    for path, tree in TESTS.items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("test_")], path


def test_no_list_unpacks_a_literal():
    """A formatter would write each element into a line of its own, and `*(…)` keeps it from doing so."""
    for path, tree in TESTS.items():
        unpacked = [node.value for node in ast.walk(tree) if isinstance(node, ast.Starred)]
        assert not [value.lineno for value in unpacked if isinstance(value, ast.Tuple | ast.List)], path


def test_no_two_test_modules_have_one_name():
    """Where two have one, pytest refuses to collect both in one run, as `make test` does."""
    names = [path.name for path in TESTS if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))
