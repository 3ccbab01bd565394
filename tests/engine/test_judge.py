"""Tests that the judge reads only plain data and follows the rules about the source."""

from __future__ import annotations

import socket
import struct

import pytest
import torch

from autograder.judge.cell_effects import Effects
from autograder.judge.mark import mark
from autograder.judge.run_check import namespace_with
from autograder.judge.source_rules import needed_by, reachable, suspicious_words
from autograder.judge.student import Student, in_process
from autograder.judge.verdict import html, plain
from autograder.spec.course import exercise, question_or_exercise
from autograder.untrusted.wire import Channel, Opaque, Packet, WireError, decode, encode

SOFTMAX = exercise("softmax")

# --- wire -------------------------------------------------------------------------------------------------------------

VALUES = [
    *(None, True, 3, 2**80, 1.5, float("inf"), "π", [1, [2]], (1, "a"), {"a": [1.0], 3: None}, {1, 2}),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_survive_the_wire(value):
    result = decode(encode(value))
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (3, 4), (1, 1, 2)])
def test_tensors_survive_the_wire(dtype, shape):
    tensor = torch.randn(shape).mul(3).to(dtype)
    result = decode(encode(tensor))
    assert result.dtype == dtype
    assert torch.equal(result, tensor)


def test_the_layout_of_a_tensor_survives_the_wire():
    tensor = torch.randn(2, 3, 4).permute(2, 0, 1)
    result = decode(encode(tensor))
    assert torch.equal(result, tensor)
    assert result.stride() == tensor.stride()


@pytest.mark.parametrize("thing", [object(), lambda: 1, torch.nn.Linear(1, 1)])
def test_what_is_not_data_crosses_only_as_the_name_of_its_type(thing):
    assert decode(encode(thing)) == Opaque(type(thing).__name__)


