"""`merge_heads`: numbers that tell where they came from; the mistakes leave out or misplace the transpose."""

from __future__ import annotations

import torch

from autograder.spec.compare import a_tensor, close, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, ValuesDiffer
from autograder.spec.inputs import device_is_kept, gradients_agree, normal, sliced
from autograder.spec.student import Student

from .common import HEADS, counting, heads_sizes, merge


def _merge_values(student: Student) -> None:
    for B, T, H, d_k in HEADS:
        with student.case():
            x, where = counting(B, H, T, d_k), heads_sizes(B, T, H, d_k)
            same_tensor(student.value("merge_heads", x, where=where), merge(x), "The result", where)


def _merge_inverse(student: Student) -> None:
    for B, T, H, d_k in ((2, 5, 3, 4), (3, 3, 3, 3), (4, 2, 2, 2), (1, 6, 1, 5), (2, 1, 3, 2)):
        with student.case():
            x, where = normal(B, T, H * d_k), heads_sizes(B, T, H, d_k)
            heads = x.view(B, T, H, d_k).transpose(1, 2)
            got = a_tensor(student.value("merge_heads", heads, where=where), "The result")
            if got.shape != x.shape or not close(got, x):
                raise ValuesDiffer(f"Merging heads that were split does not give back what was split, {where}.")


def _merge_gradient(student: Student) -> None:
    for B, T, H, d_k, dtype in ((2, 5, 3, 4, torch.float32), (3, 2, 2, 3, torch.float64)):
        with student.case():
            x, where = normal(B, H, T, d_k, dtype=dtype), heads_sizes(B, T, H, d_k)
            same_tensor(student.value("merge_heads", x, where=where), merge(x), "The result", where)
            gradients_agree(student, "merge_heads", merge, [x], ["x"], (), where)


def _merge_manners(student: Student) -> None:
    x = normal(2, 4, 3, 5)
    answer = student.call("merge_heads", [x])
    same_tensor(answer["value"], merge(x), "The result")
    unchanged(answer["inputs"], [x], "x")
    wide = normal(2, 3, 4, 2, dtype=torch.float64)
    with student.case():
        same_tensor(student.value("merge_heads", wide, where="in float64"), merge(wide), "The result", "in float64")
    turned = normal(2, 3, 5, 4).mT
    with student.case():
        where = "for a tensor that is not contiguous"
        same_tensor(student.value("merge_heads", turned, where=where), merge(turned), "The result", where)
    with student.case():
        where = "for a slice of a tensor, given by name"
        same_tensor(student.value("merge_heads", x=sliced(student, x), where=where), merge(x), "The result", where)
    device_is_kept(student, "merge_heads", [x])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("the heads of each token side by side", 1.75, _merge_values),
        Check("gives back what was split", 0.5, _merge_inverse, further=True),
        Check("gradients", 0.25, _merge_gradient, further=True),
        Check("input unchanged, float64, any layout, device", 0.5, _merge_manners, further=True),
    ],
    working=r"""
import torch

def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)
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
    ),
    wrong=r"""
no_transpose: The heads are merged without a transpose: a row of the result then holds several tokens of one head instead of all heads of one token.
    It even trains. Swap H and T with `transpose(1, 2)` first.
- x = x.transpose(1, 2)  # (B, T, H, d_k): all heads of one token together =>
interleaved: The columns of the heads are mixed (column 0 of every head, then column 1 …): all columns of head 0 come first.
- x.transpose(1, 2) => x.permute(0, 2, 3, 1)
view_fails (slip): `view` fails after a transpose, which moves no numbers in memory: use `reshape`, or `.contiguous().view(…)`.
- x.reshape(B, T, H * d_k) => x.view(B, T, H * d_k)
not_merged: The result is still (B, T, H, d_k): the last two dimensions become one, H · d_k wide.
- return x.reshape(B, T, H * d_k) => return x
summed: The heads are added up or averaged: they stand side by side, H · d_k columns in all.
- return x.reshape(B, T, H * d_k) => return x.sum(dim=2) || return x.mean(dim=2)
tokens_joined: The heads are joined along the tokens, (B, H · T, d_k): they stand side by side along the last dimension.
- x = x.transpose(1, 2)  # (B, T, H, d_k): all heads of one token together =>
  return x.reshape(B, T, H * d_k) => return x.reshape(B, H * T, d_k)
