"""How verdicts are written, and where in an output they stand. Apart, since pages are made without the judge."""

from __future__ import annotations

import re
from html import escape

EMPHASIS = re.compile(r"(?<![\w*)])\*([^\W\d_]+)\*(?![\w*(])")  # a*b*c is a product
MIME = "application/vnd.autograder.verdict+json"  # the verdict as data, beside its two readable forms


def number(points: float) -> str:
    """2.5 as 2.5, 4.0 as 4."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def prose(text: str) -> str:
    """Escaped, with `code` in backticks set as code, and a *word* between asterisks emphasised."""
    pieces = escape(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    return "".join(
        f"<code>{piece}</code>" if index % 2 else EMPHASIS.sub(r"<em>\1</em>", piece)
        for index, piece in enumerate(pieces)
    )
