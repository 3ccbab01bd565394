"""What the checks of attention layers share: those of notebook 05, of 07, with several heads, and of blocks of them."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import torch

from autograder.spec import ParameterMap, Student, Weights, Wrong, a_pair, a_tensor, normal, same_tensor, shape_of

Maybe = torch.Tensor | None


def same_pair(got: Any, expected: tuple, _: str, where: str) -> None:
    output, weights = a_pair(got, "(output, weights)")
    want_output, want_weights = expected
    weights = a_tensor(weights, "The second result (the weights)")
    output = a_tensor(output, "The first result (the output)")
    if output.shape == want_weights.shape != want_output.shape and weights.shape == want_output.shape:
        raise Wrong("The two results are the wrong way round: return (output, weights), in this order.")
    same_tensor(weights, want_weights, "The weights", where)
    same_tensor(output, want_output, "The output", where)


def striped_mask(T: int, S: int) -> torch.Tensor:
    mask = (torch.arange(T)[:, None] * 2 + torch.arange(S) * 3) % 4 == 1
    mask[:, 0] &= mask.all(-1).logical_not()
    return mask


def blocked_is_zero(got: Any, mask: torch.Tensor, where: str) -> None:
    weights = a_tensor(a_pair(got, "(output, weights)")[1], "The second result (the weights)")
    if weights.shape[-2:] == mask.shape and not weights.isnan().any() and weights[..., mask].abs().max() != 0:
        raise Wrong(f"A blocked key must get a weight of exactly 0; yours gets more {where}. Fill with −inf.")


def weights_for(
    names: Sequence[str], out: int, width: int, scale: float, dtype: torch.dtype = torch.float32
) -> Weights:
    sizes = (("weight", (out, width), scale), ("bias", (out,), 1.0))
    return {f"{name}.{part}": normal(*size, scale=by, dtype=dtype) for name in names for part, size, by in sizes}


def built_by_name(student: Student, cls: str, sizes: dict[str, int], shape: tuple[int, int]) -> None:
    """Raise `Wrong` unless the sizes can be given by name; `shape` is that of q_proj's weight."""
    weight = student.state(student.build(cls, **sizes))["parameters"].get("q_proj.weight")
    student.note(shape_of(weight))
    if not isinstance(weight, torch.Tensor) or weight.shape != shape:
        by_name = ", ".join(f"{name}={size}" for name, size in sizes.items())
        raise Wrong(f"{cls}({by_name}) should build the same as {cls}({', '.join(map(str, sizes.values()))}).")


def norms(parameters: dict[str, Any], names: Sequence[str], C: int) -> ParameterMap:
    """Find the weight and the bias of each norm, whatever its class calls them: the one made first is the weight."""
    parameter_map: ParameterMap = {}
    for norm in names:
        inside = [name for name in parameters if str(name).rpartition(".")[0] == norm]
        if [shape_of(parameters[name]) for name in inside] != [(C,), (C,)]:
            message = f"The block has no `{norm}` with weight and bias ({C},): self.{norm} = nn.LayerNorm(embed_dim)."
            raise Wrong(message, "parts_not_found")
        for name, part in zip(sorted(inside, key=lambda one: one.endswith("bias")), ("weight", "bias"), strict=True):
            parameter_map[name] = itemgetter(f"{norm}.{part}")
    return parameter_map
