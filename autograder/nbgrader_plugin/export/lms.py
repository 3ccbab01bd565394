"""Export marks as nbgrader's CSV and as import files for Canvas and Moodle.

    nbgrader export                                                          # classroom/grades.csv
    nbgrader export --exporter autograder.nbgrader_plugin.export.lms.CanvasExport --assignment 05-attention \
        --CanvasExport.roster=classroom/canvas.csv
    nbgrader export --exporter autograder.nbgrader_plugin.export.lms.MoodleExport --assignment 05-attention \
        --MoodleExport.roster=classroom/worksheet.csv

The roster is the file downloaded from the system: Canvas's gradebook, Moodle's grading worksheet or grade export. Its
rows are kept and the marks are filled in. Students who are only in the roster or only in the gradebook are reported.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.plugins import ExportPlugin
from traitlets import Bool, Dict, Enum, Unicode

from ...files import WouldOverwrite, refuse_another
from ..gradebook import roster as who
from ..gradebook.roster import Key, Matches, Person, Table, Unfit

NBGRADERS = [
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
]

# --- cells ------------------------------------------------------------------------------------------------------------

RUNS = tuple("=+-@＝＋－＠\t\r")  # first characters of a spreadsheet formula
HARMLESS = re.compile(r"[\w .@+-]*")  # cannot call a function, a program or a file; at worst it shows an odd number


def as_text(cell: str) -> str:
    """Return a cell that a spreadsheet shows as text and does not run as a formula."""
    return f"'{cell}" if cell.lstrip(" ").startswith(RUNS) and cell.strip() != "-" else cell


def as_key(cell: str) -> str:
    """Return a cell that identifies a student, unchanged unless it could do harm as a formula."""
    return cell if HARMLESS.fullmatch(cell) else as_text(cell)


def number(value: float, decimal: str = ".") -> str:
    """Return a number with at most four decimals and no trailing zeros: 0, 7.5, 12.3333."""
    return f"{value:.4f}".rstrip("0").rstrip(".").replace(".", decimal)


# --- marks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """A student's points for an assignment, less the late penalty."""

    score: float
    by_hand: bool  # a person must still mark a part of it


Marks = dict[str, dict[str, Mark]]  # assignment: student: mark


class MarksExport(ExportPlugin):
    """Base class of the exporters: the choice of students and assignments, and the file written."""

    folder = Unicode(".", help="Where files go that --to does not name").tag(config=True)
    leave_out_unfinished = Bool(False, help="Leave out what a person has still to mark").tag(config=True)

    file_name = "grades.csv"

    def export(self, gradebook: Gradebook) -> None:
        try:
            self._write(self._table(gradebook))
        except Unfit as reason:
            if not hasattr(self.parent, "fail"):
                raise
            self.parent.fail("%s", reason)

    def _table(self, gradebook: Gradebook) -> Table:
        raise NotImplementedError

    def _people(self, gradebook: Gradebook) -> list[Person]:
        known = who.people(gradebook)
        wanted = {str(student) for student in self.student}
        _all_known(wanted, {person.id for person in known}, "student")
        return [person for person in known if not wanted or person.id in wanted]

    def _assignments(self, gradebook: Gradebook) -> list[Any]:
        known = gradebook.assignments
        wanted = {str(assignment) for assignment in self.assignment}
        _all_known(wanted, {assignment.name for assignment in known}, "assignment")
        return [assignment for assignment in known if not wanted or assignment.name in wanted]

    def _unfinished(self, assignment: str, students: Iterable[str]) -> None:
        left = "left out" if self.leave_out_unfinished else "exported as they stand"
        self.say(students, f"of {assignment} have still to be marked by a person ({left})", "Submissions")

    def say(self, names: Iterable[object], what: str, things: str = "Students") -> None:
        """Log a warning with the names and their count; nothing without names."""
        listed = [str(name) for name in names]
        if listed:
            self.log.warning("%s %s (%d): %s", things, what, len(listed), "; ".join(listed))

    def _write(self, table: Table) -> None:
        path = Path(self.to) if self.to else Path(self.folder) / self.file_name
        if published_by_git(path):
            raise Unfit(
                f"{path} lies in the repository and git does not ignore it: marks would be published with the next "
                "commit. Name a file below classroom/ or outside of the repository."
            )
        self._refuse_anothers(path, table)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(  # readable by its owner only, and replaced atomically
            "w", encoding="utf8", newline="", dir=path.parent, prefix=".grades", delete=False
        ) as file:
            file.write(table.text())
        os.replace(file.name, path)
        self.log.info("Grades are in %s", path)

    def _refuse_anothers(self, path: Path, table: Table) -> None:
        """Raise Unfit if the file exists and another program wrote it: then it begins with another column."""
        try:
            refuse_another(path, f"{table.header[0]}{table.delimiter}", f"table that {type(self).__name__} wrote")
        except WouldOverwrite as reason:
            raise Unfit(f"{reason}.") from None


