"""Tests that each common mistake does what its name says, in functions and classes, and has no duplicate variants."""

import ast
import math

import pytest
import torch
from torch import nn

from autograder.spec.common_mistakes import COMMON_MISTAKES, CommonMistake

BY_NAME = {slip.name: slip for slip in COMMON_MISTAKES}
DOUBLED = 'def doubled(x):\n    """Twice x."""\n    return x * 2\n'
CLASS = """
class Doubled(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x * 2
"""
GUARDED = """
def root(x):
    'The square root.'
    if x < 0:
        raise ValueError("x is negative")
    return math.sqrt(x)
"""
EARLY = "def early(x):\n    if x.numel() == 0:\n        return x.clone()\n    return x + 1\n"
PAIR = "def pair(x):\n    return x + 1, x / 3\n"
NO_RETURN = "def silent(x):\n    x = x + 1\n"
INNER = "def outer(x):\n    def inner(y):\n        return y / 3\n    return inner(x) + 1\n"
THIRDS = "def thirds(x):\n    return x / 3\n"
TOTAL = "def total(x):\n    return x.sum()\n"
both = pytest.mark.parametrize("source", [DOUBLED, CLASS], ids=["function", "class"])


def made(slip: str, source: str, takes: str = "tensor", gives: str = "tensor") -> tuple[str, ...]:
    tree = ast.parse(source)
    [name] = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return BY_NAME[slip].variants_of(source, name, takes, gives)


def runs(slip: str, source: str, takes: str = "tensor", gives: str = "tensor") -> list:
    found = []
    for variant in made(slip, source, takes, gives):
        namespace = {"torch": torch, "nn": nn, "math": math}
        exec(variant, namespace)
        [name] = [node.name for node in ast.parse(variant).body]
        one = namespace[name]
        found.append(one() if isinstance(one, type) else one)
    assert found
    return found


def x(*shape: int, **options) -> torch.Tensor:
    return torch.arange(1.0, math.prod(shape) + 1, **options).reshape(shape)


@both
def test_nothing_returned_gives_none_with_and_without_early_returns(source, capsys):
    assert [f(x(2)) for f in runs("nothing_returned", source)] == [None, None]
    assert "2., 4." in capsys.readouterr().out  # one of them prints
    *early, nowhere = runs("nothing_returned", EARLY)
    for f in early:
        assert f(x(2)) is None
        assert f(x(0)).numel() == 0, "an early return stays"
    assert nowhere(x(2)) is nowhere(x(0)) is None


@both
def test_gradient_cut_off_leaves_values_and_no_gradient(source):
    for f in runs("gradient_cut_off", source):
        result = f(x(3, requires_grad=True))
        assert torch.equal(result, 2 * x(3))
        assert not result.requires_grad
    for f in runs("gradient_cut_off", "def f(x):\n    return *torch.stack([2 * x, 3 * x]), 4 * x\n"):
        assert not any(part.requires_grad for part in f(x(3, requires_grad=True))), "of a starred part"


@both
def test_input_changed_gives_the_right_result_and_changes_the_input(source):
    for f in runs("input_changed", source):
        actual = x(3)
        assert torch.equal(f(actual), 2 * x(3))
        assert not torch.equal(actual, x(3))


def test_input_changed_fits_what_the_exercise_takes():
    lists = runs("input_changed", "def f(words):\n    return len(words)\n", takes="list", gives="number")
    assert len(lists) == 3
    for f in lists:
        words = ["c", "a", "b"]
        assert f(words) == 3
        assert words != ["c", "a", "b"]
    [f] = runs("input_changed", "def f(words):\n    return len(words)\n", takes="dict", gives="number")
    words = {"a": 1}
    assert f(words) == 1
    assert words == {}
    assert made("input_changed", "def f(n):\n    return n + 1\n", takes="number") == ()
    for f in runs("input_changed", "def f(x):\n    if len(x) > 2:\n        return 1\n    return 0\n"):
        for size in (1, 4):  # on every way out
            actual = x(size)
            assert f(actual) == (size > 2)
            assert not torch.equal(actual, x(size))


def test_precisions_come_out_as_the_slips_say():
    slips = ("single_precision", "double_precision", "single_precision_inside")
    [single], [double], [inside] = (runs(slip, THIRDS) for slip in slips)
    actual = x(3, dtype=torch.float64)
    assert single(actual).dtype == torch.float32
    assert double(x(3)).dtype == torch.float64
    assert torch.equal(inside(actual), (actual / 3).float().double())
    assert not torch.equal(inside(actual), actual / 3)


