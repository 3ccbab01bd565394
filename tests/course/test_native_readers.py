"""Tests that the sheets for native readers are what the stories are made of, and hold every sample of the course."""

import pytest
from conftest import ROOT

from tools import native_readers

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


def test_the_samples_sheet_has_every_language_of_the_notebook(made):
    asked = column(made["samples.tsv"], "language")
    assert asked == [language for language in native_readers.samples() if language != "English"]


def test_the_readme_names_every_language_and_every_sheet(made):
    text = (SHEETS / "README.md").read_text("utf-8")
    languages = [*column(made["samples.tsv"], "language"), *column(made["many-languages.tsv"], "language")]
    assert all(f"**{language}**" in text for language in languages)
    assert all(f"({name})" in text for name in made)
