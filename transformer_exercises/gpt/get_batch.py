"""`get_batch`: texts of different ids that show where each row was cut, every window alike, short texts refused.

The mistakes: y not shifted or shifted twice, the last window never drawn, rows that are one window, chance misused.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch

from autograder.spec.compare import a_pair, a_tensor, dtype_name, kind, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import device_is_kept, raises_error, their_generator
from autograder.spec.student import Student

from .common import ids_of_shape


def _tokens(n: int, seed: int = 0) -> torch.Tensor:
    """n different ids in no order, so that a window tells where it was cut."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(100 + seed)) + 1000


def _batch(student: Student, data: torch.Tensor, block_size: int, batch_size: int, seed: int, **options: Any) -> dict:
    """The answer to a call; its "value" is a pair of tensors [batch_size, block_size] of ids."""
    where = f"for N = {len(data)}, block_size = {block_size}, batch_size = {batch_size}"
    answer = student.call(
        "get_batch", [data, block_size, batch_size, their_generator(student, seed)], where=where, **options
    )
    for got, name in zip(a_pair(answer["value"], "(x, y)"), ("x", "y"), strict=True):
        ids_of_shape(got, name, (batch_size, block_size), where)
    return answer


def _starts(data: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> list[int]:
    """Where each row was cut, once it is sure that it was cut out in one piece and that y is one step on."""
    place = {token: position for position, token in enumerate(data.tolist())}
    starts = []
    for row, following in zip(x.tolist(), y.tolist(), strict=True):
        start = place.get(row[0], -1)
        if start < 0 or data[start : start + len(row)].tolist() != row:
            raise ValuesDiffer(
                "A row of x is not a piece of the text: it should be block_size tokens that follow each other there."
            )
        if data[start + 1 : start + 1 + len(row)].tolist() != following:
            raise ValuesDiffer("A row of y is not the row of x moved on by one token of the text.")
        starts.append(start)
    return starts


def _batch_of_one_window(student: Student) -> None:
    """A text of block_size + 1 tokens has one window only, so that chance plays no part."""
    for block_size, batch_size in ((5, 3), (1, 2), (8, 1), (2, 40), (64, 2)):
        with student.case():
            data = _tokens(block_size + 1, block_size)
            where = f"when the text has exactly one window (N = {block_size + 1}, block_size = {block_size})"
            x, y = _batch(student, data, block_size, batch_size, seed=3)["value"]
            same_tensor(x.long(), data[:-1].expand(batch_size, -1), "x", where)
            same_tensor(y.long(), data[1:].expand(batch_size, -1), "y", where)


def _batch_windows(student: Student) -> None:
    for n, block_size, batch_size in ((40, 6, 9), (300, 7, 30), (12, 10, 5), (200, 1, 4), (50, 20, 1)):
        with student.case():
            data = _tokens(n, n)
            starts = _starts(data, *_batch(student, data, block_size, batch_size, seed=n)["value"])
            if batch_size == 30 and len(set(starts)) == 1:  # by chance once in 293 ** 29
                raise Wrong("All rows of a batch are the same window: each row has a start of its own.", "same_start")
            if batch_size == 30 and len({b - a for a, b in itertools.pairwise(starts)}) < 3:
                raise Wrong(
                    "The rows follow each other in the text: each has a random start of its own.", "rows_in_a_row"
                )


def _batch_reach(student: Student) -> None:
    """4,800 windows over 7 places, each place as often as the others, up to six standard deviations and a little.

    A right answer fails with a probability below 1e-7, whatever its way of sampling.
    """
    n, block_size, places = 11, 4, 7
    data, counts = _tokens(n), [0] * places
    for seed in range(24):
        for start in _starts(data, *_batch(student, data, block_size, 200, seed)["value"]):
            counts[start] += 1
    if not counts[-1]:
        raise Wrong(
            "The last window is never drawn: its last target is the last token of the text. Starts go from 0 to "
            "N − block_size − 1, and torch.randint leaves its upper end out.",
            "last_window_never",
        )
    if not counts[0]:
        raise Wrong("The first window, which starts at token 0, is never drawn.", "first_window_never")
    mean = sum(counts) / places
    if max(abs(count - mean) for count in counts) > 6 * math.sqrt(mean) + 5:
        raise Wrong("Some windows come more often than others: every start should be equally likely.", "not_uniform")
    _batch_in_a_long_text(student)


_LONG = """
def long_text(n):
    return torch.tensor([0, 1], dtype=torch.int16).repeat(n // 2)
"""


def _batch_in_a_long_text(student: Student) -> None:
    """In 2 ** 25 tokens some starts are odd numbers, of which float32 has none that large.

    Sixty starts are all even by chance once in 2 ** 60.
    """
    text = student.call(student.probe("long_text", _LONG), [2**25], keep=True, record=False)["value"]
    where = "in a text of 33 million tokens"
    answer = student.call("get_batch", [text, 1, 60, their_generator(student, 7)], where=where)
    x, y = (
        ids_of_shape(got, name, (60, 1), where)
        for got, name in zip(a_pair(answer["value"], "(x, y)"), "xy", strict=True)
    )
    if not torch.equal(x + y, torch.ones_like(x)):
        raise ValuesDiffer(f"y is not x moved on by one token of the text {where}.")
    if x.unique().numel() == 1:
        raise Wrong(
            f"Only every other start is drawn {where}: float32 numbers have 24 bits, so draw whole ones (torch.randint).",
            "starts_too_coarse",
        )


def _batch_chance(student: Student) -> None:
    data = _tokens(5000)  # eight starts agree by chance once in 5000 ** 8
    seen = []
    for seed in (11, 11, 12, 13):
        answer = _batch(student, data, 6, 8, seed)
        seen.append(_starts(data, *answer["value"]))
        if answer["rng_moved"]:
            raise Wrong(
                "Your code draws from the global random generator: pass `generator=generator` on, and seed nothing.",
                "global_generator",
            )
    if seen[0] != seen[1]:
        raise Wrong(
            "Two generators with the same seed give different batches: some chance comes from elsewhere (`random`, "
            "NumPy).",
            "other_source",
        )
    if seen[0] == seen[2] == seen[3]:
        raise Wrong(
            "Generators with different seeds give the same batch: is the generator not used, or seeded anew inside?",
            "generator_ignored",
        )
    generator = their_generator(student, 11)
    first, second = (student.value("get_batch", data, 6, 8, generator) for _ in range(2))
    if torch.equal(a_tensor(a_pair(first, "(x, y)")[0], "x"), a_tensor(a_pair(second, "(x, y)")[0], "x")):
        raise Wrong(
            "Two calls with one generator give the same batch, so every training step would see it again: draw from "
            "the generator as it comes, do not seed it anew.",
            "seeded_anew",
        )


def _batch_short(student: Student) -> None:
    _batch(student, _tokens(7), 6, 2, seed=1)
    for n, block_size in ((6, 6), (4, 6), (1, 1), (3, 40)):
        with student.case():
            what = f"A text of {n} tokens with block_size = {block_size} has no window with a target for each token: it"
            with raises_error(what):
                student.call("get_batch", [_tokens(n), block_size, 2, their_generator(student, 1)])


def _batch_manners(student: Student) -> None:
    for dtype in (torch.int64, torch.int32):
        with student.case():
            data = _tokens(30).to(dtype)
            answer = _batch(student, data, 6, 4, seed=5)
            _starts(data, *answer["value"])
            for got, name in zip(answer["value"], "xy", strict=True):
                if got.dtype != dtype:
                    raise Wrong(
                        f"{name} should keep the dtype of data, {dtype_name(data)}; yours is {kind(got)}.",
                        "wrong_dtype",
                    )
            unchanged(answer["inputs"][:1], [data], "data")
    device_is_kept(student, "get_batch", [_tokens(30), 6, 4, their_generator(student, 5)])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("x, and y one step on", 1.0, _batch_of_one_window),
        Check("each row a window of the text", 0.75, _batch_windows),
        Check("every window, each as likely as the others", 0.5, _batch_reach),
        Check("chance comes from the generator alone", 0.25, _batch_chance),
        Check("a text that is too short is a ValueError", 0.25, _batch_short),
        Check("dtype, device, input unchanged", 0.25, _batch_manners, further=True),
    ],
    working=r"""
import torch

def get_batch(data, block_size, batch_size, generator):
    if data.shape[0] < block_size + 1:
        raise ValueError("data is too short for block_size")
    windows = data.unfold(0, block_size + 1, 1)
    windows = windows[torch.randint(len(windows), (batch_size,), generator=generator)]
    return windows[:, :block_size], windows[:, 1:]
""",
    takes="tensor",
    gives="tensor",
)
