"""`label_smoothed_loss`: against PyTorch's, with padding inside, at the edge of and outside the vocabulary.

The mistakes: shares of another size, padding in the sum or in the mean, logarithms that overflow, limits refused.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import same_gradients, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal, raises_error, sliced
from autograder.spec.student import Student

_LOSS = "The loss"


def _torchs_loss(logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad_id: int) -> torch.Tensor:
    V = logits.shape[-1]
    flat = logits.reshape(-1, V), targets.reshape(-1)
    return F.cross_entropy(*flat, label_smoothing=smoothing, ignore_index=pad_id)


def _some_targets(*shape: int, V: int, pads: float = 0.0, pad_id: int = 0) -> torch.Tensor:
    """Ids other than pad_id, and a share of pad_id; the very first target is none."""
    targets = (normal(1, *shape)[0].abs() * 1000).long() % V
    if 0 <= pad_id < V:
        targets = torch.where(targets == pad_id, (pad_id + 1) % V, targets)
    padding = normal(*shape).argsort(-1).argsort(-1) < round(pads * shape[-1]) if shape else torch.tensor(False)
    return torch.where(padding, pad_id, targets)


def _same_loss(
    student: Student, logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad_id: int, where: str, **how: Any
) -> dict:
    answer = student.call("label_smoothed_loss", [logits, targets, smoothing, pad_id], where=where)
    same_tensor(answer["value"], _torchs_loss(logits, targets, smoothing, pad_id), _LOSS, where, **how)
    return answer


def _loss_values(student: Student) -> None:
    for shape, V, smoothing in (
        ((6,), 5, 0.1),
        ((3, 4), 7, 0.3),
        ((5, 2), 11, 0.0),
        ((2, 3, 4), 6, 0.2),
        ((4,), 3, 1.0),
        ((1,), 8, 0.1),
        ((3, 3), 3, 0.5),
        ((2, 6), 2, 0.1),
        ((), 9, 0.4),
        ((2, 1, 3, 2), 5, 0.1),
        ((2, 3), 10_000, 0.1),
        ((8, 100), 4, 0.1),
    ):
        with student.case():
            where = f"for logits of shape {(*shape, V)} and smoothing = {smoothing}, without padding"
            logits = normal(*shape, V, scale=2)
            _same_loss(student, logits, _some_targets(*shape, V=V, pad_id=0), smoothing, 0, where)


def _loss_padding(student: Student) -> None:
    for shape, V, smoothing, pad_id in (
        ((2, 6), 5, 0.1, 0),
        ((3, 5), 7, 0.3, 3),
        ((8,), 6, 0.2, 5),
        ((4, 7), 9, 0.0, 0),
        ((2, 3, 5), 4, 0.6, 1),
        ((3, 6), 8, 1.0, 2),
    ):
        with student.case():
            where = f"for targets of shape {shape}, V = {V}, smoothing = {smoothing} and pad_id = {pad_id}"
            targets = _some_targets(*shape, V=V, pads=0.4, pad_id=pad_id)
            if len(shape) == 2:
                targets[0] = _some_targets(shape[1], V=V, pad_id=pad_id)  # rows of different lengths
            _same_loss(student, normal(*shape, V, scale=2), targets, smoothing, pad_id, where)
    with student.case():
        targets = torch.full((3, 4), 2)
        targets[1] = 0
        _same_loss(student, normal(3, 4, 6), targets, 0.1, 0, "for a row that is padding throughout")
    with student.case():
        logits = normal(2, 5, 6)
        logits[..., 0] += 20
        where = "where padding is the likeliest prediction (pad_id as a target is left out, not as a prediction)"
        _same_loss(student, logits, _some_targets(2, 5, V=6, pads=0.4), 0.1, 0, where)


def _loss_extremes(student: Student) -> None:
    for scale, offset, where in (
        (1e4, 0.0, "for logits of about 1e4"),
        (1.0, 1e4, "for logits with a large common offset"),
        (1.0, -1e4, "for logits with a large negative offset"),
        (200.0, 0.0, "for logits of about 200 (their exponentials overflow)"),
    ):
        with student.case():
            logits, targets = normal(3, 4, 5, scale=scale) + offset, _some_targets(3, 4, V=5, pads=0.25)
            _same_loss(student, logits, targets, 0.1, 0, where, rough=True)


def _loss_gradient(student: Student) -> None:
    for shape, V, smoothing, pad_id, dtype in (
        ((2, 5), 6, 0.1, 0, torch.float32),
        ((7,), 4, 0.0, 2, torch.float64),
        ((2, 2, 4), 5, 0.4, 1, torch.float64),
    ):
        with student.case():
            logits = normal(*shape, V, dtype=dtype)
            targets = _some_targets(*shape, V=V, pads=0.4, pad_id=pad_id)
            args = (targets, smoothing, pad_id)
            where = f"for logits of shape {(*shape, V)}"
            _same_loss(student, logits, *args, where)
            leaf, weight = logits.clone().requires_grad_(True), torch.tensor(1.7, dtype=dtype)
            expected = torch.autograd.grad(weight * _torchs_loss(leaf, *args), [leaf])
            answer = student.call("label_smoothed_loss", [logits, *args], where=where, upstream=[weight])
            same_gradients(answer["gradients"].get("inputs", []), list(expected), ["logits"], where)


def _loss_outside(student: Student) -> None:
    for pad_id in (-100, -1):
        with student.case():
            targets = _some_targets(2, 5, V=6, pads=0.4, pad_id=pad_id)
            _same_loss(student, normal(2, 5, 6), targets, 0.1, pad_id, f"for pad_id = {pad_id}")


def _loss_manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            logits, targets = normal(3, 5, 6, dtype=dtype), _some_targets(3, 5, V=6, pads=0.4, pad_id=2)
            where = "in " + str(dtype).removeprefix("torch.")
            answer = _same_loss(student, logits, targets, 0.1, 2, where)
            unchanged(answer["inputs"], [logits, targets], "logits or targets")
            generator_unchanged(answer)
    with student.case():
        logits, targets = normal(6, 3, 5).permute(1, 2, 0), _some_targets(5, 3, V=6, pads=0.4).mT
        _same_loss(student, logits, targets, 0.1, 0, "for tensors that are not contiguous")
    with student.case():
        logits, targets = normal(3, 5, 6), _some_targets(3, 5, V=6, pads=0.4, pad_id=2)
        given = {"pad_id": 2, "smoothing": 0.1, "targets": sliced(student, targets), "logits": sliced(student, logits)}
        where = "for slices of tensors, given by name"
        got = student.call("label_smoothed_loss", [], given, where)["value"]
        same_tensor(got, _torchs_loss(logits, targets, 0.1, 2), _LOSS, where)
    with student.case():
        device_is_kept(student, "label_smoothed_loss", [normal(3, 5, 6), _some_targets(3, 5, V=6, pads=0.4), 0.1, 0])


def _loss_refusals(student: Student) -> None:
    logits, targets = normal(4, 3), torch.tensor([1, 2, 0, 1])
    for smoothing in (0.0, 1.0):
        with student.case():
            _same_loss(student, logits, targets, smoothing, 0, f"for smoothing = {smoothing}")
    for smoothing in (-0.1, 1.1, 10.0):
        with student.case(), raises_error(f"smoothing = {smoothing}"):
            student.call("label_smoothed_loss", [logits, targets, smoothing, 0])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("equals PyTorch's, for any shape and smoothing", 1.25, _loss_values),
        Check("padding is left out, of the sum and of the mean", 1.0, _loss_padding),
        Check("stable for large logits", 0.5, _loss_extremes, further=True),
        Check("gradients, none at padding", 0.5, _loss_gradient, further=True),
        Check("a pad_id outside the vocabulary", 0.25, _loss_outside, further=True),
        Check("inputs unchanged, float64, any layout and device", 0.25, _loss_manners, further=True),
        Check("smoothing from 0 to 1, else a ValueError", 0.25, _loss_refusals),
    ],
    working=r"""
import torch.nn.functional as F

def label_smoothed_loss(logits, targets, smoothing, pad_id):
    if smoothing < 0 or smoothing > 1:
        raise ValueError("smoothing must be from 0 to 1")
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(logits, targets, label_smoothing=smoothing, ignore_index=pad_id)
""",
    takes="tensor",
    gives="scalar",
)
