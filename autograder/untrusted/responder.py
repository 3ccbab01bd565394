"""Answer the judge's questions about a student's work, in the process where that work lives.

It runs beside untrusted code, so it holds nothing worth stealing: no checks, no references, no keys. It executes
requests (call this, build that, read those parameters) and replies with plain data, which is judged elsewhere.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import functools
import io
import linecache
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

from .call_tracing import watched
from .second_device import DeviceError, brought_back, elsewhere
from .wire import Packet, Ref, Seed, decode, encode

MAX_TEXT = 160  # characters of an error message that cross the wire
# The CPU's generator draws from the lower 32 bits and keeps all of them: this seed draws as 0 does and is not 0, so
# code that seeds it again, with any number, is detected.
SEED = 0x5EED << 32
RAISE = bytes([dis.opmap["RAISE_VARARGS"]])


class Responder:
    """Answers requests, using `namespace`, the student's global names."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.kept: dict[int, Any] = {}
        random.seed(0)  # an answer that draws from here, and not from the generator that it is given, gives the same
        np.random.seed(0)  # results in every process, though different ones at each call

    def answer(self, packet: Packet) -> Packet:
        """Return the reply to a request; any error that the student's code raises becomes part of it.

        With `watch` ("operations", or "functions" too) the reply lists what the student's code used, as "used".
        """
        request = decode(packet)
        watch = request.pop("watch", None)
        if watch is None:
            return self._answer(request)
        # The encoding is watched too: the result may be the student's own subclass of tensor.
        reply, used = watched(lambda: self._answer(request), functions=watch == "functions")
        reply.tree["dict"].append(["used", "\n".join(used)])
        return reply

    def _answer(self, request: dict) -> Packet:
        operation = getattr(self, "do_" + request["do"])
        with _quietly():
            try:
                reply = operation(**{key: value for key, value in request.items() if key != "do"})
            except _Stop as stop:
                reply = {"problem": stop.problem}
            except DeviceError as error:
                reply = {"problem": {"kind": "device", "text": str(error)}}
            except BaseException as error:  # the student's SystemExit and KeyboardInterrupt too
                reply = {"problem": _describe(error)}
            return encode(reply)

    # --- requests -----------------------------------------------------------------------------------------------------

    def do_call(self, target: Any, args: list, kwargs: dict, **options: Any) -> dict:
        """Call a function, a kept object, or a method of one.

        Options: keep, upstream, strict_device, trace, training, after, and device="elsewhere". The last puts the
        arguments on a second device; the value is brought back, and "kept" says whether all its tensors were there.
        """
        function = self._find(target)
        owner = function if isinstance(function, nn.Module) else getattr(function, "__self__", None)
        if isinstance(owner, nn.Module) and "training" in options:
            owner.train(options["training"])
        args, kwargs = self._resolve(args), self._resolve(kwargs)
        tensors = [*_tensors(args), *_tensors(kwargs)]
        upstream = options.get("upstream")
        leaves = [t for t in tensors if upstream is not None and t.is_floating_point()]
        for leaf in leaves:
            leaf.requires_grad_(True)
        torch.default_generator.manual_seed(SEED)  # torch.manual_seed also prepares every GPU back end: 2 ms a call
        state = torch.get_rng_state()
        operations: set[str] = set()
        with contextlib.ExitStack() as modes:
            if options.get("trace"):
                modes.enter_context(_Operations(operations))
            if options.get("strict_device"):
                modes.enter_context(_NoDefaultDevice())
            reply: dict[str, Any] = {}
            if options.get("device") == "elsewhere":
                _, there, named = modes.enter_context(elsewhere(owner, args, kwargs))
                result, reply["kept"] = brought_back(function(*there, **named))
            else:
                result = function(*args, **kwargs)
            if upstream is not None:
                parameters = dict(owner.named_parameters()) if isinstance(owner, nn.Module) else {}
                reply["gradients"] = _gradients(result, upstream, leaves, parameters)
        reply["rng_moved"] = not torch.equal(state, torch.get_rng_state())
        if options.get("trace"):
            reply["operations"] = sorted(operations)
        reply["inputs"] = [t.detach() for t in tensors] if upstream is None else []
        if options.get("after"):
            reply["after"] = args
        if options.get("keep"):
            result = self._keep(result)
        reply["value"] = result
        return reply

    def do_read(self, name: str) -> dict:
        """Return the value of a variable."""
        return {"value": self._find(name)}

    def do_has(self, name: str) -> dict:
        """Return whether a name is defined."""
        return {"value": name in self.namespace}

    def do_state(self, target: Ref) -> dict:
        """Return a module's parameters and buffers, which of them train, and the types of its direct children."""
        module = self._module(target)
        return {
            "parameters": {name: value.detach() for name, value in module.named_parameters()},
            "buffers": {name: value.detach() for name, value in module.named_buffers()},
            "trainable": [name for name, value in module.named_parameters() if value.requires_grad],
            "children": {name: type(child).__name__ for name, child in module.named_children()},
        }

    def do_load(self, target: Ref, state: dict) -> dict:
        """Copy values into the parameters of these names; the others stay as they are."""
        own = dict(self._module(target).named_parameters())
        with torch.no_grad():
            for name, value in state.items():
                if name in own and own[name].shape == value.shape:
                    own[name].copy_(value)
        return {"value": sorted(set(state) & set(own))}

    def do_move(self, target: Ref, to: str) -> dict:
        """Change a module's dtype ("float64") or device ("meta")."""
        module = self._module(target)
        module.to(getattr(torch, to) if hasattr(torch, to) else torch.device(to))
        return {"value": None}

    def do_define(self, name: str, source: str) -> dict:
        """Define a probe, a function of the judge's that is passed to the student's code, in its own namespace."""
        scope: dict[str, Any] = {"torch": torch, "nn": nn, "__name__": "probe"}
        exec(_compiled(source, "<probe>"), scope)
        return {"value": self._keep(scope[name])}

    def do_bind(self, sources: dict[str, str]) -> dict:
        """Bind the student's names to working versions, so that one mistake is not marked twice."""
        scope: dict[str, Any] = {"__name__": "working_version"}
        for name, source in sources.items():
            exec(_compiled(source, "<working version>"), scope)
            self.namespace[name] = scope[name]
        return {"value": None}

    # --- helpers ------------------------------------------------------------------------------------------------------

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

    def _module(self, target: Ref) -> nn.Module:
        module = self._find(target)
        if not isinstance(module, nn.Module):
            raise _Stop({"kind": "not a module", "type": type(module).__name__})
        return module

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self.kept[value.key]
        if isinstance(value, Seed):
            return torch.Generator().manual_seed(value.seed)
        if isinstance(value, (list, tuple)):
            return type(value)(self._resolve(item) for item in value)
        if isinstance(value, dict):
            return {key: self._resolve(item) for key, item in value.items()}
        return value


