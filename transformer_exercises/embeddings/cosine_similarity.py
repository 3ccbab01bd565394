"""`cosine_similarity`: values, broadcasting, zero vectors and their gradients, tiny and huge lengths."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Student,
    Wrong,
    a_tensor,
    behaves,
    cases_of,
    device,
    gradients,
    normal,
    reference,
    same_tensor,
)

from .random_inputs import vectors

cosine_similarity = reference("cosine_similarity")
cases = cases_of("cosine_similarity")


@cases
def _values() -> Cases:
    for shape in ((7,), (5, 3), (2, 3, 4), (4, 4), (1, 6), (3, 1), (2, 1, 5, 2), (0, 3), (2, 40)):
        yield [vectors(*shape), vectors(*shape)], f"for a and b of shape {shape}"
    a = torch.tensor([[3.0, 4.0], [1.0, 0.0], [2.0, -1.0], [0.5, 0.5]])
    b = torch.tensor([[30.0, 40.0], [0.0, 2.0], [-2.0, 1.0], [7.0, 0.0]])
    yield [a, b], "for parallel, perpendicular, opposite vectors and such as are 45° apart"


@cases
def _broadcast() -> Cases:
    for one, other in (
        *(((5,), (3, 5)), ((3, 5), (5,)), ((4, 1, 5), (3, 5)), ((3, 5), (4, 1, 5)), ((2, 1, 3), (2, 4, 3))),
        *(((3, 1, 4), (1, 2, 4)), ((6, 4), (1, 4)), ((4,), (4, 4))),
    ):
        yield [vectors(*one), vectors(*other)], f"for a of shape {one} and b of shape {other}"


def _with_zeros() -> Iterator[tuple[list[torch.Tensor], str]]:
    a, b = vectors(5, 3), vectors(5, 3)
    a[[1, 4]], b[[3, 4]] = 0, 0
    zero, some = torch.zeros(4), vectors(4)
    yield [a, b], "with zero vectors in a, in b, and in both"
    yield [zero, some], "for a zero vector a"
    yield [some, zero], "for a zero vector b"
    yield [zero, zero], "for two zero vectors"


def _zero_gradients(student: Student) -> None:
    for args, where in _with_zeros():
        with student.case():
            expected = cosine_similarity(*args)
            answer = student.call("cosine_similarity", args, where=where, upstream=[torch.ones_like(expected)])
            found = answer["gradients"].get("inputs", [])
            # How large they are follows from the number that keeps the lengths away from 0, which is free.
            nan = [isinstance(one, torch.Tensor) and one.isnan().tolist() for one in found]
            student.last["gradients"] = {"inputs": nan}
            same_tensor(answer["value"], expected, "The result", where)
            for name, gradient in zip(("a", "b"), found, strict=False):
                if gradient is None:
                    raise Wrong(f"No gradient reaches {name} {where}: the result is cut off.", "gradient_cut_off")
                if a_tensor(gradient, f"The gradient of {name}").isnan().any():
                    what = f"The gradient of {name} contains NaN {where}, although the values are right"
                    raise Wrong(f"{what}: keep roots and divisors away from 0, or 0 · inf or 0/0 happens backwards.")


def _nearly_same(got: Any, expected: torch.Tensor, what: str, where: str, rough: bool) -> None:
    apart = 0.02 if rough else 1e-4
    if a_tensor(got, what).shape != expected.shape or not (got - expected).abs().max() < apart:
        same_tensor(got, expected, what, where)


@cases_of("cosine_similarity", same=_nearly_same)
def _lengths() -> Cases:
    """Ask with one tiny vector; with two at once not: PyTorch's own formula once compared the product with 1e-8."""
    for one, other in ((1e-6, 1), (1, 1e-6), (1e-3, 1e-3), (1e6, 1e-6), (1e6, 1e6)):
        args = [F.normalize(normal(6, 5), dim=-1) * 2 * length for length in (one, other)]
        yield args, f"for lengths of about {one:g} and {other:g}", max(one, other) <= 1


@cases
def _gradient() -> Cases:
    for one, other in (((5, 3), (5, 3)), ((4,), (2, 4)), ((3, 1, 2), (4, 2))):
        yield gradients([vectors(*one), vectors(*other)], ["a", "b"], where=f"for shapes {one} and {other}")


@cases
def _side_effects() -> Cases:
    kinds = ((torch.float32, (5, 3), (5, 3)), (torch.float64, (4, 3), (4, 3)), (torch.float64, (3,), (2, 3)))
    for dtype, one, other in kinds:  # long vectors: 1e-8 added to the product of their lengths must not show in float64
        yield behaves([100 * vectors(*one, dtype=dtype), 100 * vectors(*other, dtype=dtype)], "a, b")
    a, b = vectors(3, 5).T, vectors(3, 2, 5).transpose(0, 2)  # (5, 3), (5, 2, 3)
    yield [a, b[:, 0]], "for a transpose and a slice (not contiguous)"
    yield [a[:, None], b], "for transposes (not contiguous) that broadcast"
    yield {"a": a, "b": a[1]}, "with arguments given by name"
    yield device([vectors(5, 3), vectors(5, 3)])


EXERCISE = Exercise(
    Check("dot products over lengths, along the last dimension", 1.25, _values),
    Check("broadcasts", 0.75, _broadcast, dependent=True),
    Check("zero vectors give 0", 0.6, cases(_with_zeros), dependent=True),
    Check("no NaN in the gradients of zero vectors", 0.25, _zero_gradients, dependent=True),
    Check("short and long vectors", 0.25, _lengths, dependent=True),
    Check("gradients", 0.5, _gradient, dependent=True),
    Check("float64, inputs unchanged, device", 0.4, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("list_returned", "global_generator"),
    library_equivalent=r"""
def cosine_similarity(a, b):
    return F.cosine_similarity(a, b, dim=-1)
""",
)
