"""Feedback pages: one file that opens offline, prints, and runs nothing; nbgrader's own commands write it.

nbconvert's exporter is asked to write the template in `feedback_page/`; what it shows is collected in `page_parts`.
What pages have in common, which is nearly all of them, is made into markup once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from traitlets import Bool, Float, Integer

from ...judge.wording import number
from ..intake.student_folder import students_in
from ..release import released_notebook
from . import rendering, sections
from .budget import SECONDS, SIZE, Budget

POLICY = (  # no scripts at all, and nothing from anywhere else
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
)


class FeedbackExporter(HTMLExporter):
    """Writes the template `feedback_page` for a notebook whose cells have marks (see `page_marks`)."""

    work_timeout = Float(SECONDS, help="Seconds of a processor that making one page may take").tag(config=True)
    max_size = Integer(SIZE, help="Characters of a page that are a student's notebook").tag(config=True)
    optimistic_validation = Bool(True, help="Validate once, after all preprocessors").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if hasattr(self.parent, "assignments"):
            self._take_in_everybody()

    def _take_in_everybody(self) -> None:
        """nbgrader lists by patterns, which miss students whose names have brackets or begin with a dot."""
        converter: Any = self.parent
        settings = converter.coursedir
        top = Path(settings.format_path(settings.autograded_directory, "x", "y")).parents[1]
        for student in students_in(top, settings.student_id):
            folder = top / student / settings.assignment_id
            if folder.is_dir():
                marked = [str(path) for path in sorted(folder.iterdir()) if path.suffix == ".ipynb"]
                if marked:
                    converter.assignments.setdefault(str(folder), marked)

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[Any, dict[str, Any]]:
        """HTMLExporter's, which would read the page once more, for descriptions of pictures; ours have them."""
        made, found = super(HTMLExporter, self).from_notebook_node(nb, self._init_resources(resources), **kwargs)
        return rendering.in_order(made), found

    def _preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super()._preprocess(nb, resources)
        budget = Budget(self.work_timeout, self.max_size)
        resources["page"] = sections.page(nb, resources["nbgrader"], self._released(resources["nbgrader"]), budget)
        resources["number"], resources["policy"] = number, POLICY
        resources["style"] = Markup((Path(__file__).parent / "feedback_page" / "style.css").read_text("utf-8"))
        return nb, resources

    def _released(self, about: dict[str, Any]) -> released_notebook.Released:
        settings = getattr(self.parent, "coursedir", None)
        if settings is None:
            return released_notebook.Released()
        folder = settings.format_path(settings.release_directory, ".", about["assignment"])
        return released_notebook.read(Path(folder, f"{about['notebook']}.ipynb"))
