"""Read tables of students: those of Canvas and Moodle, matched to the gradebook's students, and the classroom's names.

The columns that identify students are those in the sources of Canvas (github.com/instructure/canvas-lms,
lib/gradebook_importer.rb) and Moodle (docs.moodle.org/405/en/Grade_import; mod/assign/feedback/offline).
"""

import codecs
import csv
import io
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbgrader.api import Gradebook, Student

from .locking import make_ready

NAMED_DELIMITER = re.compile(r"sep=(.)\r?\n")  # a first line for Excel
NAMES = "students.csv"  # in the classroom, in the format of `nbgrader db student import`


class Unusable(Exception):
    """Raised for an unusable file or option; the message says why and what to do."""


@dataclass(frozen=True)
class Person:
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
    return [
        Person(s.id, *((text or "").strip() for text in (s.first_name, s.last_name, s.email, s.lms_user_id)))
        for s in gradebook.db.query(Student).order_by(Student.id)
    ]


def warn(log: logging.Logger, names: Iterable[object], what: str, things: str = "Students") -> None:
    """Log a warning with the names and their count; nothing without names."""
    if listed := [str(name) for name in names]:
        log.warning("%s %s (%d): %s", things, what, len(listed), "; ".join(listed))


@dataclass
class Table:
    """The cells of a CSV file, with its delimiter and byte order mark, so that it can be written back unchanged."""

    header: list[str]
    rows: list[list[str]]
    delimiter: str = ","
    bom: bool = False
    headings: Mapping[str, str] = field(default_factory=dict)  # names of columns here, by English name

    def column(self, name: str) -> int | None:
        """Return the index of the column with this English name, ignoring case; None if there is none."""
        heading = _same(self.headings.get(name, name))
        return next((index for index, found in enumerate(self.header) if _same(found) == heading), None)

    def cell(self, row: list[str], name: str) -> str:
        index = self.column(name)
        return row[index].strip() if index is not None else ""

    def text(self) -> str:
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=self.delimiter, lineterminator="\n").writerows([self.header, *self.rows])
        return ("\ufeff" if self.bom else "") + out.getvalue()


def read(path: Path, headings: Mapping[str, str] | None = None, min_columns: int = 2) -> Table:
    """Read a CSV file with commas, semicolons or tabs, and at least `min_columns` columns, as spreadsheets save it.

    It is UTF-8, or UTF-16 with a byte order mark (Excel's “Unicode text”). Raise Unusable if it cannot be read.
    """
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise Unusable(f"{path} cannot be read: {problem.strerror}.") from None
    try:
        utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = raw.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        raise Unusable(
            f"{path} is not UTF-8. Download it again and leave it as it is, or let your spreadsheet save “CSV UTF-8”."
        ) from None
    if named := NAMED_DELIMITER.match(text):
        text = text[named.end() :]
    first = text.partition("\n")[0]
    delimiter = named[1] if named else max(",;\t", key=first.count)
    try:
        header, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)) or [[]]
    except csv.Error as problem:
        raise Unusable(f"{path} is not a CSV file: {problem}.") from None
    if len(header) < min_columns:
        raise Unusable(f"{path} is not a table: its first line, “{first[:60]}”, does not name columns.")
    rows = [row + [""] * (len(header) - len(row)) for row in rows if any(cell.strip() for cell in row)]
    for row in rows:
        if len(row) > len(header):
            raise Unusable(f"{path}: the row of “{row[0]}” has {len(row)} cells, and there are {len(header)} columns.")
    bom = raw.startswith(codecs.BOM_UTF8)
    return Table([heading.strip() for heading in header], rows, delimiter, bom, headings or {})


def _same(text: str) -> str:
    return " ".join(text.split()).casefold()


Key = tuple[str, Callable[[Person], str]]  # a column, and a function: its value for the student must equal the cell


def collected(system: str) -> Callable[[Person], str]:
    """Return a function that gives the number in the id that `zip_collect` gave to an unknown student, else ""."""
    return lambda person: person.id.removeprefix(f"{system}-") if person.id.startswith(f"{system}-") else ""


