"""`one_hot_lookup`: rows by a matrix product, which an infinite row gives away; the mistakes index or fix sizes."""

from __future__ import annotations

import contextlib
import math

import torch

from autograder.spec.compare import a_tensor, dtype_name, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Problem, Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import all_gradients_agree, some_ids, stays_on_device

one_hot_lookup = reference("one_hot_lookup")

PRODUCTS = {
    "mm",
    "bmm",
    "mv",
    "addmm",
    "addmv",
    "baddbmm",
    "matmul",
    "linear",
    "einsum",
    "_sparse_mm",
    "_sparse_addmm",
    "dot",
    "_int_mm",
}


def _lookup_values(student: Student) -> None:
    for shape, V, C in (
        *(((5,), 7, 3), ((2, 3), 4, 6), ((2, 3, 4), 5, 2), ((), 6, 4), ((1,), 3, 5), ((3, 1), 2, 1)),
        *(((4,), 4, 4), ((1, 1), 1, 3), ((30,), 6, 5), ((3,), 10, 2), ((2, 2), 100, 3), ((3, 2), 2000, 2)),
    ):
        with student.case():
            weight, ids = normal(V, C), some_ids(shape, V)
            where = f"for ids of shape {tuple(shape)}, V = {V}, C = {C}"
            got = student.value("one_hot_lookup", ids, weight, where=where)
            same_tensor(got, weight[ids], "The result", where)
    with contextlib.suppress(Problem):  # a table of whole numbers is nobody's duty, but it tells mistakes apart
        student.value("one_hot_lookup", torch.tensor([1, 0]), torch.tensor([[1, 2, 3], [4, 5, 6]]))


def _lookup_product(student: Student) -> None:
    """A row that is not asked for still takes part in a matrix product: 0 · inf is NaN. Indexing never sees it.

    A product with a sparse one-hot matrix skips it too, so that the operations that ran are looked at as well.
    """
    ids, weight = torch.tensor([[0, 3, 1], [4, 4, 0]]), normal(5, 3)
    got = student.value("one_hot_lookup", ids, weight)
    same_tensor(got, weight[ids], "The result")
    weight[2] = math.inf
    answer = student.call("one_hot_lookup", [ids, weight], trace=True)
    got = a_tensor(answer["value"], "The result")
    if not got.isnan().any() and not PRODUCTS & set(answer["operations"]):
        raise Wrong(
            "The values are right, but they do not come from a matrix product: rows are picked out by their index. "
            "Make one-hot rows of the ids and multiply them with `weight` (`@`); that shows what the index does."
        )


def _lookup_gradient(student: Student) -> None:
    for shape, V, C in (((6,), 5, 3), ((2, 4), 6, 4)):
        with student.case():
            all_gradients_agree(
                student, "one_hot_lookup", one_hot_lookup, [some_ids(shape, V), normal(V, C)], ["weight"]
            )


def _lookup_manners(student: Student) -> None:
    for dtype, V, C in ((torch.float64, 5, 3), (torch.float64, 4, 4), (torch.float32, 6, 2)):
        with student.case():
            ids, weight = some_ids((2, 3), V), normal(V, C, dtype=dtype)
            where = f"in {dtype_name(weight)}"
            answer = student.call("one_hot_lookup", [ids, weight], where=where)
            same_tensor(answer["value"], weight[ids], "The result", where)
            unchanged(answer["inputs"], [ids, weight], "ids, weight")
    with student.case():
        turned, weight, where = some_ids((3, 2), 5).T, normal(4, 5).T, "for transposes (not contiguous)"
        same_tensor(student.value("one_hot_lookup", turned, weight, where=where), weight[turned], "The result", where)
    with student.case():
        given, where = {"ids": turned, "weight": weight}, "with arguments given by name"
        got = student.call("one_hot_lookup", [], given, where=where)["value"]
        same_tensor(got, weight[turned], "The result", where)
    for shape, V, C in (((0,), 3, 2), ((2, 0), 4, 3)):
        with student.case():
            weight, ids = normal(V, C), some_ids(shape, V)
            where = f"for no ids, of shape {tuple(shape)}"
            same_tensor(student.value("one_hot_lookup", ids, weight, where=where), weight[ids], "The result", where)


