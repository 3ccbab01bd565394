"""Serve a page on which people mark all answers to a question by the items of its rubric, each with its own key."""

import functools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from nbgrader.server_extensions.formgrader.base import BaseApiHandler, check_notebook_dir, check_xsrf
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from tornado.web import HTTPError, authenticated

from ...judge.formatting import number
from ..feedback import rendering
from ..feedback.budget import Budget
from . import answer_marks
from .answer_marks import Answer, Mark, Question, Seen
from .rubric_items import SAME, Item, comment_of, items_of, read, total
from .written_answers import Rubric, rubrics

MAX_NOTE = 20_000  # characters
EMPTY = Markup("<p><em>There is no text.</em></p>")
PICTURE = re.compile(r'<img [^<>]*?\bsrc="(?!data:)')
CHANGED = "The rubric has changed since this page was opened. Nothing was saved: reload the page."
BUSY = "The gradebook is busy, and nothing was saved. Try again."
OTHERS = "Somebody else has marked meanwhile, and nothing was saved."
GONE = "Some of these answers have been marked anew or are gone. Nothing was saved: reload the page."


@dataclass(frozen=True)
class Sheet:
    """A question with its rubric as the solution has it now."""

    question: Question
    rubric: Rubric | None

    @functools.cached_property
    def items(self) -> tuple[Item, ...]:
        return items_of(self.rubric.text, self.question.points) if self.rubric else ()

    @property
    def version(self) -> str:
        return json.dumps([asdict(item) for item in self.items])

    def row(self, answer: Answer) -> dict[str, Any]:
        """Return what the page's script knows of an answer."""
        reading = read(answer.seen.comment or "", self.items)
        return {
            "id": answer.grade,
            "submission": answer.submission,
            "student": answer.student,
            "seen": asdict(answer.seen),
            "auto": answer.auto,
            "waits": answer.waits,
            "levels": reading.levels,
            "note": reading.note,
            "byHand": answer.seen.points is not None and not self.as_lines(answer),
            "change": self.change(answer) is not None,
            "reason": reading.reason,
        }

    def as_lines(self, answer: Answer) -> bool:
        """Return True if an answer's points are the sum of its comment's lines."""
        reading, given = read(answer.seen.comment or "", self.items), answer.seen.points
        some = reading.levels is not None or bool(reading.change or reading.reason)
        return some and given is not None and abs(min(reading.earned, self.question.points) - given) < SAME

    def change(self, answer: Answer) -> Mark | None:
        """Return an answer's mark by the rubric as it is now, if its lines are of an earlier one."""
        reading = read(answer.seen.comment or "", self.items)
        if not reading.change:
            return None
        points = answer.seen.points  # that somebody has typed stay
        if self.as_lines(answer):
            points = total(self.items, reading.changed_levels, self.question.points)
        return Mark(answer, points, reading.change)

    def mark(self, answer: Answer, levels: Sequence[float] | None, note: str) -> Mark:
        """Return an answer's mark by these shares of the items; None keeps its points and lines."""
        if levels is not None:
            return Mark(answer, total(self.items, levels, self.question.points), comment_of(self.items, levels, note))
        reading = read(answer.seen.comment or "", self.items)
        if reading.levels is not None:
            note = comment_of(self.items, reading.levels, note)
        return Mark(answer, answer.seen.points, note.strip() or None)


def sheet_of(engine: Engine, course: Any, assignment: str, notebook: str, name: str) -> Sheet | None:
    """Return a question with its rubric; None if the gradebook has no such written answer."""
    found = answer_marks.question(engine, course, assignment, notebook, name)
    if found is None:
        return None
    solution = Path(course.format_path(course.source_directory, ".", assignment), f"{notebook}.ipynb")
    return Sheet(found, rubrics(solution).get(name))


class _Sheets(BaseApiHandler):
    def sheet(self, *names: str) -> Sheet:
        found = sheet_of(self.gradebook.engine, self.coursedir, *names)
        if found is None:
            raise HTTPError(404)
        return found


class RubricPage(_Sheets):
    def initialize(self, nonce: Callable[[], str]) -> None:
        self.nonce = nonce

    @authenticated
    @check_xsrf  # type: ignore[untyped-decorator]
    @check_notebook_dir  # type: ignore[untyped-decorator]
    def get(self, assignment: str, notebook: str, name: str) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(page(self.sheet(assignment, notebook, name), self.base_url, self.nonce()))


class SaveMarks(_Sheets):
    @authenticated
    @check_xsrf  # type: ignore[untyped-decorator]
    @check_notebook_dir  # type: ignore[untyped-decorator]
    def post(self, *names: str) -> None:
        status, reply = save(lambda: self.sheet(*names), self.gradebook.engine, self.get_json_body())
        self.gradebook.db.expire_all()  # nbgrader's handlers read the rows anew
        self.set_status(status)
        self.write(reply)


def save(load: Callable[[], Sheet], engine: Engine, body: Any) -> tuple[int, dict[str, Any]]:
    """Save the marks that a request asks for; return the status and content of the reply.

    `load` reads the question as it is now. All marks are saved, or none.
    """
    try:
        for _ in range(2):  # once more if another process was faster between look and write
            sheet = load()
            status, reply, marks = _marks(sheet, body)
            if status != 200:
                return status, reply
            if answer_marks.save(engine, marks):
                saved = {answer.grade: answer for answer in load().question.answers}
                rows = [sheet.row(saved[mark.answer.grade]) for mark in marks if mark.answer.grade in saved]
                return 200, {"answers": rows}
    except OperationalError:
        pass
    return 503, {"sentence": BUSY}


