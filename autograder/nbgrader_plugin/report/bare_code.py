"""Strip a cell's source to its code, even if it is not valid Python: no comments, docstrings or empty lines."""

from collections.abc import Iterable

from pygments.lexers import PythonLexer
from pygments.token import Token

_lexer = PythonLexer()


def bare(source: str) -> str:
    pieces = (
        "" if kind in Token.Comment or kind in Token.Literal.String.Doc else text
        for kind, text in _lexer.get_tokens(source)
    )
    return "\n".join(line.rstrip() for line in "".join(pieces).splitlines() if line.strip())


def shortest(sources: Iterable[str]) -> str:
    """Return the code of the shortest source that has any; it shows best what the sources have in common."""
    return min(filter(None, map(bare, sources)), key=lambda code: (len(code), code), default="")
