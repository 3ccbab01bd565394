"""Tests that times of submission are read as meant, or reported, and that a newer submission is marked."""

import shutil
import time
import zoneinfo
from collections import defaultdict
from datetime import UTC, datetime

import nbformat
import pytest
from nbformat.v4 import new_notebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.apps.nbgraderapp import NbGraderApp
from own_assignments import MARKS, PENALTIES, graded, rows, run

from autograder.nbgrader_plugin.formgrader.server import _handed_in_at
from autograder.nbgrader_plugin.intake import timestamps

DAY = "2027-02-02"
KNOWN = {  # texts, and the hour and minute in UTC, on the same day or the one before
    f"{DAY} 00:30:00.123456 UTC": "00:30",
    f"{DAY} 00:30:00 utc": "00:30",
    f"{DAY}T00:30:00Z": "00:30",
    "20270202T003000Z": "00:30",
    f"{DAY} 00:30:00 +0100": "23:30",
    f"{DAY} 00:30:00 -0100": "01:30",
    f"{DAY} 00:30:00+0530": "19:00",
    f"{DAY} 00:30:00 +01:00": "23:30",
    f"{DAY} 00:30:00.000000 +01": "23:30",
    f"{DAY}T00:30:00-03": "03:30",
    f"{DAY} 00:30:00 UTC+2": "22:30",
    f"{DAY} 00:30:00 GMT+01:00": "23:30",
    f"{DAY}T00:30:00 GMT+3": "21:30",
    f"{DAY}T00:30UTC-09:30": "10:00",
    f"{DAY} 00:30:00 CET": "23:30",
    f"{DAY} 00:30:00.123 CEST": "22:30",
    f"{DAY} 00:30:00 EST": "05:30",
    f"{DAY} 00:30:00 EDT": "04:30",
    f"{DAY} 00:30:00 PST": "08:30",
    f"{DAY} 00:30:00 PDT": "07:30",
    f"{DAY} 00:30:00 NST": "04:00",
    f"{DAY} 00:30:00 JST": "15:30",
    f"{DAY} 00:30:00 MESZ": "22:30",
    f"{DAY} 00:30:00 Europe/Berlin": "23:30",
    f"{DAY} 00:30:00 America/Argentina/Buenos_Aires": "03:30",
    f"{DAY} 00:30:00 Etc/GMT+3": "03:30",
    f"{DAY}T00:30+01:00[Europe/Berlin]": "23:30",
    "Tue Feb  2 00:30:00 CEST 2027\n": "22:30",
    "Tue Feb  2 12:30:00 AM PDT 2027": "07:30",
    "Tue, 02 Feb 2027 00:30:00 +0100 (CET)": "23:30",
    "Tue Feb 02 2027 00:30:00 GMT+0100 (Central European Standard Time)": "23:30",
    "02-FEB-2027 00:30:00 PDT": "07:30",
}
UNCLEAR = {  # texts, and what is said of them
    f"{DAY} 00:30:00 BST": "+0100 in Britain, +0600 in Bangladesh",
    f"{DAY}T00:30:00 IST": "+0530 in India",
    "Tue Feb  2 00:30:00 CST 2027": "+0800 in China",
    f"{DAY} 00:30:00 XYZ": "no known zone",
    f"{DAY} 00:30:00 Europe/Atlantis": "no known zone",
    f"{DAY} 00:30:00 +9900": "that far from UTC",
    "2027-10-31 02:30:00 Europe/Berlin": "twice or never",
    "2027-03-28 02:30:00 Europe/Berlin": "twice or never",
}
NONE = [
    "yesterday",
    "00:30",
    "Tue 00:30",
    "2",
    f"{DAY} 00:30:00 100",
    f"{DAY} 00:30:00 -100",
    f"{DAY} 00:30 CET UTC",
    f"{DAY} 00:30 CET+1",
    f"{DAY} 00:30 GMT+130",
    f"{DAY} 00:30Z+1",
    "0001-01-01 00:00 +0100",
    "\x00",
]


@pytest.fixture(params=["UTC", "Europe/London", "Asia/Kolkata", "America/Chicago", "Europe/Berlin"])
def machine(request, monkeypatch):
    """Let this process run in another time zone: dateutil knows the names of its machine's."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_every_text_says_the_same_moment_on_every_machine(machine):
    found = {text: timestamps.read(text) for text in KNOWN}
    assert {text: f"{one.moment:%H:%M}" for text, one in found.items()} == KNOWN
    assert {one.doubt for one in found.values()} == {""}
    assert timestamps.read(f"{DAY} 00:30:00 UTC+2").moment == datetime(2027, 2, 1, 22, 30, tzinfo=UTC)
    assert timestamps.read("2027-07-02 00:30:00 Europe/Berlin").moment == datetime(2027, 7, 1, 22, 30, tzinfo=UTC)


def test_what_is_unclear_is_said_and_never_guessed(machine):
    for text, output in UNCLEAR.items():
        found = timestamps.read(text)
        assert found.moment is None, text
        assert output in found.doubt, text
    for text in NONE:
        with pytest.raises(timestamps.NoTime):
            timestamps.read(text)
    without = timestamps.read(f"{DAY} 00:30:00")
    assert without.utc == datetime(2027, 2, 2, 0, 30)
    assert without.doubt == "no zone is named"
    assert timestamps.read(" \n") == timestamps.Stamp()


def test_names_of_zones_are_those_of_the_tz_database():
    offsets = defaultdict(set)
    for zone in map(zoneinfo.ZoneInfo, zoneinfo.available_timezones() - {"Factory", "localtime"}):
        for month in (1, 7):
            there = datetime(2026, month, 1, tzinfo=zone)
            offsets[there.tzname().upper()].add(there.utcoffset().total_seconds() / 3600)
    several = {name for name, hours in offsets.items() if len(hours) > 1}
    assert several - {"PST"} <= set(timestamps.AMBIGUOUS)
    assert not set(timestamps.AMBIGUOUS) & set(timestamps.HOURS)
    ours = {name: hours for name, hours in timestamps.HOURS.items() if name in offsets}
    assert not [name for name, hours in ours.items() if hours not in offsets[name]]
    assert {"PST", "EDT", "CEST"} <= set(ours)


CONFIGURATION = """
from pathlib import Path
import sys

