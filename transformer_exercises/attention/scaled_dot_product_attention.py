"""`scaled_dot_product_attention`: five sizes that all differ, masks of every shape, blocked keys that score highest."""

from typing import Any

import torch

from autograder.spec import Cases, Check, Exercise, behaves, cases_of, device, gradients, normal

from ..attention_layers import blocked_is_zero, same_pair, striped_mask

NAME = "scaled_dot_product_attention"
cases = cases_of(NAME, same=same_pair)


def _qkv(batch: tuple[int, ...], T: int, S: int, d_k: int, d_v: int, **options: Any) -> list[torch.Tensor]:
    return [normal(*batch, T, d_k, **options), normal(*batch, S, d_k, **options), normal(*batch, S, d_v, **options)]


def _sizes(batch: tuple[int, ...], T: int, S: int, d_k: int, d_v: int) -> str:
    lead = f"batch {batch}, " if batch else ""
    return f"for {lead}T = {T}, S = {S}, d_k = {d_k}, d_v = {d_v}"


@cases
def _values() -> Cases:
    for sizes in (  # all different, then the corners and the sizes of worked examples
        *(((), 3, 5, 4, 6), ((2,), 4, 3, 5, 2), ((2, 3), 5, 4, 3, 7), ((2,), 1, 6, 2, 3), ((3,), 4, 1, 2, 5)),
        *(((1,), 2, 3, 1, 1), ((2,), 4, 4, 4, 4), ((4,), 4, 4, 9, 4), ((), 3, 3, 2, 2), ((), 3, 3, 2, 4)),
        *(((), 4, 4, 3, 3), ((2, 1, 3), 2, 4, 3, 5), ((2,), 33, 17, 8, 6), ((1,), 130, 1030, 64, 3)),
    ):
        yield _qkv(*sizes), _sizes(*sizes)
    Q, K, V = torch.tensor([[1.0, 0], [0, 1], [1, 1]]), torch.tensor([[1.0, 0], [0, 0], [1, 0]]), torch.eye(3, 2)
    yield [Q, K, V], "for whole numbers, 0 among them, and equal keys"


@cases
def _mask() -> Cases:
    for batch, T, S, *widths in (
        *(((), 3, 5, 4, 6), ((2,), 4, 5, 3, 2), ((2, 3), 4, 6, 3, 5), ((2,), 4, 4, 3, 3)),
        *(((3,), 3, 3, 2, 2), ((2,), 1, 4, 3, 2), ((2, 1, 3), 2, 4, 3, 5)),
    ):
        args, mask, where = _qkv(batch, T, S, *widths), striped_mask(T, S), _sizes(batch, T, S, *widths)
        yield (args, {"mask": mask}), f"with a (T, S) mask, {where}"
        if batch:
            own = torch.stack([mask.roll(n, 0) for n in range(batch[0])])  # (B, T, S)
            own = own.reshape(batch[0], *[1] * (len(batch) - 1), T, S)
            yield (args, {"mask": own}), f"with a mask of its own for each sequence, {where}"
    mask = torch.stack([striped_mask(3, 5), striped_mask(3, 5).roll(1, 0)])
    for batch in ((4, 2), (2, 2)):  # sequences, heads
        yield (_qkv(batch, 3, 5, 4, 2), {"mask": mask}), f"with a mask of its own for each head, batch {batch}"
    args = _qkv((2,), 3, 4, 5, 2)
    keys = torch.tensor([[[False, False, True, True]], [[False, True, False, False]]])
    for mask, where in (
        (keys, "of shape (B, 1, S) that blocks keys for all queries"),
        (keys[0], "of shape (1, S)"),
        (keys[0, 0], "of shape (S,)"),
        (torch.zeros(3, 4, dtype=torch.bool), "that blocks nothing"),
        (torch.zeros(1, 1, dtype=torch.bool), "of shape (1, 1) that blocks nothing"),
    ):
        yield (args, {"mask": mask}), f"with a mask {where}"
    yield args, "without a mask, after calls with one"
    yield [*args, keys], "with the mask given by position"


