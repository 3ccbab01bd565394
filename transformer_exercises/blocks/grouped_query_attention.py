"""`grouped_query_attention`: sizes that all differ, from a group for each head to one for all; masks; gradients.

The mistakes: query heads dealt out like cards instead of in blocks, groups repeated or averaged wrongly, wrong scales.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Ban, Check, Exercise
from autograder.spec.inputs import (
    device_is_kept,
    future,
    generator_unchanged,
    gradients_agree,
    normal,
    raises_error,
    sliced,
    some_mask,
)
from autograder.spec.student import Student

from .common import OUTPUT

NAME = "grouped_query_attention"
grouped_query_attention = reference(NAME)

SIZES = (  # B, H, G, T, S, d_k, d_v: all different, one group, a group for each head, odd sizes, one token, as in real use
    *(
        (2, 6, 3, 4, 5, 7, 8),
        (3, 4, 2, 5, 5, 3, 3),
        (2, 4, 1, 3, 5, 6, 2),
        (1, 3, 3, 4, 6, 5, 7),
        (2, 9, 3, 1, 4, 2, 5),
    ),
    *(
        (1, 8, 2, 3, 3, 4, 4),
        (4, 4, 2, 4, 4, 4, 4),
        (2, 1, 1, 2, 3, 4, 5),
        (2, 6, 2, 5, 1, 3, 4),
        (2, 10, 5, 13, 17, 1, 1),
    ),
    *((1, 32, 8, 5, 6, 128, 128), (1, 4, 2, 600, 520, 4, 4)),
)


def _qkv(B: int, H: int, G: int, T: int, S: int, d_k: int, d_v: int, **options: Any) -> list[torch.Tensor]:
    shapes = ((B, H, T, d_k), (B, G, S, d_k), (B, G, S, d_v))
    return [normal(*shape, **options) for shape in shapes]


def _said(B: int, H: int, G: int, T: int, S: int, d_k: int, d_v: int) -> str:
    return f"for B = {B}, {H} query heads, {G} of keys and values, T = {T}, S = {S}, d_k = {d_k}, d_v = {d_v}"


def _values(student: Student) -> None:
    for sizes in SIZES:
        with student.case():
            args, where = _qkv(*sizes), _said(*sizes)
            same_tensor(student.value(NAME, *args, where=where), grouped_query_attention(*args), OUTPUT, where)


def _which_group(student: Student) -> None:
    """All keys alike: a head's output is the mean of its group's values, so it shows which group it read."""
    for H, G in ((6, 2), (6, 3), (8, 4), (4, 1), (5, 5)):
        with student.case():
            Q, K = normal(2, H, 3, 4), torch.ones(2, G, 5, 4)
            V = torch.arange(1.0, G + 1)[None, :, None, None].expand(2, G, 5, 6).clone()
            where = f"where every value holds the number of its group, with {H} query heads on {G}"
            same_tensor(student.value(NAME, Q, K, V, where=where), grouped_query_attention(Q, K, V), OUTPUT, where)


def _masks(student: Student) -> None:
    for sizes in ((2, 6, 3, 4, 5, 7, 8), (3, 4, 2, 5, 5, 3, 6), (2, 4, 1, 3, 6, 2, 5), (2, 3, 3, 4, 4, 5, 2)):
        B, _, _, T, S, *_ = sizes
        args = _qkv(*sizes)
        for mask, where in (
            (some_mask(T, S), "with a mask (T, S)"),
            (some_mask(B, 1, T, S), "with a mask (B, 1, T, S), another one for each sequence"),
            (torch.zeros(T, S, dtype=torch.bool), "with a mask that blocks nothing"),
        ):
            with student.case():
                said = f"{where}, {_said(*sizes)}"
                got = student.call(NAME, args, {"mask": mask}, where=said)["value"]
                same_tensor(got, grouped_query_attention(*args, mask), OUTPUT, said)
    with student.case():
        args, where = _qkv(2, 6, 2, 5, 5, 4, 3), "with a causal mask as the fourth argument"
        mask = future(5)
        same_tensor(student.value(NAME, *args, mask, where=where), grouped_query_attention(*args, mask), OUTPUT, where)
    for sizes, mask, where in (
        ((3, 4, 2, 1, 6, 4, 3), some_mask(3, 1, 1, 6), "with a mask (B, 1, T, S) for a single query"),
        ((1, 4, 2, 3, 6, 4, 3), some_mask(1, 1, 3, 6), "with a mask (B, 1, T, S) for a single sequence"),
        ((1, 4, 2, 300, 300, 4, 3), future(300), "with a causal mask for 300 tokens"),
    ):
        with student.case():
            args = _qkv(*sizes)
            got = student.value(NAME, *args, mask, where=where)
            same_tensor(got, grouped_query_attention(*args, mask), OUTPUT, where)
    mask = torch.zeros(3, 5, dtype=torch.bool)
    mask[:, 2] = True
    far = torch.ones(5, 1)
    far[2] = 1e4
    Q, K, V = _qkv(2, 4, 2, 3, 5, 4, 6)
    Q, K = Q.abs(), K.abs()
    for given, where in (
        ([Q, K * far, V * far], "with a blocked key that would have scored far above the others"),
        ([-1e6 * Q, 1e6 * K, V], "where all allowed scores are far below zero (and below any finite fill)"),
    ):
        with student.case():
            got = student.value(NAME, *given, mask, where=where)
            same_tensor(got, grouped_query_attention(*given, mask), OUTPUT, where)


def _refused(student: Student) -> None:
    args = _qkv(2, 4, 2, 3, 5, 4, 6)
    same_tensor(student.value(NAME, *args), grouped_query_attention(*args), OUTPUT)
    for H, G in ((6, 4), (5, 2), (3, 6), (2, 3)):
        with student.case(), raises_error(f"{H} query heads on {G} heads of keys and values"):
            student.value(NAME, *_qkv(2, H, G, 3, 5, 4, 6))


def _gradient(student: Student) -> None:
    for sizes, dtype in (((2, 6, 3, 4, 5, 7, 8), torch.float32), ((1, 4, 2, 3, 5, 2, 3), torch.float64)):
        for masked in (False, True):
            with student.case():
                args, where = _qkv(*sizes, dtype=dtype), _said(*sizes)
                given = (some_mask(*sizes[3:5]),) if masked else ()
                got = student.value(NAME, *args, *given, where=where)
                same_tensor(got, grouped_query_attention(*args, *given), OUTPUT, where)
                gradients_agree(student, NAME, grouped_query_attention, args, ["Q", "K", "V"], given, where)


def _manners(student: Student) -> None:
    args, mask = _qkv(2, 6, 3, 4, 5, 7, 8), some_mask(4, 5)
    answer = student.call(NAME, [*args, mask])
    same_tensor(answer["value"], grouped_query_attention(*args, mask), OUTPUT)
    unchanged(answer["inputs"], [*args, mask], "Q, K, V or mask")
    generator_unchanged(answer)
    with student.case():
        wide = _qkv(2, 4, 2, 3, 5, 4, 6, dtype=torch.float64)
        got = student.value(NAME, *wide, where="in float64")
        same_tensor(got, grouped_query_attention(*wide), OUTPUT, "in float64")
    with student.case():
        large = _qkv(2, 4, 2, 3, 5, 4, 6)
        large[0], large[1] = 100 * large[0], 100 * large[1]
        where = "for scores beyond 1e4"
        same_tensor(student.value(NAME, *large, where=where), grouped_query_attention(*large), OUTPUT, where)
    with student.case():
        turned = [normal(2, n, heads, width).transpose(1, 2) for n, heads, width in ((4, 6, 5), (7, 2, 5), (7, 2, 3))]
        where = "for heads cut out with `.transpose(1, 2)` (not contiguous)"
        same_tensor(student.value(NAME, *turned, where=where), grouped_query_attention(*turned), OUTPUT, where)
    with student.case():
        named, where = dict(zip("QKV", args, strict=True)), "with the arguments given by name"
        same_tensor(student.value(NAME, **named, where=where), grouped_query_attention(*args), OUTPUT, where)
    with student.case():
        where = "for slices of tensors, and a mask given by name"
        parts = [sliced(student, tensor) for tensor in args]
        got = student.value(NAME, *parts, mask=sliced(student, mask), where=where)
        same_tensor(got, grouped_query_attention(*args, mask), OUTPUT, where)
    device_is_kept(student, NAME, args)
    device_is_kept(student, NAME, [*args, mask])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("values, for many numbers of heads and groups", 1.0, _values),
        Check("each head reads the group of its own block", 0.5, _which_group),
        Check("masks (T, S) and (B, 1, T, S), True = blocked", 0.5, _masks, further=True),
        Check("heads that the groups do not divide are a ValueError", 0.25, _refused),
        Check("gradients reach Q, K and V", 0.25, _gradient, further=True),
        Check("inputs unchanged, float64, large scores, any layout, device", 0.5, _manners, further=True),
    ],
    ban=Ban(
        pattern="attention",
        without="`F.scaled_dot_product_attention`, `nn.MultiheadAttention` and their relatives",
    ),
    working=r"""
