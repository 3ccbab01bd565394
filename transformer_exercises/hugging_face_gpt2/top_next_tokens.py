"""`top_next_tokens`: the likeliest tokens in order, their probabilities, strings with their spaces.

The mistakes: another position or dimension, logarithms or logits, renormalised shares, tokens as ids or one string.
"""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from autograder.spec.compare import kind
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import raises_error
from autograder.spec.student import Student

from .common import (
    DOG,
    DROPOUT,
    NOTHING,
    READERS,
    Sizes,
    asked,
    forms_of,
    manners,
    near,
    number_of,
    own_model,
    own_tokenizer,
    their_model,
    their_tokenizer,
)

_PROMPTS = (DOG, " the birds sing", "The dog", "é, é!")


def _pairs(got: Any, k: int, where: str) -> list[tuple]:
    """The pairs of a list; whether they are tuples of str and float has a check of its own."""
    if got is None:
        raise Wrong(NOTHING)
    if type(got) not in (list, tuple):
        raise Wrong(f"It should return a list of (token, probability) pairs {where}; yours returned {kind(got)}.")
    if len(got) != k:
        raise Wrong(f"The list should have {k} entries {where}; yours has {len(got)}.", "wrong_length")
    if any(type(pair) not in (list, tuple) or len(pair) != 2 for pair in got):
        raise Wrong(f"Each entry should be a pair (token, probability) {where}; yours has {kind(got[0])}.")
    return got


@cache
def _next_probs(sizes: Sizes, prompt: str) -> torch.Tensor:
    """The probabilities of all next tokens, by Hugging Face's model on this side."""
    with torch.no_grad():
        logits = own_model(sizes, "float64")(torch.tensor([own_tokenizer()(prompt).input_ids])).logits
    return logits[0, -1].softmax(-1)


def _same_tokens(got: list[tuple], sizes: Sizes, prompt: str, where: str, exact: bool = False) -> None:
    order = _next_probs(sizes, prompt).argsort(descending=True).tolist()
    for place, ((token, _), expected) in enumerate(zip(got, order, strict=False), start=1):
        if type(token) is not str:
            raise Wrong(
                f"The tokens should be strings {where}; yours are {kind(token)}: decode the ids.", "ids_for_tokens"
            )
        forms = forms_of(expected)
        if token not in forms and (exact or token.strip() not in {form.strip() for form in forms}):
            raise ValuesDiffer(f"The token in place {place} is not the right one {where}.")


def _same_probs(got: list[tuple], sizes: Sizes, prompt: str, where: str) -> None:
    expected = _next_probs(sizes, prompt).sort(descending=True).values.tolist()
    numbers = [number for _, p in got if (number := number_of(p)) is not None]
    if len(numbers) < len(got):
        raise Wrong(f"The second of each pair should be a probability {where}; yours is {kind(got[0][1])}.")
    if all(near(mine, math.log(theirs)) for mine, theirs in zip(numbers, expected, strict=False)):
        raise ValuesDiffer(
            f"These are logarithms of the probabilities {where}: take softmax, not log_softmax.", "log_probabilities"
        )
    if any(not 0 <= number <= 1 + 1e-4 for number in numbers):
        raise ValuesDiffer(
            f"Some of the numbers are not between 0 and 1 {where}: is the softmax taken?", "not_probabilities"
        )
    for place, (mine, theirs) in enumerate(zip(numbers, expected, strict=False), start=1):
        if not near(mine, theirs):
            size = "large" if mine > theirs else "small"
            raise ValuesDiffer(f"The probability in place {place} is too {size} {where}.")


def _top(student: Student, sizes: Sizes, prompt: str, k: int | None) -> tuple[list[tuple], str]:
    where = f'after "{prompt}", ' + (f"k = {k}" if k else "k not given")
    args = [their_model(student, sizes), their_tokenizer(student), prompt]
    return _pairs(asked(student, "top_next_tokens", args, {"k": k} if k else {}, where), k or 10, where), where


def _top_tokens(student: Student) -> None:
    for sizes, prompt, k in zip(READERS, _PROMPTS, (7, None, 1), strict=False):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_tokens(got, sizes, prompt, where)
    with student.case():
        got, where = _top(student, READERS[0], "é, é!", 12)
        _same_tokens(got, READERS[0], "é, é!", where)


def _top_probs(student: Student) -> None:
    for sizes, prompt, k in zip(READERS, _PROMPTS[1:], (5, None, len(own_tokenizer())), strict=False):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_probs(got, sizes, prompt, where)


def _top_form(student: Student) -> None:
    for sizes, prompt, k in ((READERS[1], "The", 11), (READERS[0], DOG, 40)):
        with student.case():
            got, where = _top(student, sizes, prompt, k)
            _same_probs(got, sizes, prompt, where)
            _same_tokens(got, sizes, prompt, where + " (leading spaces belong to tokens)", exact=True)
            if type(got) is not list:
                raise Wrong(f"A list is asked for; yours returned {kind(got)}.", "not_a_list")
            for pair in got:
                if type(pair) is not tuple:
                    raise Wrong(
                        f"Each entry should be a tuple (token, probability); yours is {kind(pair)}.", "not_tuples"
                    )
                if type(pair[1]) is not float:
                    raise Wrong(
                        f"Each probability should be a float; yours is {kind(pair[1])}: `.item()` or `.tolist()`.",
                        "not_a_float",
                    )
    with student.case():  # k by position
        args = [their_model(student, READERS[0]), their_tokenizer(student), "The dog", 3]
        where = "with k = 3 as the fourth argument"
        _same_probs(_pairs(asked(student, "top_next_tokens", args), 3, where), READERS[0], "The dog", where)


def _top_manners(student: Student) -> None:
    sizes = replace(READERS[1], seed=5, more=(*READERS[1].more, *DROPOUT))

    def same(value: Any, where: str) -> None:
        _same_probs(_pairs(value, 10, where), sizes, DOG, where)

    manners(student, "top_next_tokens", [their_tokenizer(student), DOG], same, sizes)


def _top_refused(student: Student) -> None:
    tokenizer = their_tokenizer(student)
    with student.case():
        args = [their_model(student, READERS[2]), tokenizer, "."]
        where = "after a prompt of one token"
        _same_probs(_pairs(asked(student, "top_next_tokens", args), 10, where), READERS[2], ".", where)
        with raises_error("A prompt without tokens"):
            asked(student, "top_next_tokens", [their_model(student, READERS[2]), tokenizer, ""])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("the likeliest tokens, in order", 1.0, _top_tokens),
        Check("their probabilities", 1.0, _top_probs),
        Check("pairs of a string, its space included, and a float", 0.5, _top_form, further=True),
        Check("either mode, float64, any device, the model as it was", 0.5, _top_manners, further=True),
        Check("a prompt of one token, and of none", 0.25, _top_refused),
    ],
    gives="list",
)
