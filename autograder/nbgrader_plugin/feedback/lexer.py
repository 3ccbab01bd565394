"""Pygments' lexer of notebooks' Python, which takes no longer for what was made to cost: cells come from strangers.

At every position it looks how far blanks, or names with dots and stars, go on, in case that a magic word or a question
mark follows. Of 60,000 stars that was half a minute. Nobody writes either for more than a line.
"""

from __future__ import annotations

from typing import Any

from pygments.lexers import get_lexer_by_name

MOST = 200  # characters
ENDLESS = {r"\s*": rf"\s{{0,{MOST}}}", r"[\w\.\*]*": rf"[\w\.\*]{{0,{MOST}}}"}

_Original: Any = type(get_lexer_by_name("ipython3"))


def _bounded(rule: Any) -> Any:
    if not isinstance(rule, tuple) or not isinstance(rule[0], str):
        return rule
    pattern = rule[0]
    for endless, enough in ENDLESS.items():
        pattern = pattern.replace(endless, enough)
    return (pattern, *rule[1:])


class NotebookLexer(_Original):
    """IPython's, with an end to how far it looks ahead."""

    tokens = _Original.tokens | {"root": list(map(_bounded, _Original.tokens["root"]))}
