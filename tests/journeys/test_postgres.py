"""Tests of a gradebook in PostgreSQL: several nbgrader processes mark into a real server, started for these tests."""

import contextlib
import csv
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import class_copies
import nbformat
import pytest
import submissions
from conftest import ROOT, graded_only
from essay_class import class_in
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool
from two_processes import STUDENTS, both, run

from autograder.nbgrader_plugin.formgrader import rubric_page
from autograder.nbgrader_plugin.gradebook import locking as ours
from autograder.sample_class import filled_in
from autograder.spec.course import in_notebook

pytestmark = pytest.mark.long  # starts a server, and marks
ROUNDS = 8
NAMES = ["05-attention", "06-masking"]
CLASS = {"perfect": class_copies.BEST, "José 张": class_copies.BEST, "blank": {}}


def setting(url: str) -> str:
    return f"c.CourseDirectory.db_url = {url!r}\n"


def programs() -> Path:
    """Return the folder in which Debian, and most others, put the server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = [Path(shutil.which("initdb") or ""), *found]
    if not found[-1].name:
        pytest.skip("There is no PostgreSQL server here (Debian: apt-get install postgresql).")
    return found[-1].parent


def somebody() -> dict[str, int]:
    """Return a user other than root, as whom the server refuses to run."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid}
    pytest.skip("The server refuses to run as root, and there is no other user that it could run as.")


@pytest.fixture(scope="module")
def server():
    """Return a server of our own behind a socket; what comes back is the address of a database on it, by name."""
    pytest.importorskip("psycopg", reason="There is no driver for PostgreSQL here (pip install -e '.[postgres]').")
    bin_folder, who = programs(), somebody()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short name: a socket's may not be long
    if who:
        os.chown(folder, who["user"], who["group"])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": folder, **who}
    data = str(folder / "data")
    # C: nbgrader sorts names in Python here and in the database there, and the tests look at the order
    command = [bin_folder / "initdb", "-D", data, "-A", "trust", "-U", "grader", "-E", "UTF8", "--no-sync"]
    subprocess.run([*command, "--locale=C.UTF-8"], check=True, **quiet)
    log = (folder / "log").open("w")
    command = [bin_folder / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    running = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **who)
    try:
        while True:
            with contextlib.suppress(OperationalError):
                ask(f"postgresql+psycopg://grader@/postgres?host={folder}", "SELECT 1")
                break
            assert running.poll() is None, f"The server did not start:\n{(folder / 'log').read_text()}"
            time.sleep(0.1)
        yield lambda name: f"postgresql+psycopg://grader@/{name}?host={folder}"
    finally:
        running.send_signal(signal.SIGINT)  # fast: it ends the connections that are left
        running.wait(30)
        log.close()
        shutil.rmtree(folder)


def ask(url, question):
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        result = connection.execute(text(question))
        return result.all() if result.returns_rows else None


