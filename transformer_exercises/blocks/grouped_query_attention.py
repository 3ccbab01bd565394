"""`grouped_query_attention`: sizes that all differ, from a group for each head to one for all; masks; gradients."""

from typing import Any

import torch

from autograder.spec import (
    Ban,
    Cases,
    Check,
    Exercise,
    behaves,
    cases_of,
    device,
    future,
    gradients,
    normal,
    refuses,
    slices,
    some_mask,
    valid,
)

cases = cases_of("grouped_query_attention")

SIZES = (  # B, H, G, T, S, d_k, d_v: different sizes, one group, one a head, odd sizes, one token, as in use
    *((2, 6, 3, 4, 5, 7, 8), (3, 4, 2, 5, 5, 3, 3), (2, 4, 1, 3, 5, 6, 2), (1, 3, 3, 4, 6, 5, 7)),
    *((2, 9, 3, 1, 4, 2, 5), (1, 8, 2, 3, 3, 4, 4), (4, 4, 2, 4, 4, 4, 4), (2, 1, 1, 2, 3, 4, 5)),
    *((2, 6, 2, 5, 1, 3, 4), (2, 10, 5, 13, 17, 1, 1), (1, 32, 8, 5, 6, 128, 128), (1, 4, 2, 600, 520, 4, 4)),
)


def _qkv(B: int, H: int, G: int, T: int, S: int, d_k: int, d_v: int, **options: Any) -> list[torch.Tensor]:
    return [normal(*shape, **options) for shape in ((B, H, T, d_k), (B, G, S, d_k), (B, G, S, d_v))]


def _said(B: int, H: int, G: int, T: int, S: int, d_k: int, d_v: int) -> str:
    return f"for B = {B}, {H} query heads, {G} of keys and values, T = {T}, S = {S}, d_k = {d_k}, d_v = {d_v}"


@cases
def _values() -> Cases:
    for sizes in SIZES:
        yield _qkv(*sizes), _said(*sizes)


@cases
def _which_group() -> Cases:
    """Ask with all keys alike: a head's output is the mean of its group's values, so it shows which group it read."""
    for H, G in ((6, 2), (6, 3), (8, 4), (4, 1), (5, 5)):
        V = torch.arange(1.0, G + 1)[None, :, None, None].expand(2, G, 5, 6).clone()
        where = f"where every value holds the number of its group, with {H} query heads on {G}"
        yield [normal(2, H, 3, 4), torch.ones(2, G, 5, 4), V], where


@cases
def _masks() -> Cases:
    for sizes in ((2, 6, 3, 4, 5, 7, 8), (3, 4, 2, 5, 5, 3, 6), (2, 4, 1, 3, 6, 2, 5), (2, 3, 3, 4, 4, 5, 2)):
        B, _, _, T, S, *_ = sizes
        args, message = _qkv(*sizes), _said(*sizes)
        yield [*args, some_mask(T, S)], f"with a mask (T, S), {message}"
        yield [*args, some_mask(B, 1, T, S)], f"with a mask (B, 1, T, S), another one for each sequence, {message}"
        yield [*args, torch.zeros(T, S, dtype=torch.bool)], f"with a mask that blocks nothing, {message}"
    yield [*_qkv(2, 6, 2, 5, 5, 4, 3), future(5)], "with a causal mask as the fourth argument"
    yield [*_qkv(3, 4, 2, 1, 6, 4, 3), some_mask(3, 1, 1, 6)], "with a mask (B, 1, T, S) for a single query"
    yield [*_qkv(1, 4, 2, 3, 6, 4, 3), some_mask(1, 1, 3, 6)], "with a mask (B, 1, T, S) for a single sequence"
    yield [*_qkv(1, 4, 2, 300, 300, 4, 3), future(300)], "with a causal mask for 300 tokens"
    blocked = torch.arange(5) == 2
    mask, far = blocked.repeat(3, 1), torch.where(blocked, 1e4, 1.0)[:, None]
    Q, K, V = _qkv(2, 4, 2, 3, 5, 4, 6)
    Q, K = Q.abs(), K.abs()
    yield [Q, K * far, V * far, mask], "with a blocked key that would have scored far above the others"
    yield [-1e6 * Q, 1e6 * K, V, mask], "where all allowed scores are far below zero (and below any finite fill)"


@cases
def _refused() -> Cases:
    yield valid(_qkv(2, 4, 2, 3, 5, 4, 6), "for 4 query heads on 2 of keys and values")
    for H, G in ((6, 4), (5, 2), (3, 6), (2, 3)):
        yield refuses(_qkv(2, H, G, 3, 5, 4, 6), f"{H} query heads on {G} heads of keys and values")


@cases
def _gradient() -> Cases:
    for sizes, dtype in (((2, 6, 3, 4, 5, 7, 8), torch.float32), ((1, 4, 2, 3, 5, 2, 3), torch.float64)):
        for mask in ([], [some_mask(*sizes[3:5])]):
            args, where = _qkv(*sizes, dtype=dtype), _said(*sizes)
            yield [*args, *mask], where
            yield gradients(args, ["Q", "K", "V"], mask, where)


@cases
def _side_effects() -> Cases:
    args, mask = _qkv(2, 6, 3, 4, 5, 7, 8), some_mask(4, 5)
    yield behaves([*args, mask], "Q, K, V or mask")
    yield _qkv(2, 4, 2, 3, 5, 4, 6, dtype=torch.float64), "in float64"
    Q, K, V = _qkv(2, 4, 2, 3, 5, 4, 6)
    yield [100 * Q, 100 * K, V], "for scores beyond 1e4"
    turned = [normal(2, n, heads, width).transpose(1, 2) for n, heads, width in ((4, 6, 5), (7, 2, 5), (7, 2, 3))]
    yield turned, "for heads cut out with `.transpose(1, 2)` (not contiguous)"
    yield dict(zip("QKV", args, strict=True)), "with the arguments given by name"
    yield slices(args, {"mask": mask}, "for slices of tensors, and a mask given by name")
    yield device(args)
    yield device([*args, mask])


EXERCISE = Exercise(
    Check("values, for many numbers of heads and groups", 1.0, _values),
    Check("each head reads the group of its own block", 0.5, _which_group),
    Check("masks (T, S) and (B, 1, T, S), True = blocked", 0.5, _masks, dependent=True),
    Check("heads that the groups do not divide are a ValueError", 0.25, _refused, dependent=True),
    Check("gradients reach Q, K and V", 0.25, _gradient, dependent=True),
    Check("inputs unchanged, float64, large scores, any layout, device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("global_generator",),
    ban=Ban("attention", "`F.scaled_dot_product_attention`, `nn.MultiheadAttention` and their relatives"),
    library_equivalent=r"""
def grouped_query_attention(Q, K, V, mask=None):
    if Q.shape[1] % K.shape[1]:
        raise ValueError("the groups must divide the query heads")
    allowed = None if mask is None else ~mask
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, enable_gqa=True)
""",
)
