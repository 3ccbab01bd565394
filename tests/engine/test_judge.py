"""Tests that the judge reads only plain data, follows the rules about the source, and compiles as a notebook does."""

import dataclasses

import pytest

from autograder.judge.mark import mark
from autograder.judge.run_check import namespace_with
from autograder.judge.source_rules import needed_by, reachable
from autograder.judge.student import Student, in_process
from autograder.judge.verdict import html, plain
from autograder.spec.course import exercise, question_or_exercise
from autograder.untrusted.wire import Packet, encode

SOFTMAX = exercise("softmax")
BY_ANNOTATION = """
from dataclasses import dataclass, fields

@dataclass
class Along:
    dim: int = -1

def softmax(scores, dim=-1):
    kind = fields(Along)[0].type
    e = (scores - scores.amax(kind(dim), keepdim=True)).exp()
    return e / e.sum(kind(dim), keepdim=True)
"""
UNKNOWN_ANNOTATION = "def softmax(scores: Tensor, dim: int = -1):\n    return scores\n"
ITS_OWN_FUTURE = "from __future__ import annotations\n" + UNKNOWN_ANNOTATION


def verdict_on(source):
    return mark("softmax", in_process(namespace_with(SOFTMAX, source)), [source])


@pytest.mark.parametrize("honest", [0, 2])
@pytest.mark.parametrize(
    "forged",
    [
        *({}, [], 5, {"list": []}, {"dict": []}, {"dict": [["problem", 1]]}, {"dict": [["value", {"ref": 7}]]}),
        {"dict": [["value", {"tensor": "float32"}]]},
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["softmax", "q5_1"])
def test_a_forged_reply_is_a_zero_and_no_error(forged, name, honest):
    """To the first question, or to the third and all after it."""
    answers = iter([encode({"value": True}), encode({"value": None})][:honest])
    verdict = mark(name, Student(lambda _: next(answers, Packet(forged))))
    assert verdict.earned == 0
    assert verdict.remark or any(line.message for line in verdict.lines)


def test_the_source_is_followed_through_helpers_but_not_through_local_names():
    cells = ["def helper(x):\n    return x", "scores = 5", "def f(scores):\n    return helper(scores)"]
    assert len(reachable("f", cells)) == 2
    assert reachable("f", ["%%html\n<p>", "def f(:", "def f():\n    pass"]), "what is no Python is passed over"
    assert verdict_on("scores = torch.softmax(torch.zeros(3), 0)\n" + SOFTMAX.source).full, "a parameter's name"


def test_the_rubric_shows_no_answer_key_and_shortens_and_escapes_what_student_code_says():
    for name in ("q5_1", "q6_1"):
        question = question_or_exercise(name)
        for letter in set(question.explanations) - {question.key}:
            verdict = mark(name, in_process({name: letter}))
            others = set(question.explanations.values()) - {question.explanations[letter]}
            assert not any(text in html(verdict) + plain(verdict) for text in others)
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


def test_annotations_of_answers_probes_and_working_versions_are_evaluated():
    namespace = namespace_with(SOFTMAX, BY_ANNOTATION)
    assert dataclasses.fields(namespace["Along"])[0].type is int
    assert mark("softmax", in_process(namespace), [BY_ANNOTATION]).full
    with pytest.raises(NameError, match="Tensor"):  # as in a notebook
        namespace_with(SOFTMAX, UNKNOWN_ANNOTATION)
    assert namespace_with(SOFTMAX, ITS_OWN_FUTURE)["softmax"].__annotations__["scores"] == "Tensor"
    student = in_process({"kind": None})
    probe = student.probe("p", "def p(n: int):\n    return p.__annotations__['n'] is int\n")
    assert student.value(probe, 1) is True
    student.bind({"kind": "def kind(n: int = 1):\n    return kind.__annotations__['n'] is int\n"})
    assert student.value("kind") is True
