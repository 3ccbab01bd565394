"""Collect submissions downloaded from Canvas and Moodle with `nbgrader zip_collect`, and find the student of each.

The systems name the files in their archives like this (github.com/instructure/canvas-lms, lib/content_zipper.rb;
github.com/moodle/moodle, mod/assign/classes/downloader.php):

    garcíajosé_LATE_4711_90210_05-attention-1.ipynb                         Canvas: name, user, upload, file
    José García_657737_assignsubmission_file/05-attention.ipynb             Moodle: name, participant; a folder each
    José García_657737_assignsubmission_file_05-attention.ipynb             Moodle, without folders

Canvas's number is the gradebook's `lms_user_id`; Moodle's is new each time, and in its worksheet (`Identifier`).
"""

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from nbgrader.api import Gradebook
from nbgrader.plugins import FileNameCollectorPlugin
from nbgrader.utils import find_all_notebooks
from traitlets import Dict, Unicode

from ..gradebook.roster import CANVAS_KEYS, MOODLE_KEYS, Person, Unusable, key_cell, match, people, read, warn
from .student_folder import STAMP
from .unpack import UNPACKED, free_name

CANVAS = re.compile(
    r"(?:(?P<name>.*?)_)??(?:(?P<late>LATE)_)?(?P<number>\d+|anon_[A-Za-z0-9]+)_"
    r"(?:(?P<upload>\d+)_(?P<file>.+)|(?P<page>(?:text|link)\.html))",
    re.IGNORECASE | re.DOTALL,
)
MOODLE = re.compile(
    r"(?P<name>.*?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?", re.IGNORECASE | re.DOTALL
)
NUMBERS = re.compile(r"(?:(?<=_)|^)\d+(?=_\d+_)")
# Suffixes for a second file of the same name, from Canvas, browsers, JupyterLab and file managers.
COPY = re.compile(r"(?:\s*\(\d+\)|[-_ ]\d{1,2}|[-_ ]+(?:copy|kopie|copie|copia)\s*\d*|-checkpoint)$", re.IGNORECASE)


@dataclass(frozen=True)
class SubmittedFile:
    path: Path
    system: str  # canvas or moodle
    number: str  # the system's number for the student
    name: str  # of the student, in the system
    file: str  # name of the file
    upload: int = 0  # a later one has a higher number
    late: bool = False
    numbers: tuple[str, ...] = ()  # all candidates for `number`, as students' names may hold numbers too


def parse(path: Path, folder: Path) -> SubmittedFile | None:
    """Return what a path below `folder` says; None if no system named it. Names that students choose come last."""
    parts = path.relative_to(folder).parts
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if moodle := MOODLE.fullmatch(part):
            file = moodle["file"] if last and moodle["file"] else path.name
            return SubmittedFile(path, "moodle", moodle["number"], moodle["name"], file)
        if (last or part.endswith(UNPACKED)) and (canvas := CANVAS.fullmatch(part)):
            file = (canvas["file"] or canvas["page"]) if last else path.name
            more = int(canvas["upload"] or 0), bool(canvas["late"]), tuple(NUMBERS.findall(part))
            return SubmittedFile(path, "canvas", canvas["number"], canvas["name"] or "", file, *more)
    return None


