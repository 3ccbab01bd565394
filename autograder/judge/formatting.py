"""Format verdicts' numbers and prose, and name their MIME type. Separate, because pages are made without the judge."""

import re
from html import escape

# Words between asterisks, in escaped text. a*b*c and a * b * c are products, and *args is Python.
EMPHASIS = re.compile(r"(?<![\w*)])\*([^\W\d_](?:(?:[\w ,.:;'’-]|&#x27;)*\w)?)\*(?![\w*(])")
MIME = "application/vnd.autograder.verdict+json"  # the verdict as data, next to HTML and plain text


def number(points: float) -> str:
    """Format points without trailing zeros: 2.5 as 2.5, 4.0 as 4."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def prose(text: str) -> str:
    """Return escaped HTML, with text in backticks as code and *words* between asterisks emphasised."""
    pieces = escape(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    return "".join(
        f"<code>{piece}</code>" if index % 2 else EMPHASIS.sub(r"<em>\1</em>", piece)
        for index, piece in enumerate(pieces)
    )


def without_emphasis(text: str) -> str:
    """Return text, for a client without HTML, without the asterisks of emphasis. Text in backticks stays."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return text
    return "`".join(piece if index % 2 else EMPHASIS.sub(r"\1", piece) for index, piece in enumerate(pieces))