def _all_known(wanted: set[str], known: set[str], what: str) -> None:
    if unknown := sorted(wanted - known):
        raise Unfit(f"The gradebook does not know the {what} {', '.join(unknown)}.")


def published_by_git(path: Path) -> bool:
    """Return True if git would add the file: False without git or outside a repository."""
    folder = next(parent for parent in path.absolute().parents if parent.is_dir())
    command = ["git", "-C", str(folder), "check-ignore", "--quiet", "--", str(path.absolute())]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 1
    except OSError:
        return False


class CsvExport(MarksExport):
    """Export nbgrader's columns, quoted: in nbgrader's CsvExportPlugin a comma in a name shifts all later columns."""

    def _table(self, gradebook: Gradebook) -> Table:
        known, rows = self._people(gradebook), []
        for assignment in self._assignments(gradebook):
            submissions = {s.student_id: s for s in gradebook.assignment_submissions(assignment.name)}
            unfinished = [p for p in known if p.id in submissions and submissions[p.id].needs_manual_grade]
            self._unfinished(assignment.name, map(str, unfinished))
            rows += [
                _nbgraders_row(assignment, person, submissions.get(person.id))
                for person in known
                if not (self.leave_out_unfinished and person in unfinished)
            ]
        return Table(list(NBGRADERS), rows)


def _nbgraders_row(assignment: Any, person: Person, submission: Any | None) -> list[str]:
    """Return a row of nbgrader's table. A student without a submission gets a zero, as in nbgrader."""
    raw, penalty = (submission.score, submission.late_submission_penalty) if submission else (0.0, 0.0)
    timestamp = submission.timestamp if submission else None
    names = [as_key(person.id), as_text(person.last), as_text(person.first), as_key(person.email)]
    values = [raw, penalty, max(0.0, raw - (penalty or 0.0)), assignment.max_score]
    when = [assignment.duedate, timestamp]
    return [
        as_key(assignment.name),
        *("" if value is None else str(value) for value in when),
        *names,
        *("" if value is None else str(value) for value in values),
    ]


# --- learning-management systems --------------------------------------------------------------------------------------


