"""Tests of the guides: all their commands exist, the cheap ones run, and the links have targets."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml
from class_copies import BEST, FULL, NAME, copy_of_the_course, put
from class_copies import notebook as handed_in
from conftest import NOTEBOOKS, ROOT, read
from nbgrader.api import Gradebook
from nbgrader.apps.nbgraderapp import NbGraderApp
from traitlets.config import Application
from typer.testing import CliRunner

from autograder.cli import app
from autograder.nbgrader_plugin.export.lms import CanvasExport, MoodleExport
from autograder.nbgrader_plugin.intake.lms_collect import LmsCollector
from autograder.spec.course import MARKERS, exercise, exercises, notebooks
from autograder.workload import Unannounced, answers_table, notebook, notebooks_table

sys.path.insert(0, str(ROOT))  # tools are no part of the package
from tools import fill_guides

INSTRUCTORS, STUDENTS = ROOT / "docs" / "instructors.md", ROOT / "docs" / "students.md"
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # commands stand in those without a language
INLINE = re.compile(r"(?<!`)`((?:autograder|nbgrader|make) [a-z_-]+[^`]*)`(?!`)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def fenced(page: Path, language: str) -> list[str]:
    return [text for named, text in FENCE.findall(page.read_text("utf-8")) if named == language]


def commands(page: Path) -> list[list[str]]:
    """The words of each command in the fences of a page, without comments and variables set for it."""
    lines = "".join(fenced(page, "")).splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [[word for word in one if not re.match(r"[A-Z_]+=", word)] for one in words if one]


def named(page: Path) -> list[list[str]]:
    """Commands named within sentences."""
    text = FENCE.sub("", page.read_text("utf-8"))
    return [shlex.split(" ".join(words.split())) for words in INLINE.findall(text)]


def run(folder: Path, words: list[str]) -> str:
    """Return what a command says in a folder in which the course's commands work on a term of its own."""
    environment = {key: value for key, value in os.environ.items() if key not in ("COURSE_CLASSROOM", "PYTHONPATH")}
    command = [sys.executable, "-m", {"nbgrader": "nbgrader", "autograder": "autograder.cli"}[words[0]], *words[1:]]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, cwd=folder, env=environment, **streams)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}"
    return done.stdout


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    """Work in a folder in which the guide's student has handed in."""
    put(tmp_path / "classroom", "amina", handed_in())
    (tmp_path / "course").symlink_to(ROOT / "course")
    monkeypatch.chdir(tmp_path)


def check_autograder(words: list[str]) -> None:
    """What the command line itself makes of the words, short of doing it."""
    name, *rest = words
    assert name in COMMANDS, f"there is no autograder {name}"
    try:
        COMMANDS[name].make_context(name, rest)
    except Exception as error:  # typer's errors of usage have no common name that is public
        raise AssertionError(f"autograder {shlex.join(words)}: {error}") from error


def check_nbgrader(words: list[str]) -> None:
    """Subcommands down to the last, then each option: a flag, an alias, or a setting of a class that there is."""
    kind: type[Application] = NbGraderApp
    while isinstance(kind.subcommands, dict) and kind.subcommands:  # without its own, the empty trait of its base
        assert words[0] in kind.subcommands, f"{kind.name} has no command {words}"
        kind, words = kind.subcommands[words[0]][0], words[1:]
    program = kind()
    flags, aliases = (
        {name for names in known for name in ([names] if isinstance(names, str) else names)}
        for known in (program.flags, program.aliases)
    )
    for word in words:
        if word.startswith("-"):
            option, equals, value = word.lstrip("-").partition("=")
            owner, dot, trait = option.rpartition(".")
            if dot:
                known = {one.__name__: one for one in (*program.classes, LmsCollector, CanvasExport, MoodleExport)}
                assert trait in known[owner].class_traits(config=True), f"{owner} has no setting {trait}"
            assert dot or option in (aliases if equals else flags), f"{kind.name} has no option --{option}"
            assert not equals or value


COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
OTHERS = {  # what else the guides tell somebody to type
    *("cd course", "git clone YOUR-FORK course", "source .venv/bin/activate"),  # the folder in the zip and in git
    "cp students.example.csv classroom/students.csv",
    *("conda env create -f environment.yml", "conda activate NAME", "pip install -r requirements.txt", "jupyter lab"),
}
CHECKS = {"autograder": check_autograder, "nbgrader": check_nbgrader, "make": lambda words: TARGETS.index(words[0])}


