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
    slips=(
        "nothing_returned",
        "input_changed",
        "double_precision",
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
not_shifted (missed): y is the same as x: the target of each token is the one after it, so y is x one step on.
- windows[:, :-1], windows[:, 1:] => windows[:, :-1], windows[:, :-1]
swapped (slip): x and y are swapped: the inputs come first, y is one step on.
- windows[:, :-1], windows[:, 1:] => windows[:, 1:], windows[:, :-1]
shifted_back (slip): y is one step back: the token to predict is the one after, not the one before.
- in slices
  s + 1 : s + 1 => max(s - 1, 0) : max(s - 1, 0)
- windows[:, :-1], windows[:, 1:] => windows[:, :-1], windows[:, :-1].roll(1, 1)
two_steps_on (slip): y is two steps on: the target of each token is the very next one.
- block_size + 1) => block_size + 2)
  <= block_size: => <= block_size + 1:
  len(data) - block_size, => len(data) - block_size - 1,
  windows[:, :-1], windows[:, 1:] => windows[:, :-2], windows[:, 2:]
- in slices
  - block_size, ( => - block_size - 1, (
  1 : s + 1 => 2 : s + 2
a_window_on: y is the whole window after x: each token's target is the very next one, so y is x moved on by one token.
- |
  if len(data) < 2 * block_size:
      raise ValueError("data is too short")
  starts = torch.randint(len(data) - 2 * block_size + 1, (batch_size,), generator=generator)
  x = torch.stack([data[s : s + block_size] for s in starts])
  return x, torch.stack([data[s + block_size : s + 2 * block_size] for s in starts])
- |
  if len(data) < block_size + 1:
      raise ValueError("data is too short")
  starts = torch.randint(max(len(data) - 2 * block_size, 1), (batch_size,), generator=generator)
  x = torch.stack([data[s : s + block_size] for s in starts])
  return x, torch.stack([data[s + block_size : s + 2 * block_size] for s in starts])
tokens_drawn_apart: Each token of x is drawn at a place of its own: a window is block_size tokens that follow each other in the text, so draw one
    start for each row.
- windows = data[places] => places = torch.randint(len(data) - 1, (batch_size, block_size), generator=generator).to(data.device)
  return windows[:, :-1], windows[:, 1:] => return data[places], data[places + 1]
- windows = data[places] => places = torch.randint(len(data) - block_size, (batch_size, block_size), generator=generator).to(data.device)
  return windows[:, :-1], windows[:, 1:] => return data[places], data[places + 1]
rolled (slip): y is x rolled around: the last target of each row should be the token that follows in the text, not the row's first.
- windows[:, :-1], windows[:, 1:] => windows[:, :-1], windows[:, :-1].roll(-1, 1) || windows[:, :-1], windows[:, :-1].roll(-1)
one_too_short (slip): x and y have block_size − 1 tokens: a window needs block_size + 1, so that each of block_size inputs has its target.
- torch.arange(block_size + 1) => torch.arange(block_size)
one_too_long (slip): x and y are one token too long: block_size inputs, block_size targets.
- windows[:, :-1], windows[:, 1:] => windows, windows
last_target_only: y holds only the token after the window: every position of x has a target of its own.
- windows[:, :-1], windows[:, 1:] => windows[:, :-1], windows[:, -1] || windows[:, :-1], windows[:, -1:]
y_drawn_anew: x and y are cut at different places: draw the starts once and use them for both.
- in slices
  x = torch.stack([data[s : s + block_size] for s in starts]) =>
      x = torch.stack([data[s : s + block_size] for s in starts])
      starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
last_window_never (slip): The last window is never drawn: its last target is the last token of the text. Starts go from 0 to N − block_size − 1, and
    torch.randint leaves its upper end out.
- torch.randint(len(data) - block_size, => torch.randint(len(data) - block_size - 1, || torch.randint(max(len(data) - block_size - 1, 1),
past_the_end (slip): Some windows reach past the end of the text: the last start is N − block_size − 1, so that the last target is still there.
- torch.randint(len(data) - block_size, => torch.randint(len(data) - block_size + 1, || torch.randint(len(data),
- in slices
  - block_size =>
- in slices
  - block_size, ( => - block_size + 1, (
wrapped_around: Windows wrap around from the end of the text to its beginning (modulo, roll): the last start is N − block_size − 1.
- torch.randint(len(data) - block_size, => torch.randint(len(data),
  data[places] => data[places % len(data)]
first_window_never: The first window, which starts at token 0, is never drawn.
- torch.randint(len(data) - block_size, => torch.randint(min(1, len(data) - block_size - 1), len(data) - block_size,
- torch.randint(len(data) - block_size, => torch.randint(1, len(data) - block_size,
windows_side_by_side: Only windows that start at a multiple of block_size are drawn: every start from 0 on is allowed, windows may overlap.
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => torch.randint((len(data) - block_size - 1) // block_size + 1, (batch_size,), generator=generator) * block_size
starts_too_coarse (slip): The starts are made from float32 numbers: these have 24 bits, so in a text of more than 16.8 million tokens only some starts
    can occur. Draw whole numbers, with torch.randint.
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => (torch.rand(batch_size, generator=generator) * (len(data) - block_size)).long()
not_uniform: Some starts come more often than others (rounding to the nearest place gives the first and the last half as many as the
    others): draw whole numbers, with torch.randint.
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => (torch.rand(batch_size, generator=generator) * (len(data) - block_size - 1)).round().long()
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => (torch.rand(batch_size, generator=generator, dtype=torch.float64) ** 2 * (len(data) - block_size)).long()
same_start: All rows of a batch are the same window: draw batch_size starts, one for each row.
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => torch.randint(len(data) - block_size, (1,), generator=generator).expand(batch_size)
rows_in_a_row: The rows follow each other in the text: each has a random start of its own.
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => (torch.randint(len(data) - block_size, (1,), generator=generator) + torch.arange(batch_size)) % (len(data) - block_size)
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => torch.arange(batch_size) % (len(data) - block_size)
without_repeats: The starts are drawn without repetition (randperm), so a batch cannot be larger than the number of windows: draw each on its own,
    with torch.randint.
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => torch.randperm(len(data) - block_size, generator=generator)[:batch_size]
scattered_tokens: The tokens of a row are drawn one by one: draw where a row starts; its tokens follow each other in the text.
- |
  if len(data) <= block_size:
      raise ValueError('data is too short')
  places = torch.randint(len(data) - 1, (batch_size, block_size), generator=generator)
  return data[places], data[places + 1]
numbers_instead_of_tokens: The places in the text are returned, not the tokens that stand there: data[places].
- windows = data[places] => windows = places
transposed (slip): x and y are (block_size, batch_size): one row for each window is asked for.
- windows[:, :-1], windows[:, 1:] => windows[:, :-1].T, windows[:, 1:].T
flat (slip): The rows are strung together (torch.cat): stack them, so that x is (batch_size, block_size).
- in slices
  x = torch.stack([data[s => x = torch.cat([data[s
  y = torch.stack([data[s => y = torch.cat([data[s
sizes_swapped (slip): block_size and batch_size are mixed up: x has batch_size rows of block_size tokens.
- block_size, batch_size, => batch_size, block_size,
one_row: A single window comes back: batch_size of them are asked for.
- windows[:, :-1], windows[:, 1:] => windows[0, :-1], windows[0, 1:] || windows[:1, :-1], windows[:1, 1:]
other_source: Chance comes from elsewhere (`random`, NumPy), so the generator decides nothing: torch.randint with generator=generator.
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => torch.tensor(__import__('random').choices(range(len(data) - block_size), k=batch_size))
- torch.randint(len(data) - block_size, (batch_size,), generator=generator) => torch.from_numpy(__import__('numpy').random.randint(0, len(data) - block_size, batch_size))
generator_ignored: The seed is fixed inside, so every call gives the same batch: draw from the generator that is passed.
- in last_window_never
  starts = torch.randint(len(data) - block_size - 1, (batch_size,), generator=generator) =>
      generator = torch.Generator().manual_seed(0)
      starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)  # (B,), the end excluded
- in last_window_never
  starts = torch.randint(len(data) - block_size - 1, (batch_size,), generator=generator) =>
      generator = torch.Generator().manual_seed(42)
      starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)  # (B,), the end excluded
- in last_window_never
  starts = torch.randint(len(data) - block_size - 1, (batch_size,), generator=generator) =>
      generator.manual_seed(1337)
      starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)  # (B,), the end excluded
device_not_kept: x and y do not lie where data does (a tensor made without `device=…`, or a way through the CPU): the model would not take them.
- windows = data[places] => windows = torch.zeros(batch_size, block_size + 1, dtype=data.dtype).copy_(data[places])
drawn_on_the_device (slip): The starts are drawn on the device of data, where a CPU generator cannot draw: draw on the CPU, then move them.
- (batch_size,), generator=generator) => (batch_size,), generator=generator, device=data.device)
bad_input_accepted: A text without a single window is not refused with a clear message: if N is not greater than block_size raise a ValueError that
    says so.
- if len(data) <= block_size: =>
  raise ValueError(f"data has {len(data)} tokens, but a window and its targets need {block_size + 1}") =>
short_text_limit: The limit for a short text is off by one: with N = block_size the last token has no target, with N = block_size + 1 there is one
    window.
- len(data) <= block_size => len(data) < block_size || len(data) <= block_size + 1 || len(data) <= 2 * block_size
list_returned: x and y are lists: tensors are asked for.
- windows[:, :-1], windows[:, 1:] => windows[:, :-1].tolist(), windows[:, 1:].tolist() || list(windows[:, :-1]), list(windows[:, 1:])
one_tensor (slip): One tensor (or a list) comes back: the pair x, y is asked for (`return x, y`).
- windows[:, :-1], windows[:, 1:] => windows || windows[:, :-1] || torch.stack([windows[:, :-1], windows[:, 1:]]) || [windows[:, :-1], windows[:, 1:]]
floats (slip): x and y are floats: ids are whole numbers and must stay so, nn.Embedding refuses anything else.
- windows[:, :-1], windows[:, 1:] => windows[:, :-1].float(), windows[:, 1:].float()
wrong_dtype: The dtype of data is not kept (`.long()`, `.int()`, or a new tensor made of numbers).
- windows[:, :-1], windows[:, 1:] => windows[:, :-1].long(), windows[:, 1:].long() || windows[:, :-1].int(), windows[:, 1:].int()
- windows[:, :-1], windows[:, 1:] => torch.tensor(windows[:, :-1].tolist()), torch.tensor(windows[:, 1:].tolist())
squeezed:
- windows[:, :-1], windows[:, 1:] => windows[:, :-1].squeeze(0), windows[:, 1:].squeeze(0)
global_generator:
- , generator=generator) => )
- in generator_ignored
  = torch.Generator().manual_seed(0 => .manual_seed(generator.initial_seed()
input_changed:
- windows = data[places] =>
      windows = data[places]
      data.copy_(data.roll(1))
rounded (missed):
""",
    right=r"""
slices:
- |
  if len(data) < block_size + 1:
      raise ValueError('data is too short for block_size')
  starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
  x = torch.stack([data[s : s + block_size] for s in starts])
  y = torch.stack([data[s + 1 : s + 1 + block_size] for s in starts])
  return x, y
loop:
- |
  N = data.shape[0]
  if N < block_size + 1:
      raise ValueError(f"data: {N} tokens are too few for block_size {block_size}")
  xs, ys = [], []
  while len(xs) < batch_size:
      s = int(torch.randint(0, N - block_size, (), generator=generator))
      xs.append(data[s : s + block_size].clone())
      ys.append(data[s + 1 : s + block_size + 1].clone())
  return torch.stack(xs), torch.stack(ys)
two_lookups:
- |
  last = len(data) - block_size - 1
  if last < 0:
      raise ValueError("data must be longer than block_size")
  u = torch.rand(batch_size, 1, generator=generator, dtype=torch.float64)
  places = (u * (last + 1)).long().clamp(max=last) + torch.arange(block_size).view(1, -1)
  places = places.to(data.device)
  return data[places], data[places + 1]
filled:
- |
  if block_size >= data.numel():
      raise ValueError("block_size must be smaller than the text")
  x = data.new_empty(batch_size, block_size)
  y = data.new_empty((batch_size, block_size))
  for b, s in enumerate(torch.randint(len(data) - block_size, (batch_size,), generator=generator).tolist()):
      x[b], y[b] = data[s : s + block_size], data[s + 1 : s + 1 + block_size]
  return x, y
""",
)
