"""Export marks as nbgrader's CSV, and as import files for Canvas and Moodle: docs/canvas-and-moodle.md."""

import contextlib
import re
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin, ExportPlugin
from traitlets import Bool, Dict, Enum, Unicode

from ...files import WouldOverwrite, only_for_owner, private, refuse_another, write_private
from ...spec.course import SETTINGS
from ..gradebook.roster import CANVAS_KEYS, MOODLE_KEYS, Key, Person, Table, Unusable, match, people, read, warn
from ..privacy import groupshared
from .parquet import as_parquet

NBGRADER_COLUMNS = {  # with their types, which Parquet needs
    "assignment": "string",
    "duedate": "time",
    "timestamp": "time",
    **dict.fromkeys(("student_id", "last_name", "first_name", "email"), "string"),
    **dict.fromkeys(("raw_score", "late_submission_penalty", "score", "max_score"), "float64"),
}

FORMULA_STARTS = tuple("=+-@＝＋－＠\t\r")  # first characters of a spreadsheet formula
HARMLESS = re.compile(r"[\w .@+-]*")  # cannot call a function, a program or a file; at worst it shows an odd number


def as_text(cell: str) -> str:
    """Return a cell that a spreadsheet shows as text and does not run as a formula."""
    return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA_STARTS) and cell.strip() != "-" else cell


def as_key(cell: str) -> str:
    """Return a cell that identifies a student, unchanged unless a spreadsheet could run it as a harmful formula."""
    return cell if HARMLESS.fullmatch(cell) else as_text(cell)


def number(value: float, decimal: str = ".") -> str:
    """Return a number with at most four decimals and no trailing zeros: 0, 7.5, 12.3333."""
    return f"{value:.4f}".rstrip("0").rstrip(".").replace(".", decimal)


Submissions = dict[str, dict[Person, Any]]  # by assignment and student; None if a student handed in nothing
Marks = dict[str, dict[Person, float]]  # points less the late penalty, by assignment and student


class MarksExport(ExportPlugin):
    """Base class of the exporters: the choice of students and assignments, and the file written."""

    folder = Unicode(".", help="Where files go that --to does not name").tag(config=True)
    leave_out_unfinished = Bool(False, help="Leave out what a person has still to mark").tag(config=True)

    marked: Collection[str] | None = None  # the assignments of which to choose where none is named; None for all
    file_name = "grades.csv"
    roster: Any = ""  # an option of the exporters for learning-management systems

    def export(self, gradebook: Gradebook) -> None:
        try:
            students = self._chosen("student", {person.id: person for person in people(gradebook)})
            known = {one.name: one for one in gradebook.assignments}
            if self.marked is not None and not self.assignment:
                known = {name: one for name, one in known.items() if name in self.marked}
            assignments = self._chosen("assignment", known)
            submissions = {one.name: self._submissions(gradebook, one.name, students) for one in assignments}
            self._write(self._table(students, assignments, submissions))
        except Unusable as reason:
            if not hasattr(self.parent, "fail"):
                raise
            self.parent.fail("%s", reason)

    def _table(self, students: list[Person], assignments: list[Any], submissions: Submissions) -> Table:
        raise NotImplementedError

    def _chosen(self, what: str, known: dict[str, Any]) -> list[Any]:
        """Return the students or assignments that the command line names; all if it names none."""
        wanted = {str(name) for name in getattr(self, what)}
        if unknown := sorted(wanted - known.keys()):
            raise Unusable(f"The gradebook does not know the {what} {', '.join(unknown)}.")
        return [one for name, one in known.items() if not wanted or name in wanted]

    def _submissions(self, gradebook: Gradebook, assignment: str, students: list[Person]) -> dict[Person, Any]:
        """Return each student's submission, or None; nothing for students whose unfinished one is left out."""
        found = {one.student_id: one for one in gradebook.assignment_submissions(assignment)}
        unfinished = [person for person in students if person.id in found and found[person.id].needs_manual_grade]
        left = "left out" if self.leave_out_unfinished else "exported as they stand"
        warn(self.log, unfinished, f"of {assignment} have still to be marked by a person ({left})", "Submissions")
        left_out = unfinished if self.leave_out_unfinished else []
        return {person: found.get(person.id) for person in students if person not in left_out}

    def _write(self, table: Table) -> None:
        path = Path(self.to) if self.to else Path(self.folder) / self.file_name
        refuse_published(path)
        if self.roster and path.resolve() == Path(self.roster).resolve():
            raise Unusable(f"{path} is the roster, as the system gave it out: name another file with --to.")
        try:  # another program's file begins with another column
            refuse_another(path, self._beginning(table), f"table that {type(self).__name__} wrote")
        except WouldOverwrite as reason:
            raise Unusable(f"{reason}.") from None
        content = self._content(table)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, content, groupshared())
        self.log.info("Grades are in %s", path)

    def _beginning(self, table: Table) -> str:
        """Return how a file that this exporter wrote begins."""
        return f"{table.header[0]}{table.delimiter}"

    def _content(self, table: Table) -> bytes:
        return table.text().encode()


