"""Tests that a sketch of an answer depends on its numbers, shape and type, and not on its memory layout."""

import copy
import functools

import pytest
import torch

from autograder.judge import canonical
from autograder.judge.diagnosis.reply_hash import BLOCK, compare, reply_hash
from autograder.judge.student import agree, in_process
from autograder.untrusted.responder import Responder
from autograder.untrusted.wire import decode, encode

NAN, INF = float("nan"), float("inf")
F64 = torch.float64
ERROR = {"kind": "raised", "type": "ValueError"}
KEYWORD = "f() got an unexpected keyword argument 'dims'"
REWORDED = {
    "max() arg is an empty sequence": "max() iterable argument is empty",
    KEYWORD: f"{KEYWORD}. Did you mean 'dim'?",
}


def crossed(value: object) -> object:
    return decode(encode(value))


def compared(actual: object, expected: object) -> bool | None:
    return compare(reply_hash(actual), reply_hash(expected))


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
    assert reply_hash(tensor).digest == reply_hash(copy).digest == reply_hash(crossed(tensor)).digest
    if tensor.numel():
        assert reply_hash(tensor).digest != reply_hash(~copy).digest
    assert reply_hash(tensor).digest != reply_hash(copy[None]).digest


def like(tensor: torch.Tensor, was_differentiable: bool = False) -> torch.Tensor:
    tensor.was_differentiable = was_differentiable
    return tensor


def numbers(dtype: torch.dtype = torch.float32, **changed: float) -> torch.Tensor:
    """Return thirty numbers; `_3=1.0` changes the fourth."""
    tensor = (torch.arange(30, dtype=torch.float64) * 0.7 - 3).sin().to(dtype) * 4
    for path, value in changed.items():
        tensor[int(path[1:])] = value
    return like(tensor)


@pytest.mark.parametrize(
    ("actual", "expected", "same"),
    [
        (numbers(), numbers(), True),
        (numbers(), like(numbers() * (1 + 1e-7)), True),
        (numbers(F64), like(numbers(F64) * (1 + 1e-15)), True),
        (numbers(_3=NAN), numbers(_3=NAN), True),
        (numbers(_0=INF), numbers(_0=INF), True),
        (torch.arange(5), torch.arange(5), True),
        ([], [], True),
        ([{"value": numbers(), "operations": {"aten.mm"}}], [{"value": numbers(), "operations": {"aten.bmm"}}], True),
        (ERROR | {"text": "no"}, ERROR | {"text": ""}, True),
        (ERROR, ERROR | {"type": "TypeError"}, False),
        (numbers(), like(numbers() + 0.01), False),
        (numbers(), like(-numbers()), False),
        (numbers(), like(numbers().flip(0)), False),
        (numbers(), like(numbers().reshape(5, 6)), False),
        (numbers(), numbers(F64), False),
        (numbers(), like(numbers(), was_differentiable=True), False),
        (numbers(F64), like(numbers(F64) + 1e-3), False),
        (numbers(_3=NAN), numbers(_4=NAN), False),
        (numbers(_3=NAN), numbers(), False),
        (numbers(_0=INF), numbers(_0=-INF), False),
        (numbers(_0=INF), numbers(_3=NAN), False),
        (torch.arange(5), torch.arange(5).flip(0), False),
        (torch.arange(5), torch.arange(5, dtype=torch.int32), False),
        (torch.tensor([True]), torch.tensor([1], dtype=torch.uint8), False),
        (1, 1.0, False),
        (1, True, False),
        ([1, 2], (1, 2), False),
        ([1, 2], [2, 1], False),
        ([[1], 2], [[1, 2]], False),
        ({"a": 1}, {"b": 1}, False),
        (None, 0, False),
        ([1.41], [1.41], True),
        ([1.41], [1.42], False),
        # Between rounding and difference only the answers tell: a sketch may be another processor's.
        (numbers(), like(numbers() * (1 + 1e-4)), None),
        (numbers(F64), like(numbers(F64) * (1 + 3e-10)), None),
        (numbers(F64), numbers(F64, _7=numbers(F64)[7].item() + 1e-7), None),
    ],
)
def test_answers_that_differ_by_more_than_rounding_are_told_apart(actual, expected, same):
    assert compared(actual, expected) is same
    if same is not None:
        assert agree(actual, expected) is same


def test_a_verdict_never_contradicts_the_answers():
    generator = torch.Generator().manual_seed(5)
    seen = set()
    for dtype, sizes in ((torch.float32, range(-8, 0)), (torch.float64, range(-16, -2))):
        for power in 20 * list(sizes):
            actual = like((torch.randn(40, generator=generator, dtype=torch.float64) * 3).to(dtype))
            noise = torch.randn(40, generator=generator, dtype=torch.float64).to(dtype)
            expected = like(actual * (1 + noise * 10.0**power))
            found = compared(actual, expected)
            seen.add(found)
            assert found is None or found == agree(actual, expected)
    assert seen == {True, False, None}
    assert not agree(numbers(F64), numbers(F64, _7=numbers(F64)[7].item() + 1e-7)), "a ten millionth in float64"