def test_results_come_in_another_form_than_what_is_asked_for():
    number = {"takes": "number", "gives": "number"}
    assert [f(x(1, 3, 1)).shape for f in runs("squeezed", DOUBLED)] == [(3,)]
    assert len({tuple(f(x(2)).tolist()) for f in runs("rounded", THIRDS)}) == 4
    assert [f(1) for f in runs("rounded", THIRDS, **number)] == [0.33, 0.333, 0.3]
    assert [f(x(3)) for f in runs("python_number", TOTAL, gives="scalar")] == [6.0]
    assert [f(x(2)) for f in runs("list_returned", DOUBLED)] == [[2.0, 4.0]]
    assert {type(f(x(2))).__name__ for f in runs("array_returned", DOUBLED)} == {"ndarray"}
    assert [f(1.5) for f in runs("text_returned", DOUBLED, **number)] == ["3.0", "3.00", "3.0000"]
    for f in runs("global_generator", DOUBLED):
        torch.manual_seed(7)  # not a seed that a variant sets: its state would be that of before
        before = torch.get_rng_state()
        assert torch.equal(f(x(2)), 2 * x(2))
        assert not torch.equal(torch.get_rng_state(), before)


def test_errors_of_another_type_keep_their_text():
    kinds = set()
    for f in runs("error_of_another_type", GUARDED, takes="number", gives="number"):
        with pytest.raises(Exception, match="x is negative") as caught:
            f(-1)
        kinds.add(caught.type)
        assert f(4) == 2
    assert len(kinds - {ValueError}) == 6


def test_errors_are_returned_or_bad_input_is_accepted(capsys):
    returned, text, neither = runs("error_returned", GUARDED, takes="number", gives="number")
    assert isinstance(returned(-1), ValueError)
    assert text(-1) == "x is negative"
    assert neither(-1) is None
    assert capsys.readouterr().out == "x is negative\n"
    silent, printing = runs("bad_input_accepted", GUARDED.replace("math.sqrt(x)", "x + 1"), takes="number")
    assert silent(-3) == printing(-3) == -2


def test_no_slip_is_made_of_what_is_not_there():
    for slip in ("error_of_another_type", "error_returned", "bad_input_accepted"):
        assert made(slip, DOUBLED) == made(slip, GUARDED.replace("ValueError", "IndexError")) == ()
    for slip in ("nothing_returned", "single_precision", "squeezed", "rounded", "list_returned", "input_changed"):
        assert made(slip, NO_RETURN) == ()
    assert made("python_number", TOTAL, gives="tensor") == made("single_precision", TOTAL, gives="number") == ()
    assert made("single_precision", TOTAL, gives="scalar") == made("single_precision", TOTAL, gives="tensor")


@pytest.mark.parametrize("slip", COMMON_MISTAKES, ids=lambda slip: slip.name)
def test_no_version_is_made_twice_or_is_the_reference(slip):
    for source in (DOUBLED, CLASS, GUARDED, EARLY, PAIR, INNER):
        name = ast.parse(source).body[0].name
        for takes in ("tensor", "list", "dict", "number"):
            for gives in ("tensor", "scalar", "number", "list", "dict", ""):
                found = [ast.dump(ast.parse(variant)) for variant in slip.variants_of(source, name, takes, gives)]
                assert len({*found, ast.dump(ast.parse(source))}) == len(found) + 1
    assert len(BY_NAME) == len(COMMON_MISTAKES)

    class twice(CommonMistake):
        always = BY_NAME["nothing_returned"].always * 2

    assert len(twice.variants_of(DOUBLED, "doubled", "tensor", "tensor")) == 2


def test_every_part_and_every_way_out_goes_wrong():
    [f] = runs("single_precision", PAIR)
    assert [part.dtype for part in f(x(2, dtype=torch.float64))] == [torch.float32, torch.float32]
    [f] = runs("double_precision", EARLY)
    assert f(x(2)).dtype == f(x(0)).dtype == torch.float64


def test_only_the_function_that_answers_goes_wrong():
    [f] = runs("squeezed", INNER)
    [variant] = made("squeezed", INNER)
    assert variant.count("squeeze") == 1
    assert f(x(1, 2)).shape == (2,)
    source = "def helper(x):\n    return x + 1\n\ndef answer(x):\n    return helper(x)\n"
    [variant] = BY_NAME["squeezed"].variants_of(source, "answer", "tensor", "tensor")
    assert ast.unparse(ast.parse(source).body[0]) in variant
    assert BY_NAME["squeezed"].variants_of(source, "another", "tensor", "tensor") == ()
