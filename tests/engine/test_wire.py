"""Tests that plain values survive the wire protocol, and that any bytes raise only the documented errors."""

import contextlib
import enum
import json
import math
import socket
import struct
import subprocess
import sys
import time
from collections import UserString

import damage  # noqa: F401 (its profile says whether examples are the same in every run)
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wire_trees import BLOBS, JSON, TREES

from autograder.untrusted import wire
from autograder.untrusted.wire import DTYPES, MAX_DEPTH, Channel, Opaque, Packet, Ref, Seed, WireError, decode, encode

FEW, MANY = settings(max_examples=100), settings(max_examples=300)
FLOATS = {"tensor": "float32", "order": [0], "blob": 0}
ODD = [  # what crosses, and the word for it
    (torch.zeros(2, dtype=torch.complex64), "a complex64 tensor"),
    (torch.eye(3).to_sparse(), "a float32 tensor"),
    (torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), "a float32 tensor"),
    (torch.zeros([1] * 40), "a tensor of 40 dimensions"),
    (1j, "complex"),
    (b"abc", "bytes"),
    (np.zeros(3), "ndarray"),
    (np.datetime64("2020-01-01"), "date"),
    (object(), "object"),
    (lambda: 1, "function"),
    (torch.nn.Linear(1, 1), "Linear"),
    *((number, "a number of more than 1,200 digits") for number in (2**4096, -(2**5000), 10**20000)),
]
HEADERS = st.binary(max_size=80) | JSON.map(lambda tree: json.dumps(tree).encode())
SIZES = st.none() | st.integers(0, 2**32 - 1)


@st.composite
def tensors(draw):
    """Draw every dtype; no dimension to four, empty ones too; transposed, strided, expanded, flipped by indexing."""
    dtype = getattr(torch, draw(st.sampled_from(sorted(DTYPES))))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    count = math.prod(shape)
    raw = draw(st.binary(min_size=8 * count, max_size=8 * count))
    if dtype is torch.bool:
        flat = torch.tensor([byte % 2 == 1 for byte in raw[:count]], dtype=torch.bool)
    elif count:
        flat = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(dtype)[:count].clone()
    else:
        flat = torch.empty(0, dtype=dtype)
    tensor = flat.reshape(shape).permute(draw(st.permutations(range(len(shape)))))
    layout = draw(st.sampled_from(["plain", "strided", "expanded"]))
    if layout == "strided" and tensor.dim():
        tensor = tensor[::2]
    elif layout == "expanded":
        tensor = tensor.unsqueeze(0).expand(3, *tensor.shape)
    if dtype.is_floating_point and draw(st.booleans()):
        tensor = tensor.detach().requires_grad_(True)
    return tensor


HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
LEAVES = st.none() | st.booleans() | st.integers() | st.integers(-(2**4096) + 1, 2**4096 - 1) | st.floats() | tensors()
LEAVES |= st.text(st.characters(), max_size=8)  # lone surrogates too
LEAVES |= st.builds(Ref, st.integers(0, 99)) | st.builds(Seed, st.integers(0, 2**63 - 1))
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.sets(HASHABLE, max_size=4)
    ),
    max_leaves=12,
)


def same(actual, expected):
    """Compare to the last bit: NaN is NaN, 0.0 is not -0.0, True is not 1. A frozenset comes back as a set."""
    if isinstance(actual, torch.Tensor):
        return (
            type(expected) is torch.Tensor
            and (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
            and expected.was_differentiable == actual.requires_grad
            and bits(actual) == bits(expected)
            and actual.is_contiguous() <= expected.is_contiguous()
        )
    if isinstance(actual, (set, frozenset)):
        return isinstance(expected, (set, frozenset)) and actual == expected
    if type(actual) is not type(expected):
        return False
    if isinstance(actual, float):
        return struct.pack("d", actual) == struct.pack("d", expected) or (math.isnan(actual) and math.isnan(expected))
    if isinstance(actual, (list, tuple)):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    if isinstance(actual, dict):
        return actual.keys() == expected.keys() and all(same(actual[key], expected[key]) for key in actual)
    return actual == expected


def bits(tensor):
    return tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).numpy().tobytes()


@contextlib.contextmanager
def sockets():
    actual, expected = socket.socketpair()
    with actual, expected:
        yield actual, expected


def crossed(value):
    with sockets() as (actual, expected):
        packet = encode(value)
        Channel(actual).send(packet.tree, packet.blobs)
        return decode(Channel(expected).receive(time.monotonic() + 5))


@MANY
@given(VALUES)
@example({frozenset({1, frozenset()}): [{frozenset()}]})
@example([-0.0, math.inf, -math.inf, math.nan, 2**4096 - 1, "\ud800"])
def test_plain_values_arrive_as_they_left(value):
    assert same(value, crossed(value))


