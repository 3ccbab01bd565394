"""What the box of an exercise asks, clause by clause, and the catalogued wrong answers that violate each clause.

    python tests/clauses.py softmax          # the table of an exercise: clause, violated by, caught by which checks
    python tests/clauses.py --left softmax   # what is not yet in the table: words of the box, names of mistakes

`clauses/NN-name.toml` has a table for each exercise of a notebook:

    [softmax]
    asked = [["returns a tensor of the same shape", "flattened", "reduced"], …]  # the box's words, names of mistakes
    said = ["By hand", …]                                                        # its other words, which ask nothing

The box is the heading, the quoted text and the signature's docstring; hints are not part of it. `every.toml` says the
same of the paragraph "In every exercise …", with the names of slips. A mistake may stand under several clauses.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from conftest import NOTEBOOKS, read
from rich.console import Console
from rich.table import Table

from autograder.judge.diagnosis import signature_store
from autograder.spec.course import exercise, exercises

FOLDER = Path(__file__).with_name("clauses")
OPENING = "**In every exercise**"
WORD = re.compile(r"[^\W\d_]{4,}")  # "and", "or", "the" between two clauses are none
STUB = re.compile(r"\"\"\"(.*?)\"\"\"", re.DOTALL)


@dataclass(frozen=True)
class Clauses:
    """What a box asks, with the names of mistakes that violate it, and what it says besides."""

    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def names(self) -> set[str]:
        return {name for _, names in self.asked for name in names}

    def quotes(self) -> list[str]:
        return [quote for quote, _ in self.asked] + self.said


def plain(text: str) -> str:
    """Words as they are read: without quotation marks of Markdown, emphasis, line breaks."""
    return " ".join(re.sub(r"^ *> ?|\*\*|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)", "", text, flags=re.MULTILINE).split())


@cache
def boxes(notebook: str) -> dict[str, str]:
    """What each exercise of a notebook is asked in, as it is read: heading, quoted text, docstring."""
    found, cells = {}, read("solutions", notebook).cells
    for place, cell in enumerate(cells):
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and about.get("solution") and about["grade_id"] in _coded(notebook):
            above = place - 1
            while not re.search(r"^#+ .*Exercise", cells[above].source, re.MULTILINE):
                above -= 1
            texts = [each.source for each in cells[above:place] if each.cell_type == "markdown"]
            texts[0] = texts[0][re.search(r"^#+ .*Exercise", texts[0], re.MULTILINE).start() :]
            text = re.sub(r"<details>.*?</details>", "", "\n".join(texts), flags=re.DOTALL)
            text = re.sub(r"<details>.*", "", text, flags=re.DOTALL)
            docstring = STUB.search(cell.source)
            found[about["grade_id"]] = plain(text + "\n" + (docstring[1] if docstring else ""))
    return found


@cache
def _coded(notebook: str) -> frozenset[str]:
    return frozenset(each.name for each in exercises(notebook))


def opening(notebook: str) -> str:
    """The paragraph that holds for all exercises of a notebook."""
    [text] = [
        paragraph
        for cell in read("solutions", notebook).cells
        for paragraph in cell.source.split("\n\n")
        if paragraph.startswith(OPENING)
    ]
    return plain(text)


@cache
def _table(stem: str) -> dict[str, Clauses]:
    path = FOLDER / f"{stem}.toml"
    made = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    return {
        name: Clauses([(quote, tuple(names)) for quote, *names in table.get("asked", [])], table.get("said", []))
        for name, table in made.items()
    }


def clauses(name: str) -> Clauses:
    return _table(exercise(name).notebook).get(name, Clauses())


def of_every_exercise() -> Clauses:
    tables = _table("every").values()
    return Clauses([row for table in tables for row in table.asked], [text for table in tables for text in table.said])


def left(text: str, quotes: list[str]) -> list[str]:
    """The pieces of a text that no quotation covers, if there are words in them."""
    for quote in sorted(map(plain, quotes), key=len, reverse=True):
        text = text.replace(quote, "\n")
    return [piece.strip() for piece in text.split("\n") if WORD.search(piece)]


def caught_by(name: str, mistake: str) -> list[str]:
    """The checks that fail for every version of a mistake that stands in the catalogue under this name."""
    known, asked = signature_store.of(name), exercise(name)
    rows = [row for row, each in enumerate(known.names) if each == mistake]
    return [check.title for column, check in enumerate(asked.checks) if known.failed[rows, column].any()]


def _show(name: str) -> None:
    shown = Table("the box says", "violated by", "caught by", title=name, show_lines=True)
    for quote, names in clauses(name).asked:
        found = dict.fromkeys(title for mistake in names for title in caught_by(name, mistake))
        shown.add_row(quote, ", ".join(names), "\n".join(found))
    Console(width=160).print(shown)


def _show_left(name: str) -> None:
    table, declared = clauses(name), exercise(name)
    for piece in left(boxes(declared.notebook)[name], table.quotes()):
        print(f"{name}: no clause has these words: {piece}")
    for mistake in set(declared.sentences) - table.names() - of_every_exercise().names():
        print(f"{name}: no clause is violated by {mistake}: {declared.sentences[mistake]}")


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        if asked != "--left":
            for each in [asked] if asked not in NOTEBOOKS else [one.name for one in exercises(asked)]:
                (_show_left if "--left" in sys.argv else _show)(each)