def _lookup_device(student: Student) -> None:
    ids, weight = torch.tensor([[1, 0], [3, 3]]), normal(4, 3)
    same_tensor(student.value("one_hot_lookup", ids, weight), weight[ids], "The result")
    stays_on_device(student, "one_hot_lookup", [ids, weight])


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the rows of the ids, for ids of any shape", 1.0, _lookup_values),
        Check("by a matrix product", 0.4, _lookup_product),
        Check("gradients reach the table", 0.25, _lookup_gradient, further=True),
        Check("float64, no ids at all, inputs unchanged", 0.25, _lookup_manners, further=True),
        Check("stays on the inputs' device", 0.1, _lookup_device, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def one_hot_lookup(ids, weight):
    return F.linear(F.one_hot(ids, len(weight)).to(weight.dtype), weight.mT)
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
indexing (missed): The rows are picked out by their index (`weight[ids]`, F.embedding, gather …). The values are right, but the point here is that a matrix
    product of one-hot rows with the table gives the same.
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => return weight[ids]
  return one_hot.to(weight.dtype) @ weight =>
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => rows = [weight[i] for i in ids.flatten().tolist()]
  return one_hot.to(weight.dtype) @ weight => return torch.stack(rows).view(*ids.shape, -1)
integers_multiplied (missed): F.one_hot gives whole numbers, and PyTorch does not multiply an integer matrix with a float one: convert it to the dtype of
    weight first.
- one_hot.to(weight.dtype) => one_hot
classes_guessed: F.one_hot is left to guess the number of classes, and takes the largest id it sees plus 1: the rows are too short unless the last id
    is among them. Say how many: num_classes=weight.shape[0].
- , num_classes=weight.shape[0] =>
fixed_vocabulary (missed): The number of ids is a fixed number in the code: it is weight.shape[0], whatever table comes.
- weight.shape[0] => 10 || 100 || 7
- weight.shape[0]) => 1000)[..., : len(weight)]
width_for_classes: The one-hot rows are as wide as a vector (C). They need one place for each id: V = weight.shape[0].
- weight.shape[0] => weight.shape[1]
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => eye = torch.eye(weight.shape[1], dtype=weight.dtype, device=weight.device)
  return one_hot.to(weight.dtype) @ weight => return eye[ids] @ weight
transposed_table: The table is transposed in the product: (…, V) @ (V, C) fits as it is (F.linear transposes by itself).
- @ weight => @ weight.T
columns_for_rows: The product is written for columns, `weight.T @ one_hot.T`, and comes out transposed, (C, N): with one-hot rows it is
    one_hot @ weight, which fits any leading dimensions.
