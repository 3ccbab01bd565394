"""`scaled_dot_product_attention`: five sizes that all differ, masks of every shape, blocked keys that score highest."""

from typing import Any

import torch

from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from ..asking import Cases, asks, behaves, device, gradients
from ..attention_layers import blocked_is_zero, same_pair, striped_mask

NAME = "scaled_dot_product_attention"
scaled_dot_product_attention = reference(NAME)
asked = asks(NAME, same=lambda got, expected, _, where="": same_pair(got, expected, where))

Sizes = tuple[tuple[int, ...], int, int, int, int]  # batch dimensions, T, S, d_k, d_v

SIZES: tuple[Sizes, ...] = (  # all different, then the corners and the sizes of worked examples
    *(((), 3, 5, 4, 6), ((2,), 4, 3, 5, 2), ((2, 3), 5, 4, 3, 7), ((2,), 1, 6, 2, 3), ((3,), 4, 1, 2, 5)),
    *(((1,), 2, 3, 1, 1), ((2,), 4, 4, 4, 4), ((4,), 4, 4, 9, 4), ((), 3, 3, 2, 2), ((), 3, 3, 2, 4)),
    *(((), 4, 4, 3, 3), ((2, 1, 3), 2, 4, 3, 5), ((2,), 33, 17, 8, 6), ((1,), 130, 1030, 64, 3)),
)

MASKED: tuple[Sizes, ...] = (
    *(((), 3, 5, 4, 6), ((2,), 4, 5, 3, 2), ((2, 3), 4, 6, 3, 5), ((2,), 4, 4, 3, 3)),
    *(((3,), 3, 3, 2, 2), ((2,), 1, 4, 3, 2), ((2, 1, 3), 2, 4, 3, 5)),
)


def _qkv(batch: tuple[int, ...], T: int, S: int, d_k: int, d_v: int, **options: Any) -> list[torch.Tensor]:
    return [normal(*batch, T, d_k, **options), normal(*batch, S, d_k, **options), normal(*batch, S, d_v, **options)]


def _sizes(batch: tuple[int, ...], T: int, S: int, d_k: int, d_v: int) -> str:
    lead = f"batch {batch}, " if batch else ""
    return f"for {lead}T = {T}, S = {S}, d_k = {d_k}, d_v = {d_v}"


@asked
def _values() -> Cases:
    for sizes in SIZES:
        yield _qkv(*sizes), _sizes(*sizes)
    Q, K, V = torch.tensor([[1.0, 0], [0, 1], [1, 1]]), torch.tensor([[1.0, 0], [0, 0], [1, 0]]), torch.eye(3, 2)
    yield [Q, K, V], "for whole numbers, 0 among them, and equal keys"


@asked
def _mask() -> Cases:
    for sizes in MASKED:
        batch, T, S, *_ = sizes
        args, mask = _qkv(*sizes), striped_mask(T, S)
        yield (args, {"mask": mask}), f"with a (T, S) mask, {_sizes(*sizes)}"
        if batch:
            own = torch.stack([mask.roll(n, 0) for n in range(batch[0])])  # (B, T, S)
            own = own.reshape(batch[0], *[1] * (len(batch) - 1), T, S)
            yield (args, {"mask": own}), f"with a mask of its own for each sequence, {_sizes(*sizes)}"
    for batch in ((4, 2), (2, 2)):  # sequences, heads
        mask = torch.stack([striped_mask(3, 5), striped_mask(3, 5).roll(1, 0)])
        yield (_qkv(batch, 3, 5, 4, 2), {"mask": mask}), f"with a mask of its own for each head, batch {batch}"
    args = _qkv((2,), 3, 4, 5, 2)
    keys = torch.tensor([[[False, False, True, True]], [[False, True, False, False]]])
    for given, where in (
        (keys, "with a mask of shape (B, 1, S) that blocks keys for all queries"),
        (keys[0], "with a mask of shape (1, S)"),
        (keys[0, 0], "with a mask of shape (S,)"),
        (torch.zeros(3, 4, dtype=torch.bool), "with a mask that blocks nothing"),
        (torch.zeros(1, 1, dtype=torch.bool), "with a mask of shape (1, 1) that blocks nothing"),
    ):
        yield (args, {"mask": given}), where
    yield args, "without a mask, after calls with one"
    yield [*args, keys], "with the mask given by position"


