"""Load a student's `nn.Module` with known weights, and compare it with a formula of these."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import torch

from .compare import same_gradients, same_tensor, shape_of
from .exercise import Wrong
from .inputs import gradients_of, is_real, outline, parameters_unchanged, sliced
from .student import Reply, Student

Weights = dict[str, Any]  # values or gradients, by the names that a formula uses
ParameterMap = dict[str, Callable[[Weights], Any]]  # by a student's names: how each parameter is made of the weights


@dataclass
class KnownModule:
    """A module of the student's that holds known weights, and the formula of what it gives with them."""

    student: Student
    call: tuple[str, Sequence[Any], dict[str, Any]]  # which builds it: the class, arguments by position and by name
    weights: Any  # a dictionary, or a function that draws one once the module is built
    formula: Callable[..., Any]  # of the weights and the arguments of `forward`
    find: Callable[[dict[str, Any]], ParameterMap] | None = None  # in the module's parameters; else by the same names
    dtype: torch.dtype = torch.float32
    arguments: Sequence[str] = ("x", "mask")  # of `forward`
    positional: int = 1  # how many of these are passed by position
    same: Callable[..., None] = same_tensor
    what: str = "The output"  # what sentences call the result
    message: str = ""  # which module it is, for sentences
    depth: int = 0  # of the names that are recorded if `find` raises `Wrong`

    def __post_init__(self) -> None:
        then: list[tuple[str, Any]] = [("move", "float64")] if self.dtype == torch.float64 else []
        if self.find is None:
            self.weights = self.weights() if callable(self.weights) else self.weights
            self.parameter_map: ParameterMap = {name: itemgetter(name) for name in self.weights}
            self.module = self.student.built(*self.call, then=[*then, ("load", self.weights)])
            return
        self.module = self.student.built(*self.call, then=then)
        try:
            self.parameter_map = self.find(self.student.state(self.module, record=False)["parameters"])
        except Wrong:
            outline(self.student, self.module, self.depth)
            raise
        self.weights = self.weights() if callable(self.weights) else self.weights
        self.load(self.weights)

    def load(self, weights: Weights) -> None:
        self.student.load(self.module, self.placed(weights))

    def placed(self, weights: Weights) -> Weights:
        """Return the weights, or their gradients, under the names of the student's parameters."""
        return {name: make(weights) for name, make in self.parameter_map.items()}

    def is_kept(self) -> None:
        """Raise `Wrong` if a call has changed the weights."""
        parameters_unchanged(self.student, self.module, self.placed(self.weights), record=self.find is None)

    def describe(self, where: str) -> str:
        return f"{where} {self.message}".strip()

    def gives(
        self,
        *given: Any,
        where: str = "",
        positional: int | None = None,
        slices: bool = False,
        **options: Any,
    ) -> Reply:
        """Compare the result of a call; a named argument that is None is left out.

        With `slices` the module gets slices of larger tensors. `options` are those of `Student.call`.
        """
        where, n = self.describe(where), self.positional if positional is None else positional
        passed = [sliced(self.student, value) for value in given] if slices else list(given)
        named = list(zip(self.arguments, passed, strict=False))[n:]
        by_name = {name: value for name, value in named if value is not None}
        answer = self.student.call(self.module, passed[:n], by_name, where, **options)
        if answer["gradients"]:  # recorded whatever the names of the layers
            found = answer["gradients"].get("parameters", {})
            self.student.note_gradients(dict(enumerate(map(found.get, self.parameter_map))))
        self.same(answer["value"], self.formula(self.weights, *given), self.what, where)
        return answer

    def expected_gradients(self, *given: Any) -> tuple[list[Any], list[torch.Tensor]]:
        """Return the gradients of the floating-point arguments and of the weights, for random upstream tensors."""

        def right(*leaves: Any) -> Any:
            weights = dict(zip(self.weights, leaves[len(given) :], strict=True))
            return self.formula(weights, *leaves[: len(given)])

        return gradients_of(right, [*given, *self.weights.values()])

    def has_gradients(self, *given: Any, where: str = "", rough: str = "", values_first: bool = False) -> None:
        """Compare the result, and the gradients of the floating-point arguments and of every parameter.

        `rough` names what is compared roughly: inputs, weights. `values_first`: a call without gradients comes before.
        """
        expected, upstream = self.expected_gradients(*given)
        if values_first:
            self.gives(*given, where=where)
        found = self.gives(*given, where=where, upstream=upstream)["gradients"]
        inputs = [name for name, value in zip(self.arguments, given, strict=False) if is_real(value)]
        of_weights = self.placed(dict(zip(self.weights, expected[len(inputs) :], strict=True)))
        actual = [found.get("parameters", {}).get(name) for name in of_weights]
        where, names = self.describe(where), [f"`{name}`" for name in of_weights]
        same_gradients(found.get("inputs", []), expected[: len(inputs)], inputs, where, "inputs" in rough)
        same_gradients(actual, list(of_weights.values()), names, where, "weights" in rough)


