"""Tests of the class's secret: who can read it, when it is made, and what is said if it is lost or damaged."""

import os
import stat
import subprocess
import sys

import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from small_course import course, released, settings  # noqa: F401 (fixtures among them)
from typer.testing import CliRunner

from autograder import cli
from autograder.batch import marking
from autograder.batch.marking_cache import key_of
from autograder.batch.tasks import Submission
from autograder.nbgrader_plugin.class_secret import FILE, LATE, SecretError, path_of, read_secret, ready_secret
from autograder.nbgrader_plugin.preprocessors import Judge
from autograder.nbgrader_plugin.report.data import collect_class

TWO = """
import sys, time
from nbgrader.coursedir import CourseDirectory
from autograder.nbgrader_plugin.class_secret import ready_secret
place = CourseDirectory(root=sys.argv[1], db_url=f"sqlite:///{sys.argv[1]}/gradebook.db")
print(ready_secret(place).key.hex())
"""


@pytest.fixture
def folder(tmp_path):
    return CourseDirectory(root=str(tmp_path), db_url=f"sqlite:///{tmp_path}/gradebook.db")


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("shared", "expected"), [(False, 0o600), (True, 0o660)])
def test_the_secret_is_for_its_owner_or_the_group_that_shares(folder, no_umask, shared, expected):
    folder.groupshared = shared
    made = ready_secret(folder)
    assert made.new
    assert len(made.key) == 32
    assert mode(path_of(folder)) == expected
    path_of(folder).chmod(0o666)  # as a copy from a backup may be
    again = ready_secret(folder)
    assert (again.key, again.new, again.remark) == (made.key, False, "")
    assert mode(path_of(folder)) == expected


def test_two_processes_that_make_the_secret_at_once_use_the_same(tmp_path):
    both = [
        subprocess.Popen([sys.executable, "-c", TWO, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert len({one.communicate()[0] for one in both}) == 1


def test_beside_a_database_on_a_server_the_secret_lies_with_the_terms_data(tmp_path):
    folder = CourseDirectory(root=str(tmp_path), db_url="postgresql://somebody@server/gradebook")
    folder.submitted_directory = "classroom/submitted"
    assert path_of(folder) == tmp_path / "classroom" / FILE


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff\xfe", b"# only a remark\n"])
def test_a_damaged_secret_is_named_and_not_replaced(folder, content):
    path_of(folder).write_bytes(content)
    with pytest.raises(SecretError, match=rf"{FILE}.* (empty or damaged|no text).* backup"):
        ready_secret(folder)
    assert path_of(folder).read_bytes() == content


def test_a_link_or_folder_in_place_of_the_secret_is_named(folder, tmp_path):
    path_of(folder).symlink_to(tmp_path / "missing")
    with pytest.raises(SecretError, match=rf"{FILE}.* leads nowhere"):
        ready_secret(folder)
    path_of(folder).unlink()
    path_of(folder).mkdir()
    with pytest.raises(SecretError, match=rf"{FILE}.* directory"):
        ready_secret(folder)
    assert not (tmp_path / "missing").exists()


def test_a_secret_made_after_marks_says_so_from_then_on(folder):
    with Gradebook(folder.db_url, folder.course_id) as gradebook:
        gradebook.add_assignment("sums")
        gradebook.add_notebook("sums", "sums")
        gradebook.add_grade_cell("test_total", "sums", "sums", max_score=2, cell_type="code")
        gradebook.add_student("amina")
        gradebook.add_submission("sums", "amina")
        gradebook.find_grade("test_total", "sums", "sums", "amina").auto_score = 2
        gradebook.db.commit()
    assert ready_secret(folder).remark.startswith(LATE)
    assert read_secret(folder).remark.startswith(LATE)


def test_the_key_of_a_marking_depends_on_the_secret_and_no_text_shows_it():
    one, other = (Submission("sums", {}, secret=secret) for secret in (b"the one", b"the other"))
    assert key_of(one, "here") != key_of(other, "here")
    assert "the one" not in repr(one)


def test_grade_stops_at_a_damaged_secret(course):  # noqa: F811
    (course / FILE).write_text("")
    done = CliRunner().invoke(cli.app, ["grade", "sums"])
    assert done.exit_code == 1
    assert "empty or damaged" in " ".join(done.output.split())


def test_the_report_says_that_the_secret_is_missing_or_new(course):  # noqa: F811
    assert CliRunner().invoke(cli.app, ["grade", "sums", "--workers", "1"]).exit_code == 0
    assert collect_class().secret == ""
    (course / FILE).unlink()
    assert "is missing" in collect_class().secret
    done = CliRunner().invoke(cli.app, ["grade", "sums", "--workers", "1"])
    assert LATE in " ".join(done.output.split())
    assert collect_class().secret.startswith(LATE)
    assert LATE not in " ".join(CliRunner().invoke(cli.app, ["grade", "sums", "--workers", "1"]).output.split())


def test_nbgrader_autograde_marks_with_the_classs_secret(course, monkeypatch):  # noqa: F811
    monkeypatch.setattr(Judge, "secret", b"")
    app = settings()
    app.coursedir.assignment_id = "sums"
    Autograde(coursedir=app.coursedir, parent=app).start()
    assert Judge.secret == read_secret(app.coursedir).key


def test_nbgrader_autograde_stops_at_a_damaged_secret(course):  # noqa: F811
    (course / FILE).write_text("")
    app = settings()
    app.coursedir.assignment_id = "sums"
    with pytest.raises(NbGraderException, match="empty or damaged"):
        Autograde(coursedir=app.coursedir, parent=app).start()


def test_trying_a_notebook_needs_no_secret_and_makes_none(course):  # noqa: F811
    Judge.secret = b"of another class"
    marking.mark_file(course / "submitted" / "amina" / "sums" / "sums.ipynb", "sums")
    marking._lone_marker.cache_clear()  # another test's course has an assignment of this name
    assert Judge.secret == b""
    assert not (course / FILE).exists()
