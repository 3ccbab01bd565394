"""`sinusoidal_encoding`: tables of one to 6,000 rows within float32's rounding, and an odd width refused."""

import torch

from autograder.spec import Cases, Check, CheckFunction, Exercise, behaves, cases_of, other_sizes

from ..sinusoids import near, refuses_odd_widths, sinusoids


def _table(max_len: int, d_model: int) -> tuple[torch.Tensor, torch.Tensor]:
    positions = torch.arange(max_len)
    return sinusoids(positions, d_model), positions


def _tables(*sizes: tuple[int, int]) -> CheckFunction:
    @cases_of("sinusoidal_encoding", by=_table, same=near)
    def check() -> Cases:
        for max_len, half in (other_sizes(n, d_model // 2) for n, d_model in sizes):
            d_model = 2 * half
            yield [max_len, d_model], f"for max_len = {max_len} and d_model = {d_model}"

    return check


@cases_of("sinusoidal_encoding")
def _side_effects() -> Cases:
    yield behaves([other_sizes(4)[0], 6], "")
    yield behaves([other_sizes(9)[0], 2], "")
    yield {"max_len": 3, "d_model": 2}, "with arguments given by name"


VALUES = _tables((6, 8), (10, 2), (5, 12), (8, 8), (7, 4), (3, 64), (2, 6), (50, 10))
LENGTHS = _tables((1, 4), (5000, 6), (1200, 16), (1, 2), (6000, 2), (30, 512))
ODD = refuses_odd_widths("sinusoidal_encoding", [3, 4], [[5, 7], [4, 1], [2, 3], [10, 511]])

EXERCISE = Exercise(
    Check("sines in even columns, cosines in odd ones", 2.25, VALUES),
    Check("tables of no, one and thousands of rows", 0.5, LENGTHS, dependent=True),
    Check("an odd d_model is a ValueError", 0.75, ODD, dependent=True),
    Check("a float32 tensor, nothing left to chance", 0.5, _side_effects, dependent=True),
    takes="number",
    gives="tensor",
    harmless=(
        "gradient_cut_off",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "list_returned",
        "array_returned",
        "global_generator",
    ),
)
