"""Tests of how the engine finds the course that it marks, and tells its optional notebooks apart."""

import contextlib
import operator
from types import SimpleNamespace

import pytest
from conftest import ROOT, python
from rich.console import Console

from autograder import cli, demo, handout, workload
from autograder.nbgrader_plugin.report import data, terminal
from autograder.nbgrader_plugin.report.html_page import page
from autograder.nbgrader_plugin.report.marks import CellMark, Sheet
from autograder.spec import course
from autograder.spec.course import FURTHER, Course

PROGRAM = """
import importlib.metadata as metadata
installed = [metadata.EntryPoint(name, f"{{name}}:COURSE", "autograder.courses") for name in {names!r}]
metadata.entry_points = lambda **_: installed
from autograder.spec import course
try:
    print({asked})
except course.NoCourse as reason:
    print("NoCourse:", reason)
"""


def found(folder, asked, *names, settings=""):
    """Return what an expression gives in a folder where courses of these names are installed."""
    if settings:
        (folder / "nbgrader_config.py").write_text(settings)
    done = python("-c", PROGRAM.format(names=names, asked=asked), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_a_course_there_are_no_exercises(tmp_path):
    assert found(tmp_path, "len(course.names()), course.notebooks(), course.uses_torch()") == "0 () False"
    assert found(tmp_path, "course.root()") == str(tmp_path.resolve())


def test_whoever_needs_a_course_is_told_that_none_is_installed(tmp_path):
    assert found(tmp_path, "course.home()").startswith("NoCourse: No course is installed")


def test_of_several_courses_the_configuration_names_one(tmp_path):
    assert found(tmp_path, "course.course().package", "transformer_exercises") == "transformer_exercises"
    both = ("transformer_exercises", "another")
    output = found(tmp_path, "course.course()", *both)
    assert output.startswith('NoCourse: No course is named: write COURSE = "its name"')
    assert "another, transformer_exercises" in output
    named = found(tmp_path, "course.course().package", *both, settings='COURSE = "transformer_exercises"\n')
    assert named == "transformer_exercises"


def test_pytorch_and_what_is_as_slow_are_imported_when_something_is_marked(tmp_path):
    modules = [
        "autograder.cli",
        "autograder.nbgrader_plugin.preprocessors",
        "autograder.nbgrader_plugin.report.data",
        "autograder.nbgrader_plugin.marking.notebook_marker",
        "autograder.judge.diagnosis.fingerprint_store",
        "autograder.sandbox.session",
        "autograder.sandbox.template",
        "autograder.untrusted.warm_up",
        "autograder.nbgrader_plugin.feedback.exporter",
        "autograder.nbgrader_plugin.gradebook.locking",
    ]
    slow = {"torch", "transformers", "matplotlib"}
    program = f"import sys\nfor name in {modules}: __import__(name)\nprint({slow} & set(sys.modules))"
    assert python("-c", program, cwd=tmp_path).stdout == "set()\n"


def test_plan_mistakes_and_help_import_neither_pytorch_nor_nbgrader(tmp_path):
    commands = [["--help"], ["plan", "05-attention"], ["mistakes", "softmax"], ["mistakes", "softmax", "--diff"]]
    invoke = f"codes = [CliRunner().invoke(app, words).exit_code for words in {commands}]"
    program = f"import sys\nfrom typer.testing import CliRunner\nfrom autograder.cli import app\n{invoke}"
    slow = {"torch", "numpy", "nbgrader", "nbconvert"}
    assert python("-c", f"{program}\nprint(codes, {slow} & set(sys.modules))").stdout == "[0, 0, 0, 0] set()\n"


def test_an_exercise_that_is_only_read_has_the_imported_ones_catalogue(monkeypatch):
    monkeypatch.setattr(cli, "_readable", lambda exercise: exercise)
    depends_on = operator.attrgetter("name", "notebook", "source", "catalogue_module", "takes", "gives", "harmless")
    for declared in course.exercises():
        read = cli._unloaded(declared.name)
        assert not read.checks
        assert depends_on(read) == depends_on(declared)


@pytest.mark.parametrize("text", ["EXERCISE = made()", "EXERCISE = Exercise(takes=KIND)", "Exercise(**of)", "1 +"])
def test_a_module_that_says_no_literals_is_imported(tmp_path, monkeypatch, text):
    (tmp_path / "softmax.py").write_text(text)
    monkeypatch.setattr(course, "exercise_files", lambda name: [tmp_path / "softmax.py"])
    assert cli._unloaded("softmax") is course.exercise("softmax")


SMALL = Course(title="", package="", notebooks=("01-a", "02-b"), topics=(), imports="", preload=())
OPTIONAL = "06-masking"  # in these tests


def test_the_start_page_keeps_optional_notebooks_and_hours_separate():
    required, _, optional = (ROOT / "course" / "START.md").read_text("utf-8").partition("**Going further.**")
    cores = [chapter for chapter in handout.chapters(ROOT) if not course.is_optional(chapter.name)]
    assert required.count(".ipynb)") == len(cores)
    assert optional.partition("**The short way.**")[0].count(".ipynb)") == len(course.course().optional_notebooks)
    hours = round(sum(chapter.minutes for chapter in cores) / 60)
    assert f"{len(cores)} notebooks take about {hours} hours in all" in required


@pytest.fixture
def one_is_optional(monkeypatch):
    for module in (workload, data):
        monkeypatch.setattr(module, "is_optional", lambda name: name == OPTIONAL)


def test_a_companion_comes_after_its_notebook(monkeypatch):
    declared = course.course()
    assert {name.removesuffix(FURTHER) for name in declared.optional_notebooks} <= set(declared.notebooks)
    assert set(course.notebooks()) == {*declared.notebooks, *declared.optional_notebooks}
    with_optional_notebooks = course.replace(SMALL, optional_notebooks=("02-b-further", "01-a-further"))
    monkeypatch.setattr(course, "course", lambda: with_optional_notebooks)
    assert course.notebooks() == ("01-a", "01-a-further", "02-b", "02-b-further")
    assert [name for name in course.notebooks() if course.is_optional(name)] == ["01-a-further", "02-b-further"]


def test_the_plan_sums_up_what_is_optional_apart(one_is_optional):
    found = [workload.notebook(name) for name in ("04-positional-encoding", OPTIONAL)]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in workload.notebooks_table(found).splitlines()]
    assert [row[0] for row in rows[2:]] == [
        "`04-positional-encoding`",
        f"`{OPTIONAL}`, optional",
        "together, about 2 hours",
        "optional, together, about 3 hours",
    ]
    assert [row[1:4] for row in rows[2:4]] == [row[1:4] for row in rows[4:]]
    assert "optional" not in workload.notebooks_table(found[:1])


