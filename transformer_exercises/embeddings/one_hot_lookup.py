"""`one_hot_lookup`: rows by a matrix product, which an infinite row gives away; the mistakes index or fix sizes."""

import contextlib
import math

import torch

from autograder.spec import (
    Cases,
    Check,
    Exercise,
    Problem,
    Student,
    Wrong,
    a_tensor,
    behaves,
    cases_of,
    device,
    gradients,
    normal,
    only_values,
    same_tensor,
)

from .random_inputs import some_ids

cases = cases_of("one_hot_lookup")
PRODUCTS = {"mm", "bmm", "mv", "addmm", "addmv", "baddbmm", "matmul", "linear", "einsum", "dot", "_int_mm"}
PRODUCTS |= {"_sparse_mm", "_sparse_addmm"}


@cases
def _rows() -> Cases:
    for shape, V, C in (
        *(((5,), 7, 3), ((2, 3), 4, 6), ((2, 3, 4), 5, 2), ((), 6, 4), ((1,), 3, 5), ((3, 1), 2, 1)),
        *(((4,), 4, 4), ((1, 1), 1, 3), ((30,), 6, 5), ((3,), 10, 2), ((2, 2), 100, 3), ((3, 2), 2000, 2)),
    ):
        yield [some_ids(shape, V), normal(V, C)], f"for ids of shape {shape}, V = {V}, C = {C}"


def _values(student: Student) -> None:
    _rows(student)
    with contextlib.suppress(Problem):  # a table of whole numbers is nobody's duty, but it tells mistakes apart
        student.value("one_hot_lookup", torch.tensor([1, 0]), torch.tensor([[1, 2, 3], [4, 5, 6]]))


def _product(student: Student) -> None:
    """Ask beside infinities: in a matrix product every row takes part, and 0 · inf is NaN. Indexing never sees it.

    A product with a sparse one-hot matrix skips it too, so that the operations that ran are looked at as well.
    """
    ids, weight = torch.tensor([[0, 3, 1], [4, 4, 0]]), normal(5, 3)
    with only_values():
        same_tensor(student.value("one_hot_lookup", ids, weight), weight[ids], "The result")
    weight[2] = math.inf
    answer = student.call("one_hot_lookup", [ids, weight], trace=True)
    if not a_tensor(answer["value"], "The result").isnan().any() and not PRODUCTS & set(answer["operations"]):
        what = "The values are right, but do not come from a matrix product: rows are picked out by their index"
        raise Wrong(f"{what}. Multiply one-hot rows of the ids with `weight` (`@`): that shows what the index does.")


@cases
def _gradient() -> Cases:
    for shape, V, C in (((6,), 5, 3), ((2, 4), 6, 4)):
        yield gradients([some_ids(shape, V), normal(V, C)], ["weight"])


@cases
def _side_effects() -> Cases:
    for dtype, V, C in ((torch.float64, 5, 3), (torch.float64, 4, 4), (torch.float32, 6, 2)):
        yield behaves([some_ids((2, 3), V), normal(V, C, dtype=dtype)], "ids, weight")
    turned, weight = some_ids((3, 2), 5).T, normal(4, 5).T
    yield [turned, weight], "for transposes (not contiguous)"
    yield {"ids": turned, "weight": weight}, "with arguments given by name"
    for shape, V, C in (((0,), 3, 2), ((2, 0), 4, 3)):
        yield [some_ids(shape, V), normal(V, C)], f"for no ids, of shape {shape}"


@cases
def _device() -> Cases:
    args = [torch.tensor([[1, 0], [3, 3]]), normal(4, 3)]
    yield args, ""
    yield device(args)


EXERCISE = Exercise(
    Check("the rows of the ids, for ids of any shape", 1.0, _values),
    Check("by a matrix product", 0.4, _product, dependent=True),
    Check("gradients reach the table", 0.25, _gradient, dependent=True),
    Check("float64, no ids at all, inputs unchanged", 0.25, _side_effects, dependent=True),
    Check("stays on the inputs' device", 0.1, _device, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("global_generator",),
    library_equivalent=r"""
def one_hot_lookup(ids, weight):
    return F.linear(F.one_hot(ids, len(weight)).to(weight.dtype), weight.mT)
""",
)
