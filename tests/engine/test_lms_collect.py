"""Tests that downloads from Canvas and Moodle become submissions: none is lost, and none writes outside its folder."""

import csv
import io
import json
import logging
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from class_copies import NAME
from conftest import missing
from nbgrader.api import Gradebook
from nbgrader.apps import ZipCollectApp
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.nbgrader_plugin.gradebook.roster import take_names
from autograder.nbgrader_plugin.intake.lms_collect import LmsCollector, is_copy, parse
from autograder.nbgrader_plugin.intake.unpack import CarefulExtractor

FILE = f"{NAME}.ipynb"
STUDENTS = {  # id: first name, last name, email, number in the system
    "amina": ("Amina", "Bello", "amina@example.edu", "4711"),
    "jgarcia": ("José", "García Pérez", "jose@example.edu", None),
    "twin1": ("Kim", "Lee", "kim1@example.edu", None),
    "twin2": ("Kim", "Lee", "kim2@example.edu", None),
    "ngozi": ("Ngozi", "Okafor", "ngozi@example.edu", "4714"),
}
ABSOLUTE = "/tmp/autograder-out.txt"
CANVAS, MOODLE = ("canvas", "4711", "belloamina"), ("moodle", "657737", "Amina Bello")
UPLOADS = {  # path below the download: system, number, student, file, late
    "belloamina_4711_90210_05-attention.ipynb": (*CANVAS, FILE, False),
    "belloamina_late_4711_90210_05-attention-1.ipynb": (*CANVAS, f"{NAME}-1.ipynb", True),
    "garcíapérezjosé_4712_9_a_1_2_b.ipynb": ("canvas", "4712", "garcíapérezjosé", "a_1_2_b.ipynb", False),
    "anon_Ab3dE_90210_05-attention.ipynb": ("canvas", "anon_Ab3dE", "", FILE, False),
    "LATE_anon_Ab3dE_90210_05-attention.ipynb": ("canvas", "anon_Ab3dE", "", FILE, True),
    "belloamina_4711_text.html": (*CANVAS, "text.html", False),
    "Amina Bello_657737_assignsubmission_file_/05-attention.ipynb": (*MOODLE, FILE, False),
    "Amina Bello_657737_assignsubmission_file_05-attention.ipynb": (*MOODLE, FILE, False),
    "Amina Bello_657737_assignsubmission_file_/deep/1_2_3_x.ipynb": (*MOODLE, "1_2_3_x.ipynb", False),
    "Amina Bello_657737_assignsubmission_onlinetext_/onlinetext.html": (*MOODLE, "onlinetext.html", False),
    "CS_101_2026_attention/belloamina_4711_90210_x.ipynb": (*CANVAS, "x.ipynb", False),
    "subs/belloamina_4711_90210_my.zip unpacked/a_1_2_x.ipynb": (*CANVAS, "a_1_2_x.ipynb", False),
    "05-attention.ipynb": None,
    "CS_101_2026_x/05-attention.ipynb": None,
}


def book(text="mine"):
    return json.dumps({"cells": [], "metadata": {"who": text}, "nbformat": 4, "nbformat_minor": 5})


