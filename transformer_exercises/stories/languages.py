"""Derive the forms of words that sentences use from dictionary forms, by small rules of the three grammars."""

import unicodedata
from collections.abc import Mapping

from .engine import Word

LANGUAGES = ("english", "igbo", "bangla")
BANGLA_VOWELS = "অআইঈউঊঋএঐওঔািীুূৃেৈোৌ"


def word(english: Mapping | str, igbo: Mapping | str, bangla: Mapping | str, weight: float = 1, **facts) -> Word:
    """Return a lexicon entry. A bare string is its only form; text is normalised (NFC: one spelling per letter)."""
    forms = {
        language: {form: unicodedata.normalize("NFC", text) for form, text in given.items()}
        for language, given in zip(LANGUAGES, map(only_form, (english, igbo, bangla)), strict=True)
    }
    return Word(forms, weight, facts)


def only_form(given: Mapping | str) -> Mapping:
    return {"": given} if isinstance(given, str) else given


def rows(table: str) -> list[list[str]]:
    """Split a hand-typed table: one row per line, cells between bars."""
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


# English


def article(noun: str) -> str:
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def plural(noun: str) -> str:
    if noun in ("sheep", "deer", "fish"):
        return noun
    return noun + ("es" if noun.endswith(("o", "x", "s", "sh", "ch")) else "s")


# Igbo


def adjective(text: str, place: str) -> dict[str, str]:
    """Return the forms of an Igbo adjective by its place: `pre` before the noun (obere ewu), `near` after it, or `far`.

    An example of `near` is ewu ojii. A `far` one is a relative clause and follows numerals and possessors too: ewu atọ
    na-acha uhie uhie, "three goats that are red".
    """
    spaced = f"{text} " if place == "pre" else f" {text}"
    return {"": text, "pre": "", "near": "", "far": ""} | {place: spaced}


# Bangla


def genitive(noun: str) -> str:
    """Append র after a vowel, ের after a consonant."""
    return noun + ("র" if noun[-1] in BANGLA_VOWELS else "ের")
