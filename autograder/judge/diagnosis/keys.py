"""Compute cache keys for results about an exercise: from the sources that decide them, and from the software that runs.

A *source key* is a hash of every module that decides what a catalogued version answers (the import closure of
`fingerprints` and of the exercise's module) and of the parts of the solution notebook that these read. It does not
depend on the interpreter, the processor or installed versions, so a course's shipped results are valid wherever it
runs. A *run key* adds these, for results that a machine keeps for itself.
"""

import functools
import hashlib
import importlib.metadata
import io
import itertools
import os
import platform
import re
import sys
import tokenize
from collections.abc import Iterable
from pathlib import Path

from ...spec import course

PACKAGE = Path(__file__).parents[2]
DECIDING = Path(__file__).with_name("fingerprints.py")  # with everything it imports
IGNORED_ARGUMENTS = (
    "dependent",
    "takes",
    "gives",
    "harmless",
)  # keyword arguments left out: answers do not depend on them
STATEMENT_ENDS = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
DISTRIBUTIONS = ("torch", "numpy", "tokenizers", "transformers")
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))", re.MULTILINE
)


@functools.cache
def semantic_hash(name: str) -> str:
    """Return the source key of an exercise; it depends on all that decides answers, not on prose or the catalogue."""
    exercise = course.exercise(name)
    notebook = exercise.notebook
    parts = []
    for path in closure([DECIDING, *course.exercise_files(name)]):
        parts += [_name(path), plain(read(path), IGNORED_ARGUMENTS if path.is_relative_to(course.home()) else ())]
    parts += [course.course().imports, plain(course.provided_code_in(notebook))]
    parts += [plain(other.source) for other in course.exercises(notebook)]
    parts += [plain(text) for other, text in course.right_programs(notebook).items() if other != name]
    return _hash(parts)


@functools.cache
def exact_text_hash(name: str, modules: tuple[str, ...] = ()) -> str:
    """Return a source key of the exact text of the same files, catalogue and comments included, without parsing.

    Who knows the closure's names (`deciding_modules`) passes them: as long as no text has changed, none has either.
    """
    about = course.everything_about(course.exercise_home(name))
    files = [f"{_roots()[module.partition('/')[0]]}/{module}" for module in modules or deciding_modules(name)]
    return hashlib.sha256(b"\0".join([*map(read_bytes, files), about])).hexdigest()[:24]


def deciding_modules(name: str) -> tuple[str, ...]:
    """Return the names of the modules that decide what an exercise's versions answer, the same on every machine."""
    return tuple(map(_name, closure([DECIDING, *course.exercise_files(name)])))


@functools.cache
def module_key(module: Path) -> str:
    """Return a hash of the exact text of a module and of everything that it imports."""
    return _hash(map(read, closure([module])))


def read(path: Path) -> str:
    return path.read_text("utf-8")


def read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


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


@functools.cache
def _roots() -> dict[str, Path]:
    """Return the folder in which the package lies, and the course's."""
    package, *below = course.course().package.split(".")
    return {PACKAGE.name: PACKAGE.parent, package: course.home().parents[len(below)]}


def _name(path: Path) -> str:
    """Return a module's path from the folder that holds its package, the same on every machine."""
    root = next(root for name, root in _roots().items() if path.is_relative_to(root / name))
    return path.relative_to(root).as_posix()


@functools.lru_cache(maxsize=1024)
def _imported(path: Path, source: str) -> list[Path]:
    """Return the files of this package and of the course that a module's imports name, at any level.

    Imports of a package's `__init__` are left out: they hold the version, and the course's description of itself.
    """
    files = []
    for dots, module, names, modules in IMPORT.findall(source):
        parts = re.findall(r"\w+", re.sub(r"#.*", "", names))
        wanted = re.findall(r"[\w.]+", modules) or [module, *(f"{module}.{part}" for part in parts)]
        start = path.parents[len(dots) - 1] if dots else _roots().get(wanted[0].split(".")[0])
        if start is not None:
            files += [f"{start}/{one.replace('.', '/')}.py" for one in wanted if one]
    return [Path(file) for file in files if os.path.isfile(file)]  # pathlib would take longer than all else


@functools.lru_cache(maxsize=1024)
def plain(source: str, without: tuple[str, ...] = ()) -> str:
    """Return a program's text without comments, docstrings and, in calls, keyword arguments of these names.

    The text to cut is found by its position, because each version of Python unparses trees and tokens differently.
    """
    starts = [0, *itertools.accumulate(len(line) + 1 for line in source.split("\n"))]

    def span(first: tokenize.TokenInfo, last: tokenize.TokenInfo) -> tuple[int, int]:
        return starts[first.start[0] - 1] + first.start[1], starts[last.end[0] - 1] + last.end[1]

    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    cuts = [_with_line(source, *span(token, token)) for token in tokens if token.type == tokenize.COMMENT]
    code = [token for token in tokens if token.type not in (tokenize.COMMENT, tokenize.NL)]
    nesting = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}
    depths = [*itertools.accumulate(nesting.get(t.string, 0) if t.type == tokenize.OP else 0 for t in code)]
    for place, (token, after) in enumerate(itertools.pairwise(code)):
        before, depth = code[place - 1], depths[place]  # before the first token: the end
        if token.type == tokenize.STRING and before.type in STATEMENT_ENDS and after.type == tokenize.NEWLINE:
            cuts.append(_with_line(source, *span(token, token)))
        elif depth and token.type == tokenize.NAME and token.string in without and after.string == "=":
            opening = next(n for n in range(place, 0, -1) if depths[n - 1] < depth)
            if code[opening - 2].string == "def":  # a parameter's default
                continue
            inside = (n for n in range(place, len(code)) if depths[n] == depth and code[n].string == ",")
            end = next((n for n in range(place, len(code)) if depths[n] < depth), len(code))
            cuts.append(span(before if before.string == "," else token, code[min(next(inside, end), end) - 1]))
    kept, at = [], 0
    for start, stop in sorted(cuts):
        kept.append(source[at:start])
        at = max(at, stop)
    return "".join([*kept, source[at:]])


def _with_line(source: str, start: int, end: int) -> tuple[int, int]:
    """Return the whole lines if they hold nothing else, else the span with the blanks before it."""
    first, last = source.rfind("\n", 0, start) + 1, source.find("\n", end)
    last = len(source) if last < 0 else last + 1
    if source[first:start].strip() or source[end:last].strip():
        return len(source[:start].rstrip(" \t")), end
    return first, last


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
