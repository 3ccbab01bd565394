"""Tests that a sketch of an answer depends on its numbers, shape and type, and not on its memory layout."""

from __future__ import annotations

import pytest
import torch

from autograder.judge import canonical
from autograder.judge.diagnosis.sketch import BLOCK, compare, sketch
from autograder.judge.student import agree, in_process
from autograder.untrusted.responder import Responder
from autograder.untrusted.wire import decode, encode


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
    assert compare(sketch([one]), sketch([other])) in (same, None)  # None: only the answers themselves can tell


def test_a_sketch_alone_tells_most_floats_apart():
    assert compare(sketch([1.41]), sketch([1.41])) is True
    assert compare(sketch([1.41]), sketch([1.42])) is False


@pytest.mark.parametrize("place", [0, BLOCK - 1, BLOCK, -1])
def test_one_number_among_many_thousands_is_seen(place):
    many = torch.linspace(-1, 1, 2 * BLOCK + 5, dtype=torch.float64)
    for other in (3.0, INF, NAN):
        changed = many.clone()
        changed[place] = other
        assert compare(sketch(crossed(many)), sketch(crossed(many.clone()))) is True
        assert compare(sketch(crossed(many)), sketch(crossed(changed))) is False


@pytest.mark.parametrize("deep", [[[0.5], [0.25]], [[True, False], [False]], [(0, 1), (2, 3)], ["a", "b"], [0, 1]])
def test_how_a_list_is_cut_into_lists_is_seen(deep):
    flat = [item for part in deep for item in (part if isinstance(part, (list, tuple)) else [part])]
    assert compare(sketch(deep), sketch(deep)) is True
    for other in ([flat], flat + flat[:1], flat[::-1], *([flat] if flat != deep else [])):
        assert compare(sketch(deep), sketch(other)) is False


def test_what_was_passed_in_does_not_blur_the_result():
    """A batch of 60,000 numbers comes back with a loss: a thousandth of the loss must be seen beside it."""
    batch = torch.linspace(-3, 3, 60_000)

    def answer(loss: float, inputs: torch.Tensor = batch) -> list[dict]:
        return [{"value": crossed(torch.tensor(loss)), "inputs": [crossed(inputs)]}]

    changed = batch.clone()
    changed[777] += 50
    assert compare(sketch(answer(1.41)), sketch(answer(1.41))) is True
    assert compare(sketch(answer(1.41)), sketch(answer(1.42))) is False
    assert compare(sketch(answer(1.41)), sketch(answer(1.41, changed))) is False
    assert compare(sketch([{"value": crossed(batch)}]), sketch([{"value": crossed(changed)}])) is False
    assert compare(sketch([{"value": crossed(batch)}]), sketch([{"inputs": crossed(batch)}])) is False


def test_the_sign_of_what_is_no_number_is_the_processors():
    nans = torch.tensor([0x7FC00000, 0x7FC00000 - 2**31], dtype=torch.int64).to(torch.int32).view(torch.float32)
    assert nans.isnan().all()
    assert sketch(crossed(nans[:1])).digest == sketch(crossed(nans[1:])).digest
    assert compare(sketch([NAN]), sketch([-NAN])) is True


# --- what differs from run to run, from processor to processor, and from one Python to the next --------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("21288.115234375", "21288.115281"),
        ("loss: 1.4107111692428589", "loss: 1.4107112884521484"),
        (["1e-05", "2"], ["9.99999e-06", "2"]),
        ({0.1 + 0.2, 5.0}, {0.3, 5.0}),
        ({("a", 9.9999999), ("a", 0.5)}, {("a", 10.0000001), ("a", 0.5)}),  # as text, they change places
        ({(9.9999999, "b"): 1, (0.5, "b"): 2}, {(10.0000001, "b"): 1, (0.5, "b"): 2}),
        ({0.1 + 0.2: "x"}, {0.3: "x"}),
        ({"<object at 0x7f3a5c0010>"}, {"<object at 0x55d0c3b2a0>"}),
        ({"0.0"}, {"-0.0"}),
    ],
)
def test_floats_in_text_are_compared_as_numbers(one, other):
    one, other = crossed([{"value": one}]), crossed([{"value": other}])
    assert sketch(one).digest == sketch(other).digest
    assert compare(sketch(one), sketch(other)) in (True, None)
    assert agree(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("21288.115", "21388.115"),
        ("21288.115", "about 21288.115"),
        ("1.5 and 2.5", "2.5 and 1.5"),
        ("version 12", "version 13"),
        (["1.5"], [1.5]),
        ({0.25, 5.0}, {0.3, 5.0}),
        ({0.25}, {"0.25"}),
        ({1.0}, {1}),
        ({0.25: "x"}, {0.3: "x"}),
        ({("a", 0.5), ("b", 2.0)}, {("a", 2.0), ("b", 0.5)}),
        ({frozenset("ab")}, {frozenset("ac")}),
    ],
)
def test_text_with_other_floats_or_other_words_is_told_apart(one, other):
    one, other = crossed([{"value": one}]), crossed([{"value": other}])
    assert compare(sketch(one), sketch(other)) is False
    assert not agree(one, other)