- return x.reshape(B, T, H * d_k) => return x.reshape(B, T * H, d_k)
columns_first (slip): The result is (B, H · d_k, T): tokens come before columns.
- return x.reshape(B, T, H * d_k) => return x.reshape(B, T, H * d_k).mT
columns_scrambled: The wrong two dimensions are swapped before the reshape, which scrambles the numbers: `transpose(1, 2)` brings H beside d_k.
- x.transpose(1, 2) => x.transpose(2, 3) || x.transpose(1, 3) || x.transpose(0, 1) || x.transpose(0, 2) || x.permute(0, 3, 1, 2)
- return x.reshape(B, T, H * d_k) => return x.reshape(B, H * d_k, T).mT
sizes_misread (slip): The shape is read in the wrong order: x is (B, H, T, d_k), with the heads before the tokens.
- B, H, T, d_k = x.shape => B, T, H, d_k = x.shape || H, B, T, d_k = x.shape
- B, H, T, d_k = x.shape => B, T, H, d_k = x.shape
  x = x.transpose(1, 2)  # (B, T, H, d_k): all heads of one token together =>
one_head_only: Only one of the heads is in the result: all of them stand side by side.
- return x.reshape(B, T, H * d_k) => return x[:, :, 0] || return x[:, :, -1]
heads_reversed (slip): The heads are in reverse order: head 0 gives the first columns.
- return x.reshape(B, T, H * d_k) => return x.flip(2).reshape(B, T, H * d_k)
batch_merged: The batch is merged with the tokens: (B, T, H · d_k) keeps them apart.
- return x.reshape(B, T, H * d_k) => return x.reshape(B * T, H * d_k)
batch_lost: The batch dimension is lost: each sequence is merged by itself, (B, T, H · d_k).
- return x.reshape(B, T, H * d_k) => return x.reshape(B, T, H * d_k)[0]
squeezed:
- return x.reshape(B, T, H * d_k) => return x.squeeze(2).reshape(B, T, H * d_k).squeeze(1)
sizes_fixed (missed): A size is a fixed number: take all of them from x.shape.
- H * d_k) => 512) || 8 * d_k) || 64 * H)
list_of_heads (slip): The heads come as a list or a tuple: one tensor (B, T, H · d_k) is asked for.
- return x.reshape(B, T, H * d_k) => return list(x.unbind(2)) || return x.unbind(2)
view_needed (slip): The code takes the numbers in the order in which they lie in memory, which fails for a tensor that was transposed before.
- .transpose => .view(B, H * T, d_k).view(B, H, T, d_k).transpose
- x.transpose(1, 2 => torch.as_strided(x, (B, T, H, d_k), (H * T * d_k, d_k, T * d_k, 1)
beginning_of_memory: The numbers are read from the beginning of the memory that x lies in: a slice lies further on. Take x itself, with its shape:
    `transpose`, then `reshape`.
- x = x.transpose(1, 2) => x = torch.as_strided(x, (B, T, H, d_k), (x.stride(0), x.stride(2), x.stride(1), x.stride(3)), 0)
size_limited: Sizes of real use are refused or cut off: 12 heads, 1024 tokens, a width of 768 are common, and nothing here depends on how many there are.
- B, H, T, d_k = x.shape =>
      B, H, T, d_k = x.shape
      assert T <= 512
- B, H, T, d_k = x.shape =>
      x = x[:, :, :256]
      B, H, T, d_k = x.shape
- B, H, T, d_k = x.shape =>
      B, H, T, d_k = x.shape
      assert H * d_k <= 512
- B, H, T, d_k = x.shape =>
      x = x[:, :8]
      B, H, T, d_k = x.shape
other_signature (slip): The parameter has another name than in the signature, merge_heads(x): a call that names it fails.
- |
  def merge_heads(heads):
      B, H, T, d_k = heads.shape
      return heads.transpose(1, 2).reshape(B, T, H * d_k)
device_dropped: The result is written into a new tensor that is made without `device=x.device`: on a GPU it comes back on the CPU, or fails.
- |
  B, H, T, d_k = x.shape
  merged = torch.zeros(B, T, H * d_k, dtype=x.dtype)
  for h in range(H):
      merged[..., h * d_k : (h + 1) * d_k] = x[:, h]
  return merged
input_changed:
- return x.reshape(B, T, H * d_k) =>
      x *= H**-0.5
      return x.reshape(B, T, H * d_k)
- = x.transpose => .transpose_
scaled (slip): The numbers are changed (divided by the number of heads, say): merging only rearranges them.
- return x.reshape(B, T, H * d_k) => return x.reshape(B, T, H * d_k) / H
""",
    right=r"""
contiguous_view:
- x = x.transpose(1, 2) => return x.transpose(1, 2).contiguous().view(B, T, -1)
  return x.reshape(B, T, H * d_k) =>
flatten:
- |
  return x.permute(0, 2, 1, 3).flatten(start_dim=2)
loop_over_heads:
- |
  heads = [x[:, h] for h in range(x.shape[1])]
  return torch.cat(heads, dim=2)
by_transposing:
- x = x.transpose(1, 2) => return x.mT.reshape(B, H * d_k, T).mT
  return x.reshape(B, T, H * d_k) =>
""",
)
