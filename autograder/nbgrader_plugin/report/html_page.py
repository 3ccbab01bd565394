"""Write the class report, and a page for each student, as self-contained HTML: opens anywhere, offline."""

import functools
import re
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...files import only_for_owner, refuse_another, write_private
from ...judge.formatting import number, prose
from ..privacy import groupshared
from .data import ClassData
from .items import EASY, FEWEST, HARD, items
from .similar_answers import similar_pairs
from .student import student_page
from .summary import distribution, duration, misconceptions, progress, rates, time_spent

REPORT = "autograder report"  # the page's generator, which marks it as written by this program


def page(data: ClassData, anonymous: bool = False, made: datetime | None = None) -> str:
    """Return the page as HTML. An anonymous page names no student, so that the class may see it."""
    here = data.assignments
    return (
        _templates()
        .get_template("class_report.html.j2")
        .render(
            data=data,
            generator=REPORT,
            anonymous=anonymous,
            made=made or datetime.now(),
            students=students(data),
            marked=len({sheet.student for assignment in here for sheet in assignment.sheets}),
            sheets={assignment.name: {sheet.student: sheet for sheet in assignment.sheets} for assignment in here},
            spreads={assignment.name: distribution(assignment) for assignment in here},
            rates={assignment.name: rates(assignment) for assignment in here},
            mistakes=misconceptions(data),
            items={assignment.name: items(assignment) for assignment in here},
            easy=EASY,
            hard=HARD,
            fewest=FEWEST,
            progress={assignment.name: progress(data, assignment) for assignment in here},
            times={assignment.name: time_spent(data, assignment) for assignment in here},
            pairs={assignment.name: similar_pairs(assignment) for assignment in here},
        )
    )


def page_of_student(data: ClassData, student: str) -> str:
    """Return a student's own page as HTML."""
    return (
        _templates()
        .get_template("student_page.html.j2")
        .render(
            page=student_page(data, student),
            called=data.called(student),
            title=data.title,
            generator=REPORT,
            made=datetime.now(),
        )
    )


def write_student_pages(data: ClassData, folder: Path) -> int:
    """Write a page for each student with marks; return their number. Raise WouldOverwrite before the first one."""
    marked = sorted({sheet.student for assignment in data.assignments for sheet in assignment.sheets})
    files = {student: folder / f"{student.replace('/', '_')}.html" for student in marked}
    for path in files.values():
        refuse_another(path, REPORT, "page of ours")
    with only_for_owner(groupshared()):
        folder.mkdir(parents=True, exist_ok=True)
    for student, path in files.items():
        write_private(path, page_of_student(data, student).encode(), groupshared())
    return len(files)


@functools.cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {
        "percent": percent,
        "counted": counted,
        "named": named,
        "points": number,
        "duration": duration,
        "prose": lambda text: Markup(prose(text)),
        "bin_of": lambda index: f"{10 * index} to {10 * index + 10} %",
    }
    return environment


def students(data: ClassData) -> list[str]:
    return sorted({*data.names, *(sheet.student for assignment in data.assignments for sheet in assignment.sheets)})


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def named(mistake: str) -> str:
    """Return a mistake's name as a heading: underscores become spaces, except before a question's number."""
    return re.sub(r"_(?!\d)", " ", mistake)
