"""`label_smoothed_loss`: against PyTorch's, with padding inside, at the edge of and outside the vocabulary."""

from typing import Any

import torch

from autograder.spec import Cases, Check, Exercise, behaves, cases_of, device, gradients, normal, refuses, slices, valid

cases = cases_of("label_smoothed_loss")


def _targets(*shape: int, V: int, pads: float = 0.0, pad_id: int = 0) -> torch.Tensor:
    """Return ids other than pad_id, and a share of pad_id; the very first target is none."""
    targets = (normal(1, *shape)[0].abs() * 1000).long() % V
    if 0 <= pad_id < V:
        targets = torch.where(targets == pad_id, (pad_id + 1) % V, targets)
    padding = normal(*shape).argsort(-1).argsort(-1) < round(pads * shape[-1]) if shape else torch.tensor(False)
    return torch.where(padding, pad_id, targets)


@cases
def _values() -> Cases:
    for shape, V, smoothing in (
        *(((6,), 5, 0.1), ((3, 4), 7, 0.3), ((5, 2), 11, 0.0), ((2, 3, 4), 6, 0.2), ((4,), 3, 1.0), ((1,), 8, 0.1)),
        *(((3, 3), 3, 0.5), ((2, 6), 2, 0.1), ((2, 1, 3, 2), 5, 0.1), ((2, 3), 10_000, 0.1)),
        ((8, 100), 4, 0.1),
    ):
        where = f"for logits of shape {(*shape, V)} and smoothing = {smoothing}, without padding"
        yield [normal(*shape, V, scale=2), _targets(*shape, V=V), smoothing, 0], where


@cases
def _padding() -> Cases:
    for shape, V, smoothing, pad_id in (
        *(((2, 6), 5, 0.1, 0), ((3, 5), 7, 0.3, 3), ((8,), 6, 0.2, 5), ((4, 7), 9, 0.0, 0)),
        *(((2, 3, 5), 4, 0.6, 1), ((3, 6), 8, 1.0, 2)),
    ):
        targets = _targets(*shape, V=V, pads=0.4, pad_id=pad_id)
        if len(shape) == 2:
            targets[0] = _targets(shape[1], V=V, pad_id=pad_id)  # rows of different lengths
        where = f"for targets of shape {shape}, V = {V}, smoothing = {smoothing} and pad_id = {pad_id}"
        yield [normal(*shape, V, scale=2), targets, smoothing, pad_id], where
    yield [normal(3, 4, 6), torch.tensor([[2], [0], [2]]).repeat(1, 4), 0.1, 0], "for a row that is padding throughout"
    likely = normal(2, 5, 6) + 20 * (torch.arange(6) == 0)
    where = "where padding is the likeliest prediction (pad_id as a target is left out, not as a prediction)"
    yield [likely, _targets(2, 5, V=6, pads=0.4), 0.1, 0], where


@cases
def _extremes() -> Cases:
    for scale, offset, what in (
        *((1e4, 0.0, "of about 1e4"), (200.0, 0.0, "of about 200 (their exponentials overflow)")),
        *((1.0, 1e4, "with a large common offset"), (1.0, -1e4, "with a large negative offset")),
    ):
        logits = normal(3, 4, 5, scale=scale) + offset
        yield [logits, _targets(3, 4, V=5, pads=0.25), 0.1, 0], f"for logits {what}", True


@cases
def _gradient() -> Cases:
    for shape, V, smoothing, pad_id, dtype in (
        *(((2, 5), 6, 0.1, 0, torch.float32), ((7,), 4, 0.0, 2, torch.float64)),
        ((2, 2, 4), 5, 0.4, 1, torch.float64),
    ):
        args = [normal(*shape, V, dtype=dtype), _targets(*shape, V=V, pads=0.4, pad_id=pad_id)]
        yield [*args, smoothing, pad_id], f"for V = {V}"
        yield gradients(args, ["logits"], [smoothing, pad_id], f"for V = {V}")


def _padded(*shape: int, pad_id: int, dtype: torch.dtype = torch.float32) -> list[Any]:
    """Return arguments with V = 6 and much padding."""
    return [normal(*shape, 6, dtype=dtype), _targets(*shape, V=6, pads=0.4, pad_id=pad_id), 0.1, pad_id]


_outside = cases(lambda: ((_padded(2, 5, pad_id=pad_id), f"for pad_id = {pad_id}") for pad_id in (-100, -1)))


@cases
def _side_effects() -> Cases:
    for dtype in (torch.float32, torch.float64):
        yield behaves(_padded(3, 5, pad_id=2, dtype=dtype), "logits or targets")
    yield [normal(9), _targets(V=9), 0.4, 0], "for logits of shape (9,) and one target without dimensions"
    turned = normal(6, 3, 5).permute(1, 2, 0), _targets(5, 3, V=6, pads=0.4).mT
    yield [*turned, 0.1, 0], "for tensors that are not contiguous"
    named = dict(zip(("pad_id", "smoothing", "targets", "logits"), _padded(3, 5, pad_id=2)[::-1], strict=True))
    yield slices([], named, "for slices of tensors, given by name")
    yield device(_padded(3, 5, pad_id=0))


@cases
def _refusals() -> Cases:
    given = normal(4, 3), torch.tensor([1, 2, 0, 1])
    for smoothing in (0.0, 1.0):
        yield valid([*given, smoothing, 0], f"for smoothing = {smoothing}")
    for smoothing in (-0.1, 1.1, 10.0):
        yield refuses([*given, smoothing, 0], f"smoothing = {smoothing}")


EXERCISE = Exercise(
    Check("equals PyTorch's, for any shape and smoothing", 1.25, _values),
    Check("padding is left out, of the sum and of the mean", 1.0, _padding),
    Check("stable for large logits", 0.5, _extremes, dependent=True),
    Check("gradients, none at padding", 0.5, _gradient, dependent=True),
    Check("a pad_id outside the vocabulary", 0.25, _outside, dependent=True),
    Check("inputs unchanged, float64, any layout and device", 0.25, _side_effects, dependent=True),
    Check("smoothing from 0 to 1, else a ValueError", 0.25, _refusals, dependent=True),
    takes="tensor",
    gives="scalar",
    harmless=("double_precision", "squeezed", "python_number", "list_returned", "global_generator"),
    library_equivalent=r"""
def label_smoothed_loss(logits, targets, smoothing, pad_id):
    if smoothing < 0 or smoothing > 1:
        raise ValueError("smoothing must be from 0 to 1")
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(logits, targets, label_smoothing=smoothing, ignore_index=pad_id)
""",
)
