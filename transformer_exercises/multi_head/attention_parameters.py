"""`attention_parameters`: the number for many widths; the mistakes are biases, forgotten projections, heads counted."""

from autograder.spec import Cases, Check, Exercise, cases_of, drawn, same_count

cases = cases_of("attention_parameters", same=lambda got, expected, what, where: same_count(got, expected, where))


def _widths(*known: int) -> tuple[int, ...]:
    """Return embed_dim of each case; drawn ones are none of the small numbers that everybody is asked."""
    return drawn(known, lambda rng: tuple(rng.sample(range(11, 512), len(known))))


@cases
def _with() -> Cases:
    for C in _widths(1, 2, 3, 8, 10, 64, 512, 768):
        yield [C], f"for embed_dim = {C}, with biases"
    yield [*_widths(6), True], "with bias=True given by position"


@cases
def _without() -> Cases:
    for C in _widths(1, 2, 3, 8, 10, 64, 512):
        yield ([C], {"bias": False}), f"for embed_dim = {C}, with bias=False"
    yield [*_widths(6), False], "with bias=False given by position"
    yield {"embed_dim": _widths(5)[0], "bias": False}, "with arguments given by name"


EXERCISE = Exercise(
    Check("with biases", 1.2, _with),
    Check("without biases", 0.8, _without),
    takes="number",
    gives="number",
    harmless=("rounded", "global_generator"),
    library_equivalent=r"""
def attention_parameters(embed_dim, bias=True):
    module = nn.MultiheadAttention(embed_dim, 1, bias=bias, device="meta")
    return sum(p.numel() for p in module.parameters())
""",
)
