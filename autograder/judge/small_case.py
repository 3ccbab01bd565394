"""Show a wrong answer on a small input: shrink the arguments of a failed question until few numbers are left."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ..spec.compare import same_tensor
from ..spec.course import reference
from ..spec.exercise import Call, ValuesDiffer, Wrong
from ..untrusted.wire import is_tensor
from .student import Student

MOST = 8  # numbers in the arguments and the right result together: a reader can compute with so many
TRIES = 12  # calls of the student's code at most
LARGEST = 64  # a larger number is no size that can be cut


def small_case(student: Student, call: Call) -> str:
    """Return a sentence with a small input, the right result and the student's; "" if it fails on no small input."""
    for args, kwargs in itertools.islice(_smaller(call), TRIES):
        try:
            expected = reference(call.name)(*args, **kwargs)
        except Exception:  # these sizes do not go together
            continue
        numbers = sum(value.numel() for value in (*args, *kwargs.values(), expected) if is_tensor(value))
        if not is_tensor(expected) or numbers > MOST:
            continue
        try:
            got = student.call(call.name, args, kwargs, record=False)["value"]
            same_tensor(got, expected, "")
        except ValuesDiffer:
            given = ", ".join([*map(_text, args), *(f"{name}={_text(value)}" for name, value in kwargs.items())])
            right, theirs = _text(expected), _text(got)
            if right != theirs:
                return f" For example, `{call.name}({given})` should give {right}, and yours gives {theirs}."
        except Wrong:
            continue
    return ""


def _smaller(call: Call) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield arguments cut to sizes 1 and 2, equal sizes to the same, smallest first. Whole numbers are sizes, too."""
    values = [*call.args, *call.kwargs.values()]
    shapes = (value.shape if is_tensor(value) else [value] for value in values)
    sizes = sorted({size for shape in shapes for size in shape if type(size) is int and 0 < size <= LARGEST})
    choices = itertools.product((1, 2), repeat=len(sizes)) if len(sizes) <= 6 else ()
    for choice in sorted(choices, key=sum):
        cut = dict(zip(sizes, map(min, sizes, choice), strict=True))
        changed = iter([_cut(value, cut) for value in values])
        yield [next(changed) for _ in call.args], {name: next(changed) for name in call.kwargs}


def _cut(value: Any, sizes: dict[int, int]) -> Any:
    if not is_tensor(value):
        return sizes.get(value, value) if type(value) is int else value
    cut = value.detach()[tuple(slice(sizes.get(size, size)) for size in value.shape)].clone()
    return cut.apply_(lambda number: float(f"{number:.2g}")) if cut.is_floating_point() else cut


def _text(value: Any) -> str:
    """Return a value as a reader writes it: lists of numbers with three digits."""
    if is_tensor(value):
        value = value.tolist()
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return repr(float(f"{value:.3g}") if isinstance(value, float) else value)
