"""Stop work that has used up its processor time, in whatever thread it runs.

A signal would reach only the main thread of a process, and marking also runs in others (a Dask worker's).
"""

import contextlib
import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import TypeVar

TURN = 0.03  # seconds until limits are looked at again; where the work caught the exception, it comes again then
IDLE = 100  # turns without a limit, after which the thread ends
IMPORTS = "<frozen importlib._bootstrap>"  # the file of Python's own code that imports a module

T = TypeVar("T")


class OverLimit(BaseException):
    """The work has used up its processor time. No `Exception`, so that the interrupted code does not catch it."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`. Raise OverLimit in it once its thread has spent this processor time.

    A call in C is not interrupted: the exception waits for its end, as for that of an import, since a module imported
    by half would stay so for all later code. No exception comes after this function has ended.
    """
    if seconds <= 0:
        raise OverLimit
    limit = _Limit(seconds)
    try:
        try:
            _watch.add(limit)
            return work()
        finally:
            _watch.end(limit)
    except OverLimit:  # it may have come between the work's end and the limit's; another takes a TURN
        _watch.end(limit)
        raise


class _Limit:
    """The processor time that a thread may still spend."""

    def __init__(self, seconds: float) -> None:
        self.thread = threading.get_ident()
        self.clock = time.CLOCK_PROCESS_CPUTIME_ID
        if hasattr(time, "pthread_getcpuclockid"):  # not on macOS: there the whole process counts
            self.clock = time.pthread_getcpuclockid(self.thread)
        self.stop_at = time.clock_gettime(self.clock) + seconds
        self.has_sent = False

    def look(self) -> None:
        """Send the exception if nothing is left."""
        if time.clock_gettime(self.clock) >= self.stop_at and not _is_importing(self.thread):
            self.has_sent = True
            _send(self.thread, OverLimit)


class _Watch:
    """One thread for all limits of a process: a feedback page has hundreds, and to start a thread takes 0.2 ms.

    It looks at them every now and then, and is not woken: an exception in the middle of Event.set() would leave the
    event's lock held for ever.
    """

    def __init__(self) -> None:
        self.limits: weakref.WeakSet[_Limit] = weakref.WeakSet()  # one whose work has ended goes, whatever interrupts
        self.lock = threading.Lock()  # held while exceptions are sent, and while limits come and go
        self.runs = False

    def add(self, limit: _Limit) -> None:
        with self.lock:
            self.limits.add(limit)
            if not self.runs:
                threading.Thread(target=self._run, name="work limit", daemon=True).start()
                self.runs = True

    def end(self, limit: _Limit) -> None:
        """Send nothing for a limit from now on, and take what was sent and not raised yet. Its own thread calls this.

        PyThreadState_SetAsyncExc(thread, NULL) would take it back, too. But in CPython 3.11 the interpreter then keeps
        its note that an exception is pending (eval_frame_handle_pending in Python/ceval.c erases the note only together
        with an exception). From there on all code is slower, and a function that is traced or profiled never ends.
        """
        with self.lock:
            self.limits.discard(limit)
        if limit.has_sent:
            with contextlib.suppress(OverLimit):
                for _ in range(3):  # a pending exception is raised at the end of a turn
                    pass

    def _run(self) -> None:
        idle = 0
        while idle < IDLE:
            time.sleep(TURN)
            with self.lock:
                idle = 0 if self.limits else idle + 1
                for limit in self.limits:
                    limit.look()
                self.runs = idle < IDLE


def _is_importing(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        frame = frame.f_back
    return frame is not None


def _send(thread: int, error: type[BaseException]) -> None:
    """Have a thread raise an exception at its next step."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


_watch = _Watch()
if hasattr(os, "register_at_fork"):  # a fork has no thread but its own
    os.register_at_fork(after_in_child=_watch.__init__)  # type: ignore[misc]
