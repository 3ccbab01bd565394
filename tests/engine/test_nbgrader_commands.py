"""Tests of the plain nbgrader commands in a copy of the repository, with a class of problematic submissions."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from conftest import ROOT, read
from nbgrader.api import Gradebook

from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.sample_class import filled_in
from autograder.spec.course import exercises, in_notebook, questions

pytestmark = [  # a whole class is marked
    pytest.mark.slow,
    pytest.mark.long,
]
NAME = "05-attention"
BEST = {e.name: e.source for e in exercises(NAME)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(NAME)}
FULL = sum(declared.points for declared in in_notebook(NAME))
KEYS = [question.explanations[question.key] for question in questions(NAME)]


def notebook(answers=BEST, **metadata):
    filled = filled_in(read("course", NAME), answers)
    # The experiments are left out: students may delete ungraded cells, and marking is quicker without them.
    filled.cells = [cell for cell in filled.cells if grade_id(cell)]
    filled.metadata.pop("name")
    filled.metadata.update(metadata)
    return filled


def with_cell(source, before="softmax"):
    result = notebook()
    [index] = [i for i, cell in enumerate(result.cells) if grade_id(cell) == before]
    result.cells.insert(index, nbformat.v4.new_code_cell(source))
    return result


def with_tags():
    result = notebook({})
    for cell in result.cells:
        cell.metadata["tags"] = ["skip-execution"]
    return result


def with_a_copied_cell():
    result = notebook()
    result.cells += [
        nbformat.from_dict(json.loads(json.dumps(cell))) for cell in result.cells if grade_id(cell) == "test_softmax"
    ]
    result.cells[-1]["id"] = "copy"
    return result


def claiming_points():
    result = notebook({})
    for cell in result.cells:
        if cell.metadata.nbgrader.grade and cell.cell_type == "code":
            cell.metadata.nbgrader.update(points=100, solution=True)
            cell.source = "100.0"
    return result


SUBMISSIONS = {  # student: (what is handed in, the marks deserved)
    "perfect": (notebook(), FULL),
    "José García 张 o'Neil": (notebook(), FULL),
    "-a leading dash": (notebook(), FULL),
    'quote"s & <tags> $HOME': (notebook({}), 0),
    "blank": (notebook({}), 0),
    "stderr": (with_cell("import sys\nprint('warning', file=sys.stderr)"), FULL),
    "exits": (with_cell("import sys\nsys.exit()"), FULL),
    "killed": (with_cell("import os\nos._exit(1)"), FULL),
    "loops": (with_cell("while True: pass"), FULL),
    "skips-tests": (with_tags(), 0),
    "claims-points": (claiming_points(), 0),
    "copied-cell": (with_a_copied_cell(), FULL),
    "other-kernel": (notebook(kernelspec={"name": "ir", "display_name": "R", "language": "R"}), FULL),
    "not-json": (b"this is my homework", 0),
    "empty-file": (b"", 0),
    "not-a-notebook": (b'{"a": 1}', 0),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the repository with everything handed in, marked once, with feedback."""
    root = tmp_path_factory.mktemp("elsewhere") / "a course"
    root.mkdir()
    for item in ("autograder", "transformer_exercises", "nbgrader_config.py"):
        source = ROOT / item
        (shutil.copytree if source.is_dir() else shutil.copy)(source, root / item)
    shutil.copytree(ROOT / "solutions" / NAME, root / "solutions" / NAME)
    with (root / "nbgrader_config.py").open("a") as config:
        config.write("\nc.Judge.cell_timeout = 4.0\nc.Judge.question_timeout = 3.0\n")
    nbgrader(root, "generate_assignment", NAME)
    for student, (content, _) in SUBMISSIONS.items():
        put(root, student, f"{NAME}.ipynb", content)
    put(root, "renamed", "my homework.ipynb", notebook())
    put(root, "no-notebook", "homework.txt", b"I could not export it")
    put(root, "two-others", "a.ipynb", b"{}")
    put(root, "two-others", "b.ipynb", b"{}")
    said = nbgrader(root, "autograde", NAME).stderr
    (root / "said.txt").write_text(said, encoding="utf8")
    nbgrader(root, "generate_feedback", NAME)
    return root


def put(root, student, filename, content):
    path = root / "classroom" / "submitted" / student / NAME / filename
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(json.dumps(content), encoding="utf8")


