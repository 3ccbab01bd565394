"""Ask a student's function and the reference the same: what the checks of many exercises have in common."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Asking, Call, ValuesDiffer
from autograder.spec.inputs import generator_unchanged
from autograder.spec.student import Student

Cases = Iterator[tuple[Any, ...]]  # (arguments, where), or (arguments, where, True) for a rough comparison


def asks(
    name: str, by: Callable[..., Any] | None = None, same: Callable[..., None] = same_tensor
) -> Callable[[Callable[[], Cases]], Asking]:
    """Make a check of a generator of cases: the function called `name` should give in each what the reference gives.

    `by` computes that in place of the reference; `same` compares. A case's arguments are a list, a dictionary if they
    are given by name, or both. `where` says for which input, such as "for float64 scores". Inputs are made while the
    check runs, one case after another.
    """

    def check(cases: Callable[[], Cases]) -> Asking:
        @functools.wraps(cases)
        def ask(student: Student) -> None:
            for args, where, *rough in cases():
                if isinstance(args, dict):
                    args = [], args
                by_place, by_name = args if isinstance(args, tuple) else (args, {})
                call = Call(name, by_place, by_name, by or reference(name))
                with student.case():
                    got = student.call(name, by_place, by_name, where=where)["value"]
                    try:
                        same(got, call.right(), "The result", where, *rough)
                    except ValuesDiffer as wrong:
                        wrong.call = call
                        raise

        return ask

    return check


def behaves(student: Student, name: str, args: list[Any], names: str) -> None:
    """Raise `Wrong` if a call changes its inputs or the global generator, or answers otherwise when called again."""
    for turn in ("", "when called a second time"):
        answer = student.call(name, args, where=turn)
        unchanged(answer["inputs"], args, names)
        generator_unchanged(answer)
        same_tensor(answer["value"], reference(name)(*args), "The result", turn)
