"""Tests an instructor's work in Formgrader and on the command line: names, an exchange, feedback for all students."""

import logging
import shutil

import pytest
from conftest import ROOT
from nbgrader.api import Gradebook, Student
from nbgrader.apps.api import NbGraderAPI
from nbgrader.exchange import ExchangeFactory
from nbgrader.utils import notebook_hash

from autograder.nbgrader_plugin.converters import settings
from autograder.nbgrader_plugin.feedback.release_feedback import ReleaseFeedback
from autograder.nbgrader_plugin.gradebook.roster import take_names

NAME, WHEN = "05-attention", "2026-01-01 10:00:00 UTC"
LOG = logging.getLogger("test-instructor")


@pytest.fixture
def term(tmp_path):
    return tmp_path / "term"


@pytest.fixture
def app(term, monkeypatch):
    """Return nbgrader with this course's configuration, and a new classroom."""
    monkeypatch.setenv("COURSE_CLASSROOM", "")
    return settings(str(term))


def test_a_new_classroom_has_an_exchange_that_formgrader_can_use(app, term):
    api = NbGraderAPI(app.coursedir, parent=app)
    assert not api.exchange_missing
    assert api.exchange_root == str(term / "exchange")
    assert (term / "exchange").is_dir()


def write_page(term, student, words, **beside):
    folder = term / "feedback" / student / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.html").write_text(words)
    for name, text in beside.items():
        (folder / f"{name}.txt").write_text(text)


def released(app, term, student="*"):
    assert ExchangeFactory(config=app.config).release_feedback is ReleaseFeedback  # what the command takes
    app.coursedir.assignment_id, app.coursedir.student_id = NAME, student
    ReleaseFeedback(coursedir=app.coursedir, parent=app).start()
    return {path.name: path.read_text() for path in (term / "exchange" / "transformers" / "feedback").iterdir()}


def page_of(secret):
    return f"{notebook_hash(secret=secret, notebook_id=NAME)}.html"


def test_a_submission_from_elsewhere_does_not_stop_others_feedback(app, term, caplog):
    write_page(term, "ada", "Ada's page", submission_secret="a", timestamp=WHEN)
    write_page(term, "bob", "Bob's page")  # a file from Moodle, say
    write_page(term, "zoe [x]", "Zoe's page", submission_secret="z")  # the timestamp is lost
    app.log.propagate = True
    caplog.set_level("INFO")
    assert released(app, term) == {page_of("a"): "Ada's page", page_of("z"): "Zoe's page"}
    [warning] = {record.getMessage() for record in caplog.records if record.levelname == "WARNING"}
    assert "bob did not hand in through the exchange" in warning
    assert str(term / "feedback") in warning


def test_feedback_may_be_released_to_nobody_to_one_student_and_again(app, term):
    assert released(app, term) == {}
    for student in ("ada", "bob"):
        write_page(term, student, f"{student}'s page", submission_secret=student, timestamp=WHEN)
    assert released(app, term, "ada") == {page_of("ada"): "ada's page"}
    (term / "feedback" / "ada" / NAME / f"{NAME}.html").write_text("a better page")
    assert released(app, term, "ada") == {page_of("ada"): "a better page"}


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/gradebook.db"


def called(url):
    with Gradebook(url, "transformers") as book:
        return {s.id: (s.first_name, s.last_name, s.email, s.lms_user_id) for s in book.db.query(Student)}


def test_the_example_table_gives_students_their_names(url, tmp_path):
    with Gradebook(url, "transformers") as book:
        book.add_student("amina")
        book.add_student("stranger")
    shutil.copy(ROOT / "students.example.csv", tmp_path / "students.csv")
    for _ in range(2):
        take_names(url, "transformers", tmp_path / "students.csv", LOG)
        found = called(url)
        assert found["amina"] == ("Amina", "Bello, PhD", "amina@example.edu", "20411")
        assert found["jgarcia"][:2] == ("José", "García Pérez")
        assert found["stranger"] == (None, None, None, None)
        assert len(found) == 4


@pytest.mark.parametrize("comma", [",", ";"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])  # Excel's “CSV UTF-8” and “Unicode text”
def test_a_name_that_somebody_entered_stays(url, tmp_path, comma, encoding):
    with Gradebook(url, "transformers") as book:
        book.add_student("amina", first_name="Mina")
    table = tmp_path / "students.csv"
    as_excel_saves_it = "id,first_name,last_name\r\namina,Amina,Bello\r\n,nobody,\r\n".replace(",", comma)
    mark = "\ufeff" if encoding == "utf-8" else ""  # Python adds it to UTF-16
    table.write_text(mark + as_excel_saves_it, encoding, newline="")
    take_names(url, "transformers", table, LOG)
    assert called(url) == {"amina": ("Mina", "Bello", None, None)}


@pytest.mark.parametrize("content", [b"name;first\nx;y\n", b"id,first_name\n\xff\xfe,x\n", None])
def test_a_table_that_cannot_be_read_is_named_and_stops_nothing(content, url, tmp_path, caplog):
    table = tmp_path / "students.csv"
    if content:
        table.write_bytes(content)
    take_names(url, "transformers", table, LOG)
    assert ("Students have no names" in caplog.text) == bool(content), "that there is none is no fault"
    assert not (tmp_path / "gradebook.db").exists()
