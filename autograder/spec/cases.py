"""Compare a student's function with the reference, one case after another."""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from .compare import kind, same_tensor, unchanged
from .course import reference, sentence_of
from .exercise import Call, CheckFunction, Kept, Problem, Student, ValuesDiffer, Wrong
from .inputs import (
    device_is_kept,
    gradients_agree,
    note_rounded,
    raises_error,
    sliced,
    their_generator,
)
from .seeds import drawn


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
    """Make a case where a call leaves its inputs alone, and returns the same when repeated.

    It may draw from the global generator, as whoever builds a layer does: no box of such an exercise forbids it.
    """

    def check(student: Student, tested: FunctionUnderTest) -> None:
        for occasion in (where, f"{where} when called a second time".lstrip()):
            reply = student.call(tested.name, args, where=occasion)
            unchanged(reply["inputs"], args, names)
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


@contextlib.contextmanager
def only_values() -> Iterator[None]:
    """Raise any wrong result of this block as `ValuesDiffer`: a dependent check leaves it to the lines about values."""
    try:
        yield
    except Wrong as wrong:
        if isinstance(wrong, Problem) and wrong.error in ("", "NotImplementedError"):
            raise
        raise ValuesDiffer(str(wrong)) from None


def accepted(case: DependentCase) -> DependentCase:
    """Return the case, as one of input that is not refused."""

    def check(student: Student, tested: FunctionUnderTest) -> None:
        with only_values():
            case(student, tested)

    return check


def valid(args: list[Any], where: str = "", kwargs: dict[str, Any] | None = None) -> DependentCase:
    """Make a case of input that is not refused: the result is right."""

    def check(student: Student, tested: FunctionUnderTest) -> None:
        got = student.call(tested.name, args, kwargs, where=where)["value"]
        tested.same(got, tested.right(*args, **(kwargs or {})), "The result", where)

    return accepted(check)


def trained(*args: Any) -> DependentCase:
    """Make a case whose `weight` is a parameter that is being trained."""

    def check(student: Student, tested: FunctionUnderTest) -> None:
        where = "when weight is a parameter that is being trained"
        answer = student.call(tested.name, list(args), where=where, upstream=[None])
        tested.same(answer["value"], tested.right(*args), "The result", where)

    return check


def each(*cases: Any) -> Callable[[Callable[..., Any]], CheckFunction]:
    """Make a check of a function that asks about one case: its arguments are the student, and the case or its parts."""

    def decorator(check_one: Callable[..., Any]) -> CheckFunction:
        @functools.wraps(check_one)
        def check(student: Student) -> None:
            for case in cases:
                with student.case():
                    check_one(student, *(case if isinstance(case, tuple) else [case]))

        return check

    return decorator


def call_probe(student: Student, source: str, name: str, *args: Any, keep: bool = False) -> Any:
    """Call one of the judge's own functions in the student's process. What is kept there is not recorded."""
    return student.call(student.probe(name, source), list(args), keep=keep, record=not keep)["value"]


def refusing(name: str) -> Callable[..., None]:
    """Make a function that raises `Wrong` if something is wrong, with the exercise's own sentence for the mistake.

    A sentence of the check's takes its place, where the exercise has no such mistake or the check knows more.
    """

    def refuse(wrong: Any, mistake: str, sentence: str = "") -> None:
        if wrong:
            raise Wrong(sentence or sentence_of(name, mistake), mistake)

    return refuse


def differ(wrong: Any, sentence: str) -> None:
    """Raise `ValuesDiffer` if something is wrong."""
    if wrong:
        raise ValuesDiffer(sentence)


def from_the_generator_alone(student: Student, name: str, draw: Callable[[Kept], list[Any]], what: str) -> None:
    """Ask that `draw`, which uses a generator, gives what depends on that, and goes on from where it stands.

    Two of its results should agree by chance practically never; `what` names one.
    """
    start = drawn(11, lambda rng: rng.randrange(10**6))
    refuse, generator = refusing(name), their_generator(student, start)
    one, again, second, third = (draw(their_generator(student, start + n)) for n in (0, 0, 1, 2))
    refuse(one != again, "other_source")
    refuse(one == second == third, "generator_ignored")
    message = f"Two calls with one generator give the same {what}: draw from it as it comes, and seed nothing anew."
    refuse(draw(generator) == draw(generator), "seeded_anew", message)


def gives_float(args: list[Any] | dict[str, Any], what: str, where: str, digits: float = 1e-5) -> DependentCase:
    """Make a case that asks for a number, however it is wrapped; whether it is a plain float is message last.

    Its arguments are a list, or a dictionary if they are given by name.
    """
    by_place, by_name = ([], args) if isinstance(args, dict) else (args, {})

    def check(student: Student, tested: FunctionUnderTest) -> None:
        answer = student.call(tested.name, by_place, by_name, where, after=True)
        expected = tested.right(*by_place, **by_name)
        got = answer["value"]
        number = got.item() if isinstance(got, torch.Tensor) and got.numel() == 1 else got
        if type(number) not in (int, float):
            raise Wrong(f"{what} should be a number {where}; yours is {kind(got)}.")
        note_rounded(student, got)
        if not math.isfinite(number):
            raise Wrong(f"{what} is not a finite number {where}.")
        if abs(number - expected) > digits * max(abs(expected), 1e-12):
            raise ValuesDiffer(f"{what} is too {'large' if number > expected else 'small'} {where}.")
        if type(got) is not float and expected:
            raise Wrong(f"A plain float is tested for; yours is {kind(got)}.", "not_a_float")
        if answer["after"] and list(answer["after"][: len(by_place)]) != by_place:
            raise Wrong("The caller's lists of tokens are different afterwards.", "input_changed")

    return check
