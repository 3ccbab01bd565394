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
)
