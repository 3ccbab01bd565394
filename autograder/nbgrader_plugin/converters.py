"""Run nbgrader in this process, without starting a command: with this course's configuration, for any classroom."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from sqlalchemy.exc import SAWarning

from ..spec.course import root
from .release.generate import WouldOverwrite, register_assignment


def settings(classroom: str) -> NbGraderApp:
    """Return nbgrader's application with this course's nbgrader_config.py, and the term's data in `classroom`."""
    os.environ["COURSE_CLASSROOM"] = classroom
    # nbgrader gives new submissions a parent before the parent lists them; only its own authors can fix that
    warnings.filterwarnings("ignore", category=SAWarning, module=r"nbgrader\.")
    app = NbGraderApp()
    with contextlib.chdir(root()):  # nbgrader looks for its configuration in the current folder
        app.initialize([])
    app.log.handlers.clear()  # its log is collected instead, and shown if it fails
    app.log.propagate = False
    return app


def release(classroom: str, notebooks: Sequence[str], overwrite: bool = False) -> None:
    """Generate all the assignments, or none, and add them to the gradebook. Raise RuntimeError if nbgrader fails.

    Raise WouldOverwrite if somebody changed a released folder; with `overwrite`, keep a copy of that folder and go on.
    """
    app = settings(classroom)
    app.config.ReleaseExporter.overwrite = overwrite
    app.coursedir.student_id = "."

    def converter(notebook: str) -> GenerateAssignment:
        app.coursedir.assignment_id = notebook
        return GenerateAssignment(coursedir=app.coursedir, parent=app, force=True)

    for notebook in () if overwrite else notebooks:
        with _raising_with_log(app, notebook):
            unstarted = converter(notebook)
            unstarted.init_notebooks()
            unstarted.exporter_class(parent=unstarted, config=unstarted.config)  # refuses to empty a folder with edits
    for notebook in notebooks:
        with _raising_with_log(app, notebook):
            converter(notebook).start()


def register_assignments(app: NbGraderApp, notebooks: Iterable[str]) -> None:
    """Add the assignments to the gradebook; leave the released notebooks as they are. Raise RuntimeError on failure."""
    for notebook in notebooks:
        with _raising_with_log(app, notebook):
            register_assignment(app.coursedir, app, notebook)


@contextlib.contextmanager
def _raising_with_log(app: NbGraderApp, notebook: str) -> Iterator[None]:
    """Turn nbgrader's errors in the `with` block into a RuntimeError that includes its log."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    app.log.addHandler(handler)
    try:
        yield
    except WouldOverwrite:
        raise
    except NbGraderException as error:
        raise RuntimeError(f"{notebook} could not be released: {error}\n{log.getvalue()}") from error
    finally:
        app.log.removeHandler(handler)
