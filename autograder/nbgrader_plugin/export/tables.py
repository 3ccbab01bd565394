"""`autograder export`: write marks, or the checks of all answers, as a table. A sentence says what is left out."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from ...files import WouldOverwrite, refuse_another
from ...plain_output import Tracker
from ..gradebook.roster import Unusable
from ..report.data import chosen_assignments, collect_class
from ..report.marks import folders, read_marks
from .lms import CanvasExport, CsvExport, MarksExport, MoodleExport, ParquetExport, refuse_published
from .verdict_table import COLUMNS, write_csv, write_parquet

EXPORTERS = {"canvas": CanvasExport, "moodle": MoodleExport, "csv": CsvExport, "parquet": ParquetExport}
CHECKS = {"csv": (write_csv, ",".join(COLUMNS)), "parquet": (write_parquet, "PAR1")}  # and how such a file begins

Line = tuple[str, bool]  # a sentence, and whether it is about something to look at


class Lines(logging.Handler):
    """Collects what a logger of its own is told."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Line] = []
        self.log = logging.Logger("lines")
        self.log.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append((record.getMessage(), record.levelno > logging.INFO))


def _config(course: CourseDirectory) -> Config:
    """Return the configuration from which the folders come; an empty one where only folders are named."""
    return course.parent.config if course.parent is not None else Config()


def export_marks(
    kind: str, wanted: Sequence[str], options: Mapping[str, Any], classroom: Path | None, db_url: str | None
) -> list[Line]:
    """Write the marks of these assignments, or of all that are marked; return what the exporter has to say.

    Raise NoClass if nothing is marked, and Unusable or NoParquet if the table cannot be written: it stays as it was.
    """
    course = folders(classroom and classroom.resolve(), db_url)
    chosen = chosen_assignments(course, read_marks(course.db_url)[1], wanted)
    lines = Lines()
    exporter = EXPORTERS[kind](config=_config(course), log=lines.log, assignment=list(wanted), student=[], **options)
    exporter.marked = chosen
    try:
        with Gradebook(course.db_url, course.course_id) as gradebook:
            exporter.export(gradebook)
    except OSError as error:
        raise Unusable(f"{error.filename} cannot be written: {error.strerror}.") from None
    return lines.heard


def export_checks(
    kind: str,
    wanted: Sequence[str],
    to: Path | None,
    classroom: Path | None,
    db_url: str | None,
    track: Tracker,
) -> list[Line]:
    """Write a row for each check of each answer; return where it is, and whose notebook could not be read.

    Raise as `export_marks` does.
    """
    course = folders(classroom and classroom.resolve(), db_url)
    path = to or Path(MarksExport(config=_config(course)).folder, f"checks.{kind}")
    write, beginning = CHECKS[kind]
    try:
        refuse_published(path)
        refuse_another(path, beginning, "table of checks that autograder wrote")
        data = collect_class(classroom, wanted, db_url, track)
        count = write(data, path)
    except WouldOverwrite as reason:
        raise Unusable(f"{reason}.") from None
    except OSError as error:
        raise Unusable(f"{error.filename} cannot be written: {error.strerror}.") from None
    unread = [(one.name, ", ".join(one.unreadable)) for one in data.assignments if one.unreadable]
    remarks = [
        f"Marked notebooks of {name} cannot be read, so their checks are not in it: {who}" for name, who in unread
    ]
    return [*((remark, True) for remark in remarks), (f"{count} rows are in {path}", False)]
