"""nbgrader in this process, without the start-up of a command: with this course's configuration, for any classroom."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from sqlalchemy.exc import SAWarning

from ..asked.course import course


def settings(classroom: str) -> NbGraderApp:
    """nbgrader with this folder's nbgrader_config.py, and the term's data in `classroom`."""
    os.environ["COURSE_CLASSROOM"] = classroom
    # nbgrader makes submissions by objects that know their parents before these know them; for its authors to mend
    warnings.filterwarnings("ignore", category=SAWarning, module=r"nbgrader\.")
    app = NbGraderApp()
    with contextlib.chdir(course().root):  # where it looks for its configuration
        app.initialize([])
    for handler in list(app.log.handlers):  # what it logs is kept, and shown if something stops
        app.log.removeHandler(handler)
    app.log.propagate = False
    return app


def release(classroom: str, notebooks: list[str]) -> None:
    """Generate the assignments, and make them known to the gradebook."""
    app = settings(classroom)
    for notebook in notebooks:
        app.coursedir.assignment_id, app.coursedir.student_id = notebook, "."
        converter = GenerateAssignment(coursedir=app.coursedir, parent=app, force=True)
        log = io.StringIO()
        handler = logging.StreamHandler(log)
        converter.log.addHandler(handler)
        try:
            converter.start()
        except NbGraderException as error:
            raise RuntimeError(f"{notebook} could not be released: {error}\n{log.getvalue()}") from error
        finally:
            converter.log.removeHandler(handler)
