"""Export feedback pages with nbgrader's own commands. Each is one file that opens offline and runs no scripts."""

from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from traitlets import Bool, Float, Integer

from ...judge.formatting import number
from .. import privacy
from ..gradebook.locking import share_engines
from ..intake.student_folder import folders_in
from ..release import released_notebook
from . import rendering, sections
from .budget import SECONDS, SIZE, Budget

# Allow no scripts and nothing from other hosts.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'"


class FeedbackExporter(HTMLExporter):
    """Write the feedback page of a notebook whose cells have marks (see `feedback.marks`)."""

    work_timeout = Float(SECONDS, help="Seconds of a processor that making one page may take").tag(config=True)
    max_size = Integer(SIZE, help="Characters of a page that are a student's notebook").tag(config=True)
    optimistic_validation = Bool(True, help="Validate once, after all preprocessors").tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        converter: Any = self.parent
        if not hasattr(converter, "assignments"):
            return
        privacy.write_privately(converter)
        share_engines()  # else SQLAlchemy would compile its queries anew for each page
        # Add students that nbgrader's patterns miss: those whose names have brackets or begin with a dot.
        settings = converter.coursedir
        top = Path(settings.format_path(settings.autograded_directory, "x", "y")).parents[1]
        for student in folders_in(top, settings.student_id):
            folder = top / student / settings.assignment_id
            if marked := [str(path) for path in sorted(folder.glob("*")) if path.suffix == ".ipynb"]:
                converter.assignments.setdefault(str(folder), marked)

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Export without HTMLExporter's second parse, which adds missing descriptions of pictures: none is missing."""
        resources = self._init_resources(resources)  # type: ignore[no-untyped-call]
        made, found = super(HTMLExporter, self).from_notebook_node(nb, resources, **kwargs)
        return rendering.in_order(made), found

    def _preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super()._preprocess(nb, resources)  # type: ignore[no-untyped-call]
        budget = Budget(self.work_timeout, self.max_size)
        resources["nbgrader"]["course"] = getattr(getattr(self.parent, "coursedir", None), "course_id", "")
        resources["page"] = sections.page(nb, resources["nbgrader"], self._released(resources["nbgrader"]), budget)
        resources["number"], resources["policy"] = number, POLICY
        resources["style"] = Markup((Path(__file__).parent / "feedback_page" / "style.css").read_text("utf-8"))
        return nb, resources

    def _released(self, about: dict[str, Any]) -> released_notebook.Released:
        if (settings := getattr(self.parent, "coursedir", None)) is None:
            return released_notebook.Released()
        folder = settings.format_path(settings.release_directory, ".", about["assignment"])
        return released_notebook.read(Path(folder, f"{about['notebook']}.ipynb"))
