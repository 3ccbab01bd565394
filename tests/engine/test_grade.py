"""Tests that `autograder grade` leaves a classroom as nbgrader would, even after interruptions."""

import json
import random
import shutil
import time
from pathlib import Path

import pytest
from class_copies import (
    BEST,
    FULL,
    NAME,
    copy_of_the_course,
    dask_cluster,
    files,
    gradebook,
    notebook,
    processes_of,
    put,
    run,
    start,
)
from conftest import missing, wait_for
from nbgrader.api import Gradebook

from autograder.batch.marking_cache import CacheEntry, MarkingCache
from autograder.spec.course import exercise

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("grade")]

in_every_way = pytest.mark.long  # of what can disturb a run; a minute or half of one each

LATE = """
from nbgrader.plugins import BasePlugin
class Late(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 0.25 * (total_seconds_late // 3600)
"""
WRONG = BEST | {"softmax": exercise("softmax").mistakes[0].source}
SUBMISSIONS = {
    "perfect": notebook(),
    "her-twin": notebook(),
    "mistaken": notebook(WRONG),
    "blank": notebook({}),
    "dies": notebook(BEST | {"softmax": "import os\nos._exit(1)"}),
    "prints": notebook(BEST | {"softmax": BEST["softmax"] + "\nprint(softmax(torch.ones(2, 2)))\n1 / 0"}),
    "not-json": b"this is my homework",
    "José 张 o'Neil": notebook(),
}
OURS = ("autograder", "grade", NAME, "--workers", "1")
MEANWHILE = f"""
import shutil
from autograder.cli import app
from autograder.batch import grade

def mark(run, mark=grade._Run._mark):
    submitted = run.classroom.folder / "submitted"
    shutil.copytree(submitted / "blank", submitted / "anew", dirs_exist_ok=True)
    (submitted / "no-file/{NAME}/{NAME}.ipynb").unlink()
    shutil.rmtree(submitted / "no-folder")
    mark(run)

if __name__ == "__main__":
    grade._Run._mark = mark
    app()
"""
FAULTY = """
from autograder.cli import app
from autograder.batch.writer import Writer
from autograder.nbgrader_plugin.intake import student_folder

def inspect(student, *rest, inspect=student_folder.inspect_folder):
    if student == "locked":
        raise PermissionError("its folder may not be read")
    return inspect(student, *rest)

def write(writer, student, marked, write=Writer.write):
    return write(writer, student, 1 / 0 if student == "faulty" else marked)

if __name__ == "__main__":
    student_folder.inspect_folder, Writer.write = inspect, write
    app()
"""


def hand_in(classroom: Path) -> Path:
    for student, content in SUBMISSIONS.items():
        put(classroom, student, content)
    put(classroom, "renamed", notebook(), "my homework.ipynb")
    put(classroom, "no-notebook", b"I could not export it", "homework.txt")
    put(classroom, "with-data", notebook(), when="2026-01-01 10:00:00 UTC")
    put(classroom, "with-data", b"1,2\n", "data/mine.csv")
    put(classroom, "late", notebook(WRONG), when="2026-01-02 15:30:00 UTC")
    return classroom


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    late = "c.AssignLatePenalties.plugin_class = 'late.Late'\n"
    root = copy_of_the_course(tmp_path_factory.mktemp("elsewhere") / "a course", late)
    (root / "late.py").write_text(LATE)
    run(root, root / "release", "nbgrader", "generate_assignment", NAME)
    run(root, root / "release", "nbgrader", "db", "assignment", "add", NAME, "--duedate=2026-01-02 12:00:00 UTC")
    return root


def classroom_in(folder: Path, course: Path) -> Path:
    """Make a classroom to which the assignment is known, and nobody has handed in anything."""
    folder.mkdir(exist_ok=True)
    shutil.copy(course / "release" / "gradebook.db", folder)
    return folder


@pytest.fixture
def fresh(course, tmp_path):
    return classroom_in(tmp_path / "class", course)


@pytest.fixture(scope="module")
def by_us(course, tmp_path_factory):
    folder = hand_in(classroom_in(tmp_path_factory.mktemp("ours"), course))
    run(course, folder, "autograder", "grade", NAME)
    return folder


@pytest.fixture
def marked(by_us, tmp_path):
    return shutil.copytree(by_us, tmp_path / "copy", copy_function=shutil.copy2)


def history(folder: Path) -> list[dict]:
    path = folder / "marked" / "history.jsonl"
    lines = path.read_text().splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines if line.endswith("}")]  # the last may be cut off


def markings(folder: Path) -> list[str]:
    return [line["student"] for line in history(folder)]


