"""Feedback pages of marked notebooks, written by nbgrader's `GenerateFeedback` from what stands in the gradebook."""

from __future__ import annotations

from pathlib import Path

from nbgrader.converters import GenerateFeedback

from ..grading.convert import settings
from .marking import convert, make_ready

_writers: dict[tuple[str, str], GenerateFeedback] = {}  # of this process


def write(place: str, assignment: str, student: str) -> list[str]:
    """Write a student's pages in the classroom at `place`. Returns their paths."""
    converter = _writers.get((place, assignment))
    if converter is None:
        app = settings(place)
        app.coursedir.assignment_id = assignment
        converter = _writers[place, assignment] = GenerateFeedback(coursedir=app.coursedir, parent=app, force=True)
        make_ready(converter)
    folder = Path(converter._format_source(assignment, student))
    pages = convert(converter, folder, sorted(path.name for path in folder.glob("*.ipynb")))
    return [str(page) for page in pages]
