"""Tests the questions that checks may ask of a student's work, and that checks use nothing else."""

import re

import pytest
import torch

from autograder.judge.student import Student, in_process
from autograder.spec import student as promised
from autograder.spec.course import course, home
from autograder.spec.exercise import Problem, Wrong
from autograder.spec.inputs import note_rounded, outline, raises_error, some_mask
from autograder.spec.seeds import restart_seeds

PROMISED = {name: member for name, member in vars(promised.Student).items() if not name.startswith("_")}


def asked(**namespace: object) -> Student:
    student = in_process(namespace)
    student.begin("a check")
    return student


def test_no_check_reaches_into_the_judges_record():
    used = re.compile(r"\bstudent\.(\w+)")
    for path in [path for topic in course().topics for path in sorted((home() / topic).glob("*.py"))]:
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"""\.facts|["']facts""", source), path
        assert set(used.findall(source)) <= set(PROMISED), path


def test_a_note_takes_the_place_of_a_value_and_of_nothing_else():
    student = asked(double=lambda x: 2 * x, Linear=torch.nn.Linear)
    student.value("double", 3)
    first = student.last
    answer = student.call("double", [torch.tensor([1.0])])
    student.note("something")
    assert answer["value"].tolist() == [2.0]
    assert [said["value"] for said in student.answers] == [6, "something"]
    assert student.last["inputs"][0].tolist() == [1.0]
    student.note("earlier", first)
    assert [said["value"] for said in student.answers] == ["earlier", "something"]
    student.state(student.build("Linear", 3, 2))
    student.note(["weight", "bias"])  # of all that a module's state says
    assert student.last == {"value": ["weight", "bias"]}
    failing = asked(fail=lambda: 1 / 0)
    with pytest.raises(Problem) as raised:
        failing.value("fail")
    failing.note("ZeroDivisionError 1 0")  # of an error it changes the type on record, and not the problem
    assert failing.last["problem"]["type"] == "ZeroDivisionError 1 0"
    assert raised.value.error == "ZeroDivisionError"


def test_of_a_module_gradients_have_our_names_an_outline_none_and_what_is_off_the_record_is_not_on_it():
    student = asked(Linear=torch.nn.Linear, double=lambda x: 2 * x)
    module = student.build("Linear", 3, 2)
    answer = student.call(module, [torch.ones(3)], upstream=[torch.ones(2)])
    student.note_gradients({"table": answer["gradients"]["parameters"]["weight"]})
    assert list(student.last["gradients"]["parameters"]) == ["table"]
    assert len(student.last["gradients"]["inputs"]) == 1
    before = len(student.answers)
    assert student.state(module, record=False)["parameters"]["weight"].shape == (2, 3)
    assert student.call("double", [2], record=False)["value"] == 4
    assert len(student.answers) == before
    outline(student, module, 0)
    assert student.last["value"] == [["", [2], True, False], ["", [2, 3], True, False]]


@pytest.mark.parametrize(("number", "kept"), [(1 / 3, 0.33333), (float("inf"), float("inf")), (7, 7)])
def test_floats_are_kept_to_five_digits(number, kept):
    student = asked(number=lambda: number)
    note_rounded(student, student.value("number"))
    assert student.last["value"] == kept
    restart_seeds("masks")
    assert not any(some_mask(50, 3).all(dim=-1).any() for _ in range(20)), "a row is blocked altogether"


def refuse_with(error: type[Exception] | None, *asked_for: str) -> None:
    def function() -> None:
        if error is not None:
            raise error("no")

    with raises_error("An empty text", *asked_for):
        asked(function=function).value("function")


def test_only_the_error_that_is_asked_for_is_a_refusal():
    refuse_with(ValueError)
    for error, asked_for, symptom, said in (
        (KeyError, (), "error_of_another_type", "An empty text should raise a ValueError; yours raised KeyError"),
        (None, ("IndexError",), "bad_input_accepted", "should raise an IndexError; yours returned something"),
    ):
        with pytest.raises(Wrong, match=said) as wrong:
            refuse_with(error, *asked_for)
        assert wrong.value.symptom == symptom
    with pytest.raises(Problem):
        refuse_with(NotImplementedError)  # an exercise without an answer
    with pytest.raises(Problem, match="not defined"), raises_error("An empty text"):
        asked().value("function")
