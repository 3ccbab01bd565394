"""Hypothesis strategies for what a process may send in the place of a packet."""

import damage  # noqa: F401 (its profile says whether examples are the same in every run)
from hypothesis import strategies as st

from autograder.untrusted.wire import DTYPES

NUMBERS = st.integers(-3, 6) | st.integers() | st.sampled_from([2**31, 2**40, 2**63, -(2**63), 2**70]) | st.floats()
WORDS = st.text(max_size=6) | st.sampled_from(["inf", "float32", "bool", "meta", "0"])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["tensor", "list", "tuple", "set", "dict", "float", "int", "ref", "seed", "opaque"])
TENSOR_TREES = st.fixed_dictionaries(
    {"tensor": st.sampled_from(sorted(DTYPES)) | JSON},
    optional={
        "shape": st.lists(NUMBERS, max_size=5) | JSON,
        "device": st.sampled_from(["cpu", "meta", "cuda"]) | JSON,
        "order": st.permutations(range(3)) | st.lists(NUMBERS, max_size=4) | JSON,
        "blob": st.integers(0, 2) | JSON,
        "differentiable": JSON,
    },
)
NUMBER_WORDS = st.text(" _+-0123456789abx.e٣", max_size=8)
INTEGERS = NUMBER_WORDS | st.text("9", min_size=1990, max_size=2010)
TREES = st.recursive(
    JSON | TENSOR_TREES | INTEGERS.map(lambda word: {"int": word}),
    lambda inner: (
        st.dictionaries(KINDS, inner | st.lists(inner, max_size=3), min_size=1, max_size=2)
        | st.builds(lambda pairs: {"dict": pairs}, st.lists(st.lists(inner, min_size=2, max_size=2), max_size=3))
    ),
    max_leaves=10,
)
BLOBS = st.lists(st.binary(max_size=64), max_size=3)
