"""`block_parameters`: the number for many sizes; the mistakes forget biases, norms, projections or a width."""

from itertools import starmap

from autograder.spec import Cases, Check, Exercise, cases_of, other_sizes, same_count

cases = cases_of("block_parameters", same=lambda got, expected, what, where: same_count(got, expected, where))


@cases
def _count() -> Cases:
    known = (2, 3), (1, 1), (3, 5), (4, 16), (5, 2), (8, 8), (64, 256), (128, 512), (768, 3072)
    for C, F_ in starmap(other_sizes, known):
        yield [C, F_], f"for embed_dim = {C} and ff_dim = {F_}"


@cases
def _by_name() -> Cases:
    for C, F_ in starmap(other_sizes, ((3, 7), (6, 2))):
        yield {"ff_dim": F_, "embed_dim": C}, f"with embed_dim={C} and ff_dim={F_} given by name"


EXERCISE = Exercise(
    Check("the number, for many sizes", 1.75, _count),
    Check("arguments by name", 0.25, _by_name, dependent=True),
    takes="number",
    gives="number",
    harmless=("rounded", "other_signature", "global_generator"),
    library_equivalent=r"""
def block_parameters(embed_dim, ff_dim):
    layer = nn.TransformerEncoderLayer(embed_dim, 1, ff_dim, device="meta")
    return sum(p.numel() for p in layer.parameters())
""",
)