def nbgrader(root, *command, **variables):
    environment = {key: value for key, value in os.environ.items() if key not in ("COURSE_CLASSROOM", "PYTHONPATH")}
    environment |= variables
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command], cwd=root, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def marks(root, classroom="classroom"):
    """Automatic marks by student."""
    result = {}
    with Gradebook(f"sqlite:///{root}/{classroom}/gradebook.db") as gradebook:
        for submission in gradebook.assignment_submissions(NAME):
            grades = [grade for nb in submission.notebooks for grade in nb.grades]
            assert all(grade.auto_score is not None for grade in grades if grade.name != "written_scaling"), submission
            result[submission.student.id] = sum(g.auto_score for g in grades if g.name != "written_scaling")
    return result


def feedback(root, student):
    return (root / "classroom" / "feedback" / student / NAME / f"{NAME}.html").read_text(encoding="utf8")


def test_everybody_gets_the_mark_they_deserve(course):
    deserved = {student: points for student, (_, points) in SUBMISSIONS.items()}
    deserved |= {"renamed": FULL, "no-notebook": 0, "two-others": 0}
    assert marks(course) == deserved


@pytest.mark.parametrize(
    ("student", "words"),
    [
        ("not-json", "its content is not JSON"),
        ("empty-file", "The file is empty"),
        ("not-a-notebook", "it has no cells"),
        ("renamed", "my homework.ipynb"),
        ("no-notebook", "There is no notebook in what you handed in"),
        ("two-others", "several other notebooks"),
        ("killed", "ended the Python process"),
        ("loops", "stopped at its time limit"),
        ("copied-cell", "is there 2 times"),
        ("blank", "not been answered"),
    ],
)
def test_the_feedback_says_in_plain_words_what_happened(course, student, words):
    assert words in feedback(course, student)


def test_feedback_shows_no_hidden_test_key_or_reference(course):
    for student in ("perfect", "blank", "not-json", "claims-points"):
        page = feedback(course, student)
        assert "HIDDEN" not in page
        assert "from autograder" not in page
    page = feedback(course, "blank")
    assert not [key for key in KEYS if key[:40] in page]
    assert "scores.amax" not in page


def test_nothing_of_the_students_is_changed(course):
    submitted = course / "classroom" / "submitted"
    assert (submitted / "not-json" / NAME / f"{NAME}.ipynb").read_bytes() == b"this is my homework"
    assert sorted(path.name for path in (submitted / "renamed" / NAME).iterdir()) == ["my homework.ipynb"]


def test_honest_students_set_off_no_warnings(course):
    said = (course / "said.txt").read_text(encoding="utf8")
    warnings = [line for line in said.splitlines() if "WARNING" in line]
    assert warnings  # of those who try something, and of files that are not there
    assert not [line for line in warnings if "has changed" in line or "/perfect/" in line or "/blank/" in line]


def test_export_works(course):
    nbgrader(course, "export")
    rows = list(csv.DictReader((course / "classroom" / "grades.csv").open(encoding="utf8")))
    assert {row["student_id"] for row in rows} >= set(SUBMISSIONS)


def test_a_resubmission_that_breaks_does_not_keep_the_older_mark(course):
    put(course, "perfect", f"{NAME}.ipynb", b"broken")
    nbgrader(course, "autograde", NAME, "--student", "perfect", "--force")
    assert marks(course)["perfect"] == 0
    put(course, "perfect", f"{NAME}.ipynb", notebook())
    nbgrader(course, "autograde", NAME, "--student", "perfect", "--force")
    assert marks(course)["perfect"] == FULL


def test_a_marking_that_was_interrupted_is_taken_up_again(course):
    """Sanitised but not judged, as when the grader is killed in between."""
    path = course / "classroom" / "autograded" / "perfect" / NAME / f"{NAME}.ipynb"
    half = notebook()
    half.metadata["autograder"] = {"notes": []}
    path.chmod(0o644)
    nbformat.write(half, path)
    nbgrader(course, "autograde", NAME, "--student", "perfect")
    assert "autograder" not in nbformat.read(path, as_version=4).metadata
    assert marks(course)["perfect"] == FULL


def test_a_new_term_can_mark_at_once(course):
    """The release is committed, so nobody may have run generate_assignment with this gradebook."""
    path = course / "next-term" / "submitted" / "ada" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook()), encoding="utf8")
    nbgrader(course, "autograde", NAME, COURSE_CLASSROOM="next-term")
    assert marks(course, "next-term") == {"ada": FULL}


def test_the_formgraders_button_marks_too(course):
    """Formgrader calls nbgrader's API, not the command line."""
    script = f"""
import json
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.apps.nbgraderapp import NbGrader

app = NbGrader()
app.initialize([])
api = NbGraderAPI(app.coursedir, config=app.config)
print(json.dumps(api.autograde("{NAME}", "blank", force=True)["success"]))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=course, capture_output=True, text=True)
    assert done.stdout.strip().endswith("true"), done.stdout + done.stderr
    assert marks(course)["blank"] == 0
