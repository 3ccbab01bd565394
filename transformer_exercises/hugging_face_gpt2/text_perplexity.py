"""`text_perplexity`: several texts and models, the shortest and too long ones, very unlikely tokens.

The mistakes: sums and means, another divisor or base, logits not shifted, probabilities that underflow.
"""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F

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
    manners,
    near,
    number_of,
    own_model,
    own_tokenizer,
    their_model,
    their_tokenizer,
)

_TEXTS = ("The dog drinks water.", " the birds sing because it was", "The dog", DOG + ".", "é, é!")


@cache
def _losses(sizes: Sizes, text: str) -> torch.Tensor:
    """The negative log probabilities of tokens 2..N, by Hugging Face's model on this side."""
    ids = torch.tensor([own_tokenizer()(text).input_ids])
    with torch.no_grad():
        logits = own_model(sizes, "float64")(ids).logits
    return F.cross_entropy(logits[0, :-1], ids[0, 1:], reduction="none")


def _same_perplexity(got: Any, sizes: Sizes, text: str, where: str, relative: float = 3e-4) -> None:
    if got is None:
        raise Wrong(NOTHING)
    number, losses = number_of(got), _losses(sizes, text)
    if number is None:
        raise Wrong(f"It should return a number {where}; yours is {kind(got)}.")
    mean, N = losses.mean().item(), len(losses) + 1
    likely = {
        "no_exp": (mean, "This is the mean loss: the perplexity is its exponential."),
        "no_exp_base_two": (mean / math.log(2), "This is the mean loss in bits: the perplexity is 2 to this power."),
        "sum_for_mean": (_exp(mean * (N - 1)), "This is exp of the sum of the losses: take their mean."),
        "divided_by_N": (
            math.exp(mean * (N - 1) / N),
            "The sum of the losses is divided by N, but only N − 1 tokens are predicted.",
        ),
    }
    if not near(number, math.exp(mean), relative):
        for name, (value, sentence) in likely.items():
            if near(number, value, relative):
                raise ValuesDiffer(sentence, name)
        if math.isnan(number) or math.isinf(number):
            raise Wrong(
                f"The result is {number} {where}: a probability became 0 before its logarithm was taken?", "unstable"
            )
        raise ValuesDiffer(f"The perplexity is too {'large' if number > math.exp(mean) else 'small'} {where}.")


def _exp(number: float) -> float:
    return math.exp(number) if number < 700 else math.inf


def _perplexity(student: Student, sizes: Sizes, text: str, where: str = "", relative: float = 3e-4) -> Any:
    where = where or f'for "{text}"'
    got = asked(student, "text_perplexity", [their_model(student, sizes), their_tokenizer(student), text], where=where)
    _same_perplexity(got, sizes, text, where, relative)
    return got


def _text_of(tokens: int) -> str:
    """A text of so many tokens."""
    return "." * tokens


def _perplexity_values(student: Student) -> None:
    for number, text in enumerate(_TEXTS):
        with student.case():
            _perplexity(student, READERS[number % 3], text)
    with student.case():
        sizes = Sizes(2, 2, 16, len(own_tokenizer()(DOG).input_ids), seed=4)
        _perplexity(student, sizes, DOG, "for a text that just fits into the context")


def _perplexity_shortest(student: Student) -> None:
    for sizes in READERS:
        with student.case():
            _perplexity(student, sizes, "The dog", "for a text of two tokens")


def _perplexity_form(student: Student) -> None:
    # Logits of some dozens: single probabilities are too small for float32, their mean logarithm is not.
    for head in (3.0, 8.0):
        with student.case():
            sizes = replace(READERS[1], seed=6, head=head)
            got = _perplexity(student, sizes, DOG, "when some tokens are very unlikely", relative=5e-3)
            if type(got) is not float:
                raise Wrong(
                    f"A float is asked for; yours is {kind(got)}: `.item()` makes one of a tensor.", "not_a_float"
                )


def _perplexity_manners(student: Student) -> None:
    sizes = replace(READERS[0], seed=7, more=DROPOUT)

    def same(value: Any, where: str) -> None:
        _same_perplexity(value, sizes, DOG, where)

    manners(student, "text_perplexity", [their_tokenizer(student), DOG], same, sizes)


def _perplexity_refused(student: Student) -> None:
    tokenizer, sizes = their_tokenizer(student), READERS[2]
    for text, what in (("", "A text without tokens"), ("The", "A text of one token (a word of three letters here)")):
        with student.case():
            _perplexity(student, sizes, "é", "for a text of one letter, which is two tokens")
            with raises_error(what):
                asked(student, "text_perplexity", [their_model(student, sizes), tokenizer, text])
    with student.case():
        fitting = sizes.context
        long = _text_of(fitting + 1)
        _perplexity(student, sizes, _text_of(fitting), "for a text of as many tokens as the context has positions")
        for text in (long, 3 * DOG):
            with raises_error("A text longer than the model's context"):
                asked(student, "text_perplexity", [their_model(student, sizes), tokenizer, text])


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("several texts and models", 1.5, _perplexity_values),
        Check("two tokens: one prediction", 0.5, _perplexity_shortest, further=True),
        Check("a float, even when tokens are very unlikely", 0.5, _perplexity_form, further=True),
        Check("either mode, float64, any device, the model as it was", 0.5, _perplexity_manners, further=True),
        Check("texts that are too short or too long", 0.5, _perplexity_refused),
    ],
    gives="number",
)
