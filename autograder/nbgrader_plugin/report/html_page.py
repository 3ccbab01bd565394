"""Write the class report as one self-contained HTML page: it opens anywhere, offline, and prints."""

import re
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...judge.formatting import number, prose
from .data import ClassData
from .similar_answers import similar_pairs
from .summary import distribution, duration, misconceptions, progress, rates, time_spent

REPORT = "autograder report"  # the page's generator, which marks it as written by this program


def page(data: ClassData, anonymous: bool = False, made: datetime | None = None) -> str:
    """Return the page as HTML. An anonymous page names no student, so that the class may see it."""
    here = data.assignments
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
    return environment.get_template("class_report.html.j2").render(
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
        progress={assignment.name: progress(data, assignment) for assignment in here},
        times={assignment.name: time_spent(data, assignment) for assignment in here},
        pairs={assignment.name: similar_pairs(assignment) for assignment in here},
    )


def students(data: ClassData) -> list[str]:
    return sorted({*data.names, *(sheet.student for assignment in data.assignments for sheet in assignment.sheets)})


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def named(mistake: str) -> str:
    """Return a mistake's name as a heading: underscores become spaces, except before a question's number."""
    return re.sub(r"_(?!\d)", " ", mistake)