BLOCKED = torch.arange(5).expand(5, 5) == 2


def _zero_and_same(got: Any, expected: tuple, what: str, where: str) -> None:
    blocked_is_zero(got, BLOCKED, where)
    same_pair(got, expected, what, where)


@cases_of(NAME, same=_zero_and_same)
def _forbidden() -> Cases:
    """Ask that a blocked key gets exactly 0, even where every allowed score is hugely negative or it scores highest."""
    Q, K, V = _qkv((2,), 5, 5, 4, 2)
    Q, K, far = Q.abs(), K.abs(), torch.tensor([[1.0], [1], [1e12], [1], [1]])
    for args, where in (
        ([Q, K, V], "for the blocked key"),
        ([Q, K * far, V], "for a blocked key that would have scored far above the others"),
        ([-1e6 * Q, 1e6 * K, V], "where all allowed scores are far below any finite fill such as −1e9"),
    ):
        yield (args, {"mask": BLOCKED}), where


@cases
def _large() -> Cases:
    Q, K, V = _qkv((2,), 3, 5, 4, 6)
    yield [Q * 150, K * 150, V], "for scores beyond 1e4"


@cases
def _gradient() -> Cases:
    for sizes, fixed, dtype in (
        (((2,), 3, 5, 4, 6), [], torch.float32),
        (((), 4, 4, 5, 2), [striped_mask(4, 4)], torch.float32),
        (((2, 2), 3, 5, 4, 2), [striped_mask(3, 5)], torch.float64),
    ):
        where = f"{'with a mask, ' if fixed else ''}{_sizes(*sizes)}"
        yield gradients(_qkv(*sizes, dtype=dtype), ["Q", "K", "V"], fixed, where)


@cases
def _precision() -> Cases:
    args = _qkv((2,), 3, 5, 4, 6, dtype=torch.float64)
    yield args, "in float64"
    yield (args, {"mask": striped_mask(3, 5)}), "in float64 with a mask"


@cases
def _side_effects() -> Cases:
    args, mask = _qkv((2,), 3, 5, 4, 6), striped_mask(3, 5)
    yield behaves(args, "Q, K, V")
    yield behaves([*args, mask], "Q, K, V or mask")
    yield dict(zip(("Q", "K", "V", "mask"), [*args, mask], strict=True)), "with arguments given by name"
    yield [t.mT.contiguous().mT for t in args], "for tensors that are not contiguous"
    heads = [normal(2, n, 3, width).transpose(1, 2) for n, width in ((4, 5), (6, 5), (6, 2))]
    yield heads, "for heads cut out with `.transpose(1, 2)` (not contiguous)"


@cases
def _device() -> Cases:
    args = _qkv((2,), 3, 5, 4, 6)
    yield args, ""
    yield device(args)
    yield device([*args, striped_mask(3, 5)])


EXERCISE = Exercise(
    Check("values, for many combinations of sizes", 2.5, _values),
    Check("masks of every shape", 1.5, _mask, dependent=True),
    Check("a blocked key gets exactly 0", 1.0, _forbidden, dependent=True),
    Check("stable for large scores", 0.5, _large, dependent=True),
    Check("gradients, with and without a mask", 1.0, _gradient, dependent=True),
    Check("float64 stays float64, with its precision", 0.5, _precision, dependent=True),
    Check("inputs unchanged, any layout", 0.5, _side_effects, dependent=True),
    Check("stays on the inputs' device", 0.5, _device, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("list_returned", "global_generator"),
    library_equivalent=r"""
def scaled_dot_product_attention(Q, K, V, mask=None):
    allowed = None if mask is None else ~mask
    output = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)
    ones = torch.eye(K.shape[-2], dtype=V.dtype, device=V.device).expand(*K.shape[:-2], -1, -1)
    return output, F.scaled_dot_product_attention(Q, K, ones, attn_mask=allowed)
""",
)
