"""Simulate a second device without a GPU: tensors that say they are on `cuda:0`, with numbers computed on the CPU.

Code runs on it to find out whether it would work on a GPU. The rules are CUDA's. Tensors of both devices do not mix,
except that a CPU tensor without dimensions may take part in an elementwise operation, and that CPU indices may index. A
tensor made without a device is on the CPU. `.item()`, `.tolist()`, `bool()` and loops over values work, since the
numbers are there; NumPy takes no tensor of this device.

To C++ these tensors are on the meta device, the only one besides the CPU that every build of PyTorch has; `_CudaNames`
gives it the other name in Python. This module runs next to the student's code and imports no other module than torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from . import torch_internals as internals
from .torch_internals import schema, tree_leaves, tree_map

MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
NO_NUMPY = "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
GENERATOR = "Expected a 'cuda' device type for generator but found 'cpu'"

_NAME = torch.device("cuda:0")
_META = torch.device("meta")


class DeviceError(RuntimeError):
    """An operation that CUDA would refuse."""


class SimulationLimit(NotImplementedError):
    """An operation that works on the CPU, and would on a GPU, but that this simulation cannot do."""


class NumpyError(DeviceError, TypeError):
    """A conversion to NumPy that a GPU tensor would refuse."""


class FakeCuda(torch.Tensor):
    """A tensor on the other device. `numbers` is a CPU tensor of the same shape, strides and values."""

    numbers: torch.Tensor
    __torch_function__ = internals.disabled_torch_function  # as PyTorch's guide has it

    @staticmethod
    def __new__(cls, numbers: torch.Tensor) -> FakeCuda:
        size, strides, offset = numbers.size(), numbers.stride(), numbers.storage_offset()
        like: dict[str, Any] = {"strides": strides, "storage_offset": offset}
        like |= {"dtype": numbers.dtype, "layout": numbers.layout}
        tensor: FakeCuda = internals.make_wrapper_subclass(cls, size, device=_META, **like)
        tensor.numbers = numbers.detach()
        return tensor

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # a class method, as PyTorch's guide has it
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _computed(func, args, kwargs or {})


@contextlib.contextmanager
def on_second_device(*arguments: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments as they are on the other device: tensors copied, modules moved there until the end.

    Generators stay as they are, since no other can be made, and may be used for tensors of both devices.
    """
    modules = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, nn.Module)]
    generators = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Generator)]
    with _restored(modules), _Rules(), _CudaNames(generators):
        for module in modules:
            module.to(_NAME)
        yield tree_map(_to_second_device, arguments)


class _TypeOf(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        found = type(*args, **kwargs)
        return torch.Tensor if found is FakeCuda and len(args) == 1 else found

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, type)


class _Type(type, metaclass=_TypeOf):
    """Takes the place of `type` in the student's code: a real GPU's tensor is exactly a `torch.Tensor`."""


@contextlib.contextmanager
def exact_types(namespace: dict[str, Any]) -> Iterator[None]:
    """Let `type(x) is torch.Tensor` hold on the second device, unless `type` is a name of the student's own."""
    known = namespace.setdefault("type", _Type)
    try:
        yield
    finally:
        if known is _Type:
            namespace.pop("type", None)


def back_on_cpu(result: Any) -> tuple[Any, bool]:
    """Return a result with its tensors on the CPU, and whether all of them were on the other device."""
    kept = all(isinstance(leaf, FakeCuda) for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor))
    return tree_map(_numbers, result), kept


