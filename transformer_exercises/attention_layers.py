"""What the checks of attention layers share: those of notebook 05, and of 07, with several heads."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from autograder.spec import (
    Reply,
    Student,
    Wrong,
    a_pair,
    a_tensor,
    gradients_of,
    normal,
    same_gradients,
    same_output,
    same_tensor,
)

State = dict[str, torch.Tensor]  # a layer's weights by name
Maybe = torch.Tensor | None


def same_pair(got: Any, expected: tuple, where: str = "") -> None:
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


def weights_for(names: Sequence[str], out: int, width: int, scale: float, dtype: torch.dtype = torch.float32) -> State:
    sizes = (("weight", (out, width), scale), ("bias", (out,), 1.0))
    return {f"{name}.{part}": normal(*size, scale=by, dtype=dtype) for name in names for part, size, by in sizes}


class Layer:
    """A layer of the student's that holds weights the judge knows, and what it should give with them.

    `expected` is asked for that with the weights, x, mask and, if there is one, context.
    """

    def __init__(
        self, student: Student, cls: str, sizes: tuple[int, int], state: State, expected: Callable[..., Any]
    ) -> None:
        self.student, self.state, self.expected = student, state, expected
        self.module = student.build(cls, *sizes)
        if any(value.dtype == torch.float64 for value in state.values()):
            student.move(self.module, "float64")
        student.load(self.module, state)

    def gives(
        self,
        x: torch.Tensor,
        where: str = "",
        mask: Maybe = None,
        context: Maybe = None,
        place: int = 1,
        **options: Any,
    ) -> Reply:
        """Compare the result of a call, whose first arguments (`place` of them) are given by position."""
        given = {"x": x, "mask": mask, "context": context}
        by_name = {name: value for name, value in list(given.items())[place:] if value is not None}
        answer = self.student.call(self.module, list(given.values())[:place], by_name, where=where, **options)
        expected = self.expected(self.state, x, mask, *([] if context is None else [context]))
        same = same_pair if isinstance(expected, tuple) else same_output
        same(answer["value"], expected, where)
        return answer

    def gradients_agree(self, x: torch.Tensor, where: str = "", mask: Maybe = None, context: Maybe = None) -> None:
        """Compare the gradients of x, the context and every parameter."""
        names, tokens = list(self.state), [x] if context is None else [x, context]

        def expected(*leaves: torch.Tensor) -> Any:
            values = dict(zip(names, leaves[len(tokens) :], strict=True))
            return self.expected(values, leaves[0], mask, *leaves[1 : len(tokens)])

        want, upstream = gradients_of(expected, [*tokens, *self.state.values()])
        self.gives(x, where, mask, context)
        found = self.gives(x, where, mask, context, upstream=upstream)["gradients"]
        mine = [found.get("parameters", {}).get(name) for name in names]
        same_gradients(found.get("inputs", []), want[: len(tokens)], ["x", "context"], where)
        same_gradients(mine, want[len(tokens) :], [f"`{name}`" for name in names], where)


def has_layers(
    student: Student, cls: str, sizes: tuple[int, ...], names: Sequence[str], shape: tuple[int, int], layer: str
) -> None:
    """Raise `Wrong` unless a module has these layers, of this shape (out, in), and no other parameters."""
    built, state = f"{cls}({', '.join(map(str, sizes))})", student.state(student.build(cls, *sizes))
    parameters = state["parameters"]
    wanted = {f"{name}.{part}": size for name in names for part, size in (("weight", shape), ("bias", shape[:1]))}
    for name, size in wanted.items():
        found = parameters.get(name)
        if not isinstance(found, torch.Tensor):
            make = f"`self.{name.split('.')[0]} = {layer}`"
            raise Wrong(f"{built} has no parameter `{name}`: make {make} in `__init__` (with its bias).")
        if found.shape != size:
            raise Wrong(f"`{name}` of {built} should have shape {size}, yours has {tuple(found.shape)}: {layer}.")
        if name not in state["trainable"]:
            raise Wrong(f"`{name}` is frozen (requires_grad=False), so it cannot be trained.")
    if extra := sorted(set(parameters) - set(wanted)):
        raise Wrong(f"There are parameters that do not belong here: {', '.join(map(str, extra))[:120]}.")


def built_by_name(student: Student, cls: str, sizes: dict[str, int], shape: tuple[int, int]) -> None:
    """Raise `Wrong` unless the sizes can be given by name; `shape` is that of q_proj's weight."""
    weight = student.state(student.build(cls, **sizes))["parameters"].get("q_proj.weight")
    if not isinstance(weight, torch.Tensor) or weight.shape != shape:
        by_name = ", ".join(f"{name}={size}" for name, size in sizes.items())
        raise Wrong(f"{cls}({by_name}) should build the same as {cls}({', '.join(map(str, sizes.values()))}).")


def starts_as_linear(student: Student, cls: str, sizes: tuple[int, int], names: Sequence[str]) -> None:
    """Raise `Wrong` unless layers start as nn.Linear does: uniform up to 1/√width, each number drawn by itself.

    A standard deviation of 2,048 such draws is known to 1 %: a right layer fails one time in 10^12.
    """
    parameters = student.state(student.build(cls, *sizes))["parameters"]
    weights = [parameters.get(f"{name}.weight") for name in names]
    if not all(isinstance(weight, torch.Tensor) for weight in weights):
        raise Wrong(f"The layers {', '.join(names[:-1])} and {names[-1]} are not all there.")
    if any(weight.device.type != "cpu" for weight in weights):
        raise Wrong("The weights of a layer hold no numbers: it is made on another device than `nn.Linear` takes.")
    if any(not weight.isfinite().all() or weight.std() < 1e-4 for weight in weights):
        raise Wrong("A layer starts with all its weights alike: every feature would learn the same.")
    if any(torch.equal(weights[i], weights[j]) for i in range(len(names)) for j in range(i)):
        raise Wrong(f"Two layers start with the same weights: use {len(names)} separate nn.Linear layers.")
    bound = sizes[0] ** -0.5
    spreads = [bool(abs(weight.double().std().item() * 3**0.5 / bound - 1) < 0.08) for weight in weights]
    biases = [bias for name in names if isinstance(bias := parameters.get(f"{name}.bias"), torch.Tensor)]
    numbers = [*weights, *biases]  # where a bias is missing, another check says so
    ranges = [bool(n.abs().max() <= 1.001 * bound and n.double().std() > bound / 10) for n in numbers]
    student.note([*spreads, *ranges])
    if not all([*spreads, *ranges]):
        raise Wrong("A layer does not start as nn.Linear starts by itself: leave its initialisation alone.")