@functools.lru_cache(maxsize=256)
def _compiled(source: str, name: str) -> CodeType:
    """Compile a source of the judge's, cached: a probe comes again with every case."""
    return compile(source, name, "exec", dont_inherit=True)


class _Stop(Exception):
    """Ends a request and gives the problem for its reply."""

    def __init__(self, problem: dict) -> None:
        self.problem = problem


class _Operations(TorchDispatchMode):
    """Records which of torch's basic operations run, by whatever name they are called."""

    def __init__(self, seen: set[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


class _NoDefaultDevice(TorchFunctionMode):
    """Puts every new tensor for which no device was named on the meta device, as if the inputs lived on a GPU.

    Tensors with no dimension are left alone: they mix with any device.
    """

    def __torch_function__(self, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in _device_constructors() and kwargs.get("device") is None and result.dim():
            return result.to("meta")
        return result


def _gradients(result: Any, upstream: list, leaves: list[torch.Tensor], parameters: dict) -> dict:
    """Return gradients of sum(output * upstream) for every input leaf and parameter; None where none arrives."""
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    total = 0.0
    for output, weight in zip(outputs, upstream, strict=False):
        if weight is not None and isinstance(output, torch.Tensor) and output.requires_grad:
            total = total + (output * weight).sum()
    wanted = [*leaves, *parameters.values()]
    if not isinstance(total, torch.Tensor) or not wanted:
        grads: list[torch.Tensor | None] = [None] * len(wanted)
    else:
        grads = list(torch.autograd.grad(total, wanted, allow_unused=True))
    return {
        "inputs": grads[: len(leaves)],
        "parameters": dict(zip(parameters, grads[len(leaves) :], strict=True)),
    }


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _describe(error: BaseException) -> dict:
    """Return the type and first line of an error, and the line of the student's code that it came from.

    "base" is the built-in type that it derives from; "own" says whether a `raise` in the student's code worded it.
    """
    text = str(error).strip().split("\n")[0]
    bases = (kind.__name__ for kind in type(error).__mro__ if vars(builtins).get(kind.__name__) is kind)
    problem = {"kind": "raised", "type": type(error).__name__, "base": next(bases, ""), "text": text[:MAX_TEXT]}
    problem |= {"line": "", "own": False}
    trace = error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        theirs = "site-packages" not in filename and not filename.startswith(
            ("<probe", "<working", "<frozen", __file__)
        )
        theirs = theirs and "/lib/python" not in filename
        if theirs and (line := linecache.getline(filename, trace.tb_lineno).strip()):
            problem["line"] = line[:MAX_TEXT]
        problem["own"] = theirs and _raises(trace)  # the innermost frame decides
        trace = trace.tb_next
    return problem


def _raises(trace: TracebackType) -> bool:
    """Return whether a frame ended at a `raise` or an `assert`, and not at an operation or a call."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti : trace.tb_lasti + 1] == RAISE


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Discard what student code prints or warns about while the judge asks."""
    saved = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.StringIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout, sys.stderr = saved