def refuse_published(path: Path) -> None:
    """Raise Unusable if git would add the file, which it does not without git or outside a repository."""
    folder = next(parent for parent in path.absolute().parents if parent.is_dir())
    command = ["git", "-C", str(folder), "check-ignore", "--quiet", "--", str(path.absolute())]
    with contextlib.suppress(OSError):
        if subprocess.run(command, capture_output=True, check=False).returncode == 1:
            raise Unusable(
                f"{path} lies in the repository and git does not ignore it: marks would be published with the next "
                "commit. Name a file below classroom/ or outside of the repository."
            )


def _score(submission: Any) -> float:
    return float(max(0.0, submission.score - (submission.late_submission_penalty or 0.0)))


class CsvExport(MarksExport):
    """Export nbgrader's columns, quoted: in nbgrader's CsvExportPlugin a comma in a name shifts all later columns."""

    def _table(self, students: list[Person], assignments: list[Any], submissions: Submissions) -> Table:
        table = Table([*NBGRADER_COLUMNS], [])
        for about in assignments:
            for person, one in submissions[about.name].items():
                names = [person.id, person.last, person.first, person.email]
                timestamp, *marks = None, 0.0, 0.0, 0.0  # without a submission, as in nbgrader
                if one:
                    timestamp, *marks = one.timestamp, one.score, one.late_submission_penalty, _score(one)
                row: list[Any] = [about.name, about.duedate, timestamp, *names, *marks, about.max_score]
                table.rows.append(row)
        return table

    def _content(self, table: Table) -> bytes:
        for row in table.rows:
            for name in ("assignment", "student_id", "email"):
                row[table.header.index(name)] = as_key(row[table.header.index(name)])
            for name in ("last_name", "first_name"):
                row[table.header.index(name)] = as_text(row[table.header.index(name)])
        return super()._content(table)


class ParquetExport(CsvExport):
    """Export the same columns as Parquet, with their types."""

    file_name = "grades.parquet"

    def _beginning(self, table: Table) -> str:
        return "PAR1"

    def _content(self, table: Table) -> bytes:
        return as_parquet(NBGRADER_COLUMNS, [dict(zip(table.header, row, strict=True)) for row in table.rows])


class PrivateCsvExport(CsvExportPlugin):
    """nbgrader's own CsvExportPlugin, whose file only its owner can read, or the group."""

    def export(self, gradebook: Gradebook) -> None:
        with only_for_owner(groupshared()):
            super().export(gradebook)
        private(Path(self.to or "grades.csv"), groupshared())


PrivateCsvExport.__name__ = CsvExportPlugin.__name__  # traitlets finds the settings of a class by its name


