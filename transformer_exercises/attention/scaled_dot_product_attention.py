"""`scaled_dot_product_attention`: five sizes that all differ, masks of every shape, blocked keys that score highest.

The mistakes: every way to scale, mask and normalise wrongly, and results swapped, cut off or in another precision.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, generator_unchanged, gradients_agree, normal
from autograder.spec.student import Student

from .common import blocked_is_zero, same_pair, striped_mask

scaled_dot_product_attention = reference("scaled_dot_product_attention")

SIZES = (  # (batch dimensions, T, S, d_k, d_v): all different, then the corners and the sizes of worked examples
    ((), 3, 5, 4, 6),
    ((2,), 4, 3, 5, 2),
    ((2, 3), 5, 4, 3, 7),
    ((2,), 1, 6, 2, 3),
    ((3,), 4, 1, 2, 5),
    ((1,), 2, 3, 1, 1),
    ((2,), 4, 4, 4, 4),
    ((4,), 4, 4, 9, 4),
    ((), 3, 3, 2, 2),
    ((), 3, 3, 2, 4),
    ((), 4, 4, 3, 3),
    ((2, 1, 3), 2, 4, 3, 5),
    ((2,), 33, 17, 8, 6),
    ((1,), 70, 140, 64, 3),
)


def _qkv(batch: tuple, T: int, S: int, d_k: int, d_v: int, **options: Any) -> list[torch.Tensor]:
    return [normal(*batch, T, d_k, **options), normal(*batch, S, d_k, **options), normal(*batch, S, d_v, **options)]


def _sizes(batch: tuple, T: int, S: int, d_k: int, d_v: int) -> str:
    lead = f"batch {batch}, " if batch else ""
    return f"for {lead}T = {T}, S = {S}, d_k = {d_k}, d_v = {d_v}"


def _attend(student: Student, args: list, where: str, mask: Any = None) -> dict:
    kwargs = {} if mask is None else {"mask": mask}
    return student.call("scaled_dot_product_attention", args, kwargs, where=where)


def _sdpa_values(student: Student) -> None:
    for sizes in SIZES:
        with student.case():
            args, where = _qkv(*sizes), _sizes(*sizes)
            same_pair(_attend(student, args, where)["value"], scaled_dot_product_attention(*args), where)
    with student.case():
        Q, K, V = torch.tensor([[1.0, 0], [0, 1], [1, 1]]), torch.tensor([[1.0, 0], [0, 0], [1, 0]]), torch.eye(3, 2)
        where = "for whole numbers, 0 among them, and equal keys"
        same_pair(_attend(student, [Q, K, V], where)["value"], scaled_dot_product_attention(Q, K, V), where)


def _sdpa_mask(student: Student) -> None:
    mask: torch.Tensor | None
    sizes: tuple[tuple[int, ...], int, int, int, int]
    for sizes in (
        *(((), 3, 5, 4, 6), ((2,), 4, 5, 3, 2), ((2, 3), 4, 6, 3, 5), ((2,), 4, 4, 3, 3)),
        *(((3,), 3, 3, 2, 2), ((2,), 1, 4, 3, 2), ((2, 1, 3), 2, 4, 3, 5)),
    ):
        with student.case():
            batch, T, S, *_ = sizes
            args, mask = _qkv(*sizes), striped_mask(T, S)
            where = f"with a (T, S) mask, {_sizes(*sizes)}"
            same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)
            if batch:
                own = torch.stack([mask.roll(n, 0) for n in range(batch[0])])  # (B, T, S): a mask for each sequence
                own = own.reshape(batch[0], *[1] * (len(batch) - 1), T, S)
                where = f"with a mask of its own for each sequence, {_sizes(*sizes)}"
                same_pair(_attend(student, args, where, own)["value"], scaled_dot_product_attention(*args, own), where)
    for batch in ((4, 2), (2, 2)):  # sequences, heads
        with student.case():
            args = _qkv(batch, 3, 5, 4, 2)
            mask = torch.stack([striped_mask(3, 5), striped_mask(3, 5).roll(1, 0)])
            where = f"with a mask of its own for each head, batch {batch}"
            same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)
    args = _qkv((2,), 3, 4, 5, 2)
    keys = torch.tensor([[[False, False, True, True]], [[False, True, False, False]]])
    for mask, where in (
        (keys, "with a mask of shape (B, 1, S) that blocks keys for all queries"),
        (keys[0], "with a mask of shape (1, S)"),
        (keys[0, 0], "with a mask of shape (S,)"),
        (torch.zeros(3, 4, dtype=torch.bool), "with a mask that blocks nothing"),
        (torch.zeros(1, 1, dtype=torch.bool), "with a mask of shape (1, 1) that blocks nothing"),
        (None, "without a mask, after calls with one"),
    ):
        with student.case():
            same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)
    answer = student.value("scaled_dot_product_attention", *args, keys, where="with the mask given by position")
    same_pair(answer, scaled_dot_product_attention(*args, keys), "with the mask given by position")


def _sdpa_forbidden(student: Student) -> None:
    """A blocked key must get exactly 0, even where every allowed score is hugely negative or it scores highest."""
    Q, K, V = _qkv((2,), 5, 5, 4, 2)
    Q, K = Q.abs(), K.abs()
    mask = torch.zeros(5, 5, dtype=torch.bool)
    mask[:, 2] = True
    far = torch.ones(5, 1)
    far[2] = 1e12
    for args, where in (
        ([Q, K, V], "for the blocked key"),
        ([Q, K * far, V], "for a blocked key that would have scored far above the others"),
        (
            [-1e6 * Q, 1e6 * K, V],
            "where all allowed scores are far below zero (a finite fill such as −1e9 is then the largest)",
        ),
    ):
        with student.case():
            got = _attend(student, args, where, mask)["value"]
            blocked_is_zero(got, mask, where)
            same_pair(got, scaled_dot_product_attention(*args, mask), where)


def _sdpa_large(student: Student) -> None:
    args = _qkv((2,), 3, 5, 4, 6)
    args[0], args[1] = args[0] * 150, args[1] * 150
    where = "for scores beyond 1e4"
    same_pair(_attend(student, args, where)["value"], scaled_dot_product_attention(*args), where)


def _sdpa_gradient(student: Student) -> None:
    name = "scaled_dot_product_attention"
    for sizes, masked, dtype in (
        (((2,), 3, 5, 4, 6), False, torch.float32),
        (((), 4, 4, 5, 2), True, torch.float32),
        (((2, 2), 3, 5, 4, 2), True, torch.float64),
    ):
        with student.case():
            mask = (striped_mask(sizes[1], sizes[2]),) if masked else ()
            where = ("with a mask, " if masked else "") + _sizes(*sizes)
            args = _qkv(*sizes, dtype=dtype)
            gradients_agree(student, name, scaled_dot_product_attention, args, ["Q", "K", "V"], mask, where)


def _sdpa_precision(student: Student) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6, dtype=torch.float64), striped_mask(3, 5)
    same_pair(_attend(student, args, "in float64")["value"], scaled_dot_product_attention(*args), "in float64")
    where = "in float64 with a mask"
    same_pair(_attend(student, args, where, mask)["value"], scaled_dot_product_attention(*args, mask), where)


def _sdpa_manners(student: Student) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6), striped_mask(3, 5)
    for given in (None, mask):
        with student.case():
            answer = _attend(student, args, "", given)
            unchanged(answer["inputs"], [*args, *([] if given is None else [given])], "Q, K, V or mask")
            generator_unchanged(answer)
    again = "when called a second time"
    same_pair(_attend(student, args, again)["value"], scaled_dot_product_attention(*args), again)
    with student.case():
        where, named = "with arguments given by name", dict(zip(("Q", "K", "V", "mask"), [*args, mask], strict=True))
        got = student.call("scaled_dot_product_attention", [], named, where=where)["value"]
        same_pair(got, scaled_dot_product_attention(*args, mask), where)
    heads = [normal(2, n, 3, width).transpose(1, 2) for n, width in ((4, 5), (6, 5), (6, 2))]
    for turned, where in (
        ([t.mT.contiguous().mT for t in args], "for tensors that are not contiguous"),
        (heads, "for heads cut out with `.transpose(1, 2)` (not contiguous)"),
    ):
        with student.case():
            same_pair(_attend(student, turned, where)["value"], scaled_dot_product_attention(*turned), where)


def _sdpa_device(student: Student) -> None:
    args, mask = _qkv((2,), 3, 5, 4, 6), striped_mask(3, 5)
    same_pair(_attend(student, args, "")["value"], scaled_dot_product_attention(*args), "")
    device_is_kept(student, "scaled_dot_product_attention", args)
    device_is_kept(student, "scaled_dot_product_attention", [*args, mask])


EXERCISE = Exercise(
    points=8,
    checks=[
        Check("values, for many combinations of sizes", 2.5, _sdpa_values),
        Check("masks of every shape", 1.5, _sdpa_mask, further=True),
        Check("a blocked key gets exactly 0", 1.0, _sdpa_forbidden, further=True),
        Check("stable for large scores", 0.5, _sdpa_large, further=True),
        Check("gradients, with and without a mask", 1.0, _sdpa_gradient, further=True),
        Check("float64 stays float64, with its precision", 0.5, _sdpa_precision, further=True),
        Check("inputs unchanged, any layout", 0.5, _sdpa_manners, further=True),
        Check("stays on the inputs' device", 0.5, _sdpa_device, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def scaled_dot_product_attention(Q, K, V, mask=None):
    allowed = None if mask is None else ~mask
    output = F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed)
    ones = torch.eye(K.shape[-2], dtype=V.dtype, device=V.device).expand(*K.shape[:-2], -1, -1)
    return output, F.scaled_dot_product_attention(Q, K, ones, attn_mask=allowed)
""",
    takes="tensor",
    gives="tensor",
)