@pytest.mark.parametrize("page", [INSTRUCTORS, STUDENTS], ids=lambda page: page.stem)
@pytest.mark.usefixtures("classroom")
def test_every_command_of_a_guide_exists_as_it_is_written(page):
    found = [*commands(page), *(named(page) if page == INSTRUCTORS else [])]
    assert len(found) >= {INSTRUCTORS: 30, STUDENTS: 7}[page]
    name = yaml.safe_load((ROOT / "environment.yml").read_text())["name"]
    for first, *rest in found:
        if first in CHECKS:
            CHECKS[first](rest)
        else:
            assert shlex.join([first, *rest]).replace(f"activate {name}", "activate NAME") in OTHERS


@pytest.mark.parametrize(
    "command",
    [
        "autograder try softmax classroom/submitted/nobody/05-attention/05-attention.ipynb",
        "nbgrader db assignment add 05-attention --due=tomorrow",
        "nbgrader export --CanvasExport.rooster=classroom/canvas.csv",
        "make student",
    ],
)
@pytest.mark.usefixtures("classroom")
def test_a_command_with_a_slip_of_the_pen_would_be_found(command):
    first, *rest = shlex.split(command)
    with pytest.raises((AssertionError, ValueError)):
        CHECKS[first](rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(page):
    for first, second, *_ in named(page):
        known = {"make": TARGETS, "autograder": COMMANDS}.get(first, [second])
        assert second in known or second.startswith("-"), f"there is no {first} {second}"


@pytest.mark.long
def test_a_term_goes_by_the_guide(tmp_path):
    """Its commands in their order, as they are written. Two students hand in; their written answers get points."""
    term = copy_of_the_course(tmp_path / "course", f"c.AssignLatePenalties.plugin_class = '{late_plugin()}'\n")
    [code] = fenced(INSTRUCTORS, "python")
    (term / "late.py").write_text(code)
    (term / "course").mkdir()
    for name in set(NOTEBOOKS) - {NAME}:
        for folder in ("course", "solutions"):
            (term / folder / name).symlink_to(ROOT / folder / name)
    book, said = term / "classroom", {}
    for words in commands(INSTRUCTORS):
        if words[0] == "cp":
            shutil.copy(ROOT / words[1], term / words[2])
        if words[0] in ("autograder", "nbgrader") and words[1] != "watch":
            said[" ".join(words)] = run(term, words)
        if words[:2] == ["nbgrader", "collect"]:
            put(book, "amina", handed_in(), when="2027-02-05 12:00:00 UTC")
            no_shift = next(one for one in exercise("softmax").mistakes if one.name == "no_shift").source
            put(book, "ngozi", handed_in(BEST | {"softmax": no_shift}), when="2027-02-05 12:00:00 UTC")
        if " ".join(words) == f"autograder grade {NAME}":
            with Gradebook(f"sqlite:///{book}/gradebook.db", "transformers") as gradebook:
                for student in ("amina", "ngozi"):  # points for what they wrote, as Formgrader gives them
                    grade = gradebook.find_grade("written_scaling", NAME, NAME, student)
                    grade.manual_score, grade.needs_manual_grade = 2.5, False
                gradebook.db.commit()
    assert [f"{NAME} (due: 2027-02-01 23:59:00)" in one for one in said.values()].count(True) == 1
    assert "There are 0 students" in said["nbgrader db student list"]
    assert all(len(text.splitlines()) > 10 for words, text in said.items() if words.split()[1] in ("plan", "mistakes"))
    assert "2 marked" in said[f"autograder grade {NAME}"]
    assert "2 marked" in said[f"autograder grade {NAME} --force"]
    assert "1 marked" in said[f"autograder grade {NAME} --student amina --force"]
    assert "softmax: 4 of 4 points" in said[f"autograder try softmax classroom/submitted/amina/{NAME}/{NAME}.ipynb"]
    with (book / "grades.csv").open() as file:
        marks = {row["student_id"]: row for row in csv.DictReader(file)}
    assert float(marks["amina"]["score"]) == FULL + 2.5  # she has more free days
    raw = FULL + 2.5 - exercise("softmax").points + 2.25  # what the guide's table says of this mistake
    assert float(marks["ngozi"]["raw_score"]) == raw
    assert float(marks["ngozi"]["late_submission_penalty"]) == pytest.approx(0.2 * raw)  # the person's points, too
    assert "ngozi" not in (book / "class.html").read_text("utf-8")
    assert "ngozi" in (book / "report.html").read_text("utf-8")
    assert len((book / "verdicts.csv").read_text("utf-8").splitlines()) > 50


def late_plugin() -> str:
    """What the guide puts into nbgrader's configuration."""
    [line] = re.findall(r"`c\.AssignLatePenalties\.plugin_class = \"([^\"]+)\"`", INSTRUCTORS.read_text("utf-8"))
    return line


def test_late_days_cost_what_the_guide_says(tmp_path, monkeypatch):
    [code] = fenced(INSTRUCTORS, "python")
    (tmp_path / "late.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    from late import LateDays  # type: ignore[import-not-found]
    from nbgrader.preprocessors import AssignLatePenalties

    late, day = LateDays(), 86_400
    assert AssignLatePenalties(plugin_class=late_plugin()).plugin_class is LateDays
    for who, days, taken in (
        *(("ngozi", 0.01, 0), ("ngozi", 2, 0), ("ngozi", 2.01, 2), ("ngozi", 4, 4), ("ngozi", 90, 20)),
        *(("amina", 7, 0), ("amina", 8, 2)),
    ):
        assert late.late_submission_penalty(who, 20.0, days * day) == pytest.approx(taken)


@pytest.mark.parametrize("page", fill_guides.PAGES)
def test_the_minutes_in_the_guides_are_those_of_the_notebooks(page):
    """After a change: python -m tools.fill_guides"""
    text = (ROOT / page).read_text("utf-8")
    assert fill_guides.BLOCK.search(text)
    assert text == fill_guides.filled(ROOT / page)


def test_the_plan_has_the_minutes_and_points_of_notebooks_and_of_their_answers():
    said = CliRunner().invoke(app, ["plan"]).output.strip()
    assert said == notebooks_table([notebook(name) for name in notebooks()])
    one = notebook("05-attention")
    said = CliRunner().invoke(app, ["plan", "05-attention"]).output.strip()
    assert said == f"{notebooks_table([one])}\n\n{answers_table(one)}"
    assert "| `softmax` | 10 | 4 |" in said


def test_the_readme_is_read_in_two_minutes():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.split()) <= 800
    assert len(text.splitlines()) <= 110
    pictures = re.findall(r"^!\[(.{40,})\]\((\S+)\)$", text, re.MULTILINE)  # with what is to be seen on them
    assert [path for _, path in pictures] == ["docs/pictures/notebook.png", "docs/pictures/feedback.png"]
    assert all(0 < (ROOT / path).stat().st_size < 100_000 for _, path in pictures)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_exercise_has_its_points_minutes_and_rubric_and_there_is_time_for_all(name):
    found, cells = notebook(name), read("solutions", name).cells
    declared = {exercise.name: exercise.points for exercise in exercises(name)}
    assert {task.name: task.points for task in found.tasks if not task.written} == declared
    earned = sum(cell.metadata.nbgrader.points for cell in cells if cell.metadata.get("nbgrader", {}).get("grade"))
    assert found.points == earned
    assert found.minutes.doing == 1.25 * sum(task.minutes for task in found.tasks)
    places = {cell.metadata.get("nbgrader", {}).get("grade_id"): number for number, cell in enumerate(cells)}
    for task in (task for task in found.tasks if task.written):
        rubric = cells[places[task.name] - 1].source.partition("**Rubric**")[2]
        entries = re.findall(r"^- (?:(\d+) points?:)?", rubric, re.MULTILINE)  # without a number: "One point each."
        assert all(entries) or "One point each" in rubric
        assert sum(float(points or 1) for points in entries) == task.points
        sample = cells[places[task.name]].source.partition(MARKERS[0])[2].partition(MARKERS[1])[0]
        assert len(sample.split()) > 60


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("· 4 points · easy · 10 minutes", "· 5 points · easy · 10 minutes", "says 5 points; it earns 4"),
        ("· 4 points · easy · 10 minutes", "· 4 points · easy", "No box above softmax"),
    ],
)
def test_a_notebook_that_does_not_say_what_an_exercise_takes_is_named(old, new, said, tmp_path):
    place = Path("solutions", "05-attention", "05-attention.ipynb")
    text = (ROOT / place).read_text("utf-8")
    assert text.count(old) == 1
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(Unannounced, match=said):
        notebook("05-attention", tmp_path)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    text = FENCE.sub("", page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere_and_the_readme_to_the_three_guides(page):
    links = LINK.findall(FENCE.sub("", page.read_text("utf-8")))
    assert (
        page.stem != "README"
        or page.parent != ROOT
        or {f"docs/{name}.md" for name in ("instructors", "students", "learning-alone")} <= set(links)
    )
    for target in (link for link in links if not link.startswith("https://")):
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), target
        assert not anchor or anchor in anchors(goal), target