class LmsExport(MarksExport):
    """Export a table that a learning-management system imports: its own, filled in, or a new one."""

    roster = Unicode(help="The system's own table, as downloaded: its rows are kept and filled in").tag(config=True)
    titles = Dict(
        help="What the system calls assignments, if not as nbgrader does: {'ps1': 'Problem set 1 (4711)'}"
    ).tag(config=True)
    missing_as_zero = Bool(False, help="Write 0 for those who handed in nothing; else they stay as they are").tag(
        config=True
    )
    scale = Bool(False, help="Scale marks to the maximum that the system has for the assignment").tag(config=True)

    system = ""
    keys: tuple[Key, ...] = ()
    headings: Any = None  # the system's names of its columns in another language, by their English names
    decimal: Any = "."
    new_columns: tuple[str, ...] = ()  # of a new table, before the assignments
    name_columns: tuple[str, ...] = ()  # that may hold students' names; else the first column does
    read_back: tuple[str, ...] = ()  # columns that the system reads back and only teachers write
    settled: tuple[str, ...] = ()  # in place of a mark: cells that stay
    drops_more = False  # True if the system passes over marks above its maximum

    def _table(self, students: list[Person], assignments: list[Any], submissions: Submissions) -> Table:
        if not assignments:
            raise Unusable("The gradebook knows no assignment yet: there are no marks to export.")
        marks: Marks = {}
        for name, found in submissions.items():
            found = found if self.missing_as_zero else {person: one for person, one in found.items() if one}
            marks[name] = {person: _score(one) if one else 0.0 for person, one in found.items()}
        maxima = {assignment.name: float(assignment.max_score) for assignment in assignments}
        if not self.roster:
            return self._new(students, marks, maxima)
        return self._filled(read(Path(self.roster), self.headings), students, marks, maxima)

    def _new(self, students: list[Person], marks: Marks, maxima: dict[str, float]) -> Table:
        """Return a new table. Students without a mark are not in it, as an empty cell may erase the system's mark."""
        without = [person for person in students if not any(person in earned for earned in marks.values())]
        warn(self.log, without, "have no mark and are not in the file")
        table = Table([*self.new_columns, *marks], [])
        for person in [person for person in students if person not in without]:
            cells = [number(earned[person], self.decimal) if person in earned else "" for earned in marks.values()]
            table.rows.append(self._identified(person) + cells)
        return table

    def _identified(self, person: Person) -> list[str]:
        raise NotImplementedError

    def _filled(self, table: Table, students: list[Person], marks: Marks, maxima: dict[str, float]) -> Table:
        indexes = self._student_rows(table)
        columns = self._columns(table, list(marks))
        found, problems = match(table, indexes, students, self.keys)
        self._report(table, indexes, {name: marks[name] for name in columns}, found, problems)
        for name, column in columns.items():
            maximum = self._maximum(table, indexes, column)
            factor = self._factor(name, maxima[name], maximum)
            scaled = {person: score * factor for person, score in marks[name].items()}
            self._fill(table, column, found, scaled, name)
            if maximum is not None and self.drops_more:
                shown = {person: number(score) for person, score in scaled.items()}
                above = [f"{person}: {mark}" for person, mark in shown.items() if float(mark) > maximum]
                what = f"have more for {name} than Moodle's maximum, and Moodle passes over such marks in silence"
                warn(self.log, above, what)
        table.delimiter = self._delimiter(table)
        return self._made_harmless(table, set(columns.values()))

    def _delimiter(self, table: Table) -> str:
        """Return the delimiter to write: one that the system reads. A spreadsheet may have chosen another."""
        return table.delimiter

    def _student_rows(self, table: Table) -> list[int]:
        """Return the indexes of the students' rows. Raise Unusable if the roster lacks a needed column."""
        return list(range(len(table.rows)))

    def _columns(self, table: Table, assignments: list[str]) -> dict[str, int]:
        """Return the columns of assignments. Raise Unusable if all, or a named one, have none or several."""
        columns = {}
        for name in assignments:
            title = str(self.titles.get(name, name))
            found = [index for index, heading in enumerate(table.header) if _is_heading_of(heading, title)]
            if len(found) > 1:
                headings = ", ".join(f"“{table.header[index]}”" for index in found)
                raise Unusable(
                    f"Several columns of {self.roster} may be {name}: {headings}. Say which one in "
                    f"{SETTINGS}: {self._titled(name)}"
                )
            if found:
                columns[name] = found[0]
        without = [name for name in assignments if name not in columns]
        if without and (self.assignment or not columns):
            raise Unusable(
                f"{self.roster} has no column for {', '.join(without)}. Make the assignment in {self.system} and "
                f"download the table again, or say in {SETTINGS} what it is called: "
                f"{self._titled(without[0])}"
            )
        warn(self.log, without, f"have no column in {self.roster} and are not exported", "Assignments")
        return columns

    def _titled(self, name: str) -> str:
        return f"c.{type(self).__name__}.titles = {{'{name}': 'its heading'}}"

    def _report(
        self, table: Table, indexes: list[int], marks: Marks, found: dict[int, Person], problems: dict[int, str]
    ) -> None:
        names = {index: table.rows[index][self._name_column(table)].strip() for index in indexes}
        doubtful = [f"{names[index]}: {problem}" for index, problem in problems.items()]
        warn(self.log, doubtful, f"of {self.roster} are in doubt and were not filled in", "Rows")
        strangers = [names[i] for i in indexes if i not in found and i not in problems]
        warn(self.log, strangers, f"of {self.roster} are not in the gradebook and were not filled in")
        for name, earned in marks.items():
            without = [person for person in found.values() if person not in earned]
            warn(self.log, without, f"have no mark for {name} and stay as they are")
            lost = [f"{person}: {number(score)}" for person, score in earned.items() if person not in found.values()]
            warn(self.log, lost, f"have a mark for {name} and are not in {self.roster}: enter theirs by hand")

    def _name_column(self, table: Table) -> int:
        return next((index for name in self.name_columns if (index := table.column(name)) is not None), 0)

    def _factor(self, name: str, maximum: float, lms_maximum: float | None) -> float:
        if lms_maximum is None or not maximum or abs(maximum - lms_maximum) < 1e-9:
            return 1.0
        if self.scale:
            return lms_maximum / maximum
        self.log.warning(
            "%s has a maximum of %s for %s, and the gradebook one of %s: marks are not scaled (--scale does)",
            *(self.system, number(lms_maximum), name, number(maximum)),
        )
        return 1.0

    def _maximum(self, table: Table, indexes: list[int], column: int) -> float | None:
        """Return the system's maximum for an assignment, which Moodle's worksheet has in a column."""
        found = {_number(table.cell(table.rows[index], "Maximum grade")) for index in indexes} - {None}
        return found.pop() if len(found) == 1 else None

    def _fill(self, table: Table, column: int, found: dict[int, Person], marks: dict[Person, float], name: str) -> None:
        filled, kept = 0, []
        for row, person in ((table.rows[index], person) for index, person in found.items() if person in marks):
            if (cell := row[column].strip()).upper() in self.settled:
                kept.append(f"{person}: {cell}")
            else:
                row[column] = number(marks[person], self.decimal)
                filled += 1
        warn(self.log, kept, f"are excused from {name}, or not assigned to it, in {self.system}, and stay so")
        self.log.info("%d marks of %s filled in", filled, name)

    def _made_harmless(self, table: Table, filled: set[int]) -> Table:
        """Return the table to write. Make its cells harmless in spreadsheets, except those filled in or read back."""
        identifying = {table.column(column) for column, _ in self.keys}
        read_back = {table.column(column) for column in self.read_back}
        for row in table.rows:
            name = row[self._name_column(table)]
            for column in set(range(len(table.header))) - filled - read_back:
                safe = as_key(row[column]) if column in identifying else as_text(row[column])
                if column in identifying and safe != row[column]:
                    cell = f"{name}: {table.header[column]}"
                    warn(self.log, [cell], "could be run by a spreadsheet; made a text", "Cells")
                row[column] = safe
        return table


