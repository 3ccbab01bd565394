"""`attention_maps`: every layer and head of small models, the tokens, and the model left as it was."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from autograder.spec import (
    Check,
    Exercise,
    Student,
    ValuesDiffer,
    Wrong,
    a_pair,
    a_tensor,
    close,
    kind,
    only_values,
    same_tensor,
)

from .small_models import (
    DOG,
    DROPOUT,
    RELU,
    UNTIED,
    Case,
    Sizes,
    forms_of,
    ids_of,
    own_model,
    reads,
    refuses,
    side_effects,
)

_MODELS = (
    Sizes(2, 4, 16, 24, seed=21),
    Sizes(3, 2, 12, 30, seed=22, more=(UNTIED, RELU)),
    Sizes(4, 5, 20, 20, seed=23, more=(("n_inner", 11),)),
)
_ONE = Sizes(1, 1, 8, 20, seed=26)
_SMALLEST = (Sizes(1, 3, 12, 20, seed=24), Sizes(3, 1, 8, 20, seed=25), _ONE, _MODELS[0], _ONE)


@lru_cache(64)  # holds all that are known; those drawn for a hand-in are used once
def _weights(sizes: Sizes, text: str, dtype: str) -> torch.Tensor:
    with torch.no_grad():
        return torch.cat(own_model(sizes, dtype)(ids_of(text)[None], output_attentions=True).attentions)


def _same_maps(value: Any, case: Case) -> None:
    weights = a_tensor(a_pair(value, "(tokens, weights)")[1], f"The second of the results, the weights, {case.where}")
    expected = _weights(case.sizes, case.text, "float64" if "float64" in case.where else "float32")
    L, H, T, _ = expected.shape
    where = f"for L = {L}, H = {H}, T = {T} {case.where}"
    if weights.shape == expected.shape and weights.dtype == expected.dtype and not close(weights, expected):
        if (weights.sum(-1) - 1).abs().max() > 1e-3:
            what = f"The rows do not sum to 1 {where}"
            raise ValuesDiffer(f"{what}: is each row one position's weights over what it looks at?", "rows")
        if weights.triu(1).abs().max() > 1e-4:
            raise ValuesDiffer(f"Positions look at later ones {where}: GPT-2's attention is causal.", "sees_the_future")
    same_tensor(weights, expected, "The weights", where)


def _same_names(value: Any, case: Case) -> None:
    tokens, where = a_pair(value, "(tokens, weights)")[0], case.where
    what = f"The first of the results should be a list of tokens {where}"
    if type(tokens) not in (list, tuple):
        raise Wrong(f"{what}; yours is {kind(tokens)}.", "not_a_list")
    ids = ids_of(case.text).tolist()
    if len(tokens) != len(ids):
        raise Wrong(f"There should be one string for each of the {len(ids)} tokens {where}; yours are {len(tokens)}.")
    for position, (token, expected) in enumerate(zip(tokens, ids, strict=True), start=1):
        if type(token) is not str:
            raise Wrong(f"{what}; yours has {kind(token)}: decode the ids.", "ids_for_tokens")
        if token.strip() not in {form.strip() for form in forms_of(expected)}:
            raise ValuesDiffer(f"Token {position} is not the right one {where}.")


def _accepted(value: Any, case: Case) -> None:
    with only_values():
        _same_maps(value, case)


def _refused(student: Student) -> None:
    reads("attention_maps", _accepted, Case(_MODELS[2], "The dog"))(student)
    refuses(student, "attention_maps", _MODELS[2], ("", "A text without tokens"))


_values = reads("attention_maps", _same_maps, *map(Case, _MODELS, (DOG, " the birds sing because", "The dog was")))
_small = reads("attention_maps", _same_maps, *map(Case, _SMALLEST, ("The dog", DOG, " it was thirsty", ".", ".")))
_names = reads("attention_maps", _same_names, *map(Case, _MODELS, (DOG, "é, the é!", ".")))
_side_effects = side_effects("attention_maps", _same_maps, replace(_MODELS[0], seed=27, more=DROPOUT))

EXERCISE = Exercise(
    Check("every layer and head of several models", 1.5, _values),
    Check("one layer, one head, one token", 0.75, _small, dependent=True),
    Check("the tokens", 0.75, _names),
    Check("either mode, float64, any device, the model as it was", 0.75, _side_effects, dependent=True),
    Check("a text without tokens", 0.25, _refused, dependent=True),
    takes="other",
    gives="tuple",
    harmless=("other_signature", "global_generator"),
)