@FEW
@given(tensors())
def test_the_order_of_a_tensors_dimensions_in_memory_survives(tensor):
    once = crossed(tensor)
    wide = [d for d in range(tensor.dim()) if tensor.shape[d] > 1]  # the others' strides mean nothing
    if not tensor.numel():
        return
    assert [once.stride(d) for d in wide] == [crossed(once).stride(d) for d in wide]
    if 0 not in tensor.stride():  # an expanded tensor has no order there
        assert sorted(wide, key=tensor.stride) == sorted(wide, key=once.stride)


@FEW
@given(st.integers(0, 60), st.sampled_from([list, tuple, dict]))
def test_deep_nesting_ends_in_a_word_and_not_in_an_error(depth, kind):
    value = 1
    for _ in range(depth):
        value = {"a": value} if kind is dict else kind([value])
    result = crossed(value)
    for _ in range(min(depth, MAX_DEPTH + 1)):
        result = result["a"] if kind is dict else result[0]
    assert result == 1 if depth <= MAX_DEPTH + 1 else isinstance(result, Opaque)


@pytest.mark.parametrize(("value", "word"), ODD, ids=[word for _, word in ODD])
def test_what_is_no_plain_data_crosses_as_a_word(value, word):
    assert crossed(value) == Opaque(word)


def test_a_view_with_its_sign_turned_arrives_with_its_values():
    """Complex numbers in a rotary encoding end so; NumPy refuses such a view."""
    turned = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    assert turned.is_neg()
    assert crossed(turned).tolist() == [-2.0, 4.0]


def test_a_tensor_arrives_with_its_own_values_whatever_it_says_of_itself():
    class Liar(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

        def __eq__(self, other):
            return True

    result = crossed(torch.zeros(2).as_subclass(Liar))
    assert type(result) is torch.Tensor
    assert not torch.equal(result, torch.ones(2))
    view = torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).conj().imag
    assert view.is_neg()
    assert torch.equal(crossed(view), torch.tensor([-2.0, -4.0]))
    forged = Packet({"tensor": "bool", "shape": [3], "order": [0], "blob": 0}, [bytes([0, 1, 2])])
    assert bits(decode(forged)) == bytes([0, 1, 1])


@MANY
@given(TREES, BLOBS)
@example({"tensor": []}, [])
@example({"tensor": "float32", "shape": [2, 1], "order": [0, "a"], "blob": 0}, [b"\0" * 8])
@example({"tensor": "float32", "shape": [2], "order": [0.0], "blob": 0}, [b"\0" * 8])
@example({"tensor": "float32", "shape": [0, 2**70], "order": [0, 1], "blob": 0}, [b""])
@example({"tensor": "float32", "shape": [0, 2**40, 2**40], "order": [0, 1, 2], "blob": 0}, [b""])
@example({"tensor": "float32", "shape": [0, 2**70], "device": "meta"}, [])
@example({"tensor": "uint8", "shape": [1] * 100, "order": list(range(100)), "blob": 0}, [b"\0"])
@example({"int": "no number"}, [])
def test_any_tree_is_a_value_or_refused(tree, blobs):
    try:
        value = decode(Packet(tree, blobs))
    except WireError:
        return
    decode(encode(value))  # what it is can be sent again


@pytest.mark.parametrize(
    "tree",
    [
        {},
        [],
        {"list": 5},
        {"dict": [[1]]},
        {"dict": [[{"dict": []}, 1]]},
        {"pickle": "gASVAAAA"},
        {"float": "1e5; import os"},
        FLOATS | {"shape": [2]},
        FLOATS | {"shape": [-1]},
        FLOATS | {"shape": [1], "tensor": "object"},
        FLOATS | {"shape": [1], "order": [5]},
        FLOATS | {"shape": [1], "blob": 7},
        {"tensor": "float32", "shape": [2**50], "device": "meta"},
    ],
    ids=repr,
)
def test_a_malformed_reply_is_refused(tree):
    with pytest.raises(WireError):
        decode(Packet(tree, [b"\0" * 4]))


class Finding(enum.StrEnum):
    LEAK = "leak"


class Half(float):
    def __float__(self):
        return 7.0


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Finding.LEAK, "leak"),
        (enum.IntEnum("Count", {"ONE": 1}).ONE, 1),
        (Half(0.5), 0.5),
        (UserString("no string by its type"), Opaque("UserString")),
        (type("Ids", (list,), {})([1, Finding.LEAK]), [1, "leak"]),
        (type("Seen", (set,), {})([2]), {2}),
    ],
    ids=str,
)
def test_a_value_of_a_type_derived_from_a_plain_one_crosses_as_that(value, plain):
    found = decode(encode(value))
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize("depth", [20, 900, 10_000])
@pytest.mark.parametrize("kind", ["list", "tuple", "set", "dict", "opaque", "tensor"])
def test_nesting_without_end_is_refused(depth, kind):
    listed, tree = kind in ("list", "tuple", "set"), []
    for _ in range(depth):
        tree = {kind: [tree]} if listed else [[tree]]
    with pytest.raises(WireError):
        decode(Packet(tree if listed else {kind: tree}, []))


