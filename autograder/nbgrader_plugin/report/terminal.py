"""Show the class report in the terminal: tables of marks and of the class's misconceptions."""

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...judge.formatting import number
from .data import Answer, Assignment, ClassData
from .html_page import counted, named, percent, students
from .similar_answers import similar_pairs
from .summary import Misconception, distribution, duration, misconceptions, progress, rates, time_spent

BLOCKS = " ▁▂▃▄▅▆▇█"
MAX_LOST = 6  # exercises named next to a mark
MAX_EXPLAINED = 10  # misconceptions shown with sentence and example; the HTML page shows all of them


def show(data: ClassData, console: Console) -> None:
    """Print the contents of the HTML page as tables."""
    for assignment in data.assignments:
        for table in _about(data, assignment):
            console.print(table)
    if mistakes := misconceptions(data):
        console.print(_misconceptions(mistakes))
    for rank, one in enumerate(mistakes[:MAX_EXPLAINED], 1):
        lines = [f"{rank}. {named(one.name)}: {counted(one.students, 'student')}"]
        lines += [f"   {occurrence.exercise}: {occurrence.sentence}" for occurrence in one.occurrences]
        lines += ["", *(f"       {line}" for line in one.example.splitlines()), ""]
        console.print("\n".join(lines), markup=False, highlight=False)
    if data.secret:
        console.print(data.secret, markup=False, highlight=False)
    if data.history is None:
        console.print("No history of markings was kept, so progress and time are not known.", highlight=False)
    if len(data.assignments) > 1:
        console.print(_totals(data))


def marks_table(assignment: Assignment) -> Table:
    """Return a table of what is marked automatically: each student's points, and where others were lost."""
    answers = [answer for answer in assignment.answers if answer.kind != "written"]
    best = sum({answer.exercise: answer.points for answer in answers}.values())
    rows = []
    for student in dict.fromkeys(answer.student for answer in answers):
        own = [answer for answer in answers if answer.student == student]
        rows.append([student, _lost(own), number(sum(answer.earned for answer in own))])
    return _table(f"{assignment.title}: marks", ["student", "points lost in"], _out_of({"mark": best}), rows)


def _lost(answers: Sequence[Answer]) -> str:
    lost = [one for one in answers if one.earned < one.points and not one.waits]
    if answers and all(one.refused for one in answers):
        return "all: the file could not be read"
    if lost and all(one.earned == 0 for one in answers):
        return "all"
    lost.sort(key=lambda one: one.earned - one.points)
    more = f", {len(lost) - MAX_LOST} more" if len(lost) > MAX_LOST else ""
    return ", ".join(f"{one.exercise} −{number(one.points - one.earned)}" for one in lost[:MAX_LOST]) + more


def _out_of(points: dict[str, float]) -> list[str]:
    return [f"{name}\n/ {number(best)}" for name, best in points.items()]


def _about(data: ClassData, assignment: Assignment) -> Iterator[Table | str]:
    yield _sheets(data, assignment)
    if spread := distribution(assignment):
        highest = max(spread.bins)
        bars = "".join(BLOCKS[round(8 * count / highest)] for count in spread.bins)
        low, high = spread.quartiles
        middle = f"median {percent(spread.median)}, middle half {percent(low)} to {percent(high)}"
        yield f"  {escape(assignment.name)}: 0 % |{bars}| 100 %, {middle}\n"
    yield _rates(assignment)
    lost = [one for one in assignment.answers if one.kind != "written" and one.answered and one.earned < one.points]
    if lost:
        headings = ["student", "exercise", "mark", "mistake", "what the feedback says"]
        yield _table(f"{assignment.name}: why marks were lost", headings, [], map(_reasons, lost))
    yield from _for_a_person(data, assignment)
    if again := progress(data, assignment):
        rows = [
            [data.called(one.student), " → ".join(map(percent, one.shares)), f"{100 * one.gain:+.0f}"] for one in again
        ]
        yield _table(f"{assignment.name}: progress over resubmissions", ["student", "marks"], ["gain"], rows)
    if spent := time_spent(data, assignment):
        each = f"median {duration(spent.median)}, longest {duration(spent.longest)}"
        yield f"  {counted(spent.markings, 'marking')} took {duration(spent.seconds)} together; {each}\n"


