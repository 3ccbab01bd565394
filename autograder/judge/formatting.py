"""Format verdicts' numbers and prose, and name their MIME type. Separate, because pages are made without the judge."""

import re
from html import escape

EMPHASIS = re.compile(r"(?<![\w*)])\*([^\W\d_]+)\*(?![\w*(])")  # a*b*c is a product
MIME = "application/vnd.autograder.verdict+json"  # the verdict as data, next to HTML and plain text


def number(points: float) -> str:
    """Format points without trailing zeros: 2.5 as 2.5, 4.0 as 4."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def prose(text: str) -> str:
    """Return escaped HTML, with text in backticks as code and a *word* between asterisks emphasised."""
    pieces = escape(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    return "".join(
        f"<code>{piece}</code>" if index % 2 else EMPHASIS.sub(r"<em>\1</em>", piece)
        for index, piece in enumerate(pieces)
    )
