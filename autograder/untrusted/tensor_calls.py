"""Execute the judge's requests about tensors and modules: gradients, random numbers, devices, parameters.

It runs next to the student's code, imported for courses whose notebooks use PyTorch, and knows nothing but torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from .second_device import DeviceError, SimulationLimit, back_on_cpu, exact_types, on_second_device
from .torch_internals import TorchDispatchMode, compiler_is_loaded, device_constructors

__all__ = ["PROBES", "DeviceError", "SimulationLimit"]  # for the responder, which imports nothing of torch's itself
__all__ += ["call", "exact_types", "is_lazy", "load", "move", "nn", "put_first", "state", "torch"]

# Bound before the student's code runs, which may replace torch's own
_equal, _get_rng_state, _grad = torch.equal, torch.get_rng_state, torch.autograd.grad

PROBES = {"torch": torch, "nn": nn}  # names that probes find
# The CPU's generator draws from the lower 32 bits and keeps all of them: this seed draws as 0 does and is not 0, so
# code that seeds it again, with any number, is detected.
SEED = 0x5EED << 32


def call(function: Any, args: Any, kwargs: Any, **options: Any) -> dict[str, Any]:
    """Return a call's value and other facts about it; the options are those of `Responder.do_call`."""
    owner = function if isinstance(function, nn.Module) else getattr(function, "__self__", None)
    if isinstance(owner, nn.Module) and "training" in options:
        owner.train(options["training"])
    tensors = [*_tensors(args), *_tensors(kwargs)]
    upstream = options.get("upstream")
    leaves = [t for t in tensors if upstream is not None and t.is_floating_point()]
    for leaf in leaves:
        leaf.requires_grad_(True)
    torch.default_generator.manual_seed(SEED)  # torch.manual_seed also prepares every GPU back end: 2 ms a call
    before = _get_rng_state()
    operations: set[str] = set()
    functions: set[str] = set()
    with contextlib.ExitStack() as modes:
        if options.get("trace") or options.get("watch"):
            modes.enter_context(_Operations(operations))
            if compiler_is_loaded():  # else what must be compiled stops; the import would take seconds
                modes.enter_context(torch.compiler.set_stance("force_eager"))
        if options.get("watch"):
            modes.enter_context(_Functions(functions))
        if options.get("no_grad"):
            modes.enter_context(torch.no_grad())
        if options.get("strict_device"):
            modes.enter_context(_NoDefaultDevice())
        reply: dict[str, Any] = {}
        if options.get("device") == "elsewhere":
            _, there, named = modes.enter_context(on_second_device(owner, args, kwargs))
            reply["value"], reply["kept"] = back_on_cpu(function(*there, **named))
        else:
            reply["value"] = function(*args, **kwargs)
        if upstream is not None:
            parameters = _parameters(owner) if isinstance(owner, nn.Module) else {}
            reply["gradients"] = _gradients(reply["value"], upstream, leaves, parameters)
    reply["rng_moved"] = not _equal(before, _get_rng_state())
    if options.get("trace"):
        reply["operations"] = sorted(operations)
    if options.get("watch"):
        reply["used"] = " ".join(sorted(operations | functions))
    reply["inputs"] = [t.detach() for t in tensors] if upstream is None else []
    return reply


def state(module: nn.Module) -> dict[str, Any]:
    """Return a module's parameters and buffers, which of them train, and the types of its direct children."""
    parameters = _parameters(module)
    return {
        "parameters": {name: value.detach() for name, value in parameters.items()},
        "buffers": {name: value.detach() for name, value in module.named_buffers()},
        "trainable": sorted(name for name, value in parameters.items() if value.requires_grad),
        "children": {name: type(child).__name__ for name, child in module.named_children()},
    }


def _parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    """Return each parameter once, since a list may hold the same layers, too, or the same parameters.

    It has the name that ends as a layer's does, of several the one with the fewest parts, and of these the first.
    """

    def rank(name: str) -> tuple[bool, int]:
        return not name.endswith(("weight", "bias")), name.count(".")

    found: dict[int, tuple[str, nn.Parameter]] = {}
    for name, value in module.named_parameters(remove_duplicate=False):
        known = found.get(id(value))
        if known is None or rank(name) < rank(known[0]):
            found[id(value)] = (name, value)
    return dict(found.values())


def put_first(module: nn.Module, names: Collection[str]) -> None:
    """Add second names of layers and parameters anew, after these names: PyTorch reports each under the first."""
    parts = [part for part in module.named_modules(remove_duplicate=False) if part[0] and "." not in part[0]]
    parts += module.named_parameters(recurse=False, remove_duplicate=False)
    named = {id(value) for name, value in parts if name in names}
    for name, value in parts:
        if name not in names and id(value) in named and not name.isdigit():  # a number is a place in a list
            delattr(module, name)
            setattr(module, name, value)


def load(module: nn.Module, values: dict[str, Any]) -> list[str]:
    """Copy values into the parameters of these names. Return the names that there are."""
    own = dict(module.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name, value in values.items():
            if name in own and own[name].shape == value.shape:
                own[name].copy_(value)
    return sorted(set(values) & set(own))


def move(module: nn.Module, to: str) -> None:
    """Change a module's dtype ("float64") or device ("meta")."""
    module.to(getattr(torch, to) if hasattr(torch, to) else torch.device(to))


class _Operations(TorchDispatchMode):
    """Records which of torch's basic operations run, by whatever name they are called."""

    supports_higher_order_operators = True  # without it `flex_attention` and `torch.cond` stop with an error

    def __init__(self, seen: set[str]) -> None:
        super().__init__()
        self.seen = seen

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first call would import torch's compiler, a second of work; nothing here is compiled

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(func.__name__.partition(".")[0])
        return func(*args, **(kwargs or {}))


class _Functions(TorchFunctionMode):
    """Records which of torch's functions are called from Python: some become other operations before these run."""

    def __init__(self, seen: set[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


class _NoDefaultDevice(TorchFunctionMode):
    """Puts every new tensor for which no device was named on the meta device, as if the inputs lived on a GPU.

    Tensors with no dimension are left alone: they mix with any device.
    """

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in device_constructors() and kwargs.get("device") is None and result.dim():
            return result.to("meta")
        return result


def _gradients(
    result: Any, upstream: list[Any], leaves: list[torch.Tensor], parameters: dict[str, Any]
) -> dict[str, Any]:
    """Return gradients of sum(output * upstream) for every input leaf and parameter; None where none arrives."""
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    total = 0.0
    for output, weight in zip(outputs, upstream, strict=False):
        if weight is not None and isinstance(output, torch.Tensor) and output.requires_grad:
            total = total + (output * weight).sum()
    wanted = [*leaves, *parameters.values()]
    grads: list[torch.Tensor | None] = [None] * len(wanted)
    if isinstance(total, torch.Tensor) and wanted:
        grads = list(_grad(total, wanted, allow_unused=True))
    return {"inputs": grads[: len(leaves)], "parameters": dict(zip(parameters, grads[len(leaves) :], strict=True))}


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
