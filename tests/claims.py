"""Which sentences of a notebook state a number that nothing in the notebook holds them to.

    python tests/claims.py          # prints them all; `claims.toml` says of each cell why, and how many it has

A number is held if an assertion of the notebook has it, or keeps what it measures within bounds around it. Numbers in
code, formulas, boxes of exercises, questions, titles, years and references to sections are no statements about a
result.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from conftest import NOTEBOOKS, read

KEPT = Path(__file__).with_name("claims.toml")
NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z]-)\d[\d,]*(?:\.\d+)?")
REFERENCE = re.compile(
    r"\b(?:1[6-9]|20)\d\d\b"  # a year
    r"|\b(?:notebooks?|sections?|cells?|questions?|equations?|figures?|chapters?|tables?|pages?|issues?|volume|part)\s+"
    r"[\d.,–]+(?:(?:,|\s+and|\s+to)\s+[\d.]+)*"
    r"|\d+\(\d+\)",
    re.IGNORECASE,
)
# Questions set up cases of their own. So does practice (Check yourself); test_practice.py holds it to its numbers.
OTHERS = re.compile(r"#+ (?:Exercise|Question|Check yourself|Written)|#+ .*(?:Glossary|Further reading)")
GLOSSARY = "| term | meaning |"  # a table whose last column is sections
WIDE = 2.0  # bounds that are farther apart than this factor hold nothing


def sentences(source: str) -> Iterator[str]:
    """The sentences of a text, without code, formulas, summaries of hints, addresses."""
    for pattern in (r"```.*?```", r"\$\$.*?\$\$"):
        source = re.sub(pattern, " ", source, flags=re.DOTALL)
    for pattern in (r"`[^`]*`", r"\$[^$]*\$", r"<summary>.*?</summary>", r"(?<=\])\([^)]*\)"):
        source = re.sub(pattern, " ", source)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-*>|#\d])", source):
        if not paragraph.lstrip().startswith(("#", ">")):
            for sentence in re.split(r"(?<=[.!?:;])\s+", re.sub(r"^\d+\.\s", "", paragraph)):
                yield " ".join(sentence.split())


def numbers(sentence: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(REFERENCE.sub(" ", sentence))]


def _constants(node: ast.AST) -> list[float]:
    """Numbers in an expression, those that are written as sums or products computed."""
    found = []
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, (int, float)) and not isinstance(part.value, bool):
            found.append(float(part.value))
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found += [float(word.replace(",", "")) for word in NUMBER.findall(part.value)]
    return found


def what_is_held(cells: list) -> tuple[set[float], list[tuple[float, float]]]:
    """What a notebook's assertions hold: single numbers, and ranges."""
    single: set[float] = set()
    ranges: list[tuple[float, float]] = []
    for cell in cells:
        if cell.cell_type != "code" or "assert" not in cell.source or "grade_id" in cell.metadata.get("nbgrader", {}):
            continue
        tree = ast.parse(cell.source)
        claim = "claim" in cell.metadata.get("tags", [])
        for node in ast.walk(tree):
            if claim or isinstance(node, ast.Assert):
                single.update(_constants(node))
            if isinstance(node, ast.Compare):
                ends = [_constants(side) for side in (node.left, *node.comparators)]
                values = [abs(value) for end in ends for value in end if value]
                if len(values) > 1 and max(values) <= WIDE * min(values):
                    ranges.append((min(values), max(values)))
    return single, ranges


def open_sentences(name: str) -> Iterator[tuple[str, str]]:
    """The sentences of a solution that state a number nothing holds: the cell's id and the sentence."""
    cells = read("solutions", name).cells
    single, ranges = what_is_held(cells)
    for cell in cells[1:]:
        if cell.cell_type != "markdown" or "nbgrader" in cell.metadata or OTHERS.match(cell.source):
            continue
        source = re.sub(r"^\|.*$", "", cell.source, flags=re.MULTILINE) if GLOSSARY in cell.source else cell.source
        for sentence in sentences(source):
            if not all(holds(number, single, ranges) for number in numbers(sentence)):
                yield cell.id, sentence


def holds(number: float, single: set[float], ranges: list[tuple[float, float]]) -> bool:
    forms = (number, number / 100, 1 - number / 100)
    return any(abs(form - one) < 1e-9 for form in forms for one in single) or any(
        low - 1e-9 <= form <= high + 1e-9 for form in forms for low, high in ranges
    )


def exceptions() -> dict[str, dict[str, tuple[str, int]]]:
    """By notebook and cell: why nothing holds its numbers, and how many sentences of it there are."""
    return tomllib.loads(KEPT.read_text("utf-8"))


if __name__ == "__main__":
    for name in NOTEBOOKS:
        for where, sentence in open_sentences(name):
            print(f"{name} {where}: {sentence}")