def no_other_parameters(parameters: dict[str, Any], expected: Any) -> None:
    """Raise `Wrong` if a module has other parameters than those expected."""
    if extra := sorted(map(str, set(parameters) - set(expected))):
        raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")


def has_layers(
    student: Student, cls: str, sizes: tuple[int, ...], names: Sequence[str], shape: tuple[int, int], layer: str
) -> None:
    """Raise `Wrong` unless a module has these layers, of this shape (out, in), and no other parameters."""
    built, state = f"{cls}({', '.join(map(str, sizes))})", student.state(student.build(cls, *sizes))
    parameters = state["parameters"]
    wanted = {f"{name}.{part}": size for name in names for part, size in (("weight", shape), ("bias", shape[:1]))}
    # The names of other layers tell nothing, nor do the first numbers: these depend on the order of the layers
    known = {name: str(name) if name in wanted else "" for name in parameters}
    student.note(sorted([known[n], shape_of(value), n in state["trainable"]] for n, value in parameters.items()))
    for name, size in wanted.items():
        value = parameters.get(name)
        if not isinstance(value, torch.Tensor):
            make = f"`self.{name.split('.')[0]} = {layer}`"
            raise Wrong(f"{built} has no parameter `{name}`: make {make} in `__init__` (with its bias).")
        if value.shape != size:
            raise Wrong(f"`{name}` of {built} should have shape {size}, yours has {tuple(value.shape)}: {layer}.")
        if name not in state["trainable"]:
            raise Wrong(f"`{name}` is frozen (requires_grad=False), so it cannot be trained.")
    no_other_parameters(parameters, wanted)


def starts_as_linear(student: Student, cls: str, sizes: tuple[int, int], names: Sequence[str]) -> None:
    """Raise `Wrong` unless layers start as nn.Linear does: uniform up to 1/√width, each number drawn by itself.

    A standard deviation of 2,048 such draws is known to 1 %: a right layer fails one time in 10^12.
    """
    parameters = student.state(student.build(cls, *sizes))["parameters"]
    weights = [parameters.get(f"{name}.weight") for name in names]
    there = [isinstance(weight, torch.Tensor) for weight in weights]
    student.note(there)  # and no numbers: they depend on the order in which the layers are made
    if not all(there):
        raise Wrong(f"The layers {', '.join(names[:-1])} and {names[-1]} are not all there.", "parts_not_found")
    if any(weight.device.type != "cpu" for weight in weights):
        raise Wrong("The weights of a layer hold no numbers: it is made on another device than `nn.Linear` takes.")
    bound = sizes[0] ** -0.5
    spreads = [bool(abs(weight.double().std().item() * 3**0.5 / bound - 1) < 0.08) for weight in weights]
    biases = [bias for name in names if isinstance(bias := parameters.get(f"{name}.bias"), torch.Tensor)]
    numbers = [*weights, *biases]  # where a bias is missing, another check says so
    ranges = [bool(n.abs().max() <= 1.001 * bound and n.double().std() > bound / 10) for n in numbers]
    flat = [bool(not weight.isfinite().all() or weight.std() < 1e-4) for weight in weights]
    copied = any(torch.equal(weights[i], weights[j]) for i in range(len(names)) for j in range(i))
    student.note([*flat, copied, *spreads, *ranges])
    if any(flat):
        raise Wrong("A layer starts with all its weights alike: every feature would learn the same.")
    if copied:
        raise Wrong(f"Two layers start with the same weights: use {len(names)} separate nn.Linear layers.")
    if not all([*spreads, *ranges]):
        raise Wrong("A layer does not start as nn.Linear starts by itself: leave its initialisation alone.")
