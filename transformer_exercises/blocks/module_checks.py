"""Make checks of modules with known weights: norms, feed-forward networks and blocks."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import starmap
from operator import itemgetter
from typing import Any

import torch

from autograder.spec import (
    CheckFunction,
    KnownModule,
    ParameterMap,
    Reply,
    Student,
    Weights,
    Wrong,
    close,
    device_is_kept,
    generator_unchanged,
    no_other_parameters,
    normal,
    other_sizes,
    outline,
    same_tensor,
    shape_of,
    some_mask,
    unchanged,
)


class Layer(KnownModule):
    """A module that draws no random numbers in evaluation mode."""

    def gives(self, *given: Any, **options: Any) -> Reply:
        answer = super().gives(*given, **options)
        if not options.get("training", True):
            generator_unchanged(answer)
        return answer

    def output(self, *given: torch.Tensor, where: str = "", **options: Any) -> torch.Tensor:
        """Return the output, whatever its values, if it has x's shape and dtype."""
        got, x = self.student.call(self.module, [*given], {}, self.describe(where), **options)["value"], given[0]
        if shape_of(got) != x.shape or got.dtype != x.dtype:
            same_tensor(got, x, self.what, self.describe(where))
        return got


Build = Callable[..., Layer]  # of the student, the arguments of `__init__`, and a dtype
Cases = Iterator[tuple[Any, ...]]  # (arguments of `__init__`, x, where) or (…, options of `gives`)


def gives(built: Build) -> Callable[[Callable[[], Cases]], CheckFunction]:
    """Make a check of a generator of cases: a module made with these arguments gives what its formula gives."""

    def check(cases: Callable[[], Cases]) -> CheckFunction:
        @functools.wraps(cases)
        def check(student: Student) -> None:
            for args, x, where, *options in cases():
                with student.case():
                    layer = built(student, **args) if isinstance(args, dict) else built(student, *args)
                    layer.gives(x, where=where, **(options[0] if options else {}))

        return check

    return check


def gradients(built: Build, *sizes: int, rough: str = "") -> CheckFunction:
    """Make a check of modules with these further sizes; `rough` is meant for float32 only."""

    def check(student: Student) -> None:
        for shape, dtype in (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64)):
            with student.case():
                layer, x = built(student, shape[-1], *sizes, dtype=dtype), normal(*shape, dtype=dtype)
                layer.has_gradients(x, where=f"for x of shape {shape}", rough=rough if dtype == torch.float32 else "")

    return check


def side_effects(
    built: Build, *sizes: int, by_name: bool = False, masked: bool = False, drops: bool = False
) -> CheckFunction:
    """Make a check of a module of width 6, or 4, and further sizes; `by_name`: it takes x by name, too.

    With `drops` the module has dropout of its own, which may draw in training, in vain.
    """

    def check(student: Student) -> None:
        layer, other, mask = built(student, 6, *sizes), built(student, 6, *sizes), [some_mask(2, 1, 5, 5)] * masked
        given = [normal(2, 5, 6), *mask]
        for some, training, where in (
            (given, True, "in training mode"),
            (given, False, "in evaluation mode"),
            (given[:1], True, "in a second call"),
        ):
            with student.case():
                answer = layer.gives(*some, where=where, training=training)
                unchanged(answer["inputs"], some, "x or mask" if masked else "x")
                if not drops:
                    generator_unchanged(answer)
        with student.case():
            other.gives(*given, where="of a second module")
            layer.is_kept()
        with student.case():
            wide = built(student, 4, *sizes, dtype=torch.float64)
            wide.gives(normal(2, 5, 4, dtype=torch.float64), *mask, where="in float64")
        for turned in (normal(5, 2, 6).transpose(0, 1), (normal(2, 6, 5) if masked else normal(6, 4)).mT):
            with student.case():
                layer.gives(turned, *mask, where="for a tensor that is not contiguous")
        with student.case():
            where = "for slices of tensors" + by_name * ", given by name"
            layer.gives(*given, where=where, positional=0 if by_name else 1, slices=True)
        for some in (given, given[:1]) if masked else (given,):
            with student.case():
                device_is_kept(student, layer.module, some)

    return check


# Norms

NORMED = (  # up to four batch dimensions and none, equal sizes, 1 and 2 numbers, single tokens, as in real use
    *((2, 5, 6), (3, 4), (7,), (2, 3, 4, 5), (4, 4), (3, 3, 3), (2, 4, 2), (5, 1), (2, 1, 8), (1, 6), (2, 3, 300)),
    *((16, 2, 768), (1, 1024, 4), (2, 1, 3, 2, 5)),
)

NORMS = "(layer|rms|group|instance|batch)norm"  # which both exercises ban