def _marks(sheet: Sheet, body: Any) -> tuple[int, dict[str, Any], list[Mark]]:
    """Return the marks that a request asks for; or a status and a reply that says why there are none."""
    try:
        request = Request.of(body, len(sheet.items))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        return 400, {"sentence": f"Not saved: {error}."}, []
    if request.version != sheet.version:
        return 409, {"sentence": CHANGED}, []
    found = {answer.grade: answer for answer in sheet.question.answers}
    if any(key not in found or found[key].seen.digest != seen.digest for key, seen in request.seen.items()):
        return 409, {"sentence": GONE}, []
    answers = [found[key] for key in request.seen]
    if others := [answer for answer in answers if answer.seen != request.seen[answer.grade]]:
        return 409, {"sentence": OTHERS, "answers": [sheet.row(answer) for answer in others]}, []
    if request.change:
        return 200, {}, [mark for answer in answers if (mark := sheet.change(answer)) is not None]
    return 200, {}, [sheet.mark(answer, request.levels, request.note) for answer in answers]


@dataclass(frozen=True)
class Request:
    version: str
    seen: dict[str, Seen]
    change: bool
    levels: list[float] | None
    note: str

    @classmethod
    def of(cls, body: Any, items: int) -> "Request":
        """Read a request's body; raise an error for one that the page's script does not send."""
        seen = {row["id"]: Seen(**row["seen"]) for row in body["answers"]}
        levels, note = body.get("levels"), body.get("note", "")
        if levels is not None and not all(isinstance(one, (int, float)) and 0 <= one <= 1 for one in levels):
            raise ValueError("a share of an item is a number from 0 to 1")
        if not isinstance(note, str) or len(note) > MAX_NOTE:
            raise ValueError(f"a comment has at most {MAX_NOTE:,} characters")
        version = str(body["rubric"])
        if levels is not None and len(levels) != items:
            version = ""  # by another rubric
        return cls(version, seen, bool(body.get("change")), levels, note)


def page(sheet: Sheet, base_url: str, nonce: str) -> str:
    """Return the page as HTML. Students' text is cleaned as on feedback pages."""
    asked, budget = sheet.question, Budget()
    groups = [
        {"answers": [sheet.row(answer) for answer in group], "empty": asked.is_empty(group[0])}
        for group in asked.groups()
    ]
    shown = functools.partial(_text, f"{base_url}/formgrader/submissions/")
    texts = [budget.piece(functools.partial(shown, group[0]), group[0].source) for group in asked.groups()]
    changed = [(answer, mark) for answer in asked.answers if (mark := sheet.change(answer)) is not None]
    differences = dict.fromkeys(
        sentence for answer, _ in changed for sentence in read(answer.seen.comment or "", sheet.items).differences
    )
    stay = [(answer, reason) for answer in asked.answers if (reason := _reason(sheet, answer))]
    formgrader = f"{base_url}/formgrader"
    here = "/".join(quote(part, safe="") for part in (asked.assignment, asked.notebook, asked.name))
    data = {
        "groups": groups,
        "items": [{"points": item.points} for item in sheet.items],
        "points": asked.points,
        "rubric": sheet.version,
        "save": f"{formgrader}/api/written/{here}",
        "submissions": f"{formgrader}/submissions/",
    }
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"points": number, "markdown": rendering.markdown, "inline": _inline, "part": _quoted}
    return environment.get_template("rubric_page.html.j2").render(
        asked=asked,
        items=sheet.items,
        worth=round(sum(item.points for item in sheet.items), 2),
        question=sheet.rubric.question.strip() if sheet.rubric else "",
        samples=sheet.rubric.samples if sheet.rubric else (),
        texts=texts,
        notices=budget.sentences,
        changed=changed,
        differences=list(differences),
        stay=stay,
        data=data,
        formgrader=formgrader,
        nonce=nonce,
        style=Markup((folder / "rubric_page.css").read_text("utf-8")),
        script=Markup((folder / "rubric_page.js").read_text("utf-8")),
    )


def links(engine: Engine, formgrader: str, assignment: str, notebook: str) -> Markup:
    """Return links to the pages of a notebook's written answers, for nbgrader's list of its submissions."""
    found = answer_marks.questions(engine, assignment, notebook)
    if not found:
        return Markup()
    entry = Markup('<li><a href="{}/written/{}/{}/{}">{}</a>: {} to mark</li>')
    parts = (formgrader, _quoted(assignment), _quoted(notebook))
    shown = Markup("").join(entry.format(*parts, _quoted(name), name, waiting) for name, waiting in found)
    return Markup('<p>Mark written answers by rubric, with the keyboard:</p><ul class="written">{}</ul>').format(shown)


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _reason(sheet: Sheet, answer: Answer) -> str:
    """Return why an answer's mark cannot be taken over into the rubric as it is now; "" if it can."""
    return read(answer.seen.comment or "", sheet.items).reason


def _text(submissions: str, answer: Answer) -> Markup:
    if answer.kind == "code":
        return rendering.code(answer.source)
    if not answer.source.strip():
        return EMPTY
    cleaned = str(rendering.markdown(answer.source, answer.attachments))  # its addresses are relative to the notebook
    return Markup(PICTURE.sub(rf"\g<0>{submissions}{answer.submission}/", cleaned))


def _inline(text: str) -> Markup:
    """Return one line of Markdown without the paragraph around it, for a button."""
    return Markup(rendering.markdown(text).strip().removeprefix("<p>").removesuffix("</p>"))
