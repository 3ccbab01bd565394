"""Stop work that has used up its processor time, in whatever thread it runs.

A signal would reach only the main thread of a process, and marking also runs in others (a Dask worker's).
"""

import contextlib
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

AGAIN = 0.05  # seconds of a processor until the exception comes again, where the work caught it
IMPORTS = "<frozen importlib._bootstrap>"  # the file of Python's own code that imports a module

T = TypeVar("T")


class OverLimit(BaseException):
    """The work has used up its processor time. No `Exception`, so that the interrupted code does not catch it."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`. Raise OverLimit in it once its thread has spent this processor time.

    A call in C is not interrupted: the exception waits for its end, as for that of an import, since a module imported
    by half would stay so for whatever comes later. No exception comes after this function has ended.
    """
    if seconds <= 0:
        raise OverLimit
    watch = _Watch(seconds)
    try:
        try:
            watch.start()
            return work()
        finally:
            watch.stop()
    except OverLimit:  # it may have come between the work's end and the watch's; another takes AGAIN seconds
        watch.stop()
        raise


class _Watch(threading.Thread):
    """A thread that waits until another one has spent its processor time, and then raises OverLimit there."""

    def __init__(self, seconds: float) -> None:
        super().__init__(name="work limit", daemon=True)
        self.watched = threading.get_ident()
        self.clock = time.CLOCK_PROCESS_CPUTIME_ID
        if hasattr(time, "pthread_getcpuclockid"):  # not on macOS: there the whole process counts
            self.clock = time.pthread_getcpuclockid(self.watched)
        self.end = self.spent() + seconds
        self.sending = threading.Lock()  # held while the exception is sent, and while sending is ended
        self.left = threading.Event()
        self.has_sent = False

    def spent(self) -> float:
        return time.clock_gettime(self.clock)

    def run(self) -> None:
        while not self.left.wait(max(self.end - self.spent(), 0.0) + 1e-3):  # no clock of a thread outruns the wall's
            with self.sending:
                if not self.left.is_set() and self.spent() >= self.end:
                    if not _is_importing(self.watched):
                        self.has_sent = True
                        _send(self.watched, OverLimit)
                    self.end = self.spent() + AGAIN

    def stop(self) -> None:
        """Send nothing from now on, and take what was sent and not raised yet. The watched thread calls this.

        PyThreadState_SetAsyncExc(thread, NULL) would take it back, too. But in CPython 3.11 the interpreter then keeps
        its note that an exception is pending (eval_frame_handle_pending in Python/ceval.c erases the note only together
        with an exception). From there on all code is slower, and a function that is traced or profiled never ends.
        """
        with self.sending:
            self.left.set()
        if self.has_sent:
            with contextlib.suppress(OverLimit):
                for _ in range(3):  # a pending exception is raised at the end of a turn
                    pass


def _is_importing(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        frame = frame.f_back
    return frame is not None


def _send(thread: int, error: type[BaseException]) -> None:
    """Have a thread raise an exception at its next step."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
