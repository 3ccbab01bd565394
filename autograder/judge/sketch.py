"""Answers reduced to what tells them apart: a digest of everything discrete, and a few projections of the numbers.

Two answers are the same if `agree` says so: equal structure, numbers equal up to rounding. A sketch decides that
without the answers: the digest must be equal, and the projections (sums of the numbers with random signs) must lie as
close as rounding explains. Between "surely the same" and "surely different" there is a narrow band; there the answers
themselves are compared. Numbers go through asinh first, so that large and small ones weigh alike: what rounding moves
is then about the same for each.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..inside.wire import Ref
from .student import TOLERANCE

PROJECTIONS = 4
IGNORED = frozenset({"operations"})  # parts of an answer that do not tell mistakes apart
ROUNDING = {False: 4e-6, True: 1e-13}  # relative, of single and double precision: what another order of summing moves
# Relative and absolute: what `agree` accepts; of double precision more, since a sketch may come from another processor,
# and what was computed in single precision on the way, as a `loss.item()` is, differs there from the seventh digit on.
FAR = {False: TOLERANCE[False], True: (2e-5, 1e-7)}


@dataclass(frozen=True)
class Sketch:
    """Of one list of answers. `near` and `far` bound what rounding, and what `FAR`, may move the projections by."""

    digest: int
    words: int  # of what errors said: it breaks ties, and tells nothing apart by itself
    single: np.ndarray  # [PROJECTIONS], of the numbers in float32 and below
    double: np.ndarray  # [PROJECTIONS], of those in float64, and of numbers that are no tensors
    near: tuple[float, float] = (0.0, 0.0)
    far: tuple[float, float] = (0.0, 0.0)


def sketch(answers: Any) -> Sketch:
    """The sketch of whatever came over the wire."""
    drawing = _Drawing()
    drawing.add(answers, 0)
    return Sketch(
        int.from_bytes(drawing.hash.digest(), "little", signed=True),
        int.from_bytes(drawing.words.digest(), "little", signed=True),
        drawing.sums[False],
        drawing.sums[True],
        (4 * drawing.near[False] ** 0.5, 4 * drawing.near[True] ** 0.5),
        (4 * drawing.far[False] ** 0.5, 4 * drawing.far[True] ** 0.5),
    )


class _Drawing:
    def __init__(self) -> None:
        self.hash, self.words = hashlib.blake2b(digest_size=8), hashlib.blake2b(digest_size=8)
        self.sums = {False: np.zeros(PROJECTIONS), True: np.zeros(PROJECTIONS)}
        self.near = {False: 0.0, True: 0.0}
        self.far = {False: 0.0, True: 0.0}
        self.tensors = 0

    def say(self, text: str) -> None:
        self.hash.update(text.encode("utf-8", "surrogatepass") + b"\0")

    def add(self, value: Any, depth: int) -> None:
        self.say(type(value).__name__)
        if depth > 40:
            return
        if isinstance(value, torch.Tensor):
            self._add_tensor(value)
        elif isinstance(value, dict):
            if value.get("kind") == "raised":  # of an error only its type counts
                self.say(f"raised {value.get('type')}")
                self.words.update(str(value.get("text")).encode("utf-8", "surrogatepass"))
                return
            for key in sorted(set(value) - IGNORED, key=repr):
                self.add(key, depth + 1)
                self.add(value[key], depth + 1)
        elif isinstance(value, float):
            self._add_numbers(np.array([value]), fine=True)
        elif isinstance(value, (list, tuple)):
            self.say(str(len(value)))
            if value and all(type(item) is float for item in value):
                self.say("numbers")
                self._add_numbers(np.array(value), fine=True)
                return
            for item in value:
                self.add(item, depth + 1)
        elif isinstance(value, (set, frozenset)):
            self.say(repr(sorted(map(repr, value))))
        elif not isinstance(value, Ref):  # handles are numbered as they come
            self.say(repr(value))

    def _add_tensor(self, tensor: torch.Tensor) -> None:
        self.say(f"{tuple(tensor.shape)} {tensor.dtype} {tensor.device.type}")
        if tensor.device.type == "meta":
            return
        if not tensor.is_floating_point():
            self.hash.update(tensor.detach().numpy().tobytes())  # whatever its strides
            return
        self.say(str(tensor.was_differentiable))  # type: ignore[attr-defined]  # decoding sets it
        numbers = tensor.detach().to(torch.float64).reshape(-1).numpy()
        self._add_numbers(numbers, fine=tensor.dtype == torch.float64)

    def _add_numbers(self, numbers: np.ndarray, fine: bool) -> None:
        finite = np.isfinite(numbers)
        if not finite.all():
            self.hash.update(np.sign(np.where(finite, 0.0, numbers)).tobytes())  # nan stays nan
            numbers = np.where(finite, numbers, 0.0)
        self.tensors += 1
        slope = 1 / np.sqrt(1 + numbers * numbers)
        size = np.abs(numbers)
        relative, absolute = FAR[fine]
        self.sums[fine] = self.sums[fine] + _signs(self.tensors, len(numbers)) @ np.arcsinh(numbers)
        self.near[fine] += float(np.sum(((size + 1e-2) * slope * ROUNDING[fine]) ** 2))
        self.far[fine] += float(np.sum(((size * relative + absolute) * slope) ** 2))


@functools.lru_cache(maxsize=4096)
def _signs(number: int, count: int) -> np.ndarray:
    """[PROJECTIONS, count] of ±1, the same in every process."""
    return np.random.default_rng((number, count)).integers(0, 2, (PROJECTIONS, count)) * 2.0 - 1.0


def verdict(mine: Sketch, theirs: Sketch) -> bool | None:
    """Whether two answers are the same; None where only the answers themselves can tell. `mine` has the bounds."""
    if mine.digest != theirs.digest:
        return False
    gaps = np.abs(mine.single - theirs.single).max(), np.abs(mine.double - theirs.double).max()
    if all(gap <= near for gap, near in zip(gaps, mine.near, strict=True)):
        return True
    if any(gap > far for gap, far in zip(gaps, mine.far, strict=True)):
        return False
    return None
