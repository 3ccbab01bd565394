"""Tests that keys change with everything that affects the answers of a mistake, and with nothing else."""

import ast
from pathlib import Path

import pytest
from conftest import ROOT, python

from autograder.judge.diagnosis import keys
from autograder.spec import course

NAME = "LayerNorm"  # its module imports more than most
MODULES = keys.deciding_modules(NAME)
FILES = [
    course.home().parent / module if module.startswith(course.home().name) else ROOT / module for module in MODULES
]
ENGINE = [path for path in FILES if not path.is_relative_to(course.home())]


def of_exercise() -> tuple[str, str, str]:
    """Return its keys, the last as of a file that names the modules."""
    exact = keys.exact_text_hash.__wrapped__
    return keys.results_key.__wrapped__(NAME), exact(NAME), exact(NAME, MODULES)


@pytest.fixture
def written(monkeypatch):
    texts: dict[Path, str] = {}
    text = keys.read
    monkeypatch.setattr(keys, "read", lambda path: texts.get(path) or text(path))
    return texts


def test_the_deciding_modules_are_those_that_python_imports():
    program = (
        f"import sys\nfrom autograder.judge.diagnosis import fingerprints\nfingerprints.compute({NAME!r}, [0])\n"
        "print(*(module.__file__ for name, module in sys.modules.items() if name.startswith('autograder.')"
        " if module.__file__), sep='\\n')"
    )
    imported = {Path(line) for line in python("-c", program).stdout.splitlines()}
    rooms = {path for path in imported if path.is_relative_to(course.home())}  # the others are there to be right
    own = ROOT / "autograder" / "spec"  # a namespace: what no check of this exercise uses is not imported
    packages = {
        ROOT / "autograder" / package / "__init__.py" for package in (".", "untrusted", "judge", "judge/diagnosis")
    }
    found = imported - rooms - {path.resolve() for path in packages}
    assert found <= set(ENGINE)
    assert {path for path in set(ENGINE) - found if path.parent != own} == set()
    for package in ("untrusted", "judge", "judge/diagnosis"):  # `__init__` files that are in no key are empty
        [docstring] = ast.parse((ROOT / "autograder" / package / "__init__.py").read_text("utf-8")).body
        assert isinstance(docstring, ast.Expr)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_one_letter_in_any_module_that_decides_changes_the_keys(path, written):
    before = of_exercise()
    text = keys.read(path)
    written[path] = text + "x"
    assert not set(of_exercise()) & set(before)


@pytest.mark.parametrize(
    "name", ["judge/mark.py", "judge/diagnosis/diagnose.py", "cli.py", "../transformer_exercises/blocks/rms_norm.py"]
)
def test_a_module_that_does_not_decide_changes_no_key(name, written):
    before = of_exercise()
    path = (ROOT / "autograder" / name).resolve()
    written[path] = keys.read(path) + "\nx = 1\n"
    assert of_exercise() == before


def test_a_newly_imported_module_of_the_course_changes_the_keys(written):
    [own] = course.exercise_files(NAME)[:1]
    added = own.with_name("rms_norm.py")
    written[own] = keys.read(own) + "\n\ndef later():\n    from . import rms_norm\n"
    before = of_exercise()
    written[added] = keys.read(added) + "\nx = 1\n"
    assert of_exercise()[0] != before[0]


def test_what_the_notebook_gives_and_answers_decides(monkeypatch):
    before = of_exercise()[0]
    given, library_equivalent = course.provided_code_in("08-blocks"), course.right_programs("08-blocks")
    with monkeypatch.context() as patched:
        patched.setattr(course, "provided_code_in", lambda notebook: given + "\nx = 1\n")
        assert of_exercise()[0] != before
    monkeypatch.setattr(course, "right_programs", lambda notebook: library_equivalent | {"FeedForward": "x = 1"})
    assert of_exercise()[0] != before


def test_the_catalogue_changes_the_exact_text_alone(monkeypatch):
    before = of_exercise()
    file = course.mistakes_file(NAME)
    about = course.everything_about(course.exercise_home(NAME))
    assert file.read_bytes() in about
    monkeypatch.setattr(course, "everything_about", lambda notebook: about + b"# A remark.")
    after = of_exercise()
    assert after[0] == before[0]
    assert not set(after[1:]) & set(before[1:])


def test_a_run_key_is_of_the_interpreter_and_the_libraries(monkeypatch):
    assert keys.run_key("a") != keys.run_key("b")
    before = keys.run_key("a")
    for name in ("python", "torch", "numpy", "tokenizers", "transformers"):
        assert f"{name} " in keys.environment()
    monkeypatch.setattr(keys, "environment", lambda: "python 4")
    assert keys.run_key("a") != before
