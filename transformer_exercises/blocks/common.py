"""What the checks of this notebook share: modules with weights of ours, and what is asked of each of them."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import torch

from autograder.spec import inputs
from autograder.spec.compare import close, same_gradients, same_tensor, shape_of, unchanged
from autograder.spec.exercise import Asking, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal, parameters_unchanged, sliced
from autograder.spec.student import Answer, Student

OUTPUT = "The output"

Weights = dict[str, Any]  # values or gradients, under names of ours
Makers = dict[str, Callable[[Weights], Any]]  # by the names in a student's module: how each value is made of ours


class Layer:
    """A student's module with weights of ours, which `find` places: it gives `formula` of these, x and the mask."""

    def __init__(
        self,
        student: Student,
        call: tuple[str, Any, dict[str, Any]],
        find: Callable[[dict], Makers],
        weights: Weights,
        formula: Callable[..., torch.Tensor],
        depth: int = 0,
    ) -> None:
        name, args, kwargs = call
        self.student, self.weights, self.formula = student, weights, formula
        self.module = student.call(name, [*args], kwargs, "while building it", keep=True)["value"]
        if any(value.dtype == torch.float64 for value in weights.values()):
            student.move(self.module, "float64")
        try:
            self.makers = find(student.state(self.module, record=False)["parameters"])
        except Wrong:
            inputs.outline(student, self.module, depth)
            raise
        self.load(weights)

    def load(self, weights: Weights) -> None:
        self.student.load(self.module, self.made(weights))

    def made(self, weights: Weights) -> Weights:
        return {name: make(weights) for name, make in self.makers.items()}

    def is_kept(self) -> None:
        parameters_unchanged(self.student, self.module, self.made(self.weights), record=False)

    def gives(self, *args: Any, where: str = "", passed: Any = None, rough: bool = False, **options: Any) -> Answer:
        """Ask for the output, in evaluation without chance; `passed`: the same `args`, by place and by name."""
        by_place, by_name = passed or ([*args], {})
        answer = self.student.call(self.module, by_place, by_name, where, **options)
        same_tensor(answer["value"], self.formula(self.weights, *args), OUTPUT, where, rough)
        if not options.get("training", True):
            generator_unchanged(answer)
        return answer

    def has_gradients(self, x: torch.Tensor, *others: Any, where: str, rough: str = "") -> None:
        """Ask for the output and its gradients. `rough` names what is compared roughly: x, weights."""
        passed = [x], {} if not others else {"mask": others[0]}
        self.gives(x, *others, where=where, passed=passed)
        expected, upstream = inputs.gradients_of(
            lambda x, *leaves: self.formula(dict(zip(self.weights, leaves, strict=True)), x, *others),
            [x, *self.weights.values()],
        )
        found = self.student.call(self.module, *passed, where, upstream=upstream)["gradients"]
        theirs = self.made(dict(zip(self.weights, expected[1:], strict=True)))
        mine = [found.get("parameters", {}).get(name) for name in theirs]
        self.student.note_gradients(dict(enumerate(mine)))  # whatever their names
        same_gradients(found.get("inputs", []), expected[:1], ["x"], where, "x" in rough)
        same_gradients(mine, list(theirs.values()), [f"`{name}`" for name in theirs], where, "weights" in rough)


Build = Callable[..., Layer]  # of the student, the arguments of `__init__`, and a dtype
Cases = Iterator[tuple[Any, ...]]  # (arguments of `__init__`, x, where) or (…, options of `gives`)


def gives(built: Build) -> Callable[[Callable[[], Cases]], Asking]:
    """Make a check of a generator of cases: a module made with these arguments gives what its formula gives."""

    def check(cases: Callable[[], Cases]) -> Asking:
        @functools.wraps(cases)
        def ask(student: Student) -> None:
            for args, x, where, *options in cases():
                with student.case():
                    layer = built(student, **args) if isinstance(args, dict) else built(student, *args)
                    layer.gives(x, where=where, **(options[0] if options else {}))

        return ask

    return check