@dataclass
class Norm:
    """A norm with these parameters, each with the number at which it starts; `function` is PyTorch's."""

    name: str
    parts: dict[str, float]
    function: Callable[..., torch.Tensor]
    eps: float  # its default

    def __call__(self, student: Student, *args: Any, dtype: torch.dtype = torch.float32, **kwargs: Any) -> Layer:
        given = dict(zip(("dim", "eps"), args, strict=False)) | kwargs
        weights = {part: normal(given["dim"], dtype=dtype) for part in self.parts}
        parameter_map: ParameterMap = {part: itemgetter(part) for part in self.parts}

        def formula(weights: Weights, x: torch.Tensor) -> torch.Tensor:
            return self.function(x, x.shape[-1:], *weights.values(), given.get("eps", self.eps))

        return Layer(student, (self.name, args, kwargs), weights, formula, lambda _: parameter_map, dtype=dtype)

    def starts(self, student: Student) -> None:
        for dim in other_sizes(6, 1, 9):
            with student.case():
                state = student.state(student.build(self.name, dim))
                for part, start in self.parts.items():
                    found = state["parameters"].get(part)
                    if shape_of(found) != (dim,):
                        made = f"`self.{part} = nn.Parameter(…)`"
                        raise Wrong(f"{self.name}({dim}) should have a parameter `{part}` of shape ({dim},): {made}.")
                    if part not in state["trainable"]:
                        raise Wrong(f"`{part}` is frozen (requires_grad=False), so it cannot be learned.")
                    if not found.is_floating_point() or not torch.all(found == start):
                        message = f"`{part}` should start at {start:.0f}, so that a fresh layer only normalises."
                        raise Wrong(message, "other_start")
                no_other_parameters(state["parameters"], self.parts)

    def equals(self, *more: tuple[torch.Tensor, str]) -> CheckFunction:
        @gives(self)
        def check() -> Cases:
            for shape in NORMED:
                yield [shape[-1]], normal(*shape) * 3 + 2, f"for x of shape {shape}"
            for x, where in more:
                yield [x.shape[-1]], x, where

        return check

    def uses_eps(self, scale: float, what: str) -> CheckFunction:
        """Make a check: rows whose variance is about eps or far below tell where eps stands, and if it is used."""

        @gives(self)
        def check() -> Cases:
            yield [6], normal(4, 6, scale=scale), f"for rows whose {what} is about eps"
            yield [6], normal(4, 6, scale=1e-5), f"for rows whose {what} is far below eps"
            for eps, size in ((0.1, 0.3), (1e-3, 0.03), (1e-12, 1e-5)):
                yield [6, eps], normal(4, 6, scale=size), f"with eps = {eps:g}"
            yield {"dim": 6, "eps": 0.5}, normal(4, 6), "with dim and eps given by name"

        return check


def found(
    student: Student, module: Any, find: Callable[..., ParameterMap], C: int, F_: int, depth: int = 0
) -> list[Any]:
    """Return the weights that `find` finds in a module, which are all it has; each can be trained."""
    outline(student, module, depth)
    state = student.state(module, record=False)
    parameter_map = find(state["parameters"], C, F_)
    no_other_parameters(state["parameters"], parameter_map)
    if frozen := sorted(set(parameter_map) - set(state["trainable"])):
        raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
    return [state["parameters"][name] for name in parameter_map if name.endswith("weight")]


# Feed-forward networks

FED = (  # shapes of x and hidden widths: up to four batch dimensions and none, single tokens, as in real use
    *(((2, 5, 6), 9), ((3, 4), 7), ((5,), 2), ((2, 3, 4, 3), 8), ((1, 1, 4), 16), ((3, 3, 3), 1), ((2, 40, 2), 5)),
    *(((2, 1, 3, 2, 4), 6), ((1, 1024, 4), 16), ((16, 2, 520), 64)),
)


def fed(built: Build, *more: tuple[tuple[int, ...], int]) -> CheckFunction:
    """Make a check of a feed-forward network's output for many shapes."""

    @gives(built)
    def check() -> Cases:
        for shape, F_ in (*FED, *more):
            yield [shape[-1], F_], normal(*shape), f"for x of shape {shape} and ff_dim = {F_}"

    return check


def linear_layers(parameters: dict, C: int, F_: int, prefix: str = "") -> ParameterMap:
    """Find the two linear layers in a student's module by the shapes of their weights: their names are free."""
    parameter_map: ParameterMap = {}
    for role, (n, m) in (("linear1", (F_, C)), ("linear2", (C, F_))):
        fit = [str(name) for name, value in parameters.items() if shape_of(value) == (n, m)]
        part = next((name[:-6] for name in fit if name.startswith(prefix) and name.endswith("weight")), None)
        if shape_of(parameters.get(f"{part}bias")) != (n,):
            layer = f"nn.Linear({m}, {n}), with its bias"
            raise Wrong(
                f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}; none is found.",
                "parts_not_found",
            )
        parameter_map |= {f"{part}{kind}": itemgetter(f"{role}.{kind}") for kind in ("weight", "bias")}
    return parameter_map


def layers(name: str, find: Callable[..., ParameterMap], **options: Any) -> CheckFunction:
    """Make a check of a feed-forward network's parameters; `find` gets these and the two widths."""

    def check(student: Student) -> None:
        for C, F_ in starmap(other_sizes, ((6, 9), (5, 2), (4, 16))):
            with student.case():
                weights = found(student, student.build(name, C, F_), find, C, F_)
                if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
                    raise Wrong("A layer starts with all its weights alike: every hidden feature would learn the same.")
                if torch.equal(weights[0], weights[1]):
                    raise Wrong("Two layers start with the same weights: each has its own.")
        with student.case():
            named = student.build(name, embed_dim=3, ff_dim=4, **options)
            find(student.state(named, record=False)["parameters"], 3, 4)

    return check


def positions(built: Build) -> CheckFunction:
    """Make a check that changing one position moves no other output."""

    def check(student: Student) -> None:
        layer, x = built(student, 4, 7), normal(3, 6, 4)
        before = layer.gives(x)["value"]
        changed = x.clone()
        changed[1, 3] = normal(4)
        others = (changed == x).all(-1)
        if not close(layer.output(changed)[others], before[others]):
            raise Wrong("Changing one position moves outputs elsewhere: each goes through the layers on its own.")
        layer.gives(x[:, 2:3], where="for a single position")

    return check
