"""nbgrader's own converters in a process that stays: what each nbgrader command pays at its start is paid once.

A worker (`python -m autograder.grading.convert`) reads names of notebooks, a line each, and marks and writes feedback
for all that was handed in, as `nbgrader autograde` and `nbgrader generate_feedback` would. It says how far it is in
lines of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from nbgrader.apps.nbgraderapp import NbGraderApp
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.converters.base import BaseConverter

STEPS = 2  # that a submission goes through: marked, fed back


def settings(classroom: str) -> NbGraderApp:
    """nbgrader with this folder's nbgrader_config.py, and the term's data in `classroom`."""
    os.environ["COURSE_CLASSROOM"] = classroom
    app = NbGraderApp()
    app.initialize([])
    for handler in list(app.log.handlers):  # what it logs is kept, and shown if something stops
        app.log.removeHandler(handler)
    app.log.propagate = False
    return app


def convert(app: NbGraderApp, kind: type[BaseConverter], notebook: str, done: Callable[[str], None], **how: Any) -> str:
    """Run one of nbgrader's converters for a notebook; `done` hears of each student. Returns what it logged."""

    class Telling(kind):
        def convert_single_notebook(self, notebook_filename: str) -> None:
            super().convert_single_notebook(notebook_filename)
            done(os.path.basename(os.path.dirname(os.path.dirname(notebook_filename))))

    Telling.__name__ = kind.__name__  # nbgrader finds a converter's settings by the name of its class
    app.coursedir.assignment_id, app.coursedir.student_id = notebook, "*"
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    converter = Telling(coursedir=app.coursedir, parent=app, **how)
    converter.log.addHandler(handler)
    try:
        converter.start()
    except BaseException as error:
        raise RuntimeError(f"{kind.__name__} of {notebook} stopped: {error}\n{log.getvalue()}") from error
    finally:
        converter.log.removeHandler(handler)
    return log.getvalue()


def release(classroom: str, notebooks: list[str]) -> None:
    """Generate the assignments, and make them known to the gradebook."""
    app = settings(classroom)
    for notebook in notebooks:
        convert(app, GenerateAssignment, notebook, lambda _: None, force=True)


class Worker:
    """A process that marks whole notebooks, one after the other."""

    def __init__(self, classroom: str, root: str, *options: str) -> None:
        self.log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (a pipe would fill up and stall all)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "autograder.grading.convert", classroom, *options],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def mark(self, notebook: str) -> Iterator[dict]:
        """Messages: {"student": …, "step": …} as it goes on, and {"done": seconds} at the end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(notebook + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            message = json.loads(line)
            yield message
            if "done" in message:
                return
        self.log.seek(0)
        raise RuntimeError(f"marking {notebook} stopped:\n{self.log.read()[-10_000:]}")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.log.close()


def main() -> None:
    """The life of a worker."""
    classroom, *options = sys.argv[1:]
    app = settings(classroom)
    if "--no-sandbox" in options:
        app.config.Judge.sandbox = False
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**message: Any) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    for line in sys.stdin:
        notebook = line.strip()
        with contextlib.redirect_stdout(sys.stderr):
            convert(app, Autograde, notebook, lambda student: tell(student=student, step="marking"))
            convert(app, GenerateFeedback, notebook, lambda student: tell(student=student, step="writing feedback"))
        tell(done=notebook)


if __name__ == "__main__":
    main()
