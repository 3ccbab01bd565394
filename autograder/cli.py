"""Defines the commands of `autograder`: `grade`, `watch`, `demo`, `report`, `try`, `mistakes` and others."""

import ast
import contextlib
import enum
import functools
import gc
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from . import __version__
from .close_names import did_you_mean
from .judge.formatting import MIME
from .plain_output import escape_logs, escaped, tracked
from .spec import course
from .spec.exercise import Exercise

if TYPE_CHECKING:
    from .judge.try_mistakes import Trial  # which needs torch

ROOT = course.root()
gc.set_threshold(100_000)  # what commands import stays, and the collector would walk over all of it again and again


class PlainConsole(Console):
    """A console that escapes control characters in what it prints, and keeps its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escaped(segment.text))


app = typer.Typer(help="Marks the exercises of the course.", no_args_is_help=True, add_completion=False)
console = PlainConsole(width=None if sys.stdout.isatty() else 150)


class TableKind(enum.StrEnum):
    canvas = enum.auto()
    moodle = enum.auto()
    csv = enum.auto()
    parquet = enum.auto()


Notebooks = Annotated[list[str] | None, typer.Argument(metavar="NOTEBOOK", help="All if none is named")]
Marked = Annotated[list[str] | None, typer.Argument(metavar="NOTEBOOK", help="All marked ones if none is named")]
ClassroomFolder = Annotated[Path | None, typer.Option(help="Folder with the term's data, if not the configured one")]
Database = Annotated[str | None, typer.Option(help="The gradebook, if not the one nbgrader_config.py names")]
Unsandboxed = Annotated[bool, typer.Option("--no-sandbox", help="Run notebooks outside the sandbox, with your rights")]


_track = functools.partial(tracked, console)


def _print(text: str, **options: Any) -> None:
    """Print a line as it is, however long."""
    console.print(text, highlight=False, markup=False, soft_wrap=True, **options)


def _table(title: str, *headings: str, text: Container[str] = (), **options: Any) -> Table:
    """Return an empty table. The columns in `text` are aligned left, the others, which hold numbers, right."""
    table = Table(title=title, box=box.SIMPLE_HEAD, **options)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in text else "right")
    return table


@contextlib.contextmanager
def _refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Report an expected exception as a usage error of the command."""
    try:
        yield
    except kinds as reason:
        raise typer.BadParameter(str(reason)) from None


@contextlib.contextmanager
def _stopping(*kinds: type[Exception]) -> Iterator[None]:
    """Print what an expected exception says, and exit with status 1."""
    try:
        yield
    except kinds as reason:
        _print(str(reason), style="bold red")
        raise typer.Exit(1) from None


def _version(wanted: bool) -> None:
    if wanted:
        console.print(f"autograder {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Mark the exercises of the course."""
    escape_logs()


@app.command()
def report(
    wanted: Marked = None,
    classroom: ClassroomFolder = None,
    db_url: Database = None,
    html: Annotated[Path | None, typer.Option(help="Write the report as one HTML page")] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="A page that names no student, to show in class")
    ] = False,
    pages: Annotated[Path | None, typer.Option(help="Write a page for each student, over all, to this folder")] = None,
) -> None:
    """Show a class's marks, the misconceptions that cost marks, and what a person must mark; print or write a page."""
    from .files import WouldOverwrite, refuse_another, write_atomically, write_private
    from .nbgrader_plugin.export.lms import refuse_published
    from .nbgrader_plugin.gradebook.roster import Unusable
    from .nbgrader_plugin.privacy import groupshared
    from .nbgrader_plugin.report.data import collect_class
    from .nbgrader_plugin.report.html_page import REPORT, page, write_student_pages
    from .nbgrader_plugin.report.marks import NoClass
    from .nbgrader_plugin.report.terminal import show

    if anonymous and html is None:
        raise typer.BadParameter("--anonymous is about the page: say with --html where to write it")
    with _refusing(NoClass, WouldOverwrite, Unusable):
        if pages is not None:
            refuse_published(pages / "student.html")
        if html is not None:
            if not anonymous:
                refuse_published(html)
            refuse_another(html, REPORT, "report of ours")
        data = collect_class(classroom, wanted or [], db_url, _track)
        show(data, console)
        if html is not None:
            text = page(data, anonymous).encode()
            try:
                write_atomically(html, text) if anonymous else write_private(html, text, groupshared())
            except OSError as error:
                raise typer.BadParameter(f"{error.filename} cannot be written: {error.strerror}") from None
            _print(f"the report is in {html}")
        if pages is not None:
            try:
                count = write_student_pages(data, pages)
            except OSError as error:
                raise typer.BadParameter(f"{error.filename} cannot be written: {error.strerror}") from None
            _print(f"{count} students' pages are in {pages}")


