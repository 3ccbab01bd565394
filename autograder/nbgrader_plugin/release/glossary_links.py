"""Link a released notebook to the course's glossary: from its opening, and from the first place of each term."""

import itertools
import re

from nbformat import NotebookNode

from ... import glossary
from ...spec.course import home

PAGE = "../GLOSSARY.md"
START = re.compile(r"^.*\]\(\.\./START\.md\).*$", re.MULTILINE)  # the opening's line about the rules
LINK = f" The [glossary]({PAGE}) has every term."
END = "## Summary"  # below it, nothing is met for the first time
IN_BRACKETS = re.compile(r"\s*\([^)]*\)")


def link_glossary(notebook: NotebookNode) -> None:
    """Add the links, if the course's pages have a glossary. Cells that nbgrader checks stay as they are."""
    if not (home() / "handout" / "GLOSSARY.md.j2").is_file():
        return
    opening = notebook.cells[0]
    opening.source = START.sub(rf"\g<0>{LINK}", opening.source, count=1)
    above = itertools.takewhile(lambda cell: not cell.source.startswith(END), notebook.cells)
    texts = [cell for cell in above if cell.cell_type == "markdown" and "nbgrader" not in cell.metadata]
    for together, meanings, _ in glossary.rows(notebook):
        for term, _ in glossary.split(together, meanings):  # each is under its own letter
            _link_first(texts, term)


def _link_first(texts: list[NotebookNode], term: str) -> None:
    """Make a link of the first place where a term is in bold."""
    names = IN_BRACKETS.sub("", term).replace("`", "").split(", ")
    bold = re.compile(rf"(?<![\[*])\*\*((?:{'|'.join(map(re.escape, names))})s?)\*\*(?!\*)", re.IGNORECASE)
    for cell in texts:
        if bold.search(cell.source):
            anchor = glossary.Entry(term, "").letter
            cell.source = bold.sub(rf"[**\1**]({PAGE}#{anchor})", cell.source, count=1)
            return
