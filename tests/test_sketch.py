"""What a sketch of an answer depends on: its numbers, their shape and type, and not how they lie in memory."""

from __future__ import annotations

import pytest
import torch

from autograder.inside.wire import decode, encode
from autograder.judge.sketch import BLOCK, sketch, verdict
from autograder.judge.student import agree


def crossed(value: object) -> object:
    """As it comes over the wire."""
    return decode(encode(value))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(3),
        torch.tensor(True),
        torch.zeros(0, 2, dtype=torch.int64),
        torch.arange(6).reshape(2, 3).T,
        torch.arange(16)[::8],
        torch.arange(16)[::8][:1],  # one number, whose stride is not 1
        torch.arange(16).reshape(8, 2)[:, :1],
    ],
    ids=lambda tensor: f"{tuple(tensor.shape)} strides {tensor.stride()} {tensor.dtype}",
)
def test_whole_numbers_are_told_apart_however_they_lie_in_memory(tensor):
    copy = tensor.clone(memory_format=torch.contiguous_format).reshape(-1).clone().reshape(tensor.shape)
    assert sketch(tensor).digest == sketch(copy).digest == sketch(crossed(tensor)).digest
    if tensor.numel():
        assert sketch(tensor).digest != sketch(~copy).digest
    assert sketch(tensor).digest != sketch(copy[None]).digest


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.4107111692428589, 1.4107112884521484, True),  # a loss.item() on two processors: one unit in the last place
        ([1.0, 2.0], [1.0, 2.0000002], True),
        ({"rate": [0.1, None]}, {"rate": [0.10000001, None]}, True),
        (1.41, 1.42, False),
        (1.4107111692428589, 1.4107, False),  # rounded to four digits
        ([1.0, 2.0], [2.0, 1.0], False),
        ([1.0, 2.0], [1.0, 2.0, 3.0], False),
        (0.0, 1e-3, False),
        (0.0, 1e-8, True),
        (3.0, 3, False),
        (1.0, INF, False),
        (INF, 1.0, False),
        (INF, INF, True),
        (INF, -INF, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        ([NAN, 1.0], [1.0, NAN], False),
    ],
)
def test_floats_that_only_rounding_tells_apart_are_the_same(one, other, same):
    assert agree(one, other) is same
    assert verdict(sketch([one]), sketch([other])) in (same, None)  # None: only the answers themselves can tell


def test_a_sketch_alone_tells_most_floats_apart():
    assert verdict(sketch([1.41]), sketch([1.41])) is True
    assert verdict(sketch([1.41]), sketch([1.42])) is False


@pytest.mark.parametrize("place", [0, BLOCK - 1, BLOCK, -1])
def test_one_number_among_many_thousands_is_seen(place):
    many = torch.linspace(-1, 1, 2 * BLOCK + 5, dtype=torch.float64)
    for other in (3.0, INF, NAN):
        changed = many.clone()
        changed[place] = other
        assert verdict(sketch(crossed(many)), sketch(crossed(many.clone()))) is True
        assert verdict(sketch(crossed(many)), sketch(crossed(changed))) is False


@pytest.mark.parametrize("deep", [[[0.5], [0.25]], [[True, False], [False]], [(0, 1), (2, 3)], ["a", "b"], [0, 1]])
def test_how_a_list_is_cut_into_lists_is_seen(deep):
    flat = [item for part in deep for item in (part if isinstance(part, (list, tuple)) else [part])]
    assert verdict(sketch(deep), sketch(deep)) is True
    for other in ([flat], flat + flat[:1], flat[::-1], *([flat] if flat != deep else [])):
        assert verdict(sketch(deep), sketch(other)) is False


def test_what_was_passed_in_does_not_blur_the_result():
    """A batch of 60,000 numbers comes back with a loss: a thousandth of the loss must be seen beside it."""
    batch = torch.linspace(-3, 3, 60_000)

    def answer(loss: float, inputs: torch.Tensor = batch) -> list[dict]:
        return [{"value": crossed(torch.tensor(loss)), "inputs": [crossed(inputs)]}]

    changed = batch.clone()
    changed[777] += 50
    assert verdict(sketch(answer(1.41)), sketch(answer(1.41))) is True
    assert verdict(sketch(answer(1.41)), sketch(answer(1.42))) is False
    assert verdict(sketch(answer(1.41)), sketch(answer(1.41, changed))) is False
    assert verdict(sketch([{"value": crossed(batch)}]), sketch([{"value": crossed(changed)}])) is False
    assert verdict(sketch([{"value": crossed(batch)}]), sketch([{"inputs": crossed(batch)}])) is False


def test_the_sign_of_what_is_no_number_is_the_processors():
    nans = torch.tensor([0x7FC00000, 0x7FC00000 - 2**31], dtype=torch.int64).to(torch.int32).view(torch.float32)
    assert nans.isnan().all()
    assert sketch(crossed(nans[:1])).digest == sketch(crossed(nans[1:])).digest
    assert verdict(sketch([NAN]), sketch([-NAN])) is True
