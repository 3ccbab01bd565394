"""Ask a student's function and the reference the same: what the checks of many exercises have in common."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Call, CheckFunction, Student, ValuesDiffer
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_agree, raises_error, sliced


class Asked(NamedTuple):
    """A student's function, and what tells whether it is right."""

    name: str
    right: Callable[..., Any]  # computes the expected result
    same: Callable[..., None]  # raises `Wrong` unless two results agree


Further = Callable[[Student, Asked], None]  # a case that asks for more than the value
Cases = Iterator[tuple[Any, ...] | Further]  # (arguments, where), or (arguments, where, True) for a rough comparison


def asks(
    name: str, by: Callable[..., Any] | None = None, same: Callable[..., None] = same_tensor
) -> Callable[[Callable[[], Cases]], CheckFunction]:
    """Make a check of a generator of cases: the function called `name` should give in each what the reference gives.

    `by` computes that in place of the reference; `same` compares. A case's arguments are a list, a dictionary if they
    are given by name, or both. `where` says for which input, such as "for float64 scores". Inputs are made while the
    check runs, one case after another. `behaves`, `gradients`, `device`, `slices` and `refuses` make other cases.
    """

    def check(cases: Callable[[], Cases]) -> CheckFunction:
        @functools.wraps(cases)
        def ask(student: Student) -> None:
            asked = Asked(name, by or reference(name), same)
            for case in cases():
                with student.case():
                    if callable(case):
                        case(student, asked)
                    else:
                        _value(student, asked, *case)

        return ask

    return check


def _value(student: Student, asked: Asked, args: Any, where: str, *rough: bool) -> None:
    if isinstance(args, dict):
        args = [], args
    by_place, by_name = args if isinstance(args, tuple) else (args, {})
    call = Call(asked.name, by_place, by_name, asked.right)
    got = student.call(asked.name, by_place, by_name, where=where)["value"]
    try:
        asked.same(got, call.right(), "The result", where, *rough)
    except ValuesDiffer as wrong:
        wrong.call = call
        raise


def behaves(args: list[Any], names: str, where: str = "") -> Further:
    """Make a case where a call leaves its inputs and the global generator alone, and answers alike when repeated."""

    def ask(student: Student, asked: Asked) -> None:
        for turn in (where, f"{where} when called a second time".lstrip()):
            answer = student.call(asked.name, args, where=turn)
            unchanged(answer["inputs"], args, names)
            generator_unchanged(answer)
            asked.same(answer["value"], asked.right(*args), "The result", turn)

    return ask


def gradients(
    inputs: list[torch.Tensor], names: list[str], fixed: Sequence[Any] = (), where: str = "", rough: bool = False
) -> Further:
    """Make a case that compares gradients with respect to the inputs; the arguments `fixed` follow and get none."""
    return lambda student, asked: gradients_agree(
        student, asked.name, asked.right, inputs, names, tuple(fixed), where, rough
    )


def device(args: list[Any], kwargs: dict[str, Any] | None = None) -> Further:
    """Make a case where inputs on another device give results on it."""
    return lambda student, asked: device_is_kept(student, asked.name, args, kwargs)


def slices(args: list[Any], kwargs: dict[str, Any] | None = None, where: str = "for slices of tensors") -> Further:
    """Make a case whose tensors are slices of larger ones."""

    def ask(student: Student, asked: Asked) -> None:
        def part(value: Any) -> Any:
            return sliced(student, value) if isinstance(value, torch.Tensor) else value

        given = {name: part(value) for name, value in (kwargs or {}).items()}
        got = student.call(asked.name, list(map(part, args)), given, where)["value"]
        asked.same(got, asked.right(*args, **(kwargs or {})), "The result", where)

    return ask


def refuses(args: list[Any], what: str, kwargs: dict[str, Any] | None = None) -> Further:
    """Make a case of bad input, which should raise a ValueError."""

    def ask(student: Student, asked: Asked) -> None:
        with raises_error(what):
            student.call(asked.name, args, kwargs)

    return ask