- one_hot.to(weight.dtype) @ weight => weight.T @ one_hot.to(weight.dtype).T
- one_hot.to(weight.dtype) @ weight => weight.mT @ one_hot.to(weight.dtype).mT
order_swapped (slip): The factors are the wrong way round: one-hot rows (…, V) first, then the table (V, C).
- one_hot.to(weight.dtype) @ weight => weight @ one_hot.to(weight.dtype)
elementwise: `*` multiplies element by element; the matrix product is `@`.
- one_hot.to(weight.dtype) @ weight => one_hot.to(weight.dtype) * weight
one_hot_returned (missed): The one-hot rows themselves are returned: they still have to be multiplied with the table.
- return one_hot.to(weight.dtype) @ weight => return one_hot.to(weight.dtype) || return one_hot
ids_from_one (slip): The ids are taken to count from 1: id 0 is the first row.
- one_hot(ids, => one_hot((ids - 1) % weight.shape[0], || one_hot((ids + 1) % weight.shape[0], || one_hot(ids - 1, || one_hot(ids + 1,
flattened: The dimensions of ids are merged into one: ids (B, T) give (B, T, C).
- one_hot(ids, => one_hot(ids.flatten(),
flat_ids_only: It works for ids of one shape only (a list of ids, a matrix of zeros of len(ids) rows): ids may have any number of dimensions, also
    none.
- |
  one_hot = torch.zeros(len(ids), weight.shape[0], dtype=weight.dtype, device=weight.device)
  one_hot[torch.arange(len(ids), device=ids.device), ids] = 1
  return one_hot @ weight
- |
  one_hot = torch.zeros(ids.shape[0], weight.shape[0], dtype=weight.dtype, device=weight.device)
  for row, i in enumerate(ids):
      one_hot[row, i] = 1
  return one_hot @ weight
- |
  one_hot = torch.zeros(len(ids), weight.shape[0], dtype=weight.dtype, device=weight.device)
  one_hot.scatter_(1, ids[:, None], 1.0)
  return one_hot @ weight
- |
  B, T = ids.shape
  one_hot = F.one_hot(ids.reshape(B * T), len(weight)).to(weight.dtype)
  return (one_hot @ weight).view(B, T, -1)
summed_over_ids: The vectors of different ids are added up or averaged: each id keeps a vector of its own.
- |
  def right_one_hot_lookup(ids, weight):
      one_hot = F.one_hot(ids, num_classes=weight.shape[0])  # (..., V): a single 1 in each row, at the id
      return one_hot.to(weight.dtype) @ weight  # (..., V) @ (V, C) gives (..., C)


  def one_hot_lookup(ids, weight):
      return right_one_hot_lookup(ids, weight).sum(dim=0)
- |
  def right_one_hot_lookup(ids, weight):
      one_hot = F.one_hot(ids, num_classes=weight.shape[0])  # (..., V): a single 1 in each row, at the id
      return one_hot.to(weight.dtype) @ weight  # (..., V) @ (V, C) gives (..., C)


  def one_hot_lookup(ids, weight):
      return right_one_hot_lookup(ids, weight).sum(dim=-2)
- |
  def right_one_hot_lookup(ids, weight):
      one_hot = F.one_hot(ids, num_classes=weight.shape[0])  # (..., V): a single 1 in each row, at the id
      return one_hot.to(weight.dtype) @ weight  # (..., V) @ (V, C) gives (..., C)


  def one_hot_lookup(ids, weight):
      return right_one_hot_lookup(ids, weight).mean(dim=-2)
empty_refused: No ids at all, as in shape (0,), are refused or fail: the result is then empty, of shape (0, C).
- in summed_over_ids
  return right_one_hot_lookup(ids, weight).sum(dim=0) =>
      assert ids.numel() > 0
      return right_one_hot_lookup(ids, weight)
- in summed_over_ids
  return right_one_hot_lookup(ids, weight).sum(dim=0) =>
      if ids.max() >= len(weight):
          raise IndexError
      return right_one_hot_lookup(ids, weight)
table_changed: The caller's table is changed: nothing may be written into weight.
- in summed_over_ids
  return right_one_hot_lookup(ids, weight).sum(dim=0) =>
      result = right_one_hot_lookup(ids, weight)
      weight.mul_(0)
      return result
- in summed_over_ids
  return right_one_hot_lookup(ids, weight).sum(dim=0) =>
      result = right_one_hot_lookup(ids, weight)
      weight[ids] = 0
      return result
device_and_dtype_dropped: The one-hot rows are new tensors of float32 on the CPU: give them `dtype=weight.dtype, device=weight.device`.
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => return torch.eye(weight.shape[0])[ids] @ weight
  return one_hot.to(weight.dtype) @ weight =>
device_dropped: A tensor is made without `device=…`: on a GPU the product of a CPU tensor with weight fails.
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => return torch.eye(weight.shape[0], dtype=weight.dtype)[ids] @ weight
  return one_hot.to(weight.dtype) @ weight =>
single_precision:
- one_hot.to(weight.dtype) => one_hot.float()
array_returned:
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => one_hot = F.one_hot(ids, len(weight)).to(weight.dtype).numpy()
  return one_hot.to(weight.dtype) @ weight => return torch.from_numpy(one_hot @ weight.numpy())
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => one_hot = F.one_hot(ids, len(weight)).float().numpy()
  return one_hot.to(weight.dtype) @ weight => return torch.tensor(one_hot @ weight.numpy())
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => one_hot = F.one_hot(ids, len(weight)).to(weight.dtype).numpy()
  return one_hot.to(weight.dtype) @ weight => return torch.from_numpy(one_hot @ weight.detach().numpy())
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape` or `flatten`.
- |
  rows = F.one_hot(ids.view(-1), weight.shape[0]).to(weight.dtype) @ weight
  return rows.view(*ids.shape, weight.shape[1])
other_signature (slip): The arguments have other names: keep the signature one_hot_lookup(ids, weight), so that they may be given by name.
- weight => table
""",
    right=r"""
eye:
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => eye = torch.eye(len(weight)).to(weight)
  return one_hot.to(weight.dtype) @ weight => return eye[ids] @ weight
scatter:
- |
  one_hot = torch.zeros(*ids.shape, weight.size(0), dtype=weight.dtype, device=weight.device)
  one_hot.scatter_(-1, ids.unsqueeze(-1), 1)
  return torch.matmul(one_hot, weight)
comparison:
- one_hot = F.one_hot(ids, num_classes=weight.shape[0]) => vocabulary = torch.arange(weight.shape[0], device=ids.device)
  return one_hot.to(weight.dtype) @ weight => return (ids[..., None] == vocabulary).type_as(weight) @ weight
loop_and_einsum:
- |
  flat = ids.reshape(-1)
  one_hot = weight.new_zeros(len(flat), len(weight))
  for row, i in enumerate(flat.tolist()):
      one_hot[row, i] = 1.0
  return torch.einsum("nv,vc->nc", one_hot, weight).reshape(*ids.shape, weight.shape[1])
product_by_hand:
- |
  V, C = weight.shape
  one_hot = F.one_hot(ids, V).to(weight.dtype)
  return (one_hot[..., None] * weight).sum(dim=-2)
sparse:
- |
  flat, V = ids.flatten(), len(weight)
  places = torch.stack([torch.arange(len(flat), device=ids.device), flat])
  ones = torch.ones(len(flat), dtype=weight.dtype, device=weight.device)
  one_hot = torch.sparse_coo_tensor(places, ones, (len(flat), V), check_invariants=False)
  return torch.sparse.mm(one_hot, weight).reshape(*ids.shape, weight.shape[1])
""",
)
