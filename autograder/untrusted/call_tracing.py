"""Record what a call of a student's code uses, by whatever name it was reached.

Three things are recorded, and judged elsewhere: torch's operations as its own profiler sees them, those inside other
operations too; library functions that ran, or passed numbers to the student's code; and ways for work to leave this
thread unobserved. This module runs beside the student's code and imports nothing but torch and NumPy.
"""

from __future__ import annotations

import _thread
import contextlib
import cProfile
import functools
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy as np
import torch

from . import torch_internals as internals
from .uses import CALLED, GAVE, HIDDEN, LEFT, RAN, AnotherProfiler

Result = TypeVar("Result")

MAX_RECORDS = 10_000  # records of one call
MAX_CACHED = 16_384  # code objects whose origin is cached
_FIRST, _LAST = "the watch begins", "the watch ends"  # operations that mark the ends of an uninterrupted record

# The origin of code: the student's, Python's own, or a module that is being imported.
_OWN, _PLAIN, _IMPORT = "the notebook", "Python", "an import"
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
_STANDARD = sysconfig.get_paths()["stdlib"]
_AUTOGRADER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Packages whose functions may return numbers: torch's operations or their own names show what they compute, or it is
# elementary (NumPy has no softmax). Excepted are torch's DECOMPOSITIONS.
_ELEMENTARY = {_PLAIN, "torch", "numpy", "einops", "opt_einsum"}
_GENERATED = (
    *("<frozen", "<string>", "<__array_function__", "<@beartype", "<eval_with_key>", "<working version>", "<probe>"),
)
_NUMBERS = (torch.Tensor, np.ndarray, np.generic)


# Ways for work to escape this record, or to change it. The interpreter audits most of them, calls from C included.
_AUDITED = {
    **{"_thread.start_new_thread": "threads", "subprocess.Popen": "another process", "os.system": "another process"},
    **{"os.fork": "another process", "os.forkpty": "another process", "os.posix_spawn": "another process"},
    **{"os.exec": "another process", "sys.setprofile": "sys.setprofile", "sys.settrace": "sys.settrace"},
    **{"ctypes.dlopen": "ctypes", "ctypes.dlsym": "ctypes"},
}
_CALLED = {
    **{getattr(_thread, name): "threads" for name in dir(_thread) if name.startswith("start_")},
    **{os.read: "os.read", os.write: "os.write", internals.enable_profiler: "another profiler"},
    **dict.fromkeys((internals.disable_profiler, internals.enable_record_function), "the profiler's end"),
}
_SOCKET_METHODS = {f"socket.{name}" for name in ("send", "sendall", "sendmsg", "recv", "recv_into", "recvmsg")}


def record_calls(work: Callable[[], Result], functions: bool = True) -> tuple[Result, list[str]]:
    """Return what `work` returns, and a text for each thing used: its kind, a space, and its name.

    Without `functions` only torch's operations are recorded. A profiler that is on is suspended meanwhile, and restored
    in the frame in which it was suspended, so that it sees as many returns as calls. Raises `AnotherProfiler` if that
    is impossible.
    """
    global _recorder
    calls, before = _Calls(), sys.getprofile()
    on_event = calls.on_event  # one object: each access to a method makes a new one
    _install_audit_hook()
    _refuse_other_profilers(before if functions else None)
    with contextlib.ExitStack() as eager:
        if internals.compiler_is_loaded():  # compiled code has no visible operations; the import would take seconds
            eager.enter_context(torch.compiler.set_stance("force_eager"))
        internals.enable_profiler(_CPU_ONLY)
        with internals.record_function(_FIRST):
            pass
        if functions:
            sys.setprofile(on_event)
            _recorder = calls
        try:
            result = work()
        finally:
            _recorder = None
            whole = not functions or sys.getprofile() is on_event
            if functions and isinstance(before, cProfile.Profile):  # up to Python 3.11; `sys.setprofile` cannot call it
                before.enable()
            elif functions:
                sys.setprofile(before)
            with internals.record_function(_LAST):
                pass
            operations: set[str] = set()
            with contextlib.suppress(RuntimeError):  # recording was ended early
                operations = {event.name() for thread in internals.disable_profiler() for event in thread}
    found = {(RAN, name) for name in operations if "::" in name and not name.startswith("autograd::")} | calls.found
    if not whole or not {_FIRST, _LAST} <= operations:
        found.add((HIDDEN, "an interrupted record"))
    if len(found) > MAX_RECORDS:  # no honest answer uses so much
        found = {(HIDDEN, "a record of too many things")}
    return result, [f"{kind} {name}" for kind, name in found]