def received(data, limit=2**16, close=True):
    """Return what `receive` and `decode` make of these bytes, or the error that they are said to raise."""
    with sockets() as (actual, expected):
        expected.sendall(data)
        if close:
            expected.close()
        try:
            return decode(Channel(actual, limit).receive(time.monotonic() + 0.02))
        except (WireError, EOFError, TimeoutError) as error:
            return error


def framed(header, blobs=b"", size=None, total=None):
    size = len(header) if size is None else size
    return struct.pack("!II", size, len(header) + len(blobs) if total is None else total) + header + blobs


@MANY
@given(HEADERS, st.binary(max_size=20), SIZES, SIZES)
@example(b'[null, "ab"]', b"", None, None)
@example(b"[1, 2]", b"", None, None)
@example(b"[1, [-1, 1]]", b"", None, None)
@example(b"[1, [true]]", b"a", None, None)
@example(b"[" * 5000, b"", None, None)
@example(b"[" + b"9" * 5000 + b", []]", b"", None, None)
@example(b"\xff\xfe[\x00", b"", None, None)
def test_any_frame_is_a_message_or_refused(header, blobs, size, total):
    received(framed(header, blobs, size, total))


@pytest.mark.parametrize("total", [2**16 + 1, 2**31, 2**32 - 1])
def test_a_frame_over_the_limit_is_refused_before_it_is_read(total):
    assert isinstance(received(struct.pack("!II", 4, total), close=False), WireError)


def test_an_incomplete_message_times_out_or_ends():
    assert isinstance(received(framed(b"[null, []]")[:-3], close=False), TimeoutError)
    assert isinstance(received(framed(b"[null, []]")[:-3]), EOFError), "it is cut off"


def test_a_peer_that_leaves_without_reading_has_gone():
    with sockets() as (actual, expected):
        actual.sendall(b"a question that nobody reads")
        expected.close()
        with pytest.raises(EOFError):
            Channel(actual).receive()


SAME_HASH = [{"int": str(number * (2**61 - 1))} for number in range(wire.MAX_SAME_HASH + 1)]


@pytest.mark.parametrize(
    "tree",
    [
        {"dict": [[key, 0] for key in SAME_HASH]},
        {"set": SAME_HASH},
        {"set": [{"tuple": [1, key]} for key in SAME_HASH]},
        {"list": [1, {"dict": [[0, {"set": [{"set": [key]} for key in SAME_HASH]}]]}]},
    ],
    ids=["keys", "members", "tuples", "sets in sets"],
)
def test_keys_and_members_that_share_one_hash_are_refused(tree):
    with pytest.raises(WireError, match="same hash"):
        decode(Packet(tree))


def test_no_tensor_points_to_the_numbers_of_another():
    with pytest.raises(WireError, match="same numbers"):
        decode(Packet({"list": [FLOATS | {"shape": [1]}] * 2}, [b"\0" * 4]))


@pytest.mark.parametrize(
    ("bound", "value"),
    [
        ("MAX_ITEMS", [[1] * 6, [2] * 6]),
        ("MAX_KEYS", [dict.fromkeys(range(6), 0), set(range(6))]),
        ("MAX_TENSORS", [torch.zeros(2)] * 11),
    ],
)
def test_what_one_message_holds_is_bounded_all_together(monkeypatch, bound, value):
    packet = encode(value)
    decode(packet)
    monkeypatch.setattr(wire, bound, 10)
    with pytest.raises(WireError):
        decode(packet)


def test_a_message_with_too_many_lists_is_refused_unread(monkeypatch):
    actual, expected = socket.socketpair()
    with actual, expected:
        monkeypatch.setattr(wire, "MAX_ITEMS", 10)
        monkeypatch.setattr(wire.json, "loads", None)
        Channel(actual).send([[]] * 21)
        with pytest.raises(WireError, match="too many lists"):
            Channel(expected).receive()


@pytest.mark.parametrize(
    "value",
    [list(range(100_000)), {f"word {n}": n for n in range(50_000)}, {n / 4 for n in range(20_000)}],
    ids=["a list", "a vocabulary", "a set"],
)
def test_large_right_answers_pass(value):
    assert decode(encode(value)) == value


PEAK = """
import os, re, socket, torch
from autograder.untrusted.wire import Channel, decode, encode

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

mine, theirs = socket.socketpair()
if os.fork() == 0:
    packet = encode(torch.zeros(2**22))
    Channel(mine).send(packet.tree, packet.blobs)
    os._exit(0)
before = peak()
decode(Channel(theirs).receive())
print((peak() - before) / 2**14)  # in units of its 16 MiB
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a process's memory alone")
def test_reading_a_reply_takes_at_most_three_times_its_size():
    process = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    assert 0.9 < float(process.stdout) < 3.1
