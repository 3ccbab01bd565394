"""Limit the processor seconds and characters of one feedback page. Content beyond them is plain text or left out."""

import time
from collections.abc import Callable

from markupsafe import Markup

from ...work_limit import OverLimit, within
from ..intake.sanitize import printable

SECONDS = 30.0
SIZE = 32 * 2**20
PLAIN = (
    "Making this page took longer than the {seconds:g} seconds that a page may take. From there on, what the notebook "
    "holds is shown as plain text."
)
CUT = "This page would be larger than the {size:g} MiB that a page may have. What did not fit is left out."
LEFT_OUT = Markup('<p class="notice">Left out: it does not fit into this page.</p>')


class Budget:
    """The budget of one page: `seconds` of processor time, and `size` in characters."""

    def __init__(self, seconds: float = SECONDS, size: int = SIZE) -> None:
        self.seconds, self.size = seconds, size
        self._end = time.thread_time() + seconds
        self._room = size
        self._plain = self._cut = False

    @property
    def sentences(self) -> list[str]:
        notices = [PLAIN.format(seconds=self.seconds)] if self._plain else []
        return notices + ([CUT.format(size=self.size / 2**20)] if self._cut else [])

    def piece(self, make: Callable[[], Markup], text: str) -> Markup:
        """Return the result of `make`; `text` unformatted if time is up; a notice or nothing if it does not fit."""
        try:
            made = within(self._end - time.thread_time(), make)
        except OverLimit:
            self._plain = True
            made = Markup("<pre>{}</pre>").format(printable(text)) if text.strip() else Markup()
        if len(made) > self._room:
            self._cut = True
            made = LEFT_OUT if len(LEFT_OUT) <= self._room else Markup()
        self._room -= len(made)
        return made
