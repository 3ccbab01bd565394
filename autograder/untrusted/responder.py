"""Reply to the judge's requests about a student's work, in the process where that work lives.

It runs next to untrusted code, so it holds nothing worth stealing: no checks, no references, no keys. It executes
requests (call this, build that, read those parameters) and replies with plain data, which is judged elsewhere.
`tensor_calls` does what concerns tensors, for courses that have any.
"""

from __future__ import annotations

import builtins
import dis
import functools
import io
import linecache
import os
import random
import sys
import warnings
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .wire import Packet, Ref, Seed, decode, encode

MAX_TEXT = 160  # characters of an error message that cross the wire
_FOLDER = os.path.dirname(__file__)
_build_class = builtins.__build_class__
SEALED = "functools._lru_cache_wrapper"  # the type of probes, which errors call a function: see `_sealed`
RAISE = bytes([dis.opmap["RAISE_VARARGS"]])


class Responder:
    """Executes requests, using `namespace`, the student's global names."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.kept: dict[int, Any] = {}
        self.tensors = _tensor_calls()
        random.seed(0)  # an answer that draws from here, and not from the generator that it is given, gives the same
        np.random.seed(0)  # results in every process, though different ones at each call

    def respond(self, packet: Packet) -> Packet:
        """Return the reply to a request; any error that the student's code raises becomes part of it."""
        request = decode(packet)
        operation = getattr(self, "do_" + request["do"])
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(out), warnings.catch_warnings(action="ignore"):
            try:
                reply = operation(**{key: value for key, value in request.items() if key != "do"})
            except _Stop as stop:
                reply = {"problem": stop.problem}
            except BaseException as error:  # the student's SystemExit and KeyboardInterrupt too
                reply = {"problem": self._simulated(error) or _describe(error)}
            return encode(reply)

    def _simulated(self, error: BaseException) -> dict[str, Any] | None:
        """Return the problem for an error of the second device: one of CUDA's, or a limit of the simulation."""
        if self.tensors is None or not isinstance(error, (self.tensors.DeviceError, self.tensors.SimulationLimit)):
            return None
        device = isinstance(error, self.tensors.DeviceError)
        return {"kind": "device" if device else "limit", "text": str(error)[:MAX_TEXT]}

    def do_call(self, target: Any, args: list[Any], kwargs: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Call a function, a kept object, or a method of one.

        Options: keep (True, or the number of parts that are kept each by itself), then (requests about what is kept),
        names (that come before a second name of the same layer in what is kept), upstream, no_grad, strict_device,
        trace, watch ("used": names of torch's functions and operations that ran), training, after, and
        device="elsewhere". The last puts the arguments on a second device; the value is brought back, and "kept" says
        whether all its tensors were there.
        """
        function, args, kwargs = self._find(target), self._resolve(args), self._resolve(kwargs)
        if self.tensors is not None:
            elsewhere = options.get("device") == "elsewhere"
            with self.tensors.exact_types(self.namespace) if elsewhere else nullcontext():
                reply: dict[str, Any] = self.tensors.call(function, args, kwargs, **options)
        else:
            reply = {"rng_moved": False, "inputs": [], "value": function(*args, **kwargs)}
        if options.get("after"):
            reply["after"] = args
        if keep := options.get("keep"):
            value = reply["value"]
            if self.tensors is not None and isinstance(value, self.tensors.nn.Module):
                self._prepare(value, options.get("names", ()))
            reply["value"] = self._keep(value) if keep is True else [self._keep(part) for part in value]
            for do, argument in options.get("then", ()):
                getattr(self, "do_" + do)(reply["value"], argument)
        return reply

    def _prepare(self, module: Any, names: list[str]) -> None:
        """Put the box's names first in a module that is kept. Raise _Stop if a layer of it waits for its first call."""
        assert self.tensors is not None
        if any(map(self.tensors.is_lazy, module.parameters())):
            raise _Stop({"kind": "lazy"})
        self.tensors.put_first(module, names)

    def do_read(self, name: str) -> dict[str, Any]:
        return {"value": self._find(name)}

    def do_has(self, name: str) -> dict[str, Any]:
        return {"value": name in self.namespace}

    def do_state(self, target: Ref) -> dict[str, Any]:
        return {**self._with_module(target).state(self._find(target))}

    def do_load(self, target: Ref, state: dict[str, Any]) -> dict[str, Any]:
        return {"value": self._with_module(target).load(self._find(target), state)}

    def do_move(self, target: Ref, to: str) -> dict[str, Any]:
        return {"value": self._with_module(target).move(self._find(target), to)}

    def do_define(self, name: str, source: str) -> dict[str, Any]:
        """Define a probe, a function of the judge's that is passed to the student's code, in its own namespace."""
        scope: dict[str, Any] = {**(self.tensors.PROBES if self.tensors else {}), "__name__": "probe"}
        scope["__builtins__"] = vars(builtins) | {"__build_class__": _sealed_class}
        exec(_compiled(source, "<probe>"), scope)
        return {"value": self._keep(_sealed(scope[name]))}

    def do_bind(self, sources: dict[str, str]) -> dict[str, Any]:
        """Bind the student's names to library equivalents, so that one mistake is not marked twice."""
        scope: dict[str, Any] = {"__name__": "library_equivalent"}
        for name, source in sources.items():
            exec(_compiled(source, "<library equivalent>"), scope)
            self.namespace[name] = scope[name]
        return {"value": None}

    def _keep(self, value: Any) -> Ref:
        self.kept[len(self.kept)] = value
        return Ref(len(self.kept) - 1)

    def _find(self, target: Any) -> Any:
        if isinstance(target, Ref):
            return self.kept[target.key]
        if isinstance(target, tuple):
            return getattr(self._find(target[0]), target[1])
        if target not in self.namespace:
            raise _Stop({"kind": "missing", "name": target})
        return self.namespace[target]

    def _with_module(self, target: Ref) -> ModuleType:
        """Return the module `tensor_calls`. Raise _Stop if the target is no `nn.Module`."""
        module = self._find(target)
        if self.tensors is None or not isinstance(module, self.tensors.nn.Module):
            raise _Stop({"kind": "not a module", "type": type(module).__name__})
        return self.tensors

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self.kept[value.key]
        if isinstance(value, Seed) and self.tensors is not None:
            return self.tensors.torch.Generator().manual_seed(value.seed)
        if isinstance(value, (list, tuple)):
            return type(value)(self._resolve(item) for item in value)
        if isinstance(value, dict):
            return {key: self._resolve(item) for key, item in value.items()}
        return value


def _sealed(value: Any) -> Any:
    """Return a probe's function so that no attribute leads to its code; anything else as it is.

    The student's code could print that code in the text of an error. Frames and the garbage collector still lead there.
    """
    if not isinstance(value, FunctionType):
        return value
    sealed: Any = functools.lru_cache(maxsize=0)(value)  # written in C, and caches nothing
    vars(sealed).clear()  # `__wrapped__` is the function
    sealed.__name__ = value.__name__
    return sealed


def _sealed_class(*args: Any, **kwargs: Any) -> type:
    """Build a probe's class with sealed methods; replaces `__build_class__`."""
    made: type = _build_class(*args, **kwargs)
    for name, value in [*vars(made).items()]:
        if isinstance(value, FunctionType):
            setattr(made, name, _sealed(value))
    return made


@functools.lru_cache(maxsize=256)
def _compiled(source: str, name: str) -> CodeType:
    """Compile a source of the judge's, cached: a probe comes again with every case."""
    return compile(source, name, "exec", dont_inherit=True)


def _tensor_calls() -> ModuleType | None:
    """Return the module `tensor_calls` if PyTorch was imported before the sandbox hid our files."""
    if "torch" not in sys.modules:
        return None
    try:
        from . import tensor_calls
    except ImportError:  # it was the notebook that imported PyTorch, of a course that uses no tensors
        return None
    return tensor_calls


class _Stop(Exception):
    """Ends a request and gives the problem for its reply."""

    def __init__(self, problem: dict[str, Any]) -> None:
        self.problem = problem


def _describe(error: BaseException) -> dict[str, Any]:
    """Return the type and first line of an error, and the line of the student's code that it came from.

    "base" is the built-in type that it derives from; "own" says whether a `raise` in the student's code wrote the text.
    """
    text = str(error).strip().split("\n")[0].replace(SEALED, "function")
    bases = (kind.__name__ for kind in type(error).__mro__ if vars(builtins).get(kind.__name__) is kind)
    problem = {"kind": "raised", "type": type(error).__name__, "base": next(bases, ""), "text": text[:MAX_TEXT]}
    problem |= {"line": "", "own": False}
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        filename = code.co_filename
        in_students_code = "site-packages" not in filename and not filename.startswith(
            ("<probe", "<library", "<frozen", _FOLDER)
        )
        in_students_code = in_students_code and "/lib/python" not in filename
        if in_students_code and (line := linecache.getline(filename, trace.tb_lineno).strip()):
            problem["line"] = line[:MAX_TEXT]
        # The innermost frame decides: it ended at a `raise` or an `assert`, or at an operation or a call.
        problem["own"] = in_students_code and code.co_code[trace.tb_lasti : trace.tb_lasti + 1] == RAISE
        trace = trace.tb_next
    return problem
