"""Marking as one pure function: a submission and the course go in, marked notebooks come out.

`Desk.mark` reads no gradebook, writes no classroom and knows no student: it runs in a process of a pool or on a machine
of a cluster, wherever a checkout of the same course is. What it does is what nbgrader's `Autograde` does up to the
first preprocessor that writes into the gradebook; the rest is `writer.py`'s.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import tempfile
import threading
import time
import traceback
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbconvert.writers import FilesWriter
from nbgrader.converters import Autograde
from nbgrader.converters.base import BaseConverter, NbGraderException
from nbgrader.preprocessors import AssignLatePenalties, SaveAutoGrades
from nbgrader.utils import find_all_files

from ..nbgrader_plugin.converters import settings
from .ledger import environment_of
from .tasks import Marked, Submission

SOMEBODY = "somebody"  # every submission's student, as far as marking is concerned


def first_half(preprocessors: Sequence[Any]) -> list[Any]:
    """The preprocessors before the first that writes into a gradebook."""
    return list(preprocessors)[: _turning_point(preprocessors)]


def second_half(preprocessors: Sequence[Any]) -> list[Any]:
    """That one, and those after it."""
    return list(preprocessors)[_turning_point(preprocessors) :]


def _turning_point(preprocessors: Sequence[Any]) -> int:
    for number, one in enumerate(preprocessors):
        names = {one.rpartition(".")[2]} if isinstance(one, str) else {base.__name__ for base in one.__mro__}
        if names & {SaveAutoGrades.__name__, AssignLatePenalties.__name__}:
            return number
    return len(preprocessors)


class _Marking(Autograde):
    """nbgrader's `Autograde` without its gradebook: only released cells are read."""

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        BaseConverter.init_assignment(self, assignment_id, student_id)
        source = self.coursedir.format_path(self.coursedir.source_directory, ".", assignment_id)
        kept = {os.path.join(source, name) for name in self.exclude_overwriting.get(assignment_id, [])}
        for name in set(find_all_files(source, [*self.coursedir.ignore, "*.ipynb"])) - kept:
            place = Path(self._format_dest(assignment_id, student_id), os.path.relpath(name, source))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            shutil.copy(name, place)


_Marking.__name__ = Autograde.__name__  # by which its settings are found


def make_ready(converter: BaseConverter) -> None:
    """What its `start` does before it converts; once, for all submissions."""
    converter.writer = FilesWriter(parent=converter, config=converter.config)
    converter.exporter = converter.exporter_class(parent=converter, config=converter.config)
    for preprocessor in converter.preprocessors:
        converter.exporter.register_preprocessor(preprocessor)


class NotConverted(Exception):
    """nbgrader gave up; the text is what it logged."""


def convert(converter: BaseConverter, folder: Path, names: Sequence[str]) -> list[Path]:
    """Have nbgrader convert these notebooks of one student's folder. Returns what it wrote. Raises NotConverted."""
    converter.writer = FilesWriter(parent=converter, config=converter.config)  # makes its folder once, when told of it
    converter.assignments = {str(folder): [str(folder / name) for name in names]}
    with logged(converter) as log:
        try:
            with contextlib.chdir(converter.coursedir.root):
                type(converter).convert_notebooks(converter)  # without what the exporter adds for a whole class
        except (NbGraderException, SystemExit) as error:
            raise NotConverted(f"{error}\n{log.getvalue()}") from error
    there = Path(converter._format_dest(folder.name, folder.parent.name))
    return [there / Path(name).with_suffix(converter.exporter.file_extension) for name in names]


@contextlib.contextmanager
def logged(converter: BaseConverter) -> Iterator[io.StringIO]:
    """What it logs meanwhile."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    converter.log.addHandler(handler)
    try:
        yield log
    finally:
        converter.log.removeHandler(handler)


class Desk:
    """Where submissions are marked, one after the other; what they share is prepared once."""

    def __init__(self, released: bytes, caged: bool = True) -> None:
        """`released` is `gradebook.released()` of the assignment."""
        self._folder = Path(tempfile.mkdtemp(prefix="desk-"))
        database = self._folder / "gradebook.db"
        database.write_bytes(zlib.decompress(released))
        self._app = settings(str(self._folder))
        self._app.coursedir.db_url = f"sqlite:///{database}"
        if not caged:
            self._app.config.Judge.sandbox = False
        self._converter = _Marking(coursedir=self._app.coursedir, parent=self._app, force=True, create_student=False)
        self._converter.autograde_preprocessors = first_half(self._converter.autograde_preprocessors)
        make_ready(self._converter)

    def mark(self, submission: Submission) -> Marked:
        """Never raises for what a submission holds; what does not go as it should is the result's problem."""
        started = time.monotonic()
        course = self._app.coursedir
        place = Path(course.format_path(course.submitted_directory, SOMEBODY, submission.assignment))
        notebooks, problem = {}, ""
        with logged(self._converter) as log:
            try:
                _lay_out(place, submission.files)
                names = self._converter.exporter.expect(submission.found_in(place), str(place))
                for path in convert(self._converter, place, names):
                    notebooks[path.name] = path.read_text("utf-8")
            except NotConverted as error:
                problem = str(error)
            except Exception:
                problem = traceback.format_exc()
            finally:
                for folder in ("submitted", "autograded"):
                    shutil.rmtree(self._folder / folder, ignore_errors=True)
        if not problem and not notebooks:
            problem = f"{submission.assignment} has no released notebook: nbgrader generate_assignment makes it"
        return Marked(notebooks, log.getvalue(), time.monotonic() - started, problem)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _lay_out(place: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    place.mkdir(parents=True, exist_ok=True)


_desks: dict[tuple[bytes, bool], Desk] = {}
_turn = threading.Lock()  # a process marks one at a time: it changes its folder, and the judge's seeds


def mark(released: bytes, submission: Submission, environment: str, caged: bool = True) -> Marked:
    """The verdicts on a submission, by a desk that this process keeps. `environment` is that of whoever asks."""
    with _turn:
        if environment_of(submission.assignment) != environment:
            return Marked(problem="this worker has another version of the course, of the autograder or of a library")
        desk = _desks.get((released, caged))
        if desk is None:
            desk = _desks[released, caged] = Desk(released, caged)
        return desk.mark(submission)
