"""Collect a feedback page's content: the mark, a row for each exercise, next steps, cells not run; the notebook."""

import functools
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from markupsafe import Markup
from nbformat import NotebookNode
from nbgrader.utils import is_solution

from ...judge.formatting import number, prose
from ...spec.course import course, notebooks
from ...spec.messages import UNANSWERED
from ..intake.repair import KEY, PROVIDED
from ..marking import own_tests
from ..marking.notices import SKIPPED, ending_in, notice_in, refusal, verdict_in
from ..release.released_notebook import HEADING, Released, Spot, by_headings, without_space
from ..release.student_version import NAME
from . import rendering
from .budget import Budget

NOTHING = Markup()
NO_COMMENT = "No response."  # nbgrader's own comment on a written answer that is unchanged


@dataclass
class Row:
    """The row of one exercise at the top of the page."""

    title: Markup
    anchor: str
    earned: float
    points: float
    state: str  # "right", "partly", "wrong", "unanswered" or "waits"
    says: list[Markup] = field(default_factory=list)
    section: Markup = NOTHING  # the section to reread
    section_anchor: str = ""  # empty if the student removed that heading


@dataclass
class Part:
    """One part of the notebook, in the notebook's order."""

    kind: str  # "heading", "provided", "answer", "verdict" or "own"
    anchor: str = ""
    label: str = ""
    body: Markup = NOTHING
    folded: Markup = NOTHING  # content of a fold after the body
    fold: str = ""  # the fold's label
    comment: Markup = NOTHING
    mark: str = ""
    right: bool = False


def page(notebook: NotebookNode, about: dict[str, Any], released: Released, budget: Budget) -> dict[str, Any]:
    """Return a page's content, by its template's names. `about` is nbgrader's, with the mark from `feedback.marks`."""
    writer = _Writer(released, budget)
    notices = [cell for cell in notebook.cells if cell.metadata.get(KEY) == "notice"]
    writer.write([cell for cell in notebook.cells if cell.metadata.get(KEY) != "notice"])
    order = {name: index for index, name in enumerate(released.spots)}
    rows = [row for _, row in sorted(writer.rows.items(), key=lambda item: order.get(item[0], len(order)))]
    for row in rows:
        row.section_anchor = writer.anchors.get(str(row.section), "")
    name, student = about.get("student_name", ""), about.get("student", "")
    return {
        "course": course().title if about.get("assignment") in notebooks() else about.get("course", ""),
        "title": in_line(released.title or about["notebook"]),
        "student": f"{name} ({student})" if name and student else name or student,
        "earned": about["score"],
        "points": about["max_score"],
        "late": about["late_penalty"],
        "rows": rows,
        "waiting": [row for row in rows if row.state == "waits"],
        "to_fix": [row for row in rows if row.state in ("partly", "wrong")],
        "to_answer": [row for row in rows if row.state == "unanswered"],
        "unread": refusal(notices) is not None,
        "notice": Markup().join(map(rendering.markdown, [*(cell.source for cell in notices), *budget.sentences])),
        "parts": writer.parts,
        "stopped": writer.stopped,
        "skipped": writer.skipped,
        "next_notebook": dict(pairwise(notebooks())).get(about.get("assignment", ""), ""),
    }


def in_line(heading: str) -> Markup:
    """Return the markup of a heading, with its code and formulas."""
    return Markup(re.sub(r"^<p>|</p>\s*$", "", str(rendering.markdown(heading.replace(". ", "\\. ", 1))).strip()))


def _messages(verdict: dict[str, Any]) -> list[Markup]:
    """Return messages for the student: the remark, else the named mistakes, else the first failed line."""
    if verdict.get("remark"):
        return [Markup(prose(verdict["remark"]))]
    named = [one["sentence"] for one in verdict.get("diagnoses", [])]
    if not named:
        failed = [line for line in verdict.get("lines", []) if not line["passed"] and line.get("judged", True)]
        named = [f"{line['title']}: {line['message']}" if line.get("message") else line["title"] for line in failed[:1]]
    return [Markup(prose(sentence)) for sentence in dict.fromkeys(named)]


