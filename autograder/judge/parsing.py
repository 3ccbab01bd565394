"""Decide whether a student's source can be parsed safely, and parse it.

The time and the recursion depth of Python's parser and of walks over its trees depend on the text. A cell that is
longer or nested deeper than any honest one is not parsed, and not run either, because the rules about sources could not
see it.
"""

import ast
import functools
import re
import warnings
from collections.abc import Callable
from typing import TypeVar

MAX_SOURCE = 60_000  # characters of one cell; the longest in the course has 6,000
MAX_NESTING = 60  # brackets, also in strings and comments; Python's own limit is 200
MAX_DEPTH = 120  # levels of a syntax tree; walks over it recurse once for each
MAX_CACHED = 50_000  # characters; longer sources are not cached

# IPython signs times characters, in a cell that is not Python without them: IPython rereads the whole cell for each.
MAX_SIGNS = 500_000

SIGNS = re.compile(r"^[ \t]*[!%?]|=[ \t]*[!%](?!=)|\?[ \t]*$", re.MULTILINE)  # not operators: a != b, a % b
# `,print a` calls print("a"); each sign of a run is another call
CALLS = re.compile(r"[,;/]{2,}|^[ \t]*[,;/]", re.MULTILINE)
BRACKETS = re.compile(r"[(\[{}\])]")
DEEP = "This cell is nested deeper than any cell that is read. It was not run."
STRANGE = (
    "This cell has more magics, questions or shell commands than are read in a cell of its length. It was not run."
)


T = TypeVar("T")


class _TooStrange(Exception):
    """The source has more IPython signs than are parsed."""


def cached_by_source(work: Callable[..., T]) -> Callable[..., T]:
    """Return the same function of a source (and more), with its results cached for sources of ordinary length."""
    cached = functools.lru_cache(maxsize=4096)(work)
    return functools.wraps(work)(lambda source, *more: (cached if len(source) < MAX_CACHED else work)(source, *more))


def reason_not_parsed(source: str) -> str | None:
    """Return a sentence that says why a cell is not parsed; None if it is."""
    return _read(source)[1]


def parse_cell(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell, without magics; None if it is refused or is not Python, and so defines nothing.

    Python's compiler refuses some of what its parser accepts; in a notebook, the lines above such an error run.
    """
    return _read(source)[0]


@cached_by_source
def _read(source: str) -> tuple[ast.Module | None, str | None]:
    if len(source) > MAX_SOURCE:
        return None, f"This cell has {len(source):,} characters; more than {MAX_SOURCE:,} are not read. It was not run."
    if _brackets(source) > MAX_NESTING:
        return None, DEEP
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = _parsed(source)
    except (RecursionError, MemoryError):
        return None, DEEP
    except _TooStrange:
        return None, STRANGE
    except (SyntaxError, ValueError, OverflowError):
        return None, None
    return (None, DEEP) if _is_deep(tree) else (tree, None)


def _parsed(source: str) -> ast.Module:
    lines = [line if not line.lstrip().startswith(("%", "!")) else "pass" for line in source.splitlines()]
    try:
        return ast.parse("\n".join(lines))
    except SyntaxError:
        signs = len(SIGNS.findall(source)) + sum(map(len, CALLS.findall(source)))
        if signs * len(source) > MAX_SIGNS:
            raise _TooStrange from None
        return ast.parse(_without_magics(source))  # `files = !ls` is not Python, but IPython runs it


def _without_magics(source: str) -> str:
    """Return the Python that IPython makes of a cell.

    Any other error of IPython's becomes a SyntaxError: IPython would not run that cell either.
    """
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return TransformerManager().transform_cell(source)
    except (RecursionError, MemoryError):
        raise
    except Exception as error:
        raise SyntaxError(str(error)) from error


def _brackets(source: str) -> int:
    """Return how deep brackets are nested, those in strings and comments included, in one pass."""
    depth = deepest = 0
    for bracket in BRACKETS.findall(source):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _is_deep(tree: ast.AST) -> bool:
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True
