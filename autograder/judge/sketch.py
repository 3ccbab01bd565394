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
BLOCK = 1 << 14  # numbers that are projected at a time
PLAIN = frozenset({bool, int, str})
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
    coarse, fine = drawing.projected(fine=False), drawing.projected(fine=True)
    return Sketch(
        _digest(drawing.said),
        _digest(drawing.words),
        coarse.sums,
        fine.sums,
        (4 * coarse.near**0.5, 4 * fine.near**0.5),
        (4 * coarse.far**0.5, 4 * fine.far**0.5),
    )


def _digest(parts: list[bytes]) -> int:
    return int.from_bytes(hashlib.blake2b(b"\0".join(parts), digest_size=8).digest(), "little", signed=True)


@dataclass
class _Projected:
    sums: np.ndarray
    near: float = 0.0
    far: float = 0.0


class _Drawing:
    """What an answer consists of, in its order: what is discrete is said, and the numbers are gathered."""

    def __init__(self) -> None:
        self.said: list[bytes] = []
        self.words: list[bytes] = []
        self.numbers: dict[bool, list[np.ndarray]] = {False: [], True: []}  # by whether they are of double precision

    def say(self, text: str) -> None:
        self.said.append(text.encode("utf-8", "surrogatepass"))

    def add(self, value: Any, depth: int) -> None:
        self.say(type(value).__name__)
        if depth > 40:
            return
        if isinstance(value, torch.Tensor):
            self._add_tensor(value)
        elif isinstance(value, dict):
            if value.get("kind") == "raised":  # of an error only its type counts
                self.say(f"raised {value.get('type')}")
                self.words.append(str(value.get("text")).encode("utf-8", "surrogatepass"))
                return
            for key in sorted(set(value) - IGNORED, key=repr):
                self.add(key, depth + 1)
                self.add(value[key], depth + 1)
        elif isinstance(value, float):
            self.numbers[True].append(np.array([value]))
        elif isinstance(value, (list, tuple)):
            self.say(str(len(value)))
            if value and all(type(item) is float for item in value):
                self.say("numbers")
                self.numbers[True].append(np.array(value))
                return
            if all(type(item) in PLAIN for item in value):  # a mask as a list has thousands of them
                self.say(repr(value))
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
            self.said.append(tensor.detach().numpy().tobytes())  # whatever its strides
            return
        self.say(str(tensor.was_differentiable))  # type: ignore[attr-defined]  # decoding sets it
        numbers = tensor.detach().to(torch.float64).reshape(-1).numpy()
        self.numbers[tensor.dtype == torch.float64].append(numbers)

    def projected(self, fine: bool) -> _Projected:
        """The numbers of one precision, all in one go: an answer may hold thousands of lists of one number each."""
        found = _Projected(np.zeros(PROJECTIONS))
        relative, absolute = FAR[fine]
        everything = np.concatenate([np.zeros(0), *self.numbers[fine]])
        for block, start in enumerate(range(0, len(everything), BLOCK)):
            numbers = everything[start : start + BLOCK]
            finite = np.isfinite(numbers)
            if not finite.all():
                self.said += [f"{fine} {block}".encode(), np.sign(np.where(finite, 0.0, numbers)).tobytes()]
                numbers = np.where(finite, numbers, 0.0)  # nan stays nan in what is said
            slope = 1 / np.sqrt(1 + numbers * numbers)
            size = np.abs(numbers)
            found.sums = found.sums + _signs(block)[:, : len(numbers)] @ np.arcsinh(numbers)
            near, far = (size + 1e-2) * slope * ROUNDING[fine], (size * relative + absolute) * slope
            found.near += float(near @ near)
            found.far += float(far @ far)
        return found


@functools.lru_cache(maxsize=16)
def _signs(block: int) -> np.ndarray:
    """[PROJECTIONS, BLOCK] of ±1, the same in every process."""
    bits = np.unpackbits(np.frombuffer(np.random.default_rng(block).bytes(PROJECTIONS * BLOCK // 8), np.uint8))
    return bits.reshape(PROJECTIONS, BLOCK) * 2.0 - 1.0


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
