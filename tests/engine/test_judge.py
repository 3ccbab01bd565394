"""Tests that the judge reads only plain data and follows the rules about the source."""

import pytest

from autograder.judge.cell_effects import Effects
from autograder.judge.mark import mark
from autograder.judge.run_check import namespace_with
from autograder.judge.source_rules import needed_by, reachable, suspicious_words
from autograder.judge.student import Student, in_process
from autograder.judge.verdict import html, plain
from autograder.spec.course import exercise, question_or_exercise
from autograder.untrusted.wire import Packet, encode

SOFTMAX = exercise("softmax")


def verdict_on(source):
    return mark("softmax", in_process(namespace_with(SOFTMAX, source)), [source])


FORGED = [
    *({}, [], 5, {"list": []}, {"dict": []}, {"dict": [["problem", 1]]}, {"dict": [["value", {"ref": 7}]]}),
    {"dict": [["value", {"tensor": "float32"}]]},
]


@pytest.mark.parametrize("honest", [0, 2])
@pytest.mark.parametrize("forged", FORGED, ids=repr)
@pytest.mark.parametrize("name", ["softmax", "q5_1"])
def test_a_forged_reply_is_a_zero_and_no_error(forged, name, honest):
    """To the first question, or to the third and all after it."""
    answers = iter([encode({"value": True}), encode({"value": None})][:honest])
    verdict = mark(name, Student(lambda _: next(answers, Packet(forged))))
    assert verdict.earned == 0
    assert verdict.remark or any(line.message for line in verdict.lines)


def test_a_way_into_the_judge_spoils_the_ban_whatever_the_record_says():
    """The record of operations is made beside the student's code: code that can reach it could forge it."""
    cells = [
        "from autograder.untrusted import responder\nresponder._Operations = object",
        "torch.Tensor.share = torch.Tensor.softmax",
        "def softmax(scores, dim=-1):\n    return scores.share(dim)",
    ]
    assert "autograder" in suspicious_words("softmax", cells, stop=())
    assert not suspicious_words("softmax", [SOFTMAX.source], stop=())


CHEATS = {  # the plainest; `circumventions.py` has the others
    "torch.softmax": "def softmax(scores, dim=-1):\n    return torch.softmax(scores, dim)",
    "functional": "def softmax(scores, dim=-1):\n    return F.softmax(scores, dim)",
    "helper": "def _h(t, d):\n    return t.softmax(d)\ndef softmax(scores, dim=-1):\n    return _h(scores, dim)",
}


@pytest.mark.parametrize("source", CHEATS.values(), ids=CHEATS)
def test_a_banned_function_earns_nothing_by_any_name(source):
    assert verdict_on(source).earned == 0


def test_a_global_of_the_same_name_as_a_parameter_may_come_from_a_banned_function():
    assert verdict_on("scores = torch.softmax(torch.zeros(3), 0)\n" + SOFTMAX.source).full


def test_the_source_is_followed_through_helpers_but_not_through_local_names():
    cells = ["def helper(x):\n    return x", "scores = 5", "def f(scores):\n    return helper(scores)"]
    assert len(reachable("f", cells)) == 2
    assert reachable("f", ["%%html\n<p>", "def f(:", "def f():\n    pass"]), "what is no Python is passed over"


def test_the_rubric_never_shows_an_answer_key():
    for name in ("q5_1", "q6_1"):
        question = question_or_exercise(name)
        for letter in set(question.explanations) - {question.key}:
            verdict = mark(name, in_process({name: letter}))
            others = set(question.explanations.values()) - {question.explanations[letter]}
            assert not any(text in html(verdict) + plain(verdict) for text in others)


def test_the_rubric_shortens_and_escapes_what_student_code_says():
    said = "'<script>alert(1)</script>' + 'x' * 5000 + '\\n' + str(scores)"
    verdict = verdict_on(f"def softmax(scores, dim=-1):\n    raise ValueError({said})")
    assert "<script>" not in html(verdict)
    assert "ValueError" in plain(verdict)
    assert max(len(line.message) for line in verdict.lines) < 500


def test_an_error_that_pytorch_calls_not_implemented_is_not_an_unanswered_exercise():
    refuses = "    if scores.dtype == torch.float64:\n        raise NotImplementedError\n    shifted"
    verdict = verdict_on(SOFTMAX.source.replace("    shifted", refuses, 1))
    assert len(verdict.lines) == len(SOFTMAX.checks)
    assert 0 < verdict.earned < verdict.points


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
