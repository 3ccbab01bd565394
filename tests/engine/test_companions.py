"""Tests that optional notebooks, the companions, are told apart from those that everybody works."""

from __future__ import annotations

import contextlib
import shutil
from types import SimpleNamespace

import pytest
from conftest import ROOT
from rich.console import Console

from autograder import demo, handout, workload
from autograder.nbgrader_plugin.report import data, terminal
from autograder.nbgrader_plugin.report.html_page import page
from autograder.nbgrader_plugin.report.marks import CellMark, Sheet
from autograder.spec import course
from autograder.spec.course import FURTHER, Course

SMALL = Course(title="", package="", notebooks=("01-a", "02-b"), topics=(), imports="", preload=())
OPTIONAL = "06-masking"  # in these tests


@pytest.fixture
def one_is_optional(monkeypatch):
    for module in (workload, handout, data):
        monkeypatch.setattr(module, "is_companion", lambda name: name == OPTIONAL)


def test_a_companion_comes_after_its_notebook(monkeypatch):
    with_companions = course.replace(SMALL, companions=("02-b-further", "01-a-further"))
    monkeypatch.setattr(course, "course", lambda: with_companions)
    assert course.notebooks() == ("01-a", "01-a-further", "02-b", "02-b-further")
    assert [name for name in course.notebooks() if course.is_companion(name)] == ["01-a-further", "02-b-further"]


def test_every_companion_of_the_course_belongs_to_a_notebook():
    declared = course.course()
    assert {name.removesuffix(FURTHER) for name in declared.companions} <= set(declared.notebooks)
    assert set(course.notebooks()) == {*declared.notebooks, *declared.companions}


def test_the_plan_sums_up_what_is_optional_apart(one_is_optional):
    found = [workload.notebook(name) for name in ("04-positional-encoding", OPTIONAL)]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in workload.notebooks_table(found).splitlines()]
    assert [row[0] for row in rows[2:]] == [
        *("`04-positional-encoding`", f"`{OPTIONAL}`, optional"),
        *("together, about 3 hours", "optional, together, about 3 hours"),
    ]
    assert [row[1:4] for row in rows[2:4]] == [row[1:4] for row in rows[4:]]
    assert "optional" not in workload.notebooks_table(found[:1])


def test_the_start_page_lists_what_is_optional_apart_and_does_not_count_its_hours(one_is_optional, tmp_path):
    for name in ("course", "solutions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    handout.write_start(tmp_path)
    required, _, further = (tmp_path / "course" / "START.md").read_text("utf-8").partition("**Going further.**")
    link = f"({OPTIONAL}/{OPTIONAL}.ipynb)"
    assert link not in required
    assert link in further
    assert further.count(".ipynb)") == 1
    cores = [chapter for chapter in handout.chapters(ROOT) if chapter.name != OPTIONAL]
    hours = round(sum(chapter.minutes for chapter in cores) / 60)
    assert f"{len(cores)} notebooks take about {hours} hours in all" in required


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
    monkeypatch.setattr(course, "course", lambda: course.replace(SMALL, companions=("02-b-further",)))
    chosen = []
    monkeypatch.setattr(demo, "prepare", lambda _: None)
    monkeypatch.setattr(demo, "pool", lambda: contextlib.nullcontext(SimpleNamespace(workers=0)))
    monkeypatch.setattr(demo, "Classroom", lambda *_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(demo, "mark_sample_class", lambda _, notebook, bar: chosen.append(notebook) or 1)
    assert not demo.run(Console(quiet=True))
    assert chosen == ["01-a", "02-b"]
