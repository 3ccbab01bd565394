"""Collect a report's data on a class from gradebook, marked notebooks and release; make texts harmless."""

import glob
import json
import logging
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import is_solution, is_task

from ...close_names import did_you_mean
from ...judge.diagnosis.diagnose import Diagnosis, Line
from ...judge.mark import Verdict
from ...plain_output import Tracker, untracked
from ...spec.course import course, is_optional, names, notebooks, question_or_exercise
from ...spec.exercise import Exercise, Question
from ...spec.messages import UNANSWERED
from ..class_secret import MISSING, SecretError, read_secret
from ..intake.repair import grade_id
from ..marking.notices import ending_in, refusal, verdict_in
from ..marking.own_tests import reasons
from ..marking.tampering import Sign, read_signs
from ..release.released_notebook import headings
from .marks import NoClass, Sheet, folders, read_marks

log = logging.getLogger(__name__)

LETTER = "the right letter"  # the one line of a question's rubric; the judge's own title names the chosen letter
BY_HAND = "marked by a person"
OWN_TEST = "the instructor's test"

# Lone surrogates cannot be encoded, control characters act on a terminal, bidirectional ones reorder text on a page.
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def plain(text: object) -> str:
    """Return `text` with harmful characters replaced, safe to show anywhere."""
    return HARMFUL.sub("\ufffd", str(text).replace("\r\n", "\n"))


@dataclass(frozen=True)
class CheckLine:
    title: str
    weight: float
    passed: bool | None  # None if it is not decided, or cannot be
    message: str = ""


@dataclass
class Answer:
    """One student's answer to one exercise or question, and its points."""

    student: str
    exercise: str
    kind: str  # "exercise", "question", or "written" for answers that a person marks
    points: float
    earned: float
    lines: list[CheckLine] = field(default_factory=list)
    diagnosed: list[Diagnosis] = field(default_factory=list)
    remark: str = ""
    source: str = ""
    waits: bool = False  # a person must still mark it
    refused: bool = False  # nothing of the notebook could be read
    behaviour: dict[str, Any] = field(default_factory=dict)  # results in the checks that no named mistake explains

    @property
    def answered(self) -> bool:
        return self.remark != UNANSWERED and not self.refused

    @property
    def judged(self) -> bool:
        return self.answered and any(line.passed is not None for line in self.lines)

    @property
    def mistakes(self) -> list[str]:
        return [one.mistake for one in self.diagnosed] if self.kind == "exercise" else []

    @property
    def reasons(self) -> list[str]:
        failed = [line.message for line in self.lines if line.passed is False]
        return [one.sentence for one in self.diagnosed] or ([self.remark] if self.remark else failed[:1])


@dataclass(frozen=True)
class Trouble:  # a cell or notebook that did not run, or could not be marked
    student: str
    where: str
    what: str


@dataclass(frozen=True)
class Marking:  # of one student's notebook
    at: float  # seconds since 1970
    student: str
    assignment: str
    seconds: float
    earned: float
    points: float

    @property
    def share(self) -> float:
        return self.earned / self.points if self.points else 0.0


@dataclass(eq=False)
class Assignment:
    name: str
    sheets: list[Sheet]
    answers: list[Answer] = field(default_factory=list)
    released: list[NotebookNode] = field(default_factory=list, repr=False)  # the release's cells
    sections: dict[str, str] = field(default_factory=dict)  # headings above each answer, by exercise
    absent: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)  # submitted, but not marked yet
    unreadable: list[str] = field(default_factory=list)  # marked, but the marked notebook cannot be read
    troubles: list[Trouble] = field(default_factory=list)
    signs: list[tuple[str, Sign]] = field(default_factory=list)

    @property
    def optional(self) -> bool:
        return is_optional(self.name)

    @property
    def title(self) -> str:
        return f"{self.name} (optional)" if self.optional else self.name

    @property
    def points(self) -> float:
        return max((sheet.points for sheet in self.sheets), default=0.0)

    @property
    def exercises(self) -> list[str]:
        found = {answer.exercise for answer in self.answers}
        return [name for name in self.sections if name in found] + sorted(found - set(self.sections))

    def answers_to(self, exercise: str) -> list[Answer]:
        return [answer for answer in self.answers if answer.exercise == exercise]

    def by_student(self) -> dict[str, list[Answer]]:
        found: dict[str, list[Answer]] = {}
        for answer in self.answers:
            found.setdefault(answer.student, []).append(answer)
        return found


