"""Write results into the gradebook with nbgrader's own `Autograde`; only one process does so."""

import contextlib
import hashlib
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader.api import BaseCell, Comment, Grade, Gradebook, MissingEntry, SubmittedAssignment, SubmittedNotebook
from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

from ..nbgrader_plugin.intake import size_limits, student_folder
from ..nbgrader_plugin.preprocessors import inspect_submission
from .marking import convert, set_up, writing_preprocessors
from .marking_cache import CacheEntry, MarkingCache
from .tasks import Marked, Submission

UNKNOWN = (
    "The gradebook does not know {0}, and it could not be generated: `nbgrader generate_assignment {0}` says why. "
    "Nobody was marked"
)


class _Writing(Autograde):
    """nbgrader's `Autograde` for notebooks that are already marked."""

    marked: Marked

    def convert_single_notebook(self, notebook_filename: str) -> None:
        name = os.path.basename(notebook_filename)
        if name not in self.marked.notebooks:
            raise NbGraderException(f"{name} was not marked")
        resources = self.init_single_notebook_resources(notebook_filename)
        resources["metadata"] = {"name": os.path.splitext(name)[0], "path": os.path.dirname(notebook_filename)}
        self._sanitizing = False
        try:
            self._init_preprocessors()
            notebook = nbformat.reads(self.marked.notebooks[name], as_version=4)
            text, resources = self.exporter.from_notebook_node(notebook, resources)
            self.write_single_notebook(text, resources)
        finally:
            self._sanitizing = True


_Writing.__name__ = Autograde.__name__  # traitlets finds the settings of a class by its name


@dataclass
class SubmissionFolder:
    """The folder from which nbgrader reads a submission (the original or a clean copy), and what was found in it."""

    course: CourseDirectory
    folder: Path
    found: student_folder.Submission


class Writer:
    """Writes one assignment's results, submission by submission."""

    def __init__(self, app: NbGraderApp, assignment: str, student: str = "*") -> None:
        self.course, self.assignment = app.coursedir, assignment
        self.course.assignment_id, self.course.student_id = assignment, student
        self._autograde = _Writing(coursedir=self.course, parent=app, force=True)
        self._autograde.autograde_preprocessors = writing_preprocessors(self._autograde.autograde_preprocessors)
        self._autograde.assignments = {}
        set_up(self._autograde)  # its exporter reads every submission
        try:
            self._due = due_date(self.course, assignment)
        except MissingEntry:
            raise NbGraderException(UNKNOWN.format(assignment)) from None
        exporter = self._autograde.exporter
        self.unlisted: list[str] = exporter.unlisted
        self.secret: bytes = exporter.secret.key
        self.look_around: Callable[[], list[str]] = exporter.look_around
        left_out = set(self.course.student_id_exclude.split(","))
        self.folders = {
            one.student: SubmissionFolder(self._autograde.coursedir, Path(folder), one)
            for folder, one in sorted(exporter.handed_in.items())
            if one.student not in left_out
        }

    def reread(self, student: str) -> Submission:
        """Read a student's folder again and return the submission."""
        folder = Path(self.course.root, self.course.submitted_directory, student, self.assignment)
        found = inspect_submission(self.course, student, folder)
        self._autograde.coursedir = self.course
        if found.troubles:
            self._autograde.exporter.show_copies([found])
        shown = Path(self._autograde._format_source(self.assignment, student))
        self.folders[student] = SubmissionFolder(self._autograde.coursedir, shown, found)
        return Submission.of(found, self.secret)

    def enter(self, marking_cache: MarkingCache, student: str, key: str, marked: Marked) -> CacheEntry:
        """Write marks and history; return the entry, which is valid once the caller writes it into the cache."""
        marking_cache.forget(student)  # until all is written, the submission counts as not marked
        written = self.write(student, marked)
        marking_cache.log_marking(student, marked.seconds, *self.score(student))
        entry = CacheEntry(key, self.when(student), self.manual_digests(student).get(student, ""))
        marking_cache.add(entry, written)
        return entry

    def write(self, student: str, marked: Marked) -> list[Path]:
        """Write the marks into the gradebook and the notebooks into `autograded/`. Return the notebooks' paths."""
        self._autograde.marked = marked
        source = self.folders[student]
        self._autograde.coursedir = source.course
        return convert(self._autograde, source.folder, list(marked.notebooks))

    def when(self, student: str) -> str:
        return handed_in_at(self.folders[student].found, self._due)

    def score(self, student: str) -> tuple[float | None, float | None]:
        """Return the points earned after late penalties and the maximum; (None, None) if the gradebook has none."""
        with Gradebook(self.course.db_url, self.course.course_id) as gradebook:
            try:
                found = gradebook.find_submission(self.assignment, student)
            except MissingEntry:
                return None, None
            penalty = sum(notebook.late_submission_penalty or 0 for notebook in found.notebooks)
            return found.score - penalty, found.max_score

    def manual_digests(self, student: str | None = None) -> dict[str, str]:
        return manual_digests(self.course, self.assignment, student)


def due_date(course: CourseDirectory, assignment: str) -> str:
    """Return when an assignment is due, as entries of the marking cache have it. Raise MissingEntry."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        due = gradebook.find_assignment(assignment).duedate
    return f", due {due}" if due else ""


def handed_in_at(found: student_folder.Submission, due: str) -> str:
    """Return what decides on lateness: the text of `timestamp.txt`, if it can be read, and when it was due."""
    with contextlib.suppress(student_folder.NotAFile):
        if student_folder.STAMP in found.taken:
            stamp = student_folder.read(found.folder / student_folder.STAMP, size_limits.MAX_STAMP)
            return stamp.decode("utf-8", "replace") + due
    return due


def manual_digests(course: CourseDirectory, assignment: str, student: str | None = None) -> dict[str, str]:
    """Return a digest of the manual marks and comments, by student with marks in the gradebook."""
    with Gradebook(course.db_url, course.course_id) as gradebook:
        wanted = [SubmittedAssignment.assignment_id == gradebook.find_assignment(assignment).id]
        if student is not None:
            wanted.append(SubmittedAssignment.student_id == student)
        rows = defaultdict(list)
        marks, comments = (Grade.manual_score, Grade.extra_credit), (Comment.manual_comment,)
        for kind, columns in ((Grade, marks), (Comment, comments)):
            query = (
                gradebook.db.query(SubmittedAssignment.student_id, BaseCell.name, *columns)
                .select_from(kind)
                .join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
                .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
                .join(BaseCell, kind.cell_id == BaseCell.id)
                .filter(*wanted)
            )
            for someone, *what in query:
                rows[someone].append(repr(what))
    texts = {someone: "\n".join(sorted(found)) for someone, found in rows.items()}
    return {someone: hashlib.sha256(text.encode()).hexdigest() for someone, text in texts.items()}
