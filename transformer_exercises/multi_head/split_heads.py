"""`split_heads`: numbers that tell where they came from, widths that do not divide; the mistakes mix dimensions up."""

from itertools import starmap

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    behaves,
    cases_of,
    device,
    gradients,
    normal,
    other_sizes,
    refuses,
    slices,
    valid,
)

from .known_weights import HEADS, counting, heads_sizes

cases = cases_of("split_heads")


@cases
def _values() -> Cases:
    for B, T, H, d_k in starmap(other_sizes, HEADS):
        yield [counting(B, T, H * d_k), H], heads_sizes(B, T, H, d_k)


@cases
def _refused() -> Cases:
    yield valid([counting(2, 3, 8), 4])
    for C, H in ((8, 3), (6, 4), (5, 2), (9, 6), (4, 8)):
        yield refuses([normal(2, 3, C), H], f"A width of {C} with {H} heads")


@cases
def _gradient() -> Cases:
    for B, T, H, d_k, dtype in ((2, 5, 3, 4, torch.float32), (3, 2, 2, 3, torch.float64)):
        x, where = normal(B, T, H * d_k, dtype=dtype), heads_sizes(B, T, H, d_k)
        yield [x, H], where
        yield gradients([x], ["x"], [H], where)


@cases
def _side_effects() -> Cases:
    x = normal(2, 3, 8)
    yield behaves([x, 4], "x")
    yield [normal(2, 3, 6, dtype=torch.float64), 2], "in float64"
    yield [normal(3, 2, 6).transpose(0, 1), 2], "for a tensor that is not contiguous"
    yield [normal(2, 6, 3).mT, 2], "for a transposed tensor"
    yield {"x": x, "num_heads": 2}, "with the arguments given by name"
    yield slices([x, 2], where="for a slice of a tensor")
    yield device([x, 4])


EXERCISE = Exercise(
    Check("head h holds its columns of every token", 1.75, _values),
    Check("a width that cannot be divided is a ValueError", 0.5, _refused, dependent=True),
    Check("gradients", 0.25, _gradient, dependent=True),
    Check("input unchanged, float64, any layout, device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature", "global_generator", "error_returned", "bad_input_accepted"),
    library_equivalent=r"""
def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} columns are not {num_heads} heads of one width")
    return x.unflatten(2, (num_heads, -1)).movedim(2, 1)
""",
)
