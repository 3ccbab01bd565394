"""Writes feedback pages of marked notebooks from the gradebook, with nbgrader's `GenerateFeedback`."""

from __future__ import annotations

from pathlib import Path

from nbgrader.converters import GenerateFeedback

from ..nbgrader_plugin.converters import settings
from .marking import convert, set_up

_writers: dict[tuple[str, str], GenerateFeedback] = {}  # of this process


def write(place: str, assignment: str, student: str) -> list[str]:
    """Write a student's feedback pages in the classroom at `place`. Return their paths."""
    writer = converter(place, assignment)
    folder = Path(writer._format_source(assignment, student))
    pages = convert(writer, folder, sorted(path.name for path in folder.glob("*.ipynb")))
    return [str(page) for page in pages]


def converter(place: str, assignment: str) -> GenerateFeedback:
    """Return this process's converter, cached because it keeps what pages have in common."""
    found = _writers.get((place, assignment))
    if found is None:
        app = settings(place)
        app.coursedir.assignment_id = assignment
        found = _writers[place, assignment] = GenerateFeedback(coursedir=app.coursedir, parent=app, force=True)
        set_up(found)
    return found
