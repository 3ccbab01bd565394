"""Hash replies: a digest of everything discrete, and a few projections of the numbers, enough to tell replies apart.

No float is part of the digest, even inside text: stored hashes must be valid on every processor and Python.

Two replies are the same if `agree` says so: equal structure, numbers equal up to rounding. A hash decides that
without the replies: the digests must be equal, and the projections (sums of the numbers with random signs) must be as
close as rounding explains. Between "surely the same" and "surely different" lies a narrow band; there the replies
themselves are compared. The band grows with the count of numbers. So the inputs, which come back with the reply and
may be a thousand times as many, are summed separately. Numbers go through asinh first, so that large and small ones
have equal weight: rounding then moves each by about the same.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...untrusted.wire import Ref, is_tensor
from .. import canonical
from ..student import IGNORED, TOLERANCE, type_of_error

if TYPE_CHECKING:
    import torch

PROJECTIONS = 4
BLOCK = 1 << 14  # numbers projected at a time
STRIDE = 6101  # between the signs of two blocks: odd, so that no two of the first 2^14 have the same
PLAIN = frozenset({bool, int, str})
# Numbers in float32 and below, those in float64 and outside tensors, and both kinds among the inputs.
KINDS = ("single", "double", "input_single", "input_double")
INPUT_PARTS = frozenset({"inputs", "after"})  # parts of an answer that hold the inputs
ROUNDING = {False: 4e-6, True: 1e-13}  # relative error of summing in another order, in single and double precision
# Relative and absolute: what `agree` accepts; more in double precision, since a hash may come from another processor,
# where a value computed in single precision, such as a `loss.item()`, differs from the seventh digit on.
FAR = {False: TOLERANCE[False], True: (2e-5, 1e-7)}


@dataclass(frozen=True)
class ReplyHash:
    """The hash of a list of replies. `near` and `far` bound how far rounding, and `FAR`, may move the projections."""

    digest: int
    error_hash: int  # of error messages: it breaks ties, and decides nothing by itself
    sums: np.ndarray  # [KINDS, PROJECTIONS]
    near: tuple[float, ...] = ()  # for each kind
    far: tuple[float, ...] = ()


def reply_hash(replies: Any) -> ReplyHash:
    """Return the hash of decoded replies."""
    parts = _Parts()
    parts.add(replies, 0)
    numbers = {kind: parts.finite(kind) for kind in KINDS}  # before the digest: places of infinities are added to it
    sums, near, far = zip(*(_projected(numbers[kind], kind.endswith("double")) for kind in KINDS), strict=True)
    return ReplyHash(_digest(parts.discrete), _digest(parts.error_texts), np.stack(sums), near, far)


def _digest(parts: list[bytes]) -> int:
    return int.from_bytes(hashlib.blake2b(b"\0".join(parts), digest_size=8).digest(), "little", signed=True)


class _Parts:
    """The parts of a reply, in order: discrete ones go into `discrete`, numbers are gathered."""

    def __init__(self) -> None:
        self.discrete: list[bytes] = []
        self.error_texts: list[bytes] = []
        self.numbers: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}  # of tensors
        self.floats: dict[str, list[float]] = {kind: [] for kind in KINDS}  # an answer may hold thousands of lists
        self._prefix = ""  # "input_" in the parts that hold the inputs

    def add_text(self, text: str) -> None:
        """Add text, with its floats taken out, so that the digest holds no float."""
        plain, floats = canonical.split(text)
        self.discrete.append(plain.encode("utf-8", "surrogatepass"))
        self.floats[f"{self._prefix}double"] += floats

    def _name(self, text: str) -> None:
        """Add the name of a type, a length and the like, which hold no float."""
        self.discrete.append(text.encode("utf-8", "surrogatepass"))

    def add(self, value: Any, depth: int) -> None:
        self._name(type(value).__name__)
        if depth > 40:
            return
        if is_tensor(value):
            self._add_tensor(value)
        elif isinstance(value, dict):
            if value.get("kind") == "raised":  # only the type of an error counts
                self.add_text(f"raised {type_of_error(value)}")
                message = canonical.message(str(value.get("text")), value.get("own") is not False)
                self.error_texts.append(message.encode("utf-8", "surrogatepass"))
                return
            for key in sorted(set(value) - IGNORED, key=canonical.key):
                self.add(key, depth + 1)
                outside, self._prefix = self._prefix, "input_" if key in INPUT_PARTS else self._prefix
                self.add(value[key], depth + 1)
                self._prefix = outside
        elif isinstance(value, float):
            self.floats[f"{self._prefix}double"].append(value)
        elif isinstance(value, (list, tuple)):
            self._name(str(len(value)))
            if value and all(type(item) is float for item in value):
                self._name("numbers")
                self.floats[f"{self._prefix}double"] += value
                return
            if all(type(item) in PLAIN for item in value):  # a mask as a list has thousands of items
                self.add_text(repr(value))
                return
            for item in value:
                self.add(item, depth + 1)
        elif isinstance(value, (set, frozenset)):
            texts, floats = canonical.unordered(value)
            self.add_text(repr(texts))
            self.floats[f"{self._prefix}double"] += floats
        elif not isinstance(value, Ref):  # handles are numbered in order of arrival
            self.add_text(repr(value))

    def _add_tensor(self, tensor: torch.Tensor) -> None:
        self._name(f"{tuple(tensor.shape)} {tensor.dtype} {tensor.device.type}")
        if tensor.device.type == "meta":
            return
        if not tensor.is_floating_point():
            self.discrete.append(tensor.detach().numpy().tobytes())  # whatever its strides
            return
        self._name(str(tensor.was_differentiable))  # type: ignore[attr-defined]  # decoding sets it
        double = tensor.dtype.itemsize == 8
        numbers = tensor.detach().double() if double else tensor.detach().float()
        self.numbers[f"{self._prefix}{'double' if double else 'single'}"].append(numbers.reshape(-1).numpy())

    def finite(self, kind: str) -> np.ndarray:
        """Return all numbers of a kind, zeros for non-finite ones, whose places and kinds go into `discrete`."""
        floats = np.array(self.floats[kind], np.float64 if kind.endswith("double") else np.float32)
        numbers = np.concatenate([*self.numbers[kind], floats])
        finite = np.isfinite(numbers)
        if finite.all():
            return numbers
        signs = np.sign(np.where(finite, 0.0, numbers))
        kinds = np.where(np.isnan(numbers), 2, signs)  # NaN has a sign that depends on the processor
        self.discrete += [kind.encode(), kinds.astype(np.int8).tobytes()]
        return np.where(finite, numbers, 0.0)


def _projected(everything: np.ndarray, double: bool) -> tuple[np.ndarray, float, float]:
    """Return the sums, `near` and `far` of the numbers of one kind; each operation is done in their own precision."""
    sums, flat, bent = np.zeros(PROJECTIONS), 0.0, 0.0
    for block, start in enumerate(range(0, len(everything), BLOCK)):
        offset = block * STRIDE % BLOCK  # of its signs in one long row
        numbers = everything[start : start + BLOCK]
        with np.errstate(over="ignore"):  # 1 / infinity is 0, as it should be
            steep = 1 / (1 + numbers * numbers)  # the square of asinh's slope
        flat += float(steep.sum())
        bent += float(np.abs(numbers) @ steep)
        sums += _long_signs()[:, offset : offset + len(numbers)] @ np.arcsinh(numbers).astype(np.float64)
    relative, absolute = FAR[double]

    def moved(relative: float, absolute: float) -> float:
        """Return a bound on the shift of a sum: the root of the sum of (r·|x| + a)² · slope², after asinh."""
        squares = relative**2 * (len(everything) - flat) + 2 * relative * absolute * bent + absolute**2 * flat
        return float(max(squares, 0.0) ** 0.5)

    return sums, 4 * moved(ROUNDING[double], 1e-2 * ROUNDING[double]), 4 * moved(relative, absolute)


@functools.cache
def _long_signs() -> np.ndarray:
    """Return [PROJECTIONS, 2 * BLOCK] of ±1 from the bits of a hash, so that no random generator need be imported."""
    bits = np.unpackbits(np.frombuffer(hashlib.shake_256(b"signs").digest(PROJECTIONS * 2 * BLOCK // 8), np.uint8))
    return bits.reshape(PROJECTIONS, 2 * BLOCK) * 2.0 - 1.0


def compare(actual: ReplyHash, expected: ReplyHash) -> bool | None:
    """Return whether two replies are the same; None if only the replies can tell. The bounds are those of `actual`."""
    if actual.digest != expected.digest:
        return False
    gaps = np.abs(actual.sums - expected.sums).max(axis=1)
    if all(gap <= near for gap, near in zip(gaps, actual.near, strict=True)):
        return True
    if any(gap > far for gap, far in zip(gaps, actual.far, strict=True)):
        return False
    return None
