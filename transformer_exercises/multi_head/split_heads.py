"""`split_heads`: numbers that tell where they came from, widths that do not divide; the mistakes mix dimensions up."""

from __future__ import annotations

import torch

from autograder.spec.compare import same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise
from autograder.spec.inputs import device_is_kept, gradients_agree, normal, raises_error, sliced
from autograder.spec.student import Student

from .common import HEADS, counting, heads_sizes, split


def _split_values(student: Student) -> None:
    for B, T, H, d_k in HEADS:
        with student.case():
            x, where = counting(B, T, H * d_k), heads_sizes(B, T, H, d_k)
            same_tensor(student.value("split_heads", x, H, where=where), split(x, H), "The result", where)


def _split_refused(student: Student) -> None:
    same_tensor(student.value("split_heads", counting(2, 3, 8), 4), split(counting(2, 3, 8), 4), "The result")
    for C, H in ((8, 3), (6, 4), (5, 2), (9, 6), (4, 8)):
        with student.case(), raises_error(f"A width of {C} with {H} heads"):
            student.value("split_heads", normal(2, 3, C), H)


def _split_gradient(student: Student) -> None:
    for B, T, H, d_k, dtype in ((2, 5, 3, 4, torch.float32), (3, 2, 2, 3, torch.float64)):
        with student.case():
            where = heads_sizes(B, T, H, d_k)
            x = normal(B, T, H * d_k, dtype=dtype)
            same_tensor(student.value("split_heads", x, H, where=where), split(x, H), "The result", where)
            gradients_agree(student, "split_heads", split, [x], ["x"], (H,), where)


def _split_manners(student: Student) -> None:
    x = normal(2, 3, 8)
    answer = student.call("split_heads", [x, 4])
    same_tensor(answer["value"], split(x, 4), "The result")
    unchanged(answer["inputs"], [x], "x")
    for given, where in (
        (normal(2, 3, 6, dtype=torch.float64), "in float64"),
        (normal(3, 2, 6).transpose(0, 1), "for a tensor that is not contiguous"),
        (normal(2, 6, 3).mT, "for a transposed tensor"),
    ):
        with student.case():
            same_tensor(student.value("split_heads", given, 2, where=where), split(given, 2), "The result", where)
    with student.case():
        where = "for a slice of a tensor"
        same_tensor(student.value("split_heads", sliced(student, x), 2, where=where), split(x, 2), "The result", where)
    with student.case():
        got = student.value("split_heads", x=x, num_heads=2)
        same_tensor(got, split(x, 2), "The result", "with the arguments given by name")
    device_is_kept(student, "split_heads", [x, 4])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("head h holds its columns of every token", 1.75, _split_values),
        Check("a width that cannot be divided is a ValueError", 0.5, _split_refused),
        Check("gradients", 0.25, _split_gradient, further=True),
        Check("input unchanged, float64, any layout, device", 0.5, _split_manners, further=True),
    ],
    working=r"""
import torch

def split_heads(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("num_heads must divide the width of x")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
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
        "error_of_another_type",
    ),
    wrong=r"""
no_transpose: The numbers are cut anew straight into (B, H, T, d_k), so that a head holds pieces of other tokens. view and reshape keep the order of
    the numbers in memory: cut into (B, T, H, d_k), then swap T and H with `transpose(1, 2)`.
