"""Tests of the plain nbgrader commands in a copy of the repository, with a class of problematic submissions."""

import os
import shutil

import nbformat
import pytest
from class_copies import BEST, FULL, NAME, copy_of_the_course, gradebook, notebook, put, run
from special_files import KINDS
from submissions import insert_before

from autograder.spec.course import questions

pytestmark = [pytest.mark.slow, pytest.mark.long]  # a whole class is marked
KEYS = [question.explanations[question.key] for question in questions(NAME)]
BLANK = notebook({})


def with_cell(source):
    return insert_before(notebook(), "softmax", source)


SUBMISSIONS = {  # student: what is handed in, the marks deserved, and what the feedback says
    "perfect": (notebook(), FULL, ""),
    "José García 张 o'Neil": (notebook(), FULL, ""),
    "-a leading dash": (notebook(), FULL, ""),
    "..dots": (notebook(), FULL, ""),
    '[bold]quote"s & <tags> $HOME[x]': (BLANK, 0, ""),
    "blank": (BLANK, 0, "not been answered"),
    "loops": (with_cell("while True: pass"), FULL, "stopped at its time limit"),
    "erases": (with_cell("eval('1')  # \x1b[2K\x1b[1A\x1b[2K"), FULL, ""),
    "not-json": (b"this is my homework", 0, "its content is not JSON"),
}
OTHERWISE = {  # what lies in the folder in place of the notebook, made below
    "renamed": (FULL, "my homework.ipynb"),
    "no-notebook": (0, "There is no notebook in what you handed in"),
    "data": (FULL, ""),
    "pipe": (FULL, ""),
    "folders": (FULL, "attention_explorer.py” is a folder"),
    "linked-folder": (0, "only files themselves"),
    "linked-student": (0, "only files themselves"),
    "a file": (0, "only files themselves"),
} | {kind: (0, "only files themselves") for kind in KINDS if kind != "a socket"}
DESERVED = {student: points for student, (_, points, _) in SUBMISSIONS.items()}
DESERVED |= {student: points for student, (points, _) in OTHERWISE.items()}
SAID = {student: output for student, (_, _, output) in SUBMISSIONS.items()}
SAID |= {student: output for student, (_, output) in OTHERWISE.items()}
UNLISTED = ["new\nline", "\x1b[31mred", os.fsdecode(b"\xff\xfe")]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = copy_of_the_course(tmp_path_factory.mktemp("elsewhere") / "a course")
    classroom, solutions = root / "classroom", root / "solutions"
    solution = solutions / NAME / f"{NAME}.ipynb"
    run(root, classroom, "nbgrader", "generate_assignment", NAME)
    for student, (content, *_) in SUBMISSIONS.items():
        put(classroom, student, content)
    put(classroom, "renamed", notebook(), "my homework.ipynb")
    put(classroom, "no-notebook", b"I could not export it", "homework.txt")
    submitted = classroom / "submitted"
    for student in ("data", "pipe", "folders"):
        put(classroom, student, notebook())
    for name in ("timestamp.txt", "attention_explorer.py"):
        put(classroom, "folders", b"1,2", f"{name}/mine.csv")
    (submitted / "data" / NAME / "data").symlink_to(solutions)
    os.mkfifo(submitted / "pipe" / NAME / "timestamp.txt")
    for kind in OTHERWISE.keys() & KINDS.keys():
        (submitted / kind / NAME).mkdir(parents=True)
        KINDS[kind](submitted / kind / NAME / f"{NAME}.ipynb", solution)
    (submitted / "linked-student").symlink_to(solutions)
    for student in ("linked-folder", "a file"):
        (submitted / student).mkdir()
    (submitted / "linked-folder" / NAME).symlink_to(solution.parent)
    (submitted / "a file" / NAME).write_text("not a folder")
    for name in UNLISTED:
        put(classroom, name, notebook())
    output = run(root, classroom, "nbgrader", "autograde", NAME, status=1)
    assert "\n".join(output.strip().splitlines()[-4:]).count("has no mark") == len(UNLISTED), output
    (root / "said.txt").write_text(output, encoding="utf8")
    for name in UNLISTED:
        shutil.rmtree(submitted / name)
    run(root, classroom, "nbgrader", "autograde", NAME)
    run(root, classroom, "nbgrader", "generate_feedback", NAME)
    return root


def marks(classroom):
    found = {}
    for student, about in gradebook(classroom).items():
        if student != "students":
            grades = {name: auto for name, auto, *_ in about["grades"] if not name.startswith("written")}
            assert None not in grades.values(), student
            found[student] = sum(grades.values())
    return found


def feedback(course, student):
    return (course / "classroom" / "feedback" / student / NAME / f"{NAME}.html").read_text(encoding="utf8")


def test_every_student_gets_the_deserved_mark(course):
    assert marks(course / "classroom") == DESERVED


def test_submissions_are_not_changed(course):
    submitted = course / "classroom" / "submitted"
    assert (submitted / "not-json" / NAME / f"{NAME}.ipynb").read_bytes() == b"this is my homework"
    assert sorted(path.name for path in (submitted / "renamed" / NAME).iterdir()) == ["my homework.ipynb"]


def test_warnings_escape_control_characters(course):
    output = (course / "said.txt").read_text("utf8")
    assert "\x1b" not in output
    warnings = [line for line in output.splitlines() if "WARNING" in line]
    assert any(r"# \x1b[2K\x1b[1A\x1b[2K" in line for line in warnings)
    assert not [line for line in warnings if "has changed" in line or "/perfect/" in line or "/blank/" in line]


def test_feedback_is_plain_and_reveals_neither_tests_nor_reference(course):
    for student, words in SAID.items():
        page = feedback(course, student)
        assert words in page, student
        assert "HIDDEN" not in page
        assert "from autograder" not in page
        if not DESERVED[student]:
            assert not [key for key in KEYS if key[:40] in page]
            assert "scores.amax" not in page


def test_a_resubmission_that_breaks_does_not_keep_the_older_mark(course):
    for content, points in ((b"broken", 0), (notebook(), FULL)):
        put(course / "classroom", "perfect", content)
        run(course, course / "classroom", "nbgrader", "autograde", NAME, "--student", "perfect", "--force")
        assert marks(course / "classroom")["perfect"] == points


def test_an_interrupted_marking_is_completed_by_the_next(course):
    """Sanitised but not judged, as when the grader is killed in between."""
    path = course / "classroom" / "autograded" / "perfect" / NAME / f"{NAME}.ipynb"
    half = notebook()
    half.metadata["autograder"] = {"notes": []}
    path.chmod(0o644)
    nbformat.write(half, path)
    run(course, course / "classroom", "nbgrader", "autograde", NAME, "--student", "perfect")
    assert "autograder" not in nbformat.read(path, as_version=4).metadata
    assert marks(course / "classroom")["perfect"] == FULL


def test_a_new_term_can_be_marked_at_once(course):
    put(course / "next-term", "ada", notebook(BEST))  # marks at once: its gradebook knows no assignment yet
    run(course, course / "next-term", "nbgrader", "autograde", NAME)
    assert marks(course / "next-term") == {"ada": FULL}
