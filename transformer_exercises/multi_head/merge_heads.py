"""`merge_heads`: numbers that tell where they came from; the mistakes leave out or misplace the transpose."""

from itertools import starmap

import torch

from autograder.spec import Cases, Check, Exercise, behaves, cases_of, device, gradients, normal, other_sizes, slices

from .known_weights import HEADS, counting, heads_sizes

cases = cases_of("merge_heads")


@cases
def _values() -> Cases:
    for B, T, H, d_k in starmap(other_sizes, HEADS):
        yield [counting(B, H, T, d_k)], heads_sizes(B, T, H, d_k)


@cases
def _inverse() -> Cases:
    for B, T, H, d_k in ((2, 5, 3, 4), (3, 3, 3, 3), (4, 2, 2, 2), (1, 6, 1, 5), (2, 1, 3, 2)):
        heads = normal(B, T, H * d_k).view(B, T, H, d_k).transpose(1, 2)
        yield [heads], f"for heads that were split ({heads_sizes(B, T, H, d_k).removeprefix('for ')})"


@cases
def _gradient() -> Cases:
    for B, T, H, d_k, dtype in ((2, 5, 3, 4, torch.float32), (3, 2, 2, 3, torch.float64)):
        x, where = normal(B, H, T, d_k, dtype=dtype), heads_sizes(B, T, H, d_k)
        yield [x], where
        yield gradients([x], ["x"], where=where)


@cases
def _side_effects() -> Cases:
    x = normal(2, 4, 3, 5)
    yield behaves([x], "x")
    yield [normal(2, 3, 4, 2, dtype=torch.float64)], "in float64"
    yield [normal(2, 3, 5, 4).mT], "for a tensor that is not contiguous"
    yield slices([], {"x": x}, "for a slice of a tensor, given by name")
    yield device([x])


EXERCISE = Exercise(
    Check("the heads of each token side by side", 1.75, _values),
    Check("gives back what was split", 0.5, _inverse, dependent=True),
    Check("gradients", 0.25, _gradient, dependent=True),
    Check("input unchanged, float64, any layout, device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("global_generator",),
    library_equivalent=r"""
def merge_heads(x):
    return x.movedim(1, 2).flatten(2)
""",
)