def test_a_subclass_that_lies_is_not_believed():
    class Liar(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

        def __eq__(self, other):
            return True

    result = decode(encode(torch.zeros(2).as_subclass(Liar)))
    assert type(result) is torch.Tensor
    assert not torch.equal(result, torch.ones(2))


@pytest.mark.parametrize(
    "tree",
    [
        {},
        [],
        {"tensor": "float32", "shape": [2], "order": [0], "blob": 0},
        {"tensor": "float32", "shape": [-1], "order": [0], "blob": 0},
        {"tensor": "object", "shape": [1], "order": [0], "blob": 0},
        {"tensor": "float32", "shape": [1], "order": [5], "blob": 0},
        {"tensor": "float32", "shape": [1], "order": [0], "blob": 7},
        {"tensor": "float32", "shape": [2**50], "device": "meta"},
        {"list": 5},
        {"dict": [[1]]},
        {"dict": [[{"dict": []}, 1]]},
        {"pickle": "gASVAAAA"},
        {"float": "1e5; import os"},
    ],
)
def test_a_malformed_reply_is_refused(tree):
    with pytest.raises(WireError):
        decode(Packet(tree, [b"\0" * 4]))


def test_a_malformed_reply_loses_the_marks_and_nothing_else():
    for reply in (Packet({}), Packet({"list": []}), Packet({"dict": [["value", {"tensor": "float32"}]]}), Packet(5)):
        answers = iter([encode({"value": True}), encode({"value": None})])
        verdict = mark("softmax", Student(lambda _, reply=reply, answers=answers: next(answers, reply)))
        assert verdict.earned == 0


def test_frames_that_are_too_large_or_cut_off_are_refused():
    mine, theirs = socket.socketpair()
    theirs.sendall(struct.pack("!II", 10, 2**31))
    with pytest.raises(WireError):
        Channel(mine).receive()
    theirs.sendall(struct.pack("!II", 10, 20) + b"abc")
    theirs.close()
    with pytest.raises(EOFError):
        Channel(mine).receive()


# --- rules about the source -------------------------------------------------------------------------------------------

GOOD = SOFTMAX.source
CHEATS = {
    "torch.softmax": "def softmax(scores, dim=-1):\n    return torch.softmax(scores, dim)",
    "method": "def softmax(scores, dim=-1):\n    return scores.softmax(dim)",
    "functional": "def softmax(scores, dim=-1):\n    return F.softmax(scores, dim)",
    "module": "def softmax(scores, dim=-1):\n    return nn.Softmax(dim)(scores)",
    "log_softmax": "def softmax(scores, dim=-1):\n    return torch.log_softmax(scores, dim).exp()",
    "alias": "from torch import softmax as _s\ndef softmax(scores, dim=-1):\n    return _s(scores, dim)",
    "getattr": "def softmax(scores, dim=-1):\n    return getattr(torch, 'soft' + 'max')(scores, dim)",
    "eval": "def softmax(scores, dim=-1):\n    return eval('torch.so' + 'ftmax')(scores, dim)",
    "attribute by name": (
        "import operator\ndef softmax(scores, dim=-1):\n"
        "    return operator.attrgetter('soft' + 'max')(torch)(scores, dim)"
    ),
    "helper": "def _h(t, d):\n    return t.softmax(d)\ndef softmax(scores, dim=-1):\n    return _h(scores, dim)",
    "attention": (
        "def softmax(scores, dim=-1):\n    s = scores.movedim(dim, -1).unsqueeze(-2)\n    n = s.shape[-1]\n"
        "    eye = torch.eye(n).to(s)\n    q = torch.ones(*s.shape[:-1], 1).to(s)\n"
        "    eye = eye.expand(*s.shape[:-2], n, n)\n"
        "    out = F.scaled_dot_product_attention(s, eye, eye, scale=1.0)\n    return out.squeeze(-2).movedim(-1, dim)"
    ),
}


@pytest.mark.parametrize("source", CHEATS.values(), ids=CHEATS)
def test_a_banned_function_earns_nothing_by_any_name(source):
    verdict = mark("softmax", in_process(namespace_with(SOFTMAX, source)), [source])
    assert verdict.earned == 0


@pytest.mark.parametrize(
    "source",
    [
        GOOD.replace('"""Turn', '"""softmax: like torch.softmax. Turn'),
        GOOD + "\n# torch.softmax would do the same\n",
        GOOD + "\n\ndef compare(x):\n    return torch.allclose(softmax(x), torch.softmax(x, -1))\n",
        "scores = torch.softmax(torch.zeros(3), 0)\n" + GOOD,
    ],
    ids=["docstring", "comment", "a comparison of one's own", "a global of the same name as a parameter"],
)
def test_mentioning_or_comparing_with_a_banned_function_is_allowed(source):
    verdict = mark("softmax", in_process(namespace_with(SOFTMAX, source)), [source])
    assert verdict.full, verdict.remark


def test_a_way_into_the_judge_spoils_the_ban_whatever_the_record_says():
    """The record of operations is made beside the student's code: code that can reach it could forge it."""
    cells = [
        "from autograder.untrusted import responder\nresponder._Operations = object",
        "torch.Tensor.share = torch.Tensor.softmax",
        "def softmax(scores, dim=-1):\n    return scores.share(dim)",
    ]
    assert "autograder" in suspicious_words("softmax", cells, stop=())
    assert not suspicious_words("softmax", [GOOD], stop=())


def test_the_source_is_followed_through_helpers_but_not_through_local_names():
    cells = ["def helper(x):\n    return x", "scores = 5", "def f(scores):\n    return helper(scores)"]
    assert len(reachable("f", cells)) == 2


def test_a_cell_that_is_not_python_is_passed_over():
    assert reachable("f", ["%%html\n<p>", "def f(:", "def f():\n    pass"])


# --- what the student reads -------------------------------------------------------------------------------------------


def test_the_rubric_never_shows_an_answer_key():
    for name in ("q5_1", "q8_1"):
        question = question_or_exercise(name)
        for letter in set(question.explanations) - {question.key}:
            verdict = mark(name, in_process({name: letter}))
            others = set(question.explanations.values()) - {question.explanations[letter]}
            assert not any(text in html(verdict) + plain(verdict) for text in others)


def test_the_rubric_escapes_what_student_code_says():
    source = "def softmax(scores, dim=-1):\n    raise ValueError('<script>alert(1)</script>')"
    verdict = mark("softmax", in_process(namespace_with(SOFTMAX, source)), [source])
    assert "<script>" not in html(verdict)
    assert "ValueError" in plain(verdict)


def test_little_of_an_error_message_crosses_the_wire():
    source = "def softmax(scores, dim=-1):\n    raise ValueError('x' * 5000 + '\\n' + str(scores))"
    verdict = mark("softmax", in_process(namespace_with(SOFTMAX, source)), [source])
    assert max(len(line.message) for line in verdict.lines) < 500


@pytest.mark.parametrize(
    ("cell", "needed"),
    [
        ("fig, ax = plt.subplots()\nax.plot(xs)\nshow(fig)", {"plt", "xs", "show"}),
        ("losses = losses + [1]", {"losses"}),
        ("for x in xs:\n    total = x", {"xs"}),
        ("def f(a):\n    b = a\n    return b + offset", {"offset"}),
        ("[y for y in ys]", {"ys"}),
        ("[y for y in ys] + [y]", {"ys", "y"}),
        ("[{k: v + w for k, v in pairs} for pairs in {p for p in several}]", {"w", "several"}),
        ("def f(a):\n    return [y + b for y in a] + [y]", {"b", "y"}),
        ("with open(name) as file:\n    text = file.read()\nprint(text)", {"open", "name", "print"}),
        ("%matplotlib inline\nx", {"x"}),
        ("this is no Python", set()),
    ],
)
def test_what_a_cell_takes_from_the_notebook(cell, needed):
    assert needed_by(cell) == needed


@pytest.mark.parametrize(
    ("cell", "changed"),
    [
        ("x = 1\ny[0] = 2\nz.a.b = 3", {"x", "y", "z"}),
        ("items.append(1)\nmodel.layers[0].weight.zero_()", {"items", "model"}),
        ("torch.manual_seed(0)\nplt.show()", set()),
        ("def f(a):\n    cache[a] = 1", {"f", "cache"}),
        ("total += 1", {"total"}),
        ("del table['a']", {"table"}),
    ],
)
def test_what_a_cell_defines_or_changes(cell, changed):
    assert Effects([cell, "import torch\nimport matplotlib.pyplot as plt"]).changed_by(cell) == changed


SOFTMAX_ANSWER = SOFTMAX.source


@pytest.mark.parametrize(
    "harmless",
    [
        SOFTMAX_ANSWER.replace("    shifted", '    print("softmax", scores.shape)\n    shifted', 1),
        "from torch.nn.functional import softmax\n" + SOFTMAX_ANSWER,
    ],
)
def test_a_ban_is_about_use_not_about_words(harmless):
    verdict = mark("softmax", in_process(namespace_with(SOFTMAX, harmless)), [harmless])
    assert verdict.full, verdict


def test_an_error_that_pytorch_calls_not_implemented_is_not_an_unanswered_exercise():
    source = SOFTMAX_ANSWER.replace(
        "    shifted", "    if scores.dtype == torch.float64:\n        raise NotImplementedError\n    shifted", 1
    )
    verdict = mark("softmax", in_process(namespace_with(SOFTMAX, source)), [source])
    assert len(verdict.lines) == len(SOFTMAX.checks)
    assert 0 < verdict.earned < verdict.points


@pytest.mark.parametrize("forged", [{"dict": []}, {"dict": [["problem", 1]]}, [], {"dict": [["value", {"ref": 7}]]}])
@pytest.mark.parametrize("name", ["softmax", "q5_1"])
def test_a_forged_reply_to_the_first_question_is_a_zero_and_no_error(forged, name):
    verdict = mark(name, Student(lambda question: Packet(forged, [])))
    assert verdict.earned == 0
    assert verdict.remark