class LmsExport(MarksExport):
    """Export a table that a learning-management system imports: its own, filled in, or a new one."""

    roster = Unicode(help="The system's own table, as downloaded: its rows are kept and filled in").tag(config=True)
    titles = Dict(
        help="What the system calls assignments, if not as nbgrader does: {'05-attention': 'Attention (4711)'}"
    ).tag(config=True)
    missing_as_zero = Bool(False, help="Write 0 for those who handed in nothing; else they stay as they are").tag(
        config=True
    )
    scale = Bool(False, help="Scale marks to the maximum that the system has for the assignment").tag(config=True)

    system = ""
    keys: tuple[Key, ...] = ()

    def _table(self, gradebook: Gradebook) -> Table:
        known, assignments = self._people(gradebook), self._assignments(gradebook)
        if not assignments:
            raise Unfit("The gradebook knows no assignment yet: there are no marks to export.")
        marks = {assignment.name: self._marks(gradebook, assignment, known) for assignment in assignments}
        maxima = {assignment.name: float(assignment.max_score) for assignment in assignments}
        if not self.roster:
            return self._new(known, marks, maxima)
        return self._filled(who.read(Path(self.roster), self._called()), known, marks, maxima)

    def _refuse_anothers(self, path: Path, table: Table) -> None:
        if self.roster and path.resolve() == Path(self.roster).resolve():
            raise Unfit(f"{path} is the roster, as the system gave it out: name another file with --to.")
        super()._refuse_anothers(path, table)

    def _called(self) -> dict[str, str]:
        """Return the names of the system's columns in another language, by their English names."""
        return {}

    def _marks(self, gradebook: Gradebook, assignment: Any, known: list[Person]) -> dict[str, Mark]:
        names, found = {person.id: person for person in known}, {}
        for submission in gradebook.assignment_submissions(assignment.name):
            if submission.student_id in names:
                score = max(0.0, submission.score - (submission.late_submission_penalty or 0.0))
                found[submission.student_id] = Mark(score, bool(submission.needs_manual_grade))
        unfinished = sorted(student for student, mark in found.items() if mark.by_hand)
        self._unfinished(assignment.name, (str(names[student]) for student in unfinished))
        if self.leave_out_unfinished:
            found = {student: mark for student, mark in found.items() if not mark.by_hand}
        if self.missing_as_zero:
            found = {person.id: Mark(0.0, False) for person in known if person.id not in unfinished} | found
        return found

    # a new table

    def _new(self, known: list[Person], marks: Marks, maxima: dict[str, float]) -> Table:
        raise NotImplementedError

    def _rows(self, known: list[Person], marks: Marks, start: Callable[[Person], list[str]]) -> list[list[str]]:
        """Return a row for each student with a mark; others get none, as an empty cell may erase the system's mark."""
        without = [person for person in known if not any(person.id in earned for earned in marks.values())]
        self.say(without, "have no mark and are not in the file")
        return [
            start(person) + [self._shown(earned.get(person.id)) for earned in marks.values()]
            for person in known
            if person not in without
        ]

    def _shown(self, mark: Mark | None, factor: float = 1.0) -> str:
        return number(mark.score * factor) if mark else ""

    # the system's table

    def _filled(self, table: Table, known: list[Person], marks: Marks, maxima: dict[str, float]) -> Table:
        places = self._students(table)
        columns = self._columns(table, list(marks))
        matches = who.match(table, places, known, self.keys)
        self._report(table, places, known, {name: marks[name] for name in columns}, matches)
        for name, column in columns.items():
            maximum = self._maximum(table, places, column)
            factor = self._factor(name, maxima[name], maximum)
            self._fill(table, column, matches, marks[name], name, factor)
            self._above(known, marks[name], name, factor, maximum)
        return self._kept(table, set(columns.values()))

    def _students(self, table: Table) -> list[int]:
        """Return the indexes of the students' rows. Raise Unfit if the roster lacks a needed column."""
        return list(range(len(table.rows)))

    def _columns(self, table: Table, assignments: list[str]) -> dict[str, int]:
        """Return the column of each assignment that has one.

        Raise Unfit if none has a column, if one named on the command line has none, or if several may be meant.
        """
        columns, without = {}, []
        for name in assignments:
            title = str(self.titles.get(name, name))
            found = [place for place, heading in enumerate(table.header) if _means(heading, title)]
            if len(found) > 1:
                headings = ", ".join(f"“{table.header[place]}”" for place in found)
                raise Unfit(f"Several columns of {self.roster} may be {name}: {headings}. Say which one in `titles`.")
            if found:
                columns[name] = found[0]
            else:
                without.append(name)
        if without and (self.assignment or not columns):
            raise Unfit(
                f"{self.roster} has no column for {', '.join(without)}. Make the assignment in {self.system} and "
                f"download the table again, or say what it is called: "
                f"--{type(self).__name__}.titles=\"{{'{without[0]}': 'its heading'}}\"."
            )
        self.say(without, f"have no column in {self.roster} and are not exported", "Assignments")
        return columns

    def _report(self, table: Table, places: list[int], known: list[Person], marks: Marks, matches: Matches) -> None:
        names = {place: table.rows[place][self._name_column(table)].strip() for place in places}
        doubtful = [f"{names[place]}: {problem}" for place, problem in matches.problems.items()]
        self.say(doubtful, f"of {self.roster} are in doubt and were not filled in", "Rows")
        strangers = [names[p] for p in places if p not in matches.person and p not in matches.problems]
        self.say(strangers, f"of {self.roster} are not in the gradebook and were not filled in")
        found = {person.id for person in matches.person.values()}
        for name, earned in marks.items():
            without = [str(person) for person in matches.person.values() if person.id not in earned]
            self.say(without, f"have no mark for {name} and stay as they are")
            lost = [f"{p}: {number(earned[p.id].score)}" for p in known if p.id in earned and p.id not in found]
            self.say(lost, f"have a mark for {name} and are not in {self.roster}: enter theirs by hand")

    def _name_column(self, table: Table) -> int:
        return 0

    def _factor(self, name: str, ours: float, theirs: float | None) -> float:
        if theirs is None or not ours or abs(ours - theirs) < 1e-9:
            return 1.0
        if self.scale:
            return theirs / ours
        self.log.warning(
            "%s has a maximum of %s for %s, and the gradebook one of %s: marks are not scaled (%s.scale=True does)",
            *(self.system, number(theirs), name, number(ours), type(self).__name__),
        )
        return 1.0

    def _maximum(self, table: Table, places: list[int], column: int) -> float | None:
        return None

    def _fill(
        self, table: Table, column: int, matches: Matches, marks: dict[str, Mark], name: str, factor: float
    ) -> None:
        filled, kept = 0, []
        for place, person in matches.person.items():
            cell = table.rows[place][column].strip()
            if person.id not in marks:
                continue
            if self._is_settled(cell):
                kept.append(f"{person}: {cell}")
                continue
            table.rows[place][column] = self._shown(marks[person.id], factor)
            filled += 1
        self.say(kept, f"are excused from {name}, or not assigned to it, in {self.system}, and stay so")
        self.log.info("%d marks of %s filled in", filled, name)

    def _is_settled(self, cell: str) -> bool:
        return False

    def _above(
        self, known: list[Person], marks: dict[str, Mark], name: str, factor: float, maximum: float | None
    ) -> None:
        """Report marks above the system's maximum if it refuses them; Canvas accepts all."""

    def _kept(self, table: Table, filled: set[int]) -> Table:
        """Return the table to write. Make its cells harmless in spreadsheets, except those filled in or read back."""
        finding = {table.column(column) for column, _ in self.keys}
        for row in table.rows:
            name = row[self._name_column(table)]
            for place in set(range(len(table.header))) - filled - self._read_back(table):
                safe = as_key(row[place]) if place in finding else as_text(row[place])
                if place in finding and safe != row[place]:
                    self.say([f"{name}: {table.header[place]}"], "could be run by a spreadsheet; made a text", "Cells")
                row[place] = safe
        return table

    def _read_back(self, table: Table) -> set[int | None]:
        """Return the columns that the system reads back and only teachers write."""
        return set()


