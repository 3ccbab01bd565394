"""What would stop everybody is said in one sentence before the first student, and what was not marked is named."""

# ruff: noqa: F811
import errno
import os
import re
import shutil
import tempfile

import nbformat
import pytest
from nbgrader.api import InvalidEntry
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from rich.progress import Progress
from small_course import course, hand_in, released, settings  # noqa: F401 (fixtures among them)
from sqlalchemy.exc import OperationalError
from typer.testing import CliRunner

from autograder import cli, new_folder
from autograder.batch import grade, marking, preflight
from autograder.batch.pool import Local
from autograder.batch.tasks import Marked
from autograder.batch.writer import Writer, _Writing
from autograder.close_names import did_you_mean
from autograder.judge.diagnosis import mistake_costs
from autograder.nbgrader_plugin import converters, preprocessors
from autograder.nbgrader_plugin.failure import cause_in
from autograder.nbgrader_plugin.intake.overlooked import overlooked
from autograder.nbgrader_plugin.preprocessors import Judge
from autograder.sandbox.limits import SandboxError
from autograder.spec.course import NoCourse

NO_SANDBOX = "notebooks cannot be run here: do this"


def test_a_name_brings_the_closest_one_to_mind_whatever_its_case():
    assert did_you_mean("05-atention", ["05-attention", "06-masking"]) == " Did you mean 05-attention?"
    assert did_you_mean("AMINA", ["amina", "bayo"]) == " Did you mean amina?"
    assert did_you_mean("xyz", ["amina", "bayo"]) == ""


@pytest.mark.parametrize("command", ["grade", "watch", "report", "unknown", "release", "demo"])
def test_without_a_course_a_command_says_where_it_looked(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, [command])
    assert isinstance(done.exception, NoCourse)
    assert f"no nbgrader_config.py lies in {tmp_path} or in a folder above it" in str(done.exception)
    assert "autograder init" in str(done.exception)


def test_a_course_may_be_named_by_the_users_own_configuration(tmp_path, monkeypatch):
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "nbgrader_config.py").write_text('c = get_config()\nc.CourseDirectory.root = "/srv"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path / "settings"))
    converters.refuse_elsewhere()


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("1 / 0", r"nbgrader_config\.py, line 2 cannot be run: ZeroDivisionError"),
        ("from autograder import nothing_of_this_name", r"nbgrader_config\.py, line 2 cannot be run: ImportError"),
        ("x = (", r"nbgrader_config\.py.* cannot be (run|read)"),
        ("open('/etc/passwd/classroom')", r"/etc/passwd/classroom cannot be used: Not a directory"),
    ],
)
def test_a_configuration_that_fails_stops_marking_with_its_line(course, line, output):
    (course / "nbgrader_config.py").write_text(f"c = get_config()\n{line}\n")
    with pytest.raises(NoCourse, match=output):
        settings()


def test_init_says_where_a_course_has_no_released_notebooks(tmp_path, monkeypatch):
    monkeypatch.setattr(new_folder, "home", lambda: tmp_path)
    monkeypatch.setattr(new_folder, "sources", lambda: tmp_path / "source")
    with pytest.raises(NoCourse, match=f"has no released notebooks in {tmp_path}/course"):
        new_folder.lay_out(tmp_path / "term")
    assert not list(tmp_path.iterdir())


def test_a_scratch_folder_is_the_classroom_of_its_own_application_only(course, tmp_path):
    converters.settings(str(tmp_path), scratch=True)
    assert os.environ["COURSE_CLASSROOM"] == "classroom"


@pytest.mark.parametrize(
    ("wanted", "everything", "output"),
    [
        (["sum"], False, "there is no assignment 'sum'. Did you mean sums?"),
        (["essay"], False, "there is no assignment 'essay'. There are sums."),  # though another course is installed
        ([], False, "name an assignment, or say --all; handed in: sums"),
    ],
)
def test_an_unknown_assignment_is_refused_with_the_close_one(course, wanted, everything, output):
    with pytest.raises(preflight.NotReady) as caught:
        preflight.chosen_assignments(settings(), wanted, everything)
    assert str(caught.value) == output


