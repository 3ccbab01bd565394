"""Let nbgrader know when a submission was handed in."""

from datetime import datetime
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties

from . import student_folder


def handed_in_at(folder: str) -> datetime | None:
    """Return when a folder was handed in, in UTC as nbgrader keeps it; None if that is not known."""
    stamp = student_folder.read_stamp(Path(folder))
    return stamp.utc if stamp else None


def read_times(course: CourseDirectory) -> None:
    """Let nbgrader take times of submission as `timestamps` reads them."""
    course.get_existing_timestamp = handed_in_at


class LatePenalties(AssignLatePenalties):
    """nbgrader's AssignLatePenalties, except that it forgets an earlier submission's time where there is no new one."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        about = resources["nbgrader"]
        if handed_in_at(resources["metadata"]["path"]) is None:
            with Gradebook(about["db_url"]) as gradebook:
                gradebook.update_or_create_submission(about["assignment"], about["student"], timestamp=None)
        found: tuple[NotebookNode, dict[str, Any]] = super().preprocess(nb, resources)
        return found