def _means(heading: str, title: str) -> bool:
    """Return True if a heading means this title. Canvas writes “Title (4711)”, Moodle “Assignment: Title (Real)”."""
    if heading.strip().casefold() == title.strip().casefold():
        return True
    return re.fullmatch(rf"([^:]+:\s*)?{re.escape(title.strip())}(\s*\([^()]+\))?", heading, re.IGNORECASE) is not None


class CanvasExport(LmsExport):
    """Export for Canvas: Grades → Import. Its roster comes from Grades → Export → Export Entire Gradebook.

    The file holds the columns that identify students, up to Section, and the assignments' columns: Canvas would take
    any other column as a change if it has changed since. Cells of excused students (EX) and of those without the
    assignment (N/A) stay as they are.
    """

    system = "Canvas"
    file_name = "grades-canvas.csv"
    keys = who.CANVAS

    def _new(self, known: list[Person], marks: Marks, maxima: dict[str, float]) -> Table:
        header = ["Student", "ID", "SIS Login ID", "Section", *marks]
        points = ["    Points Possible", "", "", "", *(number(maxima[name]) for name in marks)]
        return Table(header, [points, *self._rows(known, marks, _in_canvas)])

    def _students(self, table: Table) -> list[int]:
        needed = [name for name in ("Student", "ID", "Section") if table.column(name) is None]
        if needed:
            raise Unfit(
                f"{self.roster} is not Canvas's gradebook: it has no column {', '.join(needed)}. In Canvas, export it "
                "with Grades → Export → Export Entire Gradebook, with the students' names in one column."
            )
        return [place for place, row in enumerate(table.rows) if table.cell(row, "ID") or _is_student(row)]

    def _maximum(self, table: Table, places: list[int], column: int) -> float | None:
        for row in table.rows:
            if "Points Possible" in row[0]:
                return _number(row[column])
        return None

    def _is_settled(self, cell: str) -> bool:
        return cell.upper() in ("EX", "N/A")

    def _kept(self, table: Table, filled: set[int]) -> Table:
        super()._kept(table, filled)
        section = table.column("Section") or 0
        wanted = [place for place in range(len(table.header)) if place <= section or place in filled]
        rows = [[row[place] for place in wanted] for row in table.rows]
        return Table([table.header[place] for place in wanted], rows, table.delimiter, table.bom)


