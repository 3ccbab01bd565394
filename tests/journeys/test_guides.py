"""Tests of the guides: their cheap commands run, and the links have targets."""

import functools
import re
import shutil
import sys
from pathlib import Path

import pytest
from class_copies import NAME, copy_of_the_course, run
from conftest import NOTEBOOKS, PAGES, ROOT, read
from guided_term import FENCE, INSTRUCTORS, came_out_right, fenced, follow, late_plugin, write_late_days
from typer.testing import CliRunner

from autograder.cli import app
from autograder.new_folder import CLASS_LIST
from autograder.spec.course import exercises, notebooks
from autograder.workload import Unannounced, answers_table, notebook, notebooks_table

sys.path.insert(0, str(ROOT))  # tools are no part of the package
from tools import fill_guides

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.long
def test_a_term_goes_by_the_guide(tmp_path):
    term = copy_of_the_course(tmp_path / "course")
    write_late_days(term)
    shutil.copy(ROOT / CLASS_LIST, term)
    (term / "course").mkdir()
    for name in set(NOTEBOOKS) - {NAME}:
        for folder in ("course", "solutions"):
            (term / folder / name).symlink_to(ROOT / folder / name)
    book = term / "classroom"
    left_out = ("init", "demo", "watch", "teach", "students")
    came_out_right(book, follow(term, functools.partial(run, term, book), left_out))


def test_late_days_cost_what_the_guide_says(tmp_path, monkeypatch):
    [code] = fenced(INSTRUCTORS, "python")
    (tmp_path / "late.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    from late import LateDays  # type: ignore[import-not-found]
    from nbgrader.preprocessors import AssignLatePenalties

    late, day = LateDays(), 86_400
    assert AssignLatePenalties(plugin_class=late_plugin()).plugin_class is LateDays
    for who, days, taken in (
        ("ngozi", 0.01, 0),
        ("ngozi", 2, 0),
        ("ngozi", 2.01, 2),
        ("ngozi", 4, 4),
        ("ngozi", 90, 20),
        ("amina", 7, 0),
        ("amina", 8, 2),
    ):
        assert late.late_submission_penalty(who, 20.0, days * day) == pytest.approx(taken)


@pytest.mark.parametrize("page", fill_guides.PAGES)
def test_the_minutes_in_the_guides_are_those_of_the_notebooks(page):
    """After a change: python -m tools.fill_guides"""
    text = (ROOT / page).read_text("utf-8")
    assert fill_guides.BLOCK.search(text)
    assert text == fill_guides.filled(ROOT / page)


def test_the_plan_lists_minutes_and_points_of_notebooks_and_answers():
    output = CliRunner().invoke(app, ["plan"]).output.strip()
    assert output == notebooks_table([notebook(name) for name in notebooks()])
    one = notebook("05-attention")
    output = CliRunner().invoke(app, ["plan", "05-attention"]).output.strip()
    assert output == f"{notebooks_table([one])}\n\n{answers_table(one)}"
    assert "| `softmax` | 10 | 4 |" in output


def test_the_readme_is_read_in_two_minutes():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 120
    prose = re.sub(r"^(?:\||!\[|#|<!--).*$|\]\([^)]*\)", "", FENCE.sub("", text), flags=re.MULTILINE)
    assert 200 < len(prose.split()) <= 400
    pictures = re.findall(r"^!\[(.{40,})\]\((\S+)\)$", text, re.MULTILINE)  # with what is to be seen on them
    assert [path for _, path in pictures] == ["docs/pictures/notebook.png", "docs/pictures/feedback.png"]
    assert all(0 < (ROOT / path).stat().st_size < 100_000 for _, path in pictures)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebooks_points_and_minutes_are_those_of_its_answers(name):
    found, cells = notebook(name), read("solutions", name).cells
    declared = {exercise.name: exercise.points for exercise in exercises(name)}
    assert {task.name: task.points for task in found.tasks if not task.written} == declared
    earned = sum(cell.metadata.nbgrader.points for cell in cells if cell.metadata.get("nbgrader", {}).get("grade"))
    assert found.points == earned
    assert found.minutes.doing == 1.25 * sum(task.minutes for task in found.tasks)


@pytest.mark.parametrize(
    ("old", "new", "output"),
    [
        ("· 4 points · easy · 10 minutes", "· 5 points · easy · 10 minutes", "says 5 points; it earns 4"),
        ("· 4 points · easy · 10 minutes", "· 4 points · easy", "No box above softmax"),
    ],
)
def test_a_notebook_that_does_not_say_what_an_exercise_takes_is_named(old, new, output, tmp_path):
    location = Path("solutions", "05-attention", "05-attention.ipynb")
    text = (ROOT / location).read_text("utf-8")
    assert text.count(old) == 1
    (tmp_path / location).parent.mkdir(parents=True)
    (tmp_path / location).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(Unannounced, match=output):
        notebook("05-attention", tmp_path)


def anchors(page: Path) -> set[str]:
    """Make anchors as GitHub makes them of headings."""
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
        destination = (page.parent / path).resolve() if path else page
        assert destination.exists(), target
        assert not anchor or anchor in anchors(destination), target
