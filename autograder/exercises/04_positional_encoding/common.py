"""What the checks of this notebook share."""

from __future__ import annotations

from typing import Any

import torch

from autograder.asked.compare import a_tensor, same_tensor
from autograder.asked.declare import Wrong


def _answers(student: Any) -> list:
    """The answers recorded for the check that is running, by which a mistake is recognised."""
    return list(student.record.values())[-1]


def _sinusoids(positions: torch.Tensor, d_model: int) -> torch.Tensor:
    """The rows of these positions, in float64."""
    rates = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions.double()[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def near(got: Any, expected: torch.Tensor, reach: Any, what: str, where: str) -> None:
    """Values up to the rounding of float32: an angle of p radians is known to about p · 1e-7, however it was computed.

    `reach`: the largest angle of each row, a number or a tensor (rows, 1). The dtype is marked elsewhere.
    """
    got = a_tensor(got, what)
    if got.shape == expected.shape and got.is_floating_point() and got.device.type == "cpu":
        size = max(1.0, expected.abs().max().item()) if expected.numel() else 1.0
        if got.isfinite().all() and not ((got.double() - expected).abs() > size * (2e-5 + 2e-6 * reach)).any():
            return
        got = got.float()
    same_tensor(got, expected.float(), what, where)
    raise Wrong(f"{what} {where}: the values are only roughly right: a rounding, or a rate that is a little off?")


def _refused(student: Any, name: str, good: list, bad: list[list], argument: str) -> None:
    """A ValueError for each of the bad arguments, and none for the good ones."""
    with student.case():
        shape = a_tensor(student.value(name, *good), "The result").shape
        if len(shape) != 2 or shape[-1] != good[-1]:
            raise Wrong(f"The result for {argument} = {good[-1]} should have two dimensions and {good[-1]} columns.")
    for args in bad:
        with student.case():
            where = f"{argument} = {args[-1]}"
            try:
                student.value(name, *args)
            except Wrong as wrong:
                facts = getattr(wrong, "facts", {})
                if facts.get("kind") != "raised" or facts.get("type") == "NotImplementedError":
                    raise
                if facts.get("type") != "ValueError":
                    raise Wrong(f"{where} should raise a ValueError; yours raised {facts.get('type')}.") from None
            else:
                if isinstance(_answers(student)[-1].get("value"), torch.Tensor):
                    _answers(student)[-1]["value"] = "a tensor"  # what it holds makes no difference
                raise Wrong(f"{where} is odd and should raise a ValueError; yours returned something.")