from autograder.nbgrader_plugin.configuration import mark_with_autograder

c = get_config()
c.CourseDirectory.course_id = "Times"
c.AssignLatePenalties.plugin_class = "late.HourlyPenalty"
sys.path.insert(0, str(Path(__file__).parent))
mark_with_autograder(c)
"""
PENALTY = """
from nbgrader.plugins import BasePlugin

class HourlyPenalty(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return total_seconds_late / 3600
"""
SHEET = [
    graded("value", "### BEGIN SOLUTION\nvalue = 1\n### END SOLUTION", answer=True),
    graded("test_value", "assert value == 1", 20),
]
NBGRADER, OURS = ("nbgrader", "autograde", "ps1"), ("autograder", "grade", "--workers=1", "ps1")
DUE = "2027-02-02 00:00:00 UTC"
STAMPS = {  # student: what timestamp.txt says, and the hours that count as late
    "early": (f"{DAY} 00:30:00 +0100", None),
    "pacific": ("2027-02-01 17:30:00 PST", 1.5),
    "summer": ("Tue Feb  2 03:00:00 CEST 2027", 1.0),
    "british": (f"{DAY} 05:00:00 BST", None),
    "zoneless": (f"{DAY} 02:00:00", 2.0),
    "garbage": ("yesterday", None),
    "first": (None, None),
    "second": (None, None),
}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("times") / "course"
    (folder / "source" / "ps1").mkdir(parents=True)
    nbformat.write(new_notebook(cells=SHEET), folder / "source" / "ps1" / "ps1.ipynb")
    (folder / "nbgrader_config.py").write_text(CONFIGURATION)
    (folder / "late.py").write_text(PENALTY)
    run(folder, "nbgrader", "generate_assignment", "ps1")
    run(folder, "nbgrader", "db", "assignment", "add", "ps1", "--duedate", DUE)
    for student, (stamp, _) in STAMPS.items():
        hand_in(folder, student, stamp)
    return folder


@pytest.fixture
def course(released, tmp_path):
    return shutil.copytree(released, tmp_path / "times" / "course")


def hand_in(folder, student, stamp, value=1):
    location = folder / "submitted" / student / "ps1"
    shutil.rmtree(location, ignore_errors=True)
    location.mkdir(parents=True)
    cells = [graded("value", f"value = {value}", answer=True), SHEET[1]]
    nbformat.write(new_notebook(cells=cells), location / "ps1.ipynb")
    if stamp is not None:
        (location / "timestamp.txt").write_text(stamp)


def penalties(folder):
    return {student: hours for (student, _), (hours,) in rows(folder, PENALTIES, 2).items()}


def marks(folder):
    return {student: mark for (student, _, _), (mark, *_) in rows(folder, MARKS, 3).items()}


def marked_at(folder):
    return {path.parts[-3]: path.stat().st_mtime_ns for path in folder.glob("autograded/*/ps1/ps1.ipynb")}


@pytest.mark.slow
@pytest.mark.parametrize("command", [NBGRADER, OURS], ids=["nbgrader", "autograder"])
def test_nobody_is_late_by_a_guess_and_a_newer_submission_is_marked(course, command):
    output = run(course, *command)
    assert penalties(course) == {student: hours for student, (_, hours) in STAMPS.items()}
    assert "british (BST is +0100 in Britain, +0600 in Bangladesh)" in output
    assert "garbage (it holds no point in time)" in output
    assert "UTC is assumed: zoneless\n" in output
    before = marked_at(course)
    (course / "submitted" / "british" / "ps1" / "timestamp.txt").write_text(f"{DAY} 05:00:00 +0100")  # decided
    hand_in(course, "first", f"{DAY} 03:00:00 UTC", value=2)
    hand_in(course, "second", None, value=2)
    hand_in(course, "pacific", f"{DAY} 09:00:00 IST", value=2)  # newer, whatever IST is
    output = run(course, *command)
    assert "pacific (IST is " in output
    assert "british" not in output.partition("timestamp.txt does not say when")[2]
    changed = {"british": 4.0, "first": 0, "second": None, "pacific": None}
    assert penalties(course) == {student: hours for student, (_, hours) in STAMPS.items()} | changed
    assert marks(course) == {**dict.fromkeys(STAMPS, 20), "first": 0, "second": 0, "pacific": 0}
    assert {student for student, when in marked_at(course).items() if when != before[student]} == set(changed)


@pytest.mark.slow
def test_formgrader_lists_as_marked_what_was_marked(course, monkeypatch):
    run(course, *NBGRADER)
    monkeypatch.chdir(course)
    monkeypatch.setattr(NbGraderAPI, "get_submitted_timestamp", _handed_in_at)
    app = NbGraderApp()
    app.initialize([])
    assert NbGraderAPI(app.coursedir, parent=app).get_autograded_students("ps1") == set(STAMPS)
