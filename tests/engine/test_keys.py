"""Tests that keys change with everything that affects the answers of a mistake, and with nothing else."""

import ast
from pathlib import Path

import pytest
from conftest import ROOT, python

from autograder.judge.diagnosis import keys
from autograder.spec import course

NAME = "LayerNorm"  # its module imports more than most
CLOSURE = keys.closure([keys.DECIDING, *course.exercise_files(NAME)])
ENGINE = [path for path in CLOSURE if not path.is_relative_to(course.home())]
PROGRAM = '''"""What it is."""
def f(x, right=1):  # why
    """Return it."""
    # A remark.
    text = "# no remark"
    return g(
        x,
        further=True,  # a remark
        wrong=r"""
é: # no program
""",
    )
'''
BARE = """def f(x, right=1):
    text = "# no remark"
    return g(
        x,
    )
"""


MODULES = keys.deciding_modules(NAME)


def of_exercise() -> tuple[str, str, str]:
    """Return its keys, the last as of a file that names the modules."""
    letters = keys.exact_text_hash.__wrapped__
    return keys.semantic_hash.__wrapped__(NAME), letters(NAME), letters(NAME, MODULES)


@pytest.fixture
def written(monkeypatch):
    texts: dict[Path, str] = {}
    text, raw = keys.read, keys.read_bytes
    monkeypatch.setattr(keys, "read", lambda path: texts.get(path) or text(path))
    monkeypatch.setattr(keys, "read_bytes", lambda path: texts.get(Path(path), "").encode() or raw(path))
    return texts


def test_a_closure_is_what_python_imports():
    program = (
        f"import sys\nfrom autograder.judge.diagnosis import fingerprints\nfingerprints.compute({NAME!r}, [0])\n"
        "print(*(module.__file__ for name, module in sys.modules.items() if name.startswith('autograder.')"
        " if module.__file__), sep='\\n')"
    )
    imported = {Path(line) for line in python("-c", program).stdout.splitlines()}
    rooms = {path for path in imported if path.is_relative_to(course.home())}  # the others are there to be right
    found = {path for path in imported - rooms if path.name != "__init__.py"}
    assert found == set(ENGINE)
    for package in ("spec", "untrusted", "judge", "judge/diagnosis"):  # `__init__` files, in no closure, are empty
        [docstring] = ast.parse((ROOT / "autograder" / package / "__init__.py").read_text("utf-8")).body
        assert isinstance(docstring, ast.Expr)


@pytest.mark.parametrize("path", CLOSURE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_one_letter_in_any_module_that_decides_changes_the_keys(path, written):
    before = of_exercise()
    text = keys.read(path)
    function = next(node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    kind = "class" if isinstance(function, ast.ClassDef) else "def"
    written[path] = text.replace(f"{kind} {function.name}", f"{kind} {function.name}x", 1)
    assert written[path] != text
    assert not set(of_exercise()) & set(before)


@pytest.mark.parametrize(
    "name", ["judge/mark.py", "judge/diagnosis/diagnose.py", "cli.py", "../transformer_exercises/blocks/rms_norm.py"]
)
def test_a_module_that_does_not_decide_changes_no_key(name, written):
    before = of_exercise()
    path = (ROOT / "autograder" / name).resolve()
    written[path] = keys.read(path) + "\nx = 1\n"
    assert of_exercise() == before


def test_a_newly_imported_module_changes_the_keys(written):
    added, seeds = ROOT / "autograder" / "files.py", ROOT / "autograder" / "spec" / "seeds.py"
    written[seeds] = keys.read(seeds) + "\n\ndef later():\n    from .. import files\n"
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


def test_prose_and_what_is_catalogued_change_the_letters_alone(written):
    before = of_exercise()
    room = course.exercise_files(NAME)[0]
    text = keys.read(room)
    for changed in (
        "# A remark.\n" + text,
        text.replace('"""', '"""Otherwise. ', 1),
        text.replace(", dependent=True", ""),  # marked in the wake of others, or not: it answers as before
    ):
        assert changed != text
        written[room] = changed
        after = of_exercise()
        assert after[0] == before[0]
        assert after[1] != before[1]
    assert course.mistakes_file(NAME).read_bytes() in course.everything_about(course.exercise_home(NAME))


def test_only_what_does_nothing_is_cut_from_a_program():
    assert keys.plain(PROGRAM, ("further", "wrong", "right")) == BARE
    assert keys.plain(BARE) == BARE
    assert 'wrong=r"""\né: # no program\n"""' in keys.plain(PROGRAM)
    assert ast.dump(ast.parse(keys.plain(PROGRAM, ("further", "wrong", "right")))) == ast.dump(ast.parse(BARE))


def test_a_run_key_is_of_the_interpreter_and_the_libraries(monkeypatch):
    assert keys.run_key("a") != keys.run_key("b")
    before = keys.run_key("a")
    for name in ("python", *keys.DISTRIBUTIONS):
        assert f"{name} " in keys.environment()
    monkeypatch.setattr(keys, "environment", lambda: "python 4")
    assert keys.run_key("a") != before
