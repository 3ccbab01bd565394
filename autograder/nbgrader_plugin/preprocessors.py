"""Classes for nbgrader's configuration: an exporter that repairs submissions, the judge instead of `Execute`."""

import functools
import glob
import json
import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import nbformat
import nbformat.reader
import sqlalchemy.exc
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.nbgraderformat import SCHEMA_VERSION
from nbgrader.preprocessors import CheckCellMetadata, ClearSolutions, NbGraderPreprocessor, OverwriteCells
from nbgrader.utils import find_all_files, is_grade, is_solution
from traitlets import Bool, Float, Integer, List, TraitError

from ..sandbox.limits import Limits, SandboxError
from ..spec.course import course
from ..work_limit import OverLimit, within
from . import privacy
from .class_secret import ClassSecret, SecretError, ready_secret
from .gradebook.locking import is_released, locked, make_ready, share_engines
from .gradebook.roster import NAMES, take_names
from .gradebook.rows import Rows, tests_of
from .hidden_tests import UnknownName, exercise_of, refuse_unknown_names, visible
from .intake import repair, resubmission, student_folder, timestamps
from .intake.overlooked import NOT_MEANT, overlooked
from .marking import tampering
from .marking.notices import FAILED, TOO_LONG
from .release.generate import changed_settings, register_assignment

if TYPE_CHECKING:
    from ..sandbox.session import Template  # the judge needs torch: only marking imports it, not every command

MAX_RELEASES = 256  # releases of notebooks whose metadata are remembered as valid
KEPT = "Your instructor has been told, and what you handed in is kept."
UNPREPARED = f"This notebook could not be prepared for marking. {KEPT}"
STOPPED = f"Marking stopped on something in this notebook. {KEPT}"
ANSWER_STUB = "{name} = None  # replace None with your answer: one capital letter in quotation marks"
STUB = "Not answered yet: replace this line with your code, then run the cell again."


class ReleaseStubs(ClearSolutions):
    """nbgrader's ClearSolutions, except that a lone `name = value` becomes `name = None`, so that the release runs."""

    code_stub: dict[str, str]

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        region = re.search(
            rf"^(\w+) = .+\n.*{re.escape(self.end_solution_delimeter)}",
            cell.source.partition(self.begin_solution_delimeter)[2].lstrip("\n"),
        )
        stubs = self.code_stub
        if cell.cell_type == "code" and region is not None:
            self.code_stub = {language: ANSWER_STUB.format(name=region[1])}
        try:
            return bool(super()._replace_solution_region(cell, language))
        finally:
            self.code_stub = stubs


class NothingMarked(BaseException):
    """Raised before marking if no submission can be marked here; the text is a sentence with the cause and the remedy.

    Not an Exception: nbgrader would catch it, remove the earlier marked version, and repeat it for every student.
    """


def inspect_submission(course: CourseDirectory, student: str, folder: Path) -> student_folder.Submission:
    """Inspect a student's folder for the assignment of the folder's name."""
    source = course.format_path(course.source_directory, ".", folder.name)
    own = {os.path.relpath(path, source) for path in find_all_files(source, [*course.ignore, "*.ipynb"])}
    return student_folder.inspect_folder(student, folder, own)