import torch.nn.functional as F

def grouped_query_attention(Q, K, V, mask=None):
    if Q.shape[1] % K.shape[1]:
        raise ValueError("the groups must divide the query heads")
    allowed = None if mask is None else ~mask
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, enable_gqa=True)
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "gradient_cut_off",
        "input_changed",
        "single_precision",
        "double_precision",
        "single_precision_inside",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
        "global_generator",
        "error_of_another_type",
        "error_returned",
        "bad_input_accepted",
    ),
    wrong=r"""
dealt_out: The query heads are dealt out like cards (head h reads group h mod G): neighbours belong together, head h reads group h // (H / G).
    `repeat` repeats the whole row of groups, `repeat_interleave` each group on its own.
- repeat_interleave(H // G, dim=1) => repeat(1, H // G, 1, 1)
values_dealt_out: Keys and values of a head come from different groups: both are repeated in the same way.
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V)) => K, V = K.repeat_interleave(H // G, dim=1), V.repeat(1, H // G, 1, 1)
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V)) => K, V = K.repeat(1, H // G, 1, 1), V.repeat_interleave(H // G, dim=1)
first_group_for_all: All heads read the same group: head h reads group h // (H / G).
- heads.repeat_interleave(H // G, dim=1) => heads[:, :1].expand(-1, H, -1, -1)
- heads.repeat_interleave(H // G, dim=1) => heads[:, -1:].expand(-1, H, -1, -1)
groups_averaged: The groups are averaged into one: each group of query heads reads keys and values of its own.
- repeat_interleave(H // G, dim=1) => mean(dim=1, keepdim=True)
groups_reversed (slip): The groups are in reverse order: heads 0, 1, … read group 0.
- repeat_interleave(H // G, dim=1) => repeat_interleave(H // G, dim=1).flip(1)
queries_averaged: The query heads of a group are averaged: all H of them ask, only keys and values are shared. Out come H heads.
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V)) => Q = Q.unflatten(1, (G, H // G)).mean(dim=2)
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V)) => Q = Q[:, :: H // G]
repeated_tokens: The tokens are repeated, not the heads: dimension 1 counts heads, dimension 2 tokens.
- repeat_interleave(H // G, dim=1) => repeat_interleave(H // G, dim=2)
- heads.repeat_interleave(H // G, dim=1) => heads.reshape(len(Q), H, -1, heads.shape[-1])
not_shared: Keys or values are not brought to H heads, so it works with as many groups as heads only (or with one).
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))  # (B, H, S, d) =>
heads_per_group (slip): H and G have changed places, or each group is repeated G times: it serves H / G query heads.
- repeat_interleave(H // G, dim=1) => repeat_interleave(G, dim=1)
group_size_fixed: The number of query heads in a group is a fixed number: it is H / G.
- repeat_interleave(H // G, dim=1) => repeat_interleave(2, dim=1) || repeat_interleave(4, dim=1) || repeat_interleave(8, dim=1)
grouped_output: The result has the shape (B, G, H / G, T, d_v): flatten groups and members to heads again, (B, H, T, d_v).
- in without_copies
  .flatten(1, 2) =>
heads_merged: The heads are merged in the result: (B, H, T, d_v) is asked for; merging is the layer's next step.
- torch.softmax(scores, dim=-1) @ V => (torch.softmax(scores, dim=-1) @ V).transpose(1, 2).flatten(2)
tokens_before_heads (slip): The result is (B, T, H, d_v): (B, H, T, d_v) is asked for.
- torch.softmax(scores, dim=-1) @ V => (torch.softmax(scores, dim=-1) @ V).transpose(1, 2)
no_scale (slip): The scores are not divided by √d_k.
- / math.sqrt(d_k) =>
scale_otherwise (slip): The scores are divided by something other than √d_k, the root of the width of queries and keys.
- math.sqrt(d_k) => d_k || math.sqrt(V.shape[-1]) || math.sqrt(d_k * H) || math.sqrt(d_k * G) || 8.0 || math.sqrt(Q.shape[-2])
- / math.sqrt(d_k) => * math.sqrt(d_k)
scaled_by_group (slip): Scores or output are divided by the number of heads in a group: nothing is shared out, only read together.
- torch.softmax(scores, dim=-1) @ V => torch.softmax(scores, dim=-1) @ V / (H // G)
- / math.sqrt(d_k) => / math.sqrt(d_k) / (H // G)
softmax_axis: The softmax runs over another dimension: each query shares out its attention over the keys, dim=-1.
- torch.softmax(scores, dim=-1) => torch.softmax(scores, dim=-2) || torch.softmax(scores, dim=1)
no_softmax: There is no softmax: scores become weights by it.
- torch.softmax(scores, dim=-1) => scores
mask_ignored: The mask is ignored: where it is True, the key may not be read.
- mask is not None => False
mask_inverted (slip): The mask is read the other way round: True means blocked here (F.scaled_dot_product_attention has the opposite).
- masked_fill(mask, => masked_fill(~mask,
mask_after: The weights of blocked keys are set to 0 after the softmax, so the others no longer sum to 1. Fill the scores with −inf before it.
- |
  G, H, d_k = K.shape[1], Q.shape[1], Q.shape[-1]
  if H % G != 0:
      raise ValueError("the groups do not divide the heads")
  K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))
  weights = torch.softmax(Q @ K.mT / math.sqrt(d_k), dim=-1)
  return (weights if mask is None else weights.masked_fill(mask, 0.0)) @ V
mask_small (slip): Blocked scores are filled with a number that others may fall below (0, a tiny one, −1e9): −inf is below all.
- float("-inf") => 0.0 || 1e-9 || -100.0
mask_of_one_shape: Only masks of one shape are understood: (T, S) and (B, 1, T, S) both broadcast against (B, H, T, S) as they are.
- masked_fill(mask, => masked_fill(mask[:, 0],
- masked_fill(mask, => masked_fill(mask[None],
- in without_copies
  if mask.dim() == 4: => if False:
always_causal: The future is blocked although no mask says so.
- if mask is not None: =>
      scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
      if mask is not None:
one_group_too_many (slip): The first or last heads read a neighbouring group: head h reads group h // (H / G), and both begin at 0.
- repeat_interleave(H // G, dim=1) => repeat_interleave(H // G, dim=1).roll(1, 1)
- heads.repeat_interleave(H // G, dim=1) => heads[:, [min((h + 1) * G // H, G - 1) for h in range(H)]]
keys_for_values (slip): Keys and values are mixed up: scores come from the keys, and what is added up are the values.
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V)) => V, K = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))
- @ V => @ K
refused_without_reason (missed): Numbers of heads are refused that are right: any G that divides H is allowed, 1 and H among them.
- H % G != 0 => H % G == 0 || H % G != 0 or G == 1 || H % G != 0 or G == H
bad_input_accepted:
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V)) => K, V = (heads[:, [h * G // H for h in range(H)]] for heads in (K, V))
  if H % G != 0: =>
  raise ValueError(f"the groups must divide the query heads; got {H} query heads and {G} groups") =>
weights_too (slip): The weights are returned as well: the output alone is asked for.
- |
  G, H, d_k = K.shape[1], Q.shape[1], Q.shape[-1]
  if H % G != 0:
      raise ValueError("the groups do not divide the heads")
  K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))
  scores = Q @ K.mT / math.sqrt(d_k)
  if mask is not None:
      scores = scores.masked_fill(mask, float("-inf"))
  weights = torch.softmax(scores, dim=-1)
  return weights @ V, weights
overflows: The softmax is written with exp alone: large scores overflow to inf / inf = NaN. torch.softmax subtracts the largest first.
- torch.softmax(scores, dim=-1) => (scores.exp() / scores.exp().sum(dim=-1, keepdim=True))
mask_not_for_one: The mask is not used for a single query (or a single sequence): what it blocks is blocked there, too.
- if mask is not None: => if mask is not None and Q.shape[2] > 1: || if mask is not None and len(Q) > 1:
size_limited: Sizes of real use are refused or cut off: 32 heads of 128 features and 600 tokens are common, and any number is allowed.
- H, G, d_k = Q.shape[1], K.shape[1], Q.shape[-1] =>
      K, V = K[:, :, :512], V[:, :, :512]
      H, G, d_k = Q.shape[1], K.shape[1], Q.shape[-1]
- H, G, d_k = Q.shape[1], K.shape[1], Q.shape[-1] =>
      assert Q.shape[2] <= 256
      H, G, d_k = Q.shape[1], K.shape[1], Q.shape[-1]
- if H % G != 0: => if H % G != 0 or H > 16:
- if mask is not None: => if mask is not None and Q.shape[2] <= 256:
beginning_of_memory: The numbers are read from the beginning of the memory that a tensor lies in: a slice lies further on. Take the tensor itself.
- H, G, d_k = Q.shape[1], K.shape[1], Q.shape[-1] =>
      Q = torch.as_strided(Q, Q.shape, Q.stride(), 0)
      H, G, d_k = Q.shape[1], K.shape[1], Q.shape[-1]
other_signature (slip): A parameter has another name than in the signature: grouped_query_attention(Q, K, V, mask=None).
- def grouped_query_attention(Q, K, V, mask=None): =>
      def grouped_query_attention(q, k, v, mask=None):
          Q, K, V = q, k, v
- def grouped_query_attention(Q, K, V, mask=None): =>
      def grouped_query_attention(Q, K, V, attn_mask=None):
          mask = attn_mask
device_dropped: The result is written into a new tensor that is made without `device=Q.device`: on a GPU it comes back on the CPU, or fails.
- in a_loop_over_heads
  Q.new_empty(*Q.shape[:-1], V.shape[-1]) => torch.empty(*Q.shape[:-1], V.shape[-1], dtype=Q.dtype)
input_changed:
- scores = Q @ => scores = Q.div_(math.sqrt(d_k)) @
  / math.sqrt(d_k) =>
""",
    right=r"""
without_copies:
- |
  B, H, T, d_k = Q.shape
  G = K.shape[1]
  if H % G:
      raise ValueError("G must divide H")
  Q = Q.unflatten(1, (G, H // G))
  scores = Q @ K.unsqueeze(2).mT * d_k**-0.5
  if mask is not None:
      if mask.dim() == 4:
          mask = mask[:, None]
      scores = scores.masked_fill(mask, float("-inf"))
  return (scores.softmax(dim=-1) @ V.unsqueeze(2)).flatten(1, 2)
einsum:
- |
  B, H, T, d_k = Q.shape
  G = K.shape[1]
  if G == 0 or H % G != 0:
      raise ValueError(f"{G} groups for {H} heads")
  scores = torch.einsum("bgrtd,bgsd->bgrts", Q.reshape(B, G, H // G, T, d_k), K) / math.sqrt(d_k)
  scores = scores.reshape(B, H, T, -1)
  if mask is not None:
      scores = torch.where(mask, torch.tensor(float("-inf"), dtype=scores.dtype, device=scores.device), scores)
  weights = scores.softmax(-1).reshape(B, G, H // G, T, -1)
  return torch.einsum("bgrts,bgsd->bgrtd", weights, V).reshape(B, H, T, -1)
a_loop_over_heads:
- |
  H, G = Q.shape[1], K.shape[1]
  size, rest = divmod(H, G)
  if rest:
      raise ValueError("the groups must divide the heads")
  output = Q.new_empty(*Q.shape[:-1], V.shape[-1])
  for h in range(H):
      scores = Q[:, h] @ K[:, h // size].transpose(1, 2) / Q.shape[-1] ** 0.5
      if mask is not None:
          blocked = mask if mask.dim() == 2 else mask[:, 0]
          scores = scores.masked_fill(blocked, float("-inf"))
      output[:, h] = torch.softmax(scores, dim=-1) @ V[:, h // size]
  return output
expanded:
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V)) =>
      K, V = (heads[:, :, None].expand(-1, -1, H // G, -1, -1).flatten(1, 2) for heads in (K, V))
by_index:
- K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V)) =>
      group = torch.arange(H, device=Q.device) // (H // G)
      K, V = K[:, group], V[:, group]
""",
)
