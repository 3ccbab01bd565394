"""All verdicts as one tidy table: a row for each student, exercise and check, for everybody's own analysis."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..report.data import Answer, ClassData

COLUMNS = {  # and their types; for Parquet, where an empty column has one too
    "assignment": "string",
    "student": "string",
    "name": "string",
    "exercise": "string",
    "kind": "string",  # exercise, question, written
    "answered": "bool",
    "exercise_points": "float64",
    "exercise_earned": "float64",  # by the gradebook: a person's mark goes before the judge's
    "needs_person": "bool",
    "check": "string",
    "points": "float64",  # what the check is worth
    "passed": "bool",  # empty: nobody has decided
    "message": "string",
    "mistakes": "string",  # names of the mistakes that explain it, with ; between them
    "remark": "string",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")


class NoParquet(Exception):
    """What writes Parquet is not installed; the sentence says what to do."""


def rows(data: ClassData) -> Iterator[dict[str, Any]]:
    for assignment in data.assignments:
        for answer in assignment.answers:
            yield from _rows(assignment.name, answer, data.names.get(answer.student, ""))


def _rows(assignment: str, answer: Answer, name: str) -> Iterator[dict[str, Any]]:
    weights = sum(line.weight for line in answer.lines)
    for line in answer.lines:
        mistakes = [one.name for one in answer.diagnosed if line.title in one.checks]
        values = (
            *(assignment, answer.student, name, answer.exercise, answer.kind, answer.answered),
            *(answer.points, answer.earned, answer.waits),
            *(line.title, answer.points * line.weight / weights if weights else 0.0, line.passed, line.message),
            *(";".join(mistakes), answer.remark),
        )
        yield dict(zip(COLUMNS, values, strict=True))


def write_csv(data: ClassData, path: Path) -> int:
    """The table as CSV in UTF-8. Text that a spreadsheet would take for a formula gets an apostrophe before it."""
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows(data):
            writer.writerow({column: _cell(value) for column, value in row.items()})
            count += 1
    return count


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def write_parquet(data: ClassData, path: Path) -> int:
    """The table as Parquet, if pyarrow is there: at fifty megabytes it is not worth having for this alone."""
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise NoParquet("Parquet files are written by pyarrow, which is not installed: pip install pyarrow") from None
    types = {"string": arrow.string(), "bool": arrow.bool_(), "float64": arrow.float64()}
    schema = arrow.schema([(column, types[kind]) for column, kind in COLUMNS.items()])
    table = arrow.Table.from_pylist(list(rows(data)), schema=schema)
    parquet.write_table(table, path)
    return table.num_rows