def packed(files, **links):
    """Return a zip file with these files, as bytes. A list of pairs may hold a name twice."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, content)
        for name, target in links.items():
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, target)
    return out.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("gradebook") / "gradebook.db"
    with Gradebook(f"sqlite:///{path}", "transformers") as gradebook:
        for student, (first, last, email, number) in STUDENTS.items():
            gradebook.add_student(student, first_name=first, last_name=last, email=email, lms_user_id=number)
    return path


@pytest.fixture
def course(made, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    root = tmp_path / "course"
    (root / "release" / NAME).mkdir(parents=True)
    (root / "release" / NAME / FILE).write_text(book("release"))
    (root / "classroom" / "downloaded" / NAME / "archive").mkdir(parents=True)
    shutil.copy(made, root / "classroom" / "gradebook.db")
    return root


def collect(course, downloads, **options):
    """Run nbgrader's command on these downloads; return what is in each student's folder."""
    archive = course / "classroom" / "downloaded" / NAME / "archive"
    for name, content in downloads.items():
        path = archive / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    config = Config(LmsCollector=options)
    config.CourseDirectory = Config(root=str(course), course_id="transformers")
    config.CourseDirectory.submitted_directory = "classroom/submitted"
    config.CourseDirectory.db_url = f"sqlite:///{course}/classroom/gradebook.db"
    config.ZipCollectApp.downloaded_directory = "classroom/downloaded"
    config.ZipCollectApp.extractor_plugin = CarefulExtractor
    config.ZipCollectApp.collector_plugin = LmsCollector
    app = ZipCollectApp(config=config)
    app.log = logging.getLogger("zip_collect")  # nbgrader's own does not reach caplog
    app.coursedir = CourseDirectory(parent=app)
    app.coursedir.assignment_id = NAME
    app.init_plugins()
    app.extract_archive_files()
    app.process_extracted_files()
    submitted = course / "classroom" / "submitted"
    folders = sorted(submitted.glob("*"))
    return {one.name: {file.name: file.read_bytes() for file in (one / NAME).iterdir()} for one in folders}


def owner(content):
    return json.loads(content)["metadata"]["who"]


@pytest.mark.parametrize("name", UPLOADS)
def test_the_names_of_canvas_and_moodle_are_understood_and_no_others(name):
    found = parse(Path("/extracted") / name, Path("/extracted"))
    assert (found and (found.system, found.number, found.name, found.file, found.late)) == UPLOADS[name]


def test_copies_are_the_notebook_and_no_other_file_is():
    copies = [".ipynb", " (1).ipynb", "-2.ipynb", "(3).ipynb", "-Copy1.ipynb", " - Copy.ipynb", " - Copy (2).ipynb"]
    for ending in [*copies, "-1-2.ipynb", "_1.ipynb", " 2.ipynb"]:
        assert is_copy(f"{NAME}{ending}", FILE)
    assert is_copy("05-ATTENTION.ipynb", FILE)
    assert is_copy("Copy of 05-attention.ipynb", FILE)
    others = (f"{NAME}.pdf", f"{NAME}-old.ipynb", "06-masking.ipynb", "attention.ipynb", "05.ipynb")
    assert not any(is_copy(name, FILE) for name in others)
    assert is_copy("10-hugging-face-2.ipynb", "10-hugging-face-2.ipynb")
    assert not is_copy("10-hugging-face.ipynb", "10-hugging-face-2.ipynb")


def test_canvass_download_comes_in(course, caplog):
    download = {
        "belloamina_LATE_4711_900_05-attention-1.ipynb": book("amina"),
        "garcíapérezjosé_4712_901_05-attention.ipynb": book("jgarcia"),
        "leekim_4713_902_05-attention.ipynb": book("one of two"),
        "okaforngozi_4714_905_05-attention-1.ipynb": book("ngozi's last"),
        "okaforngozi_4714_904_05-attention.ipynb": book("ngozi's first"),
        "okaforngozi_4714_906_essay.pdf": b"%PDF",
        "strangersam_9999_907_answers.ipynb": book("stranger"),
    }
    found = collect(course, {"submissions.zip": packed(download)})
    assert set(found) == {"amina", "jgarcia", "canvas-4713", "ngozi", "canvas-9999"}
    assert [owner(found[student][FILE]) for student in ("amina", "jgarcia")] == ["amina", "jgarcia"]
    assert found["ngozi"] == {
        FILE: book("ngozi's last").encode(),
        "05-attention (2).ipynb": book("ngozi's first").encode(),
        "essay.pdf": b"%PDF",
    }
    assert list(found["canvas-9999"]) == ["answers.ipynb"]  # marked under its name: see intake/repair.py
    output = caplog.text
    last = "submissions/okaforngozi_4714_905_05-attention-1.ipynb"
    assert f"ngozi handed in 2 files that may be 05-attention.ipynb; “{last}” counts" in output
    by_name = "garcíapérezjosé is José García Pérez (jgarcia)"
    assert f"Students were recognised by nothing but their names (1): {by_name}" in output
    assert "Students are not known to the gradebook and were taken in under the system's number (2)" in output
    assert not missing(output, "leekim: canvas-4713", "Students were late, says Canvas")
    assert "amina" in output.partition("says Canvas")[2]


@pytest.mark.parametrize("folders", [True, False])
def test_moodles_download_comes_in(course, folders):
    between = "/" if folders else ""
    download = {
        f"Amina Bello_657737_assignsubmission_file_{between}05-attention (1).ipynb": book("amina"),
        f"José García Pérez_657738_assignsubmission_file_{between}05-attention.ipynb": book("jgarcia"),
        f"Kim Lee_657739_assignsubmission_file_{between}05-attention.ipynb": book("twin2"),
        f"Kim Lee_657740_assignsubmission_file_{between}05-attention.ipynb": book("twin1"),
    }
    numbers = {"657737": "amina", "657738": "jose", "657739": "kim2", "657740": "kim1"}
    rows = [[f"Participant {number}", "", f"{name}@example.edu", ""] for number, name in numbers.items()]
    roster = course / "worksheet.csv"
    with roster.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([["Identifier", "Full name", "Email address", "Grade"], *rows])
    found = collect(course, {"Course-Attention-77.zip": packed(download)}, roster=str(roster))
    owners = {student: {name: owner(text) for name, text in files.items()} for student, files in found.items()}
    assert owners == {student: {FILE: student} for student in ("amina", "jgarcia", "twin1", "twin2")}


def test_without_a_worksheet_only_unique_names_identify_moodles_students(course):
    names = ("José García Pérez_1", "Kim Lee_2", "Amina Bello_3")  # Amina's number is known, and it is not this one
    names += ("NGOZI OKAFOR_4", "Ngozi Okafor_5")  # two call themselves the same
    sent = [(name, FILE, book()) for name in names] + [(names[0], "timestamp.txt", "1999-01-01 UTC")]
    found = collect(
        course, {"m.zip": packed({f"{who}_assignsubmission_file_/{file}": text for who, file, text in sent})}
    )
    assert set(found) == {"jgarcia", "moodle-2", "moodle-3", "moodle-4", "moodle-5"}
    assert set(found["jgarcia"]) == {FILE, "timestamp (2).txt"}


def test_a_submission_under_a_number_is_reported_once_its_owner_is_known(course, caplog):
    download = {"s.zip": packed({f"leekim_4713_902_{FILE}": book()})}
    assert set(collect(course, download)) == {"canvas-4713"}
    shutil.rmtree(course / "classroom" / "downloaded" / NAME / "extracted")
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", "transformers") as gradebook:
        gradebook.update_or_create_student("twin1", lms_user_id="4713")
    caplog.clear()
    assert set(collect(course, download)) == {"canvas-4713", "twin1"}
    assert "submitted/canvas-4713/05-attention (now twin1)" in caplog.text
    roster = course / "canvas.csv"  # Canvas's gradebook says whose the numbers are
    roster.write_text('Student,ID,SIS Login ID,Section\n"Lee, Kim",4799,twin2,1\n', encoding="utf8")
    shutil.rmtree(course / "classroom" / "downloaded" / NAME / "extracted")
    download = {"s.zip": packed({f"leekim_4799_902_{FILE}": book()})}
    assert "twin2" in collect(course, download, roster=str(roster))


def test_loose_files_are_collected_and_other_names_are_reported(course, caplog):
    downloads = {
        f"submissions/belloamina_4711_900_{FILE}": book(),
        f"strangersam_9999_901_{FILE}": book(),
        "s.zip": packed({f"leekim_4713_902_{NAME}.ipynb.json": book(), "who-knows.ipynb": book()}),  # a browser's
        "t.zip": packed({f"okaforngozi_4714_901_{NAME}.ipynb.txt": book()}),
        "u.zip": packed({f"ownam_4717_901_{NAME}.IPYNB": book(), "garcíapérezjosé_4712_900_answers.pdf": b"%PDF"}),
    }
    found = collect(course, downloads)
    assert list(found.pop("jgarcia")) == ["answers.pdf"]
    assert found.keys() == {"amina", "ngozi", "canvas-4713", "canvas-4717", "canvas-9999"}
    assert [list(files) for files in found.values()] == [[FILE]] * 5
    assert "jgarcia handed in no notebook, but u/garcíapérezjosé_4712_900_answers.pdf" in caplog.text
    assert "Files are named neither as Canvas nor as Moodle name them, and were left where they are (1)" in caplog.text
    assert "s/who-knows.ipynb" in caplog.text


def test_everything_in_a_students_archive_is_that_students(course):
    inner = packed({f"hw/{FILE}": book("amina"), f"okaforngozi_4714_999_{FILE}": book("forged"), "hw/fig.png": b"png"})
    inner_tar = io.BytesIO()
    with tarfile.open(fileobj=inner_tar, mode="w:gz") as archive:
        for name, content in ((FILE, book("ngozi").encode()), ("../../out.txt", b"out")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    download = packed({"belloamina_4711_900_hw.zip": inner, "okaforngozi_4714_901_my.tar.gz": inner_tar.getvalue()})
    found = collect(course, {"s.zip": download})
    assert {student: owner(files[FILE]) for student, files in found.items()} == {"amina": "amina", "ngozi": "ngozi"}
    assert found["amina"]["fig.png"] == b"png"
    assert owner(found["amina"][f"okaforngozi_4714_999_{FILE}"]) == "forged"


@pytest.mark.parametrize(
    "name", ["../../../out.txt", ABSOLUTE, "..\\..\\out.txt", "C:\\out.txt", "a/../../../out.txt", "\\out.txt"]
)
def test_no_name_leads_out_of_the_folder(course, caplog, name):
    before = files_below(course.parent) | {Path(ABSOLUTE)}
    bad = packed({name: "out", FILE: book("amina")})
    found = collect(course, {"s.zip": packed({"belloamina_4711_900_hw.zip": bad, name: "out"})})
    assert owner(found["amina"][FILE]) == "amina"
    assert caplog.text.count("a name that leads out of the folder") == 2
    classroom = course / "classroom"
    assert all(path.is_relative_to(classroom) for path in files_below(course.parent) - before)
    assert not Path(ABSOLUTE).exists()
    assert not any(path.name.endswith("out.txt") for path in files_below(classroom))


def files_below(folder):
    return {path for path in folder.rglob("*") if not path.is_dir()}


def test_links_are_not_followed_and_not_made(course, caplog):
    secret = course / "secret.txt"
    secret.write_text("the answers")
    inner = packed({"link/inside.txt": "x", FILE: book("amina")}, link=str(course), notes=str(secret))
    found = collect(course, {"s.zip": packed({"belloamina_4711_900_hw.zip": inner})})
    assert owner(found["amina"][FILE]) == "amina"
    assert "files were not unpacked (2; a link): “link”, “notes”" in caplog.text
    assert not (course / "inside.txt").exists()
    assert not any(path.is_symlink() for path in (course / "classroom").rglob("*"))
    assert b"the answers" not in b"".join(found["amina"].values())


def test_too_many_files_and_too_long_names_do_not_stop_collection(course, caplog):
    many = packed({FILE: book("amina")} | {f"{n}.txt": "" for n in range(5_000)})
    long = {f"okaforngozi_4714_901_{'x' * 300}.ipynb": book(), f"leekim_4713_901_{'ọ' * 100}.ipynb": book()}
    found = collect(course, {"s.zip": packed({"belloamina_4711_900_hw.zip": many} | long)})
    assert owner(found["amina"][FILE]) == "amina"
    assert "files were not unpacked (4501; more than 500 files)" in caplog.text
    assert len(found["amina"]) == 501  # the archive itself is there too
    assert [[name[-6:] for name in found[student]] for student in ("ngozi", "canvas-4713")] == [[".ipynb"]] * 2


def test_a_file_that_is_too_large_is_not_unpacked(caplog, tmp_path):
    (tmp_path / "in").mkdir()
    bomb = packed({"zeros.bin": b"\0" * 5_000_000, FILE: book()})
    (tmp_path / "in" / "s.zip").write_bytes(packed({"a_1_2_hw.zip": bomb}))
    CarefulExtractor(max_bytes=1_000_000).extract(str(tmp_path / "in"), str(tmp_path / "out"))
    assert sorted(path.name for path in files_below(tmp_path / "out")) == [FILE, "a_1_2_hw.zip"]
    assert "files were not unpacked (1; ValueError: too large): “zeros.bin”" in caplog.text


def test_files_whose_names_are_in_each_others_way_stop_nobody(course, caplog):
    with pytest.warns(UserWarning, match="Duplicate name"):
        inner = packed([("hw", "a file"), (f"hw/{FILE}", book()), ("x.txt", "one"), ("x.txt", "two")])
    found = collect(course, {"s.zip": packed({"belloamina_4711_900_hw.zip": inner})})["amina"]
    assert len(found) == 4
    assert {b"one", b"two", b"a file"} < set(found.values())
    assert "files were not unpacked (1; FileExistsError" in caplog.text


def test_damaged_and_locked_archives_stop_nobody(course, caplog):
    lying = bytearray(packed({FILE: book()}))
    lying[60] ^= 255  # the content is not what the sum says
    unheard_of = bytearray(packed({FILE: b"\0" * 2**16}))
    unheard_of[30 + len(FILE)] = 0b111  # a block of a kind that is not known: zlib.error
    download = {
        "belloamina_4711_900_hw.zip": packed({FILE: book()})[:-30],
        "okaforngozi_4714_901_hw.zip": bytes(lying),
        "jonesjo_4715_903_hw.zip": bytes(unheard_of),
        f"strangersam_9999_902_{FILE}": book("stranger"),
    }
    found = collect(course, {"s.zip": packed(download), "also-broken.zip": b"no zip"})
    for student in ("amina", "ngozi", "canvas-4715"):
        assert list(found[student]) == ["hw.zip"], "they handed in something, and will be told"
    assert owner(found["canvas-9999"][FILE]) == "stranger"
    assert "also-broken.zip cannot be unpacked" in caplog.text


VERA = "victimvera_4711_100_05-attention.ipynb"
TAKING = {  # names by which somebody not in the gradebook would take the place of the student with the number 4711
    "the file's name": f"eveeve_5555_101_x_4711_999999_{FILE}",
    "a file's name with signs": f"eveeve_5555_101_x-y_4711_999999_{FILE}",
    "the student's own name": f"eve_4711_1_5555_101_{FILE}",
    "the student's name, and a late file": f"eve_4711_1_LATE_5555_101_{FILE}",
    "the student's name, with accents": f"e\u0301ve‿_4711_1_5555_101_{FILE}",
    "a name that Canvas mends": f"eve_4711_1__5555_101_{FILE}",
    "a name, and a text": "eve_4711_5555_text.html",
    "an archive's name": "eveeve_5555_101_x_4711_999999_hw.zip",
}


def failing(course, downloads, **options):
    """Return what is in each student's folder after a command that ends with status 1."""
    with pytest.raises(SystemExit) as ended:
        collect(course, downloads, **options)
    assert ended.value.code == 1
    submitted = course / "classroom" / "submitted"
    return {
        one.name: {file.name: owner(file.read_bytes()) for file in (one / NAME).iterdir()}
        for one in submitted.glob("*")
    }


