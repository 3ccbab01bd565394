"""`embedding_cost`: the count and the mebibytes of five tables; the mistakes are units, bytes per number and types."""

from itertools import starmap
from typing import Any

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    ValuesDiffer,
    Wrong,
    a_pair,
    an_int,
    cases_of,
    kind,
    other_sizes,
)


def _same_count(got: Any, right: tuple[int, float], _: str, where: str) -> None:
    if an_int(a_pair(got, "(parameters, mebibytes)")[0], f"The number of parameters {where}") != right[0]:
        raise ValuesDiffer(f"The number of parameters {where} is wrong: a table has V rows of C numbers.")


def _same_memory(got: Any, right: tuple[int, float], _: str, where: str) -> None:
    mebibytes = a_pair(got, "(parameters, mebibytes)")[1]
    if type(mebibytes) is not float:
        raise Wrong(f"The mebibytes {where} should be a float; yours are {kind(mebibytes)}.")
    if not abs(mebibytes - right[1]) < 0.0051:  # rounded to two digits is as good
        raise ValuesDiffer(f"The mebibytes {where} are wrong: 4 bytes a float32, 2**20 bytes a mebibyte.")


def _tables() -> Cases:
    for V, C in starmap(other_sizes, ((32100, 512), (32100, 128), (50257, 64), (1000, 300), (30522, 768))):
        yield [V, C], f"for vocab_size = {V} and embed_dim = {C}"


@cases_of("embedding_cost", same=_same_count)
def _parameters() -> Cases:
    yield from _tables()
    yield {"vocab_size": 30, "embed_dim": 2}, "with arguments given by name"


EXERCISE = Exercise(
    Check("the number of parameters", 0.5, _parameters),
    Check("mebibytes in float32", 0.5, cases_of("embedding_cost", same=_same_memory)(_tables)),
    takes="number",
    gives="tuple",
    harmless=("global_generator",),
    library_equivalent=r"""
def embedding_cost(vocab_size, embed_dim):
    weight = torch.nn.Embedding(vocab_size, embed_dim, device="meta").weight
    return weight.numel(), weight.numel() * weight.element_size() / 1024**2
""",
)
