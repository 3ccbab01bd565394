"""`NeuralNgram`: its three parts, logits with given weights, leading dimensions, gradients."""

import functools
from operator import itemgetter
from typing import Any

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    KnownModule,
    ParameterMap,
    Student,
    Weights,
    Wrong,
    device_is_kept,
    generator_unchanged,
    kind,
    normal,
    other_sizes,
    outline,
    reference,
    same_gradients,
    shape_name,
    shape_of,
    unchanged,
)

from .random_inputs import some_ids

BIASES = "hidden.bias", "output.bias"


def _found(parameters: dict, right: torch.nn.Module, sizes: tuple[int, ...]) -> ParameterMap:
    """Find the parts in a student's module; other names are marked elsewhere.

    A bias that is missing is taken out of `right` too: what the module computes may hide another mistake.
    """
    found: ParameterMap = {}
    for role, part in list(right.named_parameters()):
        free = [str(n) for n, p in parameters.items() if shape_of(p) == part.shape and str(n) not in found]
        if not free and role in BIASES:
            right.get_submodule(role.removesuffix(".bias")).register_parameter("bias", None)
            continue
        if not free:
            raise Wrong(f"NeuralNgram{sizes} holds no parameter `{role}` of shape {shape_name(part)}.")
        found[role if role in free else free[0]] = itemgetter(role)
    return found


def _built(student: Student, *sizes: int, dtype: torch.dtype = torch.float32) -> KnownModule:
    """Return a student's module, to be compared with the reference of the same weights, which have its names."""
    right = reference("NeuralNgram")(*sizes)
    find = functools.partial(_found, right=right, sizes=sizes)

    def weights() -> Weights:
        return {role: normal(*part.shape, dtype=dtype) for role, part in right.named_parameters()}

    def formula(weights: Weights, context: torch.Tensor) -> Any:
        return torch.func.functional_call(right, weights, (context,))

    how: dict[str, Any] = {"dtype": dtype, "what": "The logits"}
    return KnownModule(student, ("NeuralNgram", sizes, {}), weights, formula, find, **how)


def _has_biases(built: KnownModule) -> None:
    if missing := [role for role in BIASES if role not in built.weights]:
        raise Wrong(f"The module holds no parameter `{missing[0]}`.")


def _asked(*cases: tuple[int, ...]) -> CheckFunction:
    """Ask for logits: each case has the contexts' leading dimensions, and V, n, E and H."""

    def check(student: Student) -> None:
        for *leading, V, n, E, H in cases:
            with student.case():
                built, context = _built(student, V, n, E, H), some_ids(V, *leading, n - 1)
                where = f"for contexts of shape {shape_name(context)} and NeuralNgram{V, n, E, H}"
                built.gives(context, where=where)
                _has_biases(built)

    return check


def _parts(student: Student) -> None:
    for known in ((7, 4, 3, 5), (11, 2, 6, 4), (5, 9, 2, 13)):
        with student.case():
            sizes = other_sizes(*known)
            module = student.build("NeuralNgram", *sizes)
            outline(student, module, 2)
            state = student.state(module, record=False)
            parameters, expected = state["parameters"], dict(reference("NeuralNgram")(*sizes).named_parameters())
            for role, right in expected.items():
                part = parameters.get(role)
                if not isinstance(part, torch.Tensor):
                    there = ", ".join(map(str, parameters))[:120] or "nothing"
                    raise Wrong(f"NeuralNgram{sizes} has no parameter `{role}`; there is {there}.")
                if (part.shape, part.dtype) != (right.shape, right.dtype):
                    raise Wrong(f"`{role}` should be {kind(right)}; yours is {kind(part)}.")
                if role not in state["trainable"]:
                    raise Wrong(f"`{role}` is frozen (requires_grad=False), so it cannot be trained.")
                if role.endswith("weight") and part.std() < 1e-4:
                    raise Wrong(f"All numbers of `{role}` begin alike, so they would learn the same.")
            if extra := sorted(set(map(str, parameters)) - set(expected)):
                raise Wrong(f"Three parts are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
    with student.case():
        named = student.build("NeuralNgram", vocab_size=4, n=3, embed_dim=2, hidden_dim=5)
        sizes = 4, 3, 2, 5
        _found(student.state(named, record=False)["parameters"], reference("NeuralNgram")(*sizes), sizes)


def _gradient(student: Student) -> None:
    for leading, dtype in (((6,), torch.float32), ((2, 5), torch.float64)):
        with student.case():
            built, context = _built(student, 5, 4, 3, 6, dtype=dtype), some_ids(5, *leading, 3)
            where = f"for contexts of shape {shape_name(context)}"
            expected, upstream = built.expected_gradients(context)
            gradients = built.gives(context, where=where, upstream=upstream)["gradients"].get("parameters", {})
            actual = dict(zip(built.weights, map(gradients.get, built.parameter_map), strict=True))
            student.note_gradients(actual)
            same_gradients(list(actual.values()), expected, [f"`{role}`" for role in actual], where)
            _has_biases(built)


def _side_effects(student: Student) -> None:
    built, other = _built(student, 7, 4, 3, 5), _built(student, 7, 4, 3, 5)
    context = some_ids(7, 6, 3)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode")):
        answer = built.gives(context, where=where, training=training)
        unchanged(answer["inputs"], [context], "`context`")
        generator_unchanged(answer)
    other.gives(context, where="of a second module")
    built.is_kept()
    with student.case():
        _built(student, 6, 3, 4, 5, dtype=torch.float64).gives(some_ids(6, 5, 2), where="in float64")
    with student.case():
        built.gives(some_ids(7, 3, 6).T, where="for contexts that are not contiguous")
    device_is_kept(student, built.module, [some_ids(7, 6, 3)])
    _has_biases(built)


_values = _asked(
    (4, 7, 4, 3, 5), (5, 11, 2, 6, 4), (1, 5, 9, 2, 13), (3, 3, 4, 3, 3), (40, 6, 17, 4, 8), (20, 9, 3, 1, 2)
)
_leading = _asked((2, 6, 7, 5, 3, 4), (7, 5, 3, 4), (3, 1, 4, 7, 5, 3, 4), (2, 1, 1, 2, 7, 5, 3, 4))
EXERCISE = Exercise(
    Check("the three parts, and nothing else", 1.0, _parts),
    Check("logits with given weights", 2.0, _values),
    Check("any number of leading dimensions", 0.75, _leading, dependent=True),
    Check("gradients reach every part", 0.5, _gradient, dependent=True),
    Check("float64, input unchanged, modules independent, any layout and device", 0.75, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
)