@dataclass
class ClassData:
    title: str
    names: dict[str, str]  # students' names by id, if the gradebook has them
    assignments: list[Assignment]
    history: list[Marking] | None = None  # None if no history was kept
    secret: str = ""  # a sentence if the class's secret is missing, damaged, or younger than marks

    def called(self, student: str) -> str:
        name = self.names.get(student, "")
        return f"{name} ({student})" if name else student


def collect_class(
    classroom: Path | None = None,
    wanted: Iterable[str] = (),
    db_url: str | None = None,
    track: Tracker = untracked,
) -> ClassData:
    """Return data on these or all marked assignments of `classroom` or the configured one. Raise NoClass if none is."""
    if db_url is None and classroom is not None and not classroom.is_dir():
        raise NoClass(f"there is no folder {classroom}")
    course_folders = folders(classroom and classroom.resolve(), db_url)
    students, sheets = read_marks(course_folders.db_url)
    chosen = chosen_assignments(course_folders, sheets, wanted)
    term = _term(course_folders)
    called = {plain(student): plain(name) for student, name in students.items()}
    assignments = [_assignment(course_folders, name, sheets[name]) for name in chosen]
    everything = [(assignment, sheet) for assignment in assignments for sheet in assignment.sheets]
    for assignment, sheet in track(everything, "reading marked notebooks"):
        _read_notebooks(course_folders, assignment, sheet)
    for assignment in assignments:
        _complete(course_folders, assignment, set(called))
    title = course().title if set(chosen) & set(notebooks()) else course_folders.course_id
    history = read_history(term / "marked" / "history.jsonl")
    return ClassData(title, called, assignments, history, plain(_about_secret(course_folders)))


def _term(folders: CourseDirectory) -> Path:
    return Path(folders.format_path(folders.submitted_directory, "x", "y")).parents[2]


def chosen_assignments(
    folders: CourseDirectory, sheets: Mapping[str, list[Sheet]], wanted: Iterable[str] = ()
) -> list[str]:
    """Return these assignments, or all marked ones. Raise NoClass if one is unknown or not marked, or if none is."""
    term = _term(folders)
    known = [*notebooks(), *sorted(set(sheets) - set(notebooks()))]
    chosen = list(dict.fromkeys(wanted)) or [name for name in known if sheets.get(name)]
    for name in chosen:
        if name not in known:
            there = did_you_mean(name, known) or f" There are {', '.join(known)}."
            raise NoClass(f"there is no notebook {name!r}.{there}")
        if not sheets.get(name):
            raise NoClass(f"nothing has been marked for {name} in {term}; run `autograder grade {name}` first")
    if not chosen:
        raise NoClass(f"nothing has been marked in {term} yet; run `autograder grade NOTEBOOK` first")
    return chosen


def _about_secret(folders: CourseDirectory) -> str:
    """Return a sentence if marks were made without the class's secret, or could not be made again, else ""."""
    try:
        secret = read_secret(folders)
    except SecretError as error:
        return str(error)
    return MISSING if secret is None else secret.remark


def _assignment(folders: CourseDirectory, name: str, sheets: list[Sheet]) -> Assignment:
    """Return an assignment without what only the students' notebooks say."""
    folder = Path(folders.format_path(folders.release_directory, ".", name))
    released = [cell for notebook in _notebooks(folder) for cell in notebook.cells]
    return Assignment(name, sheets, released=released, sections=sections(released))


