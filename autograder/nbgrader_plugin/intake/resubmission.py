"""Give nbgrader the times of submission, and mark a replaced submission again even if its time is not known."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties

from . import student_folder

KEY = "autograder_submission"  # key in a marked notebook's metadata for the digest of what was handed in


def handed_in_at(folder: str) -> datetime | None:
    """Return when a folder was handed in, in UTC as nbgrader keeps it; None if that is not known."""
    stamp = student_folder.read_stamp(Path(folder))
    return stamp.utc if stamp else None


def read_times(course: CourseDirectory) -> None:
    """Let nbgrader take times of submission as `timestamps` reads them."""
    course.get_existing_timestamp = handed_in_at


def mark_newer(
    converter: Any, handed_in: Mapping[str, student_folder.Submission], prepare: Callable[[str], None]
) -> None:
    """Let nbgrader's `Autograde` mark a submission again, as with `--force`, if it replaced the one that was marked.

    nbgrader itself compares their times only, so it marks none again if either has no time. `prepare` is called with
    the assignment before a submission is marked, and before the earlier marked version is removed.
    """
    init = converter.init_destination

    def init_destination(assignment: str, student: str) -> bool:
        forced = converter.force
        found = handed_in.get(str(Path(converter._format_source(assignment, student))))
        marked = Path(converter._format_dest(assignment, student))
        names = [Path(path).name for path in converter.notebooks]
        converter.force = forced or (found is not None and _is_another(found, marked, names))
        try:
            if converter.force or not all((marked / name).exists() for name in names) or _is_later(found, marked):
                prepare(assignment)
            return bool(init(assignment, student))
        finally:
            converter.force = forced

    converter.init_destination = init_destination


def _is_another(found: student_folder.Submission, marked: Path, names: Iterable[str]) -> bool:
    """Return True if another submission than this one was marked. Where both have times, leave that to nbgrader."""
    now, before = found.stamp.utc, handed_in_at(str(marked))
    if now is None and before is None:
        return any(_digest_in(marked / name) not in (None, found.digest) for name in names)
    return now is None or before is None


def _is_later(found: student_folder.Submission | None, marked: Path) -> bool:
    """Return True if a submission came after the one that was marked, by their times."""
    now, before = found.stamp.utc if found else None, handed_in_at(str(marked))
    return now is not None and before is not None and now > before


def _digest_in(path: Path) -> str | None:
    """Return the digest of the submission from which a notebook was marked; None if it has none."""
    try:
        return str(json.loads(path.read_bytes())["metadata"][KEY])
    except (OSError, ValueError, LookupError, TypeError):  # an earlier version or nbgrader marked it, or it is cut off
        return None


class LatePenalties(AssignLatePenalties):
    """nbgrader's AssignLatePenalties, except that it forgets an earlier submission's time where there is no new one."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        about = resources["nbgrader"]
        if handed_in_at(resources["metadata"]["path"]) is None:
            with Gradebook(about["db_url"]) as gradebook:
                gradebook.update_or_create_submission(about["assignment"], about["student"], timestamp=None)
        found: tuple[NotebookNode, dict[str, Any]] = super().preprocess(nb, resources)
        return found