- x = x.view(B, T, num_heads, C // num_heads) => x = x.reshape(B, num_heads, T, C // num_heads)
  return x.transpose(1, 2) => return x
- x = x.view(B, T, num_heads, C // num_heads) => x = x.mT.reshape(B, num_heads, T, C // num_heads)
  return x.transpose(1, 2) => return x
- x = x.view(B, T, num_heads, C // num_heads) => x = x.reshape(B, num_heads, C // num_heads, T)
  return x.transpose(1, 2) => return x.mT
tokens_first: The result is (B, T, H, d_k): the heads belong before the tokens, (B, H, T, d_k), so that each head attends by itself.
- return x.transpose(1, 2) => return x
interleaved: Head h gets every H-th column: it should get d_k columns in a row, from h · d_k on. Cut into (B, T, H, d_k), not (B, T, d_k, H).
- x = x.view(B, T, num_heads, C // num_heads) => x = x.view(B, T, C // num_heads, num_heads)
  return x.transpose(1, 2) => return x.permute(0, 3, 1, 2)
width_for_heads (slip): The number of heads and their width are swapped: num_heads says how many heads there are, each C / num_heads wide.
- x = x.view(B, T, num_heads, C // num_heads) => x = x.view(B, T, C // num_heads, num_heads)
- return x.transpose(1, 2) => return x.permute(0, 3, 1, 2)
last_two_swapped (slip): The last two dimensions are the wrong way round: (B, H, T, d_k) is asked for. (Keys are transposed later, where scores are
    computed.)
- return x.transpose(1, 2) => return x.permute(0, 2, 3, 1)
other_dimensions_swapped: The wrong two dimensions are swapped: `transpose(1, 2)` brings (B, T, H, d_k) to (B, H, T, d_k).
- return x.transpose(1, 2) => return x.transpose(2, 3) || return x.transpose(1, 3) || return x.transpose(0, 1) || return x.transpose(0, 2)
heads_before_batch: The heads come before the batch: (B, H, T, d_k) is asked for.
- return x.transpose(1, 2) => return x.permute(2, 0, 1, 3)
batch_and_heads_in_one (slip): Batch and heads are one dimension, (B · H, T, d_k): here they stay apart, (B, H, T, d_k).
- return x.transpose(1, 2) => return x.transpose(1, 2).reshape(B * num_heads, T, -1)
tokens_divided: The tokens are divided among the heads: every head sees every token, but only its own columns.
- x = x.view(B, T, num_heads, C // num_heads) => x = x.repeat(1, num_heads, 1).view(B, num_heads, T, C)[..., : C // num_heads]
  return x.transpose(1, 2) => return x
- x = x.view(B, T, num_heads, C // num_heads) => x = x.view(B, num_heads, T // num_heads, C)
  return x.transpose(1, 2) => return x
every_head_everything: Every head gets all C columns: each gets its own C / H of them.
- x = x.view(B, T, num_heads, C // num_heads) => x = x[:, :, None].expand(B, T, num_heads, C)
heads_overlap: The heads overlap: head h begins at column h · d_k, where head h − 1 ends.
- x = x.view(B, T, num_heads, C // num_heads) => x = x.unfold(2, C // num_heads, 1)[:, :, :num_heads]
heads_reversed (slip): The heads are in reverse order: head 0 holds the first columns.
- return x.transpose(1, 2) => return x.transpose(1, 2).flip(1)
one_head_only: Only one head is returned: all of them are asked for, along dimension 1.
- return x.transpose(1, 2) => return x.transpose(1, 2)[:, 0] || return x.transpose(1, 2)[:, :1] || return x.transpose(1, 2)[:, -1]
list_of_heads (slip): The heads come as a list or a tuple: one tensor (B, H, T, d_k) is asked for (`torch.stack(…, dim=1)`).
- return x.transpose(1, 2) => return list(x.unbind(2)) || return x.unbind(2)
not_refused: A width that num_heads does not divide gives no ValueError: compare `C % num_heads` with 0 before cutting, and raise it.
- if C % num_heads != 0: =>
  raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}") =>
- raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}") => raise AssertionError('num_heads')
- raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}") => raise TypeError('num_heads') || return None
- |
  return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
- raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}") => return x
columns_dropped: Columns that do not fill a head are dropped without a word: a width that num_heads does not divide is a ValueError.
- if C % num_heads != 0: => x = x[..., : C // num_heads * num_heads].view(B, T, num_heads, C // num_heads)
  raise ValueError(f"num_heads must divide the width of x; got {num_heads} heads and width {C}") =>
  x = x.view(B, T, num_heads, C // num_heads) =>
refused_without_reason (missed): Sizes are refused that are right: every num_heads that divides C is allowed, 1 and C among them.
- C % num_heads != 0 => C % num_heads != 0 or num_heads == 1 || C % num_heads != 0 or num_heads == C || C % num_heads != 0 or C // num_heads % 2
- C % num_heads != 0 => C % num_heads == 0
sizes_fixed (missed): The number of heads or their width is a fixed number: they are num_heads and C / num_heads.
- x = x.view(B, T, num_heads, C // num_heads) => x = x.view(B, T, 8, C // 8) || x = x.view(B, T, C // 64, 64) || x = x.view(B, T, 2, C // 2)
- x = x.view(B, T, num_heads, C // num_heads) => x = x.view(B, T, 4, C // 4)
batch_lost: The batch dimension is lost or summed: each sequence is split by itself, (B, H, T, d_k).
- return x.transpose(1, 2) => return x.transpose(1, 2)[0]
view_needed: The code takes the numbers in the order in which they lie in memory, which fails (or is wrong) for a tensor that was transposed
    before.
- x = x.view(B, T, num_heads, C // num_heads) => x = x.view(-1).view(B, T, num_heads, C // num_heads)
- x = x.view(B, T, num_heads, C // num_heads) => x = torch.as_strided(x, (B, T, num_heads, C // num_heads), (T * C, C, C // num_heads, 1))
beginning_of_memory: The numbers are read from the beginning of the memory that x lies in: a slice lies further on, and its columns need not stand side by
    side. Cut x itself, with its shape: `view`, `reshape`, slices.
- x = x.view(B, T, num_heads, C // num_heads) => x = torch.as_strided(x, (B, T, num_heads, C // num_heads), (*x.stride()[:2], C // num_heads * x.stride(2), x.stride(2)), 0)
size_limited: Sizes of real use are refused or cut off: 12 heads, 1024 tokens, a width of 768 are common, and nothing here depends on how many there are.
- B, T, C = x.shape =>
      B, T, C = x.shape
      assert T <= 512
- B, T, C = x.shape =>
      x = x[:, :256]
      B, T, C = x.shape
- B, T, C = x.shape =>
      B, T, C = x.shape
      assert C <= 512
- B, T, C = x.shape =>
      B, T, C = x.shape
      assert num_heads <= 8
device_dropped: The result is written into a new tensor that is made without `device=x.device`: on a GPU it comes back on the CPU, or fails.
- in written_into_a_new_tensor
  x.new_empty(B, num_heads, T, C // num_heads => torch.zeros(B, num_heads, T, C // num_heads, dtype=x.dtype
input_changed:
- return x.transpose(1, 2) =>
      x.div_((C // num_heads) ** 0.5)
      return x.transpose(1, 2)
- x = x.view(B, T, num_heads, C // num_heads) => x.resize_(B, T, num_heads, C // num_heads)
scaled (slip): The numbers are changed (divided by the root of d_k, or normalised): splitting only rearranges them.
- return x.transpose(1, 2) => return x.transpose(1, 2) / (C // num_heads) ** 0.5
""",
    right=r"""
loop_over_heads:
- |
  d_k, rest = divmod(x.size(-1), num_heads)
  if rest:
      raise ValueError('num_heads does not divide C')
  heads = []
  for h in range(num_heads):
      heads.append(x[:, :, h * d_k : (h + 1) * d_k])
  return torch.stack(heads, dim=1)
unflatten:
- |
  B, T, C = x.shape
  if C % num_heads != 0:
      raise ValueError('num_heads')
  return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3).contiguous()
by_transposing:
- in unflatten
  unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3).contiguous() => mT.reshape(B, num_heads, C // num_heads, T).mT
written_into_a_new_tensor:
- in unflatten
  return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3).contiguous() =>
      heads = x.new_empty(B, num_heads, T, C // num_heads)
      for h in range(num_heads):
          heads[:, h] = x[..., h * (C // num_heads) : (h + 1) * (C // num_heads)]
      return heads
""",
)
