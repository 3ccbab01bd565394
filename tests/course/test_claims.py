"""Tests that an assertion checks every number that a notebook states about a result; exceptions are listed by name."""

from __future__ import annotations

from collections import Counter

import pytest
from claims import exceptions, open_sentences
from conftest import NOTEBOOKS

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
