"""Encode plain data for the wire between the judge and a student's process: names, shapes and raw bytes, never pickles.

A message is a JSON header and a list of blobs. `encode` turns a value into such a tree, `decode` turns it back;
anything that is not plain data becomes an `Opaque`, which carries only the name of its type. Both sides use this
module, so it imports nothing of the grader. PyTorch is imported when the first tensor comes, and never if none does.
"""

from __future__ import annotations

import json
import math
import re
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

if TYPE_CHECKING:
    import torch

DTYPES = frozenset(  # PyTorch's own names
    ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
)
_WHOLE = re.compile(r"-?[0-9]+")
MAX_FRAME = 64 * 2**20  # bytes; larger messages are refused before they are read
MAX_DEPTH = 16  # nesting of lists; protects both sides from deep recursion
MAX_ITEMS = 1_000_000  # entries of lists and dictionaries in one message, all together
MAX_KEYS = 100_000  # keys of dictionaries and members of sets in one message
MAX_SAME_HASH = 100  # of these, in one dictionary or set: each is compared with all others of its hash
MAX_TENSORS = 10_000  # in one message
MAX_DIMS = 32  # of a tensor


class WireError(Exception):
    """The received bytes are not a message, or a value is too large for one."""


@dataclass(frozen=True)
class Opaque:
    """A value that is not plain data: only the name of its type crossed the wire."""

    type_name: str


@dataclass(frozen=True)
class Ref:
    """A handle for an object in the student's process (a module that was built, a probe, a kept result)."""

    key: int


@dataclass(frozen=True)
class Seed:
    """An argument that arrives as a new `torch.Generator` with this seed."""

    seed: int


@dataclass
class Packet:
    """A message: a JSON tree and the blobs that its tensors point to."""

    tree: Any
    blobs: list[bytes] = field(default_factory=list)
    text: int = 0  # bytes of the tree as it was received


