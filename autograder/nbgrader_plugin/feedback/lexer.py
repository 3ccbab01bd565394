"""Pygments' lexer of notebooks' Python with a limit on its lookahead: 60,000 stars took the original half a minute."""

from typing import Any

from pygments.lexers import get_lexer_by_name

MAX_LOOKAHEAD = 200  # characters
UNLIMITED = {r"\s*": rf"\s{{0,{MAX_LOOKAHEAD}}}", r"[\w\.\*]*": rf"[\w\.\*]{{0,{MAX_LOOKAHEAD}}}"}

_Original: Any = type(get_lexer_by_name("ipython3"))


def _bounded(rule: Any) -> Any:
    if isinstance(rule, tuple) and isinstance(rule[0], str):
        for unlimited, limited in UNLIMITED.items():
            rule = (rule[0].replace(unlimited, limited), *rule[1:])
    return rule


class NotebookLexer(_Original):
    """Pygments' IPython lexer, with a lookahead of at most MAX_LOOKAHEAD characters."""

    tokens = _Original.tokens | {"root": list(map(_bounded, _Original.tokens["root"]))}
