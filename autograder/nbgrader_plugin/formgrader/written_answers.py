"""Show the rubric and sample answers next to a written answer while a person marks it. Neither is ever released."""

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import nbformat
from markupsafe import Markup

from ...spec.course import MARKERS, home, notebooks
from ..feedback import rendering

TABLE = "written_answers.toml"
RUBRIC = re.compile(r"^\*\*Rubric\*\*.*", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Sample:
    points: float
    answer: str  # Markdown, like `why`
    why: str = ""  # the reason for its points, except where it is worth all


@dataclass(frozen=True)
class Rubric:
    points: float
    text: str  # Markdown
    samples: tuple[Sample, ...]  # the best first
    question: str = ""  # Markdown: what stands above the rubric


def rubrics(solution: Path) -> dict[str, Rubric]:
    """Return the rubric and samples of each written answer in a solution notebook, by name; {} without such a file."""
    try:
        return _rubrics(solution, solution.stat().st_mtime_ns)
    except OSError:
        return {}


@functools.lru_cache(maxsize=16)
def _rubrics(solution: Path, changed: int) -> dict[str, Rubric]:
    table = home() / TABLE if notebooks() else Path()  # without a course, there are no other answers
    partly = tomllib.loads(table.read_text("utf-8")) if table.is_file() else {}
    found, above = {}, ""
    for cell in nbformat.read(solution, as_version=4).cells:
        graded = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and graded.get("grade") and graded.get("solution"):
            name, points, rubric = graded["grade_id"], graded["points"], RUBRIC.search(above)
            lines = [line for line in cell.source.splitlines() if line.strip() not in MARKERS]
            samples = [Sample(points, "\n".join(lines).strip())]
            for row in partly.get(name, []):
                samples.append(Sample(row["points"], row["answer"].strip(), row["why"].strip()))
            asked = above[: rubric.start()] if rubric else above
            found[name] = Rubric(points, rubric[0] if rubric else "", tuple(samples), asked)
        elif cell.cell_type == "markdown":
            above = cell.source
    return found


def panel_for(solution: Path, name: str, page: str) -> Markup:
    """Return the panel next to the written answer of this name; empty for other cells. `page` marks it by rubric."""
    if (rubric := rubrics(solution).get(name)) is None:
        return Markup()
    style = Path(__file__).with_suffix(".css").read_text("utf-8")
    panel = Markup(f'<style>\n{style}</style><aside class="beside" aria-label="Rubric and sample answers">')
    panel += rendering.markdown(rubric.text)
    panel += Markup('<p><a href="{}">Mark all answers by this rubric</a></p>').format(page)
    panel += Markup("<h5>Answers for comparison</h5>")
    for sample in rubric.samples:
        panel += Markup("<details><summary>{:g} of {:g} points</summary>").format(sample.points, rubric.points)
        panel += rendering.markdown(sample.answer)
        if sample.why:
            panel += Markup('<div class="why">{}</div>').format(rendering.markdown(sample.why))
        panel += Markup("</details>")
    return panel + Markup("</aside>")
