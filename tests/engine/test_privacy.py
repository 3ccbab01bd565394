"""Tests that what is about students is its owner's or group's, whatever the umask, and that pages reach students."""

import contextlib
import itertools
import os
import shutil
import stat
from pathlib import Path

import pytest
from conftest import ROOT
from forked_commands import run_command

from autograder import files
from autograder.nbgrader_plugin import privacy
from autograder.nbgrader_plugin.converters import settings
from autograder.nbgrader_plugin.gradebook.locking import locked, make_ready
from autograder.nbgrader_plugin.intake.unpack import CarefulExtractor

UMASKS = [0o000, 0o022, 0o077]
ABOUT_STUDENTS = ("gradebook.db", "submitted", "autograded", "feedback", "marked", "students.csv")
COURSE = """
from pathlib import Path

c.Exchange.root = str(Path(__file__).parent / "exchange")
c.CourseDirectory.groupshared = {group}
"""


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


def open_to_others(folder, group):
    """Return what below a folder, or the folder itself, is open to others, or closed to the group that shares it."""
    return {
        str(path.relative_to(folder.parent)): oct(mode(path))
        for path in (folder, *folder.rglob("*"))
        if mode(path) & (0o007 if group else 0o077) or (group and mode(path) >> 3 & 0o6 != 0o6)
    }


def test_a_private_file_is_its_owners_from_the_start(umask, tmp_path, monkeypatch):
    path, seen = tmp_path / "secret", []
    monkeypatch.setattr(Path, "write_bytes", lambda self, content: seen.append((mode(self), content)))
    for group in (False, True):
        files.write_private(path, b"text", group)
    assert seen == [(0o600, b"text"), (0o660, b"text")]


def test_a_private_file_replaces_an_open_one_and_what_a_kill_left(umask, tmp_path):
    path, left = tmp_path / "secret", tmp_path / ".secret.new"
    for old in (path, left):
        old.write_text("old")
        old.chmod(0o666)
    files.write_private(path, b"new")
    assert (path.read_bytes(), mode(path), left.exists()) == (b"new", 0o600, False)


def test_the_groups_rights_are_the_owners_and_others_have_none(tmp_path):
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.touch()
    for path, before, group, after in (
        (folder, 0o777, False, 0o700),
        (folder, 0o755, True, 0o2770),
        (file, 0o444, False, 0o400),
        (file, 0o644, True, 0o660),
        (file, 0o4755, False, 0o700),
    ):
        path.chmod(before)
        files.private(path, group)
        assert mode(path) == after
    files.private(tmp_path / "missing")
    before = os.umask(0o022)
    with contextlib.suppress(ZeroDivisionError), files.only_for_owner():
        raise ZeroDivisionError
    assert os.umask(before) == 0o022


@pytest.mark.parametrize("group", [False, True])
def test_a_gradebook_and_its_lock_are_private_and_so_is_what_was_open(umask, tmp_path, monkeypatch, group):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COURSE_CLASSROOM", str(tmp_path / "class"))
    monkeypatch.setattr(privacy, "_configured", [])  # other tests' classrooms stay their owner's
    location = settings(str(tmp_path / "class")).coursedir
    privacy._configured[0].CourseDirectory.groupshared = group
    for name in ABOUT_STUDENTS[1:-1]:
        (tmp_path / "class" / name).mkdir(mode=0o777)
    (tmp_path / "class" / "students.csv").touch(mode=0o666)
    with locked(location.db_url):
        make_ready(location.db_url, location.course_id, ["ada"])
    assert mode(tmp_path / "class" / "gradebook.db.turn") == (0o660 if group else 0o600)
    for name in ABOUT_STUDENTS:
        assert open_to_others(tmp_path / "class" / name, group) == {}
    (tmp_path / "class" / "gradebook.db").chmod(0o644)  # of an earlier version
    make_ready(location.db_url, location.course_id)
    assert mode(tmp_path / "class" / "gradebook.db") == (0o660 if group else 0o600)


def test_what_is_unpacked_is_private(umask, tmp_path):
    download = tmp_path / "archive"
    download.mkdir()
    (download / "a_1_2_x.ipynb").write_text("{}")
    shutil.make_archive(str(download / "s"), "zip", ROOT / "tests" / "second_course" / "source")
    (tmp_path / "extracted").mkdir()
    CarefulExtractor().extract(str(download), str(tmp_path / "extracted"))
    assert len([*(tmp_path / "extracted").rglob("*.ipynb")]) == 2
    assert open_to_others(tmp_path / "extracted", False) == {}


# The umask that lets all in, with none to let in, and the one that lets nobody in, with a group; the rest with --all
EXTREMES = {(0o000, False), (0o077, True)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("umask", "group"),
    [
        pytest.param(*both, marks=[] if both in EXTREMES else pytest.mark.long)
        for both in itertools.product(UMASKS, (False, True))
    ],
    ids=str,
    indirect=["umask"],
)
def test_commands_write_for_the_owner_and_students_read_in_the_exchange(umask, tmp_path, group):
    course = tmp_path / "counting"
    shutil.copytree(ROOT / "tests" / "second_course", course)
    with (course / "nbgrader_config.py").open("a") as config:
        config.write(COURSE.format(group=group))
    (course / "exchange").mkdir()
    (course / "exchange").chmod(0o1777)

    def run(*command):
        status, output = run_command(*command, folder=course, environment={**os.environ, "PYTHONPATH": str(ROOT)})
        assert status == 0, output

    def closed(*names):
        return {name: found for name in names if (found := open_to_others(course / name, group))}

    run("nbgrader", "generate_assignment", "ps1")
    run("nbgrader", "release_assignment", "ps1")
    inbound = course / "exchange" / "Counting words" / "inbound" / "ada+ps1+2026-01-01 10:00:00 UTC+x"
    shutil.copytree(course / "release" / "ps1", inbound)
    (inbound / "timestamp.txt").write_text("2026-01-01 10:00:00 UTC")
    (inbound / "submission_secret.txt").write_text("secret")
    run("nbgrader", "collect", "ps1")
    run("nbgrader", "autograde", "ps1")
    run("nbgrader", "generate_feedback", "ps1")
    run("nbgrader", "export", f"--to={course / 'grades.csv'}")
    assert closed("gradebook.db", "submitted", "autograded", "feedback", "grades.csv") == {}
    run("autograder.cli", "grade", "ps1", "--force", "--workers=1")
    run("autograder.cli", "report", "--html=report.html")
    run("autograder.cli", "export", "csv", "--checks", "--to=checks.csv")
    assert closed("gradebook.db", "autograded", "feedback", "marked", "report.html", "checks.csv") == {}
    run("nbgrader", "release_feedback", "ps1")
    [page] = (course / "exchange" / "Counting words" / "feedback").glob("*.html")
    released = course / "exchange" / "Counting words" / "outbound" / "ps1"
    assert [mode(path) & 0o004 for path in (page, released, released / "ps1.ipynb")] == [0o004] * 3
    assert [mode(path) & 0o001 for path in (page.parent, released, released.parent)] == [0o001] * 3
    assert mode(course / "release" / "ps1" / "ps1.ipynb") & 0o044 == 0o044