def test_where_nothing_is_handed_in_the_folder_is_named(course):
    assert preflight.chosen_assignments(settings(), [], True) == ["sums"]
    shutil.rmtree(course / "submitted")
    for wanted, everything, subject in (
        (["sums"], False, "sums is not"),
        ([], True, "nothing is"),
        ([], False, "nothing is"),
    ):
        with pytest.raises(preflight.NotReady, match=f"{subject} handed in below submitted/"):
            preflight.chosen_assignments(settings(), wanted, everything)


def test_where_all_lies_in_wrong_places_these_are_named(course):
    shutil.rmtree(course / "submitted")
    hand_in(course, "sums/dora")
    with pytest.raises(preflight.NotReady, match=r"not handed in below(.|\n)*/sums/ is named like"):
        preflight.chosen_assignments(settings(), ["sums"], False)


def test_a_student_without_an_assignment_is_told_from_one_with_it(course):
    hand_in(course, "chidi/other")
    folder = settings().coursedir
    found = [preflight.has_handed_in(folder, *asked) for asked in (("sums", "amina"), ("sums", "chidi"), ("sums",))]
    assert found == [True, False, True]


def test_an_unknown_student_is_refused_with_the_close_one(course):
    folder = settings().coursedir
    for known in ("*", "amina", "a*"):
        preflight.require_student(folder, course, known)
    with pytest.raises(preflight.NotReady, match=r"no student “amna” in submitted/\. Did you mean amina\?"):
        preflight.require_student(folder, course, "amna")
    (course / "students.csv").write_text("id,first_name\nchidi,Chidi\n")
    with pytest.raises(preflight.NotReady, match="chidi has handed in nothing"):
        preflight.require_student(folder, course, "chidi")