def _forbidden(student: Student) -> None:
    """Ask that a blocked key gets exactly 0, even where every allowed score is hugely negative or it scores highest."""
    Q, K, V = _qkv((2,), 5, 5, 4, 2)
    Q, K = Q.abs(), K.abs()
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    far = torch.ones(5, 1)
    far[2] = 1e12
    for args, where in (
        ([Q, K, V], "for the blocked key"),
        ([Q, K * far, V], "for a blocked key that would have scored far above the others"),
        ([-1e6 * Q, 1e6 * K, V], "where all allowed scores are far below any finite fill such as −1e9"),
    ):
        with student.case():
            got = student.call(NAME, args, {"mask": mask}, where=where)["value"]
            blocked_is_zero(got, mask, where)
            same_pair(got, scaled_dot_product_attention(*args, mask), where)


@asked
def _large() -> Cases:
    Q, K, V = _qkv((2,), 3, 5, 4, 6)
    yield [Q * 150, K * 150, V], "for scores beyond 1e4"


@asked
def _gradient() -> Cases:
    cases: tuple[tuple[Sizes, bool, torch.dtype], ...] = (
        (((2,), 3, 5, 4, 6), False, torch.float32),
        (((), 4, 4, 5, 2), True, torch.float32),
        (((2, 2), 3, 5, 4, 2), True, torch.float64),
    )
    for sizes, masked, dtype in cases:
        mask, where = ([striped_mask(sizes[1], sizes[2])], "with a mask, ") if masked else ([], "")
        yield gradients(_qkv(*sizes, dtype=dtype), ["Q", "K", "V"], mask, where + _sizes(*sizes))


@asked
def _precision() -> Cases:
    args = _qkv((2,), 3, 5, 4, 6, dtype=torch.float64)
    yield args, "in float64"
    yield (args, {"mask": striped_mask(3, 5)}), "in float64 with a mask"


@asked
def _manners() -> Cases:
    args, mask = _qkv((2,), 3, 5, 4, 6), striped_mask(3, 5)
    yield behaves(args, "Q, K, V")
    yield behaves([*args, mask], "Q, K, V or mask")
    yield dict(zip(("Q", "K", "V", "mask"), [*args, mask], strict=True)), "with arguments given by name"
    heads = [normal(2, n, 3, width).transpose(1, 2) for n, width in ((4, 5), (6, 5), (6, 2))]
    yield [t.mT.contiguous().mT for t in args], "for tensors that are not contiguous"
    yield heads, "for heads cut out with `.transpose(1, 2)` (not contiguous)"


@asked
def _device() -> Cases:
    args = _qkv((2,), 3, 5, 4, 6)
    yield args, ""
    yield device(args)
    yield device([*args, striped_mask(3, 5)])


EXERCISE = Exercise(
    Check("values, for many combinations of sizes", 2.5, _values),
    Check("masks of every shape", 1.5, _mask, further=True),
    Check("a blocked key gets exactly 0", 1.0, _forbidden, further=True),
    Check("stable for large scores", 0.5, _large, further=True),
    Check("gradients, with and without a mask", 1.0, _gradient, further=True),
    Check("float64 stays float64, with its precision", 0.5, _precision, further=True),
    Check("inputs unchanged, any layout", 0.5, _manners, further=True),
    Check("stays on the inputs' device", 0.5, _device, further=True),
    working=r"""
def scaled_dot_product_attention(Q, K, V, mask=None):
    allowed = None if mask is None else ~mask
    output = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)
    ones = torch.eye(K.shape[-2], dtype=V.dtype, device=V.device).expand(*K.shape[:-2], -1, -1)
    return output, F.scaled_dot_product_attention(Q, K, ones, attn_mask=allowed)
""",
)
