"""Mark a submission without gradebook and classroom, on any machine with the same course, and write feedback pages."""

import contextlib
import errno
import functools
import logging
import os
import platform
import re
import shutil
import sys
import tempfile
import threading
import time
import traceback
import zlib
from collections.abc import Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from nbconvert.writers.files import FilesWriter
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import BaseConverter, NbGraderException
from nbgrader.preprocessors import AssignLatePenalties, SaveAutoGrades
from nbgrader.utils import find_all_files
from sqlalchemy.exc import OperationalError

from ..files import only_for_owner
from ..nbgrader_plugin.converters import logged, register_assignments, settings
from ..nbgrader_plugin.failure import cause_in
from ..nbgrader_plugin.gradebook.locking import released
from ..nbgrader_plugin.intake import repair, student_folder
from ..nbgrader_plugin.preprocessors import Judge, NothingMarked
from ..spec.course import course
from .marking_cache import environment_of
from .tasks import Marked, Submission

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
LOCKED = re.compile(r"\b(dead)?lock(ed)?\b")  # in errors of databases that soon pass
NOT_WRITTEN = "{} on {} cannot take what marking writes ({}). Nothing is lost: make room, and mark again"
SOMEBODY = "somebody"  # the student's name during marking, which must not depend on it


def writing_preprocessors(preprocessors: Sequence[Any]) -> list[Any]:
    """Return the first preprocessor that writes into a gradebook, and those after it."""
    for number, one in enumerate(preprocessors):
        names = {one.rpartition(".")[2]} if isinstance(one, str) else {base.__name__ for base in one.__mro__}
        if names & {SaveAutoGrades.__name__, AssignLatePenalties.__name__}:
            return list(preprocessors[number:])
    return []


class _Marking(Autograde):
    """nbgrader's `Autograde` without the student's gradebook: it reads only the released cells."""

    secret = b""  # of the class whose submission is marked; the folder here is no classroom
    compact = True  # its notebooks are read again before they are kept

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        BaseConverter.init_assignment(self, assignment_id, student_id)
        source = self.coursedir.format_path(self.coursedir.source_directory, ".", assignment_id)
        kept = {os.path.join(source, name) for name in self.exclude_overwriting.get(assignment_id, [])}
        for name in set(find_all_files(source, [*self.coursedir.ignore, "*.ipynb"])) - kept:
            target = Path(self._format_dest(assignment_id, student_id), os.path.relpath(name, source))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(name, target)


_Marking.__name__ = Autograde.__name__  # traitlets finds the settings of a class by its name


def set_up(converter: BaseConverter) -> None:
    """Set up a converter once for all submissions, as its `start` does before it converts."""
    converter.exporter = converter.exporter_class(parent=converter, config=converter.config)
    for preprocessor in converter.preprocessors:
        converter.exporter.register_preprocessor(preprocessor)


class NotConverted(Exception):
    """Raised when nbgrader cannot convert a notebook; the text is its log."""


class _Handled(logging.Handler):
    """Collects the exceptions that are handled while something is logged: nbgrader goes on, and raises another."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if (error := sys.exc_info()[1]) is not None:
            self.errors.append(error)


def beyond_submissions(error: BaseException | None) -> OSError | OperationalError | None:
    """Return the full disk or the unusable gradebook behind an error, for which no submission is to blame."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            return error
        if isinstance(error, OperationalError) and not LOCKED.search(str(error.orig)):
            return error
        error = error.__cause__ or error.__context__
    return None


def reason(error: Exception) -> str:
    """Return why a submission could not be entered. Raise what is behind it if no submission is to blame for that."""
    if (cause := beyond_submissions(error)) is not None:
        raise cause
    return str(error) if isinstance(error, NotConverted) else "".join(traceback.format_exception(error))


def convert(converter: BaseConverter, folder: Path, names: Sequence[str]) -> list[Path]:
    """Convert these notebooks of one student's folder with nbgrader; return the written paths. Raise NotConverted."""
    converter.writer = FilesWriter(parent=converter, config=converter.config)  # a writer creates only one folder
    converter.assignments = {str(folder): [str(folder / name) for name in names]}
    handled = _Handled()
    converter.log.addHandler(handled)
    with logged(converter) as log:
        try:
            with contextlib.chdir(converter.coursedir.root), only_for_owner(converter.coursedir.groupshared):
                type(converter).convert_notebooks(converter)  # skips the wrapper that the exporter puts around it
        except (NbGraderException, SystemExit) as error:
            log_text = log.getvalue()
            cause = handled.errors[-1] if handled.errors else error
            raise NotConverted(f"{log_text}\n{cause_in(log_text) or error}") from cause
        finally:
            converter.log.removeHandler(handled)
    there = Path(converter._format_dest(folder.name, folder.parent.name))
    return [there / Path(name).with_suffix(converter.exporter.file_extension) for name in names]