class SubmissionExporter(NotebookExporter):
    """Read submissions so that each one gets a mark: repaired, or as a blank notebook with the reason."""

    parent: Any  # the nbgrader command that reads with this exporter

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self.unlisted: list[str] = []  # sentences on submissions that nbgrader cannot take
        self._ready: set[str] = set()  # assignments whose notebooks can be marked
        self._tests: dict[str, dict[str, list[NotebookNode]]] = {}  # by assignment and notebook
        self.secret = ClassSecret(b"")
        self.handed_in: dict[str, student_folder.Submission] = {}  # by the folder that nbgrader reads
        if hasattr(self.parent, "_sanitizing"):
            if self.parent.coursedir.directory_structure != CourseDirectory.directory_structure.default_value:
                raise NbGraderException("autograder knows nbgrader's own CourseDirectory.directory_structure only")
            if {"begin_test_delimeter", "end_test_delimeter"} & set(self.config.ClearHiddenTests):
                message = "autograder knows nbgrader's own marks of hidden tests only, and would show others"
                raise NbGraderException(message)
            privacy.write_privately(self.parent)
            share_engines()
            resubmission.read_times(self.parent.coursedir)
            resubmission.mark_newer(self.parent, self.handed_in, self._start_or_refuse)
            self._add_submissions()

    def _add_submissions(self) -> None:
        """Discard half-finished markings, and list submissions that nbgrader misses: renamed notebooks, odd names."""
        converter, settings = self.parent, self.parent.coursedir
        self._top = top = Path(settings.format_path(settings.submitted_directory, "x", "y")).parents[1]
        found = list(self._handed_in(top))
        if any(one.troubles for one in found):
            self.show_copies(found)
        for one in found:
            folder = converter._format_source(one.folder.name, one.student)
            names = self.expect(one, folder)
            known = converter.assignments.setdefault(folder, [])
            known += [path for name in names if (path := os.path.join(folder, name)) not in known]
            done = Path(settings.format_path(settings.autograded_directory, one.student, one.folder.name))
            if any(_half_finished(done / name) for name in names):
                self.log.warning("Marking of %s was interrupted; it starts anew", one.folder)
                shutil.rmtree(done)
        self._report_at_end(converter)
        self._find_secret()
        with locked(settings.db_url):
            if converter.create_student:
                students = {one.student for one in found} - set(settings.student_id_exclude.split(","))
                make_ready(settings.db_url, settings.course_id, students)
                take_names(settings.db_url, settings.course_id, top.parent / NAMES, self.log)
            for assignment in {one.folder.name for one in found}:
                if not is_released(settings.db_url, settings.course_id, assignment):
                    self.log.warning("The gradebook does not know %s yet: generating the assignment", assignment)
                    try:
                        register_assignment(settings, converter, assignment)
                    except NbGraderException as error:
                        self.log.error("%s could not be generated: %s", assignment, error)

    def _find_secret(self) -> None:
        """Give the judge the class's secret, unless the converter was given one or none on purpose."""
        if not hasattr(self.parent, "secret"):
            try:
                self.secret = ready_secret(self.parent.coursedir)
            except SecretError as error:
                raise NbGraderException(str(error)) from error
            Judge.secret = self.secret.key
            if self.secret.new and self.secret.remark:
                self.log.warning(self.secret.remark)

    def expect(self, one: student_folder.Submission, folder: str) -> list[str]:
        """Record a submission that nbgrader reads in `folder`; return the names of its notebooks."""
        self.handed_in[str(Path(folder))] = one
        return [path.name for path in self._released(one.folder.name)]

    def _handed_in(self, top: Path) -> Iterator[student_folder.Submission]:
        """Yield the submissions to mark: those for the chosen assignment by the chosen students."""
        wanted = self.parent.coursedir.assignment_id
        for name in student_folder.folders_in(top, self.parent.coursedir.student_id):
            if name in NOT_MEANT or not (top / name).is_dir():
                continue  # `overlooked` reports the others
            plain = not (top / name).is_symlink()
            for assignment in student_folder.folders_in(top / name, wanted) if plain else [wanted]:
                folder = top / name / assignment
                self.parent.assignments.pop(str(folder), None)
                if problem := student_folder.invalid_name(name):
                    self.unlisted.append(f"“{student_folder.shown(name)}” has no mark: {problem}. Rename the folder.")
                    continue
                try:
                    one = inspect_submission(self.parent.coursedir, name, folder)
                except OSError as error:  # it may not be read, or was removed meanwhile
                    self.unlisted.append(f"“{name}” has no mark: {error}.")
                    continue
                for trouble in one.troubles:
                    self.log.warning("%s: %s", one.folder, trouble)
                yield one

    def show_copies(self, found: list[student_folder.Submission]) -> None:
        """Point nbgrader to a temporary folder with links to sound submissions and clean copies of the others."""
        converter, settings = self.parent, self.parent.coursedir
        top = Path(tempfile.mkdtemp(prefix="handed-in-"))
        weakref.finalize(self, shutil.rmtree, top, ignore_errors=True)
        converter.coursedir = own = changed_settings(settings, submitted_directory=str(top))
        resubmission.read_times(own)
        converter.assignments = {}
        for one in found:
            target = Path(own.format_path(own.submitted_directory, one.student, one.folder.name))
            if one.troubles:
                student_folder.copy(one, target)
            else:
                target.parent.mkdir(parents=True)
                target.symlink_to(one.folder)

    def _report_at_end(self, converter: Any) -> None:
        """After the last submission, log unclear times and students without a mark; fail if there are any of these."""
        convert = converter.convert_notebooks

        def convert_then_report() -> None:
            try:
                convert()
            except NothingMarked as reason:
                self.log.error(str(reason))
                raise NbGraderException(str(reason)) from None
            finally:
                self._report_times()
                for sentence in self.look_around():
                    self.log.warning(sentence)
                for sentence in self.unlisted:
                    self.log.error(sentence)
            if self.unlisted:
                raise NbGraderException(f"{len(self.unlisted)} submissions could not be listed.")

        converter.convert_notebooks = convert_then_report

    def look_around(self) -> list[str]:
        """Return a sentence for each file and folder that is no submission of any assignment."""
        settings = self.parent.coursedir
        with Gradebook(settings.db_url, settings.course_id) as gradebook:
            known = {assignment.name for assignment in gradebook.assignments}
        steps = (settings.source_directory, settings.release_directory)
        known.update(*(map(os.path.basename, glob.glob(settings.format_path(step, ".", "*"))) for step in steps))
        return overlooked(self._top, known)

    def _report_times(self) -> None:
        left_out = self.parent.coursedir.student_id_exclude.split(",")
        stamps: dict[str, dict[str, timestamps.Stamp]] = {}  # by assignment and student
        for one in self.handed_in.values():
            if one.student not in left_out:
                stamps.setdefault(one.folder.name, {})[one.student] = one.stamp
        for assignment, found in stamps.items():
            for sentence in timestamps.remarks(found):
                self.log.warning("%s: %s", assignment, sentence)

    def _start_or_refuse(self, assignment: str) -> None:
        """Start the sandbox in which this assignment's notebooks run. Raise NothingMarked if none can be marked.

        Causes are: the sandbox cannot be made, `costs.toml` is wrong, or a test names no exercise.
        """
        judging = any(one is Judge or one == f"{Judge.__module__}.Judge" for one in self.parent.autograde_preprocessors)
        if not judging or assignment in self._ready:
            return
        from ..judge.diagnosis.mistake_costs import CostsError, costs

        release = (_read_release(path, path.stat().st_mtime_ns) for path in self._released(assignment))
        settings = self.parent.coursedir
        try:
            costs()
            for name, cells in tests_of(settings.db_url, assignment).items():
                refuse_unknown_names(cells, f"{assignment}/{name}.ipynb")
            Judge(parent=self.parent).start_for(any(map(_is_of_the_course, release)))
        except (CostsError, UnknownName, SandboxError, TraitError) as error:
            raise NothingMarked(str(error)) from error
        self._ready.add(assignment)

    def _released(self, assignment: str) -> list[Path]:
        settings = self.parent.coursedir
        paths = sorted(Path(settings.format_path(settings.release_directory, ".", assignment)).glob("*.ipynb"))
        for path in paths:
            if problem := _why_unmarkable(_read_release(path, path.stat().st_mtime_ns)):
                raise NbGraderException(f"{assignment}/{path.name} {problem}")
        return paths

    def _own_tests(self, about: dict[str, Any]) -> dict[str, str]:
        """Return the sources of a notebook's tests that are an instructor's own, with hidden parts, by grade_id."""
        if (assignment := about["assignment"]) not in self._tests:
            self._tests[assignment] = tests_of(about["db_url"], assignment)
        tests = self._tests[assignment].get(about["notebook"], [])
        return {cell.metadata.nbgrader.grade_id: cell.source for cell in tests if exercise_of(cell) is None}

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        if not getattr(self.parent, "_sanitizing", False):
            return super().from_filename(filename, resources, **kwargs)
        path = Path(filename)
        resources["metadata"] = {"name": path.stem, "path": str(path.parent)}
        released = {one.name: one for one in self._released(resources["nbgrader"]["assignment"])}
        release = _read_release(released[path.name], released[path.name].stat().st_mtime_ns)
        found = self.handed_in.get(str(path.parent))
        problem = found.whole or found.refused.get(path.name) if found else None
        digest = {resubmission.KEY: found.digest} if found else {}
        if not problem:
            troubles, names = found.troubles if found else (), frozenset(released)
            try:
                limit = Judge(parent=self.parent).work_timeout
                tests = self._own_tests(resources["nbgrader"])
                read = within(limit, lambda: repair.load(path, release, troubles, names, tests))
                read.metadata.update(digest)
                return self.from_notebook_node(read, resources)
            except sqlalchemy.exc.OperationalError:
                raise
            except OverLimit:
                self.log.warning("%s: reading it took more than work_timeout; it earns nothing", path)
                problem = TOO_LONG
            except Exception:
                self.log.exception("%s could not be prepared for marking", path)
                problem = UNPREPARED
        blank = repair.blank(release, problem)
        blank.metadata.update(digest)
        return self.from_notebook_node(blank, resources)

    def from_file(self, file_stream: Any, resources: Any = None, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Read a sanitised notebook without validation: it was validated just before it was written."""
        return self.from_notebook_node(nbformat.reader.read(file_stream), resources, **kwargs)

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **_: Any) -> tuple[Any, dict[str, Any]]:
        """Preprocess a notebook as nbconvert does, without copies, validated once; indent only one that is kept."""
        resources = self._init_resources(resources)  # type: ignore[no-untyped-call]
        for preprocessor in self._preprocessors:
            nb, resources = preprocessor(nb, resources)
        nbformat.validate(nb, relax_add_props=True)
        resources["output_suffix"] = ".nbconvert"
        compact = getattr(self.parent, "_sanitizing", False) or getattr(self.parent, "compact", False)
        return json.dumps(nb, ensure_ascii=False) if compact else nbformat.v4.writes(nb) + "\n", resources


@functools.lru_cache(maxsize=16)
def _read_release(path: Path, changed: int) -> NotebookNode:
    """Read a released notebook, cached by path and time of change; `repair` copies the parts it uses."""
    release: NotebookNode = nbformat.read(path, as_version=4)
    return release


def _why_unmarkable(release: NotebookNode) -> str:
    """Return why nobody can be marked with this release, as the end of a sentence; "" if they can."""
    about = release.metadata
    language = about.get("kernelspec", {}).get("language") or about.get("language_info", {}).get("name", "")
    if language.lower() not in ("", "python"):
        what = f"is written in {language}, and autograder marks Python notebooks only"
        return f"{what}. Nobody was marked; nbgrader's own preprocessors can mark it"
    graded = (cell.metadata.nbgrader for cell in release.cells if "nbgrader" in cell.metadata)
    if any(one.get("schema_version", 0) < SCHEMA_VERSION for one in graded):
        what = "comes from an older nbgrader, whose metadata differ. Nobody was marked"
        return f"{what}: back up the folder, give `nbgrader update .`, and generate the assignment again"
    return ""


def _half_finished(path: Path) -> bool:
    """Return True if a notebook is sanitised but not marked: `repair`'s notes are still in its metadata."""
    try:
        raw = path.read_bytes()
        if raw.rstrip().endswith(b"\n}") and f'"{repair.KEY}"'.encode() not in raw:  # complete, and without the key
            return False
        return repair.KEY in nbformat.reads(raw.decode(), as_version=4).metadata
    except Exception:
        return path.exists()


class RestoreCells(OverwriteCells):
    """nbgrader's OverwriteCells without warnings about checksums, which differ where a release has no hidden tests."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        about = resources["nbgrader"]
        self.notebook_id, self.assignment_id = about["notebook"], about["assignment"]
        with Gradebook(about["db_url"]) as gradebook:
            self.gradebook = Rows.of_release(gradebook, self.notebook_id, self.assignment_id)
            nb, resources = NbGraderPreprocessor.preprocess(self, nb, resources)
        return nb, resources

    def report_change(self, name: str, attr: str, old: Any, new: Any) -> None:
        if attr != "checksum":
            super().report_change(name, attr, old, new)


class CheckMetadata(CheckCellMetadata):
    """nbgrader's CheckCellMetadata, once per release: `repair` gives all submissions the release's metadata."""

    _valid: ClassVar[set[str]] = set()

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        about = [(cell.cell_type, cell.metadata["nbgrader"]) for cell in nb.cells if "nbgrader" in cell.metadata]
        if (key := json.dumps(about)) not in self._valid:
            nb, resources = super().preprocess(nb, resources)
            if len(self._valid) < MAX_RELEASES:  # the order of the cells is the student's
                self._valid.add(key)
        return nb, resources


class Judge(NbGraderPreprocessor):
    """Run the student's cells in a child process and mark the test cells from outside. Replaces `Execute`."""

    cell_timeout = Float(Limits.cell, help="Seconds that one cell may take").tag(config=True)
    question_timeout = Float(Limits.question, help="Seconds that one call by a check may take").tag(config=True)
    notebook_timeout = Float(Limits.notebook, help="Seconds that one notebook may take").tag(config=True)
    work_timeout = Float(
        Limits.work,
        help="Seconds of a processor that the judge itself may spend on one notebook. One exercise may take half of "
        "what is left of it; an exercise that takes more earns nothing, and the others are marked",
    ).tag(config=True)
    memory = Integer(
        Limits.memory,
        help="Bytes that one notebook may take: as address space in each of its processes, and as real memory in all "
        "of them together. What Python and the course's libraries take before it starts is not counted",
    ).tag(config=True)

    stderr_fails = Bool(
        True,
        help="Whether a test cell of an instructor's own fails if something is written to stderr, such as a warning. "
        "That is nbgrader's rule. With False the text is shown and costs nothing",
    ).tag(config=True)

    drawn_inputs_count = Bool(
        False,
        help="Whether a check earns nothing that an answer passes with everybody's inputs and fails with those drawn "
        "for it. With False that is only a sign in the report",
    ).tag(config=True)

    sandbox = Bool(True, help="Run notebooks in the sandbox. False runs students' programs with your own rights").tag(
        config=True
    )

    on_progress: ClassVar[Callable[[int, int], None] | None] = None  # called as NotebookMarker.on_progress

    secret: ClassVar[bytes] = b""  # the class's secret, from which inputs are drawn; without it none are

    templates: ClassVar[dict[tuple[str, ...], "Template"]] = {}  # of this process, by preloaded modules

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        submission, folder = resources["nbgrader"], resources["metadata"].get("path", "")
        refuse_unknown_names(nb.cells, f"{submission['assignment']}/{submission['notebook']}.ipynb")
        about = nb.metadata.pop(repair.KEY, {})
        notes = [repair.Note(repair.Kind(note["kind"]), note["text"]) for note in about.get("notes", [])]
        found: list[tampering.Sign] = []
        remarks: list[str] = []
        problem = about.get("problem")
        try:
            found = within(self.work_timeout, lambda: tampering.find_signs(nb, notes))
            problem = problem or self._mark(nb, resources, remarks, found)
        except OverLimit:
            self.log.warning("%s: reading it took more than work_timeout; it earns nothing", folder)
            problem = problem or TOO_LONG
        tampering.write_signs(nb, found)
        for one in found:
            where = f"code cell {one.cell} {one.name}".strip() if one.cell else "the notebook"
            self.log.warning("%s: %s %s  [%s]", folder, where, one.what, one.line)
        if problem is not None:
            from .marking.notebook_marker import zero_everywhere

            zero_everywhere(nb, problem)
        if sentences := [*filter(None, [problem]), *(note.text for note in notes), *remarks]:
            nb.cells.insert(0, _about_this_submission(sentences, failed=problem is not None))
        return nb, resources

    def start_for(self, is_of_the_course: bool) -> "Template":
        """Return this process's template for the course's notebooks, or for others; log how a first trial went.

        Raise SandboxError if notebooks cannot be run in it.
        """
        preload = course().preload if is_of_the_course else ()
        if preload not in Judge.templates:
            self.log.log(logging.INFO if self.sandbox else logging.WARNING, Judge.start_template(self.sandbox, preload))
        return Judge.templates[preload]

    @staticmethod
    def start_template(sandboxed: bool, preload: tuple[str, ...]) -> str:
        """Start the process from which notebooks are forked that use these modules; return how a trial went."""
        from ..sandbox.session import Template

        template = Template(sandboxed, preload)
        outcome = template.prove()
        Judge.templates[preload] = template
        return outcome

    def _mark(
        self, nb: NotebookNode, resources: dict[str, Any], remarks: list[str], found: list[tampering.Sign]
    ) -> str | None:
        """Mark in place; add sentences for the student to `remarks`, and signs of tampering to `found`.

        Return a sentence if it cannot be marked. Raise SandboxError if the sandbox fails.
        """
        from ..judge.diagnosis.mistake_costs import costs
        from .marking.notebook_marker import NotebookMarker

        costs()  # check costs.toml first: the instructor must fix a wrong file, and no student gets a zero for it
        template = self.start_for(_is_of_the_course(nb))
        limits = Limits(self.cell_timeout, self.question_timeout, self.notebook_timeout, self.work_timeout, self.memory)
        try:
            path = Path(resources["metadata"]["path"])
            marker = NotebookMarker(
                nb, template, path, limits, self.stderr_fails, remarks=remarks, on_progress=Judge.on_progress
            )
            marker.secret, marker.drawn_inputs_count = Judge.secret, self.drawn_inputs_count
            marker.run()
            found += marker.signs()
        except SandboxError:
            raise  # the sandbox is at fault: the instructor must see it, and no student gets a zero for it
        except Exception:
            self.log.exception("the notebook could not be marked")
            return STOPPED
        return None


def _is_of_the_course(nb: NotebookNode) -> bool:
    """Return False for an ordinary assignment that does not use PyTorch: loading it takes longer than marking a few."""
    return any(exercise_of(cell) or re.search(r"\btorch\b", cell.source) for cell in nb.cells)


def _about_this_submission(sentences: list[str], failed: bool) -> NotebookNode:
    lines = [f"### {FAILED if failed else 'About this submission'}\n", *(f"- {sentence}" for sentence in sentences)]
    about = {"id": "about-this-submission", "metadata": {repair.KEY: "notice"}}
    cell: NotebookNode = nbformat.v4.new_markdown_cell("\n".join(lines), **about)
    return cell


class HideTests(NbGraderPreprocessor):
    """Remove the hidden part of test cells, and the bare number of points, from the page that students see."""

    display_data_priority: List[Any] = List(config=True)  # unused; the page's exporter sets it for all preprocessors

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if cell.cell_type == "code" and is_grade(cell) and not is_solution(cell):
            cell.source = visible(cell.source)
            cell.outputs = [output for output in cell.outputs if output.output_type != "execute_result"]
        return cell, resources
