"""`attention_maps`: every layer and head of small models, the tokens, and the model left as it was.

The mistakes: fused attention, dimensions swapped, averaged or dropped, ids for tokens, dropout or another mode.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import torch

from autograder.spec.compare import a_pair, a_tensor, close, dtype_name, kind, same_tensor
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import raises_error
from autograder.spec.student import Student

from .common import (
    DOG,
    DROPOUT,
    UNTIED,
    Sizes,
    asked,
    forms_of,
    manners,
    own_model,
    own_tokenizer,
    their_model,
    their_tokenizer,
)

_LOOKERS = (
    Sizes(2, 4, 16, 24, seed=21),
    Sizes(3, 2, 12, 30, seed=22, more=(UNTIED, ("activation_function", "relu"))),
    Sizes(4, 5, 20, 20, seed=23, more=(("n_inner", 11),)),
)

_SMALLEST = (Sizes(1, 3, 12, 20, seed=24), Sizes(3, 1, 8, 20, seed=25), Sizes(1, 1, 8, 20, seed=26))


@cache
def _weights(sizes: Sizes, text: str, dtype: str) -> torch.Tensor:
    ids = torch.tensor([own_tokenizer()(text).input_ids])
    with torch.no_grad():
        return torch.cat(own_model(sizes, dtype)(ids, output_attentions=True).attentions)


def _same_maps(value: Any, sizes: Sizes, text: str, where: str) -> None:
    weights = a_tensor(a_pair(value, "(tokens, weights)")[1], f"The second of the results, the weights, {where}")
    dtype = dtype_name(weights) if "float64" in where else "float32"
    expected = _weights(sizes, text, "float64" if "float64" in where else dtype)
    L, H, T, _ = expected.shape
    where = f"for L = {L}, H = {H}, T = {T} {where}"
    if weights.shape == expected.shape and weights.dtype == expected.dtype and not close(weights, expected):
        rows = weights.sum(-1)
        if not torch.allclose(rows, torch.ones_like(rows), atol=1e-3):
            raise ValuesDiffer(
                f"The rows do not sum to 1 {where}: is each row one position's weights over what it looks at?", "rows"
            )
        if T > 1 and weights.triu(1).abs().max() > 1e-4:
            raise ValuesDiffer(f"Positions look at later ones {where}: GPT-2's attention is causal.", "sees_the_future")
    same_tensor(weights, expected, "The weights", where)


def _same_names(value: Any, text: str, where: str) -> None:
    tokens = a_pair(value, "(tokens, weights)")[0]
    if type(tokens) not in (list, tuple):
        raise Wrong(
            f"The first of the results should be a list of tokens {where}; yours is {kind(tokens)}.", "not_a_list"
        )
    ids = own_tokenizer()(text).input_ids
    if len(tokens) != len(ids):
        raise Wrong(f"There should be one string for each of the {len(ids)} tokens {where}; yours are {len(tokens)}.")
    for place, (token, expected) in enumerate(zip(tokens, ids, strict=True), start=1):
        if type(token) is not str:
            raise Wrong(
                f"The tokens should be strings {where}; yours are {kind(token)}: decode the ids.", "ids_for_tokens"
            )
        if token.strip() not in {form.strip() for form in forms_of(expected)}:
            raise ValuesDiffer(f"Token {place} is not the right one {where}.")


def _maps(student: Student, sizes: Sizes, text: str) -> tuple[Any, str]:
    where = f'for "{text}"'
    return asked(
        student, "attention_maps", [their_model(student, sizes), their_tokenizer(student), text], where=where
    ), where


def _maps_values(student: Student) -> None:
    for sizes, text in zip(_LOOKERS, (DOG, " the birds sing because", "The dog was"), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_maps(got, sizes, text, where)


def _maps_small(student: Student) -> None:
    for sizes, text in zip(_SMALLEST, ("The dog", DOG, " it was thirsty"), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_maps(got, sizes, text, where)
    for sizes in (_LOOKERS[0], _SMALLEST[2]):
        with student.case():
            got, where = _maps(student, sizes, ".")
            _same_maps(got, sizes, ".", where)


def _maps_tokens(student: Student) -> None:
    for sizes, text in zip(_LOOKERS, (DOG, "é, the é!", "."), strict=True):
        with student.case():
            got, where = _maps(student, sizes, text)
            _same_names(got, text, where)


def _maps_manners(student: Student) -> None:
    sizes = replace(_LOOKERS[0], seed=27, more=DROPOUT)

    def same(value: Any, where: str) -> None:
        _same_maps(value, sizes, DOG, where)

    manners(student, "attention_maps", [their_tokenizer(student), DOG], same, sizes)
    with student.case():  # whatever way of computing attention the model comes with
        model = their_model(student, sizes)
        student.call((model, "set_attn_implementation"), ["eager"])
        same(
            asked(student, "attention_maps", [model, their_tokenizer(student), DOG]),
            "with eager attention from the start",
        )


def _maps_refused(student: Student) -> None:
    with student.case():
        got, where = _maps(student, _LOOKERS[2], "The dog")
        _same_maps(got, _LOOKERS[2], "The dog", where)
        args = [their_model(student, _LOOKERS[2]), their_tokenizer(student), ""]
        with raises_error("A text without tokens"):
            asked(student, "attention_maps", args)


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("every layer and head of several models", 1.5, _maps_values),
        Check("one layer, one head, one token", 0.75, _maps_small, further=True),
        Check("the tokens", 0.75, _maps_tokens),
        Check("either mode, float64, any device, the model as it was", 0.75, _maps_manners, further=True),
        Check("a text without tokens", 0.25, _maps_refused),
    ],
    gives="tuple",
)
