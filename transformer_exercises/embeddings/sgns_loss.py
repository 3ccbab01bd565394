"""`sgns_loss`: values for sizes that all differ, scores of ±1e4, gradients in all three arguments."""

import torch

from autograder.spec import Cases, Check, Exercise, behaves, cases_of, device, gradients, normal

cases = cases_of("sgns_loss")
NAMES = ["centre", "context", "negatives"]


def _inputs(B: int, K: int, C: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [normal(B, C, dtype=dtype), normal(B, C, dtype=dtype), normal(B, K, C, dtype=dtype)]


def _extreme(positive: float, negative: float) -> list[torch.Tensor]:
    """Return inputs whose scores with the context are all `positive`, and with the negatives all `negative`."""
    return [torch.full((2, 4), 10.0), torch.full((2, 4), positive / 40), torch.full((2, 3, 4), negative / 40)]


@cases
def _values() -> Cases:
    for B, K, C in (
        *((4, 3, 5), (3, 1, 4), (1, 4, 6), (2, 5, 3), (3, 3, 3)),
        *((1, 1, 2), (5, 5, 2), (6, 2, 1), (2, 15, 20), (1, 1, 1)),
    ):
        yield _inputs(B, K, C), f"for B = {B}, K = {K}, C = {C}"
    yield [torch.zeros_like(t) for t in _inputs(3, 4, 2)], "when all vectors are zero"


@cases
def _stable() -> Cases:
    scores = ((-1e4, 1.0), (1.0, 1e4), (1e4, -1e4), (-1e4, 1e4), (-200.0, 0.5), (0.5, 200.0), (-30.0, -30.0))
    for positive, negative in scores:
        where = f"when the scores with contexts are {positive:g} and with negatives {negative:g}"
        yield _extreme(positive, negative), where, True
    yield gradients(_extreme(-1e4, 1e4), NAMES, where="for scores of ±1e4")


@cases
def _gradient() -> Cases:
    for B, K, C in ((4, 3, 5), (2, 1, 3), (3, 3, 3)):
        yield gradients(_inputs(B, K, C), NAMES, where=f"for B = {B}, K = {K}, C = {C}")


@cases
def _side_effects() -> Cases:
    for dtype in (torch.float32, torch.float64):
        yield behaves(_inputs(3, 4, 5, dtype), ", ".join(NAMES))
    args = [normal(5, 3).T, normal(5, 3).T, normal(4, 3, 5).transpose(0, 1)]
    yield args, "for transposes (not contiguous)"
    yield dict(zip(NAMES, args, strict=True)), "with arguments given by name"
    yield device(_inputs(3, 4, 5))


EXERCISE = Exercise(
    Check("values, for many combinations of sizes", 2.25, _values),
    Check("stable for scores of ±1e4", 1.0, _stable, dependent=True),
    Check("gradients reach centre, context and negatives", 1.0, _gradient, dependent=True),
    Check("float64, inputs unchanged, device", 0.75, _side_effects, dependent=True),
    takes="tensor",
    gives="scalar",
    harmless=("single_precision", "squeezed", "list_returned", "global_generator"),
    library_equivalent=r"""
def sgns_loss(centre, context, negatives):
    scores = torch.cat([context[:, None], negatives], dim=1) @ centre[:, :, None]
    labels = torch.zeros_like(scores)
    labels[:, 0] = 1
    return F.binary_cross_entropy_with_logits(scores, labels, reduction="sum") / len(centre)
""",
)
