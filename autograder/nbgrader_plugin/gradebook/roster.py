"""Read the tables that Canvas and Moodle export, and match their rows to the gradebook's students.

Sources on the columns' names, and on the columns by which each system identifies students on import:
Canvas, https://teaching.resources.osu.edu/toolsets/carmencanvas/guides/calculating-final-grades/import-csv-file-carmen-grades
and its source (github.com/instructure/canvas-lms, lib/gradebook_importer.rb): ID, SIS User ID, SIS Login ID, the name;
Moodle, https://docs.moodle.org/405/en/Grade_import (useridnumber, useremail, username; one unknown student makes it
refuse the whole file), and its source (github.com/moodle/moodle, mod/assign/feedback/offline): the worksheet's
Identifier.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import Gradebook, Student


class Unusable(Exception):
    """Raised for an unusable file or option; the message says why and what to do."""


@dataclass(frozen=True)
class Person:
    """A student of the gradebook."""

    id: str
    first: str = ""
    last: str = ""
    email: str = ""
    lms: str = ""  # the student's number in the learning-management system

    def __str__(self) -> str:
        name = f"{self.first} {self.last}".strip()
        return f"{name} ({self.id})" if name else self.id


def people(gradebook: Gradebook) -> list[Person]:
    """Return all students of the gradebook, in the order of their ids."""
    known = gradebook.db.query(Student).order_by(Student.id)
    texts = ([s.id, s.first_name, s.last_name, s.email, s.lms_user_id] for s in known)
    return [Person(*((text or "").strip() if place else text for place, text in enumerate(row))) for row in texts]


# --- tables -----------------------------------------------------------------------------------------------------------


@dataclass
class Table:
    """The cells of a CSV file, with its delimiter and byte order mark, so that it can be written back unchanged."""

    header: list[str]
    rows: list[list[str]]
    delimiter: str = ","
    bom: bool = False
    called: Mapping[str, str] = field(default_factory=dict)  # names of columns here, by English name

    def column(self, name: str) -> int | None:
        """Return the index of the column with this English name, ignoring case; None if there is none."""
        heading = _same(self.called.get(name, name))
        return next((place for place, found in enumerate(self.header) if _same(found) == heading), None)

    def cell(self, row: list[str], name: str) -> str:
        place = self.column(name)
        return row[place].strip() if place is not None else ""

    def text(self) -> str:
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=self.delimiter, lineterminator="\n").writerows([self.header, *self.rows])
        return ("\ufeff" if self.bom else "") + out.getvalue()


def read(path: Path, called: Mapping[str, str] | None = None) -> Table:
    """Read a CSV file in UTF-8, with or without a byte order mark, with commas, semicolons or tabs.

    Raise Unusable if it cannot be read or is no such table.
    """
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise Unusable(f"{path} cannot be read: {problem.strerror}.") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unusable(
            f"{path} is not UTF-8. Download it again and leave it as it is, or let your spreadsheet save “CSV UTF-8”."
        ) from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        header, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)) or [[]]
    except csv.Error as problem:
        raise Unusable(f"{path} is not a CSV file: {problem}.") from None
    if len(header) < 2:
        raise Unusable(f"{path} is not a table: its first line, “{first[:60]}”, does not name columns.")
    rows = [row + [""] * (len(header) - len(row)) for row in rows if any(cell.strip() for cell in row)]
    for row in rows:
        if len(row) > len(header):
            raise Unusable(f"{path}: the row of “{row[0]}” has {len(row)} cells, and there are {len(header)} columns.")
    return Table(
        [heading.strip() for heading in header], rows, delimiter, raw.startswith(b"\xef\xbb\xbf"), called or {}
    )


def _same(text: str) -> str:
    return " ".join(text.split()).casefold()


# --- matching ---------------------------------------------------------------------------------------------------------

Key = tuple[str, Callable[[Person], str]]  # a column, and a function: its value for the student must equal the cell


def collected(system: str) -> Callable[[Person], str]:
    """Return a function that gives the number in the id that `zip_collect` gave to an unknown student, else ""."""
    return lambda person: person.id.removeprefix(f"{system}-") if person.id.startswith(f"{system}-") else ""


# The first match counts: a student's number in the system is more reliable than a login, and a login than an address.
CANVAS: tuple[Key, ...] = (
    ("ID", lambda person: person.lms),
    ("SIS Login ID", lambda person: person.id),
    ("SIS User ID", lambda person: person.id),
    ("SIS User ID", lambda person: person.lms),
    ("SIS Login ID", lambda person: person.email),
    ("Integration ID", lambda person: person.id),
    ("ID", collected("canvas")),
    ("ID", lambda person: "" if person.lms else person.id),
)
MOODLE: tuple[Key, ...] = (
    ("Username", lambda person: person.id),
    ("ID number", lambda person: person.lms),
    ("ID number", lambda person: person.id),
    ("Email address", lambda person: person.email),
    ("Email address", lambda person: person.id),
    ("Identifier", collected("moodle")),
)


@dataclass
class Matches:
    """The student of each row, and the problems of rows without one."""

    person: dict[int, Person] = field(default_factory=dict)  # by the row's index
    problems: dict[int, str] = field(default_factory=dict)


def match(table: Table, places: Iterable[int], known: Iterable[Person], keys: Iterable[Key]) -> Matches:
    """Return the students of the rows at these indexes. An ambiguous row gets a problem instead of a student."""
    known, keys, result = list(known), list(keys), Matches()
    indexes = [(column, _index(known, of)) for column, of in keys]
    for place in places:
        _match_row(table, place, indexes, result)
    meant: dict[str, list[int]] = {}
    for place, person in result.person.items():
        meant.setdefault(person.id, []).append(place)
    for student, twice in meant.items():
        for place in twice if len(twice) > 1 else ():
            del result.person[place]
            result.problems[place] = f"{len(twice)} rows mean {student}"
    return result


def _index(known: list[Person], of: Callable[[Person], str]) -> dict[str, list[Person]]:
    index: dict[str, list[Person]] = {}
    for person in known:
        if of(person):
            index.setdefault(_same(of(person)), []).append(person)
    return index


def _match_row(table: Table, place: int, indexes: list[tuple[str, dict[str, list[Person]]]], result: Matches) -> None:
    row = table.rows[place]
    cells = {column: key_cell(column, table.cell(row, column)) for column, _ in indexes}
    for column, index in indexes:
        found = index.get(_same(cells[column]), []) if cells[column] else []
        if len(found) > 1:
            result.problems[place] = f"{column} {cells[column]} is that of {len(found)} students"
            return
        if found:
            [person] = found
            numbers = {_same(cell) for cell in cells.values()}
            if cells.get("ID") and person.lms and _same(person.lms) not in numbers:
                result.problems[place] = (
                    f"{column} {cells[column]} is that of {person.id}, whose lms_user_id is {person.lms}"
                )
            else:
                result.person[place] = person
            return


def key_cell(column: str, cell: str) -> str:
    """Return the cell by which to match. Of Moodle's Identifier, “Participant 123” in any language, take the number."""
    number = re.search(r"\d+$", cell)
    return number[0] if column == "Identifier" and number else cell
