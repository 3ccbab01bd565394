"""What the checks of this notebook share."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.asked.declare import Wrong
from autograder.asked.inputs import normal

OUTLINE = """
def outline(module, depth):
    if not isinstance(module, nn.Module):
        raise TypeError("not a module")
    return sorted(
        [".".join(name.split(".")[:depth]), list(p.shape), p.requires_grad, bool((p == p.flatten()[:1]).all())]
        for name, p in module.named_parameters()
    )
"""


def _outline(student: Any, module: Any, depth: int) -> None:
    """Put on record what parameters there are, without the names below `depth`, so that mistakes are known whatever the names."""
    student.value(student.probe("outline", OUTLINE), module, depth)


def _state(student: Any, module: Any) -> dict:
    """A module's state, off the record: names that may be chosen freely must not hide a mistake."""
    return student._request("", record=False, do="state", target=module)


def parameters_unchanged(student: Any, module: Any, state: dict[str, torch.Tensor]) -> None:
    after = _state(student, module)["parameters"]
    if any(name in after and not torch.equal(after[name], state[name]) for name in state):
        raise Wrong("A call changes the module's parameters: only training may do that.")


def _shape(tensor: Any) -> tuple:
    return tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else ()


OUTPUT = "The output"


LAYERS = (
    "up.weight",
    "up.bias",
    "down.weight",
    "down.bias",
)  # what the checks call them: in your class they may have any names


def layer_names(parameters: dict, C: int, F_: int, prefix: str = "") -> dict[str, str]:
    """The names that the two linear layers have in a student's module, found by the shapes of their weights (C and F_ differ)."""
    found = {}
    for role, shape in (("up", (F_, C)), ("down", (C, F_))):
        for name, value in parameters.items():
            if str(name).startswith(prefix) and str(name).endswith("weight") and _shape(value) == shape:
                found[f"{role}.weight"], found[f"{role}.bias"] = name, name.removesuffix("weight") + "bias"
                break
        else:
            layer = f"nn.Linear({shape[1]}, {shape[0]})"
            raise Wrong(f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}; none is found.")
        if _shape(parameters.get(found[f"{role}.bias"])) != shape[:1]:
            raise Wrong(
                f"The layer from {shape[1]} to {shape[0]} features has no bias: nn.Linear with its default bias is asked for."
            )
    return found


def layer_weights(C: int, F_: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    shapes = ((F_, C), (F_,), (C, F_), (C,))
    return {name: normal(*shape, dtype=dtype) for name, shape in zip(LAYERS, shapes, strict=True)}


def fed(state: dict[str, torch.Tensor], x: torch.Tensor, activation: Any = F.relu) -> torch.Tensor:
    hidden = activation(F.linear(x, state["up.weight"], state["up.bias"]))
    return F.linear(hidden, state["down.weight"], state["down.bias"])


def begin(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
