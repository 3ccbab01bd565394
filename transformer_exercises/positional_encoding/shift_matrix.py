"""`shift_matrix`: PE[p] @ M = PE[p + k] for many p, and nothing about its entries."""

from typing import Any

import torch

from autograder.spec import (
    Cases,
    Check,
    CheckFunction,
    Exercise,
    ValuesDiffer,
    Wrong,
    a_tensor,
    behaves,
    cases_of,
    dtype_name,
    other_sizes,
    same_tensor,
)

from ..sinusoids import refuses_odd_widths, sinusoids


def _moves(got: Any, args: tuple[int, int], what: str, where: str) -> None:
    """Ask for PE[p + k] == PE[p] @ M, for many p: no other matrix does that, so nothing is asked about its entries."""
    k, d_model = args
    matrix = a_tensor(got, "The matrix")
    shape = tuple(matrix.shape)
    if shape != (d_model, d_model):
        raise Wrong(f"The shape {where} should be ({d_model}, {d_model}); yours is {shape}.", "wrong_shape")
    if not matrix.is_floating_point():
        raise Wrong(f"It should hold floats {where}; yours holds {dtype_name(matrix)}.", "wrong_dtype")
    start = max(0, -k)
    positions = torch.cat([torch.arange(start, start + 40), torch.arange(start + 40, start + 400, 23)])
    before, after = sinusoids(positions, d_model), sinusoids(positions + k, d_model)
    errors = (before @ matrix.double() - after).abs()
    if not matrix.isfinite().all() or (errors > 3e-5 + 2e-6 * abs(k)).any():
        reverse = ((before @ matrix.double().mT - after).abs() < 1e-3).all()
        hint = " (its transpose would do: PE[p] is a row, on the left of the matrix)" if reverse else ""
        if errors[:40].mean() < 0.2 and _mixes_pairs(matrix):
            fitted = "it is fitted, and does not hold everywhere: derive it from sin(α + β) and cos(α + β)"
            raise ValuesDiffer(f"PE[p] @ M is not PE[p + k] {where}; {fitted}.", "fitted_to_few_positions")
        raise ValuesDiffer(f"PE[p] @ M is not PE[p + k] {where}{hint}.")


def _mixes_pairs(matrix: torch.Tensor, above: float = 1e-6) -> bool:
    """Return whether most entries outside the blocks of the pairs are not 0, as in no matrix that a formula gives."""
    pair = torch.arange(len(matrix)) // 2
    outside = matrix[pair[:, None] != pair]
    return 2 * int((outside.abs() > above).sum()) > len(outside)


def _shifts(*shifts: tuple[int, int]) -> CheckFunction:
    @cases_of("shift_matrix", by=lambda k, d_model: (k, d_model), same=_moves)
    def check() -> Cases:
        for known, width in shifts:
            steps, half = other_sizes(abs(known), width // 2)
            k, d_model = -steps if known < 0 else steps, 2 * half
            yield [k, d_model], f"for k = {k} and d_model = {d_model}"

    return check


def _written_down(got: Any, expected: torch.Tensor, what: str, where: str) -> None:
    """Ask for zeros outside the blocks, too: a formula leaves them there, and a fit leaves rounding errors."""
    same_tensor(got, expected, what, where)
    if _mixes_pairs(got, 0.0) and not _mixes_pairs(got, 1e-9):  # a rougher fit has lost its points elsewhere
        fitted = "The matrix is right here, but fitted to a table: derive it from sin(α + β) and cos(α + β)"
        raise Wrong(f"{fitted}, which hold for every position.", "fitted_to_few_positions")


@cases_of("shift_matrix", same=_written_down)
def _side_effects() -> Cases:
    for k, d_model in ((*other_sizes(5), 6), (-1, 4), (0, 2)):
        yield behaves([k, d_model], "", f"for k = {k} and d_model = {d_model}")
    yield {"k": 0, "d_model": 4}, "for k = 0, with arguments given by name"


FORWARD = _shifts((1, 4), (3, 8), (2, 2), (5, 6), (7, 16), (12, 10), (1, 32))
BACKWARD = _shifts((-1, 4), (-3, 8), (0, 6), (-10, 2), (0, 2), (-7, 12))
ODD = refuses_odd_widths("shift_matrix", [2, 4], [[1, 3], [2, 7], [0, 5], [-1, 1]])

EXERCISE = Exercise(
    Check("moves every position by k", 2.5, FORWARD),
    Check("backwards too, and not at all for k = 0", 1.0, BACKWARD),
    Check("by hundreds of steps", 0.5, _shifts((100, 8), (1000, 6), (-512, 4), (4000, 12)), dependent=True),
    Check("an odd d_model is a ValueError", 0.5, ODD, dependent=True),
    Check("a float32 tensor, nothing left to chance", 0.5, _side_effects, dependent=True),
    takes="number",
    gives="tensor",
    harmless=(
        "gradient_cut_off",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "squeezed",
        "list_returned",
        "array_returned",
        "global_generator",
    ),
)
