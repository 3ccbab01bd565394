"""What the checks of this notebook share."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import shape_of
from autograder.spec.exercise import Wrong
from autograder.spec.inputs import normal

OUTPUT = "The output"

# What the checks call them; in a student's class they may have any names.
LAYERS = ("up.weight", "up.bias", "down.weight", "down.bias")


def layer_names(parameters: dict, C: int, F_: int, prefix: str = "") -> dict[str, str]:
    """The names of the two linear layers in a student's module, found by the shapes of their weights."""
    found = {}
    for role, shape in (("up", (F_, C)), ("down", (C, F_))):
        for name, value in parameters.items():
            if str(name).startswith(prefix) and str(name).endswith("weight") and shape_of(value) == shape:
                found[f"{role}.weight"], found[f"{role}.bias"] = name, name.removesuffix("weight") + "bias"
                break
        else:
            layer = f"nn.Linear({shape[1]}, {shape[0]})"
            raise Wrong(f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}; none is found.")
        if shape_of(parameters.get(found[f"{role}.bias"])) != shape[:1]:
            raise Wrong(
                f"The layer from {shape[1]} to {shape[0]} features has no bias: nn.Linear with its default bias is "
                "asked for."
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
