"""Keys under which is kept what was computed of an exercise: of the sources that decide, and of what runs them.

A *source key* is a hash of every module that decides what a catalogued version answers (the import closure of
`signatures` and of the exercise's room) and of what these read of the solution notebook. Nothing of the interpreter,
the processor or installed versions is in it, so what the course ships is found wherever it runs. A *run key* adds
these, for what a machine keeps for itself.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import io
import itertools
import platform
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...spec import course

PACKAGE = Path(__file__).parents[2]
DECIDING = Path(__file__).with_name("signatures.py")  # with all that it imports
CATALOGUE = ("wrong", "right", "slips", "further")  # of a room: each version is kept under its own source
DISTRIBUTIONS = ("torch", "numpy", "tokenizers", "transformers")
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))", re.MULTILINE
)


# --- source keys ------------------------------------------------------------------------------------------------------


@functools.cache
def exercise_key(name: str) -> str:
    """Return the source key of an exercise: changed by what its versions may answer, not by prose or its catalogue."""
    exercise = course.exercise(name)
    notebook = exercise.notebook
    parts = []
    for path in closure([DECIDING, *course.exercise_files(name)]):
        parts += [_name(path), plain(read(path), CATALOGUE if path.is_relative_to(course.home()) else ())]
    parts += [course.course().imports, plain(course.given_in(notebook))]
    parts += [plain(other.source) for other in course.exercises(notebook)]
    parts += [plain(text) for other, text in course.working_versions(notebook).items() if other != name]
    return _hash(parts)


@functools.cache
def letter_key(name: str) -> str:
    """Return a source key of the same files to the letter, catalogue and comments too: nothing is parsed for it."""
    about = course.everything_about(course.exercise_home(name))
    return _hash([*map(read, closure([DECIDING, *course.exercise_files(name)])), about.decode()])


@functools.cache
def module_key(module: Path) -> str:
    """Return a hash of a module and of all that it imports, to the letter."""
    return _hash(map(read, closure([module])))


def read(path: Path) -> str:
    return path.read_text("utf-8")


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def closure(paths: Iterable[Path]) -> list[Path]:
    """Return these modules and all of this package and of the course that they import, directly or by others."""
    found: set[Path] = set()
    todo = list(paths)
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _imported(path, read(path))
    return sorted(found, key=_name)


def _name(path: Path) -> str:
    """Return a module's place in its package, the same on every machine."""
    folder = PACKAGE if path.is_relative_to(PACKAGE) else course.home()
    return path.relative_to(folder).as_posix()


@functools.lru_cache(maxsize=1024)
def _imported(path: Path, source: str) -> tuple[Path, ...]:
    """Return the files that the imports in a module's text name, wherever in it they stand.

    What packages' `__init__` hold is left out: it is the version, and what a course says of itself.
    """
    return tuple(
        file
        for dots, module, names, modules in IMPORT.findall(source)
        for start in _folders(path, dots, module or modules)
        for file in _files(start, module, names, modules)
        if file.is_file()
    )


def _folders(path: Path, dots: str, module: str) -> Iterator[Path]:
    """Yield the folder that the names of an import start from, if it is one of ours."""
    if dots:
        yield path.parents[len(dots) - 1]
        return
    top = module.split(".")[0].split(",")[0].split(" ")[0]
    package, *below = course.course().package.split(".")
    if top == PACKAGE.name:
        yield PACKAGE.parent
    elif top == package:
        yield course.home().parents[len(below)]


def _files(start: Path, module: str, names: str, modules: str) -> Iterator[Path]:
    if modules:
        for one in re.findall(r"[\w.]+", modules):
            yield start.joinpath(*one.split(".")).with_suffix(".py")
        return
    folder = start.joinpath(*module.split(".")) if module else start
    if module:
        yield folder.with_suffix(".py")
    for name in re.findall(r"\w+", re.sub(r"#.*", "", names)):
        yield folder / f"{name}.py"


# --- programs without what does nothing -------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def plain(source: str, without: tuple[str, ...] = ()) -> str:
    """Return a program's text without comments, docstrings and keyword arguments of these names.

    What is cut is found by its place: trees and tokens themselves are written otherwise by each version of Python.
    """
    starts = _starts(source)
    cuts = [
        _with_line(source, starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(source)):
        kinds = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            cuts.append(_with_line(source, *_span(source, node.body[0])))
    source = _cut(source, cuts)
    if without:
        cuts = [
            (len(source[:start].rstrip().removesuffix(",")), end)
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.keyword) and node.arg in without
            for start, end in [_span(source, node)]
        ]
        source = _cut(source, cuts)
    return source


def _starts(source: str) -> list[int]:
    """Return where each line begins."""
    return [0, *itertools.accumulate(len(line) + 1 for line in source.split("\n"))]


def _cut(source: str, cuts: list[tuple[int, int]]) -> str:
    kept, at = [], 0
    for start, end in sorted(cuts):
        kept.append(source[at:start])
        at = max(at, end)
    return "".join([*kept, source[at:]])


def _span(source: str, node: ast.stmt | ast.keyword) -> tuple[int, int]:
    """Return where a node begins and ends; `ast` counts the bytes of a line."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines, starts = source.split("\n"), _starts(source)
    start, end = (
        starts[line - 1] + len(lines[line - 1].encode()[:column].decode())
        for line, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
    )
    return start, end


def _with_line(source: str, start: int, end: int) -> tuple[int, int]:
    """Return the whole lines where nothing else stands on them, else the span with the blanks before it."""
    first, last = source.rfind("\n", 0, start) + 1, source.find("\n", end)
    last = len(source) if last < 0 else last + 1
    if source[first:start].strip() or source[end:last].strip():
        return len(source[:start].rstrip(" \t")), end
    return first, last


# --- run keys ---------------------------------------------------------------------------------------------------------


def run_key(key: str) -> str:
    """Return this key for this interpreter and these libraries: what they compute is kept apart from what others do."""
    return _hash([key, environment()])


@functools.cache
def environment() -> str:
    """Return the versions of what runs: Python, and the libraries that answers are made with."""
    python = f"{sys.implementation.name}, python {platform.python_version()}"
    return ", ".join([python, *(f"{name} {_version(name)}" for name in DISTRIBUTIONS)])


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"
