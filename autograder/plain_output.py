"""Escape control characters in what is printed and logged: students' names, files and texts may hold commands to a
terminal.
"""

import logging
from typing import Any


def escaped(text: str, kept: str = "\n\t") -> str:
    """Return the text with its unprintable characters escaped, but for those in `kept`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


class PlainRecord(logging.LogRecord):
    """A log record whose message and traceback are escaped."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.exc_info and self.exc_info[0] is not None:
            self.exc_text = escaped(logging.Formatter().formatException(self.exc_info))  # formatters take it as it is

    def getMessage(self) -> str:
        return escaped(super().getMessage())


def escape_logs() -> None:
    """Escape what all loggers of this process write from now on: nbgrader's and Jupyter's quote names, too."""
    logging.setLogRecordFactory(PlainRecord)
