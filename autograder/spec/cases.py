"""Compare a student's function with the reference, one case after another."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from .compare import same_tensor, unchanged
from .course import reference
from .exercise import Call, CheckFunction, Student, ValuesDiffer
from .inputs import device_is_kept, generator_unchanged, gradients_agree, raises_error, sliced


class FunctionUnderTest(NamedTuple):
    """A student's function, and what decides whether a result is right."""

    name: str
    right: Callable[..., Any]  # computes the expected result
    same: Callable[..., None]  # raises `Wrong` unless two results agree


DependentCase = Callable[[Student, FunctionUnderTest], None]  # a case that tests more than the value
Cases = Iterator[tuple[Any, ...] | DependentCase]  # (args, where), or (args, where, True) for a rough comparison


def cases_of(
    name: str, by: Callable[..., Any] | None = None, same: Callable[..., None] = same_tensor
) -> Callable[[Callable[[], Cases]], CheckFunction]:
    """Make a check of a generator of cases: the function called `name` should give in each what the reference gives.

    `by` computes that in place of the reference; `same` compares. A case's arguments are a list, a dictionary if they
    are given by name, or both. `where` says for which input, such as "for float64 scores". Inputs are made while the
    check runs, one case after another. `behaves`, `gradients`, `device`, `slices` and `refuses` make other cases.
    """

    def check_of(cases: Callable[[], Cases]) -> CheckFunction:
        @functools.wraps(cases)
        def check(student: Student) -> None:
            tested = FunctionUnderTest(name, by or reference(name), same)
            for case in cases():
                with student.case():
                    if callable(case):
                        case(student, tested)
                    else:
                        _value(student, tested, *case)

        return check

    return check_of


def _value(student: Student, tested: FunctionUnderTest, args: Any, where: str, *rough: bool) -> None:
    if isinstance(args, dict):
        args = [], args
    positional, named = args if isinstance(args, tuple) else (args, {})
    call = Call(tested.name, positional, named, tested.right)
    got = student.call(tested.name, positional, named, where=where)["value"]
    try:
        tested.same(got, call.right(), "The result", where, *rough)
    except ValuesDiffer as wrong:
        wrong.call = call
        raise


def behaves(args: list[Any], names: str, where: str = "") -> DependentCase:
    """Make a case where a call leaves its inputs and the global generator alone, and returns the same when repeated."""

    def check(student: Student, tested: FunctionUnderTest) -> None:
        for occasion in (where, f"{where} when called a second time".lstrip()):
            reply = student.call(tested.name, args, where=occasion)
            unchanged(reply["inputs"], args, names)
            generator_unchanged(reply)
            tested.same(reply["value"], tested.right(*args), "The result", occasion)

    return check


def gradients(
    inputs: list[torch.Tensor], names: list[str], fixed: Sequence[Any] = (), where: str = "", rough: bool = False
) -> DependentCase:
    """Make a case that compares gradients with respect to the inputs; the arguments `fixed` follow and get none."""
    return lambda student, tested: gradients_agree(
        student, tested.name, tested.right, inputs, names, tuple(fixed), where, rough
    )


def device(args: list[Any], kwargs: dict[str, Any] | None = None) -> DependentCase:
    """Make a case where inputs on another device give results on it."""
    return lambda student, tested: device_is_kept(student, tested.name, args, kwargs)


def slices(
    args: list[Any], kwargs: dict[str, Any] | None = None, where: str = "for slices of tensors"
) -> DependentCase:
    """Make a case whose tensors are slices of larger ones."""

    def check(student: Student, tested: FunctionUnderTest) -> None:
        def part(value: Any) -> Any:
            return sliced(student, value) if isinstance(value, torch.Tensor) else value

        sliced_kwargs = {name: part(value) for name, value in (kwargs or {}).items()}
        got = student.call(tested.name, list(map(part, args)), sliced_kwargs, where)["value"]
        tested.same(got, tested.right(*args, **(kwargs or {})), "The result", where)

    return check


def refuses(args: list[Any], what: str, kwargs: dict[str, Any] | None = None) -> DependentCase:
    """Make a case of bad input, which should raise a ValueError."""

    def check(student: Student, tested: FunctionUnderTest) -> None:
        with raises_error(what):
            student.call(tested.name, args, kwargs)

    return check
