"""Limit the processor seconds and characters of one feedback page. Content beyond them is plain text or left out."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from markupsafe import Markup

from ..intake.sanitize import printable

SECONDS = 30.0
SIZE = 32 * 2**20
PLAIN = (
    "Making this page took longer than the {seconds:g} seconds that a page may take. From there on, what the notebook "
    "holds is shown as plain text."
)
CUT = "This page would be larger than the {size:g} MiB that a page may have. What did not fit is left out."
LEFT_OUT = Markup('<p class="notice">Left out: it does not fit into this page.</p>')


class _TimeIsUp(BaseException):
    """Raised when a page's time is up. No `Exception`, so that the interrupted code does not catch it."""


class Budget:
    """The budget of one page. `seconds` of processor time; `size` in characters."""

    def __init__(self, seconds: float = SECONDS, size: int = SIZE) -> None:
        self.seconds, self.size = seconds, size
        self._end = time.process_time() + seconds
        self._room = size
        self._armed = False
        self._plain = self._cut = False

    @property
    def sentences(self) -> list[str]:
        said = [PLAIN.format(seconds=self.seconds)] if self._plain else []
        return said + ([CUT.format(size=self.size / 2**20)] if self._cut else [])

    def piece(self, make: Callable[[], Markup], text: str) -> Markup:
        """Return the result of `make`; `text` unformatted if time is up; a notice or nothing if it does not fit."""
        try:
            with self._timed():
                made = make()
        except _TimeIsUp:
            self._plain = True
            made = Markup("<pre>{}</pre>").format(printable(text)) if text.strip() else Markup()
        if len(made) > self._room:
            self._cut = True
            made = LEFT_OUT if len(LEFT_OUT) <= self._room else Markup()
        self._room -= len(made)
        return made

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Raise _TimeIsUp when the page's time is up; at the start only, in other threads, which get no signals."""
        if (left := self._end - time.process_time()) <= 0:
            raise _TimeIsUp
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGPROF, self._stop)
        self._armed = True
        signal.setitimer(signal.ITIMER_PROF, left)
        try:
            yield
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _stop(self, *_: Any) -> None:
        if self._armed:
            raise _TimeIsUp
