"""Show the class report in the terminal: tables of marks and of the class's misconceptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...judge.formatting import number
from .data import Answer, Assignment, ClassData, collect_class
from .html_page import counted, named, percent, students
from .similar_answers import similar_pairs
from .summary import Misconception, distribution, duration, misconceptions, progress, rates, time_spent

BLOCKS = " ▁▂▃▄▅▆▇█"
MAX_EXPLAINED = 10  # misconceptions shown with sentence and example; the HTML page shows all of them


# --- one notebook's marks, as data ------------------------------------------------------------------------------------


@dataclass
class Result:
    """One student's mark in one test cell."""

    student: str
    exercise: str
    earned: float
    points: float
    named: list[str] = field(default_factory=list)  # names of the mistakes
    reasons: list[str] = field(default_factory=list)  # sentences, for every lost mark


def collect(classroom: Path, notebook: str, db_url: str | None = None) -> list[Result]:
    """Return all results of a notebook: points from the gradebook, reasons from the marked notebooks.

    Raise NoClass if nothing was marked.
    """
    [assignment] = collect_class(classroom, [notebook], db_url).assignments
    return results(assignment)


def results(assignment: Assignment) -> list[Result]:
    return [_result(answer) for answer in assignment.answers if answer.kind != "written"]


def _result(answer: Answer) -> Result:
    result = Result(answer.student, answer.exercise, answer.earned, answer.points)
    if answer.kind == "exercise":
        result.named = [one.name for one in answer.diagnosed]
    result.reasons = [one.sentence for one in answer.diagnosed]
    if not result.reasons and answer.remark:
        result.reasons = [answer.remark]
    if not result.reasons:
        result.reasons = [line.message for line in answer.lines if line.passed is False][:1]
    return result


def marks_table(results: list[Result], notebook: str) -> Table:
    """Return a table of marks by student and exercise."""
    names = list(dict.fromkeys(result.exercise for result in results))
    best = {result.exercise: result.points for result in results}
    headings = [f"{name}\n/ {number(best[name])}" for name in names]
    rows = []
    for student in dict.fromkeys(result.student for result in results):
        own = {result.exercise: result.earned for result in results if result.student == student}
        rows.append(
            [student, *(number(own[name]) if name in own else "–" for name in names), number(sum(own.values()))]
        )
    return _table(f"{notebook}: marks", ["student"], [*headings, f"sum\n/ {number(sum(best.values()))}"], rows)


# --- the whole report -------------------------------------------------------------------------------------------------


def show(data: ClassData, console: Console) -> None:
    """Print the contents of the HTML page as tables."""
    for assignment in data.assignments:
        for table in _about(data, assignment):
            console.print(table)
    mistakes = misconceptions(data)
    if mistakes:
        console.print(_misconceptions(mistakes))
        for rank, one in enumerate(mistakes[:MAX_EXPLAINED], 1):
            console.print(_explained(rank, one), markup=False, highlight=False)
    if data.history is None:
        console.print("No history of markings was kept, so progress and time are not known.", highlight=False)
    if len(data.assignments) > 1:
        console.print(_totals(data))


def _about(data: ClassData, assignment: Assignment) -> Iterable[Table | str]:
    yield _sheets(data, assignment)
    spread = distribution(assignment)
    if spread is not None:
        highest = max(spread.bins)
        bars = "".join(BLOCKS[round(8 * count / highest)] for count in spread.bins)
        low, high = spread.quartiles
        middle = f"median {percent(spread.median)}, middle half {percent(low)} to {percent(high)}"
        yield f"  {escape(assignment.name)}: 0 % |{bars}| 100 %, {middle}\n"
    yield _rates(assignment)
    lost = [result for result in results(assignment) if result.earned < result.points]
    if lost:
        yield _reasons(lost, assignment.name)
    yield from _for_a_person(data, assignment)
    again = progress(data, assignment)
    if again:
        rows = [
            [data.called(one.student), " → ".join(percent(share) for share in one.shares), f"{100 * one.gain:+.0f}"]
            for one in again
        ]
        yield _table(f"{assignment.name}: progress over resubmissions", ["student", "marks"], ["gain"], rows)
    spent = time_spent(data, assignment)
    if spent:
        each = f"median {duration(spent.median)}, longest {duration(spent.longest)}"
        yield f"  {counted(spent.markings, 'marking')} took {duration(spent.seconds)} together; {each}\n"


def _sheets(data: ClassData, assignment: Assignment) -> Table:
    """Return a table of marks by student and exercise, with late penalties and points that wait for a person."""
    names = assignment.exercises
    best = {answer.exercise: answer.points for answer in assignment.answers}
    earned = {(answer.student, answer.exercise): answer for answer in assignment.answers}
    headings = [f"{name}\n/ {number(best[name])}" for name in names]
    headings += ["late", f"mark\n/ {number(assignment.points)}", "waiting\nfor a person"]
    rows = []
    for sheet in assignment.sheets:
        own = [earned.get((sheet.student, name)) for name in names]
        cells = ["–" if one is None else "?" if one.waits else number(one.earned) for one in own]
        ends = [f"−{number(sheet.penalty)}" if sheet.penalty else "", number(sheet.total), number(sheet.waiting)]
        rows.append([data.called(sheet.student), *cells, *ends[:2], ends[2] if sheet.waiting else ""])
    return _table(f"{assignment.name}: marks", ["student"], headings, rows)


