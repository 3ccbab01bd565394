"""`causal_mask`: True exactly above the diagonal, on the device asked for; the mistakes shift, invert or convert it."""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.student import Student

causal_mask = reference("causal_mask")


def _causal(student: Student) -> None:
    for T in (4, 1, 2, 3, 7, 40, 130, 520):
        with student.case():
            where = f"for T = {T}"
            same_tensor(student.value("causal_mask", T, where=where), causal_mask(T), "The mask", where)


def _causal_device(student: Student) -> None:
    with student.case():
        same_tensor(student.value("causal_mask", 5), causal_mask(5), "The mask", "without a device")
    with student.case():
        got = student.call("causal_mask", [5], {"device": "meta"}, where="with device given")["value"]
        if not isinstance(got, torch.Tensor) or got.device.type != "meta":
            raise Wrong("The mask is not made on the device that is asked for: pass `device=device` on.")
    with student.case():
        got = student.value("causal_mask", 3, "cpu", where="with device given by position")
        same_tensor(got, causal_mask(3), "The mask", "with device given by position")
    with student.case():
        got = student.call("causal_mask", [], {"T": 3}, where="with T given by name")["value"]
        same_tensor(got, causal_mask(3), "The mask", "with T given by name")


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("True exactly above the diagonal", 1.5, _causal),
        Check("made on the device that is asked for", 0.5, _causal_device),
    ],
    working=r"""
import torch
from torch import nn

def causal_mask(T, device=None):
    return nn.Transformer.generate_square_subsequent_mask(T, device=device).isinf()
""",
    takes="number",
    gives="tensor",
)
