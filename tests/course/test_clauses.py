"""Every clause of every box has a wrong answer that violates it, and no mistake is one that no box speaks of."""

from __future__ import annotations

import pytest
from clauses import boxes, caught_by, clauses, left, of_every_exercise, opening, plain
from conftest import NOTEBOOKS

from autograder.spec.course import exercise, exercises

NAMES = [each.name for notebook in NOTEBOOKS for each in exercises(notebook)]


def box(name: str) -> str:
    return boxes(exercise(name).notebook)[name]


@pytest.mark.parametrize("name", NAMES)
def test_each_word_of_a_box_stands_under_a_clause(name):
    table = clauses(name)
    assert not [quote for quote in table.quotes() if plain(quote) not in box(name)]
    assert not left(box(name), table.quotes())


@pytest.mark.parametrize("name", NAMES)
def test_each_clause_is_violated_by_a_catalogued_mistake_which_a_check_catches(name):
    for quote, mistakes in clauses(name).asked:
        assert mistakes, quote
        for mistake in mistakes:
            assert mistake in exercise(name).sentences, (quote, mistake)
            assert caught_by(name, mistake), (quote, mistake)


@pytest.mark.parametrize("name", NAMES)
def test_no_mistake_costs_marks_for_what_no_box_says(name):
    assert not set(exercise(name).sentences) - clauses(name).names() - of_every_exercise().names()


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_each_word_of_what_holds_in_every_exercise_stands_under_a_clause(notebook):
    quotes = [quote.lower() for quote in of_every_exercise().quotes()]
    assert not left(opening(notebook).lower(), quotes)


def test_what_holds_in_every_exercise_is_violated_somewhere():
    for quote, mistakes in of_every_exercise().asked:
        assert mistakes, quote
        for mistake in mistakes:
            assert any(caught_by(name, mistake) for name in NAMES if mistake in exercise(name).sentences), mistake
