"""Tests the table of GloVe's answers: its maths on small vectors; the weekly job makes the whole table again."""

import json

import numpy as np
import pytest
from conftest import ROOT

from tools import published_vectors
from tools.offline.__main__ import INDEX, VECTORS
from tools.published_vectors import Vectors

TABLE = json.loads((ROOT / published_vectors.TABLE).read_text("utf-8"))
FAMILIES = json.loads((ROOT / published_vectors.FAMILIES).read_text("utf-8"))["GloVe"]
PLURAL = np.array([0.0, 0.0, 5.0])  # the step from one to many
ANIMALS = {"cow": np.array([3.0, 0.0, -2.0]), "hen": np.array([-2.0, 2.0, -2.0]), "rat": np.array([-1.0, -2.0, -2.0])}
PAIRS = "cow:cows hen:hens rat:rats"


@pytest.fixture
def vectors():
    rows = {one + s: row + PLURAL * bool(s) for one, row in ANIMALS.items() for s in ("", "s")}
    return Vectors(rows, 7 + np.array([*rows.values()]))  # 7: a part that all of them share


def test_an_analogy_leads_from_the_third_word_by_the_step(vectors):
    [(word, cosine)] = vectors.answer("cow cows hen", k=1)
    assert word == "hens"
    assert cosine == pytest.approx(1)


def test_no_word_of_the_question_is_an_answer(vectors):
    assert "cow" not in dict(vectors.answer("cow", k=5))
    assert not {"cow", "cows", "hen"} & dict(vectors.answer("cow cows hen", k=3)).keys()


def test_a_family_is_asked_pair_by_pair_and_without_the_step(vectors):
    questions, right, kind, by_b, by_c = vectors.family(PAIRS)
    assert (questions, right, kind) == (6, 1, 1)
    assert by_b < 1
    assert by_c < 1


def test_pairs_with_the_same_answer_ask_each_other_nothing(vectors):
    assert vectors.family("cow:cows hen:hens rat:hens")[0] == 4


def test_the_table_has_the_questions_and_families_of_the_notebook():
    assert [*TABLE["answers"]] == [*published_vectors.QUESTIONS]
    assert [*TABLE["families"]] == [*FAMILIES]


def test_the_table_names_the_vectors_with_hash_and_licence():
    assert {(one["file"], one["sha256"]) for one in TABLE["read"]} == {(f.name, f.sha256) for f in (VECTORS, INDEX)}
    assert {one["licence"] for one in TABLE["read"]} == {"Apache-2.0 AND PDDL-1.0"}