class Marker:
    """Marks submissions one after the other, with a set-up that is made once."""

    def __init__(self, released: bytes, sandboxed: bool = True) -> None:
        """Set up marking in a temporary folder. `released` is the assignment's `gradebook.locking.released()`."""
        self._folder = Path(tempfile.mkdtemp(prefix="marker-"))
        Finalize(None, shutil.rmtree, (self._folder, True), exitpriority=0)  # `atexit` is not run in a worker
        (self._folder / "gradebook.db").write_bytes(zlib.decompress(released))
        self._app = settings(str(self._folder), scratch=True)
        if not sandboxed:
            self._app.config.Judge.sandbox = False
        self._converter = _Marking(coursedir=self._app.coursedir, parent=self._app, force=True, create_student=False)
        preprocessors = self._converter.autograde_preprocessors
        writing = len(writing_preprocessors(preprocessors))
        self._converter.autograde_preprocessors = preprocessors[: len(preprocessors) - writing]
        set_up(self._converter)

    def mark(self, submission: Submission) -> Marked:
        """Mark a submission. Raise nothing, whatever it contains: a failure is in the result's `problem`."""
        started = time.monotonic()
        Judge.secret = submission.secret
        course = self._app.coursedir
        folder = Path(course.format_path(course.submitted_directory, SOMEBODY, submission.assignment))
        notebooks, problem = {}, ""
        with logged(self._converter) as log:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for name, content in submission.files.items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(content)
                names = self._converter.exporter.expect(submission.found_in(folder), str(folder))
                for path in convert(self._converter, folder, names):
                    notebooks[path.name] = path.read_text("utf-8")
            except NothingMarked as reason:
                return Marked(hopeless=str(reason))
            except Exception as error:
                if (cause := beyond_submissions(error)) is not None:
                    where = self._folder.parent, platform.node()
                    return Marked(
                        hopeless=NOT_WRITTEN.format(
                            *where, cause.strerror if isinstance(cause, OSError) else cause.orig
                        )
                    )
                problem = str(error) if isinstance(error, NotConverted) else traceback.format_exc()
            finally:
                for name in ("submitted", "autograded"):
                    shutil.rmtree(self._folder / name, ignore_errors=True)
        if not problem and not notebooks:
            problem = f"{submission.assignment} has no released notebook: nbgrader generate_assignment makes it"
        return Marked(notebooks, log.getvalue(), time.monotonic() - started, problem)


_marker = functools.cache(Marker)


@functools.cache
def _lone_marker(assignment: str, sandboxed: bool) -> Marker:
    """Return a marker with a gradebook of its own, for notebooks that no class has handed in."""
    with tempfile.TemporaryDirectory(prefix="gradebook-") as folder:
        app = settings(folder, scratch=True)
        register_assignments(app, [assignment])
        return Marker(released(app.coursedir.db_url, assignment), sandboxed)


def mark_file(path: Path, assignment: str, sandboxed: bool = True) -> Marked:
    """Mark a notebook file as if it had been handed in for an assignment. Raise NotAFile if it cannot be read.

    If it lies in a folder of the assignment's name, as a submission does, the files next to it count.
    """
    files = {f"{assignment}.ipynb": student_folder.read(path, repair.MAX_BYTES)}
    if path.resolve().parent.name == assignment:
        neighbours = Submission.of(student_folder.inspect_folder(SOMEBODY, path.resolve().parent))
        files |= {name: content for name, content in neighbours.files.items() if not name.endswith(".ipynb")}
    with _lock:
        return _lone_marker(assignment, sandboxed).mark(Submission(assignment, files))


_lock = threading.Lock()  # one at a time: marking changes the working directory and the judge's seeds


def mark(released: bytes, submission: Submission, environment: str, sandboxed: bool = True) -> Marked:
    """Mark a submission with this process's cached marker. Report a problem if the caller's `environment` differs."""
    with _lock:
        if environment_of(submission.assignment) != environment:
            return Marked(problem="this worker has another version of the course, of the autograder or of a library")
        return _marker(released, sandboxed).mark(submission)


def warm_up(sandboxed: bool) -> None:
    """Start this process's template and try out the sandbox, before there is anything to mark."""
    with _lock:
        Judge.start_template(sandboxed, course().preload)


def write_feedback(classroom: str, assignment: str, student: str) -> list[str]:
    """Write a student's feedback pages from the gradebook of the classroom at this path. Return their paths."""
    writer = feedback_writer(classroom, assignment)
    folder = Path(writer._format_source(assignment, student))
    try:
        return [str(page) for page in convert(writer, folder, sorted(path.name for path in folder.glob("*.ipynb")))]
    except NotConverted as error:  # what is behind it would not reach another process
        raise beyond_submissions(error) or error from None


@functools.cache
def feedback_writer(classroom: str, assignment: str) -> GenerateFeedback:
    """Return this process's nbgrader converter, cached because it keeps what pages have in common."""
    app = settings(classroom)
    app.coursedir.assignment_id = assignment
    writer = GenerateFeedback(coursedir=app.coursedir, parent=app, force=True)
    set_up(writer)
    return writer