def gradients(built: Build, *cases: tuple[Any, ...], rough: str = "") -> Asking:
    """Make a check of cases (shape of x, dtype, further sizes); `rough` is meant for float32 only."""

    def ask(student: Student) -> None:
        for shape, dtype, *sizes in cases:
            with student.case():
                layer = built(student, shape[-1], *sizes, dtype=dtype)
                x = normal(*shape, dtype=dtype)
                layer.has_gradients(x, where=f"for x of shape {shape}", rough=rough if dtype == torch.float32 else "")

    return ask


def manners(built: Build, *sizes: int, by_name: bool = False) -> Asking:
    """Make a check of a module of width 6, or 5, and further sizes; `by_name`: it takes x by name, too."""

    def ask(student: Student) -> None:
        layer, other, x = built(student, 6, *sizes), built(student, 6, *sizes), normal(2, 5, 6)
        for training, where in ((True, "in training mode"), (False, "in evaluation mode"), (True, "in a second call")):
            with student.case():
                answer = layer.gives(x, where=where, training=training)
                unchanged(answer["inputs"], [x], "x")
                generator_unchanged(answer)
        with student.case():
            other.gives(x, where="of a second module")
            layer.is_kept()
        with student.case():
            wide = built(student, 5, *sizes, dtype=torch.float64)
            wide.gives(normal(2, 3, 5, dtype=torch.float64), where="in float64")
        for turned in (normal(6, 4).mT, normal(3, 2, 6).transpose(0, 1)):
            with student.case():
                layer.gives(turned, where="for a tensor that is not contiguous")
        with student.case():
            x = normal(2, 3, 6)
            part = sliced(student, x)
            where = "for a slice of a tensor" + by_name * ", given by name"
            layer.gives(x, where=where, passed=([], {"x": part}) if by_name else ([part], {}))
        device_is_kept(student, layer.module, [normal(2, 5, 6)])

    return ask


# Norms

NORMED = (  # up to four batch dimensions and none, equal sizes, 1 and 2 numbers, single tokens, as in real use
    *((2, 5, 6), (3, 4), (7,), (2, 3, 4, 5), (4, 4), (3, 3, 3), (2, 4, 2), (5, 1), (2, 1, 8), (1, 6), (2, 3, 300)),
    *((16, 2, 768), (1, 1024, 4), (2, 1, 3, 2, 5)),
)


NORMS = "(layer|rms|group|instance|batch)norm"  # which both exercises ban
ASKED = (((2, 5, 6), torch.float32), ((3, 4), torch.float64), ((5,), torch.float64))  # for gradients


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
        makers: Makers = {part: itemgetter(part) for part in self.parts}

        def formula(weights: Weights, x: torch.Tensor) -> torch.Tensor:
            return self.function(x, x.shape[-1:], *weights.values(), given.get("eps", self.eps))

        return Layer(student, (self.name, args, kwargs), lambda _: makers, weights, formula)

    def starts(self, student: Student) -> None:
        for dim in (6, 1, 9):
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
                        raise Wrong(f"`{part}` should start at {start:.0f}, so that a fresh layer only normalises.")
                nothing_else(state["parameters"], self.parts)

    def equals(self, *more: tuple[torch.Tensor, str]) -> Asking:
        @gives(self)
        def given_weights() -> Cases:
            for shape in NORMED:
                yield [shape[-1]], normal(*shape) * 3 + 2, f"for x of shape {shape}"
            for x, where in more:
                yield [x.shape[-1]], x, where

        def ask(student: Student) -> None:
            given_weights(student)
            with student.case():
                x = normal(3, 5) + 4
                expected = self.function(x, (5,), *[None for _ in self.parts], self.eps)
                same_tensor(student.value(student.build(self.name, 5), x), expected, OUTPUT, "of a fresh layer")

        return ask

    def uses_eps(self, scale: float, what: str) -> Asking:
        """Make a check: rows whose variance is about eps or far below tell where eps stands, and if it is used."""

        @gives(self)
        def ask() -> Cases:
            yield [6], normal(4, 6, scale=scale), f"for rows whose {what} is about eps"
            yield [6], normal(4, 6, scale=1e-5), f"for rows whose {what} is far below eps"
            for eps, size in ((0.1, 0.3), (1e-3, 0.03), (1e-12, 1e-5)):
                yield [6, eps], normal(4, 6, scale=size), f"with eps = {eps:g}"
            yield {"dim": 6, "eps": 0.5}, normal(4, 6), "with dim and eps given by name"

        return ask


