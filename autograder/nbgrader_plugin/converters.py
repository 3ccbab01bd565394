"""Run nbgrader in this process, without starting a command: with the course's configuration, for any classroom."""

import contextlib
import glob
import io
import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import BaseConverter, NbGraderException
from sqlalchemy.exc import SAWarning

from ..spec.course import notebooks, root
from .configuration import mark_with_autograder
from .release.generate import WouldOverwrite, register_assignment


def settings(classroom: str, scratch: bool = False) -> NbGraderApp:
    """Return nbgrader's application with the course's nbgrader_config.py, and this engine's plug-ins if it names none.

    `classroom` holds the term's data where the file calls `configure`. With `scratch` it holds them in any case.
    """
    os.environ["COURSE_CLASSROOM"] = classroom
    # nbgrader gives new submissions a parent before the parent lists them; only its own authors can fix that
    warnings.filterwarnings("ignore", category=SAWarning, module=r"nbgrader\.")
    app = NbGraderApp()
    with contextlib.chdir(root()):  # nbgrader looks for its configuration in the current folder
        app.initialize([])
        if "exporter_class" not in app.config.Autograde:
            mark_with_autograder(app.config)
    if scratch:
        for step in ("submitted", "autograded", "feedback"):
            setattr(app.coursedir, f"{step}_directory", os.path.join(classroom, step))
        app.coursedir.db_url = f"sqlite:///{classroom}/gradebook.db"
    app.log.handlers.clear()  # its log is collected instead, and shown if it fails
    app.log.propagate = False
    return app


def folder_of(app: NbGraderApp) -> Path:
    """Return the folder that holds the term's data: the one in which the folder of submissions lies."""
    return Path(app.coursedir.format_path(app.coursedir.submitted_directory, "x", "y")).parents[2]


def assignments(app: NbGraderApp, wanted: Sequence[str] = ()) -> list[str]:
    """Return the `wanted` ones of the course's notebooks and other configured assignments, or all. Raise ValueError."""
    place = app.coursedir
    steps = (place.source_directory, place.release_directory)
    found = {Path(path).parent.name for step in steps for path in glob.glob(place.format_path(step, ".", "*/*.ipynb"))}
    known = [*notebooks(), *sorted(found - set(notebooks()))]
    if missing := [name for name in wanted if name not in known]:
        there = f"there are {', '.join(known)}" if known else f"no notebooks lie in {place.source_directory}/"
        raise ValueError(f"there is no assignment {missing[0]!r}; {there}")
    return list(dict.fromkeys(wanted)) or known


def release(classroom: str, chosen: Sequence[str], overwrite: bool = False) -> None:
    """Generate all the assignments, or none, and add them to the gradebook. Raise RuntimeError if nbgrader fails.

    Raise WouldOverwrite if somebody changed a released folder; with `overwrite`, keep a copy of that folder and go on.
    """
    app = settings(classroom)
    app.config.ReleaseExporter.overwrite = overwrite
    app.coursedir.student_id = "."

    def converter(notebook: str) -> GenerateAssignment:
        app.coursedir.assignment_id = notebook
        return GenerateAssignment(coursedir=app.coursedir, parent=app, force=True)

    for notebook in () if overwrite else chosen:
        with _raising_with_log(app, notebook):
            unstarted = converter(notebook)
            unstarted.init_notebooks()
            unstarted.exporter_class(parent=unstarted, config=unstarted.config)  # refuses to empty a folder with edits
    for notebook in chosen:
        with _raising_with_log(app, notebook):
            converter(notebook).start()


def register_assignments(app: NbGraderApp, names: Iterable[str]) -> None:
    """Add the assignments to the gradebook; leave the released notebooks as they are. Raise RuntimeError on failure."""
    for name in names:
        with _raising_with_log(app, name):
            register_assignment(app.coursedir, app, name)


@contextlib.contextmanager
def _raising_with_log(app: NbGraderApp, notebook: str) -> Iterator[None]:
    """Turn nbgrader's errors in the `with` block into a RuntimeError that includes its log."""
    with logged(app) as log:
        try:
            yield
        except WouldOverwrite:
            raise
        except NbGraderException as error:
            raise RuntimeError(f"{notebook} could not be released: {error}\n{log.getvalue()}") from error


@contextlib.contextmanager
def logged(one: NbGraderApp | BaseConverter) -> Iterator[io.StringIO]:
    """Give what nbgrader logs in the `with` block."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    one.log.addHandler(handler)
    try:
        yield log
    finally:
        one.log.removeHandler(handler)