@app.command()
def export(
    kind: Annotated[TableKind, typer.Argument(metavar="KIND", help="canvas, moodle, csv or parquet")],
    wanted: Marked = None,
    to: Annotated[Path | None, typer.Option(help="The file to write, if not grades-… among the term's data")] = None,
    roster: Annotated[Path | None, typer.Option(help="Canvas's or Moodle's own table, to be filled in")] = None,
    checks: Annotated[bool, typer.Option("--checks", help="csv, parquet: a row for each check of an answer")] = False,
    scale: Annotated[bool, typer.Option("--scale", help="Scale marks to the maximum in the roster")] = False,
    missing_as_zero: Annotated[
        bool, typer.Option("--missing-as-zero", help="Canvas, Moodle: 0 for students who handed in nothing")
    ] = False,
    leave_out_unfinished: Annotated[
        bool, typer.Option("--leave-out-unfinished", help="Leave out submissions that a person must still mark")
    ] = False,
    classroom: ClassroomFolder = None,
    db_url: Database = None,
) -> None:
    """Write marks as a table: for Canvas or Moodle, filled into their own, or as CSV or Parquet for other programs."""
    from .nbgrader_plugin.export.parquet import NoParquet
    from .nbgrader_plugin.export.tables import export_checks, export_marks
    from .nbgrader_plugin.gradebook.roster import Unusable
    from .nbgrader_plugin.report.marks import NoClass

    lms = kind in (TableKind.canvas, TableKind.moodle)
    if checks and lms:
        raise typer.BadParameter("--checks is about csv and parquet")
    if not lms and (roster or scale or missing_as_zero):
        raise typer.BadParameter("--roster, --scale and --missing-as-zero are about canvas and moodle")
    given = {"to": to and str(to), "roster": roster and str(roster), "scale": scale}
    given |= {"missing_as_zero": missing_as_zero, "leave_out_unfinished": leave_out_unfinished}
    options = {name: value for name, value in given.items() if value}  # the others are as configured
    with _printing_errors(), _stopping(NoClass, NoParquet, Unusable):
        if checks:
            lines = export_checks(kind.value, wanted or [], to, classroom, db_url, _track)
        else:
            lines = export_marks(kind.value, wanted or [], options, classroom, db_url)
        for line, remark in lines:
            _print(line, style="yellow" if remark else None)


@app.command()
def class_list(
    file: Annotated[Path | None, typer.Argument(help="The table, if not students.csv among the term's data")] = None,
) -> None:
    """Read a class list into the gradebook: ids, names, addresses and numbers, as spreadsheets save them.

    What the gradebook says already stays. Marking reads students.csv, too.
    """
    from .nbgrader_plugin.converters import folder_of, refuse_elsewhere, settings
    from .nbgrader_plugin.export.tables import Lines
    from .nbgrader_plugin.gradebook.roster import NAMES, Unusable, enter

    refuse_elsewhere()
    nbgrader, lines = settings(os.environ.get("COURSE_CLASSROOM", "classroom")), Lines()
    path = file or folder_of(nbgrader) / NAMES
    with _printing_errors(), _stopping(Unusable):
        count = enter(nbgrader.coursedir.db_url, nbgrader.coursedir.course_id, path, lines.log)
    for line, _ in lines.heard:
        _print(line, style="yellow")
    _print(f"{count} {'student is' if count == 1 else 'students are'} in {path} and in the gradebook")


@app.command("unknown")
def unknown_answers(
    wanted: Marked = None,
    classroom: ClassroomFolder = None,
    db_url: Database = None,
    most: Annotated[int, typer.Option(help="How many groups are shown", min=1)] = 10,
) -> None:
    """Show the class's wrong answers that match no catalogued mistake, grouped by behaviour: name each group once."""
    from .nbgrader_plugin.report import unnamed_answers
    from .nbgrader_plugin.report.data import collect_class
    from .nbgrader_plugin.report.marks import NoClass

    with _refusing(NoClass):
        data = collect_class(classroom, wanted or [], db_url, _track)
    unnamed_answers.show(unnamed_answers.groups(data), console, most)