def test_the_report_says_what_is_optional_and_leaves_it_out_of_the_sum(one_is_optional):
    marks = {"04-positional-encoding": 7.0, OPTIONAL: 5.0}
    sheets = {name: Sheet("amina", cells=[CellMark("one", earned, 9.0, waits=False)]) for name, earned in marks.items()}
    made = data.ClassData("", {"amina": ""}, [data.Assignment(name, [sheet]) for name, sheet in sheets.items()])
    console = Console(width=200, record=True)
    console.print(terminal._totals(made))
    [row] = [line.split() for line in console.export_text().splitlines() if "amina" in line]
    assert row == ["amina", "7", "5", "7"]
    assert f"{OPTIONAL} (optional)" in page(made)


def test_the_demo_runs_the_notebooks_that_everybody_works(monkeypatch):
    monkeypatch.setattr(course, "course", lambda: course.replace(SMALL, optional_notebooks=("02-b-further",)))
    chosen = []
    monkeypatch.setattr(demo, "prepare", lambda _: None)
    monkeypatch.setattr(demo, "pool", lambda preload: contextlib.nullcontext(SimpleNamespace(workers=0)))
    monkeypatch.setattr(demo, "Classroom", lambda *_: SimpleNamespace(close=lambda: None, sandboxed=False))
    monkeypatch.setattr(demo, "mark_sample_class", lambda _, notebook, bar: chosen.append(notebook) or 1)
    assert not demo.run(Console(quiet=True))
    assert chosen == ["01-a", "02-b"]
