"""Let a learner mark a written answer: show the rubric and sample answers once it is written, and keep the marks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..judge.formatting import number
from ..nbgrader_plugin.formgrader.rubric_items import items_of
from ..spec.course import notebook_path
from .progress import grade_id

if TYPE_CHECKING:
    from ..nbgrader_plugin.formgrader.written_answers import Rubric

STUB = "YOUR ANSWER HERE"
MIN_WORDS = 30  # of an answer; the boxes ask for 6 to 10 sentences
CELL = """\
# Write your answer above, save the notebook and run this cell: it shows answers for comparison.
# Then put a mark in the place of each None, one for each item of the rubric: {marks}. Run it again.
from autograder.learning import mark_yourself

mark_yourself("{name}", {nones})"""
NOT_WRITTEN = (
    "○ `{name}` {found} in the notebook as it was last saved. Write {least} words or more in the cell above, save the "
    "notebook (Ctrl + S), then run this cell again."
)
EACH = '○ Give a mark for each of the {items} items of the rubric, {marks}, as in `mark_yourself("{name}", {example})`.'
MARKED = "**● {name}: {earned} of {points} points, by your own marks.** You can change them at any time."
COMPARE = (
    "**Compare your answer with these.** Then put your marks into the cell in the place of `None`, one for each item "
    "of the rubric, and run it again."
)


def rubric_of(notebook: str, name: str) -> "Rubric":
    """Return the rubric and the sample answers of a written answer."""
    from ..nbgrader_plugin.formgrader.written_answers import rubrics  # not before: it imports the feedback page's tools

    return rubrics(notebook_path(notebook))[name]


def items_in(rubric: "Rubric") -> int:
    """Return the number of a rubric's items. They have the same weight."""
    return max(1, len(items_of(rubric.text, rubric.points)))


def cell_for(name: str, rubric: "Rubric") -> str:
    """Return the source of the cell below a written answer."""
    return CELL.format(name=name, nones=", ".join(["None"] * items_in(rubric)), marks=_allowed(rubric))


def what_is_missing(name: str, folder: Path) -> str:
    """Return what to do before a written answer is compared, with its number of words; "" if it is long enough."""
    words = max((len(text.replace(STUB, "").split()) for text in _written(name, folder)), default=0)
    found = "is not answered yet" if words == 0 else f"has {words} word{'s' * (words > 1)}"
    return NOT_WRITTEN.format(name=name, found=found, least=MIN_WORDS) if words < MIN_WORDS else ""


def _written(name: str, folder: Path) -> Iterator[str]:
    """Yield what the learner wrote in each notebook of this folder."""
    for path in folder.glob("*.ipynb"):
        try:
            cells = json.loads(path.read_text("utf-8"))["cells"]
            yield from ["".join(cell["source"]) for cell in cells if grade_id(cell) == name]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no notebook, or half of one
            continue


def points_of(marks: tuple[Any, ...], rubric: "Rubric") -> float | None:
    """Return the sum of the marks; None if they are not one for each item, each none, half or all of its points."""
    most = rubric.points / items_in(rubric)
    allowed = all(type(mark) in (int, float) and mark in (0, most / 2, most) for mark in marks)
    return float(sum(marks)) if allowed and len(marks) == items_in(rubric) else None


def what_marks_are_asked(name: str, rubric: "Rubric") -> str:
    """Return the sentence about marks that are missing or not allowed."""
    most = rubric.points / items_in(rubric)
    example = ", ".join(number(most / 2 if item else most) for item in range(items_in(rubric)))
    return EACH.format(items=items_in(rubric), marks=_allowed(rubric), name=name, example=example)


def _allowed(rubric: "Rubric") -> str:
    most = rubric.points / items_in(rubric)
    return f"{number(most)}, {number(most / 2)} or 0"


def comparison(rubric: "Rubric", lead: str) -> str:
    """Return the rubric and the sample answers in Markdown, each folded, below a sentence."""
    parts = [lead, _folded("The rubric", rubric.text)]
    for sample in rubric.samples:
        why = f"\n\n**Why:** {sample.why}" if sample.why else ""
        title = f"An answer worth {number(sample.points)} of {number(rubric.points)} points"
        parts.append(_folded(title, sample.answer + why))
    return "\n\n".join(parts)


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"
