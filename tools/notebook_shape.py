"""Print the measures of a notebook with their bounds, and every cell that exceeds one.

    python -m tools.notebook_shape 06-masking

A notebook is named, or given as a file; all of the course's are meant if none is.
"""

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nbformat

from autograder.cell_counts import DETAILS, Cell, cells, words
from autograder.spec.course import FURTHER, notebook_path, notebooks
from autograder.workload import minutes_by_sitting, minutes_in_all

BOUNDS: dict[str, float] = {
    "cells": 90,
    "words in view, outside boxes and questions": 3200,
    "words folded": 1500,
    "lines of provided code in view": 350,
    "minutes to read and try": 75,
    "minutes of the longest sitting": 120,
    "the first cell to write code in": 10,
    "most cells with nothing to type or decide": 15,
    "practice questions": 6,
    "objectives": 4,
    "lines of its tools": 120,
    "lines of the common tools": 400,
    "megabytes": 1.5,
}
MORE: dict[str, float] = {
    "cells": 110,
    "words in view, outside boxes and questions": 4000,
    "lines of provided code in view": 450,
    "minutes to read and try": 90,
}
# The first notebook, the one that it leads to, and the one that compares its result with published models
WIDER = {"01-language-modelling": MORE, "09-gpt": MORE, "10-hugging-face-gpt2": MORE}
# In optional notebooks
UNBOUNDED = {"cells", "words in view, outside boxes and questions", "words folded", "minutes to read and try"}
IN_VIEW, PROVIDED_LINES, WITH_DOCSTRING, HINTS = 180, 25, 160, 2  # of one cell
TASK_WORDS = {"exercise": 120, "question": 150, "written": 150, "practice": 80}  # words
COMMON = "notebook_tools.py"  # shared by all notebooks
IMPORT = re.compile(r"^from \w+_tools import \w+(?:, \w+)*$", re.MULTILINE)
STOPPING = re.compile(r"\*\*A good place to stop\.\*\* What you have: .+ What comes: .+")
OBJECTIVES = re.compile(r"\*\*You will be able to\*\*\n+((?:- .*\n?)+)")
RULES = re.compile(r"How marking works|hidden tests", re.IGNORECASE)
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)


def figures(path: Path) -> dict[str, float]:
    """Return a notebook's figures: those with bounds, then the others."""
    notebook = nbformat.read(path, as_version=4)
    found, time = cells(notebook), minutes_in_all(notebook)
    objectives = OBJECTIVES.search(found[0].source)
    first = next((index for index, cell in enumerate(found, 1) if cell.typed), len(found))
    passive = (index - before for before, index in _passive(found))
    sources = {file.name: file.read_text("utf-8").splitlines() for file in path.parent.glob("*_tools.py")}
    tools = {name: sum(line.strip()[:1] not in ("", "#") for line in lines) for name, lines in sources.items()}
    values = (
        len(found),
        sum(cell.words for cell in found),
        sum(cell.folded for cell in found),
        sum(cell.lines for cell in found if cell.kind == "provided"),
        time.looking,
        max(map(sum, minutes_by_sitting(notebook))),
        first,
        max(passive),
        sum(cell.kind == "practice" for cell in found),
        objectives[1].count("- ") if objectives else 0,
        sum(lines for file, lines in tools.items() if file != COMMON),
        tools.get(COMMON, 0),
        path.stat().st_size / 1e6,
    )
    return dict(zip(BOUNDS, values, strict=True)) | {
        "minutes to answer": time.doing,
        "predictions": sum(cell.predictions for cell in found),
        "lines of provided code folded": sum(cell.lines for cell in found if cell.kind == "folded"),
    }


def bounds(name: str) -> dict[str, float]:
    wide = BOUNDS | WIDER.get(name, {})
    return {what: bound for what, bound in wide.items() if not (name.endswith(FURTHER) and what in UNBOUNDED)}


def faults(path: Path) -> list[str]:
    """Return a sentence for each figure and each cell that is over its bound."""
    found = cells(nbformat.read(path, as_version=4))
    known = figures(path)
    over = [
        f"{what}: {known[what]:.4g} of {bound:g}" for what, bound in bounds(path.stem).items() if known[what] > bound
    ]
    return [*over, *_opening(found), *(fault for index in range(len(found)) for fault in _cell(found, index))]


def _opening(found: list[Cell]) -> Iterator[str]:
    code = next((cell.source for cell in found if cell.kind == "provided"), "")
    if not IMPORT.search(code):
        yield "the first code cell has no line `from …_tools import` with the names that it takes"
    if RULES.search(found[0].source):
        yield "the opening has marking rules: START.md has them"
    if "START.md" not in found[0].source:
        yield "the opening has no link to START.md"
    for before, index in _passive(found):
        if index - before > BOUNDS["most cells with nothing to type or decide"]:
            start, end = found[before].name, found[index - 1].name
            yield f"nothing to type or decide in {index - before} cells: {start} to {end}"


def _passive(found: list[Cell]) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of each run of cells in which a student writes and decides nothing."""
    active = [-1, *(index for index, cell in enumerate(found) if cell.active), len(found)]
    yield from ((before + 1, index) for before, index in pairwise(active))


def _cell(found: list[Cell], index: int) -> Iterator[str]:
    cell = found[index]
    if cell.kind in ("prose", "stop", *TASK_WORDS) and (in_view := words(DETAILS.sub("", cell.source))) > IN_VIEW:
        yield f"{cell.name}: {in_view} words in one cell, {IN_VIEW} at most"
    if cell.kind == "provided" and cell.lines > PROVIDED_LINES:
        yield f"{cell.name}: {cell.lines} lines of provided code in one cell, {PROVIDED_LINES} at most"
    if cell.task_words > (most := TASK_WORDS.get(cell.kind, 0)):
        yield f"{cell.name}: {cell.task_words} words in the {cell.kind}, {most} at most"
    if cell.kind == "stop" and not STOPPING.match(cell.source):
        yield f"{cell.name}: begins with “**A good place to stop.** What you have: … What comes: …”"
    if cell.kind == "exercise":
        stub = found[index + 1].source
        together = cell.task_words + sum(words(text) for text in DOCSTRING.findall(stub))
        if together > WITH_DOCSTRING:
            yield f"{cell.name}: {together} words in box and docstring, {WITH_DOCSTRING} at most"
        if (examples := cell.source.count("**By hand**")) != 1:
            yield f"{cell.name}: {examples} examples by hand; there should be one"
        if (hints := cell.source.count("<summary>Hint")) > HINTS:
            yield f"{cell.name}: {hints} hints, {HINTS} at most"


def report(path: Path) -> str:
    """Return a notebook's figures with their bounds, and its faults, as text."""
    limits = bounds(path.stem)
    lines = [f"{path.stem}", f"{'':44}now  at most"]
    for what, value in figures(path).items():
        bound = limits.get(what)
        lines.append(f"{what:42}{value:>6.4g}  {'' if bound is None else f'{bound:>7g}'}")
    return "\n".join([*lines, *(f"- {fault}" for fault in faults(path)), ""])


def main() -> None:
    for name in sys.argv[1:] or notebooks():
        print(report(Path(name) if name.endswith(".ipynb") else notebook_path(name)))


if __name__ == "__main__":
    main()
