"""Tests that no command loses a user's edits: each one that overwrites files is run on edited files."""

import importlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from class_copies import NAME
from conftest import ROOT, cell_of, missing, python
from nbgrader.api import Gradebook
from typer.testing import CliRunner

from autograder import files
from autograder.authoring import tidy
from autograder.cli import app
from autograder.handout import NotReady, prepare_start, write_zip
from autograder.nbgrader_plugin.export.lms import CanvasExport
from autograder.nbgrader_plugin.gradebook.roster import Table, Unusable
from tools import native_readers

pytestmark = pytest.mark.slow  # whole releases
ANSWER = "def softmax(x):\n    return x.exp() / x.exp().sum(-1, keepdim=True)  # two evenings of work"
PROGRAM = f"""
from autograder.nbgrader_plugin.converters import register_assignments, settings
from nbgrader.apps import NbGraderAPI
register_assignments(settings("classroom"), [{NAME!r}])
app = settings("classroom")
done = NbGraderAPI(app.coursedir, parent=app).generate_assignment({NAME!r})
print(done["success"], done.get("log"))
"""
DEMO = f"""
import sys
from autograder import demo
from autograder.spec.course import root
from autograder.sample_class import Submission
classroom = root() / demo.CLASSROOM
try:
    demo.prepare(classroom)
    demo.release(demo.CLASSROOM, [{NAME!r}])
    demo.hand_in(classroom, {NAME!r}, [Submission("perfect", {{"softmax": "def softmax(x): ..."}}, {{}})])
except demo.WouldOverwrite as reason:
    sys.exit(str(reason))
"""