@pytest.mark.parametrize("way", TAKING)
def test_no_name_of_a_file_or_student_takes_anothers_place(course, caplog, way):
    name = TAKING[way]
    eves = packed({FILE: book("eve")}) if name.endswith(".zip") else book("eve")
    others = {f"okaforngozi_4714_7_{FILE}": book("ngozi")}
    found = failing(course, {"s.zip": packed({VERA: book("amina"), name: eves} | others)})
    assert found == {"amina": {FILE: "amina"}, "ngozi": {FILE: "ngozi"}}
    [warned] = [line.message for line in caplog.records if "were given to nobody (1)" in line.message]
    assert not missing(warned, f"s/{name}", "Amina Bello (amina)", "5555", f"s/{VERA}")


def test_the_first_number_decides_where_no_later_one_can_be_a_users(course):
    names = {f"belloamina_4711_100_hw-1_4714_9_{FILE}": book("amina"), f"okaforngozi_4714_7_{FILE}": book("ngozi")}
    names |= {"strangersam_9999_8_my-01_02_x.ipynb": book("sam"), "leekim_4713_9_a-5_6_b.ipynb": book("kim")}
    found = collect(course, {"s.zip": packed(names)})
    assert {student: sorted(files) for student, files in found.items()} == {
        "amina": [f"hw-1_4714_9_{FILE}"],
        "ngozi": [FILE],
        "canvas-9999": ["my-01_02_x.ipynb"],
        "canvas-4713": ["a-5_6_b.ipynb"],
    }


