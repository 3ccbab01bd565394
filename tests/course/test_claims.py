"""Tests that an assertion holds, or bounds, each number stated about a result; `claims.toml` lists the exceptions."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator

import pytest
from conftest import NOTEBOOKS, ROOT, read

KEPT = tomllib.loads((ROOT / "tests" / "claims.toml").read_text("utf-8"))
KINDS = {
    "published",  # others' figures, with their source, and facts of history
    "given",  # a size that a cell or the sentence itself sets
    "arithmetic",  # computed in the sentence
    "asked",  # an example, a question, or what to try
    "tried",  # measured beforehand; the notebook has no cell for it
    "cost",  # how long something takes, on a machine that we do not know
}
NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z]-)\d[\d,]*(?:\.\d+)?")
REFERENCE = re.compile(
    r"\b(?:1[6-9]|20)\d\d\b"  # a year
    r"|\b(?:notebooks?|sections?|cells?|questions?|equations?|figures?|chapters?|tables?|pages?|issues?|volume|part)\s+"
    r"[\d.,–]+(?:(?:,|\s+and|\s+to)\s+[\d.]+)*"
    r"|\d+\(\d+\)",
    re.IGNORECASE,
)
# Questions make up their own numbers, and so does practice (Check yourself), which test_practice_questions.py checks.
OTHERS = re.compile(r"#+ (?:Exercise|Question|Check yourself|Written)|#+ .*(?:Glossary|Further reading)")
GLOSSARY = "| term | meaning |"  # a table whose last column has section numbers
WIDE = 2.0  # bounds farther apart than this factor check nothing


def sentences(source: str) -> Iterator[str]:
    """Yield the sentences of a text, without code, formulas, summaries of hints and addresses."""
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
    """Return the numbers in an expression, including those in its strings."""
    found = []
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, (int, float)) and not isinstance(part.value, bool):
            found.append(float(part.value))
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found += [float(word.replace(",", "")) for word in NUMBER.findall(part.value)]
    return found


def what_is_held(cells: list) -> tuple[set[float], list[tuple[float, float]]]:
    """Return the single numbers and the ranges that a notebook's assertions check."""
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
    """Yield the cell's id and the sentence for each sentence of a solution with an unchecked number."""
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


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_number_stated_is_asserted_or_listed(name):
    kinds = KEPT.get(name, {})
    assert set(kinds) <= KINDS
    cells = [cell.partition(":") for output in kinds.values() for cell in output.split()]
    kept = {cell: int(count or 1) for cell, _, count in cells}  # cells, and how many sentences of each
    found = list(open_sentences(name))
    count = Counter(where for where, _ in found)
    wrong = [f"{where}: {sentence}" for where, sentence in found if count[where] != kept.get(where, 0)]
    stale = [where for where, expected in kept.items() if count[where] != expected]
    assert not wrong, "held by no assertion, nor listed in claims.toml:\n" + "\n".join(wrong)
    assert not stale, f"listed in claims.toml in vain: {stale}"
