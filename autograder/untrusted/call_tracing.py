"""What a call of a student's code made use of, whatever name it was found by.

Three things are noted, and what they mean is decided elsewhere: torch's operations as its own profiler sees them, those
inside other operations too; library functions that ran, or handed numbers to the student's code; and ways in which work
leaves this thread, where nobody watches. It runs beside the student's code and knows nothing but torch and NumPy.
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
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy as np
import torch
from torch.autograd import ProfilerConfig, ProfilerState
from torch.autograd import _disable_profiler_legacy as stop_noting
from torch.autograd import _enable_profiler_legacy as start_noting

Result = TypeVar("Result")

KINDS = RAN, CALLED, GAVE, LEFT, HIDDEN = "ran", "called", "gave", "left", "hidden"
MOST = 10_000  # notes of one call
MOST_KNOWN = 16_384  # programs whose home is remembered
_FIRST, _LAST = "the watch begins", "the watch ends"  # among torch's operations: nobody began or ended it in between

# Whose code it is: the student's, what Python itself consists of, a module's that is being imported.
_OWN, _PLAIN, _IMPORT = "the notebook", "Python", "an import"
_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
_STANDARD = sysconfig.get_paths()["stdlib"]
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Whose functions may hand numbers over: what they compute shows in torch's operations or by their own names, or is
# elementary (NumPy has no softmax). Not so the parts of torch that write its operations anew in others.
_ELEMENTARY = {_PLAIN, "torch", "numpy", "einops", "opt_einsum"}
_WRITTEN_ANEW = {"_refs", "_decomp", "_prims", "_inductor", "_meta_registrations", "fx", "export", "_export", "onnx"}
_GENERATED = (
    *("<frozen", "<string>", "<__array_function__", "<@beartype", "<eval_with_key>", "<working version>", "<probe>"),
)
_NUMBERS = (torch.Tensor, np.ndarray, np.generic)


# What lets work, or this record, get out of hand. Of most of it the interpreter tells whoever called it, from C too.
_AUDITED = {
    **{"_thread.start_new_thread": "threads", "subprocess.Popen": "another process", "os.system": "another process"},
    **{"os.fork": "another process", "os.forkpty": "another process", "os.posix_spawn": "another process"},
    **{"os.exec": "another process", "sys.setprofile": "sys.setprofile", "sys.settrace": "sys.settrace"},
    **{"ctypes.dlopen": "ctypes", "ctypes.dlsym": "ctypes"},
}
_CALLED = {
    **{getattr(_thread, name): "threads" for name in dir(_thread) if name.startswith("start_")},
    **{os.read: "os.read", os.write: "os.write", stop_noting: "the profiler's end", start_noting: "another profiler"},
    torch.autograd._enable_record_function: "the profiler's end",
}
_OF_A_SOCKET = {f"socket.{name}" for name in ("send", "sendall", "sendmsg", "recv", "recv_into", "recvmsg")}


class AnotherProfiler(Exception):
    """Somebody else's profiler is on and cannot rest meanwhile; the sentence says which, and what to do."""


def watched(work: Callable[[], Result], functions: bool = True) -> tuple[Result, list[str]]:
    """Return what `work` returns, and a word for each thing used: its kind, a space, and its name.

    Without `functions` only torch's operations are noted. A profiler that is on rests meanwhile. It is put on again in
    the frame in which it was taken off, so that it is told of as many returns as calls. Raises `AnotherProfiler` where
    that cannot be done.
    """
    global _listening
    calls, before = _Calls(), sys.getprofile()
    told = calls.told  # one object: each look at a method makes another
    _be_told()
    _refuse_others(before if functions else None)
    with _uncompiled():
        start_noting(_OF_THE_CPU)
        _leave_a_mark(_FIRST)
        if functions:
            sys.setprofile(told)
            _listening = calls
        try:
            result = work()
        finally:
            _listening = None
            whole = not functions or sys.getprofile() is told
            if functions and isinstance(before, cProfile.Profile):  # up to Python 3.11; `sys.setprofile` cannot call it
                before.enable()
            elif functions:
                sys.setprofile(before)
            _leave_a_mark(_LAST)
            operations = _noted()
    found = {(RAN, name) for name in operations if "::" in name and not name.startswith("autograd::")}
    found |= calls.found
    if not whole or not {_FIRST, _LAST} <= operations:
        found.add((HIDDEN, "an interrupted record"))
    if len(found) > MOST:  # no answer does so much
        found = {(HIDDEN, "a record of too many things")}
    return result, [f"{kind} {name}" for kind, name in found]


def _refuse_others(profiler: Any) -> None:
    if torch.autograd._profiler_enabled():
        raise AnotherProfiler(
            "Which operations an answer runs is seen by PyTorch's profiler, which somebody else has switched on "
            "(torch.profiler): end that, and mark again."
        )
    if profiler is not None and not callable(profiler) and not isinstance(profiler, cProfile.Profile):
        raise AnotherProfiler(
            f"Which functions an answer calls is seen by sys.setprofile, and the profiler that is on "
            f"({type(profiler).__module__}.{type(profiler).__qualname__}) could not be put on again afterwards: end "
            "that, and mark again, with cProfile if it is to be profiled."
        )