def test_canvass_gradebook_settles_whose_a_name_with_several_numbers_is(course, caplog):
    names = {f"belloamina_4711_100_a_1_2_{FILE}": book("amina"), f"okaforngozi_4714_7_{FILE}": book("ngozi")}
    assert list(failing(course, {"s.zip": packed(names)})) == ["ngozi"]
    roster = course / "canvas.csv"
    head = 'Student,ID,SIS Login ID,Section\n"Bello, Amina",4711,amina,1\n"Okafor, Ngozi",4714,ngozi,1\n'
    roster.write_text(head, encoding="utf8")
    clear(course)
    assert set(collect(course, {}, roster=str(roster))) == {"amina", "ngozi"}
    forged = {f"eve_4711_1_5555_101_{FILE}": book("eve"), f"belloamina_4711_1_5555_102_{FILE}": book("eve")}
    clear(course)
    roster.write_text(f'{head}"Eve, Eve",5555,eve,1\n', encoding="utf8")
    assert set(failing(course, {"s.zip": packed(names | forged)}, roster=str(roster))) == {"amina", "ngozi"}
    assert "were given to nobody (2)" in caplog.text


def clear(course):
    for folder in ("submitted", f"downloaded/{NAME}/extracted"):
        shutil.rmtree(course / "classroom" / folder)


