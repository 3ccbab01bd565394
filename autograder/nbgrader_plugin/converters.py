"""Run nbgrader in this process, without starting a command: with the course's configuration, for any classroom."""

import contextlib
import glob
import io
import logging
import os
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import BaseConverter, NbGraderException
from sqlalchemy.exc import SAWarning

from ..close_names import did_you_mean
from ..files import listed
from ..plain_output import Tracker, untracked
from ..spec.course import NO_COURSE, SETTINGS, NoCourse, course, notebooks, root
from .configuration import mark_with_autograder
from .release.generate import (
    Refused,
    ReleaseExporter,
    changed_settings,
    enter_in_gradebook,
    publish,
    refuse_changed_cells,
    register_assignment,
    without_gradebook,
)


def settings(classroom: str, scratch: bool = False) -> NbGraderApp:
    """Return nbgrader's application with the course's nbgrader_config.py, and this engine's plug-ins if it names none.

    `classroom` holds the term's data where the file calls `configure`. With `scratch` it holds them in any case, for
    this application only. Raise NoCourse if a configuration cannot be run: nbgrader would go on without it.
    """
    usual = os.environ.get("COURSE_CLASSROOM", "classroom")
    os.environ["COURSE_CLASSROOM"] = classroom
    # nbgrader gives new submissions a parent before the parent lists them; only its own authors can fix that
    warnings.filterwarnings("ignore", category=SAWarning, module=r"nbgrader\.")
    app = NbGraderApp(raise_config_file_errors=True)
    with contextlib.chdir(root()):  # nbgrader looks for its configuration in the current folder
        try:
            app.initialize([])
        except Exception as error:  # a configuration may raise anything
            raise NoCourse(_why_not_run(error)) from error
        finally:
            if scratch:
                os.environ["COURSE_CLASSROOM"] = usual
        if "exporter_class" not in app.config.Autograde:
            mark_with_autograder(app.config)
    if scratch:
        for step in ("submitted", "autograded", "feedback"):
            setattr(app.coursedir, f"{step}_directory", os.path.join(classroom, step))
        app.coursedir.db_url = f"sqlite:///{classroom}/gradebook.db"
    app.log.handlers.clear()  # its log is collected instead, and shown if it fails
    app.log.propagate = False
    return app


def _why_not_run(error: Exception) -> str:
    """Return a sentence with the file and line of a configuration that could not be run, or the folder it needs."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename} cannot be used: {error.strerror}. Fix that, or name another."
    lines = [at for at in traceback.extract_tb(error.__traceback__) if Path(at.filename).name.endswith("_config.py")]
    where = f"{lines[-1].filename}, line {lines[-1].lineno}" if lines else str(root() / SETTINGS)
    return f"{where} cannot be run: {type(error).__name__}: {error}. Fix it, then give the same command again."


def refuse_elsewhere() -> None:
    """Raise NoCourse unless a configuration names a course: in this folder, one above it, or the user's own."""
    here, top = Path.cwd(), root()
    if (top / SETTINGS).is_file() and here.is_relative_to(top):
        return
    app = NbGraderApp(log_level=logging.CRITICAL)
    app.initialize([])
    if "root" not in app.config.CourseDirectory:
        make = "nbgrader quickstart NAME" if course() is NO_COURSE else "autograder init FOLDER"
        raise NoCourse(
            f"There is no course here: no {SETTINGS} lies in {here} or in a folder above it. Go to your course's "
            f"folder with `cd`, or make one with `{make}`."
        )


def folder_of(app: NbGraderApp) -> Path:
    """Return the folder that holds the term's data: the one in which the folder of submissions lies."""
    return Path(app.coursedir.format_path(app.coursedir.submitted_directory, "x", "y")).parents[2]


def sources_of(app: NbGraderApp) -> Path:
    """Return the folder of the source notebooks."""
    return Path(app.coursedir.format_path(app.coursedir.source_directory, ".", "x")).parent


def assignments(app: NbGraderApp, wanted: Sequence[str] = ()) -> list[str]:
    """Return the wanted assignments, or all: the course's notebooks and others. Raise ValueError if one is unknown."""
    folders = app.coursedir
    steps = (folders.source_directory, folders.release_directory)
    found = {
        Path(path).parent.name for step in steps for path in glob.glob(folders.format_path(step, ".", "*/*.ipynb"))
    }
    known = [*notebooks(), *sorted(found - set(notebooks()))]
    if missing := [name for name in wanted if name not in known]:
        here = [name for name in known if name in found] or known  # an installed course may have none in this folder
        there = f" There are {', '.join(here)}." if here else f" No notebooks lie in {folders.source_directory}/."
        raise ValueError(f"there is no assignment {missing[0]!r}.{did_you_mean(missing[0], known) or there}")
    return list(dict.fromkeys(wanted)) or known


def release(classroom: str, chosen: Sequence[str]) -> None:
    """Generate all the assignments, or none, and add them to the gradebook. Raise as `prepare_release` does."""
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        prepare_release(settings(classroom), chosen, Path(scratch))()


def prepare_release(
    app: NbGraderApp, chosen: Sequence[str], scratch: Path, sources: Path | None = None, track: Tracker = untracked
) -> Callable[[], None]:
    """Generate the assignments in the folder `scratch`; return a function that releases them.

    `sources` is the folder of the source notebooks, if not the configured one. Raise RuntimeError if nbgrader fails,
    and Refused if releasing would lose edits, or cells' ids, or if the gradebook would not take it.
    """
    own = changed_settings(app.coursedir, **({"source_directory": str(sources)} if sources else {}))
    temporary = changed_settings(own, release_directory=str(scratch / "release"))
    released, generated = (GenerateAssignment(coursedir=one, parent=app, force=True) for one in (own, temporary))
    exporter = ReleaseExporter(config=app.config)
    with _raising_with_log(app, listed([*chosen])):
        edited = exporter.refuse(released, chosen)
    without_gradebook(generated)
    for notebook in track(chosen, "generating"):
        with _raising_with_log(app, notebook):
            temporary.assignment_id = notebook
            generated.start()
            refuse_changed_cells(generated, notebook)

    def write() -> None:
        for notebook in track(chosen, "entering in the gradebook"):
            with _raising_with_log(app, notebook):
                enter_in_gradebook(own, app, notebook)
        exporter.keep_copies(edited)
        publish(chosen, generated, released)

    return write


def register_assignments(app: NbGraderApp, names: Sequence[str], track: Tracker = untracked) -> None:
    """Add the assignments to the gradebook; leave the released notebooks as they are. Raise RuntimeError on failure."""
    for name in track(names, "generating"):
        with _raising_with_log(app, name):
            register_assignment(app.coursedir, app, name)


@contextlib.contextmanager
def _raising_with_log(app: NbGraderApp, notebook: str) -> Iterator[None]:
    """Turn nbgrader's errors in the `with` block into a RuntimeError that includes its log."""
    with logged(app) as log:
        try:
            yield
        except Refused:
            raise
        except NbGraderException as error:
            raise RuntimeError(f"{notebook} could not be released: {error}\n{log.getvalue()}") from error


@contextlib.contextmanager
def logged(logger: NbGraderApp | BaseConverter) -> Iterator[io.StringIO]:
    """Yield a buffer that collects what nbgrader logs in the `with` block."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logger.log.addHandler(handler)
    try:
        yield log
    finally:
        logger.log.removeHandler(handler)