def _is_student(row: list[str]) -> bool:
    """Return True for a student's row. Below its headings Canvas adds other rows: points, manual posting."""
    return bool(row[0].strip()) and "Points Possible" not in row[0]


def _in_canvas(person: Person) -> list[str]:
    name = ", ".join(part for part in (person.last, person.first) if part) or person.id
    return [as_text(name), as_key(person.lms), as_key(person.id), ""]


def _number(cell: str) -> float | None:
    try:
        return float(cell.strip().replace(",", "."))
    except ValueError:
        return None


class MoodleExport(LmsExport):
    """Export for Moodle: the assignment's grading worksheet (with Identifier and Grade) or the course's grade export.

    The worksheet comes from the assignment's page (Download grading worksheet) and goes back there (Upload grading
    worksheet); a grade export goes back through Grades → Import → CSV file. Moodle ignores marks that were changed in
    Moodle since the worksheet was downloaded (Last modified), and marks above its maximum.
    """

    headings = Dict(help="What Moodle calls its columns in another language: {'Grade': 'Bewertung'}").tag(config=True)
    decimal = Enum([".", ","], ".", help="Moodle takes a point in every language, and a comma in some").tag(config=True)

    system = "Moodle"
    file_name = "grades-moodle.csv"

    keys = who.MOODLE

    def _called(self) -> dict[str, str]:
        return {str(name): str(heading) for name, heading in self.headings.items()}

    def _new(self, known: list[Person], marks: Marks, maxima: dict[str, float]) -> Table:
        header = ["Username", "ID number", "Email address", "First name", "Last name", *marks]
        return Table(header, self._rows(known, marks, _in_moodle))

    def _shown(self, mark: Mark | None, factor: float = 1.0) -> str:
        return number(mark.score * factor, self.decimal) if mark else ""

    def _columns(self, table: Table, assignments: list[str]) -> dict[str, int]:
        grade = table.column("Grade")
        if grade is None or table.column("Identifier") is None:
            return super()._columns(table, assignments)
        if len(assignments) > 1:
            raise Unfit(
                f"{self.roster} is the worksheet of one assignment, and the gradebook has {len(assignments)}. Say "
                f"which one it is: --assignment {assignments[0]}."
            )
        if table.column("Last modified (grade)") is None:
            raise Unfit(
                f"{self.roster} has no column “Last modified (grade)”, without which Moodle takes no worksheet. "
                "Download it again and leave its columns as they are; in another language, name it in `headings`."
            )
        return {assignments[0]: grade}

    def _students(self, table: Table) -> list[int]:
        if all(table.column(column) is None for column, _ in self.keys):
            wanted = ", ".join(dict.fromkeys(column for column, _ in self.keys))
            raise Unfit(
                f"{self.roster} has none of the columns that Moodle knows students by: {wanted}. If it is in another "
                "language, say what they are called: --MoodleExport.headings=\"{'Email address': '…', 'Grade': '…'}\"."
            )
        return super()._students(table)

    def _name_column(self, table: Table) -> int:
        for name in ("Full name", "Email address", "Username"):
            place = table.column(name)
            if place is not None:
                return place
        return 0

    def _maximum(self, table: Table, places: list[int], column: int) -> float | None:
        found = {_number(table.cell(table.rows[place], "Maximum grade")) for place in places} - {None}
        return found.pop() if len(found) == 1 else None

    def _above(
        self, known: list[Person], marks: dict[str, Mark], name: str, factor: float, maximum: float | None
    ) -> None:
        shown = {p: number(marks[p.id].score * factor) for p in known if p.id in marks}
        above = [f"{p}: {mark}" for p, mark in shown.items() if maximum is not None and float(mark) > maximum]
        self.say(above, f"have more for {name} than Moodle's maximum, and Moodle passes over such marks in silence")

    def _read_back(self, table: Table) -> set[int | None]:
        return {table.column("Feedback comments"), table.column("Last modified (grade)")}


def _in_moodle(person: Person) -> list[str]:
    keys = [as_key(person.id), as_key(person.lms), as_key(person.email)]
    return [*keys, as_text(person.first), as_text(person.last)]
