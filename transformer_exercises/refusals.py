"""Valid input in checks of what is refused: an answer that refuses rightly is not accused of wrong values there."""

import contextlib
from collections.abc import Iterator
from typing import Any

from autograder.spec import DependentCase, FunctionUnderTest, Problem, Student, ValuesDiffer, Wrong


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
