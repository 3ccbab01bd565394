"""Compute cache keys for results about an exercise: of the files that decide them, and of the software that runs.

A *results key* is a hash of the text of every module that decides what a catalogued variant returns, and of the parts
of the solution notebook that these read. It does not depend on the interpreter, the processor or installed versions, so
a course's shipped results are valid wherever it runs. A *run key* adds these, for results that a machine keeps for
itself.
"""

import ast
import functools
import hashlib
import importlib.metadata
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from ...spec import course

PACKAGE = Path(__file__).parents[2]
# The engine's modules that decide; a test compares them with those that Python imports. Exercises import from the
# namespace `autograder.spec`, so all of its modules count.
DECIDING = (
    *(f"judge/{name}.py" for name in ("canonical", "check_cache", "run_check", "student")),
    *(f"judge/diagnosis/{name}.py" for name in ("fingerprints", "keys", "reply_hash")),
    *(f"spec/{path.name}" for path in sorted((PACKAGE / "spec").glob("*.py"))),
    *(f"untrusted/{name}.py" for name in ("responder", "second_device", "tensor_calls", "torch_internals", "wire")),
)


@functools.cache
def results_key(name: str) -> str:
    """Return the results key of an exercise. It does not depend on the catalogue: each result has its own source."""
    notebook = course.exercise(name).notebook
    parts = [part for module in deciding_modules(name) for part in (module, read(_path(module)))]
    parts += [course.course().imports, course.provided_code_in(notebook)]
    parts += [other.source for other in course.exercises(notebook)]
    parts += [text for other, text in course.right_programs(notebook).items() if other != name]
    return _hash(parts)


@functools.cache
def exact_text_hash(name: str, modules: tuple[str, ...] = ()) -> str:
    """Return a hash of the same files and of the catalogue. With known `modules` it takes no parsing.

    They are those that `deciding_modules` returned: as long as no text has changed, no import has either.
    """
    about = course.everything_about(course.exercise_home(name))
    texts = [read(_path(module)).encode() for module in modules or deciding_modules(name)]
    return hashlib.sha256(b"\0".join([*texts, about])).hexdigest()[:24]


def deciding_modules(name: str) -> tuple[str, ...]:
    """Return the names of the modules that decide what an exercise's variants return, the same on every machine."""
    found: set[Path] = set()
    waiting = course.exercise_files(name)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported(path)
    own = sorted(path.relative_to(_root()).as_posix() for path in found)
    return (*(f"{PACKAGE.name}/{module}" for module in DECIDING), *own)


def files_hash(paths: Iterable[Path]) -> str:
    """Return a hash of the text of these files."""
    return _hash(map(read, paths))


def read(path: Path) -> str:
    return path.read_text("utf-8")


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _root() -> Path:
    """Return the folder that holds the course's package."""
    return course.home().parents[course.course().package.count(".")]


def _path(module: str) -> Path:
    return (PACKAGE.parent if module.startswith(f"{PACKAGE.name}/") else _root()) / module


def _imported(path: Path) -> list[Path]:
    """Return the files of the course that a module imports, at any level."""
    found = []
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.ImportFrom):
            start = (path.parents[node.level - 1] if node.level else _root()) / (node.module or "").replace(".", "/")
            found += [Path(f"{start}.py"), *(start / f"{alias.name}.py" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [_root() / f"{alias.name.replace('.', '/')}.py" for alias in node.names]
    return [one for one in found if one.is_file()]


def run_key(key: str) -> str:
    """Return this key for this interpreter and these libraries, so that each keeps its own results."""
    return _hash([key, environment()])


@functools.cache
def environment() -> str:
    """Return the versions of Python and of the libraries that variants use: NumPy, and what the course preloads."""
    python = f"{sys.implementation.name}, python {platform.python_version()}"
    return ", ".join([python, *(f"{name} {_version(name)}" for name in libraries())])


def libraries() -> list[str]:
    """Return the names of NumPy and of the course's preloaded packages."""
    return sorted(
        {"numpy", *(module.partition(".")[0] for module in course.course().preload)} - sys.stdlib_module_names
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"