def test_the_order_in_which_a_set_was_filled_is_not_seen():
    words = [f"w{number}" for number in range(50)]
    one, other = frozenset(words), frozenset(reversed(words))
    assert list(one) != list(other)
    assert sketch([one]).digest == sketch([other]).digest
    assert sketch([{one}]).digest == sketch([{other}]).digest


@pytest.mark.parametrize("piece", ["1", "a", "-+", "w.", "'", "0x", "e", "( )"])
def test_a_text_is_read_in_the_time_of_its_length(piece):
    """A pattern that tries every beginning anew would take minutes of such a text."""
    text = piece * 300_000
    assert canonical.split(text) == (text, [])
    assert len(canonical.message(text, own=False)) < 2 * len(text)


def raised(source: str) -> dict:
    """What crosses the wire of an error that a program raises."""
    scope: dict = {}
    exec(compile("import re, torch\n" + source, "<answer>", "exec"), scope)
    return decode(Responder(scope).answer(encode({"do": "call", "target": "f", "args": [], "kwargs": {}})))["problem"]


def test_an_error_of_a_librarys_own_type_counts_as_the_built_in_one_that_it_is():
    """`re.error` is called `PatternError` since Python 3.13."""
    found = raised("def f(): return re.compile('*')")
    assert found["base"] == "Exception"
    renamed = found | {"type": "AnotherName"}
    assert sketch([{"problem": found}]).digest == sketch([{"problem": renamed}]).digest
    assert agree(found, renamed)
    own = raised("class Mine(ValueError): pass\ndef f(): raise Mine('no')")
    assert (own["type"], own["base"]) == ("Mine", "ValueError")


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("max() arg is an empty sequence", "max() iterable argument is empty"),
        (
            "f() got an unexpected keyword argument 'dims'",
            "f() got an unexpected keyword argument 'dims'. Did you mean 'dim'?",
        ),
    ],
)
def test_messages_of_python_are_known_whatever_its_version_words(text, later):
    problems = [{"kind": "raised", "type": "ValueError", "base": "ValueError", "text": t} for t in (text, later)]
    assert sketch([problems[0] | {"own": False}]).words == sketch([problems[1] | {"own": False}]).words
    assert sketch([problems[0] | {"own": True}]).words != sketch([problems[1] | {"own": True}]).words


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("raise ValueError('no')", True),
        ("assert False, 'no'", True),
        ("return 1 + None", False),
        ("return max([])", False),
        ("return torch.ones(2) @ torch.ones(3)", False),
        ("return torch.nn.Linear(2, 3)(torch.ones(4))", False),
        ("return re.compile('*')", False),
        ("return {}['no']", False),
    ],
)
def test_whether_a_program_words_its_error_itself_is_seen(body, own):
    assert raised(f"def f():\n    {body}")["own"] is own


def test_of_other_messages_names_and_whole_numbers_tell():
    for one, other in (("1 + None", "'a' + None"), ("torch.ones(2) @ torch.ones(3)", "torch.ones(2) @ torch.ones(4)")):
        assert sketch([raised(f"def f(): return {one}")]).words != sketch([raised(f"def f(): return {other}")]).words


def test_of_its_own_messages_all_but_floats_tells():
    words = [sketch([raised(f"def f(): raise ValueError({text!r})")]).words for text in ("a 1.5", "a 1.6", "b 1.5")]
    assert words[0] == words[1] != words[2]


@pytest.mark.parametrize("draw", ["random.random()", "numpy.random.rand()", "numpy.random.randint(10**9)"])
def test_who_draws_from_elsewhere_answers_the_same_in_every_process_and_otherwise_each_time(draw):
    source = f"def f():\n    import random, numpy\n    return {draw}"
    draws = [[student.value("f") for _ in range(3)] for student in (in_process(defined(source)) for _ in range(2))]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 3


def defined(source: str) -> dict:
    scope: dict = {}
    exec(source, scope)
    return scope