def test_moodles_first_number_decides(course, caplog):
    number = "_assignsubmission_file_"
    names = {
        f"Eve_5{number}Amina Bello_4711{number}{FILE}": book("5"),
        f"Eve 4711 assignsubmission file_6{number}/Amina Bello_7{number}/{FILE}": book("6"),
        f"eve_5555_101_José García Pérez_8{number}{FILE}": book("5555"),  # Canvas's: the rest is the file's name
    }
    found = collect(course, {"m.zip": packed(names)})
    assert {student: owner(*files.values()) for student, files in found.items()} == {
        "moodle-5": "5",
        "moodle-6": "6",
        "canvas-5555": "5555",
    }


def test_who_is_in_the_roster_is_nobody_elses_name(course):
    roster = course / "worksheet.csv"
    rows = "Identifier,Full name,Email address,Grade\nParticipant 1,José García Pérez,jose@example.edu,\n"
    roster.write_text(rows, encoding="utf8")
    found = collect(course, {f"José García Pérez_2_assignsubmission_file_{FILE}": book()}, roster=str(roster))
    assert list(found) == ["moodle-2"]


TWICE = {  # whose number stands twice: a system's table, and the file
    "gradebook": ("", f"leekim_4713_100_{FILE}"),
    "Canvas": ("Student,ID,SIS Login ID,Section\nA,4713,twin1,1\nB,4713,twin2,1\n", f"leekim_4713_100_{FILE}"),
    "Moodle": (
        "Identifier,Email address\n4713,kim1@example.edu\n4713,kim2@example.edu\n",
        f"A_4713_assignsubmission_file_{FILE}",
    ),
}