def _row(cell: NotebookNode, name: str, spot: Spot, untouched: bool) -> Row:
    graded = cell.metadata.nbgrader
    earned, points = graded.get("score") or 0.0, graded.get("points") or 0.0
    verdict = verdict_in(cell) or {}
    row = Row(in_line(spot.title), f"answer-{name}", earned, points, "wrong", section=in_line(spot.section))
    undecided = not points and (graded.get("waits") or untouched or own_tests.reasons(cell))
    if earned >= points and not undecided:
        row.state = "right"
    elif graded.get("waits") and not untouched:
        row.state, row.says = "waits", [Markup("Read by a person; the points come later.")]
    elif verdict.get("remark") == UNANSWERED or (untouched and not verdict):
        row.state, row.says = "unanswered", [Markup("Not answered yet.")]
    else:
        row.state, row.says = "partly" if earned else "wrong", _messages(verdict) if verdict else _test_messages(cell)
    return row


def _test_messages(cell: NotebookNode) -> list[Markup]:
    """Return why an instructor's own test earned less than its points, as the class report does."""
    if found := own_tests.reasons(cell):
        return [Markup("{}").format(line) for line in found]
    return [Markup("A part of it.")] if cell.metadata.nbgrader.get("score") else []


class _Writer:
    def __init__(self, released: Released, budget: Budget) -> None:
        self.released, self.budget = released, budget
        self.parts: list[Part] = []
        self.rows: dict[str, Row] = {}
        self.stopped: list[tuple[str, str, str]] = []  # anchor, name and reason of cells that did not run to their end
        self.anchors: dict[str, str] = {}  # anchors of headings, by the headings' markup
        self.skipped = 0
        self._texts = self._codes = 0  # cells in the open fold
        self._title = Markup()  # last heading shown

    def write(self, cells: list[NotebookNode]) -> None:
        for index, cell in enumerate(cells):
            graded = cell.metadata.get("nbgrader", {})
            if graded.get("solution") or graded.get("task"):
                self._answer(cell, graded)
            elif graded.get("grade"):
                self._test(cell, graded)
            elif cell.cell_type == "markdown" and without_space(cell.source) in self.released.texts:
                self._provided_text(cell, cells[index + 1 :])
            elif cell.cell_type == "code" and PROVIDED in cell.metadata.get("tags", []) and not _problem(cell):
                if graded.get("grade_id") != NAME:  # the cell that checks the installation is not shown
                    self._provided_code(cell)
            else:
                self._own(cell, index)

    def _spot(self, name: str) -> Spot:
        return self.released.spots.get(name, Spot(name, ""))

    def _answer(self, cell: NotebookNode, graded: dict[str, Any]) -> None:
        name = graded["grade_id"]
        untouched = cell.source.strip() == self.released.answers.get(name, "").strip()
        text = str(graded.get("comment") or "")
        comment = rendering.markdown(text) if text not in ("", NO_COMMENT) else Markup()
        title = in_line(self._spot(name).title)
        if not self._title.startswith(title):
            self.parts.append(Part("heading", body=Markup("<h4>{}</h4>").format(title)))
            self._title = title
        label = "The task" if graded.get("task") else "Not answered" if untouched else "Your answer"
        if not cell.source.strip() and cell.cell_type == "code":
            label = "No code in this cell"
        part = Part("answer", f"answer-{name}", label, self._shown(cell), comment=comment)
        if graded.get("grade") or graded.get("task"):
            self.rows[name] = row = _row(cell, name, self._spot(name), untouched)
            part.mark = f"{number(row.earned)} of {number(row.points)} points"
            if row.state == "waits":
                part.mark = f"{number(row.points)} points, not read yet"
            elif comment:
                row.says = [in_line(text.strip().partition("\n")[0])]
        self.parts.append(part)
        if why := _problem(cell):
            self.stopped.append((part.anchor, title.striptags(), why))

    def _test(self, cell: NotebookNode, graded: dict[str, Any]) -> None:
        verdict, name = verdict_in(cell), graded["grade_id"].removeprefix("test_")
        if verdict:
            name = verdict["exercise"]
        elif name not in self.released.spots or name in self.rows:
            name = graded["grade_id"]
        row = _row(cell, name, self._spot(name), False)
        self.rows[name if name not in self.rows else graded["grade_id"]] = row
        if not any(part.anchor == row.anchor for part in self.parts):
            row.anchor = f"verdict-{graded['grade_id']}"
        mark = f"{number(row.earned)} of {number(row.points)} points"
        part = Part("verdict", f"verdict-{graded['grade_id']}", "What was found", self._outputs(cell), mark=mark)
        part.right = row.state == "right"
        if not part.right:
            part.folded, part.fold = rendering.code(cell.source), "The tests that came with the notebook"
        self.parts.append(part)

    def _provided_text(self, cell: NotebookNode, rest: list[NotebookNode]) -> None:
        """Show the headings of sections and exercises; fold the text below them."""
        pieces = by_headings(cell.source)
        for position, piece in enumerate(pieces, 1):
            heading = HEADING.match(piece)
            level = len(heading[1]) if heading else 0
            if heading and (level == 2 or (level > 2 and position == len(pieces) and _leads_to_an_answer(rest))):
                shown = rendering.markdown(heading[0])
                anchor = re.search(r' id="([^"]*)"', shown)
                self.parts.append(Part("heading", body=shown))
                self._title = in_line(heading[2])
                self.anchors[str(self._title)] = anchor[1] if anchor else ""
                piece = piece[heading.end() :]
            if piece.strip():
                self._fold(self._text(piece.strip("\n"), cell.get("attachments")), text=True)

    def _provided_code(self, cell: NotebookNode) -> None:
        skipped = any(notice_in(output) == SKIPPED for output in cell.outputs)
        self.skipped += skipped
        self._fold(self._code(cell) if skipped else self._shown(cell), text=False)

    def _fold(self, body: Markup, text: bool) -> None:
        if not self.parts or self.parts[-1].kind != "provided":
            self.parts.append(Part("provided"))
            self._texts = self._codes = 0
        self._texts, self._codes = self._texts + text, self._codes + (not text)
        cells = f"{self._codes} {'cell' if self._codes == 1 else 'cells'} of code" if self._codes else ""
        self.parts[-1].fold = "The course’s " + " and ".join(filter(None, ["text" if self._texts else "", cells]))
        self.parts[-1].folded += body

    def _own(self, cell: NotebookNode, index: int) -> None:
        if not cell.source.strip() and not cell.get("outputs"):
            return
        provided = PROVIDED in cell.metadata.get("tags", [])
        label = (
            "A cell of the course’s" if provided else "Your own cell" if cell.cell_type == "code" else "Your own text"
        )
        part = Part("own", f"cell-{index + 1}", label, self._shown(cell))
        self.parts.append(part)
        if why := _problem(cell):
            self.stopped.append((part.anchor, f"{label}, number {index + 1} of the notebook", why))

    def _shown(self, cell: NotebookNode) -> Markup:
        if cell.cell_type == "code":
            return self._code(cell) + self._outputs(cell)
        if cell.cell_type == "markdown":
            return self._text(cell.source, cell.get("attachments"))
        return self.budget.piece(lambda: Markup("<pre>{}</pre>").format(cell.source), "")

    def _text(self, source: str, attachments: Any) -> Markup:
        made = self.budget.piece(lambda: rendering.markdown(source, attachments), source)
        return Markup('<div class="text">{}</div>').format(made)

    def _code(self, cell: NotebookNode) -> Markup:
        return self.budget.piece(lambda: rendering.code(cell.source), cell.source)

    def _outputs(self, cell: NotebookNode) -> Markup:
        shown = []
        for output in cell.get("outputs", []):
            if notice := notice_in(output):
                shown.append(Markup('<p class="notice">{}</p>').format(notice))
            elif rendering.is_verdict(output):
                shown.append(rendering.output(output))
            else:
                shown.append(self.budget.piece(functools.partial(rendering.output, output), rendering.plain(output)))
        return Markup().join(shown)


def _leads_to_an_answer(cells: list[NotebookNode]) -> bool:
    for cell in cells:
        if is_solution(cell) or (cell.cell_type == "markdown" and HEADING.match(cell.source)):
            return bool(is_solution(cell))
    return False


def _problem(cell: NotebookNode) -> str:
    """Return the reason why a cell did not run to its end; "" if it did."""
    for output in cell.get("outputs", []):
        if ending := ending_in(output):
            return ending
        if output.get("output_type") == "error":
            return f"It ended in {output.get('ename')}: {str(output.get('evalue'))[:200]}"
    return ""
