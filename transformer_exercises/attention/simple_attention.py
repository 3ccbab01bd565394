"""`simple_attention`: values alone and in batches, large x, gradients."""

import torch

from autograder.spec import Cases, Check, Exercise, behaves, cases_of, device, gradients, normal

cases = cases_of("simple_attention")


@cases
def _values() -> Cases:
    for shape in (
        *((4, 6), (6, 3), (2, 5, 3), (3, 3), (1, 4), (2, 3, 4, 5), (1, 1), (3, 33, 4)),
        *((520, 2), (2, 1, 3, 4, 2), (5, 5, 5)),
    ):
        yield [normal(*shape)], f"for x of shape {shape}"
    yield [torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])], "for whole numbers, 0 among them"
    equal = [[0.5, -1.0, 2.0], [0.0, 0.0, 0.0], [0.5, -1.0, 2.0], [0.5, 0.5, 0.5]]
    yield [torch.tensor(equal)], "where tokens are equal, or all zeros"


@cases
def _large() -> Cases:
    yield [normal(2, 4, 5)], ""  # a value first: where the softmax saturates, scores of any scale give the same
    yield [normal(2, 4, 5, scale=60.0)], "for large x (scores beyond 1e4)"


@cases
def _gradient() -> Cases:
    yield gradients([normal(4, 3, scale=0.7)], ["`x`"])
    yield gradients([normal(2, 3, 5, dtype=torch.float64, scale=0.7)], ["`x`"])


@cases
def _side_effects() -> Cases:
    yield behaves([normal(2, 4, 3, dtype=torch.float64)], "`x`")
    for turned in (normal(3, 5).T, normal(2, 4, 3, 5).transpose(1, 2)):
        yield [turned], "for a tensor that is not contiguous (a transpose)"
    yield {"x": normal(2, 4, 3, dtype=torch.float64)}, "with x given by name"
    yield device([normal(2, 4, 3)])


EXERCISE = Exercise(
    Check("values, alone and in batches", 1.5, _values),
    Check("stable for large x", 0.5, _large, dependent=True),
    Check("gradients", 0.5, _gradient, dependent=True),
    Check("float64, inputs unchanged, any layout and device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("global_generator",),
    library_equivalent=r"""
def simple_attention(x):
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)
""",
)