@pytest.mark.parametrize("path", [0, BLOCK - 1, BLOCK, -1])
def test_one_number_among_many_thousands_is_seen(path):
    many = torch.linspace(-1, 1, 2 * BLOCK + 5, dtype=torch.float64)
    assert compared(crossed(many), crossed(many.clone())) is True
    for other in (3.0, INF, NAN):
        changed = many.clone()
        changed[path] = other
        assert compared(crossed(many), crossed(changed)) is False


def test_what_was_passed_in_does_not_blur_the_result():
    """A batch of 60,000 numbers comes back with a loss: a thousandth of the loss must be seen beside it."""
    batch = torch.linspace(-3, 3, 60_000)

    def answer(loss: float, inputs: torch.Tensor = batch) -> list[dict]:
        return [{"value": crossed(torch.tensor(loss)), "inputs": [crossed(inputs)]}]

    changed = batch.clone()
    changed[777] += 50
    assert compared(answer(1.41), answer(1.41)) is True
    assert compared(answer(1.41), answer(1.42)) is False
    assert compared(answer(1.41), answer(1.41, changed)) is False
    assert compared([{"value": crossed(batch)}], [{"inputs": crossed(batch)}]) is False


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.4107111692428589, 1.4107112884521484, True),  # a loss.item() on two processors: one unit in the last place
        ({"rate": [0.1, None]}, {"rate": [0.10000001, None]}, True),
        (0.0, 1e-8, True),
        (INF, INF, True),
        (NAN, NAN, True),
        (1.41, 1.42, False),
        ([1.0, 2.0], [2.0, 1.0], False),
        ([1.0, 2.0], [1.0, 2.0, 3.0], False),
        ([NAN, 1.0], [1.0, NAN], False),
        (0.0, 1e-3, False),
        (3.0, 3, False),
        (1.0, INF, False),
        (INF, 1.0, False),
        (INF, -INF, False),
        (NAN, 1.0, False),
    ],
)
def test_floats_that_only_rounding_tells_apart_are_the_same(one, other, same):
    assert agree(one, other) is same
    assert compared([one], [other]) in (same, None)  # None: only the answers themselves can tell


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("loss: 1.4107111692428589", "loss: 1.4107112884521484", True),
        ("21288.115234375", "21288.115281", True),
        (["1e-05", "2"], ["9.99999e-06", "2"], True),
        ({("a", 9.9999999), ("a", 0.5)}, {("a", 10.0000001), ("a", 0.5)}, True),  # as text, they change places
        ({(9.9999999, "b"): 1, (0.5, "b"): 2}, {(10.0000001, "b"): 1, (0.5, "b"): 2}, True),
        ({0.1 + 0.2, 5.0}, {0.3, 5.0}, True),
        ({0.1 + 0.2: "x"}, {0.3: "x"}, True),
        ({"0.0"}, {"-0.0"}, True),
        ({"<object at 0x7f3a5c0010>"}, {"<object at 0x55d0c3b2a0>"}, True),
        ("21288.115", "21388.115", False),
        ("21288.115", "about 21288.115", False),
        ("1.5 and 2.5", "2.5 and 1.5", False),
        ("version 12", "version 13", False),
        (["1.5"], [1.5], False),
        ({0.25, 5.0}, {0.3, 5.0}, False),
        ({0.25}, {"0.25"}, False),
        ({1.0}, {1}, False),
        ({0.25: "x"}, {0.3: "x"}, False),
        ({frozenset("ab")}, {frozenset("ac")}, False),
        ({("a", 0.5), ("b", 2.0)}, {("a", 2.0), ("b", 0.5)}, False),
    ],
)
def test_floats_in_text_are_compared_as_numbers_and_words_told_apart(one, other, same):
    one, other = crossed([{"value": one}]), crossed([{"value": other}])
    assert agree(one, other) is same
    assert compared(one, other) in ((True, None) if same else (False,))
    assert reply_hash(one).digest == reply_hash(other).digest or not same


@pytest.mark.parametrize("deep", [[[0.5], [0.25]], [[True, False], [False]], [(0, 1), (2, 3)], ["a", "b"], [0, 1]])
def test_how_a_list_is_cut_into_lists_is_seen(deep):
    flat = [item for part in deep for item in (part if isinstance(part, (list, tuple)) else [part])]
    assert compared(deep, copy.deepcopy(deep)) is True
    for other in ([flat], flat + flat[:1], flat[::-1], *([flat] if flat != deep else [])):
        assert compared(deep, other) is False