@pytest.fixture(scope="module")
def database(server):
    """Make a database, empty or like another one."""

    def make(name, template="template0"):
        ask(server("postgres"), f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return server(name)

    return make


def test_both_may_make_the_tables_and_the_same_students(database):
    Gradebook(database("round")).close()
    urls = [database(f"empty{number}") for number in range(3)]
    urls += [database(f"round{number}", "round") for number in range(ROUNDS)]
    assert both(urls) == [""] * 2 * len(urls)
    for url in urls:
        with Gradebook(url, "transformers") as gradebook:
            assert [student.id for student in gradebook.students] == STUDENTS


HOLD = """
import sys
from autograder.nbgrader_plugin.gradebook.locking import locked
with locked(sys.argv[1]):
    print("mine", flush=True)
    input()
"""


@contextlib.contextmanager
def held(url):
    """Have another process keep the gradebook to itself."""
    command = [sys.executable, "-c", HOLD, url]
    holder = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "mine\n"
        yield holder
    finally:
        holder.kill()
        holder.communicate()


def test_a_process_waits_for_a_databases_lock_until_a_timeout(database, monkeypatch):
    url = database("turns")
    monkeypatch.setattr(ours, "LOCK_TIMEOUT", 0.5)
    with held(url) as holder:
        with pytest.raises(OperationalError, match="lock timeout"), ours.locked(url):
            pass
        with ours.locked(database("another")):  # a turn is of one database
            pass
        holder.communicate("done\n")
        with ours.locked(url), ours.locked(url):
            pass


def test_a_killed_process_frees_its_databases_lock(database, monkeypatch):
    url = database("killed")
    monkeypatch.setattr(ours, "LOCK_TIMEOUT", 20.0)
    with held(url) as holder:
        holder.kill()
        with ours.locked(url):
            pass


@pytest.fixture(scope="module")
def marked(database, tmp_path_factory):
    """Mark two notebooks by two processes at once into a database with nothing in it, and write the pages."""
    url = database("marks")
    folder = class_copies.copy_of_the_course(tmp_path_factory.mktemp("term") / "course", setting(url))
    shutil.copytree(ROOT / "solutions" / NAMES[1], folder / "solutions" / NAMES[1])
    run(folder, ["generate_assignment", "--assignment", "*"])
    for name in NAMES:
        for student, answers in CLASS.items():
            filled = filled_in(graded_only(name), submissions.answers(name) if answers else {})
            path = folder / "classroom" / "submitted" / student / name / f"{name}.ipynb"
            path.parent.mkdir(parents=True)
            nbformat.write(filled, path)
    run(folder, *(["autograde", name] for name in NAMES))
    for name in NAMES:
        run(folder, ["generate_feedback", name])
    return folder, url


def scores(url, name):
    with Gradebook(url, "transformers") as gradebook:
        return {s.student.id: s.score for s in gradebook.assignment_submissions(name)}


def test_two_processes_mark_into_one_database(marked):
    folder, url = marked
    assert not list(folder.rglob("gradebook.db*"))
    for name in NAMES:
        full = sum(declared.points for declared in in_notebook(name))
        assert scores(url, name) == {"perfect": full, "José 张": full, "blank": 0.0}


def test_pages_and_tables_are_written_from_the_database(marked):
    folder, _ = marked
    assert len(list(folder.glob("classroom/feedback/*/*/*.html"))) == 3 * len(NAMES)
    run(folder, ["export"])
    with (folder / "classroom" / "grades.csv").open(encoding="utf8") as file:
        rows = {(row["assignment"], row["student_id"]): row for row in csv.DictReader(file)}
    assert float(rows["06-masking", "perfect"]["score"]) > 0 == float(rows["06-masking", "blank"]["score"])


def test_upgrading_and_marking_again_change_nothing(marked):
    folder, url = marked
    questions = ("SELECT version_num FROM alembic_version", "SELECT count(*), sum(auto_score) FROM grade")
    before = [ask(url, question) for question in questions]
    assert before[1][0][0] > 0
    run(folder, ["db", "upgrade"])
    run(folder, ["autograde", "06-masking", "--force"])
    assert [ask(url, question) for question in questions] == before


def test_marking_leaves_no_connection_open(marked):
    _, url = marked
    connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'marks' AND pid <> pg_backend_pid()"
    assert ask(url, connections) == [(0,)]


def test_a_class_is_graded_and_reported_from_it(database, tmp_path):
    url, location = database("graded"), tmp_path / "class"
    root = class_copies.copy_of_the_course(tmp_path / "course", setting(url))
    for student, answers in CLASS.items():
        class_copies.put(location, student, class_copies.notebook(answers))
    assert "3 marked" in class_copies.run(root, location, "autograder", "grade", class_copies.NAME)
    full = class_copies.FULL
    assert scores(url, class_copies.NAME) == {"perfect": full, "José 张": full, "blank": 0.0}
    assert "3 unchanged" in class_copies.run(root, location, "autograder", "grade", class_copies.NAME)
    output = class_copies.run(root, location, "autograder", "report", "--classroom", str(location), "--db-url", url)
    assert "José 张" in output
    assert not list(location.glob("gradebook.db"))


def test_marks_by_rubric_are_saved_once_and_the_second_is_told(database, tmp_path):
    url = database("rubric")
    class_in(tmp_path, {"ada": "The variance.", "ben": ""}, url)
    with Gradebook(url, "essays") as book:

        def load():
            return rubric_page.sheet_of(book.engine, CourseDirectory(root=str(tmp_path)), "essay", "essay", "why")

        sheet = load()
        seen = [{"id": row["id"], "seen": row["seen"]} for row in map(sheet.row, sheet.question.answers)]
        body = {"rubric": sheet.version, "answers": seen, "levels": [1, 0.5], "note": "Why?"}
        assert rubric_page.save(load, book.engine, body)[0] == 200
        assert rubric_page.save(load, book.engine, body)[0] == 409
    assert ask(url, "SELECT manual_score, needs_manual_grade FROM grade") == [(2.0, False)] * 2