def assert_same(one: Path, other: Path) -> None:
    assert gradebook(one) == gradebook(other)
    kept = files(other, "autograded", "feedback")
    assert files(one, "autograded", "feedback") == kept
    assert not [path for path in kept if (one / path).stat().st_mode != (other / path).stat().st_mode]


def test_every_score_comment_penalty_and_file_is_as_nbgrader_leaves_them(course, by_us, fresh):
    hand_in(fresh)
    run(course, fresh, "nbgrader", "autograde", NAME)
    run(course, fresh, "nbgrader", "generate_feedback", NAME)
    assert_same(by_us, fresh)
    assert len(files(by_us, "autograded", "feedback")) > 2 * len(SUBMISSIONS)
    assert gradebook(by_us)["late"]["score"][2] == 0.75
    output = {line["student"]: (line["earned"], line["seconds"]) for line in history(by_us)}
    assert output["perfect"] == output["her-twin"], "students who handed in the same are marked by one run of it"
    assert output["perfect"][0] == gradebook(by_us)["perfect"]["score"][0] == FULL


def test_only_what_changed_is_marked_again_and_what_people_said_stays(course, marked):
    before, kept = len(markings(marked)), files(marked, "autograded", "feedback")
    times = {path: (marked / path).stat().st_mtime_ns for path in kept}
    assert "12 unchanged" in run(course, marked, "autograder", "grade", NAME)
    assert len(markings(marked)) == before
    assert {p: (marked / p).stat().st_mtime_ns for p in times} == times
    with Gradebook(f"sqlite:///{marked}/gradebook.db", "transformers") as book:
        for student in ("perfect", "blank"):
            grade = book.find_grade("test_softmax", NAME, NAME, student)
            grade.manual_score, grade.extra_credit = 1.5, 0.5
            book.find_comment("softmax", NAME, NAME, student).manual_comment = "Seen in my office."
        book.db.commit()
    put(marked, "blank", notebook(WRONG))
    output = run(course, marked, "autograder", "grade", NAME)
    assert "2 marked" in output, output  # one of them only his feedback
    assert "10 unchanged" in output
    assert markings(marked)[before:] == ["blank"]
    book = gradebook(marked)
    for student in ("perfect", "blank"):
        assert ("softmax", None, "Seen in my office.") in book[student]["comments"]
        [grade] = [grade for grade in book[student]["grades"] if grade[0] == "test_softmax"]
        assert grade[2:4] == (1.5, 0.5)
        assert "Seen in my office." in (marked / "feedback" / student / NAME / f"{NAME}.html").read_text("utf-8")


def test_a_change_during_a_run_costs_no_other_student_a_mark(course, fresh):
    for student in ("anew", "no-file", "no-folder", "twin", "twin-too"):
        put(fresh, student, notebook())
    put(fresh, "blank", notebook({}))
    (course / "meanwhile.py").write_text(MEANWHILE)
    output = run(course, fresh, "meanwhile", *OURS[1:], status=1)
    assert "5 marked, 0 unchanged, 1 failed" in output
    scores = {student: about["score"][0] for student, about in gradebook(fresh).items() if student != "students"}
    assert scores == {"anew": 0, "blank": 0, "no-file": 0, "twin": FULL, "twin-too": FULL}
    assert "0 marked, 5 unchanged, 0 failed" in run(course, fresh, *OURS)


def test_a_fault_with_one_student_ends_no_run(course, fresh):
    for student in ("faulty", "locked", "twin"):
        put(fresh, student, notebook())
    (course / "faulty.py").write_text(FAULTY)
    output = run(course, fresh, "faulty", *OURS[1:], status=1)
    assert not missing(output, "1 marked, 0 unchanged, 2 failed", "ZeroDivisionError", "its folder may not be read")
    assert "2 marked, 1 unchanged, 0 failed" in run(course, fresh, *OURS)


def test_students_with_very_long_names_have_separate_records(tmp_path):
    cache = MarkingCache(tmp_path, NAME)
    students = ["a" * 242, "a" * 243, *(last.rjust(127, "я") for last in "abc")]
    for student in students:
        cache.log_failure(student, "it failed")
        entry = CacheEntry(student, "", "")
        cache.add(entry, [__file__])
        cache.write(student, entry)
    assert [cache.of(student, student, "").key for student in students] == students
    assert (cache.folder / f"{students[0]}.json").is_file(), "a name that fits is kept"


