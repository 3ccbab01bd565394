"""`top_next_tokens`: the likeliest tokens in order, their probabilities, strings with their spaces."""

import math
from dataclasses import replace
from typing import Any

from autograder.spec import Check, Exercise, Student, ValuesDiffer, Wrong, kind

from .small_models import (
    DOG,
    DROPOUT,
    READERS,
    Case,
    called_on,
    forms_of,
    near,
    number_of,
    own_logits,
    reads,
    refuses,
    side_effects,
)


def _pairs(got: Any, case: Case) -> tuple[list[tuple], list[float], list[int]]:
    """Return the pairs, and what is right: probabilities and ids. Tuples of str and float have a check of their own."""
    k, where = case.k or 10, case.where
    if type(got) not in (list, tuple):
        raise Wrong(
            f"It should return a list of (token, probability) pairs {where}; yours returned {kind(got)}.", "form"
        )
    if len(got) != k:
        raise Wrong(f"The list should have {k} entries {where}; yours has {len(got)}.", "wrong_length")
    if any(type(pair) not in (list, tuple) or len(pair) != 2 for pair in got):
        raise Wrong(f"Each entry should be a pair (token, probability) {where}; yours has {kind(got[0])}.", "form")
    best = own_logits(case.sizes, case.text)[0][-1].softmax(-1).topk(k)
    return got, best.values.tolist(), best.indices.tolist()


def _same_tokens(value: Any, case: Case, exact: bool = False) -> None:
    got, _, order = _pairs(value, case)
    for position, ((token, _), expected) in enumerate(zip(got, order, strict=True), start=1):
        if type(token) is not str:
            what = f"The tokens should be strings {case.where}; yours are {kind(token)}"
            raise Wrong(f"{what}: decode the ids.", "ids_for_tokens") if type(token) is int else Wrong(f"{what}.")
        forms = forms_of(expected)
        if token not in forms and (exact or token.strip() not in {form.strip() for form in forms}):
            hint = " (leading spaces belong to tokens)" if exact else ""
            raise ValuesDiffer(f"The token in position {position} is not the right one {case.where}{hint}.")


def _same_probs(value: Any, case: Case) -> None:
    got, expected, _ = _pairs(value, case)
    numbers = [number for _, p in got if (number := number_of(p)) is not None]
    if len(numbers) < len(got):
        message = f"The second of each pair should be a probability {case.where}; yours is {kind(got[0][1])}."
        raise Wrong(message, "form")
    compared = list(enumerate(zip(numbers, expected, strict=True), start=1))
    if all(near(actual, math.log(right)) for _, (actual, right) in compared):
        what = f"These are logarithms of the probabilities {case.where}"
        raise ValuesDiffer(f"{what}: take softmax, not log_softmax.", "log_probabilities")
    if not all(0 <= number <= 1 + 1e-4 for number in numbers):
        what = f"Some of the numbers are not between 0 and 1 {case.where}"
        raise ValuesDiffer(f"{what}: is the softmax taken?", "not_probabilities")
    for position, (actual, right) in compared:
        if not near(actual, right):
            size = "large" if actual > right else "small"
            raise ValuesDiffer(f"The probability in position {position} is too {size} {case.where}.")


def _same_pairs(value: Any, case: Case) -> None:
    _same_probs(value, case)
    _same_tokens(value, case, exact=True)
    for kinds, what, mistake in (
        ([(value, list)], "It should be a list", "not_a_list"),
        ([(pair, tuple) for pair in value], "Each entry should be a tuple (token, probability)", "not_tuples"),
        ([(p, float) for _, p in value], "Each probability should be a float (`.item()`, `.tolist()`)", "not_a_float"),
    ):
        for part, wanted in kinds:
            if type(part) is not wanted:
                raise Wrong(f"{what}; yours is {kind(part)}.", mistake)


def _clear(case: Case) -> bool:
    """Return whether no rounding decides which token comes first."""
    best = own_logits(case.sizes, case.text)[0][-1].topk((case.k or 10) + 1).values
    return bool((best[:-1] - best[1:]).min() > 1e-3)


def _form(student: Student) -> None:
    long = Case(READERS[1], "The", k=11), Case(READERS[0], DOG, k=40)
    reads("top_next_tokens", _same_pairs, *long, clear=_clear)(student)
    with student.case():
        case = Case(READERS[0], "The dog", "with k = 3 as the fourth argument", 3)
        _same_probs(called_on(student, "top_next_tokens", case, None, 3), case)


def _refused(student: Student) -> None:
    prompts = ((".", "after a prompt of one token"), (" ", "after a prompt of one space, which is a token"))
    reads("top_next_tokens", _same_probs, *(Case(READERS[2], *prompt) for prompt in prompts))(student)
    refuses(student, "top_next_tokens", READERS[2], ("", "A prompt without tokens"))


def _cases(*texts: tuple[str, int | None]) -> list[Case]:
    return [Case(sizes, text, k=k) for sizes, (text, k) in zip((*READERS, READERS[0]), texts, strict=False)]


_tokens = _cases((DOG, 7), (" the birds sing", None), ("The dog", 1), ("é, é!", 12))
_probs = _cases((" the birds sing", 5), ("The dog", None), ("é, é!", 303))
_dropping = replace(READERS[1], seed=5, more=(*READERS[1].more, *DROPOUT))
_side_effects = side_effects("top_next_tokens", _same_probs, _dropping)

EXERCISE = Exercise(
    Check("the likeliest tokens, in order", 1.0, reads("top_next_tokens", _same_tokens, *_tokens, clear=_clear)),
    Check("their probabilities", 1.0, reads("top_next_tokens", _same_probs, *_probs)),
    Check("pairs of a string, its space included, and a float", 0.5, _form, dependent=True),
    Check("either mode, float64, any device, the model as it was", 0.5, _side_effects, dependent=True),
    Check("a prompt of one token, and of none", 0.25, _refused, dependent=True),
    takes="other",
    gives="list",
    harmless=("other_signature", "global_generator"),
    points=3,
)