def _read_notebooks(folders: CourseDirectory, result: Assignment, sheet: Sheet) -> None:
    """Add a student's answers, and what there is to say of the notebooks."""
    blank = {grade_id(cell): cell.source.strip() for cell in result.released if is_solution(cell)}
    marked = _notebooks(Path(folders.format_path(folders.autograded_directory, sheet.student, result.name)))
    sheet.student = plain(sheet.student)
    result.unreadable += [] if marked else [sheet.student]
    result.answers += _answers(sheet, [cell for notebook in marked for cell in notebook.cells], blank)
    for notebook in marked:
        result.troubles += _troubles(sheet.student, notebook.cells)
    signs = [sign for notebook in marked for sign in read_signs(notebook) if isinstance(sign.cell, int)]
    result.signs += [(sheet.student, Sign(one.cell, *map(plain, (one.name, one.line, one.what)))) for one in signs]


def _complete(folders: CourseDirectory, result: Assignment, students: set[str]) -> None:
    """Sort the answers, and add who has handed in nothing, and who is not marked yet."""
    order = {name: index for index, name in enumerate(result.exercises)}
    result.answers.sort(key=lambda answer: (answer.student, order[answer.exercise]))
    here = {sheet.student for sheet in result.sheets}
    paths = glob.glob(folders.format_path(folders.submitted_directory, "*", glob.escape(result.name)))
    handed_in = {plain(Path(path).parent.name) for path in paths if os.path.isdir(path)}
    result.unmarked = sorted(handed_in - here)
    result.absent = sorted(students - here - handed_in)
    result.name = plain(result.name)


def sections(cells: Iterable[NotebookNode]) -> dict[str, str]:
    """Return the headings above each answer, by name of the exercise."""
    found: dict[str, str] = {}
    above: dict[int, str] = {}
    for cell in cells:
        if cell.cell_type == "markdown":
            for depth, text in headings(cell.source):
                above = {level: kept for level, kept in above.items() if level < depth} | {depth: text}
        if is_solution(cell) and (name := grade_id(cell)):
            path = " › ".join(text for level, text in sorted(above.items()) if level > 1)
            found[name] = plain(re.sub(r"[$`*]", "", path))  # without the markup for formulas, code and emphasis
    return found


def _notebooks(folder: Path) -> list[NotebookNode]:
    """Return the readable notebooks in a folder, not validated, since this package wrote them."""
    found = []
    for path in sorted(folder.glob("*.ipynb")):
        try:
            with path.open(encoding="utf-8") as file:
                notebook = nbformat.reader.read(file)
            refused = refusal(notebook.cells) is not None
            for cell in notebook.cells:
                cell["mark_name"] = f"{path.stem}: {grade_id(cell)}"  # as in `marks`
                cell["refused"] = refused
            if all(isinstance(cell.source, str) for cell in notebook.cells):
                found.append(notebook)
        except Exception as error:  # one student's broken file must not stop the class's report
            log.warning("%s cannot be read: %s", path, error)
    return found


def _answers(sheet: Sheet, cells: list[NotebookNode], blank: dict[str | None, str]) -> Iterator[Answer]:
    """Yield a student's answers. `blank` is the released text of each: an unchanged cell is not an answer."""
    by_id = {grade_id(cell): cell for cell in cells} | {cell.get("mark_name"): cell for cell in cells}
    for mark in sheet.cells:
        cell = by_id.get(mark.cell)
        if cell is not None and (verdict := _verdict(cell)) is not None:
            own = by_id.get(verdict.exercise)
            answer = _judged(sheet.student, verdict, plain(own.source) if own is not None else "")
        else:
            kind = "written" if cell is None or is_solution(cell) or is_task(cell) else "exercise"
            undecided = kind == "written" or mark.waits
            message = " ".join(" ".join(reasons(cell) if cell is not None and kind == "exercise" else []).split())
            title = BY_HAND if kind == "written" else OWN_TEST
            passed = mark.earned >= mark.points and bool(mark.points or not message)  # a test may give no points
            line = CheckLine(title, 1.0, None if undecided else passed, plain(message))
            answer = Answer(sheet.student, plain(mark.cell.removeprefix("test_")), kind, 0, 0, [line])
            if kind == "written" and cell is not None and cell.source.strip() == blank.get(mark.cell):
                answer.remark = UNANSWERED
        answer.points, answer.earned, answer.waits = mark.points, mark.earned, mark.waits
        answer.refused = cell is not None and cell.get("refused", False)
        yield answer