def _is_heading_of(heading: str, title: str) -> bool:
    """Return True if a heading means this title. Canvas writes “Title (4711)”, Moodle “Assignment: Title (Real)”."""
    around = re.fullmatch(rf"([^:]+:\s*)?{re.escape(title.strip())}(\s*\([^()]+\))?", heading, re.IGNORECASE)
    return around is not None or heading.strip().casefold() == title.strip().casefold()


class CanvasExport(LmsExport):
    """Export for Canvas: the columns up to Section and the marks, since others may have changed there meanwhile."""

    system = "Canvas"
    file_name = "grades-canvas.csv"
    keys = CANVAS_KEYS
    new_columns = ("Student", "ID", "SIS Login ID", "Section")
    settled = ("EX", "N/A")

    def _new(self, students: list[Person], marks: Marks, maxima: dict[str, float]) -> Table:
        table = super()._new(students, marks, maxima)
        table.rows.insert(0, ["    Points Possible", "", "", "", *(number(maxima[name]) for name in marks)])
        return table

    def _maximum(self, table: Table, indexes: list[int], column: int) -> float | None:
        return next((_number(row[column]) for row in table.rows if "Points Possible" in row[0]), None)

    def _identified(self, person: Person) -> list[str]:
        name = ", ".join(part for part in (person.last, person.first) if part) or person.id
        return [as_text(name), as_key(person.lms), as_key(person.id), ""]

    def _delimiter(self, table: Table) -> str:
        return ";" if table.delimiter == ";" else ","  # it knows no others

    def _student_rows(self, table: Table) -> list[int]:
        if needed := [name for name in ("Student", "ID", "Section") if table.column(name) is None]:
            raise Unusable(
                f"{self.roster} is not Canvas's gradebook: it has no column {', '.join(needed)}. In Canvas, export it "
                "with Grades → Export → Export Entire Gradebook, with the students' names in one column."
            )
        points = "Points Possible"  # below its headings Canvas adds rows that are no student's
        named = {index for index, row in enumerate(table.rows) if row[0].strip() and points not in row[0]}
        return [index for index, row in enumerate(table.rows) if table.cell(row, "ID") or index in named]

    def _made_harmless(self, table: Table, filled: set[int]) -> Table:
        super()._made_harmless(table, filled)
        wanted = sorted({*range((table.column("Section") or 0) + 1), *filled})
        header, *rows = ([row[index] for index in wanted] for row in (table.header, *table.rows))
        return Table(header, rows, table.delimiter, table.bom)


