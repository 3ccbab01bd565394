"""Tests that native readers get every pattern, every form of a word and every sample that the course shows."""

from __future__ import annotations

import pytest
from conftest import ROOT

from tools import native_readers
from transformer_exercises.stories import LANGUAGES, bangla, derivations
from transformer_exercises.stories.engine import SLOT

SHEETS = ROOT / "docs" / "native-readers"


@pytest.fixture(scope="module")
def made():
    return native_readers.sheets()


def column(text: str, name: str) -> list[str]:
    top, *rows = (line.split("\t") for line in text.splitlines())
    return [row[top.index(name)] for row in rows]


def test_the_sheets_are_what_the_stories_are_made_of(made):
    """After a change of the grammar or the samples: python -m tools.native_readers"""
    assert {path.name: path.read_text("utf-8") for path in SHEETS.glob("*.tsv")} == made


STREAMS = {f"{language}.tsv": (language, LANGUAGES, derivations) for language in LANGUAGES[1:]}
STREAMS["bangla-agreement.tsv"] = ("bangla", bangla.LANGUAGES, bangla.derivations)


@pytest.mark.parametrize("sheet", STREAMS)
def test_each_kind_of_sentence_and_each_form_of_a_word_is_asked_about(made, sheet):
    """Of other stories than those that the sheet was taken from."""
    language, languages, stories = STREAMS[sheet]
    told = "\n".join(column(made[sheet], "to check"))
    index, patterns = languages.index(language), 0
    for _, story in zip(range(500), stories(99), strict=False):
        for source, text in story.sentences(language):
            for name, form in SLOT.findall(source.patterns[index]):
                word = story.word(name[0].lower() + name[1:]).forms[language][form]
                assert word.strip().lower() in told.lower(), word
            still = [piece.strip() for piece in SLOT.sub("\n", source.patterns[index]).splitlines()]
            assert all(piece in told for piece in still), text
            patterns += 1
    assert patterns > 1000


def test_a_sheet_can_be_read_in_an_evening(made):
    assert all(100 < len(column(made[sheet], "number")) < 500 for sheet in STREAMS)


def test_every_sample_of_the_notebook_is_asked_about_and_the_languages_are_named(made):
    asked = column(made["samples.tsv"], "language")
    assert asked == [language for language in native_readers.samples() if language != "English"]
    assert len(asked) == 13
    text = (SHEETS / "README.md").read_text("utf-8")
    assert all(f"**{language}**" in text for language in [*asked, *column(made["many-languages.tsv"], "language")])
    assert all(f"({name})" in text for name in made)