class LmsCollector(FileNameCollectorPlugin):
    """Collector plug-in of `nbgrader zip_collect`. It takes files of all kinds, so that feedback can name them."""

    roster = Unicode(help="Canvas's gradebook or Moodle's grading worksheet: says whose the numbers are").tag(
        config=True
    )
    headings = Dict(help="What Moodle calls its columns in another language").tag(config=True)

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        return self._plan.get(Path(submitted_file))

    @functools.cached_property
    def _plan(self) -> dict[Path, dict[str, str]]:
        """Return student and name for all files at once, since a choice between two files needs both."""
        app = self.parent
        folder = Path(app._format_collect_path(app.extracted_directory))
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        found = [one for path in paths if (one := parse(path, folder))]
        others = [path.relative_to(folder) for path in sorted({*paths} - {one.path for one in found})]
        what = "are named neither as Canvas nor as Moodle name them, and were left where they are"
        warn(self.log, others, what, "Files")
        release = app.coursedir.format_path(app.coursedir.release_directory, ".", app.coursedir.assignment_id)
        released = find_all_notebooks(release)
        found, students = self._students(found)
        plan: dict[Path, dict[str, str]] = {}
        for student in dict.fromkeys(students.values()):
            own = [one for one in found if students[one.system, one.number] == student]
            plan |= self._files(student, own, released)
        return plan

    def _students(self, found: list[SubmittedFile]) -> tuple[list[SubmittedFile], dict[tuple[str, str], str]]:
        """Return the files with their checked numbers, and the student for each system and number."""
        settings = self.parent.coursedir
        with Gradebook(settings.db_url, settings.course_id) as gradebook:
            known = people(gradebook)
        in_roster = self._by_roster(known)
        found = [self._with_checked_number(one, in_roster, known) for one in found]
        names = {(one.system, one.number): one.name for one in found}
        certain = {key: person for key in names if (person := _by_number(*key, known))}
        certain |= {key: person for key, person in in_roster.items() if key in names}
        by_name = _by_name({key: name for key, name in names.items() if key not in certain}, known)
        taken = Counter(person.id for person in certain.values())
        doubtful = {key for key, person in certain.items() if taken[person.id] > 1}
        by_name = {key: person for key, person in by_name.items() if person.id not in taken}
        students = {key: person.id for key, person in (certain | by_name).items() if key not in doubtful}
        unknown = {key: "-".join(key) for key in names if key not in students}
        warn(self.log, (f"{names[k]} is {p}" for k, p in by_name.items()), "were recognised by nothing but their names")
        what = "are not known to the gradebook and were taken in under the system's number"
        warn(self.log, (f"{names[key]}: {student}" for key, student in unknown.items()), what)
        earlier = {  # folders of submissions
            Path(settings.format_path(settings.submitted_directory, "-".join(key), settings.assignment_id)): student
            for key, student in students.items()
        }
        moved = [f"{folder} (now {student})" for folder, student in earlier.items() if folder.is_dir()]
        what = "lie where they were collected before it was known whose they are, and would be marked: delete them"
        warn(self.log, moved, what, "Submissions")
        late = dict.fromkeys(students.get((o.system, o.number)) or unknown[o.system, o.number] for o in found if o.late)
        warn(self.log, late, "were late, says Canvas; nbgrader takes off no marks, as it does not learn how late")
        return found, students | unknown

    def _with_checked_number(
        self, one: SubmittedFile, in_roster: dict[tuple[str, str], Person], known: list[Person]
    ) -> SubmittedFile:
        """Return the file with the number of a known student: one who is named “x_4711” does not submit for 4711."""
        numbers, system = dict.fromkeys(one.numbers), one.system
        sure = [n for n in numbers if (system, n) in in_roster or _by_number(system, n, known)]
        if len(sure) > 1:
            warn(self.log, [one.path.name], "may be of several students and were given to none", "Files")
            return replace(one, number="_or_".join(sure), name="")
        if not sure or sure[0] == one.number:
            return one
        behind = re.search(rf"(?:^|_){sure[0]}_(\d+)_(.+)$", one.path.name, re.DOTALL)
        if behind is None or one.file == one.path.name:  # the number comes from the name of the student's archive
            return replace(one, number=sure[0])
        return replace(one, number=sure[0], upload=int(behind[1]), file=behind[2])

    def _by_roster(self, known: list[Person]) -> dict[tuple[str, str], Person]:
        if not self.roster:
            return {}
        try:
            table = read(Path(self.roster), self.headings)
        except Unusable as reason:
            self.parent.fail("%s", reason)
        system, column, keys = "canvas", "ID", CANVAS_KEYS
        if table.column("Identifier") is not None:
            system, column, keys = "moodle", "Identifier", MOODLE_KEYS
        elif table.column("ID") is None:
            self.parent.fail("%s has neither Canvas's column ID nor Moodle's column Identifier.", self.roster)
        students, _ = match(table, range(len(table.rows)), known, keys)
        numbers = {place: key_cell(column, table.cell(table.rows[place], column)) for place in students}
        return {(system, number): students[place] for place, number in numbers.items() if number}

    def _files(self, student: str, own: list[SubmittedFile], released: list[str]) -> dict[Path, dict[str, str]]:
        """Return student and name for each file. Of a notebook's copies the latest takes its name, others free ones."""
        names: dict[Path, str] = {}
        for notebook in released:
            # the last one counts: the latest upload, the exact name, the shortest path
            same = sorted(
                (one for one in own if is_copy(one.file, notebook)),
                key=lambda one: (one.upload, one.file == notebook, -len(one.path.parts), one.file),
            )
            if same:
                names[same[-1].path] = notebook
            if len(same) > 1:
                self.log.warning(
                    "%s handed in %d files that may be %s; “%s” counts, the others lie beside it: %s",
                    *(student, len(same), notebook, same[-1].file, "; ".join(one.file for one in same[:-1])),
                )
        if not any(one.file.lower().endswith(".ipynb") for one in own):
            self.log.warning("%s handed in no notebook, but %s", student, "; ".join(one.file for one in own))
        taken = {name.casefold() for name in [*names.values(), STAMP]}
        for one in own:
            if one.path not in names:
                names[one.path] = free_name(one.file, lambda name: name.casefold() in taken)
                taken.add(names[one.path].casefold())
        return {path: {"student_id": student, "file_id": name} for path, name in names.items()}


def _by_number(system: str, number: str, known: list[Person]) -> Person | None:
    """Return the one student with this number, if any. Only Canvas's numbers are the same for all assignments."""
    key = f"{system}-{number}"
    found = [p for p in known if (system == "canvas" and p.lms == number) or p.id == key]
    return found[0] if len(found) == 1 else None


def _by_name(names: dict[tuple[str, str], str], known: list[Person]) -> dict[tuple[str, str], Person]:
    """Return the students by name, if it is unique on both sides. Leave out students whose number is known."""
    named = defaultdict(list)
    for person in known:
        if person.first and person.last and not person.lms:
            for name in {f"{person.last}, {person.first}", f"{person.first} {person.last}"}:
                named[_letters_and_digits(name)].append(person)
    found = {key: named[_letters_and_digits(name)] for key, name in names.items()}
    certain = {key: persons[0] for key, persons in found.items() if len(persons) == 1}
    times = Counter(person.id for person in certain.values())
    return {key: person for key, person in certain.items() if times[person.id] == 1}


def _letters_and_digits(name: str) -> str:
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFC", name)).casefold()


def is_copy(file: str, notebook: str) -> bool:
    """Return True if a file's name is the notebook's, with or without the suffixes of copies."""
    wanted = PurePosixPath(notebook).stem.casefold()
    if PurePosixPath(file).suffix.lower() != ".ipynb":
        return False
    stem = re.sub(r"^(copy of|kopie von)\s+", "", PurePosixPath(file).stem.strip(), flags=re.IGNORECASE)
    while stem.casefold() != wanted:
        if (shorter := COPY.sub("", stem).rstrip(" -")) == stem:
            return False
        stem = shorter
    return True
