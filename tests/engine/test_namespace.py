"""Tests that `autograder.spec` is one documented namespace, that exercises use it alone, and that it is cheap."""

import ast
import importlib
import re

import pytest
from conftest import ROOT, python

from autograder import spec

INIT = ROOT / "autograder" / "spec" / "__init__.py"
EXERCISES = [
    path
    for path in sorted((ROOT / "transformer_exercises").glob("*/*.py"))
    if path.name != "__init__.py" and not path.stem.endswith("_mistakes") and path.parent.name != "shared_modules"
]


def test_every_name_of_the_namespace_is_documented():
    assert sorted(re.findall(r"^- `(\w+)`: ", spec.__doc__, re.MULTILINE)) == sorted(spec.__all__)


def test_every_name_is_what_editors_and_mypy_see():
    seen = {
        alias.name: f"autograder.spec.{node.module}"
        for node in ast.walk(ast.parse(INIT.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert sorted(seen) == sorted(spec.__all__)
    for name, module in seen.items():
        assert getattr(spec, name) is getattr(importlib.import_module(module), name), name


def test_a_name_that_the_namespace_lacks_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'importlib_of_something'"):
        _ = spec.importlib_of_something


def test_the_namespace_and_declarations_import_no_torch():
    program = "import sys\nfrom autograder.spec import Check, Exercise, drawn, reference\nprint('torch' in sys.modules)"
    assert python("-c", program).stdout.strip() == "False"


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_exercises_import_from_the_namespace_alone(path):
    modules = re.findall(r"^\s*(?:from|import) (autograder[\w.]*)", path.read_text("utf-8"), re.MULTILINE)
    assert set(modules) <= {"autograder.spec"}
