"""Tests that an assertion checks every number that a notebook states about a result; exceptions are listed by name."""

from __future__ import annotations

from collections import Counter

import pytest
from claims import exceptions, holds, numbers, open_sentences, sentences, what_is_held
from conftest import NOTEBOOKS
from nbformat.v4 import new_code_cell

KINDS = {
    "published",  # others' figures, with their source, and facts of history
    "given",  # a size that a cell or the sentence itself sets
    "arithmetic",  # computed in the sentence
    "asked",  # an example, a question, or what to try
    "tried",  # measured beforehand; the notebook has no cell for it
    "cost",  # how long something takes, on a machine that we do not know
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_number_stated_is_asserted_or_listed(name):
    kept = exceptions().get(name, {})
    assert {kind for kind, _ in kept.values()} <= KINDS
    found = list(open_sentences(name))
    count = Counter(where for where, _ in found)
    wrong = [f"{where}: {sentence}" for where, sentence in found if count[where] != kept.get(where, ("", 0))[1]]
    stale = [where for where, (_, expected) in kept.items() if count[where] != expected]
    assert not wrong, "held by no assertion, nor listed in claims.toml:\n" + "\n".join(wrong)
    assert not stale, f"listed in claims.toml in vain: {stale}"


def test_what_a_reader_would_take_for_a_result_is_found():
    text = "## 3. A title\n\nIn 2017 it had $N = 6$ layers (section 5). The loss falls to 0.42 nats. `x = 7` stays."
    assert [numbers(sentence) for sentence in sentences(text)] == [[], [0.42], []]


@pytest.mark.parametrize(
    ("assertion", "number", "is_held"),
    [
        ("assert abs(loss - 0.42) < 0.01", 0.42, True),
        ("assert 0.4 < loss < 0.45", 0.42, True),
        ("assert 0.4 < loss < 4.5", 0.42, False),
        ("assert loss > 0.1", 0.42, False),
        ("assert 0.3 < share < 0.4", 35, True),
        ("loss = 0.42", 0.42, False),
    ],
)
def test_an_assertion_holds_its_numbers_and_what_lies_in_narrow_bounds(assertion, number, is_held):
    assert holds(number, *what_is_held([new_code_cell(assertion)])) == is_held