def _rates(assignment: Assignment) -> Table:
    rows = [
        [
            "" if index else f"{row.exercise} ({row.answered} of {row.handed_in} answered)",
            check.title,
            f"{check.passed} of {check.asked}" + (f" ({check.unjudged} not judged)" if check.unjudged else ""),
            percent(check.share) if check.asked else "–",
        ]
        for row in rates(assignment)
        for index, check in enumerate(row.checks)
    ]
    return _table(f"{assignment.name}: who passed which check", ["exercise", "check"], ["passed", ""], rows)


def _reasons(lost: list[Result], notebook: str) -> Table:
    rows = [
        [
            result.student,
            result.exercise,
            f"{number(result.earned)} / {number(result.points)}",
            ", ".join(result.named) or "–",
            " ".join(result.reasons) or "see the feedback",
        ]
        for result in lost
    ]
    headings = ["student", "exercise", "mark", "mistake", "what the feedback says"]
    return _table(f"{notebook}: why marks were lost", headings, [], rows)


def _for_a_person(data: ClassData, assignment: Assignment) -> Iterable[Table | str]:
    for words, who in (
        ("not handed in", assignment.absent),
        ("handed in, not marked yet", assignment.unmarked),
        ("marked, but the marked notebook cannot be read", assignment.unreadable),
    ):
        if who:
            yield f"  {words}: {escape(', '.join(map(data.called, who)))}\n"
    if assignment.troubles:
        rows = [[data.called(one.student), one.where, one.what] for one in assignment.troubles]
        yield _table(f"{assignment.name}: what did not run", ["student", "where", "what happened"], [], rows)
    if assignment.signs:
        title = f"{assignment.name}: worth a look (signs of tampering, not proof; no mark depends on them)"
        rows = [
            [data.called(student), f"{sign.cell} {sign.name}".strip() if sign.cell else "–", sign.what, sign.line]
            for student, sign in assignment.signs
        ]
        yield _table(title, ["student", "code cell", "what it does", "line"], [], rows)
    pairs = similar_pairs(assignment)
    if pairs:
        title = f"{assignment.name}: similar solutions (far closer than this class's are; worth a look, not proof)"
        rows = [
            [*map(data.called, pair.students), ", ".join(pair.exercises), percent(pair.alike), str(pair.shared)]
            for pair in pairs
        ]
        yield _table(title, ["student", "and", "exercises"], ["alike", "tokens\nin common"], rows)


def _misconceptions(mistakes: list[Misconception]) -> Table:
    rows = [
        [
            str(one.students) if not index else "",
            one.name if not index else "",
            place.exercise,
            str(place.students),
            place.section or "–",
        ]
        for one in mistakes
        for index, place in enumerate(one.places)
    ]
    headings = ["students", "misconception", "exercise", "here", "section to revisit"]
    return _table("misconceptions in this class", headings, [], rows)


def _explained(rank: int, one: Misconception) -> str:
    """Return a misconception's sentences and example, as on the HTML page."""
    lines = [f"{rank}. {named(one.name)}: {counted(one.students, 'student')}"]
    lines += [f"   {place.exercise}: {place.sentence}" for place in one.places]
    return "\n".join([*lines, "", *(f"       {line}" for line in one.example.splitlines()), ""])


def _totals(data: ClassData) -> Table:
    sheets = {(sheet.student, a.name): sheet for a in data.assignments for sheet in a.sheets}
    rows = []
    for student in students(data):
        own = [sheets.get((student, assignment.name)) for assignment in data.assignments]
        marks = ["–" if sheet is None else number(sheet.total) for sheet in own]
        rows.append([data.called(student), *marks, number(sum(sheet.total for sheet in own if sheet))])
    headings = [f"{assignment.name}\n/ {number(assignment.points)}" for assignment in data.assignments]
    return _table("all assignments", ["student"], [*headings, "sum"], rows)


def _table(title: str, words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table with columns of words, then columns of numbers. Its text is escaped, not read as markup."""
    table = Table(title=escape(title), box=box.SIMPLE_HEAD)
    for heading in words:
        table.add_column(escape(heading), overflow="fold")
    for heading in numbers:
        table.add_column(escape(heading), justify="right", overflow="fold")
    if numbers:  # one line per student
        table.columns[0].no_wrap, table.columns[0].overflow, table.columns[0].max_width = True, "ellipsis", 40
    for row in rows:
        table.add_row(*map(escape, row))
    return table