def _number(cell: str) -> float | None:
    try:
        return float(cell.strip().replace(",", "."))
    except ValueError:
        return None


class MoodleExport(LmsExport):
    """Export for Moodle: the assignment's grading worksheet or the course's grade export, filled in."""

    headings = Dict(help="What Moodle calls its columns in another language: {'Grade': 'Bewertung'}").tag(config=True)
    decimal = Enum([".", ","], ".", help="Moodle takes a point in every language, and a comma in some").tag(config=True)

    system = "Moodle"
    file_name = "grades-moodle.csv"
    keys = MOODLE_KEYS
    new_columns = ("Username", "ID number", "Email address", "First name", "Last name")
    name_columns = ("Full name", "Email address", "Username")
    read_back = ("Feedback comments", "Last modified (grade)")
    drops_more = True

    def _identified(self, person: Person) -> list[str]:
        keys = map(as_key, (person.id, person.lms, person.email))
        return [*keys, as_text(person.first), as_text(person.last)]

    def _columns(self, table: Table, assignments: list[str]) -> dict[str, int]:
        grade = table.column("Grade")
        if grade is None or not self._is_worksheet(table):
            return super()._columns(table, assignments)
        if len(assignments) > 1:
            raise Unusable(
                f"{self.roster} is the worksheet of one assignment, and the gradebook has {len(assignments)}. Say "
                f"which one it is: `autograder export moodle {assignments[0]}`."
            )
        if table.column("Last modified (grade)") is None:
            raise Unusable(
                f"{self.roster} has no column “Last modified (grade)”, without which Moodle takes no worksheet. "
                "Download it again and leave its columns as they are; in another language, name it in `headings`."
            )
        return {assignments[0]: grade}

    def _delimiter(self, table: Table) -> str:
        return "," if self._is_worksheet(table) else table.delimiter  # the grade import asks which it is

    def _is_worksheet(self, table: Table) -> bool:
        return table.column("Grade") is not None and table.column("Identifier") is not None

    def _student_rows(self, table: Table) -> list[int]:
        if all(table.column(column) is None for column, _ in self.keys):
            wanted = ", ".join(dict.fromkeys(column for column, _ in self.keys))
            raise Unusable(
                f"{self.roster} has none of the columns that Moodle knows students by: {wanted}. If it is in another "
                f"language, say in {SETTINGS} what they are called: "
                "c.MoodleExport.headings = {'Email address': '…', 'Grade': '…'}"
            )
        return super()._student_rows(table)
