"""Tests that the judge compiles code as a notebook does, without its own `from __future__` imports."""

from __future__ import annotations

import dataclasses

import pytest

from autograder.judge.mark import mark
from autograder.judge.run_check import namespace_with
from autograder.judge.student import in_process
from autograder.spec.course import exercise

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


def test_annotations_of_an_answer_are_evaluated():
    namespace = namespace_with(exercise("softmax"), BY_ANNOTATION)
    assert dataclasses.fields(namespace["Along"])[0].type is int
    assert mark("softmax", in_process(namespace), [BY_ANNOTATION]).full


def test_an_annotation_that_is_not_defined_is_an_error_as_in_a_notebook():
    with pytest.raises(NameError, match="Tensor"):
        namespace_with(exercise("softmax"), UNKNOWN_ANNOTATION)
    assert namespace_with(exercise("softmax"), ITS_OWN_FUTURE)["softmax"].__annotations__["scores"] == "Tensor"


def test_probes_and_working_versions_evaluate_theirs_too():
    student = in_process({"kind": None})
    probe = student.probe("p", "def p(n: int):\n    return p.__annotations__['n'] is int\n")
    assert student.value(probe, 1) is True
    student.bind({"kind": "def kind(n: int = 1):\n    return kind.__annotations__['n'] is int\n"})
    assert student.value("kind") is True
