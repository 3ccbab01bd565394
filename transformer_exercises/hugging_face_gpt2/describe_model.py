"""`describe_model`: sizes and parameters of models that break usual ratios; the mistakes rely on those ratios."""

from typing import Any

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import STATE_OF_MODEL, UNTIED, Sizes, left_as_it_was, note_tolerantly, number_of, own_model, their_model

describe_model = reference("describe_model")

_BUFFER = """
def add(model):
    model.register_buffer("causal_mask", torch.ones(7, 7))
    model.transformer.wpe.requires_grad_(False)
"""

_DESCRIBED = (
    Sizes(3, 2, 16, 24, vocab=59),
    Sizes(2, 5, 20, 9, vocab=31, more=(UNTIED, ("n_inner", 13))),
    Sizes(1, 1, 6, 40, vocab=77),
    Sizes(7, 4, 8, 12, vocab=10, more=(("n_inner", 19),)),
)


def _describe(student: Student, model: Any, where: str) -> dict:
    got = student.value("describe_model", model, where=where)
    note_tolerantly(student, got)
    if not isinstance(got, dict):
        raise Wrong(f"It should return a dict; yours returned {kind(got)}.")
    return got


def _described(key: str, got: dict, expected: dict, where: str) -> None:
    if key not in got:
        raise Wrong(f'The dict has no key "{key}": the names are part of the task.', "key_missing")
    number = number_of(got[key])
    if number is None:
        raise Wrong(f'"{key}" should be a whole number; yours is {kind(got[key])}.')
    if number != expected[key]:
        raise ValuesDiffer(f'"{key}" is too {"large" if number > expected[key] else "small"} {where}.')


def _described_sizes(student: Student) -> None:
    for sizes in _DESCRIBED:
        with student.case():
            where = f"with {sizes.words}"
            got, expected = _describe(student, their_model(student, sizes), where), describe_model(own_model(sizes))
            for key in expected:
                if key != "parameters":
                    _described(key, got, expected, where)


def _described_parameters(student: Student) -> None:
    for sizes in _DESCRIBED:
        with student.case():
            where = f"with {sizes.words}"
            _described(
                "parameters",
                _describe(student, their_model(student, sizes), where),
                describe_model(own_model(sizes)),
                where,
            )
    for sizes in _DESCRIBED[:2]:
        with student.case():
            model = their_model(student, sizes)
            student.value(student.probe("add", _BUFFER), model)
            where = "when a parameter is frozen and the model has a buffer (a mask, say)"
            _described("parameters", _describe(student, model, where), describe_model(own_model(sizes)), where)


def _described_form(student: Student) -> None:
    for sizes in _DESCRIBED[:2]:
        with student.case():
            model = their_model(student, sizes, training=True)
            before = student.value(student.probe("look", STATE_OF_MODEL), model)
            got = _describe(student, model, "")
            for key, value in describe_model(own_model(sizes)).items():
                _described(key, got, {key: value}, f"with {sizes.words}")
                if type(got[key]) is not int:
                    raise Wrong(f'"{key}" should be a whole number (an int); yours is {kind(got[key])}.', "not_an_int")
            left_as_it_was(student, model, before)


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the sizes of several models", 1.0, _described_sizes),
        Check("the number of parameters", 1.0, _described_parameters),
        Check("whole numbers, and the model as it was", 0.25, _described_form, further=True),
    ],
    gives="dict",
)