@app.command()
def grade(
    wanted: Annotated[list[str] | None, typer.Argument(help="Assignments by name")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All notebooks that somebody has handed in")] = False,
    student: Annotated[str, typer.Option(help="One student only")] = "*",
    force: Annotated[bool, typer.Option("--force", help="Mark again what has not changed")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; one for each core if not given", min=1)] = None,
    scheduler: Annotated[str, typer.Option(help="Address of a Dask scheduler: mark on its workers")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be marked and why; write nothing")] = False,
    no_sandbox: Unsandboxed = False,
) -> None:
    """Mark new and changed submissions on all cores and write feedback. May be stopped at any moment."""
    from .batch import preflight
    from .batch.grade import Classroom, afterwards, progress
    from .batch.grade import grade as mark_all
    from .batch.pool import cores, pool, preload_for
    from .nbgrader_plugin.class_secret import SecretError
    from .nbgrader_plugin.converters import assignments, folder_of, refuse_elsewhere, settings
    from .nbgrader_plugin.intake.overlooked import overlooked as overlooked_in
    from .nbgrader_plugin.intake.student_folder import shown
    from .nbgrader_plugin.report.marks import NoClass

    classroom_path = os.environ.get("COURSE_CLASSROOM", "classroom")
    refuse_elsewhere()
    app = settings(classroom_path)
    with _printing_errors(), _stopping(preflight.NotReady):
        chosen = preflight.chosen_assignments(app, wanted or (), everything)
        preflight.require_student(app.coursedir, folder_of(app), student)
    if dry_run:
        from .batch.dry_run import plan as plan_of

        with _printing_errors(), _stopping(SecretError):
            for assignment in chosen:
                for line in plan_of(app, assignment, student, force).lines(workers or cores()):
                    _print(shown(line, 20_000))
        for sentence in overlooked_in(Path(app.coursedir.root, app.coursedir.submitted_directory), assignments(app)):
            _print(sentence, style="yellow")
        return
    with _printing_errors(), _stopping(preflight.NotReady):
        preflight.require_room([folder_of(app), Path(tempfile.gettempdir())])
        if remark := preflight.require_secret(app.coursedir):
            _print(remark, style="yellow")
    failed, overlooked = 0, None  # until something is marked
    with (
        _printing_errors(),
        _stopping(NoClass),
        pool(scheduler, workers, preload_for(chosen)) as processes,
        contextlib.closing(Classroom(classroom_path, processes, not no_sandbox)) as classroom,
    ):
        for assignment in chosen:
            if not preflight.has_handed_in(app.coursedir, assignment, student):
                who = "nobody" if student == "*" else f"no student “{student}”"
                _print(f"{assignment}: {who} has handed it in")
                continue
            with _said_when_interrupted(assignment), progress(console) as bar:
                outcome = mark_all(classroom, assignment, student, force, bar)
            overlooked = outcome.overlooked
            counts = f"{outcome.marked} marked, {outcome.unchanged} unchanged, {len(outcome.failed)} failed"
            console.print(f"{assignment}: {counts}, {outcome.seconds:.1f} s", highlight=False)
            for name, why in outcome.failed.items():
                more = f" (all of it in {outcome.logs[name]})" if name in outcome.logs else ""
                console.print(f"  {shown(name)}: {shown(why)}{more}", markup=False, highlight=False)
            for line in afterwards(classroom, assignment, outcome):
                console.print(f"  {shown(line, 20_000)}", markup=False, highlight=False, soft_wrap=True)
            failed += len(outcome.failed)
        for sentence in overlooked or ():
            _print(sentence, style="yellow")
    if failed or overlooked is None:
        raise typer.Exit(1)


@contextlib.contextmanager
def _said_when_interrupted(assignment: str) -> Iterator[None]:
    """Say after Ctrl-C what is marked, and exit with the shell's status for it."""
    from .batch.grade import Interrupted

    try:
        yield
    except Interrupted as stopped:
        done = f"{stopped.marked} of {stopped.planned} are marked, with their feedback"
        _print(f"Stopped. {assignment}: {done}; the same command goes on with the others.")
        raise typer.Exit(130) from None


@app.command()
def watch(
    wanted: Notebooks = None,
    budget: Annotated[float, typer.Option(help="Minutes of marking an hour that a student has", min=0.1)] = 10.0,
    workers: Annotated[int | None, typer.Option(help="Processes; two more than cores if not given", min=2)] = None,
    no_sandbox: Unsandboxed = False,
) -> None:
    """Mark submissions as they arrive and release feedback at once. May be stopped at any moment."""
    from .batch import preflight
    from .batch.watch import Watcher
    from .nbgrader_plugin.converters import assignments, folder_of, refuse_elsewhere, settings

    classroom_path = os.environ.get("COURSE_CLASSROOM", "classroom")
    refuse_elsewhere()
    with _printing_errors(), _stopping(ValueError, preflight.NotReady):
        nbgrader = settings(classroom_path)
        chosen = assignments(nbgrader, wanted or ())
        preflight.require_room([folder_of(nbgrader), Path(tempfile.gettempdir())])
        if remark := preflight.require_secret(nbgrader.coursedir):
            _print(remark, style="yellow")
    with _printing_errors(), contextlib.suppress(KeyboardInterrupt):
        Watcher(classroom_path, chosen, console, budget=60 * budget, workers=workers, sandboxed=not no_sandbox).run()


@contextlib.contextmanager
def _printing_errors() -> Iterator[None]:
    """Print an expected error as one sentence and exit with status 1."""
    from nbgrader.converters.base import NbGraderException
    from sqlalchemy.exc import DBAPIError, OperationalError

    from .sandbox.limits import SandboxError

    try:
        yield
    except typer.Exit:  # a RuntimeError, too
        raise
    except DBAPIError as error:
        again = "Nothing is lost: once that is fixed, the same command goes on."
        if not isinstance(error, OperationalError):  # not full, locked or unreadable, but damaged
            again = "Take it back from a copy: points and comments that people gave stand in it alone."
        _print(f"The gradebook cannot be used ({error.orig}). {again}", style="bold red")
        raise typer.Exit(1) from None
    except (RuntimeError, SandboxError, OSError, NbGraderException) as error:
        again = " Nothing is lost: once that is fixed, the same command goes on." if isinstance(error, OSError) else ""
        if isinstance(error, FileNotFoundError) and error.filename == "alembic":
            again = (
                " nbgrader makes the gradebook with this program, which is installed with it: put its folder on PATH."
            )
        _print(f"{str(error).rstrip('.')}.{again}", style="bold red")
        raise typer.Exit(1) from None


@app.command("try")
def try_answer(
    name: Annotated[str, typer.Argument(help="The name of an exercise or a question")],
    file: Annotated[Path, typer.Argument(help="A Python file, or a notebook with an answer to it", exists=True)],
    no_sandbox: Unsandboxed = False,
) -> None:
    """Mark a file as the answer to an exercise: print the rubric and what is wrong.

    A notebook is marked as `autograder grade` marks it. A Python file runs without the sandbox, with your rights.
    """
    question = next((found for found in course.questions() if found.name == name), None)
    declared: Any = question or _exercise(name)
    if file.suffix == ".ipynb":
        text, verdict = _tried_notebook(declared, file, not no_sandbox)
    else:
        text, verdict = _tried_source(declared, file.read_text(encoding="utf-8-sig"))
    _print(text)
    if verdict["earned"] < verdict["points"] and not verdict["diagnoses"] and not verdict["remark"]:
        console.print("No catalogued mistake answers like this.", highlight=False)


def _tried_source(declared: Any, source: str) -> tuple[str, dict[str, Any]]:
    """Mark a source in this process. Return what to print, and the verdict as data."""
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # as where notebooks are marked
    from .judge.mark import mark
    from .judge.run_check import student_with_answer
    from .judge.verdict import plain

    verdict = mark(declared.name, student_with_answer(declared, source))
    return plain(verdict), verdict.as_data()


def _tried_notebook(declared: Any, file: Path, sandboxed: bool) -> tuple[str, dict[str, Any]]:
    """Mark a notebook as a submission. Return what to print, with notes on the submission, and the verdict as data."""
    import nbformat

    from .batch.marking import mark_file
    from .nbgrader_plugin.intake.repair import KEY
    from .nbgrader_plugin.intake.student_folder import NotAFile
    from .nbgrader_plugin.marking.notices import verdict_in

    with _printing_errors(), _stopping(NotAFile), console.status(f"marking {file.name}"):
        marked = mark_file(file, declared.notebook, sandboxed)
        if marked.hopeless:
            raise RuntimeError(marked.hopeless)
    if marked.problem:
        _print(f"{file} could not be marked: {marked.problem}\n{marked.log}", style="bold red")
        raise typer.Exit(1)
    cells = nbformat.reads(marked.notebooks[f"{declared.notebook}.ipynb"], as_version=4).cells
    notes = [line for cell in cells if cell.metadata.get(KEY) == "notice" for line in cell.source.split("\n")[1:]]
    for cell in cells:
        if (verdict := verdict_in(cell)) is not None and verdict["exercise"] == declared.name:
            [text] = [output.data["text/plain"] for output in cell.outputs if MIME in output.get("data", {})]
            return "\n".join([text, *(note for note in notes if note and note[2:] != verdict["remark"])]), verdict
    raise typer.BadParameter(f"{file} has no test cell for {declared.name}")


@app.command()
def plan(wanted: Notebooks = None) -> None:
    """Print the expected minutes and the points of all notebooks, or of those that are named and of their exercises."""
    from .workload import answers_table, notebook, notebooks_table

    found = [notebook(name) for name in _track(_notebooks(wanted), "computing minutes")]
    _print("\n\n".join([notebooks_table(found), *(answers_table(one) for one in found if wanted)]))


@app.command()
def mistakes(
    name: Annotated[str | None, typer.Argument(help="The name of an exercise")] = None,
    mistake: Annotated[str | None, typer.Argument(help="One of its mistakes; all if none is named")] = None,
    costs: Annotated[bool, typer.Option("--costs", help="What each earns, by its checks alone and as marked")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Each variant as a diff of the reference")] = False,
) -> None:
    """List an exercise's catalogued mistakes: each one's name, number of variants, and feedback.

    With --costs and no exercise: the points for the course's commonest mistakes, as the table in docs/instructors.md.
    """
    if name is None:
        if not costs:
            raise typer.BadParameter("name an exercise, or say --costs for the commonest mistakes of the course")
        from .judge.cost_table import markdown

        course.package()  # raises NoCourse where there is none
        _print(markdown(_track(course.course().commonest, "computing costs")))
        return
    declared = _unloaded(name)
    known = {one.name: one for one in declared.mistakes}
    if mistake is not None and mistake not in known:
        raise typer.BadParameter(f"{name} has no mistake {mistake!r}.{did_you_mean(mistake, known)}")
    wanted = list(known.values()) if mistake is None else [known[mistake]]
    if diff:
        from .judge.mistake_diffs import diffs

        for one in wanted:
            _print("\n\n".join([f"{one.name} ({one.severity}): {one.sentence}", *diffs(declared, one)]) + "\n")
        return
    title = f"{name}, notebook {declared.notebook}: what goes wrong"
    if costs:
        from .judge.cost_table import costs_of, span

        title += f", and what it earns of {declared.points:g} points"
        table = _table(title, "mistake", "severity", "by its checks", "marked", text=("mistake", "severity"))
        for row in (row for row in costs_of(name) if mistake in (None, row.mistake)):
            table.add_row(row.mistake, row.severity, span(row.by_lines), span(row.marked))
    else:
        text = ("mistake", "what the feedback says")
        table = _table(title, "mistake", "variants", "what the feedback says", text=text)
        for one in wanted:
            table.add_row(one.name, str(len(one.sources)), escape(one.sentence))
        _print(f"The reference, which they edit:\n\n{declared.source}")
    console.print(table)


@app.command()
def try_mistakes(
    names: Annotated[list[str] | None, typer.Argument(help="Exercises or notebooks; all if none is named")] = None,
) -> None:
    """Try what is catalogued for exercises: is each mistake caught, named and told apart, each right answer accepted?

    If so, keep in the course what each variant returns. Exercises of the same notebooks for which that is out of date
    are tried as well.
    """
    from rich.progress import track

    from .batch.pool import TaskQueue, pool
    from .judge.diagnosis.fingerprint_store import compute_missing, keep, unkept
    from .judge.try_mistakes import try_exercise

    chosen = _chosen(names)
    known = {exercise.name for exercise in chosen}
    same_notebooks = [other for home in {exercise.notebook for exercise in chosen} for other in course.exercises(home)]
    chosen += [other for other in same_notebooks if other.name not in known and unkept(other.name)]
    trials: dict[str, Trial] = {}
    os.environ["PYTHONHASHSEED"] = "0"  # as where notebooks are marked: the order of a set is the same
    with _printing_errors(), pool() as processes:
        compute_missing([exercise.name for exercise in chosen])
        queue: TaskQueue[str, Trial] = TaskQueue(processes, try_exercise)
        for exercise in chosen:
            queue.put(exercise.name, exercise.name)
        count, what = len(chosen), "trying what is catalogued"
        hidden = not console.is_terminal
        for name, found in track(queue, what, count, console=console, transient=True, disable=hidden):
            if isinstance(found, BaseException):
                raise RuntimeError(f"{name} could not be tried: {found}") from found
            trials[name] = found
    for exercise in chosen:
        trial, in_full = trials[exercise.name], exercise.name in (names or [])
        console.print((_trial_table if in_full else _summary)(trial), highlight=False, soft_wrap=not in_full)
    faults = [fault for exercise in chosen for fault in trials[exercise.name].faults]
    for fault in faults:
        console.print(f"[bold red]{escape(fault)}[/]", highlight=False, soft_wrap=True)
    if faults:
        console.print("Nothing is kept. Fix the exercise and give the same command again.", highlight=False)
        raise typer.Exit(1)
    with _printing_errors():
        paths = keep([exercise.name for exercise in chosen])
    _print(f"All is well, and kept in {paths[0].parent}: commit it.")


def _trial_table(trial: "Trial") -> Table:
    headings = ("mistake", "variants", "new", "caught", "named", "told apart", "")
    table = _table(_summary(trial), *headings, text=("mistake", ""), title_justify="left")
    for tried in trial.mistakes:
        counts = (tried.variants, tried.new, tried.caught, tried.named, tried.apart)
        remark = f"redundant: variant {', '.join(map(str, tried.redundant))}" if tried.redundant else ""
        table.add_row(tried.name, *map(str, counts), remark)
    return table


def _summary(trial: "Trial") -> str:
    variants, new = (sum(getattr(tried, count) for tried in trial.mistakes) for count in ("variants", "new"))
    return (
        f"{trial.exercise}, notebook {trial.notebook}: {variants} variants of {len(trial.mistakes)} mistakes, "
        f"{new} new, {trial.accepted} of {trial.right} right answers accepted, {len(trial.faults)} faults"
    )


def _notebooks(names: list[str] | None) -> list[str]:
    """Return the named notebooks of the course, all if none is named. Raise NoCourse where there is no course."""
    if not names:
        course.package()
    return [_notebook(name) for name in names or course.notebooks()]


def _notebook(name: str) -> str:
    if course.course() is course.NO_COURSE:
        raise typer.BadParameter(
            f"there is no course here, and so no notebook {name!r} of one; "
            f"`nbgrader generate_assignment {name}` releases an assignment of your own"
        )
    if name not in course.notebooks() and (close := did_you_mean(name, course.notebooks())):
        raise typer.BadParameter(f"there is no notebook {name!r}.{close}")
    with _refusing(ValueError):
        return course.checked_name(name)


def _chosen(names: list[str] | None) -> list[Exercise]:
    """Return the named exercises and those of named notebooks, in the course's order; all if nothing is named."""
    there = _notebooks(None)
    groups = [_exercises(name) if name in there else [_exercise(name)] for name in names or there]
    known = {exercise.name: exercise.notebook for group in groups for exercise in group}
    homes = [home for home in there if home in known.values()]
    return [exercise for home in homes for exercise in course.exercises(home) if exercise.name in known]


def _exercise(name: str) -> Exercise:
    return next(exercise for exercise in _exercises(_home(name)) if exercise.name == name)


def _unloaded(name: str) -> Exercise:
    """Return an exercise without its checks, for its catalogue alone: its module, which imports torch, is only read.

    The module is imported after all where it does not say in literals what the common mistakes depend on.
    """
    home, [module], answers = _home(name), course.exercise_files(name), course.mistakes_file(name)
    try:
        declared = Exercise(**_literals(module))
    except (SyntaxError, ValueError):
        return _exercise(name)
    cells = json.loads(course.notebook_path(home).read_text("utf-8"))["cells"]
    [source] = ["".join(c["source"]) for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == name]
    declared.name, declared.notebook, declared.source = name, home, course.without_markers(source)
    declared.catalogue_module = f"{course.course().package}.{answers.parent.name}.{answers.stem}"
    return _readable(declared)


def _literals(module: Path) -> dict[str, Any]:
    """Return what a module's `EXERCISE = Exercise(…)` says of its kinds. Raises ValueError if that is no literal."""
    assigned = (node for node in ast.parse(module.read_bytes()).body if isinstance(node, ast.Assign))
    call = {ast.unparse(node.targets[0]): node.value for node in assigned}.get("EXERCISE")
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "Exercise" and all(k.arg for k in call.keywords)):
        raise ValueError
    given = {str(keyword.arg): keyword.value for keyword in call.keywords}
    return {name: ast.literal_eval(given[name]) for name in ("takes", "gives", "harmless") if name in given}


def _home(name: str) -> str:
    """Return an exercise's notebook."""
    for home in _notebooks(None):
        if name in course.names_in(home):
            return home
    hint = did_you_mean(name, course.names())
    new = "a new one needs a module and a solution cell of its name."
    raise typer.BadParameter(f"there is no exercise {name!r}; `autograder plan NOTEBOOK` lists them; {new}{hint}")


def _exercises(notebook: str) -> list[Exercise]:
    """Return a notebook's exercises; their modules and catalogues can be read."""
    try:
        found = course.exercises(notebook)
    except Exception as error:  # any error in a module
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = "" if isinstance(error, SyntaxError) else f" ({frame.filename}, line {frame.lineno})"
        raise typer.BadParameter(f"{notebook} has an exercise that cannot be loaded: {error}{where}") from error
    return [_readable(exercise) for exercise in found]


def _readable(exercise: Exercise) -> Exercise:
    with _refusing(ValueError, OSError):
        _ = exercise.mistakes
    return exercise


@app.command()
def run_solutions(wanted: Notebooks = None) -> None:
    """Execute the solution notebooks and save their outputs. Run `make release` afterwards."""
    from rich.progress import Progress

    from .authoring import code_cells, run

    chosen = _notebooks(wanted)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("running cells", total=sum(code_cells(course.notebook_path(name)) for name in chosen))
        for notebook in chosen:
            with _stopping(ValueError):
                seconds = run(course.notebook_path(notebook), functools.partial(bar.advance, task))
            console.print(f"{notebook}: {seconds:.1f} s", highlight=False)


@app.command()
def release(
    wanted: Notebooks = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also where somebody wrote; a copy goes into classroom/replaced/")
    ] = False,
    new_ids: Annotated[
        bool, typer.Option("--new-ids", help="Also where most cells have other ids than in the last release")
    ] = False,
) -> None:
    """Tidy solutions/ and generate the release, course/, from it: all that is asked for, or nothing.

    Refuse if somebody edited course/, or if a tool has changed the ids or removed the outputs of solutions.
    """
    from .authoring import NotReleasable, stage
    from .files import WouldOverwrite, write_atomically
    from .handout import NotReady, prepare_start
    from .nbgrader_plugin.converters import prepare_release, refuse_elsewhere, settings, sources_of
    from .nbgrader_plugin.release.generate import Refused
    from .workload import Unannounced

    refuse_elsewhere()
    chosen = _notebooks(wanted)
    classroom_path = os.environ.get("COURSE_CLASSROOM", "classroom")
    nbgrader = settings(classroom_path)
    nbgrader.config.ReleaseExporter.overwrite, nbgrader.config.ReleaseExporter.new_ids = overwrite, new_ids
    with (
        tempfile.TemporaryDirectory(prefix="release-") as scratch,
        _stopping(NotReleasable, Refused, WouldOverwrite, NotReady, Unannounced, RuntimeError, OSError),
    ):
        staged, sources = Path(scratch, "solutions"), sources_of(nbgrader)
        changed = stage(sources, staged, chosen)
        release_all = prepare_release(nbgrader, chosen, Path(scratch), staged, _track)
        write_start = prepare_start(ROOT, Path(scratch), ROOT / classroom_path / "replaced" if overwrite else None)
        release_all()
        for file in changed:
            path = file.relative_to(staged)
            write_atomically(sources / path, file.read_bytes())
            console.print(f"{path.parent}: {path.name} written", highlight=False)
        write_start()
    release = Path(nbgrader.coursedir.format_path(nbgrader.coursedir.release_directory, ".", ".")).name
    console.print(f"{len(chosen)} notebooks are released into {release}/", highlight=False)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Report the state of a folder that cannot be written (exit status 1), and after Ctrl-C (130)."""
    try:
        yield
    except (OSError, KeyboardInterrupt) as error:
        try:
            state = "What was there is kept" if folder.exists() and any(folder.iterdir()) else "Nothing was written"
        except OSError:  # no such folder can be
            state = "Nothing was written"
        if isinstance(error, KeyboardInterrupt):
            _print(f"Stopped. {state}: the same command begins again.", style="bold red")
            raise typer.Exit(130) from None
        remedy = "fix that and give the same command again, or name another folder"
        _print(f"{folder} cannot be written: {error.strerror or error}. {state}: {remedy}.", style="bold red")
        raise typer.Exit(1) from None


@app.command()
def init(folder: Annotated[Path, typer.Argument(help="A new folder")]) -> None:
    """Create a folder to teach from: notebooks, configuration, an example of a class list, and the guides."""
    from .files import WouldOverwrite
    from .new_folder import GUIDE, lay_out

    with _stopping(WouldOverwrite), _writing(folder):
        lay_out(folder)
    _print(f"{folder} is ready: run nbgrader's and autograder's commands there")
    if (folder / GUIDE).is_file():
        _print(f"a term in twelve steps: {folder / GUIDE}, which `autograder teach` opens there")


@app.command()
def students(file: Annotated[Path, typer.Argument(help="The file to write")] = Path("students.zip")) -> None:
    """Write the students' zip: all released notebooks, the start page and the environment, no solutions."""
    from .handout import NotReady, write_zip
    from .nbgrader_plugin.converters import refuse_elsewhere

    refuse_elsewhere()
    with _stopping(NotReady):
        try:
            count = write_zip(ROOT, file)
        except OSError as error:
            raise NotReady(f"{file} cannot be written: {error.strerror}.") from None
    _print(f"{file}: {count} files, {file.stat().st_size / 2**20:.1f} MiB")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def teach(others: typer.Context) -> None:
    """Open JupyterLab with Formgrader at the instructor's guide. Options are JupyterLab's (--no-browser)."""
    from .nbgrader_plugin.converters import refuse_elsewhere
    from .nbgrader_plugin.formgrader.lab import open_lab

    refuse_elsewhere()
    open_lab(ROOT, others.args)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def learn(
    others: typer.Context,
    folder: Annotated[Path, typer.Option(help="Where your copy of the course is, or is to be")] = Path("learn"),
) -> None:
    """Open your own copy of the course in JupyterLab: learn alone. Other options are JupyterLab's (--no-browser).

    The copy is yours: a newer version of a notebook that you have worked in is laid beside it.
    """
    from .files import WouldOverwrite
    from .learning.course_copy import lay_out, open_lab

    with _stopping(WouldOverwrite), _writing(folder):
        for notebook in lay_out(folder):
            _print(f"There is a newer version beside a notebook of yours: {notebook}")
    open_lab(folder, others.args)


@app.command()
def demo(no_sandbox: Unsandboxed = False) -> None:
    """Release into classroom/demo, submit for a sample class, mark it through nbgrader, and check the marks."""
    from .demo import run
    from .files import WouldOverwrite
    from .nbgrader_plugin.converters import refuse_elsewhere

    refuse_elsewhere()
    course.package()  # raises NoCourse where there is none
    with _printing_errors(), _stopping(WouldOverwrite):
        right = run(console, no_sandbox)
    if not right:
        console.print("[bold red]Not every mark is what the sample class deserves.[/]")
        raise typer.Exit(1)
    console.print("[bold green]Every mark is what the sample class deserves.[/]")


def run() -> None:
    """Run a command. Print one sentence if it needs a course and there is none."""
    try:
        app()
    except course.NoCourse as reason:
        _print(str(reason), style="bold red")
        sys.exit(1)


if __name__ == "__main__":
    run()