def _to_second_device(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or isinstance(leaf, FakeCuda):
        return leaf
    return FakeCuda(leaf.detach().clone()).requires_grad_(leaf.requires_grad)


def _numbers(leaf: Any) -> Any:
    return leaf.numbers.detach().requires_grad_(leaf.requires_grad) if isinstance(leaf, FakeCuda) else leaf


@contextlib.contextmanager
def _restored(modules: list[nn.Module]) -> Iterator[None]:
    """Restore the modules' own parameters, buffers and other attributes afterwards."""
    parts = list({id(part): part for module in modules for part in module.modules()}.values())
    before = [{k: dict(v) if k in ("_parameters", "_buffers") else v for k, v in vars(part).items()} for part in parts]
    try:
        yield
    finally:
        for part, attributes in zip(parts, before, strict=True):
            vars(part).clear()
            vars(part).update(attributes)


# --- CUDA's rules -----------------------------------------------------------------------------------------------------

_ANY_DEVICE = {"aten::copy_", "aten::_to_copy", "aten::fill_", "aten::fill", "aten::_pack_padded_sequence"}
_INDEXING = {"aten::index", "aten::_unsafe_index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
# For these only the last argument may be on the CPU, and only as one number.
_ONE_NUMBER = {"aten::masked_fill", "aten::masked_fill_", "aten::index_fill", "aten::index_fill_"}


class _Rules(internals.TorchDispatchMode):
    """Applies CUDA's rules to every operation, also to those that make new tensors."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # see tensor_calls._Operations

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if internals.has_kernel(func.name(), "CompositeImplicitAutograd"):
            with self:  # a composite operation; each part has its own rule
                result = func.decompose(*args, **(kwargs or {}))
            if result is not NotImplemented:
                return result
        return _computed(func, args, kwargs or {})


def _computed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    there = any(isinstance(tensor, FakeCuda) for tensor in tensors)
    if there and not all(isinstance(tensor, FakeCuda) for tensor in tensors):
        _may_mix(func, args, kwargs, tensors)
    named = kwargs["device"] if "device" in kwargs else next((a for a in args if isinstance(a, torch.device)), None)
    if named is not None:
        there = named.type == "meta"
    elif tensors and schema(func).name in _ANY_DEVICE | _INDEXING:
        there = isinstance(args[0], FakeCuda)  # the device of the first argument
    result = func(*tree_map(_on_the_cpu, args), **tree_map(_on_the_cpu, kwargs))
    if schema(func).is_mutable:
        return _mutated(func, args, kwargs, result)
    if not there:
        return result
    return tree_map(lambda leaf: FakeCuda(leaf) if isinstance(leaf, torch.Tensor) else leaf, result)


def _on_the_cpu(leaf: Any) -> Any:
    if isinstance(leaf, FakeCuda):
        return leaf.numbers
    return torch.device("cpu") if isinstance(leaf, torch.device) else leaf


def _mutated(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Return the tensors that a writing operation wrote to, as it returns them, instead of new ones."""
    parameters = schema(func).arguments
    given = {parameter.name: kwargs.get(parameter.name) for parameter in parameters}
    given |= {parameter.name: arg for parameter, arg in zip(parameters, args, strict=False)}
    written = [given[p.name] for p in parameters if p.alias_info is not None and p.alias_info.is_write]
    for leaf in tree_leaves(written):
        if isinstance(leaf, FakeCuda) and leaf.shape != leaf.numbers.shape:
            _Tensor.data.__set__(leaf, FakeCuda(leaf.numbers))  # its shape was changed in place
    if not isinstance(result, torch.Tensor):
        return None if result is None else type(result)(written)
    return written[0]


def _may_mix(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[torch.Tensor]) -> None:
    """Raise `DeviceError` as CUDA does, unless a CPU tensor may meet a GPU tensor in this way."""
    name = schema(func).name
    if name in _ANY_DEVICE:
        return
    if name in _INDEXING:
        value = [args[2]] if len(args) > 2 else []
        same = all(isinstance(one, FakeCuda) == isinstance(args[0], FakeCuda) or one.dim() == 0 for one in value)
        if same and (isinstance(args[0], FakeCuda) or not any(isinstance(t, FakeCuda) for t in tree_leaves(args[1]))):
            return
    here = [tensor for tensor in tensors if not isinstance(tensor, FakeCuda)]
    numbers_only = all(tensor.dim() == 0 for tensor in here)
    if name in _ONE_NUMBER:
        if numbers_only and all(tensor is args[-1] for tensor in here):
            return
    elif torch.Tag.pointwise in func.tags and numbers_only:
        written = [args[0]] if name.endswith("_") else [kwargs.get("out")]
        if (len(here) == 1 or name == "aten::where") and all(tensor is not here[0] for tensor in written):
            return
    raise DeviceError(MIXED)


# --- the device's name in Python --------------------------------------------------------------------------------------


class _CudaNames(TorchFunctionMode):
    """Names the other device `cuda:0` in Python. It checks generators when passed: C++ passes on other objects."""

    def __init__(self, generators: list[torch.Generator]) -> None:
        super().__init__()
        self.generators = generators

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            return self._called(func, args, kwargs)
        except (DeviceError, SimulationLimit):
            raise
        except Exception as error:
            if _works_on_the_cpu(func, args, kwargs):
                raise SimulationLimit(str(error)) from error
            raise

    def _called(self, func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        own = _OWN.get(func)
        wrapped = own is _new_tensor and args[0].is_meta  # by torch.vmap, which hides the tensor's own type
        if own is not None and (wrapped or isinstance(args[0], FakeCuda)):
            return own(*args, **kwargs)
        if func is torch.Tensor.cuda:
            return args[0].to(_META)
        args = tuple(map(_as_meta, args))
        kwargs = {name: _as_meta(value) for name, value in kwargs.items()}
        result = _from_data(func, args, kwargs) if func in _FROM_DATA else func(*args, **kwargs)
        generator = kwargs.get("generator")
        known = generator is None or any(generator is one for one in self.generators)
        if isinstance(result, FakeCuda) and not known:
            raise DeviceError(GENERATOR)
        return result


def _works_on_the_cpu(func: Callable[..., Any], args: Any, kwargs: Any) -> bool:
    """Return whether a call that failed works with the same numbers on the CPU: then the simulation is at fault."""

    def copied(leaf: Any) -> Any:
        if isinstance(leaf, str) and leaf.startswith("torch.meta."):  # the name of a type of tensor
            return leaf.replace("torch.meta.", "torch.")
        return leaf.numbers.clone() if isinstance(leaf, FakeCuda) else _on_the_cpu(_as_meta(leaf))

    try:
        func(*tree_map(copied, args), **tree_map(copied, kwargs))
    except Exception:
        return False
    return True


def _from_data(func: Callable[..., torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
    """Call `torch.tensor` or its like: they read numbers from lists, and would put none on the meta device."""
    if args and not isinstance(args[0], torch.Tensor):
        args = (tree_map(_numbers, args[0]), *args[1:])
    device = kwargs.get("device")
    if device == "meta" or device == _META:
        return func(*args, **(kwargs | {"device": "cpu"})).to(_META)
    return func(*args, **kwargs)


def _new_tensor(tensor: FakeCuda, data: Any, **kwargs: Any) -> torch.Tensor:
    return _from_data(torch.tensor, (data,), {"dtype": tensor.dtype, "device": _META} | kwargs)


def _copied(tensor: FakeCuda, _memo: dict[str, Any]) -> torch.Tensor:
    copy = FakeCuda(tensor.numbers.clone()).requires_grad_(tensor.requires_grad)
    return nn.Parameter(copy, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else copy


def _index(index: Any) -> Any:
    """Return an index with its lists as tensors on the CPU: C++ would put them on the meta device, without numbers."""
    parts = (tuple, list, range, slice, torch.Tensor, type(None), type(...))
    if isinstance(index, (list, range)) and any(isinstance(part, parts) for part in index):
        index = tuple(index)
    return tuple(map(_positions, index)) if isinstance(index, tuple) else _positions(index)


def _positions(part: Any) -> Any:
    if not isinstance(part, (tuple, list, range)):
        return part
    tensor = torch.tensor(part)
    return tensor if tensor.dtype == torch.bool else tensor.long()  # an empty list gives floats


def _as_meta(value: Any) -> Any:
    named = isinstance(value, str) and value.split(":")[0] == "cuda"
    return _META if named or (isinstance(value, torch.device) and value.type == "cuda") else value


def _set_data(tensor: FakeCuda, value: torch.Tensor) -> None:
    _Tensor.data.__set__(tensor, value)
    if isinstance(value, FakeCuda):
        tensor.numbers = value.numbers


def _only_on_the_cpu(*_args: Any, **_kwargs: Any) -> Any:
    raise DeviceError("it is only implemented on CPU tensors")


def _to_numpy(*_args: Any, **_kwargs: Any) -> Any:
    raise NumpyError(NO_NUMPY)


_FROM_DATA = {torch.tensor, torch.as_tensor, torch.asarray}
_Tensor: Any = torch.Tensor  # attributes typed as values are descriptors on the class
_OWN: dict[Any, Callable[..., Any]] = {
    _Tensor.device.__get__: lambda tensor, *_: _NAME,
    _Tensor.is_cuda.__get__: lambda tensor, *_: True,
    _Tensor.is_meta.__get__: lambda tensor, *_: False,
    torch.Tensor.get_device: lambda tensor: 0,
    torch.Tensor.numpy: _to_numpy,
    torch.Tensor.__array__: _to_numpy,
    torch.Tensor.tolist: lambda tensor: tensor.numbers.tolist(),
    torch.Tensor.__repr__: lambda tensor, **_: repr(tensor.numbers),
    torch.Tensor.__format__: lambda tensor, how: format(tensor.numbers, how),
    torch.Tensor.__deepcopy__: _copied,
    torch.Tensor.__getitem__: lambda tensor, index: tensor[_index(index)],
    torch.Tensor.__setitem__: lambda tensor, index, value: tensor.__setitem__(_index(index), value),
    torch.Tensor.new_tensor: _new_tensor,
    _Tensor.data.__set__: _set_data,
    torch.Tensor.apply_: _only_on_the_cpu,
    torch.Tensor.map_: _only_on_the_cpu,
}