def end_profilers() -> None:
    """End all profilers and tracers of this thread, for good: in a fork, nothing that was left on looks on or costs."""
    sys.settrace(None)
    sys.setprofile(None)
    if sys.version_info >= (3, 12):
        for tool in range(6):
            for event in vars(sys.monitoring.events).values():
                if isinstance(event, int) and event.bit_count() == 1:
                    sys.monitoring.register_callback(tool, event, None)
    with contextlib.suppress(RuntimeError):
        torch.autograd._disable_profiler()
    with contextlib.suppress(RuntimeError):
        stop_noting()


_OF_THE_CPU = ProfilerConfig(
    ProfilerState.CPU, False, False, False, False, False, torch._C._profiler._ExperimentalConfig()
)
_listening: _Calls | None = None  # who is told of what the interpreter audits


@functools.cache
def _be_told() -> None:
    """Audit hooks stay for good: there is one, and it does nothing while nobody listens."""

    def hook(event: str, _arguments: tuple) -> None:
        if _listening is not None and event in _AUDITED:
            _listening.leaves(_AUDITED[event])

    sys.addaudithook(hook)


def _leave_a_mark(name: str) -> None:
    with torch._C._profiler._RecordFunctionFast(name):
        pass


def _noted() -> set[str]:
    """The names of all operations since noting began; none if somebody ended it before."""
    try:
        return {event.name() for thread in stop_noting() for event in thread}
    except RuntimeError:
        return set()


@contextlib.contextmanager
def _uncompiled() -> Iterator[None]:
    """What `torch.compile` made runs as it was written: compiled, it has no operations that could be seen."""
    if "torch._dynamo.eval_frame" not in sys.modules:  # importing it takes seconds, and nobody has compiled anything
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


class _Calls:
    """Which library functions ran or handed numbers to the student's code, and the ways out."""

    def __init__(self) -> None:
        self.found: set[tuple[str, str]] = set()
        self.own = 0  # how many of the student's functions were entered so far
        self.stack: list[tuple[str, int]] = []

    def told(self, frame: FrameType, event: str, arg: Any) -> None:
        """For `sys.setprofile`. It is called for every step, so what is most frequent comes first."""
        if event == "c_return":
            return
        if event == "c_call":
            if arg in _CALLED:
                self.leaves(_CALLED[arg])
            elif arg.__name__.startswith(("recv", "send")) and arg.__qualname__ in _OF_A_SOCKET:
                self.leaves("sockets")
        elif event == "call":
            code = frame.f_code
            _, home, name = _KNOWN.get(id(code)) or _known(code)
            self.stack.append((home, self.own))
            if home is _OWN:
                self.own += 1
            elif name:
                self.found.add((CALLED, name))
        elif event == "return" and self.stack:
            home, own = self.stack.pop()
            if own == self.own and home not in _ELEMENTARY and _has_numbers(arg):
                self._gave(frame.f_code)

    def _gave(self, code: CodeType) -> None:
        name = _known(code)[2]
        if name and not code.co_flags & inspect.CO_GENERATOR and self._caller() is _OWN:
            self.found.add((GAVE, name))

    def leaves(self, way: str) -> None:
        if self._caller() is _OWN:  # a progress bar starts a thread of its own accord, and an import does many things
            self.found.add((LEFT, way))

    def _caller(self) -> str:
        """Whose code it is that asked, past torch, NumPy and Python's own library: the student's, if nobody's else."""
        return next((home for home, _ in reversed(self.stack) if home not in _ELEMENTARY), _OWN)


def _has_numbers(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, _NUMBERS) or (
        isinstance(value, (list, tuple)) and any(isinstance(part, _NUMBERS) for part in value)
    )


# By the code's number, with the code, so that the number stays its own: to hash a program takes longer than to run it.
_KNOWN: dict[int, tuple[CodeType, str, str]] = {}


def _known(code: CodeType) -> tuple[CodeType, str, str]:
    if len(_KNOWN) > MOST_KNOWN:
        _KNOWN.clear()
    return _KNOWN.setdefault(id(code), (code, *_home(code)))


def _home(code: CodeType) -> tuple[str, str]:
    """Whose code it is, and the function's full name if a library's; bodies of modules and classes have none."""
    path = code.co_filename
    if path.startswith((*_GENERATED, _HERE)):
        return _PLAIN, ""
    inside = _in_a_package(path)
    if inside is None and not path.startswith(_STANDARD):
        return _OWN, ""
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return _IMPORT, ""
    if inside is None:
        return _PLAIN, ""
    parts = inside.removesuffix(".py").removesuffix("/__init__").split("/")
    home = parts[0]
    if home == "torch" and len(parts) > 1 and parts[1] in _WRITTEN_ANEW:
        home = ".".join(parts[:2])
    return home, ".".join([*parts, code.co_qualname.replace(".<locals>", "")])


def _in_a_package(path: str) -> str | None:
    path = path.replace("\\", "/")
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in path:
            return path.rpartition(folder)[2]
    own = _PACKAGES.replace("\\", "/") + "/torch/"
    return "torch/" + path.removeprefix(own) if path.startswith(own) else None
