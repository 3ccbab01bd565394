"""`sliding_window_mask`: open exactly from the token itself back to the edge of the window, narrow and wide."""

from itertools import starmap

from autograder.spec import Cases, Check, Exercise, cases_of, other_sizes

SLIDES = ((5, 2), (6, 3), (8, 3), (7, 4), (9, 5), (3, 2), (40, 7), (130, 33), (520, 129))
cases = cases_of("sliding_window_mask")
EDGES = ((6, 1), (5, 4), (5, 5), (5, 6), (4, 9), (7, 200), (1, 1), (1, 3), (2, 1), (2, 2))


@cases
def _slides() -> Cases:
    for T, window in starmap(other_sizes, SLIDES):
        yield [T, window], f"for T = {T} and window = {window}"


@cases
def _edges() -> Cases:
    for T, window in starmap(other_sizes, EDGES):
        yield [T, window], f"for T = {T} and window = {window}"
    yield {"T": 4, "window": 2}, "with arguments given by name"


EXERCISE = Exercise(
    Check("open within the window, blocked before and after it", 2.0, _slides),
    Check("windows of 1, of T and of more than T", 1.0, _edges),
    takes="number",
    gives="tensor",
    harmless=("gradient_cut_off", "single_precision", "single_precision_inside", "global_generator"),
    library_equivalent=r"""
def sliding_window_mask(T, window):
    causal = nn.Transformer.generate_square_subsequent_mask(T).isinf()
    return causal | causal.T.roll(window - 1, dims=0).tril(-window)
""",
)
