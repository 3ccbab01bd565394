"""Merge the glossaries of the notebooks into one, which is also an index: of each term, where it is explained."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nbformat import NotebookNode

TABLE = re.compile(
    r"^## Glossary\n(?:(?!#).*\n)*?\| term \| meaning \| section \|\n\|[ :|-]+\|\n((?:\|.*\|(?:\n|$))+)", re.MULTILINE
)
CELL = re.compile(r"(?<!\\)\|")  # what ends a table's cell


@dataclass(frozen=True)
class Place:
    """A notebook that explains a term, and the sections in which it does."""

    notebook: str
    sections: str  # "1, 5"


@dataclass
class Entry:
    term: str
    meaning: str  # as the first of its notebooks has it
    places: list[Place] = field(default_factory=list)  # the first of them explains it first

    @property
    def letter(self) -> str:
        """Return the capital letter under which the entry is found; "#" if it begins with none."""
        first = _key(self.term)[:1].upper()
        return first if first.isalpha() else "#"


def rows(notebook: NotebookNode) -> Iterator[tuple[str, str, str]]:
    """Yield term, meaning and sections of each row in a notebook's glossary."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (table := TABLE.search(cell.source)):
            for line in table[1].splitlines():
                term, meaning, sections = (part.strip() for part in CELL.split(line)[1:-1])
                yield term, meaning, sections


def split(term: str, meaning: str) -> Iterator[tuple[str, str]]:
    """Yield each term of a row with its meaning: "bit, nat" are two terms, "one-, few-shot" is one.

    As many meanings, separated by semicolons, belong to the terms in their order. Terms that mean the same share one.
    """
    terms, meanings = term.split(", "), meaning.split("; ")
    if any(part.endswith("-") for part in terms):
        terms = [term]
    yield from zip(terms, meanings if len(meanings) == len(terms) else [meaning] * len(terms), strict=True)


def merged(found: Iterable[tuple[str, Iterable[tuple[str, str, str]]]]) -> list[Entry]:
    """Return one entry for each term of (notebook, rows), in alphabetical order; the case of letters is ignored."""
    entries: dict[str, Entry] = {}
    for notebook, table in found:
        for together, meanings, sections in table:
            for term, meaning in split(together, meanings):
                entry = entries.setdefault(_key(term), Entry(term, meaning))
                entry.places.append(Place(notebook, sections))
    return [entries[key] for key in sorted(entries)]


def _key(term: str) -> str:
    """Return what a term is sorted by: its letters and digits, in small letters."""
    return " ".join(re.findall(r"\w+", term.casefold()))