@pytest.mark.parametrize("table", TWICE)
def test_a_number_that_stands_twice_is_nobodys_and_the_others_come_in(course, caplog, table):
    rows, name = TWICE[table]
    (course / "roster.csv").write_text(rows, encoding="utf8")
    output = f"4713 stands 2 times in {course}/roster.csv"
    if not rows:
        with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", "transformers") as gradebook:
            for student in ("twin1", "twin2"):
                gradebook.update_or_create_student(student, lms_user_id="4713")
        output = "4713, the number of Kim Lee (twin1) and of Kim Lee (twin2)"
    download = {name: book("?"), f"okaforngozi_4714_7_{FILE}": book("ngozi")}
    options = {"roster": str(course / "roster.csv")} if rows else {}
    assert failing(course, {"s.zip": packed(download)}, **options) == {"ngozi": {FILE: "ngozi"}}
    assert f"given to nobody (1): s/{name} ({output})" in caplog.text


def test_a_class_list_with_a_student_or_a_number_twice_is_named(course, caplog):
    table, database = course / "students.csv", f"sqlite:///{course}/classroom/gradebook.db"
    table.write_text("id,first_name,lms_user_id\nada,Ada,1\nbob,Bob,1\ncleo,Cleo,2\ncleo,Cleo,3\n")
    take_names(database, "transformers", table, logging.getLogger())
    assert "more than once; only that is taken in which their rows agree (1): cleo" in caplog.text
    assert "are those of several students, so exports pass over them (1): 1" in caplog.text
    with Gradebook(database, "transformers") as gradebook:
        cleo = gradebook.find_student("cleo")
        assert (cleo.first_name, cleo.lms_user_id) == ("Cleo", None)


def test_a_name_that_is_cut_loses_no_number_that_may_be_its_owners(course, caplog):
    long = f"eve_4711_1_{'x' * 200}_5555_101_{FILE}"
    assert set(collect(course, {"s.zip": packed({VERA: book("amina"), long: book("eve")})})) == {"amina"}
    assert f"“{long}”" in caplog.text


def test_letters_are_compared_with_their_marks_and_no_name_is_none(course):
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", "transformers") as gradebook:
        gradebook.add_student("ram", first_name="राम", last_name="शर्मा")
        gradebook.add_student("signs", first_name="-", last_name=".")
    names = (f"शरमारम_5_6_{FILE}", f"anon_Ab3_7_{FILE}")
    assert set(collect(course, {"s.zip": packed(dict.fromkeys(names, book()))})) == {"canvas-5", "canvas-anon_Ab3"}
