"""Escape control characters in what is printed and logged: students' names, files and texts may hold commands to a
terminal. Show the progress of long work.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")


class Tracker(Protocol):
    """Iterates over items and shows how many are done, and the remaining time; `what` says what is done with them."""

    def __call__(self, items: Sequence[T], what: str, /) -> Iterable[T]: ...


def untracked(items: Sequence[T], what: str, /) -> Iterable[T]:
    """Return the items: a Tracker that shows nothing."""
    return items


def tracked(console: "Console", items: Sequence[T], what: str, /) -> Iterable[T]:
    """Iterate over items with a bar and the remaining time, where the console is a terminal."""
    from rich.progress import track

    hidden = not console.is_terminal
    return track(items, what, len(items), console=console, transient=True, disable=hidden)


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