# The first match counts: a student's number in the system is more reliable than a login, and a login than an address.
CANVAS_KEYS: tuple[Key, ...] = (
    ("ID", lambda person: person.lms),
    ("SIS Login ID", lambda person: person.id),
    ("SIS User ID", lambda person: person.id),
    ("SIS User ID", lambda person: person.lms),
    ("SIS Login ID", lambda person: person.email),
    ("Integration ID", lambda person: person.id),
    ("ID", collected("canvas")),
    ("ID", lambda person: "" if person.lms else person.id),
)
MOODLE_KEYS: tuple[Key, ...] = (
    ("Username", lambda person: person.id),
    ("ID number", lambda person: person.lms),
    ("ID number", lambda person: person.id),
    ("Email address", lambda person: person.email),
    ("Email address", lambda person: person.id),
    ("Identifier", collected("moodle")),
)


def match(
    table: Table, indexes: Iterable[int], known: list[Person], keys: Sequence[Key]
) -> tuple[dict[int, Person], dict[int, str]]:
    """Return the students of these rows, and the problems of ambiguous ones, both by the row's index."""
    students: dict[int, Person] = {}
    problems: dict[int, str] = {}
    persons = defaultdict(list)  # by key and value
    for priority, (_, value_of) in enumerate(keys):
        for person in known:
            if value := _same(value_of(person)):
                persons[priority, value].append(person)
    for index in indexes:
        cells = {column: key_cell(column, table.cell(table.rows[index], column)) for column, _ in keys}
        hits = ((column, persons.get((priority, _same(cells[column])))) for priority, (column, _) in enumerate(keys))
        column, found = next((hit for hit in hits if hit[1]), ("", None))
        if not found:
            continue
        person, cell = found[0], f"{column} {cells[column]}"
        numbers = {_same(value) for value in cells.values()}
        if len(found) > 1:
            problems[index] = f"{cell} is that of {len(found)} students"
        elif cells.get("ID") and person.lms and _same(person.lms) not in numbers:
            problems[index] = f"{cell} is that of {person.id}, whose lms_user_id is {person.lms}"
        else:
            students[index] = person
    rows_of = defaultdict(list)
    for index, person in students.items():
        rows_of[person.id].append(index)
    for student, twice in rows_of.items():
        for index in twice if len(twice) > 1 else ():
            del students[index]
            problems[index] = f"{len(twice)} rows mean {student}"
    return students, problems


def key_cell(column: str, cell: str) -> str:
    """Return the value that identifies a student: of Moodle's Identifier, such as “Participant 123”, the number."""
    number = re.search(r"\d+$", cell)
    return number[0] if column == "Identifier" and number else cell


def take_names(db_url: str, course_id: str, table: Path, log: logging.Logger) -> None:
    """Add the table's students to the gradebook, and fill in their missing names. Without a table, do nothing."""
    if table.is_file():
        try:
            enter(db_url, course_id, table, log)
        except Unusable as reason:
            log.warning("Students have no names: %s", reason)


def enter(db_url: str, course_id: str, table: Path, log: logging.Logger) -> int:
    """Add the table's students to the gradebook, and fill in what it does not say of them; return their number.

    Of a student with several rows only that is taken in which they agree. Raise Unusable if the table cannot be read.
    """
    found = read(table, min_columns=1)
    if found.column("id") is None:
        raise Unusable(f"{table} has no column `id`; students.example.csv shows how.")
    listed: dict[str, list[list[str]]] = defaultdict(list)
    for row in found.rows:
        if name := found.cell(row, "id"):
            listed[name].append(row)
    twice = [name for name, rows in listed.items() if len(rows) > 1]
    warn(log, twice, f"are in {table} more than once; only that is taken in which their rows agree")
    numbers = Counter(number for rows in listed.values() for number in {found.cell(row, "lms_user_id") for row in rows})
    shared = [number for number, count in numbers.items() if number and count > 1]
    warn(log, shared, f"in {table} are those of several students, so exports pass over them", "Values of lms_user_id")
    make_ready(db_url, course_id, listed)
    with Gradebook(db_url, course_id) as book:
        for student in book.db.query(Student).filter(Student.id.in_(listed)):
            for column in ("first_name", "last_name", "email", "lms_user_id"):
                values = {found.cell(row, column) for row in listed[student.id]}
                if len(values) == 1 and values != {""} and not getattr(student, column):
                    setattr(student, column, values.pop())
        book.db.commit()
    return len(listed)