def nothing_else(parameters: dict, expected: Any) -> None:
    if extra := sorted(map(str, set(parameters) - set(expected))):
        raise Wrong(f"There are parameters that do not belong here: {', '.join(extra)[:120]}.")


def found(student: Student, module: Any, find: Callable[..., Makers], C: int, F_: int, depth: int = 0) -> list[Any]:
    """Return the weights that `find` finds in a module, which are all it has; each can be trained."""
    inputs.outline(student, module, depth)
    state = student.state(module, record=False)
    makers = find(state["parameters"], C, F_)
    nothing_else(state["parameters"], makers)
    if frozen := sorted(set(makers) - set(state["trainable"])):
        raise Wrong(f"`{frozen[0]}` is frozen (requires_grad=False), so it cannot be trained.")
    return [state["parameters"][name] for name in makers if name.endswith("weight")]


# Feed-forward networks

FED = (  # shapes of x and hidden widths: up to four batch dimensions and none, single tokens, as in real use
    *(((2, 5, 6), 9), ((3, 4), 7), ((5,), 2), ((2, 3, 4, 3), 8), ((1, 1, 4), 16), ((3, 3, 3), 1), ((2, 40, 2), 5)),
    *(((2, 1, 3, 2, 4), 6), ((1, 1024, 4), 16), ((16, 2, 520), 64)),
)


def linear_layers(parameters: dict, C: int, F_: int, prefix: str = "") -> Makers:
    """Find the two linear layers in a student's module by the shapes of their weights: their names are free."""
    makers: Makers = {}
    for role, (n, m) in (("linear1", (F_, C)), ("linear2", (C, F_))):
        fit = [str(name) for name, value in parameters.items() if shape_of(value) == (n, m)]
        part = next((name[:-6] for name in fit if name.startswith(prefix) and name.endswith("weight")), None)
        if shape_of(parameters.get(f"{part}bias")) != (n,):
            layer = f"nn.Linear({m}, {n}), with its bias"
            raise Wrong(f"With embed_dim = {C} and ff_dim = {F_} there should be a layer {layer}; none is found.")
        makers |= {f"{part}{kind}": itemgetter(f"{role}.{kind}") for kind in ("weight", "bias")}
    return makers


def layers(name: str, find: Callable[..., Makers], **options: Any) -> Asking:
    """Make a check of a feed-forward network's parameters; `find` gets these and the two widths."""

    def ask(student: Student) -> None:
        for C, F_ in ((6, 9), (5, 2), (4, 16)):
            with student.case():
                weights = found(student, student.build(name, C, F_), find, C, F_)
                if any(not w.isfinite().all() or w.std() < 1e-4 for w in weights):
                    raise Wrong("A layer starts with all its weights alike: every hidden feature would learn the same.")
                if torch.equal(weights[0], weights[1]):
                    raise Wrong("Two layers start with the same weights: each has its own.")
        with student.case():
            named = student.build(name, embed_dim=3, ff_dim=4, **options)
            find(student.state(named, record=False)["parameters"], 3, 4)

    return ask


def positions(built: Build) -> Asking:
    """Make a check that changing one position moves no other output."""

    def ask(student: Student) -> None:
        layer, x = built(student, 4, 7), normal(3, 6, 4)
        before = layer.gives(x)["value"]
        changed = x.clone()
        changed[1, 3] = normal(4)
        after = student.value(layer.module, changed)
        others = (changed == x).all(-1)
        if shape_of(after) != (3, 6, 4) or not close(after[others], before[others]):
            raise Wrong("Changing one position moves outputs elsewhere: each goes through the layers on its own.")
        layer.gives(x[:, 2:3], where="for a single position")

    return ask
