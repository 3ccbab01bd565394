"""Say what a record of uses consists of, and end whatever else looks on. `call_tracing` makes it, with PyTorch."""

from __future__ import annotations

import contextlib
import sys

from . import torch_internals

KINDS = RAN, CALLED, GAVE, LEFT, HIDDEN = "ran", "called", "gave", "left", "hidden"


class AnotherProfiler(Exception):
    """Another profiler is on and cannot be suspended. The message names it and the remedy."""


def end_profilers() -> None:
    """End all profilers and tracers of this thread for good, so that none left on observes or slows a fork."""
    sys.settrace(None)
    sys.setprofile(None)
    if sys.version_info >= (3, 12):
        for tool in range(6):
            for event in vars(sys.monitoring.events).values():
                if isinstance(event, int) and event.bit_count() == 1:
                    sys.monitoring.register_callback(tool, event, None)
    if "torch" in sys.modules:
        for stop in ("disable_kineto_profiler", "disable_profiler"):
            with contextlib.suppress(RuntimeError):  # none is on, or a cell imported a torch that marking does without
                getattr(torch_internals, stop)()
