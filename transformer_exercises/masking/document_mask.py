"""`document_mask`: causal and within a document, for ids in any order, of any type and size, in any batch."""

from itertools import starmap

import torch

from autograder.spec import Cases, Check, Exercise, behaves, cases_of, device, other_ids, other_sizes

MIXED = torch.tensor([[3, 3, 1, 3, 1], [0, 2, 2, 0, 2], [4, 4, 4, 4, 4]])
STEPS = torch.arange(2 * 3 * 6).reshape(2, 3, 6)
BATCHES = (
    *(torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]]), torch.tensor([[0, 0, 1], [0, 1, 2], [2, 2, 2]])),
    *(STEPS // 4, torch.tensor([[6, 6, 8, 8, 8]]), STEPS[:, :1] // 3),
)
cases = cases_of("document_mask")


@cases
def _batches() -> Cases:
    for ids in BATCHES:
        yield [torch.tensor(other_ids(ids.tolist()))], f"for ids of shape {tuple(ids.shape)}"


@cases
def _packed() -> Cases:
    packed = [0, 0, 0, 1, 1], [0, 1, 1, 1, 2, 2], [5, 5, 2, 2, 2, 9, 9], [1, 1, 1], [4], [0, 1, 2, 3]
    for ids in map(other_ids, packed):
        yield [torch.tensor(ids)], f"for ids {ids}"
    for T, size in starmap(other_sizes, ((40, 7), (140, 50))):
        yield [torch.arange(T) // size], f"for {T} tokens in documents of {size}"


@cases
def _any_order() -> Cases:
    mixed = [7, 7, 2, 7], [0, 1, 0, 1, 0], [3, 2, 2, 1, 3], [-1, 0, 0, -1, 2, -1], [0, 0, 5, 0]
    for ids in map(other_ids, mixed):
        yield [torch.tensor(ids)], f"for ids {ids}"
    yield [torch.tensor(other_ids(MIXED.tolist()))], "for ids in another order in each row"
    yield [torch.tensor([2**40 + 1, 2**40, 1, 2**40 + 1, 0])], "for large ids"
    yield [torch.tensor([2**62 + 1, 2**62, 2**62 + 1, -(2**62)])], "for ids of 63 bits"


@cases
def _side_effects() -> Cases:
    mixed = torch.tensor(other_ids(MIXED.tolist()))
    for ids in (mixed, torch.tensor([[2, 2, 0, 2]], dtype=torch.int32), torch.tensor([200, 200, 3], dtype=torch.uint8)):
        yield behaves([ids], "document_ids")
    yield [mixed.T], "for ids that are not contiguous (a transpose)"
    yield {"document_ids": mixed}, "with document_ids given by name"
    yield device([mixed])


EXERCISE = Exercise(
    Check("causal, and within each document", 1.25, _packed),
    Check("batch dimensions", 0.75, _batches),
    Check("ids in any order and of any size", 0.5, _any_order, dependent=True),
    Check("any integer type, ids unchanged, any layout and device", 0.5, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("gradient_cut_off", "single_precision", "single_precision_inside", "global_generator"),
)