def _sheets(data: ClassData, assignment: Assignment) -> Table:
    rows, answers = [], assignment.by_student()
    for sheet in assignment.sheets:
        own = answers.get(sheet.student, [])
        late = f"−{number(sheet.penalty)}" if sheet.penalty else ""
        waiting = str(sheet.waiting or "")
        rows.append([data.called(sheet.student), _lost(own), late, number(sheet.total), waiting])
    headings = ["late", *_out_of({"mark": assignment.points}), "answers that wait\nfor a person"]
    return _table(f"{assignment.title}: marks", ["student", "points lost in"], headings, rows)


def _rates(assignment: Assignment) -> Table:
    rows = []
    for row in rates(assignment):
        first = [row.exercise, f"{row.answered} of {row.handed_in}"]
        for check in row.checks:
            passed = f"{check.passed} of {check.judged}" + (f" ({check.unjudged} not judged)" if check.unjudged else "")
            rows.append([*first, check.title, passed, percent(check.share) if check.judged else "–"])
            first = ["", ""]
    return _table(f"{assignment.name}: who passed which check", ["exercise", "answered", "check"], ["passed", ""], rows)


def _reasons(lost: Answer) -> list[str]:
    mark = f"{number(lost.earned)} / {number(lost.points)}"
    reasons = " ".join(lost.reasons) or "see the feedback"
    return [lost.student, lost.exercise, mark, ", ".join(lost.mistakes) or "–", reasons]


def _for_a_person(data: ClassData, assignment: Assignment) -> Iterator[Table | str]:
    for state, who in (
        ("not handed in", assignment.absent),
        ("handed in, not marked yet", assignment.unmarked),
        ("marked, but the marked notebook cannot be read", assignment.unreadable),
    ):
        if who:
            yield f"  {state}: {escape(', '.join(map(data.called, who)))}\n"
    if assignment.troubles:
        rows = [[data.called(one.student), one.where, one.what] for one in assignment.troubles]
        yield _table(f"{assignment.name}: what did not run", ["student", "where", "what happened"], [], rows)
    if assignment.signs:
        title = f"{assignment.name}: worth a look (signs, not proof: of tampering, and of answers learned by heart)"
        rows = [
            [data.called(student), f"{sign.cell} {sign.name}".strip() if sign.cell else "–", sign.what, sign.line]
            for student, sign in assignment.signs
        ]
        yield _table(title, ["student", "code cell", "what it does", "line"], [], rows)
    if pairs := similar_pairs(assignment):
        title = f"{assignment.name}: similar solutions (far closer than this class's are; worth a look, not proof)"
        rows = [
            [*map(data.called, pair.students), ", ".join(pair.exercises), percent(pair.alike), str(pair.shared)]
            for pair in pairs
        ]
        yield _table(title, ["student", "and", "exercises"], ["alike", "tokens\nin common"], rows)


def _misconceptions(mistakes: list[Misconception]) -> Table:
    rows = []
    for one in mistakes:
        for rank, occurrence in enumerate(one.occurrences):
            first = ["", ""] if rank else [str(one.students), one.name]
            rows.append([*first, occurrence.exercise, str(occurrence.students), occurrence.section or "–"])
    headings = ["students", "misconception", "exercise", "here", "section to revisit"]
    return _table("misconceptions in this class", headings, [], rows)


def _totals(data: ClassData) -> Table:
    sheets = {(sheet.student, a.name): sheet for a in data.assignments for sheet in a.sheets}
    rows = []
    for student in students(data):
        own = [sheets.get((student, assignment.name)) for assignment in data.assignments]
        marks = ["–" if sheet is None else number(sheet.total) for sheet in own]
        required = [sheet for sheet, a in zip(own, data.assignments, strict=True) if sheet and not a.optional]
        rows.append([data.called(student), *marks, number(sum(sheet.total for sheet in required))])
    headings = _out_of({assignment.title: assignment.points for assignment in data.assignments})
    return _table("all assignments", ["student"], [*headings, "sum"], rows)


def _table(title: str, texts: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table with columns of text, then columns of numbers. Its text is escaped, not read as markup."""
    table = Table(title=escape(title), box=box.SIMPLE_HEAD)
    for heading in texts:
        table.add_column(escape(heading), overflow="fold")
    for heading in numbers:
        table.add_column(escape(heading), justify="right", overflow="fold")
    if numbers:  # one line per student
        table.columns[0].no_wrap, table.columns[0].overflow, table.columns[0].max_width = True, "ellipsis", 40
    for row in rows:
        table.add_row(*map(escape, row))
    return table
