"""Write all verdicts as one tidy table for further analysis: a row for each student, exercise and check."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...files import write_private
from ..privacy import groupshared
from ..report.data import ClassData
from .lms import as_text
from .parquet import as_parquet

COLUMNS = {  # with their types, which Parquet needs for empty columns too
    "assignment": "string",
    "student": "string",
    "name": "string",
    "exercise": "string",
    "kind": "string",  # exercise, question, written
    "answered": "bool",
    "exercise_points": "float64",
    "exercise_earned": "float64",  # from the gradebook: a manual mark replaces the judge's
    "needs_person": "bool",
    "check": "string",
    "points": "float64",  # of the check
    "passed": "bool",  # empty if not decided
    "message": "string",
    "mistakes": "string",  # names of the mistakes that explain it, separated by ;
    "remark": "string",
}


def rows(data: ClassData) -> Iterator[dict[str, Any]]:
    for assignment, answer in ((one.name, answer) for one in data.assignments for answer in one.answers):
        weights = sum(line.weight for line in answer.lines)
        for line in answer.lines:
            values = (
                *(assignment, answer.student, data.names.get(answer.student, ""), answer.exercise, answer.kind),
                *(answer.answered, answer.points, answer.earned, answer.waits),
                *(line.title, answer.points * line.weight / weights if weights else 0.0, line.passed, line.message),
                *(";".join(one.mistake for one in answer.diagnosed if line.title in one.checks), answer.remark),
            )
            yield dict(zip(COLUMNS, values, strict=True))


def write_csv(data: ClassData, path: Path) -> int:
    """Write the table as CSV in UTF-8, with an apostrophe before what a spreadsheet would run; return its length."""
    table = [[_cell(value) for value in row.values()] for row in rows(data)]
    file = io.StringIO(newline="")
    csv.writer(file).writerows([COLUMNS, *table])
    write_private(path, file.getvalue().encode(), groupshared())
    return len(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    return as_text("" if value is None else str(value))


def write_parquet(data: ClassData, path: Path) -> int:
    """Write the table as Parquet; return its length. Raise NoParquet without pyarrow."""
    table = list(rows(data))
    write_private(path, as_parquet(COLUMNS, table), groupshared())
    return len(table)
