"""`describe_model`: sizes and parameters of models that break usual ratios; the mistakes rely on those ratios."""

from dataclasses import replace
from typing import Any

from autograder.spec import Check, CheckFunction, Exercise, Student, ValuesDiffer, Wrong, kind, other_sizes, reference

from ..widths import other_heads
from .small_models import UNTIED, Sizes, left_as_it_was, note_tolerantly, number_of, own_model, their_model

describe_model = reference("describe_model")

_BUFFER = """
def add(model):
    model.register_buffer("causal_mask", torch.ones(7, 7))
    model.transformer.wpe.requires_grad_(False)
"""
_MODELS = (
    Sizes(3, 2, 16, 24, vocab=59),
    Sizes(2, 5, 20, 9, vocab=31, more=(UNTIED, ("n_inner", 13))),
    Sizes(1, 1, 6, 40, vocab=77),
    Sizes(7, 4, 8, 12, vocab=10, more=(("n_inner", 19),)),
)


def _other(known: Sizes) -> Sizes:
    layers, context, vocab = other_sizes(known.layers, known.context, known.vocab)
    width, heads = other_heads(known.width, known.heads)
    return replace(known, layers=layers, heads=heads, width=width, context=context, vocab=vocab)


def _same(student: Student, model: Any, sizes: Sizes, keys: list[str], where: str = "", whole: bool = False) -> None:
    where = where or f"with {sizes.words}"
    got, expected = student.value("describe_model", model, where=where), describe_model(own_model(sizes))
    if not isinstance(got, dict):
        note_tolerantly(student, got)
        raise Wrong(f"It should return a dict; yours returned {kind(got)}.")
    # Only what is asked here, so that a wrong number of parameters beside a wrong size is recognised by itself.
    note_tolerantly(student, {key: value for key, value in got.items() if key in keys or key not in _KEYS})
    for key in keys:
        if key not in got:
            raise Wrong(f'The dict has no key "{key}": the names are part of the task.', "key_missing")
        number = number_of(got[key])
        if number is None:
            raise Wrong(f'"{key}" should be a whole number; yours is {kind(got[key])}.')
        if number != expected[key]:
            raise ValuesDiffer(f'"{key}" is too {"large" if number > expected[key] else "small"} {where}.')
        if whole and type(got[key]) is not int:
            raise Wrong(f'"{key}" should be a whole number (an int); yours is {kind(got[key])}.', "not_an_int")


def _asks(keys: list[str]) -> CheckFunction:
    def check(student: Student) -> None:
        for sizes in map(_other, _MODELS):
            with student.case():
                _same(student, their_model(student, sizes), sizes, keys)

    return check


def _parameters(student: Student) -> None:
    _asks(["parameters"])(student)
    for sizes in map(_other, _MODELS[:2]):
        with student.case():
            model = their_model(student, sizes)
            student.value(student.probe("add", _BUFFER), model)
            where = "when a parameter is frozen and the model has a buffer (a mask, say)"
            _same(student, model, sizes, ["parameters"], where)


def _form(student: Student) -> None:
    for sizes in map(_other, _MODELS[:2]):
        with student.case():
            model = their_model(student, sizes, training=True)
            with left_as_it_was(student, model):
                _same(student, model, sizes, _KEYS, whole=True)


_SIZES = ["vocab_size", "context", "layers", "heads", "d_model", "head_dim"]
_KEYS = ["parameters", *_SIZES]

EXERCISE = Exercise(
    Check("the sizes of several models", 1.0, _asks(_SIZES)),
    Check("the number of parameters", 1.0, _parameters),
    Check("whole numbers, and the model as it was", 0.25, _form, dependent=True),
    takes="other",
    gives="dict",
    harmless=("other_signature", "global_generator"),
    points=2,
)
