"""A limit on what code under test computes, allocates and prints."""

import contextlib
import io
import resource
import signal
from collections.abc import Iterator
from typing import Any

import psutil

PATIENCE = 2.0  # seconds of computing for a constant of a notebook: what needs more is an experiment
MEMORY = 2 * 2**30  # bytes more than there are: a table of V × V numbers for a large V is no answer to anything


@contextlib.contextmanager
def patience(seconds: float = PATIENCE) -> Iterator[None]:
    """Run silently, and end: figures are not shown, and what takes too long or too much memory is stopped."""

    def stop(*_: Any) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.2)  # again, should the code have caught the error
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + MEMORY, limits[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)