@in_every_way
def test_a_run_ends_with_what_an_instructor_must_know(course, marked):
    (marked / "students.csv").write_text("id,first_name\n" + "".join(f"{student},\n" for student in SUBMISSIONS))
    writes = notebook()
    [answer] = [cell for cell in writes.cells if "written_scaling" in str(cell.metadata)]
    answer.source = "Dot products grow with d_k."
    put(marked, "José 张 o'Neil", writes)
    output = run(course, marked, "autograder", "grade", NAME)
    assert "1 answer waits for a person: Formgrader" in output
    output = run(course, marked, "autograder", "grade", NAME, "--student", "not-json", "--force")
    assert not missing(output, "(the page says why): not-json", f"feedback/*/{NAME}")
    assert "not in students.csv: late, no-notebook, renamed, with-data" in output


@in_every_way
@pytest.mark.parametrize("lost", ["gradebook.db", f"autograded/late/{NAME}", f"feedback/late/{NAME}/{NAME}.html"])
def test_what_is_lost_is_made_again(course, marked, by_us, lost):
    folder = marked / lost
    if folder.is_dir():
        shutil.rmtree(folder)
    else:
        folder.unlink()
    if lost == "gradebook.db":
        shutil.copy(course / "release" / "gradebook.db", folder)
    run(course, marked, "autograder", "grade", NAME)
    assert_same(marked, by_us)


@in_every_way
@pytest.mark.parametrize("other", [OURS, ("nbgrader", "autograde", NAME, "--force")], ids=["itself", "nbgrader"])
def test_two_at_once_do_not_harm_each_other(course, fresh, by_us, other):
    hand_in(fresh)
    both = [start(course, fresh, *command) for command in (OURS, other)]
    output = [process.communicate(timeout=300)[0] for process in both]
    if other is OURS:
        assert [process.returncode for process in both] == [0, 0], output
        assert sorted(markings(fresh)) == sorted(set(markings(fresh)))
        assert any("12 unchanged" in each for each in output), output
    run(course, fresh, "autograder", "grade", NAME)
    assert_same(fresh, by_us)


@in_every_way
def test_killed_at_any_moment_it_ends_like_an_undisturbed_run(course, fresh, tmp_path, request):
    """SIGKILL at many moments, with submissions coming in all the while; then once to the end."""
    chance, students = random.Random(20), [f"student-{n}" for n in range(8)]
    final = {student: notebook(WRONG if n % 3 else BEST, comment=student) for n, student in enumerate(students)}
    for number in range(20 if request.config.getoption("--all") else 6):
        for student in chance.sample(students, 4):
            put(fresh, student, notebook(BEST, comment=f"{student}, version {number}"))
        seen = len(history(fresh))
        process = start(course, fresh, *OURS)
        while process.poll() is None and len(history(fresh)) - seen < number % 4:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.3 if number % 4 else 3.5))
        process.kill()
        process.communicate()
    undisturbed = classroom_in(tmp_path / "undisturbed", course)
    for folder in (fresh, undisturbed):
        for student, content in final.items():
            put(folder, student, content)
        run(course, folder, "autograder", "grade", NAME)
    assert_same(fresh, undisturbed)
    assert not list((fresh / "marked").rglob("*.part"))
    wait_for(lambda: not processes_of(fresh))


@pytest.fixture(scope="module")
def cluster(course, tmp_path_factory):
    """Start a Dask scheduler with three workers."""
    pytest.importorskip("distributed", reason="Dask, which the extra `cluster` names, is not installed")
    with dask_cluster(course, tmp_path_factory.mktemp("cluster"), workers=3) as cluster:
        yield cluster


@in_every_way
def test_a_cluster_gives_the_same_marks_also_when_workers_are_killed(course, cluster, fresh, by_us):
    address, workers = cluster
    hand_in(fresh)
    process = start(course, fresh, "autograder", "grade", NAME, "--scheduler", address)
    while not history(fresh) and process.poll() is None:
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()[0]
    for worker in workers[:2]:
        worker.kill()
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert_same(fresh, by_us)
    assert len(markings(fresh)) == 12


@in_every_way
def test_a_worker_with_another_version_marks_nobody(course, cluster, fresh):
    address, _ = cluster
    put(fresh, "early", notebook({}))
    run(course, fresh, "autograder", "grade", NAME, "--scheduler", address)  # from here on a worker knows its version
    put(fresh, "perfect", notebook())
    room = course / "transformer_exercises" / "attention" / "softmax.py"
    before = room.read_text("utf-8")
    room.write_text(before + "\nELSEWHERE = True\n", "utf-8")
    try:
        output = run(course, fresh, "autograder", "grade", NAME, "--scheduler", address, status=1)
    finally:
        room.write_text(before, "utf-8")
    assert "this worker has another version of the course" in output
    assert "perfect" not in gradebook(fresh)
    assert gradebook(fresh)["early"]["score"][0] == 0
