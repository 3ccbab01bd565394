"""`sequence_log_prob`: sums of logarithms for short, very long, single-token and impossible texts, and gradients."""

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    behaves,
    cases_of,
    device,
    dtype_name,
    gradients,
    same_values,
)

from .random_inputs import rows_of_probs, some_ids

cases = cases_of("sequence_log_prob", same=same_values)


@cases
def _values() -> Cases:
    for ids, V in (([0, 1, 1], 2), ([1, 0], 2), ([2, 0, 2, 2, 1, 0], 3), ([4, 4, 0, 3, 1, 2, 0, 4], 5)):
        yield [torch.tensor(ids), rows_of_probs(V, V)], f"for ids {ids}"
    for n, V in ((12, 7), (30, 4)):
        yield [some_ids(V, n), rows_of_probs(V, V)], f"for {n} ids"
    yield [torch.tensor([0, 1, 2, 0]), torch.eye(3).roll(1, dims=1)], "for a text whose steps have probability 1"


@cases
def _long() -> Cases:
    for n, V, dtype in ((200, 6, torch.float32), (2000, 4, torch.float32), (1500, 5, torch.float64)):
        given, probs = some_ids(V, n), rows_of_probs(V, V, dtype=dtype)
        yield [given, probs], f"for {n} ids, whose probability is too small for {dtype_name(probs)}"
    tiny = torch.tensor([[1.0, 1e-30], [1e-25, 1.0]])
    yield [torch.tensor([0, 1, 0, 0, 1, 1]), tiny], "when single steps are as improbable as 1e-30"


@cases
def _edges() -> Cases:
    for V, start in ((3, 1), (4, 0)):
        yield [torch.tensor([start]), rows_of_probs(V, V)], "for a single id"
    for ids, where in (
        ([0, 1, 2, 0], "when a step has probability 0"),
        ([1, 2, 1, 2, 0], "when two steps have probability 0"),
        ([0, 1, 0, 0, 1], "when zeros stand in the table, but no step meets one"),
    ):
        yield [torch.tensor(ids), torch.tensor([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])], where


@cases
def _gradient() -> Cases:
    yield gradients([torch.tensor([2, 0, 2, 2, 1, 2, 0]), rows_of_probs(3, 3)], ["`probs`"])
    double = rows_of_probs(4, 4, dtype=torch.float64)
    yield gradients([torch.tensor([0, 3, 1]), double], ["`probs`"], where="in float64")


@cases_of("sequence_log_prob")
def _side_effects() -> Cases:
    for dtype in (torch.float32, torch.float64):
        probs = rows_of_probs(4, 4, dtype=dtype)
        yield behaves([torch.tensor([3, 0, 1, 1, 2, 0]), probs], "`ids`, `probs`")
        yield [torch.tensor([2]), probs], f"for a single id and {dtype_name(probs)} probabilities"
    yield [some_ids(4, 12)[::2], rows_of_probs(4, 4).T], "for tensors that are not contiguous"
    for ids in (torch.tensor([1, 0, 1, 1]), torch.tensor([1])):
        yield device([ids, rows_of_probs(3, 3)])


EXERCISE = Exercise(
    Check("log p(x2 .. xN given x1)", 1.25, _values),
    Check("long and improbable texts do not underflow", 0.75, _long, dependent=True),
    Check("one token: 0; an impossible step: −inf", 0.5, _edges, dependent=True),
    Check("gradients", 0.25, _gradient, dependent=True),
    Check("a scalar tensor of the dtype of `probs`, inputs unchanged, any device", 0.25, _side_effects, dependent=True),
    takes="tensor",
    gives="scalar",
    harmless=("squeezed", "list_returned", "other_signature", "global_generator"),
    library_equivalent=r"""
def sequence_log_prob(ids, probs):
    return -F.nll_loss(F.embedding(ids[:-1], probs).log(), ids[1:], reduction="sum")
""",
)
