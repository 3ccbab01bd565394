"""Compute sinusoids, and compare them as far as float32 knows their angles."""

from typing import Any

import torch

from autograder.spec import (
    CheckFunction,
    Student,
    ValuesDiffer,
    Wrong,
    a_tensor,
    only_values,
    other_sizes,
    raises_error,
    same_tensor,
)


def sinusoids(positions: torch.Tensor, d_model: int) -> torch.Tensor:
    """Return the rows of these positions, in float64."""
    rates = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions.double()[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def near(got: Any, right: tuple[torch.Tensor, torch.Tensor], what: str, where: str) -> None:
    """Raise `Wrong` unless the values agree up to float32: an angle of p radians is known to about p · 1e-7.

    `right`: the values in float64, and the positions of their rows: no angle is larger. The dtype is marked elsewhere.
    """
    got, (expected, positions) = a_tensor(got, what), right
    reach = positions.double().abs()[:, None]
    if got.shape == expected.shape and got.is_floating_point() and got.device.type == "cpu":
        size = max(1.0, expected.abs().max().item())
        if ((got.double() - expected).abs() <= size * (2e-5 + 2e-6 * reach)).all():
            return
        got = got.float()
    same_tensor(got, expected.float(), what, where)
    raise ValuesDiffer(f"{what} {where}: the values are only roughly right (a rounding, a rate that is a little off?).")


def refuses_odd_widths(name: str, good: list, bad: list[list]) -> CheckFunction:
    """Make a check of a ValueError where the last argument, d_model, is odd, and of none for the good arguments."""

    def check(student: Student) -> None:
        with student.case(), only_values():
            shape = a_tensor(student.value(name, *good), "The result").shape
            if len(shape) != 2 or shape[-1] != good[-1]:
                raise Wrong(f"The result for d_model = {good[-1]} should have two dimensions and {good[-1]} columns.")
        for *first, odd in bad:
            args = [*first, 2 * other_sizes(odd // 2)[0] + 1]
            with student.case(), raises_error(f"d_model = {args[-1]} is odd and"):
                if isinstance(student.value(name, *args), torch.Tensor):
                    student.note("a tensor")  # what it holds makes no difference

    return check