def test_a_disk_without_room_is_named_with_what_is_free(tmp_path, monkeypatch):
    preflight.require_room([tmp_path])
    assert not list(tmp_path.iterdir())

    def full(**_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(
        preflight.NotReady, match=rf"{tmp_path} cannot take .*No space left on device; \d+ MiB are free"
    ):
        preflight.require_room([tmp_path])


def test_ctrl_c_says_what_is_marked(course, monkeypatch):
    def stopped(*_):
        raise grade.Interrupted(1, 2)

    monkeypatch.setattr(grade, "grade", stopped)
    done = CliRunner().invoke(cli.app, ["grade", "sums"])
    assert done.exit_code == 130
    assert "sums: 1 of 2 are marked, with their feedback; the same command goes on with the others" in done.output


def without_sandbox(monkeypatch):
    def fail(*_):
        raise SandboxError(NO_SANDBOX)

    monkeypatch.setattr(Judge, "start_template", staticmethod(fail))
    monkeypatch.setattr(Judge, "templates", {})


def test_without_a_sandbox_nbgrader_says_so_once_and_keeps_what_is_there(course, monkeypatch):
    without_sandbox(monkeypatch)
    app = settings()
    app.coursedir.assignment_id = "sums"
    kept = course / "autograded" / "amina" / "sums" / "sums.ipynb"
    kept.parent.mkdir(parents=True)
    kept.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n')
    with converters.logged(app) as log, pytest.raises(NbGraderException, match=NO_SANDBOX):
        Autograde(coursedir=app.coursedir, parent=app, force=True).start()
    assert log.getvalue().count(NO_SANDBOX) == 1
    assert "raceback" not in log.getvalue()
    assert kept.exists()


@pytest.mark.parametrize(
    ("test", "costs", "output"),
    [
        ("check('nothing_of_this_name')", "", "this course has no exercise or question of that name"),
        ("assert total == 6", "slip = 7", "slip is 7: a share of the points above 0 and up to 1 is asked for"),
        ("assert total == 6", "\xff", "costs.toml cannot be read"),
    ],
    ids=["test", "costs", "not UTF-8"],
)
def test_a_fault_of_the_instructors_is_said_once_and_costs_no_student(course, monkeypatch, test, costs, output):
    path = course / "source" / "sums" / "sums.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].source = f"### BEGIN HIDDEN TESTS\n{test}\n### END HIDDEN TESTS"
    nbformat.write(notebook, path)
    shutil.rmtree(course / "release")
    (course / "gradebook.db").unlink()
    monkeypatch.setattr("autograder.nbgrader_plugin.release.student_version.refuse_unknown_names", lambda *_: None)
    converters.register_assignments(settings(), ["sums"])
    (course / "costs.toml").write_bytes(costs.encode("latin-1"))
    mistake_costs.costs.cache_clear()
    app = settings()
    app.coursedir.assignment_id = "sums"
    with converters.logged(app) as log, pytest.raises(NbGraderException, match=re.escape(output)):
        Autograde(coursedir=app.coursedir, parent=app).start()
    mistake_costs.costs.cache_clear()
    assert log.getvalue().count(output) == 1
    assert "raceback" not in log.getvalue()
    assert not list((course / "autograded").glob("*"))


def test_without_a_sandbox_a_worker_says_so_and_no_student_fails(course, monkeypatch):
    without_sandbox(monkeypatch)
    marking._lone_marker.cache_clear()  # of another test of this process
    marked = marking.mark_file(course / "submitted" / "amina" / "sums" / "sums.ipynb", "sums")
    marking._lone_marker.cache_clear()
    assert (marked.hopeless, marked.problem, marked.notebooks) == (NO_SANDBOX, "", {})
    classroom = grade.Classroom("classroom", Local(1))
    run = grade._Run(classroom, "sums", "*", Progress(disable=True))
    with pytest.raises(SandboxError, match=NO_SANDBOX):
        run._write("amina", "key", Marked(hopeless=NO_SANDBOX))
    assert not run.outcome.failed


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def of_the_database(says):
    return OperationalError("INSERT", {}, Exception(says))


def failing(monkeypatch, converter, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(converter, "convert_single_notebook", fail)


@pytest.mark.parametrize(
    "error", [FULL, of_the_database("the server closed the connection"), InvalidEntry("disk full")]
)
def test_a_full_disk_or_a_lost_gradebook_stops_a_run_and_fails_no_student(course, monkeypatch, error):
    run = grade._Run(grade.Classroom("classroom", Local(1)), "sums", "*", Progress(disable=True))
    error.__context__ = of_the_database("disk full") if isinstance(error, InvalidEntry) else None
    failing(monkeypatch, _Writing, error)
    with pytest.raises((OSError, OperationalError)):
        run._write("amina", "key", Marked({"sums.ipynb": ""}))
    assert not run.outcome.failed
    failing(monkeypatch, _Writing, of_the_database("database is locked"))  # which passes
    run._write("amina", "key", Marked({"sums.ipynb": ""}))
    assert [*run.outcome.failed] == ["amina"]


def test_a_full_disk_is_the_same_for_pages_and_where_notebooks_are_marked(course, monkeypatch):
    failing(monkeypatch, GenerateFeedback, FULL)
    (course / "autograded" / "amina" / "sums").mkdir(parents=True)
    shutil.copy(course / "submitted" / "amina" / "sums" / "sums.ipynb", course / "autograded" / "amina" / "sums")
    marking.feedback_writer.cache_clear()
    with pytest.raises(OSError, match="No space left"):
        marking.write_feedback("classroom", "sums", "amina")
    failing(monkeypatch, marking._Marking, FULL)
    marking._lone_marker.cache_clear()
    marked = marking.mark_file(course / "submitted" / "amina" / "sums" / "sums.ipynb", "sums")
    marking._lone_marker.cache_clear()
    assert "cannot take what marking writes (No space left on device). Nothing is lost" in marked.hopeless
    assert not marked.problem


def test_a_failure_is_told_by_its_exception_not_by_a_traceback_above(course):
    app = settings()
    app.coursedir.assignment_id = "sums"
    converter = Autograde(coursedir=app.coursedir, parent=app, force=True)
    marking.set_up(converter)

    def fail(*_):
        raise ValueError("the true cause\nin two lines")

    converter.convert_single_notebook = fail
    with pytest.raises(marking.NotConverted) as caught:
        marking.convert(converter, course / "submitted" / "amina" / "sums", ["sums.ipynb"])
    assert str(caught.value).splitlines()[-1] == "ValueError: the true cause"
    assert "above traceback" not in str(caught.value).splitlines()[-1]


def test_the_cause_in_a_log_is_the_last_tracebacks_last_line():
    folder = '  File "a.py", line 1, in f\n    f()\n'
    log = f"[ERROR] Traceback (most recent call last):\n{folder}ValueError: one\n\nDuring handling …:\n\n"
    output = "nbgrader.converters.base.NbGraderException: no sandbox: do this"
    assert cause_in(f"{log}Traceback (most recent call last):\n{folder}{output}\n") == "no sandbox: do this"
    assert cause_in(f"{log}[INFO] more") == "ValueError: one"
    assert cause_in("[INFO] all is well") == ""


def test_an_assignment_that_cannot_be_generated_is_named(course):
    with pytest.raises(
        NbGraderException, match=r"does not know other, .* `nbgrader generate_assignment other` says why"
    ):
        Writer(settings(), "other")


def test_what_was_not_marked_is_named_with_what_to_do(course, monkeypatch):
    for where in ("fola/Sums", "sums/gina", "hana/essay", "amina/drafts", "ife/sums/sums"):
        hand_in(course, where)
    top = course / "submitted"
    shutil.copy(top / "amina" / "sums" / "sums.ipynb", top / "hana.ipynb")
    shutil.copy(top / "amina" / "sums" / "sums.ipynb", top / "bayo")
    for nothing in (".DS_Store", "amina/.ipynb_checkpoints", "Thumbs.db"):
        (top / nothing).touch()
    assert overlooked(top, {"sums"}) == [
        "submitted/amina/drafts matches no assignment, so it was not marked.",
        "submitted/bayo/sums.ipynb is in no assignment's folder, so it was not marked: move it to "
        "submitted/bayo/ASSIGNMENT/.",
        "submitted/fola/Sums matches no assignment, so it was not marked. Did you mean sums?",
        "submitted/hana/essay matches no assignment, so it was not marked.",
        "submitted/hana.ipynb is a file, not a student's folder, so it was not marked: move it to hana/ASSIGNMENT/.",
        "submitted/ife/sums/sums/sums.ipynb is one folder too deep, so it was not read.",
        "submitted/sums/ is named like an assignment, so gina in it was not marked: the "
        "student's folder comes first, STUDENT/ASSIGNMENT/.",
    ]
    for number in range(40):
        (top / f"stray-{number}.txt").touch()
    assert overlooked(top, {"sums"})[-1] == "27 more are like these."


def test_folders_with_one_name_written_in_two_ways_are_named(tmp_path):
    for name in ("Ada", "ada", "jos\u00e9", "jose\u0301", "bob"):
        (tmp_path / name / "sums").mkdir(parents=True)
    found = overlooked(tmp_path, {"sums"})
    assert len(found) == 2
    assert "Ada ('Ada'), ada ('ada')" in found[0]
    assert r"'jos\xe9'" in found[1]


def test_a_setting_of_the_wrong_type_is_said_once(course):
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("c.Judge.cell_timeout = 'long'\n")
    app = settings()
    app.coursedir.assignment_id = "sums"
    with converters.logged(app) as log, pytest.raises(NbGraderException, match="'cell_timeout' trait"):
        Autograde(coursedir=app.coursedir, parent=app, force=True).start()
    assert log.getvalue().count("'cell_timeout' trait") == 1


def test_a_checkpoint_folder_is_no_student(course):
    hand_in(course, ".ipynb_checkpoints/sums")
    assert sorted(Writer(settings(), "sums").folders) == ["amina", "bayo"]


def test_a_stray_file_is_no_student_and_is_named_after_marking(course, monkeypatch):
    shutil.copy(course / "source" / "sums" / "sums.ipynb", course / "submitted" / "hana.ipynb")
    hand_in(course, "fola/Sums")
    writer = Writer(settings(), "sums")
    assert sorted(writer.folders) == ["amina", "bayo"]
    assert ["fola/Sums" in writer.look_around()[0], "hana.ipynb is a file" in writer.look_around()[1]] == [True, True]
    monkeypatch.setattr(preprocessors.Judge, "preprocess", lambda self, nb, resources: (nb, resources))
    monkeypatch.setattr(Judge, "start_for", lambda *_: None)
    app = settings()
    app.coursedir.assignment_id = "sums"
    with converters.logged(app) as log:
        Autograde(coursedir=app.coursedir, parent=app, force=True).start()
    assert "submitted/hana.ipynb is a file, not a student's folder" in log.getvalue()
    assert not (course / "autograded" / "hana.ipynb").exists()
