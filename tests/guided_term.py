"""A term by the instructor's guide, command by command: two students hand in, and their written answers get points."""

import csv
import re
import shlex
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from class_copies import BEST, FULL, NAME, put
from class_copies import notebook as handed_in
from conftest import ROOT
from nbgrader.api import Gradebook

from autograder.spec.course import exercise

INSTRUCTORS = ROOT / "docs" / "instructors.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # commands stand in those without a language


def fenced(page: Path, language: str) -> list[str]:
    return [text for named, text in FENCE.findall(page.read_text("utf-8")) if named == language]


def commands(page: Path) -> list[list[str]]:
    """Return the words of each command in the fences of a page, without comments and variables set for it."""
    lines = "".join(fenced(page, "")).splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [[word for word in one if not re.match(r"[A-Z_]+=", word)] for one in words if one]


def late_plugin() -> str:
    """Return what the guide puts into nbgrader's configuration."""
    [line] = re.findall(r"`c\.AssignLatePenalties\.plugin_class = \"([^\"]+)\"`", INSTRUCTORS.read_text("utf-8"))
    return line


def write_late_days(term: Path) -> None:
    [code] = fenced(INSTRUCTORS, "python")
    (term / "late.py").write_text(code)
    with (term / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.AssignLatePenalties.plugin_class = '{late_plugin()}'\n")


def follow(term: Path, run: Callable[..., str], left_out: Iterable[str]) -> dict[str, str]:
    """Give the guide's commands in their order, but for these; return what each printed."""
    book, output = term / "classroom", {}
    for words in commands(INSTRUCTORS):
        if words[0] == "cp":
            shutil.copy(term / words[1], term / words[2])
        if words[0] in ("autograder", "nbgrader") and words[1] not in left_out:
            output[" ".join(words)] = run(*words)
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
    return output


def came_out_right(book: Path, output: dict[str, str]) -> None:
    """Fail unless the commands printed what they should, and the marks are what the guide says."""
    assert [f"{NAME} (due: 2027-02-01 23:59:00)" in one for one in output.values()].count(True) == 1
    assert "There are 0 students" in output["nbgrader db student list"]
    assert "3 students are in" in output["autograder class-list"]
    assert all(
        len(text.splitlines()) > 10 for words, text in output.items() if words.split()[1] in ("plan", "mistakes")
    )
    assert "2 marked" in output[f"autograder grade {NAME}"]
    assert "2 marked" in output[f"autograder grade {NAME} --force"]
    assert "1 marked" in output[f"autograder grade {NAME} --student amina --force"]
    tried = [text.splitlines()[0] for words, text in output.items() if words.startswith("autograder try")]
    assert tried == ["softmax: 4 of 4 points", "q5_1: 1 of 1 points"]
    with (book / "grades.csv").open() as file:
        marks = {row["student_id"]: row for row in csv.DictReader(file)}
    assert float(marks["amina"]["score"]) == FULL + 2.5  # she has more free days
    raw = FULL + 2.5 - exercise("softmax").points + 2.25  # what the guide's table says of this mistake
    assert float(marks["ngozi"]["raw_score"]) == raw
    assert float(marks["ngozi"]["late_submission_penalty"]) == pytest.approx(0.2 * raw)  # the person's points, too
    assert "ngozi" not in (book / "class.html").read_text("utf-8")
    assert "ngozi" in (book / "report.html").read_text("utf-8")
    assert len((book / "checks.csv").read_text("utf-8").splitlines()) > 50
    assert "Bello" in (book / "grades-canvas.csv").read_text("utf-8")