def is_tensor(value: Any) -> TypeGuard[torch.Tensor]:
    """Return True if a value is a tensor, whatever class it claims. Without PyTorch imported, none is."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(type(value), torch.Tensor)


_CONTAINERS: dict[type, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "set"}
_PLAIN: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}


def encode(value: Any) -> Packet:
    packet = Packet(None)
    packet.tree = _encode(value, packet, 0)
    return packet


def _encode(value: Any, packet: Packet, depth: int) -> Any:
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        if abs(value) >= 2**4096:
            return {"opaque": "a number of more than 1,200 digits"}
        return value if abs(value) < 2**53 else {"int": str(value)}
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if is_tensor(value):
        return _encode_tensor(value, packet)
    if isinstance(value, Ref):
        return {"ref": value.key}
    if isinstance(value, Seed):
        return {"seed": value.seed}
    if depth > MAX_DEPTH:
        return {"opaque": "a deeply nested " + type(value).__name__}
    if isinstance(value, dict):
        return {"dict": [[_encode(k, packet, depth + 1), _encode(v, packet, depth + 1)] for k, v in value.items()]}
    if isinstance(value, np.generic):  # encoded as a Python number
        return _encode(value.item(), packet, depth + 1)
    for container, kind in _CONTAINERS.items():
        if issubclass(type(value), container):  # a named tuple, too
            return {kind: [_encode(v, packet, depth + 1) for v in value]}
    for plain, exact in _PLAIN.items():
        if issubclass(type(value), plain):  # a member of an enum, too
            return _encode(exact(value), packet, depth + 1)
    return {"opaque": type(value).__name__}


def _encode_tensor(tensor: torch.Tensor, packet: Packet) -> Any:
    import torch

    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPES or tensor.layout is not torch.strided or tensor.is_nested:
        return {"opaque": f"a {name} tensor"}
    if tensor.dim() > MAX_DIMS:
        return {"opaque": f"a tensor of {tensor.dim()} dimensions"}
    header: dict[str, Any] = {"tensor": name, "shape": list(tensor.shape), "device": tensor.device.type}
    header["differentiable"] = bool(tensor.requires_grad)
    if tensor.device.type == "meta":
        return header
    plain = tensor.detach().cpu()
    if plain.numel() * plain.element_size() > MAX_FRAME // 2:
        return {"opaque": f"a tensor of {plain.numel():,} numbers"}
    # A non-contiguous tensor is sent contiguous, with the order of its dimensions, so that layout can be tested too.
    strides = plain.stride()
    order = sorted(range(plain.dim()), key=lambda d: -strides[d])
    header["order"] = order
    if order != sorted(order):
        plain = plain.permute(order)
    data = plain.clone(memory_format=torch.contiguous_format)  # NumPy refuses a view with its sign turned
    data = data.view(torch.int16) if data.dtype is torch.bfloat16 else data  # which NumPy does not know
    header["blob"] = len(packet.blobs)
    packet.blobs.append(bytes(data.numpy().tobytes()))  # a student's own type computes no later
    return header


def decode(packet: Packet) -> Any:
    """Return the value of a message. Raise WireError if it is malformed, or costs more to read than a reply may."""
    return _Decoder(packet.blobs).decode(packet.tree, 0)


class _Decoder:
    """Decodes one message, and counts what is in it before it is built."""

    def __init__(self, blobs: list[bytes]) -> None:
        self.blobs = blobs
        self.items = self.keys = self.tensors = 0
        self.taken: set[int] = set()  # blobs that a tensor points to

    def decode(self, tree: Any, depth: int) -> Any:
        if depth > 2 * MAX_DEPTH:
            raise WireError("the value is nested too deeply")
        if tree is None or isinstance(tree, (bool, int, float, str)):
            return tree
        if not isinstance(tree, dict) or not tree:
            raise WireError("not an encoded value")
        if "tensor" in tree:
            return self._tensor(tree)
        kind, content = next(iter(tree.items()))
        if kind in ("list", "tuple", "set"):
            items = [self.decode(item, depth + 1) for item in self._list(content)]
            return items if kind == "list" else tuple(items) if kind == "tuple" else set(self._distinct(items))
        if kind == "dict":
            pairs = self._list(content)
            if any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
                raise WireError("not an encoded dictionary")
            keys = self._distinct([self.decode(key, depth + 1) for key, _ in pairs])
            return {key: self.decode(value, depth + 1) for key, (_, value) in zip(keys, pairs, strict=True)}
        if kind == "float" and content in ("inf", "-inf", "nan"):
            return float(content)
        if kind == "int" and isinstance(content, str) and len(content) < 2000 and _WHOLE.fullmatch(content):
            return int(content)
        if kind == "ref" and type(content) is int:
            return Ref(content)
        if kind == "seed" and type(content) is int:
            return Seed(content)
        if kind == "opaque" and isinstance(content, str):
            return Opaque(content[:80])
        raise WireError("not an encoded value")

    def _list(self, value: Any) -> list[Any]:
        self.items += len(value) if isinstance(value, list) else 0
        if not isinstance(value, list) or self.items > MAX_ITEMS:
            raise WireError("not an encoded list, or too long a one")
        return value

    def _distinct(self, values: list[Any]) -> list[Any]:
        """Return what may be keys of a dictionary or members of a set; refuse what would take long to tell apart."""
        self.keys += len(values)
        if self.keys > MAX_KEYS:
            raise WireError(f"more than {MAX_KEYS:,} keys of dictionaries and members of sets")
        return _tell_apart(value if type(value) is str else self._hashable(value) for value in values)

    def _hashable(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            value = tuple(map(self._hashable, value))
        elif isinstance(value, set):
            value = frozenset(value)
        try:
            hash(value)
        except TypeError as error:
            raise WireError("a key or set member that cannot be one") from error
        return Opaque("tensor") if is_tensor(value) else value

    def _tensor(self, tree: dict[str, Any]) -> torch.Tensor:
        self.tensors += 1
        if self.tensors > MAX_TENSORS:
            raise WireError(f"more than {MAX_TENSORS:,} tensors")
        index = tree.get("blob")
        if type(index) is int:
            if index in self.taken:  # `encode` writes none twice, and many tensors of one blob would fill the memory
                raise WireError("two tensors with the same numbers in the message")
            self.taken.add(index)
        return _decode_tensor(tree, self.blobs)


def _tell_apart(values: Iterable[Any]) -> list[Any]:
    """Return the values as a list. Raise WireError if many have one hash: a dictionary of them takes the square."""
    found = list(values)
    if len(found) > MAX_SAME_HASH and max(Counter(map(hash, found)).values()) > MAX_SAME_HASH:
        raise WireError(f"more than {MAX_SAME_HASH} keys of a dictionary or members of a set have the same hash")
    return found


def _decode_tensor(tree: dict[str, Any], blobs: list[bytes]) -> torch.Tensor:
    name, shape = tree["tensor"], tree.get("shape")
    if not isinstance(name, str) or name not in DTYPES or not _is_shape(shape):
        raise WireError("not an encoded tensor")
    try:
        import torch
    except ImportError as error:
        raise WireError("a tensor, where PyTorch is not installed") from error
    dtype = getattr(torch, name)
    if tree.get("device") == "meta":
        result = torch.empty(shape, dtype=dtype, device="meta")
    else:
        order, index = tree.get("order"), tree.get("blob")
        if not _all_whole(order) or sorted(order) != list(range(len(shape))):
            raise WireError("not an encoded tensor")
        if type(index) is not int or not 0 <= index < len(blobs):
            raise WireError("a tensor without its numbers")
        if len(blobs[index]) != math.prod(shape) * dtype.itemsize:
            raise WireError("a tensor whose numbers do not fit its shape")
        if not blobs[index]:
            flat = torch.empty(0, dtype=dtype)
        elif dtype is torch.bool:
            flat = torch.frombuffer(bytearray(blobs[index]), dtype=torch.uint8) != 0  # a byte of 2 is no valid bool
        else:
            flat = torch.frombuffer(bytearray(blobs[index]), dtype=dtype)  # a copy, aligned and ours
        result = flat.reshape([shape[d] for d in order])
        if order != sorted(order):
            result = result.permute([order.index(d) for d in range(len(shape))])
    result.was_differentiable = tree.get("differentiable") is True  # type: ignore[attr-defined]  # ours
    return result


def _is_shape(value: Any) -> TypeGuard[list[int]]:
    """Return whether this is a list of sizes that torch can count, even if one of them is zero."""
    if not _all_whole(value) or len(value) > MAX_DIMS or min(value, default=0) < 0:
        return False
    return math.prod(max(n, 1) for n in value) <= 2**40


def _all_whole(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and {*map(type, value)} <= {int}


class Channel:
    """Messages over a connected socket. `receive` raises WireError for a malformed one, TimeoutError and EOFError."""

    def __init__(self, sock: socket.socket, limit: int = MAX_FRAME, max_header: float = math.inf) -> None:
        self.sock, self.limit, self.max_header = sock, limit, max_header  # bytes of a message, and of its JSON text

    def send(self, tree: Any, blobs: list[bytes] | None = None) -> None:
        blobs = blobs or []
        header = json.dumps([tree, [len(blob) for blob in blobs]]).encode()
        total = len(header) + sum(map(len, blobs))
        if total > self.limit:
            raise WireError(f"a message of {total / 2**20:.0f} MiB")
        self.sock.sendall(b"".join((struct.pack("!II", len(header), total), header, *blobs)))

    def receive(self, deadline: float | None = None) -> Packet:
        """Return the next message; raise TimeoutError after `deadline`, a time on the monotonic clock."""
        size, total = struct.unpack("!II", self._exactly(8, deadline))
        if size > self.max_header:
            raise WireError("a reply with too much text")
        if total > self.limit or size > total:
            raise WireError(f"a message of {total / 2**20:.0f} MiB")
        payload = memoryview(self._exactly(total, deadline))
        text = bytes(payload[:size])
        if text.count(b"[") + text.count(b"{") > 2 * MAX_ITEMS:  # each list or dictionary takes 60 bytes and more
            raise WireError("a message with too many lists")
        try:
            tree, lengths = json.loads(text)
            blobs, start = [], size
            for length in lengths:
                if type(length) is not int or length < 0:
                    raise ValueError(length)
                blobs.append(bytes(payload[start : start + length]))
                start += length
            if start != total:
                raise ValueError("lengths")
        except (ValueError, TypeError, RecursionError) as error:
            raise WireError("not a message") from error
        return Packet(tree, blobs, size)

    def _exactly(self, count: int, deadline: float | None) -> bytearray:
        parts = bytearray()
        while len(parts) < count:
            if deadline is not None:
                remaining = deadline - time.monotonic()
                if remaining < -1:  # a peer that never stops sending times out too
                    raise TimeoutError("the other side does not come to an end")
                self.sock.settimeout(max(remaining, 1e-3))
            try:
                part = self.sock.recv(min(count - len(parts), 1 << 20))
            except ConnectionError as error:  # closed before it read everything
                raise EOFError("the other side has gone") from error
            if not part:
                raise EOFError("the other side has gone")
            parts += part
        return parts

    def close(self) -> None:
        self.sock.close()
