"""`bigram_probs`: rows that sum to 1, with alpha and without, unseen rows; mistakes in what is divided by what."""

from typing import Any

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
    other_counts,
    refusing,
    same_values,
)

refuse = refusing("bigram_probs")


cases, exact_cases = cases_of("bigram_probs", same=same_values), cases_of("bigram_probs")
EMPTY = [[0, 0, 0], [1, 2, 3], [0, 4, 0]]


def _counts(V: int) -> torch.Tensor:
    """Return whole numbers, about a quarter of them 0, another total in each row."""
    return (normal(V, V) * 9).long().clamp(min=0) + (normal(V, V).abs() * 2).long()


@cases
def _values() -> Cases:
    yield [torch.tensor([[3, 1], [0, 0]])], "for counts [[3, 1], [0, 0]] and no alpha given"
    for V, alpha in ((3, 0.5), (5, 1), (7, 0.1), (4, 2.0), (30, 0.01), (1, 1.0)):
        yield [_counts(V), alpha], f"for V = {V} and alpha = {alpha}"
    yield ([_counts(4)], {"alpha": 0.25}), "with alpha given by name"
    yield [_counts(6)], "when no alpha is given"
    for alpha in (0.5, 0.01):
        counts = torch.tensor(other_counts([[0, 0, 0], [1, 2, 3], [0, 0, 1]]))
        yield [counts, alpha], f"with alpha = {alpha} and a row without counts"


def _exact_zeros(got: Any, expected: torch.Tensor, what: str, where: str) -> None:
    same_values(got, expected, what, where)
    refuse(got[expected == 0].any(), "epsilon_in_counts")


@cases_of("bigram_probs", same=_exact_zeros)
def _unsmoothed() -> Cases:
    for rows in ([[3, 1, 0], [2, 2, 4], [0, 5, 0]], [[0, 7], [1, 1]]):
        for alpha in (0, 0.0):
            yield [torch.tensor(other_counts(rows)), alpha], "with alpha = 0"


@cases
def _unseen() -> Cases:
    for rows, where in (
        ([[3, 1, 0], [0, 0, 0], [0, 5, 0]], "and a row without counts"),
        ([[0, 0, 0, 0], [0, 1, 0, 2], [0, 0, 0, 0], [4, 0, 0, 0]], "and two rows without counts"),
        ([[0]], "and V = 1"),
        ([[0, 0], [0, 0]], "and no counts at all"),
    ):
        yield [torch.tensor(other_counts(rows)), 0.0], f"with alpha = 0 {where}"


@exact_cases
def _side_effects() -> Cases:
    counts, empty = _counts(5), torch.tensor(other_counts(EMPTY))
    for given, alpha in ((counts, 0.5), (_counts(4).float(), 0.5), (empty, 0.0), (empty.float(), 0.0)):
        yield behaves([given, alpha], "`counts`")
    for given, alpha in ((counts, 0.5), (empty, 0.0)):
        yield device([given, alpha])


@exact_cases
def _precision() -> Cases:
    many, empty = _counts(5).double(), torch.tensor(other_counts(EMPTY)).double()
    for counts, alpha in ((many, 0.3), (many, 0.0), (empty, 0.0)):
        yield [counts, alpha], "for float64 counts"
    yield gradients([_counts(4).float()], ["`counts`"], [0.7])


EXERCISE = Exercise(
    Check("add-alpha smoothing, each row a distribution", 1.5, _values),
    Check("alpha = 0: shares of the counts, exactly", 0.4, _unsmoothed),
    Check("alpha = 0: an unseen row is uniform", 0.6, _unseen),
    Check("float32 from whole numbers, inputs unchanged, any device", 0.3, _side_effects, dependent=True),
    Check("float64 stays float64; gradients", 0.2, _precision, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature", "global_generator"),
    library_equivalent=r"""
def bigram_probs(counts, alpha=1.0):
    real = counts if counts.is_floating_point() else counts.to(torch.get_default_dtype())
    shares = F.normalize(real + alpha, p=1, dim=1, eps=1e-30)
    return shares + (1 - shares.sum(dim=1, keepdim=True)).clamp(min=0).round() / len(counts)
""",
)
