"""Take students' names from a table in the classroom; Formgrader, reports and feedback pages show them."""

from __future__ import annotations

import csv
import logging
from pathlib import Path

from nbgrader.api import Gradebook, Student

from .locking import make_ready

TABLE = "students.csv"  # in the classroom, in the format of `nbgrader db student import`
COLUMNS = ("first_name", "last_name", "email", "lms_user_id")


def take_names(db_url: str, course_id: str, table: Path, log: logging.Logger) -> None:
    """Add the table's students to the gradebook, and fill in their missing names. Without a table, do nothing."""
    if not table.is_file():
        return
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        log.warning("%s cannot be read, so students have no names: %s. Save it as CSV in UTF-8.", table, error)
        return
    if rows and "id" not in rows[0]:
        log.warning("%s has no column `id`, so students have no names; students.example.csv shows how.", table)
        return
    listed = {name: row for row in rows if (name := (row["id"] or "").strip())}
    make_ready(db_url, course_id, listed)
    with Gradebook(db_url, course_id) as book:
        for student in book.db.query(Student).filter(Student.id.in_(listed)):
            for column in COLUMNS:
                value = (listed[student.id].get(column) or "").strip()
                if value and not getattr(student, column):
                    setattr(student, column, value)
        book.db.commit()
