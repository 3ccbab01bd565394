"""`text_perplexity`: several texts and models, the shortest and too long ones, very unlikely tokens."""

import math
from dataclasses import replace
from typing import Any

import torch.nn.functional as F

from autograder.spec import Check, Exercise, Student, ValuesDiffer, Wrong, kind

from .small_models import DOG, DROPOUT, READERS, Case, Sizes, near, number_of, own_logits, reads, refuses, side_effects


def _same(value: Any, case: Case, relative: float = 3e-4) -> None:
    number = number_of(value)
    if number is None:
        raise Wrong(f"It should return a number {case.where}; yours is {kind(value)}.", "form")
    logits, ids = own_logits(case.sizes, case.text)
    mean, N = F.cross_entropy(logits[:-1], ids[1:]).item(), len(ids)
    if near(number, math.exp(mean), relative):
        return
    for name, likely, sentence in (
        ("no_exp", mean, "This is the mean loss: the perplexity is its exponential."),
        ("no_exp_base_two", mean / math.log(2), "This is the mean loss in bits: the perplexity is 2 to this power."),
        ("sum_for_mean", math.exp(min(700, mean * (N - 1))), "This is exp of the sum of the losses: take their mean."),
        ("divided_by_N", math.exp(mean * (N - 1) / N), "The losses are divided by N, but only N − 1 are predicted."),
    ):
        if near(number, likely, relative):
            raise ValuesDiffer(sentence, name)
    if not math.isfinite(number):
        what = f"The result is {number} {case.where}"
        raise ValuesDiffer(f"{what}: is each token compared with the logits before it, and no logarithm taken of a 0?")
    raise ValuesDiffer(f"The perplexity is too {'large' if number > math.exp(mean) else 'small'} {case.where}.")


def _same_float(value: Any, case: Case) -> None:
    _same(value, case, relative=5e-3)
    if type(value) is not float:
        raise Wrong(f"A float is asked for; yours is {kind(value)}: `.item()` makes one of a tensor.", "not_a_float")


def _clear(case: Case) -> bool:
    """Return whether the perplexity is far below the largest number of float32."""
    logits, ids = own_logits(case.sizes, case.text)
    return F.cross_entropy(logits[:-1], ids[1:]).item() < 60


def _refused(student: Student) -> None:
    sizes = READERS[2]
    fits = Case(sizes, "." * sizes.context, "for a text of as many tokens as the context has positions")
    reads("text_perplexity", _same, Case(sizes, "é", "for a text of one letter, which is two tokens"), fits)(student)
    longer = "A text longer than the model's context"
    bad = ("", "A text without tokens"), ("The", "A text of one token (a word of three letters here)")
    refuses(student, "text_perplexity", sizes, *bad, (fits.text + ".", longer), (3 * DOG, longer))


_TEXTS = ("The dog drinks water.", " the birds sing because it was", "The dog", DOG + ".", "é, é!")
_fits = Case(Sizes(2, 2, 16, 7, seed=4), DOG, "for a text that just fits into the context")
_values = reads("text_perplexity", _same, *map(Case, (*READERS, *READERS), _TEXTS), _fits)
_shortest = reads("text_perplexity", _same, *(Case(sizes, "The dog", "for a text of two tokens") for sizes in READERS))
# Logits of some dozens: single probabilities are too small for float32, their mean logarithm is not.
_wide = [replace(READERS[1], seed=6, head=head) for head in (3.0, 8.0)]
_unlikely = [Case(one, DOG, "when some tokens are very unlikely") for one in _wide]
_float = reads("text_perplexity", _same_float, *_unlikely, clear=_clear)
_side_effects = side_effects("text_perplexity", _same, replace(READERS[0], seed=7, more=DROPOUT))

EXERCISE = Exercise(
    Check("several texts and models", 1.5, _values),
    Check("two tokens: one prediction", 0.5, _shortest, dependent=True),
    Check("a float, even when tokens are very unlikely", 0.5, _float, dependent=True),
    Check("either mode, float64, any device, the model as it was", 0.5, _side_effects, dependent=True),
    Check("texts that are too short or too long", 0.5, _refused, dependent=True),
    takes="other",
    gives="number",
    harmless=("rounded", "other_signature", "global_generator"),
    points=3,
)
