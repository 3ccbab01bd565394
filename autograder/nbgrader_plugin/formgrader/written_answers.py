"""Show the rubric and sample answers at three levels beside a written answer while a person marks it.

The rubric and the answer worth all points come from the solution notebook. Answers worth some points come from the
course's `written_answers.toml`, each with the reason for its points. Neither is ever released.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup

from ...spec.course import MARKERS, home
from ..feedback import rendering

TABLE = "written_answers.toml"
RUBRIC = re.compile(r"^\*\*Rubric\*\*.*", re.MULTILINE | re.DOTALL)
STYLE = """<style>
.panel-body:has(> .beside) { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 0 2em; }
.panel-body:has(> .beside)::before, .panel-body:has(> .beside)::after { content: none; }
.panel-body:has(> .beside) > .text_cell_render { position: sticky; top: 60px; align-self: start; }
.beside { border-left: 3px solid #337ab7; padding-left: 1em; font-size: 93%; line-height: 1.45; }
.beside h5 { margin: 0 0 .4em; font-weight: bold; }
.beside details { border-top: 1px solid #ccc; padding: .4em 0; }
.beside summary { display: list-item; cursor: pointer; font-weight: bold; }
.beside .why { border-left: 3px solid #ccc; padding-left: .8em; }
@media (max-width: 900px) { .panel-body:has(> .beside) { display: block; } .beside { margin-top: 1em; } }
</style>"""


@dataclass(frozen=True)
class Sample:
    """A sample answer, its points and the reason for them; the answer worth all points has no reason but the rubric."""

    points: float
    answer: str  # Markdown, like `why`
    why: str = ""


@dataclass(frozen=True)
class Rubric:
    """The rubric of a written answer in Markdown, and sample answers, the best first."""

    points: float
    text: str
    samples: tuple[Sample, ...]


def samples(name: str) -> list[Sample]:
    """Return the course's sample answers to this question that are worth some of the points, if there are any."""
    try:
        rows = _table(home() / TABLE).get(name, [])
    except OSError:
        return []
    return [Sample(row["points"], row["answer"].strip(), row["why"].strip()) for row in rows]


@functools.cache
def _table(path: Path) -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(path.read_text("utf-8"))


def rubrics(solution: Path) -> dict[str, Rubric]:
    """Return the rubric and samples of each written answer in a solution notebook, by name; {} without such a file."""
    try:
        return _rubrics(solution, solution.stat().st_mtime_ns)
    except OSError:
        return {}


@functools.lru_cache(maxsize=16)
def _rubrics(solution: Path, changed: int) -> dict[str, Rubric]:
    """Read the rubrics and samples, cached. `changed`, the file's time of change, is part of the cache's key."""
    found, above = {}, ""
    for cell in nbformat.read(solution, as_version=4).cells:
        graded = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and graded.get("grade") and graded.get("solution"):
            lines = [line for line in cell.source.splitlines() if line.strip() not in MARKERS]
            best = Sample(graded["points"], "\n".join(lines).strip())
            rubric = RUBRIC.search(above)
            found[graded["grade_id"]] = Rubric(
                graded["points"], rubric[0] if rubric else "", (best, *samples(graded["grade_id"]))
            )
        elif cell.cell_type == "markdown":
            above = cell.source
    return found


def beside(solution: Path, name: str) -> Markup:
    """Return the panel beside the written answer of this name; empty for other cells."""
    rubric = rubrics(solution).get(name)
    return Markup() if rubric is None else _panel(rubric)


@functools.lru_cache(maxsize=64)
def _panel(rubric: Rubric) -> Markup:
    parts = [Markup(STYLE), Markup('<aside class="beside" aria-label="Rubric and sample answers">')]
    parts.append(Markup(rendering.markdown(rubric.text)))
    parts.append(Markup("<h5>Answers for comparison</h5>"))
    for sample in rubric.samples:
        parts.append(Markup("<details><summary>{:g} of {:g} points</summary>").format(sample.points, rubric.points))
        parts.append(Markup(rendering.markdown(sample.answer)))
        if sample.why:
            parts.append(Markup('<div class="why">{}</div>').format(Markup(rendering.markdown(sample.why))))
        parts.append(Markup("</details>"))
    return Markup("").join([*parts, Markup("</aside>")])
