"""Who is who: the tables that Canvas and Moodle hand out, and which of the gradebook's students a row means.

What the columns are called, and by which of them the systems know a student again when a table comes back:
Canvas, https://teaching.resources.osu.edu/toolsets/carmencanvas/guides/calculating-final-grades/import-csv-file-carmen-grades
and its source (github.com/instructure/canvas-lms, lib/gradebook_importer.rb): ID, SIS User ID, SIS Login ID, the name;
Moodle, https://docs.moodle.org/405/en/Grade_import (useridnumber, useremail, username; one unknown student, and the
whole file is refused), and its source (github.com/moodle/moodle, mod/assign/feedback/offline): the worksheet's
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


class Unfit(Exception):
    """A file or an option that nothing can be done with; the sentence says why and what to do."""


@dataclass(frozen=True)
class Person:
    """A student of the gradebook."""

    id: str
    first: str = ""
    last: str = ""
    email: str = ""
    lms: str = ""  # the learning-management system's number for them

    def __str__(self) -> str:
        name = f"{self.first} {self.last}".strip()
        return f"{name} ({self.id})" if name else self.id


def people(gradebook: Gradebook) -> list[Person]:
    """All students of the gradebook, in the order of their ids."""
    known = gradebook.db.query(Student).order_by(Student.id)
    texts = ([s.id, s.first_name, s.last_name, s.email, s.lms_user_id] for s in known)
    return [Person(*((text or "").strip() if place else text for place, text in enumerate(row))) for row in texts]


# --- tables -----------------------------------------------------------------------------------------------------------


@dataclass
class Table:
    """A CSV file, cell by cell, with what it takes to write it back as it came."""

    header: list[str]
    rows: list[list[str]]
    delimiter: str = ","
    bom: bool = False
    called: Mapping[str, str] = field(default_factory=dict)  # columns' English names, and what they are called here

    def column(self, name: str) -> int | None:
        """Where the column of this name stands; capitals do not matter."""
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
    """The table in a CSV file: UTF-8 with or without a mark, with commas, semicolons or tabs."""
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise Unfit(f"{path} cannot be read: {problem.strerror}.") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unfit(
            f"{path} is not UTF-8. Download it again and leave it as it is, or let your spreadsheet save “CSV UTF-8”."
        ) from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        header, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)) or [[]]
    except csv.Error as problem:
        raise Unfit(f"{path} is not a CSV file: {problem}.") from None
    if len(header) < 2:
        raise Unfit(f"{path} is not a table: its first line, “{first[:60]}”, does not name columns.")
    rows = [row + [""] * (len(header) - len(row)) for row in rows if any(cell.strip() for cell in row)]
    for row in rows:
        if len(row) > len(header):
            raise Unfit(f"{path}: the row of “{row[0]}” has {len(row)} cells, and there are {len(header)} columns.")
    return Table(
        [heading.strip() for heading in header], rows, delimiter, raw.startswith(b"\xef\xbb\xbf"), called or {}
    )


def _same(text: str) -> str:
    return " ".join(text.split()).casefold()


# --- matching ---------------------------------------------------------------------------------------------------------

Key = tuple[str, Callable[[Person], str]]  # a column, and what of a student must equal its cell


def collected(system: str) -> Callable[[Person], str]:
    """The number under which `zip_collect` took in a student whom the gradebook did not know."""
    return lambda person: person.id.removeprefix(f"{system}-") if person.id.startswith(f"{system}-") else ""


# In this order: a student's number in the system says more than a login, and a login more than an address.
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
    """Which student each row means, and what stood in the way of the others."""

    person: dict[int, Person] = field(default_factory=dict)  # by the row's place
    problems: dict[int, str] = field(default_factory=dict)


def match(table: Table, places: Iterable[int], known: Iterable[Person], keys: Iterable[Key]) -> Matches:
    """Find the student of each row at these places. A row in doubt stays without one, and says why."""
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
    """Moodle writes “Participant 123”, in its own language; the number is what counts."""
    number = re.search(r"\d+$", cell)
    return number[0] if column == "Identifier" and number else cell
