"""Strip a cell's source to its code, even if it is not valid Python: no comments, docstrings or empty lines."""

from collections.abc import Iterable, Iterator
from typing import Any

from pygments.lexers import PythonLexer
from pygments.token import Token

_lexer = PythonLexer()


def bare(source: str) -> str:
    return "\n".join(code for code, _ in bare_lines(source))


def bare_lines(source: str) -> Iterator[tuple[str, list[tuple[Any, str]]]]:
    """Yield each line's code, and its tokens as (kind, text)."""
    line: list[tuple[Any, str]] = []
    for kind, text in _lexer.get_tokens(source):  # of which the last ends a line
        if kind in Token.Comment or kind in Token.Literal.String.Doc:
            continue
        for piece in text.splitlines(keepends=True):
            line.append((kind, piece))
            if piece.splitlines() != [piece]:
                if code := "".join(part for _, part in line).rstrip():
                    yield code, line
                line = []


def shortest(sources: Iterable[str]) -> str:
    """Return the code of the shortest source that has any; it shows best what the sources have in common."""
    return min(filter(None, map(bare, sources)), key=lambda code: (len(code), code), default="")
