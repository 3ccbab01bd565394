"""Collect submissions downloaded from Canvas and Moodle with `nbgrader zip_collect`, and find the student of each.

The systems name the files in their archives like this (github.com/instructure/canvas-lms, lib/content_zipper.rb;
github.com/moodle/moodle, mod/assign/classes/downloader.php):

    garcíajosé_LATE_4711_90210_ps1-1.ipynb                                  Canvas: name, user, upload, file
    José García_657737_assignsubmission_file/ps1.ipynb                      Moodle: name, participant; a folder each
    José García_657737_assignsubmission_file_ps1.ipynb                      Moodle, without folders

Students choose how their file is called, and often their own name, so either may hold what looks like a number. Moodle
takes the underscores out of names: the first number is the participant's. Canvas leaves letters, digits and underscores
in them, and nothing else: behind any other character no number is the user's, and of several before it each may be.

Canvas's number is the gradebook's `lms_user_id`; Moodle's is new each time, and in its worksheet (`Identifier`).
"""

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from nbgrader.api import Gradebook
from nbgrader.plugins import FileNameCollectorPlugin
from nbgrader.utils import find_all_notebooks
from traitlets import Dict, Unicode

from ...files import only_for_owner
from ..gradebook.roster import CANVAS_KEYS, MOODLE_KEYS, Person, Unusable, key_cell, match, people, read, warn
from .student_folder import STAMP, shown
from .unpack import UNPACKED, free_name

CANVAS = re.compile(
    r"(?:(?P<name>.*?)_)??(?:(?P<late>LATE)_)?(?P<number>[0-9]+|anon_[A-Za-z0-9]+)_"
    r"(?:(?P<page>(?:text|link)\.html)|(?P<upload>[0-9]+)_(?P<file>.+))",
    re.IGNORECASE | re.DOTALL,
)
MOODLE = re.compile(
    r"(?P<name>[^_]*)_(?P<number>[0-9]+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?",
    re.IGNORECASE | re.DOTALL,
)
# Finds numbers that may be the user's in Canvas: between the name and the upload's number or a page.
USER = re.compile(r"(?:(?<=_)|^)[0-9]+(?=_[0-9]+_.|_(?:text|link)\.html$)", re.IGNORECASE | re.DOTALL)
NOT_IN_NAMES = re.compile(r"[^\w\x80-\U0010ffff]", re.ASCII)  # Canvas takes these out of a student's name, at least
# Suffixes for a second file of the same name, from Canvas, browsers, JupyterLab and file managers.
COPY = re.compile(r"(?:\s*\(\d+\)|[-_ ]\d{1,2}|[-_ ]+(?:copy|kopie|copie|copia)\s*\d*|-checkpoint)$", re.IGNORECASE)

Key = tuple[str, str]  # a system, and its number for a student


@dataclass(frozen=True)
class SubmittedFile:
    path: Path
    named: Path  # by the system: the file, or the folder or archive in which it lies, below the download
    system: str  # canvas or moodle
    number: str  # the system's number for the student, which is the first in the name
    name: str  # of the student, in the system
    file: str  # name of the file
    upload: int = 0  # a later one has a higher number
    late: bool = False
    rivals: tuple[str, ...] = ()  # later numbers that may stand for `number`, if the name before them is a student's
    others: tuple[str, ...] = ()  # all later numbers: students who choose a file's name may write any

    @property
    def key(self) -> Key:
        return self.system, self.number


def parse(path: Path, folder: Path) -> SubmittedFile | None:
    """Return the parts of a path below `folder`; None if no system named it. Names that students choose come last."""
    parts = path.relative_to(folder).parts
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        about = path, Path(*parts[: index + 1])
        if moodle := MOODLE.fullmatch(part):
            file = moodle["file"] if last and moodle["file"] else path.name
            return SubmittedFile(*about, "moodle", moodle["number"], moodle["name"], file)
        if (last or part.endswith(UNPACKED)) and (canvas := CANVAS.fullmatch(part)):
            file = (canvas["file"] or canvas["page"]) if last else path.name
            found = [one for one in USER.finditer(part) if one[0] != canvas["number"]]
            rivals = tuple(one[0] for one in found if not NOT_IN_NAMES.search(part[: one.start()]))
            others = tuple(one[0] for one in found)
            upload, late = int(canvas["upload"] or 0), bool(canvas["late"])
            who = canvas["number"], canvas["name"] or ""
            return SubmittedFile(*about, "canvas", *who, file, upload, late, rivals, others)
    return None


