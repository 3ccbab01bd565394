"""nbgrader in this process, without the start-up of a command: with this course's configuration, for any classroom."""

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
from .release.generate import WouldOverwrite, look_first, make_known


def settings(classroom: str) -> NbGraderApp:
    """nbgrader with this folder's nbgrader_config.py, and the term's data in `classroom`."""
    os.environ["COURSE_CLASSROOM"] = classroom
    # nbgrader makes submissions by objects that know their parents before these know them; for its authors to mend
    warnings.filterwarnings("ignore", category=SAWarning, module=r"nbgrader\.")
    app = NbGraderApp()
    with contextlib.chdir(root()):  # where it looks for its configuration
        app.initialize([])
    for handler in list(app.log.handlers):  # what it logs is kept, and shown if something stops
        app.log.removeHandler(handler)
    app.log.propagate = False
    return app


def release(classroom: str, notebooks: Sequence[str], overwrite: bool = False) -> None:
    """Generate the assignments, and make them known to the gradebook; all of them, or none.

    Raises WouldOverwrite where somebody wrote in a released folder, unless `overwrite`: then a copy of it is kept.
    """
    app = settings(classroom)
    app.config.ReleaseExporter.overwrite = overwrite
    app.coursedir.student_id = "."

    def converter(notebook: str) -> GenerateAssignment:
        app.coursedir.assignment_id = notebook
        return GenerateAssignment(coursedir=app.coursedir, parent=app, force=True)

    for notebook in () if overwrite else notebooks:
        with _heard(app, notebook):
            look_first(converter(notebook))
    for notebook in notebooks:
        with _heard(app, notebook):
            converter(notebook).start()


def know(app: NbGraderApp, notebooks: Iterable[str]) -> None:
    """Make the assignments known to the gradebook; what is released stays as it is."""
    for notebook in notebooks:
        with _heard(app, notebook):
            make_known(app.coursedir, app, notebook)


@contextlib.contextmanager
def _heard(app: NbGraderApp, notebook: str) -> Iterator[None]:
    """Raise a RuntimeError with what nbgrader logged where it gives up."""
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
