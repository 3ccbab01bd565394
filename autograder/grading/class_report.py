"""Who earned what, and which misconceptions a class holds: from the gradebook and the marked notebooks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..judge.report import number
from .marker import verdict_in
from .noticed import Noticed, kept


@dataclass
class Result:
    """One student's mark in one test cell."""

    student: str
    exercise: str
    earned: float
    points: float
    named: list[str] = field(default_factory=list)  # names of the mistakes
    reasons: list[str] = field(default_factory=list)  # sentences, for every lost mark


def collect(classroom: Path, notebook: str) -> list[Result]:
    """All results of a notebook. The points are the gradebook's; the reasons come from the marked notebooks."""
    results = []
    with Gradebook(f"sqlite:///{classroom}/gradebook.db?timeout=60") as gradebook:
        for submission in gradebook.assignment_submissions(notebook):
            [marked] = submission.notebooks
            verdicts = _verdicts(classroom / "autograded" / submission.student.id / notebook / f"{notebook}.ipynb")
            for grade in marked.grades:
                verdict = verdicts.get(grade.name)
                if verdict is not None and grade.auto_score is not None:
                    results.append(_result(submission.student.id, verdict, float(grade.auto_score), grade.max_score))
    return results


def collect_noticed(classroom: Path, notebook: str) -> dict[str, list[Noticed]]:
    """By student: signs of attempts to get around the marking. None of them earned anything; look before you judge."""
    result = {}
    for path in sorted(classroom.glob(f"autograded/*/{notebook}/{notebook}.ipynb")):
        found = kept(nbformat.read(path, as_version=4))
        if found:
            result[path.parts[-3]] = found
    return result


def show_noticed(found: dict[str, list[Noticed]], notebook: str, console: Console) -> None:
    """A table of the cells that an instructor may want to look at."""
    if not found:
        return
    table = Table(title=f"{notebook}: worth a look (signs, not proof; no mark depends on them)", box=box.SIMPLE_HEAD)
    for heading in ("student", "code cell", "what it does", "line"):
        table.add_column(heading)
    for student, signs in found.items():
        for one in signs:
            cell = f"{one.cell} {one.name}".strip() if one.cell else "–"
            table.add_row(student, cell, escape(one.what), escape(one.line))
    console.print(table)


def _verdicts(path: Path) -> dict[str, dict]:
    cells = nbformat.read(path, as_version=4).cells if path.is_file() else []
    found = {cell.metadata.get("nbgrader", {}).get("grade_id"): verdict_in(cell) for cell in cells}
    return {name: verdict for name, verdict in found.items() if verdict}


def _result(student: str, verdict: dict, earned: float, points: float) -> Result:
    result = Result(student, verdict["exercise"], earned, float(points))
    result.named = [diagnosis["mistake"] for diagnosis in verdict["diagnoses"]]
    result.reasons = [diagnosis["sentence"] for diagnosis in verdict["diagnoses"]]
    if not result.reasons and verdict["remark"]:
        result.reasons = [verdict["remark"]]
    if not result.reasons:
        result.reasons = [line["message"] for line in verdict["lines"] if not line["passed"]][:1]
    return result


def show(results: list[Result], notebook: str, console: Console) -> None:
    """Two tables: marks by student and exercise, and why each mark was lost."""
    console.print(marks_table(results, notebook))
    lost = [result for result in results if result.earned < result.points]
    if lost:
        console.print(_reasons(lost, notebook))
        console.print(_misconceptions(lost, notebook))


def marks_table(results: list[Result], notebook: str) -> Table:
    """Marks by student and exercise."""
    names = list(dict.fromkeys(result.exercise for result in results))
    table = Table(title=f"{notebook}: marks", box=box.SIMPLE_HEAD)
    table.add_column("student")
    best = {result.exercise: result.points for result in results}
    for name in names:
        table.add_column(f"{name}\n/ {number(best[name])}", justify="right")
    table.add_column(f"sum\n/ {number(sum(best.values()))}", justify="right")
    for student in dict.fromkeys(result.student for result in results):
        own = {result.exercise: result.earned for result in results if result.student == student}
        table.add_row(
            student, *(number(own[name]) if name in own else "–" for name in names), number(sum(own.values()))
        )
    return table


def _reasons(lost: list[Result], notebook: str) -> Table:
    table = Table(title=f"{notebook}: why marks were lost", box=box.SIMPLE_HEAD)
    for heading in ("student", "exercise", "mark", "mistake", "what the feedback says"):
        table.add_column(heading, justify="right" if heading == "mark" else "left")
    for result in lost:
        mark = f"{number(result.earned)} / {number(result.points)}"
        reason = " ".join(result.reasons) or "see the feedback"
        table.add_row(result.student, result.exercise, mark, ", ".join(result.named) or "–", reason)
    return table


def _misconceptions(lost: list[Result], notebook: str) -> Table:
    counts = Counter((result.exercise, name) for result in lost for name in result.named)
    table = Table(title=f"{notebook}: misconceptions in this class", box=box.SIMPLE_HEAD)
    table.add_column("students", justify="right")
    table.add_column("exercise")
    table.add_column("mistake")
    for (exercise, name), count in counts.most_common():
        table.add_row(str(count), exercise, name)
    return table