def _verdict(cell: NotebookNode) -> Verdict | None:
    """Return the verdict in a cell; None if it is missing or damaged, since a marked notebook may have been edited."""
    found: Any = verdict_in(cell)
    try:
        verdict = Verdict(**found)
        verdict.lines = [Line(**line) for line in found["lines"]]
        verdict.diagnoses = [Diagnosis(**one) for one in found["diagnoses"]]
        whole = isinstance(found["exercise"], str) and isinstance(found["remark"], str)
        whole = whole and sum(line.weight for line in verdict.lines) >= 0
        return verdict if whole and all(isinstance(one.checks, list) for one in verdict.diagnoses) else None
    except (TypeError, KeyError):
        return None


def _judged(student: str, verdict: Verdict, source: str) -> Answer:
    name, lines = verdict.exercise, verdict.lines
    declared = question_or_exercise(name) if name in names() else None
    kind = "question" if isinstance(declared, Question) else "exercise"
    answer = Answer(student, plain(name), kind, verdict.points, verdict.earned, source=source)
    answer.remark, answer.behaviour = plain(verdict.remark), verdict.behaviour
    if kind == "question":
        answer.lines = [
            CheckLine(LETTER, one.weight, bool(one.passed), plain(f"{one.title}. {one.message}")) for one in lines
        ]
        wrong = {one.title.removeprefix("You chose "): plain(one.message) for one in lines if not one.passed}
        answer.diagnosed = [Diagnosis(f"{name}: {letter}", why, [LETTER]) for letter, why in wrong.items()]
        answer.lines = answer.lines or [CheckLine(LETTER, 1.0, False)]
        return answer
    for line in lines:
        passed = bool(line.passed) if line.judged else None  # not judged where the values differ already
        answer.lines.append(CheckLine(plain(line.title), line.weight, passed, plain(line.message)))
    if not lines and isinstance(declared, Exercise):  # no check could run: every line is lost
        answer.lines = [CheckLine(check.title, check.weight, False) for check in declared.checks]
    for one in verdict.diagnoses:
        answer.diagnosed.append(Diagnosis(plain(one.mistake), plain(one.sentence), list(map(plain, one.checks))))
    return answer


def _troubles(student: str, cells: list[NotebookNode]) -> Iterator[Trouble]:
    """Yield the troubles of each exercise, in its cell and at its marking, or one for an unmarked notebook."""
    found: dict[str, list[str]] = {}
    if (reason := refusal(cells)) is not None:
        yield Trouble(student, "the whole notebook", plain(reason))
        return
    for cell in cells:
        name = grade_id(cell)
        here = found.setdefault(name.removeprefix("test_") if name else "a cell of the student's own", [])
        for output in cell.get("outputs", []):
            if ending := ending_in(output):
                here.append(ending)
            elif output.get("output_type") == "error" and is_solution(cell):
                here.append(f"{output.get('ename')}: {output.get('evalue')}"[:200])
        if (verdict := _verdict(cell)) and verdict.remark and verdict.remark != UNANSWERED:
            here.append(verdict.remark)
    for where, whats in found.items():
        if whats:
            yield Trouble(student, plain(where), plain(" ".join(dict.fromkeys(whats))))


def read_history(path: Path) -> list[Marking] | None:
    """Return all markings by time; None if no history can be read. Skip broken lines, as one cut off by a crash."""
    try:
        lines = path.read_text("utf-8", "replace").split("\n")
    except OSError:
        return None
    found = []
    for line in lines:
        with suppress(ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
            entry = json.loads(line)
            at = datetime.fromisoformat(entry["at"]).timestamp()
            numbers = [float(entry[key]) for key in ("seconds", "earned", "points")]
            if all(map(math.isfinite, numbers)):
                found.append(Marking(at, plain(entry["student"]), plain(entry["assignment"]), *numbers))
    return sorted(found, key=lambda marking: marking.at)
