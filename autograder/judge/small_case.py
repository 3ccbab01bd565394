"""Show a wrong answer on a small input: shrink the arguments of a failed call until few numbers are left."""

import itertools
from collections.abc import Iterator
from typing import Any

import torch

from ..spec.compare import same_tensor
from ..spec.exercise import Call, Problem, ValuesDiffer, Wrong
from ..untrusted.wire import is_tensor
from .student import Student

MAX_NUMBERS = 8  # numbers in the arguments and the right result together: a reader can compute with so many
TRIES = 12  # calls of the student's code at most
LARGEST = 64  # a larger number is no size that can be cut


def small_case(student: Student, call: Call) -> str:
    """Return a sentence with a small input, the right result and the student's; "" if it fails on no small input."""
    for small in itertools.islice(_smaller(call), TRIES):
        try:
            expected = small.right()
        except Exception:  # these sizes do not go together
            continue
        given = (*small.args, *small.kwargs.values())
        if not is_tensor(expected) or sum(one.numel() for one in (*given, expected) if is_tensor(one)) > MAX_NUMBERS:
            continue
        try:
            got = student.call(call.name, small.args, small.kwargs, record=False)["value"]
            same_tensor(got, expected, "")
        except ValuesDiffer:
            shown = ", ".join(
                [*map(_text, small.args), *(f"{name}={_text(one)}" for name, one in small.kwargs.items())]
            )
            right, actual = _text(expected), _text(got)
            if right != actual:
                return f" For example, `{call.name}({shown})` should give {right}, and yours gives {actual}."
        except Wrong as wrong:
            if isinstance(wrong, Problem) and not wrong.error:  # an endless loop, a dead process: do not call again
                return ""
    return ""


def _smaller(call: Call) -> Iterator[Call]:
    """Yield the call with sizes cut to 1 and 2, equal ones alike, smallest first. Whole numbers are sizes, too."""
    values = [*call.args, *call.kwargs.values()]
    shapes = (value.shape if is_tensor(value) else [value] for value in values)
    sizes = sorted({size for shape in shapes for size in shape if type(size) is int and 0 < size <= LARGEST})
    choices = itertools.product((1, 2), repeat=len(sizes)) if len(sizes) <= 6 else ()
    for choice in sorted(choices, key=sum):
        cut = dict(zip(sizes, map(min, sizes, choice), strict=True))
        kwargs = {name: _cut(value, cut) for name, value in call.kwargs.items()}
        yield call._replace(args=[_cut(value, cut) for value in call.args], kwargs=kwargs)


def _cut(value: Any, sizes: dict[int, int]) -> Any:
    if not is_tensor(value):
        return sizes.get(value, value) if type(value) is int else value
    cut = value.detach()[tuple(slice(sizes.get(size, size)) for size in value.shape)].clone()
    if cut.is_floating_point():
        return cut.apply_(lambda number: float(f"{number:.2g}"))
    return cut if cut.dtype == torch.bool else cut.clamp(max=1)  # ids and lengths, which go with sizes


def _text(value: Any) -> str:
    """Return a value as a reader writes it: lists of numbers with three digits."""
    if is_tensor(value):
        value = value.tolist()
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return repr(float(f"{value:.3g}") if isinstance(value, float) else value)
