"""Feedback pages of marked notebooks, written by nbgrader's `GenerateFeedback` from what stands in the gradebook."""

from __future__ import annotations

from pathlib import Path

from nbgrader.converters import GenerateFeedback

from ..nbgrader_plugin.converters import settings
from .marking import convert, make_ready

_writers: dict[tuple[str, str], GenerateFeedback] = {}  # of this process


def write(place: str, assignment: str, student: str) -> list[str]:
    """Write a student's pages in the classroom at `place`. Returns their paths."""
    writer = converter(place, assignment)
    folder = Path(writer._format_source(assignment, student))
    pages = convert(writer, folder, sorted(path.name for path in folder.glob("*.ipynb")))
    return [str(page) for page in pages]


def converter(place: str, assignment: str) -> GenerateFeedback:
    """This process's, which remembers what pages have in common."""
    found = _writers.get((place, assignment))
    if found is None:
        app = settings(place)
        app.coursedir.assignment_id = assignment
        found = _writers[place, assignment] = GenerateFeedback(coursedir=app.coursedir, parent=app, force=True)
        make_ready(found)
    return found