def test_what_has_thousands_of_levels_is_read_to_an_end():
    deep = functools.reduce(lambda inner, _: [{"a": inner}], range(5000), 0)
    assert compared(deep, deep) is True
    assert not agree(deep, deep), "so deep that nobody compares it"


def test_the_sign_of_nan_does_not_change_a_hash():
    nans = torch.tensor([0x7FC00000, 0x7FC00000 - 2**31], dtype=torch.int64).to(torch.int32).view(torch.float32)
    assert nans.isnan().all()
    assert reply_hash(crossed(nans[:1])).digest == reply_hash(crossed(nans[1:])).digest
    assert compared([NAN], [-NAN]) is True


def test_the_order_of_a_set_does_not_change_its_hash():
    words = [f"w{number}" for number in range(50)]
    one, other = frozenset(words), frozenset(reversed(words))
    assert list(one) != list(other)
    assert reply_hash([one]).digest == reply_hash([other]).digest
    assert reply_hash([{one}]).digest == reply_hash([{other}]).digest


def test_names_whose_digits_look_like_the_same_number_have_one_order():
    assert canonical.key("block.1.bias") < canonical.key("block.10.bias")  # .1 and .10 are one number


@pytest.mark.parametrize("piece", ["1", "a", "-+", "w.", "'", "0x", "e", "( )"])
def test_a_text_is_read_in_the_time_of_its_length(piece):
    """A pattern that tries every beginning anew would take minutes of such a text."""
    text = piece * 300_000
    assert canonical.split(text) == (text, [])
    assert len(canonical.message(text, own=False)) < 2 * len(text)


def defined(source: str) -> dict:
    scope: dict = {}
    exec(compile("import re, torch\n" + source, "<answer>", "exec"), scope)
    return scope


def raised(source: str) -> dict:
    question = encode({"do": "call", "target": "f", "args": [], "kwargs": {}})
    return decode(Responder(defined(source)).respond(question))["problem"]


def error_hash(problem: dict) -> int:
    return reply_hash([problem]).error_hash


def test_a_librarys_own_error_type_counts_as_its_built_in_base():
    """`re.error` is called `PatternError` since Python 3.13."""
    found = raised("def f(): return re.compile('*')")
    assert found["base"] == "Exception"
    renamed = found | {"type": "AnotherName"}
    assert reply_hash([{"problem": found}]).digest == reply_hash([{"problem": renamed}]).digest
    assert agree(found, renamed)
    own = raised("class Mine(ValueError): pass\ndef f(): raise Mine('no')")
    assert (own["type"], own["base"]) == ("Mine", "ValueError")


@pytest.mark.parametrize(("text", "later"), REWORDED.items())
def test_messages_of_python_are_known_whatever_its_version_words(text, later):
    one, other = (ERROR | {"base": "ValueError", "text": output} for output in (text, later))
    assert error_hash(one | {"own": False}) == error_hash(other | {"own": False})
    assert error_hash(one | {"own": True}) != error_hash(other | {"own": True})


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("raise ValueError('no')", True),
        ("assert False, 'no'", True),
        ("return 1 + None", False),
        ("return max([])", False),
        ("return re.compile('*')", False),
        ("return {}['no']", False),
        ("return torch.ones(2) @ torch.ones(3)", False),
        ("return torch.nn.Linear(2, 3)(torch.ones(4))", False),
    ],
)
def test_whether_a_program_words_its_error_itself_is_seen(body, own):
    assert raised(f"def f():\n    {body}")["own"] is own


def test_an_error_hash_depends_on_names_and_integers_in_the_message():
    for one, other in (("1 + None", "'a' + None"), ("torch.ones(2) @ torch.ones(3)", "torch.ones(2) @ torch.ones(4)")):
        assert error_hash(raised(f"def f(): return {one}")) != error_hash(raised(f"def f(): return {other}"))


def test_an_error_hash_ignores_floats_in_the_message():
    own = [error_hash(raised(f"def f(): raise ValueError({text!r})")) for text in ("a 1.5", "a 1.6", "b 1.5")]
    assert own[0] == own[1] != own[2]


def test_a_forged_record_has_no_error_hash():
    assert reply_hash([{"problem": "no"}, 5]).error_hash == reply_hash([]).error_hash, "a forged record has no words"


@pytest.mark.parametrize("draw", ["random.random()", "numpy.random.rand()", "numpy.random.randint(10**9)"])
def test_draws_of_other_libraries_repeat_in_each_process(draw):
    source = f"def f():\n    import random, numpy\n    return {draw}"
    draws = [[student.value("f") for _ in range(3)] for student in (in_process(defined(source)) for _ in range(2))]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 3
