"""Read a released notebook: the title and section of each exercise, and the text that is the course's own."""

import functools
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import nbformat.reader

HEADING = re.compile(r"^(#{1,6}) +(.+?) *#* *$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
IN_BRACKETS = re.compile(r" \(\d[^()]*\)$")  # "(1 point)", "(3 points, about 10 minutes)"


@dataclass(frozen=True)
class Spot:  # the headings above an answer, in Markdown
    title: str  # "Exercise: NAME"
    section: str  # "2. A weighted sum"


@dataclass(frozen=True)
class Released:
    """The parts of a released notebook that a feedback page uses."""

    title: str = ""
    spots: dict[str, Spot] = field(default_factory=dict)  # by name of the exercise, in order
    texts: frozenset[str] = frozenset()  # of its Markdown cells, without white space
    answers: dict[str, str] = field(default_factory=dict)  # the stubs, by name of the exercise


def without_space(source: str) -> str:
    return "".join(source.split())


def read(path: Path) -> Released:
    """Return the released notebook at `path`, or an empty one if the file cannot be read."""
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError:
        return Released()


@functools.lru_cache(maxsize=16)
def _read(path: Path, changed: int) -> Released:
    with path.open(encoding="utf-8") as file:
        cells = nbformat.reader.read(file).cells
    title, section, own = "", "", ""
    spots, answers, texts = {}, {}, set()
    for cell in cells:
        graded = cell.metadata.get("nbgrader", {})
        if graded.get("solution"):
            spots[graded["grade_id"]] = Spot(IN_BRACKETS.sub("", own or section) or graded["grade_id"], section)
            answers[graded["grade_id"]] = cell.source
        elif graded.get("task") or (graded.get("grade") and graded["grade_id"].removeprefix("test_") not in answers):
            above = [IN_BRACKETS.sub("", own or section)] if own or section else []
            spots[graded["grade_id"]] = Spot(": ".join([*above, f"`{graded['grade_id']}`"]), section)
        elif cell.cell_type == "markdown":
            texts.add(without_space(cell.source))
            for level, heading in headings(cell.source):
                if level == 1:
                    title = title or heading
                elif level == 2:
                    section, own = heading, ""
                else:
                    own = heading
    return Released(title, spots, frozenset(texts), answers)


def headings(source: str) -> list[tuple[int, str]]:
    """Return the headings of a text cell as pairs of level and text."""
    return [(len(marks), text) for marks, text in HEADING.findall(without_code(source))]


def without_code(source: str) -> str:
    """Return a text of the same length, with fenced code replaced by blanks."""
    return FENCED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def by_headings(source: str) -> list[str]:
    """Return the pieces of a text, cut before each of its headings."""
    cuts = [found.start() for found in HEADING.finditer(without_code(source))]
    return [piece for start, end in pairwise([0, *cuts, len(source)]) if (piece := source[start:end])]