def _refuse_other_profilers(profiler: Any) -> None:
    if internals.profiler_enabled():
        raise AnotherProfiler(
            "Which operations an answer runs is seen by PyTorch's profiler, which somebody else has switched on "
            "(torch.profiler): end that, and mark again."
        )
    # The module `profile` checks each return against its call, and finds none for the `sys.setprofile` that resumes it.
    kind = type(getattr(profiler, "__self__", profiler))
    unpaired = kind.__module__ == "profile"
    if unpaired or not (profiler is None or callable(profiler) or isinstance(profiler, cProfile.Profile)):
        raise AnotherProfiler(
            f"Which functions an answer calls is seen by sys.setprofile, and the profiler that is on "
            f"({kind.__module__}.{kind.__qualname__}) could not be put on again afterwards: end "
            "that, and mark again, with cProfile if it is to be profiled."
        )


_CPU_ONLY = internals.ProfilerConfig(
    internals.ProfilerState.CPU, False, False, False, False, False, internals.ExperimentalConfig()
)
_recorder: _Calls | None = None  # receives the interpreter's audit events


@functools.cache
def _install_audit_hook() -> None:
    """Install the audit hook, once. Hooks cannot be removed, so it does nothing while nothing is recorded."""

    def hook(event: str, _arguments: tuple[Any, ...]) -> None:
        if _recorder is not None and event in _AUDITED:
            _recorder.record_escape(_AUDITED[event])

    sys.addaudithook(hook)


class _Calls:
    """Records library functions that ran or passed numbers to the student's code, and ways out of this thread."""

    def __init__(self) -> None:
        self.found: set[tuple[str, str]] = set()
        self.own = 0  # number of the student's functions entered so far
        self.stack: list[tuple[str, int]] = []

    def on_event(self, frame: FrameType, event: str, arg: Any) -> None:
        """Handle an event of `sys.setprofile`. It is called at every step, so the most frequent cases come first."""
        if event == "c_return":
            return
        if event == "c_call":
            if arg in _CALLED:
                self.record_escape(_CALLED[arg])
            elif arg.__name__.startswith(("recv", "send")) and arg.__qualname__ in _SOCKET_METHODS:
                self.record_escape("sockets")
        elif event == "call":
            code = frame.f_code
            _, home, name = _ORIGINS.get(id(code)) or _cached_origin(code)
            self.stack.append((home, self.own))
            if home is _OWN:
                self.own += 1
            elif name:
                self.found.add((CALLED, name))
        elif event == "return" and self.stack:
            home, own = self.stack.pop()
            if own == self.own and home not in _ELEMENTARY and _has_numbers(arg):
                name = _cached_origin(frame.f_code)[2]
                if name and not frame.f_code.co_flags & inspect.CO_GENERATOR and self._caller() is _OWN:
                    self.found.add((GAVE, name))

    def record_escape(self, way: str) -> None:
        if self._caller() is _OWN:  # a progress bar starts a thread by itself, and an import does many things
            self.found.add((LEFT, way))

    def _caller(self) -> str:
        """Return the origin of the caller, past torch, NumPy and the standard library; the student's by default."""
        return next((home for home, _ in reversed(self.stack) if home not in _ELEMENTARY), _OWN)


def _has_numbers(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, _NUMBERS) or (
        isinstance(value, (list, tuple)) and any(isinstance(part, _NUMBERS) for part in value)
    )


# By id, with the code object, so that the id stays its own: hashing a code object takes longer than running it.
_ORIGINS: dict[int, tuple[CodeType, str, str]] = {}


def _cached_origin(code: CodeType) -> tuple[CodeType, str, str]:
    if len(_ORIGINS) > MAX_CACHED:
        _ORIGINS.clear()
    return _ORIGINS.setdefault(id(code), (code, *_origin(code)))


def _origin(code: CodeType) -> tuple[str, str]:
    """Return the origin of code, and a library function's full name; "" for bodies of modules and classes."""
    path = code.co_filename
    if path.startswith((*_GENERATED, _AUTOGRADER)):
        return _PLAIN, ""
    inside = _path_in_package(path)
    if inside is None and not path.startswith(_STANDARD):
        return _OWN, ""
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return _IMPORT, ""
    if inside is None:
        return _PLAIN, ""
    parts = inside.removesuffix(".py").removesuffix("/__init__").split("/")
    home = parts[0]
    if home == "torch" and len(parts) > 1 and parts[1] in internals.DECOMPOSITIONS:
        home = ".".join(parts[:2])
    return home, ".".join([*parts, code.co_qualname.replace(".<locals>", "")])


def _path_in_package(path: str) -> str | None:
    path = path.replace("\\", "/")
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in path:
            return path.rpartition(folder)[2]
    own = _PACKAGES.replace("\\", "/") + "/torch/"
    return "torch/" + path.removeprefix(own) if path.startswith(own) else None
