"""Tests that the lock pins all versions and that every other list of versions agrees with it."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata

import pytest
import yaml
from conftest import NOTEBOOKS, ROOT, read
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from requirements import LINUX, MACOS, WINDOWS, everything_needed, installed, lines, lock, named
from typer.testing import CliRunner

import autograder
from autograder.batch import preflight
from autograder.batch.pool import DASK
from autograder.cli import app

CONDA_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib", "huggingface_hub": "huggingface-hub"}
WHERE_NOTEBOOKS_OPEN = {"jupyterlab", "ipykernel", "nbgrader", "setuptools"}  # students use it without importing it
RUNS_NOTEBOOKS_AS_TESTS = {"nbval"}  # which marking never does
BROUGHT = {"IPython", "PIL", "jinja2"}  # by ipykernel, matplotlib and torch


PROJECT, COURSE = (
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    for folder in (".", "transformer_exercises")
)
EXTRAS, CONDA = PROJECT["optional-dependencies"], yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
STUDENTS = named([line for line in lines("requirements.txt") if not line.startswith("-")])
# What the engine and the course need together, without each other
REQUIRED = [text for text in PROJECT["dependencies"] + COURSE["dependencies"] if named([text]) != {PROJECT["name"]}]


def imported(source: str, at_once: bool = False) -> Iterator[str]:
    """Return the top-level modules, other than Python's own, that a source imports anywhere in it, or `at_once`."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if not (at_once and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            waiting += ast.iter_child_nodes(node)
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        yield from ({name.split(".")[0] for name in names} - set(sys.stdlib_module_names))


def distributions(modules: set[str]) -> set[str]:
    owners = metadata.packages_distributions()
    return {canonicalize_name(owners[module][0]) for module in modules}


def loads(modules: str, blocked: dict[str, None], then: str) -> str:
    """Return what another Python prints in which these modules are imported and others cannot be."""
    program = f"import sys; sys.modules |= {blocked!r}; import {modules}; {then}"
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("group", ["dependencies", "dev", "postgres"])
def test_every_requirement_is_a_range_that_holds_its_pin(group):
    requirements = REQUIRED if group == "dependencies" else EXTRAS[group]
    for requirement in map(Requirement, requirements):
        assert "==" not in str(requirement), f"{requirement}: exact versions belong into constraints.txt"
        assert lock()[canonicalize_name(requirement.name)] in requirement.specifier


def test_the_lock_pins_all_that_is_needed_and_nothing_else():
    """Marking and development need Linux; students have other systems too."""
    ours = everything_needed([*REQUIRED, *EXTRAS["dev"]], LINUX)
    expected = (everything_needed(STUDENTS, system) for system in (LINUX, MACOS, WINDOWS))
    assert set(lock()) == ours.union(*expected)


def test_every_pinned_package_supports_the_oldest_allowed_python():
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    for name in filter(installed, lock()):
        assert oldest in SpecifierSet(metadata.metadata(name).get("Requires-Python") or ""), name


def test_what_is_installed_here_is_what_the_lock_says():
    """Without labels of builds: "+cpu" is found on some machines and indexes only."""
    assert all(installed(name) in (pin, None) for name, pin in lock().items())
    assert all(map(installed, named(REQUIRED)))


def test_pip_installs_for_students_what_the_lock_says():
    assert "-c constraints.txt" in lines("requirements.txt")
    assert set(lock()) >= STUDENTS
    assert named(REQUIRED) >= STUDENTS - RUNS_NOTEBOOKS_AS_TESTS, "marking runs what students ran"


def test_conda_installs_for_students_what_pip_does_with_the_same_pythons():
    listed = [item.split("=", 1) for item in CONDA if not item.startswith("python>")]
    assert {CONDA_NAMES.get(name, name): version for name, version in listed} == {
        name: lock()[name] for name in STUDENTS
    }
    [python] = [item for item in CONDA if item.startswith("python>")]
    assert python.removeprefix("python").split(",")[0] == PROJECT["requires-python"]


def test_students_install_exactly_what_their_notebooks_import():
    cells = [cell for name in NOTEBOOKS for cell in read("course", name).cells if cell.cell_type == "code"]
    beside = {path.stem: path.read_text("utf-8") for path in ROOT.glob("course/*/*.py")}
    modules = {module for source in (*(cell.source for cell in cells), *beside.values()) for module in imported(source)}
    assert "torch" in modules
    assert distributions(modules - BROUGHT - set(beside)) == STUDENTS - WHERE_NOTEBOOKS_OPEN - RUNS_NOTEBOOKS_AS_TESTS


@pytest.mark.slow
def test_solutions_run_as_tests_with_nothing_but_what_students_install():
    brought = everything_needed(STUDENTS, LINUX) | {PROJECT["name"], COURSE["name"]}
    owners = metadata.packages_distributions().items()
    others = [module for module, names in owners if not brought & set(map(canonicalize_name, names))]
    assert {"nh3", "distributed"} <= set(others)
    then = "from autograder.spec.course import exercises; exercises('05-attention')"
    assert loads("autograder.authoring, autograder.judge.in_notebook", dict.fromkeys(others), then) == ""


def test_what_the_package_imports_is_required_by_name():
    """What is missing where it is used is said in a sentence."""
    files = [*(ROOT / "autograder").rglob("*.py"), ROOT / "nbgrader_config.py"]
    for at_once, besides in (
        (True, named(EXTRAS["tensors"])),  # where a course uses PyTorch
        (False, named([*EXTRAS["tensors"], *EXTRAS["cluster"]])),
    ):
        modules = {module for path in files for module in imported(path.read_text(), at_once)} - {"autograder"}
        assert "nbgrader" in modules
        assert distributions(modules) - named(PROJECT["dependencies"]) == besides


def test_dask_is_named_where_a_scheduler_is_given_and_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr(preflight, "chosen_assignments", lambda _, wanted, everything: list(wanted))  # handed in or not
    monkeypatch.setattr(preflight, "require_student", lambda *_: None)
    done = CliRunner().invoke(app, ["grade", "05-attention", "--scheduler=tcp://127.0.0.1:1"])
    assert done.exit_code
    assert f"pip install '{DASK}'" in " ".join(done.output.split())


def test_both_wheels_have_one_version_and_the_same_ranges():
    assert COURSE["version"] == autograder.__version__
    engine = {text for texts in EXTRAS.values() for text in texts} | {*REQUIRED}
    ranges = [(canonicalize_name(Requirement(text).name), str(Requirement(text).specifier)) for text in engine]
    assert len({name for name, _ in ranges}) == len(set(ranges)), "one range for each name"


@pytest.mark.parametrize("module", ["autograder", "autograder.cli"])
def test_importing_the_package_or_its_command_line_loads_nothing_heavy(module):
    heavy = {"torch", "transformers", "tokenizers", "numpy", "matplotlib", "nbgrader", "sqlalchemy", "IPython"}
    assert not heavy & set(loads(module, {}, "print(*sys.modules)").split())
