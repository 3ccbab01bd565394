"""`get_batch`: texts of different ids that show where each row was cut, every window alike, short texts refused."""

import itertools
from typing import Any

import torch

from autograder.spec import (
    Check,
    Exercise,
    Kept,
    Problem,
    Reply,
    Student,
    a_pair,
    call_probe,
    device_is_kept,
    differ,
    drawn,
    dtype_name,
    each,
    from_the_generator_alone,
    generator_unchanged,
    ids_of_shape,
    kind,
    only_values,
    other_sizes,
    raises_error,
    refusing,
    same_tensor,
    their_generator,
    unchanged,
)

refuse = refusing("get_batch")


def _tokens(n: int) -> torch.Tensor:
    """Return n different ids in no order, so that a window tells where it was cut."""
    seed = drawn(100 + n, lambda rng: rng.getrandbits(32))
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)) + 1000


def _batch(
    student: Student, data: Any, n: int, block_size: int, batch_size: int, generator: Any = 5
) -> tuple[torch.Tensor, torch.Tensor, Reply]:
    """Ask with a generator, or with its seed. Return the two tensors of ids that come back, and the whole answer."""
    where = f"for N = {n}, block_size = {block_size}, batch_size = {batch_size}"
    if isinstance(generator, int):
        generator = their_generator(student, generator)
    answer = student.call("get_batch", [data, block_size, batch_size, generator], where=where)
    x, y = (
        ids_of_shape(got, name, (batch_size, block_size), where)
        for got, name in zip(a_pair(answer["value"], "(x, y)"), "xy", strict=True)
    )
    return x, y, answer


def _starts(data: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> list[int]:
    """Return where each row was cut, once it is sure that it was cut out in one piece and that y is one step on."""
    index = {token: position for position, token in enumerate(data.tolist())}
    starts = []
    for row, following in zip(x.tolist(), y.tolist(), strict=True):
        start = index.get(row[0], -1)
        message = "A row of x is not a piece of the text: it should be block_size tokens that follow each other there."
        differ(start < 0 or data[start : start + len(row)].tolist() != row, message)
        moved = data[start + 1 : start + 1 + len(row)].tolist()
        differ(moved != following, "A row of y is not the row of x moved on by one token of the text.")
        starts.append(start)
    return starts


def _drawn(student: Student, n: int, block_size: int, batch_size: int, generator: Any) -> tuple[list[int], Reply]:
    """Return the starts of a batch from a text of n different tokens, and the whole answer."""
    data = _tokens(n)
    x, y, answer = _batch(student, data, n, block_size, batch_size, generator)
    return _starts(data, x, y), answer


@each((5, 3), (1, 2), (8, 1), (2, 40), (64, 2))
def _of_one_window(student: Student, *known: int) -> None:
    """Ask of a text of block_size + 1 tokens: it has one window only, so that chance plays no part."""
    block_size, batch_size = other_sizes(*known)
    n, data = block_size + 1, _tokens(block_size + 1)
    where = f"when the text has exactly one window (N = {n}, block_size = {block_size})"
    x, y, _ = _batch(student, data, n, block_size, batch_size, 3)
    same_tensor(x.long(), data[:-1].expand(batch_size, -1), "x", where)
    same_tensor(y.long(), data[1:].expand(batch_size, -1), "y", where)


@each((40, 6, 9), (300, 7, 30), (12, 10, 5), (200, 1, 4), (50, 20, 1))
def _windows(student: Student, n: int, block_size: int, batch_size: int) -> None:
    starts, _ = _drawn(student, n, block_size, batch_size, n)
    if batch_size == 30:  # all of them agree by chance once in 293 ** 29
        refuse(len(set(starts)) == 1, "same_start")
        refuse(len({b - a for a, b in itertools.pairwise(starts)}) < 3, "rows_in_a_row")


def _reach(student: Student) -> None:
    """4,800 windows over 7 places, each place as often as the others, up to six standard deviations and a little.

    A right answer fails with a probability below 1e-7, whatever its way of sampling.
    """
    counts = torch.zeros(7)
    for seed in range(24):
        with only_values():
            starts, _ = _drawn(student, 11, 4, 200, seed)
        counts += torch.tensor(starts).bincount(minlength=7)
    refuse(not counts[-1], "last_window_never")
    refuse(not counts[0], "first_window_never")
    refuse(bool((counts - counts.mean()).abs().max() > 6 * counts.mean().sqrt() + 5), "not_uniform")
    # In 2 ** 25 tokens some starts are odd numbers, of which float32 has none that large. Sixty starts are all even by
    # chance once in 2 ** 60.
    try:
        x, y, _ = _batch(student, call_probe(student, _LONG, "long_text", 2**25, keep=True), 2**25, 1, 60, 7)
    except Problem as problem:
        if "2^24" in problem.text:  # torch.multinomial takes no more starts, says so, and draws no wrong ones
            return
        raise
    unmoved = not torch.equal(x + y, torch.ones_like(x))
    differ(unmoved, "In a text of 33 million tokens, y is not x moved on by one token of the text.")
    refuse(x.unique().numel() == 1, "starts_too_coarse")


_LONG = """
def long_text(n):
    return torch.tensor([0, 1], dtype=torch.int16).repeat(n // 2)
"""


def _chance(student: Student) -> None:
    def starts(generator: Kept) -> list[int]:  # eight in a text of 5,000 tokens, which agree once in 5000 ** 8
        with only_values():
            found, answer = _drawn(student, 5000, 6, 8, generator)
        generator_unchanged(answer)
        return found

    from_the_generator_alone(student, "get_batch", starts, "batch")


def _short(student: Student) -> None:
    with student.case(), only_values():
        _batch(student, _tokens(7), 7, 6, 2, 1)
    for n, block_size in ((6, 6), (4, 6), (1, 1), (3, 40)):
        what = f"A text of {n} tokens with block_size = {block_size} has no window with a target for each token: it"
        with student.case(), raises_error(what):
            student.call("get_batch", [_tokens(n), block_size, 2, their_generator(student, 1)])


def _side_effects(student: Student) -> None:
    for dtype in (torch.int64, torch.int32):
        with student.case():
            data = _tokens(30).to(dtype)
            x, y, answer = _batch(student, data, 30, 6, 4)
            _starts(data, x, y)
            for got, name in ((x, "x"), (y, "y")):
                message = f"{name} should keep the dtype of data, {dtype_name(data)}; yours is {kind(got)}."
                refuse(got.dtype != dtype, "wrong_dtype", message)
            unchanged(answer["inputs"][:1], [data], "data")
    data = _tokens(30)
    device_is_kept(student, "get_batch", lambda: [data, 6, 4, their_generator(student, 5)])


EXERCISE = Exercise(
    Check("x, and y one step on", 1.0, _of_one_window),
    Check("each row a window of the text, y one step on", 0.75, _windows),
    Check("every window, each as likely as the others", 0.5, _reach, dependent=True),
    Check("chance comes from the generator alone", 0.25, _chance, dependent=True),
    Check("a text that is too short is a ValueError", 0.25, _short, dependent=True),
    Check("dtype, device, input unchanged", 0.25, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("gradient_cut_off", "single_precision", "single_precision_inside", "other_signature"),
)