def run(root: Path, *command: str):
    return python("-m", *command, cwd=root, path=root)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    root = tmp_path_factory.mktemp("released") / "course"
    for name in ("autograder", f"solutions/{NAME}", f"course/{NAME}", "course/.released"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return root


@pytest.fixture
def course(released, tmp_path):
    return shutil.copytree(released, tmp_path / "course")


@pytest.fixture
def expected():
    """Write a file that nobody may lose, and see at the end that nobody has."""
    written = []

    def write(path: Path, text: str = "years of work") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        written.append((path, text))
        return path

    yield write
    for path, text in written:
        assert path.read_text() == text


def notebook_of(root: Path) -> Path:
    return root / "course" / NAME / f"{NAME}.ipynb"


def answer(path: Path, text: str = ANSWER) -> None:
    notebook = nbformat.read(path, as_version=4)
    cell_of(notebook, "softmax").source = text
    nbformat.write(notebook, path)


def generate(root: Path, status: int, *options: str) -> str:
    done = run(root, "nbgrader", "generate_assignment", NAME, "--force", *options)
    assert done.returncode == status, done.stderr
    return done.stderr


def test_a_release_overwrites_somebodys_work_only_with_a_copy(course):
    own, changed = course / "course" / NAME / "notes" / "mine.txt", course / "course" / NAME / "attention_explorer.py"
    own.parent.mkdir()
    own.write_text("what I understood")
    changed.write_text(changed.read_text() + "\n# what I tried\n")
    answer(notebook_of(course))
    notebook = nbformat.read(notebook_of(course), as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell("Why is it divided by the root?"))
    nbformat.write(notebook, notebook_of(course))
    before = notebook_of(course).read_bytes()
    message = generate(course, 1)
    named = ("mine.txt", "attention_explorer.py", f"{NAME}.ipynb (softmax, cell {len(notebook.cells)})")
    assert not missing(message, *named, f"autograder release {NAME} --overwrite")
    assert "Traceback" not in message
    assert notebook_of(course).read_bytes() == before
    assert own.read_text() == "what I understood"
    assert "what I tried" in changed.read_text()
    generate(course, 0, "--ReleaseExporter.overwrite=True")
    assert notebook_of(course).read_bytes() == notebook_of(ROOT).read_bytes()
    [copy] = (course / "classroom" / "replaced").glob(f"*/{NAME}/{NAME}.ipynb")
    assert copy.read_bytes() == before


def test_a_release_replaces_a_notebook_that_was_only_run(course):
    solution = course / "solutions" / NAME / f"{NAME}.ipynb"
    notebook = nbformat.read(solution, as_version=4)
    notebook.cells[0].source += "\n\nAnother sentence."
    nbformat.write(notebook, solution)
    for folder in ("solutions", "course"):
        (course / folder / NAME / "table.csv").write_text("a,b\n")  # the new release writes the same
    notebook = nbformat.read(notebook_of(course), as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [nbformat.v4.new_output("stream", text="run")], 7
    notebook.metadata.language_info = {"name": "python", "version": "3.99"}
    nbformat.write(notebook, notebook_of(course))
    left = course / "course" / NAME / ".ipynb_checkpoints" / f"{NAME}-checkpoint.ipynb"
    left.parent.mkdir()
    left.write_text("{}")
    generate(course, 0)
    assert "Another sentence" in notebook_of(course).read_text()
    (course / "solutions" / NAME / "table.csv").unlink()
    generate(course, 0)
    assert not (course / "course" / NAME / "table.csv").exists()


def test_without_a_manifest_an_answer_still_stops_a_release(course):
    shutil.rmtree(course / "course" / files.MANIFESTS)  # without a manifest it is compared with the new release
    answer(notebook_of(course))
    assert "(softmax)" in generate(course, 1)
    assert "two evenings" in notebook_of(course).read_text()


def test_a_check_that_names_no_exercise_stops_a_release(course):
    solution = course / "solutions" / NAME / f"{NAME}.ipynb"
    text = solution.read_text()
    assert text.count('check(\\"softmax\\")') == 1
    solution.write_text(text.replace('check(\\"softmax\\")', 'check(\\"sofmax\\")'))
    assert "the hidden tests of “test_softmax” say check('sofmax')" in generate(course, 1)


def test_formgraders_button_overwrites_no_answer(course):
    answer(notebook_of(course))
    before = notebook_of(course).read_bytes()
    (course / "button.py").write_text(PROGRAM)
    done = run(course, "button")
    assert done.stdout.startswith("False"), done.stdout + done.stderr
    assert "--overwrite" in done.stdout
    assert notebook_of(course).read_bytes() == before
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db") as book:
        assert [assignment.name for assignment in book.assignments] == [NAME]


def test_the_demo_touches_neither_the_course_nor_what_is_not_its_own(course, expected):
    answer(notebook_of(course))
    expected(notebook_of(course), notebook_of(course).read_text())
    expected(course / "course" / NAME / "mine.txt")
    (course / "run_demo.py").write_text(DEMO)
    location = course / "classroom" / "demo"
    for _ in range(2):
        done = run(course, "run_demo")
        assert done.returncode == 0, done.stderr
        notes = expected(location / "notes.txt")
    assert (location / "course" / NAME / f"{NAME}.ipynb").read_bytes() == notebook_of(ROOT).read_bytes()
    assert (location / "submitted" / "perfect" / NAME / f"{NAME}.ipynb").is_file()

    expected(location / "submitted" / "me" / NAME / f"{NAME}.ipynb")
    answer(location / "course" / NAME / f"{NAME}.ipynb", "def softmax(x): return 'tried'")
    done = run(course, "run_demo")
    assert done.returncode == 1
    assert not missing(done.stderr, f"submitted/me/{NAME}/{NAME}.ipynb", f"demo/course/{NAME}/{NAME}.ipynb (softmax)")
    assert "'tried'" in (location / "course" / NAME / f"{NAME}.ipynb").read_text()
    assert notes.exists()
    (location / "made-by-demo.json").unlink()
    done = run(course, "run_demo")
    assert done.returncode == 1
    assert "made-by-demo.json" in done.stderr


def test_start_page_and_settings_are_replaced_only_where_nobody_wrote(tmp_path):
    root = tmp_path / "checkout"
    for name in ("solutions", "course"):
        shutil.copytree(ROOT / name, root / name)
    actual = root / "course" / ".jupyter" / "my_config.json"
    for path, text in ((root / "course" / "START.md", "Done: 1, 2"), (actual, "{}")):
        path.write_text(text)
    with pytest.raises(files.WouldOverwrite, match=r"START\.md, .*my_config\.json since the last release"):
        prepare_start(root, root)()
    assert (actual.read_text(), (root / "course" / "START.md").read_text()) == ("{}", "Done: 1, 2")
    prepare_start(root, root, tmp_path / "replaced")()
    assert (root / "course" / "START.md").read_bytes() == (ROOT / "course" / "START.md").read_bytes()
    prepare_start(root, root)()  # over what it wrote itself
    assert [path.read_text() for path in tmp_path.glob("replaced/*/course/START.md")] == ["Done: 1, 2"]


def test_a_report_is_not_written_over_another_file(tmp_path, expected):
    another = str(expected(tmp_path / "thesis.html"))
    done = CliRunner().invoke(app, ["report", "--html", another])
    assert (done.exit_code, "no report of ours" in plain(done.output)) == (2, True)
    for kind in ("csv", "parquet"):
        done = CliRunner().invoke(app, ["export", kind, "--checks", "--to", another])
        assert (done.exit_code, "no table of checks" in plain(done.output)) == (1, True)


def test_students_zip_is_not_written_over_another_file(tmp_path):
    destination = tmp_path / "students.zip"
    with zipfile.ZipFile(destination, "w") as archive:
        archive.writestr("course/START.md", "Everybody's submissions of last year")
    before = destination.read_bytes()
    with pytest.raises(NotReady, match=r"students\.zip is no zip of this course"):
        write_zip(ROOT, destination)
    assert destination.read_bytes() == before
    destination.unlink()
    assert write_zip(ROOT, destination) == write_zip(ROOT, destination)


def test_an_export_is_not_written_over_another_file(tmp_path, expected):
    table = Table(["Student", "ID"], [["Ada", "1"]])
    roster = expected(tmp_path / "canvas.csv", "Student,ID\nAda,1\n")
    other = expected(tmp_path / "addresses.csv", "name,street\n")
    export = CanvasExport(roster=str(roster))
    for export.to, message in ((str(roster), r"canvas\.csv is the roster"), (str(other), "name another file")):
        with pytest.raises(Unusable, match=message):
            export._write(table)
    export.to = str(tmp_path / "grades.csv")
    for _ in range(2):
        export._write(table)
    assert (tmp_path / "grades.csv").read_text() == table.text()


def plain(output: str) -> str:
    return " ".join(output.replace("│", " ").split())


@pytest.mark.parametrize("program", ["translate", "grow", "stories_gpt2"])
def test_a_model_is_not_kept_in_a_folder_of_other_files(program, tmp_path, expected):
    expected(tmp_path / "README.md")
    command = importlib.import_module(f"tools.training.{program}").app
    done = CliRunner().invoke(command, ["--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "holds files and no" in plain(done.output)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_the_website_is_not_built_into_a_folder_of_other_files(tmp_path, monkeypatch, expected):
    monkeypatch.setitem(sys.modules, "sphinx.cmd.build", SimpleNamespace(main=lambda options: 1))  # has its own .venv
    build = importlib.import_module("tools.website.build").build
    expected(tmp_path / "html" / "thesis.html")
    with pytest.raises(files.WouldOverwrite, match="name another folder"):
        build(tmp_path, None)
    for _ in range(2):
        with pytest.raises(NotReady):  # Sphinx has found something wrong, and the next build may begin anew
            build(tmp_path / "site", None)
        expected(tmp_path / "site" / "notes.txt")


def test_what_a_native_reader_wrote_stays_in_the_table(tmp_path, monkeypatch):
    top = "\t".join(native_readers.TOP)
    monkeypatch.setattr(native_readers, "sheets", lambda: {"igbo.tsv": f"{top}\n1\tigbo\tA\tB\t\t\n"})
    [table] = native_readers.write(tmp_path)
    native_readers.write(tmp_path)
    table.write_text(f"{top}\n1\tigbo\tA\tB\tno\tI would say C\n")
    with pytest.raises(files.WouldOverwrite, match=r"igbo\.tsv, in row 1"):
        native_readers.write(tmp_path)
    assert "I would say C" in table.read_text()


def test_a_solution_that_is_tidied_in_vain_stays_whole(tmp_path, monkeypatch):
    path = tmp_path / f"{NAME}.ipynb"
    notebook = nbformat.read(ROOT / "solutions" / NAME / path.name, as_version=4)
    notebook.cells[0].metadata.execution = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
    nbformat.write(notebook, path)
    before = path.read_bytes()

    def disk_is_full(self, content):
        with self.open("wb") as file:
            file.write(content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", disk_is_full)
    with pytest.raises(OSError, match="No space"):
        tidy(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_make_removes_a_classroom_only_after_confirmation(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    work = [tmp_path / name for name in ("course/05/answer.ipynb", "solutions/05/05.ipynb")]
    book = tmp_path / "classroom/gradebook.db"
    for path in (*work, book, tmp_path / ".venv/lib/x"):
        path.parent.mkdir(parents=True)
        path.write_text("a term's work")

    def make(target: str, message: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", target], cwd=tmp_path, input=message, capture_output=True, text=True)

    assert make("clean").returncode == 0
    assert not (tmp_path / ".venv").exists()
    for message in ("", "yes\n"):
        done = make("empty-classroom", message)
        assert (done.returncode != 0, "Nothing was removed" in done.stdout, book.exists()) == (True,) * 3
    (tmp_path / "classroom" / "hub").mkdir()
    assert "make hub-clean" in make("empty-classroom", "remove\n").stdout
    assert book.exists()
    (tmp_path / "classroom" / "hub").rmdir()
    assert make("empty-classroom", "remove\n").returncode == 0
    assert not (tmp_path / "classroom").exists()
    assert {path.read_text() for path in work} == {"a term's work"}
