"""Resolve the names of PyTorch that it keeps private: no other module uses any.

Where one is missing, the first use of this module raises `UnsupportedTorch`, and nothing is marked: a check that needs
it must not be skipped. PyTorch is not imported before.
"""

from __future__ import annotations

import pkgutil
import sys
from typing import Any

NAMES = {
    # tensors of a class of our own, and what runs on them
    "TorchDispatchMode": "torch.utils._python_dispatch:TorchDispatchMode",
    "SchemaCheckMode": "torch._subclasses.schema_check_mode:SchemaCheckMode",  # PyTorch imports it with the first mode
    "disabled_torch_function": "torch:_C._disabled_torch_function_impl",
    "make_wrapper_subclass": "torch:Tensor._make_wrapper_subclass",
    "has_kernel": "torch:_C._dispatch_has_kernel_for_dispatch_key",
    "in_place_schema": "torch:ops.aten.add_.Tensor._schema",  # an example of what `schema` returns
    "device_constructors": "torch.utils._device:_device_constructors",
    "tree_leaves": "torch.utils._pytree:tree_leaves",
    "tree_map": "torch.utils._pytree:tree_map",
}
COMPILER = "torch._dynamo.eval_frame"


class UnsupportedTorch(RuntimeError):
    """The installed PyTorch lacks names that marking needs; the message lists them. No ImportError, which is caught."""


def __getattr__(name: str) -> Any:
    """Return what has a name in NAMES. The first call resolves all of them."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals().update(_resolved())
    return globals()[name]


def _resolved() -> dict[str, Any]:
    import torch

    found, missing = {}, []
    for name, path in NAMES.items():
        try:
            found[name] = pkgutil.resolve_name(path)
        except (ImportError, AttributeError):
            missing.append(path.replace(":", "."))
    if missing:
        raise UnsupportedTorch(
            f"torch {torch.__version__} has no {', '.join(missing)}, which marking needs: install one that has it."
        )
    return found


def schema(operation: Any) -> Any:
    """Return the schema of an operation (an `OpOverload`): its name, arguments, and which of them it writes to."""
    return operation._schema


def compiler_is_loaded() -> bool:
    """Return True if something may have been compiled by `torch.compile`."""
    return COMPILER in sys.modules