@dataclass
class ClassList:
    """Finds the student of a system's number in the gradebook, and in the system's own table if there is one."""

    known: list[Person]
    roster: str = ""  # the table's path
    rows: dict[Key, list[tuple[str, Person | None]]] = field(default_factory=lambda: defaultdict(list))  # name, student
    problems: dict[Key, str] = field(default_factory=dict)  # of rows in doubt

    def owners(self, key: Key) -> list[Person]:
        """Return the students with this number. Only Canvas's numbers are the same for all assignments."""
        found = [person for _, person in self.rows.get(key, ()) if person]
        found += [person for person in self.known if key[0] == "canvas" and person.lms == key[1]]
        return list(dict.fromkeys(found)) or [person for person in self.known if person.id == "-".join(key)]

    def knows(self, key: Key) -> bool:
        return bool(key in self.rows or self.owners(key))

    def who(self, key: Key) -> str:
        owners = " and of ".join(map(str, self.owners(key)))
        return f"{key[1]}, the number of {owners}" if owners else f"{key[1]}, which the class list does not have"

    def doubt(self, one: SubmittedFile) -> str | None:
        """Return why it is not certain whose a file is; None if it is, and where nobody is known by its number."""
        if one.key in self.problems:
            return f"{self.roster} does not say whose {one.number} is: {self.problems[one.key]}"
        if len(self.rows.get(one.key, ())) > 1:
            return f"{one.number} stands {len(self.rows[one.key])} times in {self.roster}"
        if len(self.owners(one.key)) > 1:
            return self.who(one.key)
        rivals = [] if self._settles(one) else [*one.rivals]
        if not self.owners(one.key):
            rivals += [number for number in one.others if self.owners((one.system, number))]
        if not rivals:
            return None
        return ", or ".join(self.who((one.system, number)) for number in dict.fromkeys([one.number, *rivals]))

    def _settles(self, one: SubmittedFile) -> bool:
        """Return True if the roster has the first number of a name with this student's name, and none of the others."""
        names = {_letters_and_digits(name) for name, _ in self.rows.get(one.key, ())}
        return names == {_letters_and_digits(one.name)} and not any(self.knows((one.system, n)) for n in one.rivals)


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
        paths = sorted(path for path in self._folder.rglob("*") if path.is_file())
        found = [one for path in paths if (one := parse(path, self._folder))]
        others = [path.relative_to(self._folder) for path in sorted({*paths} - {one.path for one in found})]
        what = "are named neither as Canvas nor as Moodle name them, and were left where they are"
        self._warn(others, what, "Files")
        release = app.coursedir.format_path(app.coursedir.release_directory, ".", app.coursedir.assignment_id)
        released = find_all_notebooks(release)
        doubtful, students = self._students(found)
        self._transfer_privately(len(doubtful))
        plan: dict[Path, dict[str, str]] = {}
        for student in dict.fromkeys(students.values()):
            own = [one for one in found if one.path not in doubtful and students[one.key] == student]
            plan |= self._files(student, own, released)
        return plan

    def _warn(self, names: Iterable[object], what: str, things: str = "Students") -> None:
        """Log a warning with the names, whose characters students choose."""
        warn(self.log, (shown(str(name), 2_000) for name in names), what, things)

    @property
    def _folder(self) -> Path:
        return Path(self.parent._format_collect_path(self.parent.extracted_directory))

    def _shown(self, one: SubmittedFile) -> str:
        """Return a file's name as the system gave it, with the folders below the download."""
        return shown(str(one.path.relative_to(self._folder)), 1000)

    def _transfer_privately(self, doubtful: int) -> None:
        """Let nbgrader copy the files for their owner only, and fail afterwards if some belong to nobody."""
        app, transfer = self.parent, self.parent._transfer_files

        def transfer_then_fail(collected: dict[str, dict[str, list[str]]]) -> None:
            with only_for_owner(app.coursedir.groupshared):
                transfer(collected)
            if doubtful:
                app.fail(
                    "Files were given to nobody, for the reasons above (%d); all others were collected. Correct the "
                    "class list, name the system's table with --LmsCollector.roster, or rename these files in %s; then "
                    "give the same command again with --force.",
                    *(doubtful, app._format_collect_path(app.archive_directory)),
                )

        app._transfer_files = transfer_then_fail

    def _students(self, found: list[SubmittedFile]) -> tuple[set[Path], dict[Key, str]]:
        """Return the files that belong to nobody for certain, and the student for each key of the others."""
        settings = self.parent.coursedir
        with Gradebook(settings.db_url, settings.course_id) as gradebook:
            known = people(gradebook)
        listed = self._class_list(known)
        doubts = {one.path: doubt for one in found if (doubt := listed.doubt(one))}
        names = {one.key: one.name for one in found if one.path not in doubts}
        certain = {key: owners[0] for key in names if (owners := listed.owners(key))}
        numbers = defaultdict(list)
        for key, person in certain.items():
            numbers[person.id].append(key[1])
        for one in found:
            owner = certain.get(one.key)
            if owner and len(numbers[owner.id]) > 1 and one.path not in doubts:
                doubts[one.path] = f"{owner} is meant by {' and by '.join(numbers[owner.id])}"
        self._report_doubts(found, doubts, certain)
        names = {one.key: one.name for one in found if one.path not in doubts}
        placed = {person.id for person in certain.values()}
        placed |= {person.id for rows in listed.rows.values() for _, person in rows if person}
        free = [person for person in known if person.id not in placed]
        by_name = _by_name({key: name for key, name in names.items() if key not in certain}, free)
        students = {key: person.id for key, person in (certain | by_name).items() if key in names}
        unknown = {key: "-".join(key) for key in names if key not in students}
        self._warn((f"{names[k]} is {p}" for k, p in by_name.items()), "were recognised by nothing but their names")
        what = "are not known to the gradebook and were taken in under the system's number"
        self._warn((f"{names[key]}: {student}" for key, student in unknown.items()), what)
        earlier = {  # folders of submissions
            Path(settings.format_path(settings.submitted_directory, "-".join(key), settings.assignment_id)): student
            for key, student in students.items()
        }
        moved = [f"{folder} (now {student})" for folder, student in earlier.items() if folder.is_dir()]
        what = "lie where they were collected before it was known whose they are, and would be marked: delete them"
        self._warn(moved, what, "Submissions")
        students |= unknown
        late = dict.fromkeys(students[one.key] for one in found if one.late and one.path not in doubts)
        self._warn(late, "were late, says Canvas; nbgrader takes off no marks, as it does not learn how late")
        return {*doubts}, students

    def _report_doubts(self, found: list[SubmittedFile], doubts: dict[Path, str], certain: dict[Key, Person]) -> None:
        """Warn of files that may be of several students, with the files that are certainly theirs."""

        sentences = dict[str, None]()
        for one in found:
            if one.path in doubts:
                rivals = {(one.system, number) for number in (one.number, *one.others)} & certain.keys()
                own = [other.named for other in found if other.key in rivals and other.path not in doubts]
                certainly = f"; for certain theirs: {', '.join(map(str, dict.fromkeys(own)))}" if own else ""
                sentences[f"{one.named} ({doubts[one.path]}{certainly})"] = None
        self._warn(sentences, "may be of several students and were given to nobody", "Files")

    def _class_list(self, known: list[Person]) -> ClassList:
        listed = ClassList(known, self.roster)
        if not self.roster:
            return listed
        try:
            table = read(Path(self.roster), self.headings)
        except Unusable as reason:
            self.parent.fail("%s", reason)
        system, column, keys, name = "canvas", "ID", CANVAS_KEYS, "Student"
        if table.column("Identifier") is not None:
            system, column, keys, name = "moodle", "Identifier", MOODLE_KEYS, "Full name"
        elif table.column("ID") is None:
            self.parent.fail("%s has neither Canvas's column ID nor Moodle's column Identifier.", self.roster)
        students, problems = match(table, range(len(table.rows)), known, keys)
        for index, row in enumerate(table.rows):
            if number := key_cell(column, table.cell(row, column)):
                listed.rows[system, number].append((table.cell(row, name), students.get(index)))
                if index in problems:
                    listed.problems[system, number] = problems[index]
        return listed

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
                    "%s handed in %d files that may be %s; “%s” counts, the others lie next to it: %s",
                    *(student, len(same), notebook, self._shown(same[-1]), "; ".join(map(self._shown, same[:-1]))),
                )
        if not any(one.file.lower().endswith(".ipynb") for one in own):
            self.log.warning("%s handed in no notebook, but %s", student, "; ".join(map(self._shown, own)))
        taken = {name.casefold() for name in [*names.values(), STAMP]}
        for one in own:
            if one.path not in names:
                names[one.path] = free_name(one.file, lambda name: name.casefold() in taken)
                taken.add(names[one.path].casefold())
        return {path: {"student_id": student, "file_id": name} for path, name in names.items()}


def _by_name(names: dict[Key, str], known: list[Person]) -> dict[Key, Person]:
    """Return the students by name, if it is unique on both sides. Leave out students whose number is known."""
    named = defaultdict(list)
    for person in known:
        if person.first and person.last and not person.lms:
            for name in {f"{person.last}, {person.first}", f"{person.first} {person.last}"}:
                named[_letters_and_digits(name)].append(person)
    found = {key: named[letters] for key, name in names.items() if (letters := _letters_and_digits(name))}
    certain = {key: persons[0] for key, persons in found.items() if len(persons) == 1}
    times = Counter(person.id for person in certain.values())
    return {key: person for key, person in certain.items() if times[person.id] == 1}


def _letters_and_digits(name: str) -> str:
    """Return a name's letters, digits and combining marks: what Canvas keeps of it, without underscores."""
    composed = unicodedata.normalize("NFC", name)
    return "".join(c for c in composed if unicodedata.category(c)[0] in "LMN").casefold()


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
