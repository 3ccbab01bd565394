"""Compute cache keys for results about an exercise: from the sources that decide them, and from the software that runs.

A *source key* is a hash of every module that decides what a catalogued version answers (the import closure of
`signatures` and of the exercise's module) and of the parts of the solution notebook that these read. It does not depend
on the interpreter, the processor or installed versions, so a course's shipped results are valid wherever it runs. A
*run key* adds these, for results that a machine keeps for itself.
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
from collections.abc import Iterable
from pathlib import Path

from ...spec import course

PACKAGE = Path(__file__).parents[2]
DECIDING = Path(__file__).with_name("signatures.py")  # with everything it imports
CATALOGUE = ("wrong", "right", "slips", "further")  # keyword arguments left out: each version has its own row
DISTRIBUTIONS = ("torch", "numpy", "tokenizers", "transformers")
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))", re.MULTILINE
)


# --- source keys ------------------------------------------------------------------------------------------------------


@functools.cache
def exercise_key(name: str) -> str:
    """Return the source key of an exercise; it depends on all that decides answers, not on prose or the catalogue."""
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
    """Return a source key of the exact text of the same files, catalogue and comments included, without parsing."""
    about = course.everything_about(course.exercise_home(name))
    return _hash([*map(read, closure([DECIDING, *course.exercise_files(name)])), about.decode()])


@functools.cache
def module_key(module: Path) -> str:
    """Return a hash of the exact text of a module and of everything that it imports."""
    return _hash(map(read, closure([module])))


def read(path: Path) -> str:
    return path.read_text("utf-8")


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def closure(paths: Iterable[Path]) -> list[Path]:
    """Return these modules and all modules of this package and of the course that they import, also indirectly."""
    found: set[Path] = set()
    todo = list(paths)
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _imported(path, read(path))
    return sorted(found, key=_name)


def _name(path: Path) -> str:
    """Return a module's path in its package, the same on every machine."""
    folder = PACKAGE if path.is_relative_to(PACKAGE) else course.home()
    return path.relative_to(folder).as_posix()


@functools.lru_cache(maxsize=1024)
def _imported(path: Path, source: str) -> list[Path]:
    """Return the files of this package and of the course that a module's imports name, at any level.

    Imports of a package's `__init__` are left out: they hold the version, and the course's description of itself.
    """
    package, *below = course.course().package.split(".")
    roots = {PACKAGE.name: PACKAGE.parent, package: course.home().parents[len(below)]}
    files = []
    for dots, module, names, modules in IMPORT.findall(source):
        parts = re.findall(r"\w+", re.sub(r"#.*", "", names))
        wanted = re.findall(r"[\w.]+", modules) or [module, *(f"{module}.{part}" for part in parts)]
        start = path.parents[len(dots) - 1] if dots else roots.get(wanted[0].split(".")[0])
        if start is not None:
            files += [start.joinpath(*one.split(".")).with_suffix(".py") for one in wanted if one]
    return [file for file in files if file.is_file()]


# --- programs without comments and docstrings -------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def plain(source: str, without: tuple[str, ...] = ()) -> str:
    """Return a program's text without comments, docstrings and keyword arguments of these names.

    The text to cut is found by its position, because each version of Python unparses trees and tokens differently.
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
    """Return the position where each line begins."""
    return [0, *itertools.accumulate(len(line) + 1 for line in source.split("\n"))]


def _cut(source: str, cuts: list[tuple[int, int]]) -> str:
    kept, at = [], 0
    for start, end in sorted(cuts):
        kept.append(source[at:start])
        at = max(at, end)
    return "".join([*kept, source[at:]])


def _span(source: str, node: ast.stmt | ast.keyword) -> tuple[int, int]:
    """Return where a node begins and ends, in characters; `ast` counts the bytes of a line."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines, starts = source.split("\n"), _starts(source)
    start, end = (
        starts[line - 1] + len(lines[line - 1].encode()[:column].decode())
        for line, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
    )
    return start, end


def _with_line(source: str, start: int, end: int) -> tuple[int, int]:
    """Return the whole lines if they hold nothing else, else the span with the blanks before it."""
    first, last = source.rfind("\n", 0, start) + 1, source.find("\n", end)
    last = len(source) if last < 0 else last + 1
    if source[first:start].strip() or source[end:last].strip():
        return len(source[:start].rstrip(" \t")), end
    return first, last


# --- run keys ---------------------------------------------------------------------------------------------------------


def run_key(key: str) -> str:
    """Return this key for this interpreter and these libraries, so that each keeps its own results."""
    return _hash([key, environment()])


@functools.cache
def environment() -> str:
    """Return the versions of Python and of the libraries that answers use."""
    python = f"{sys.implementation.name}, python {platform.python_version()}"
    return ", ".join([python, *(f"{name} {_version(name)}" for name in DISTRIBUTIONS)])


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"
