"""Count what a student reads, types and decides in a notebook, as its release shows it: without claims and answers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from nbformat import NotebookNode

TextKind = Literal["prose", "stop", "exercise", "question", "practice", "written", "text"]  # a text is an answer
CodeKind = Literal["provided", "folded", "test", "answer", "choice"]  # a choice is a question's letter
Kind = TextKind | CodeKind
CLAIM, STOP = "claim", "stop"  # tags of cells
OWN_LINE = "# YOUR LINE HERE"  # in a given cell, where the student writes or changes one line
BOX = re.compile(r"^> · (\d+) points? · (\w+) · (\d+) minutes$", re.MULTILINE)
WRITTEN = re.compile(r"^### Written answer: .+ \((\d+) points?, about (\d+) minutes\)$", re.MULTILINE)
TASK_HEADINGS: dict[Kind, re.Pattern[str]] = {
    "question": re.compile(r"^### Question .*$", re.MULTILINE),
    "practice": re.compile(r"^### Check yourself.*$", re.MULTILINE),
    "written": WRITTEN,
}
REGION = re.compile(r"### BEGIN SOLUTION.*?### END SOLUTION", re.DOTALL)
DETAILS = re.compile(r"<details>.*?</details>", re.DOTALL)
SUMMARY = re.compile(r"<summary>.*?</summary>", re.DOTALL)
QUOTED = re.compile(r"^>.*\n?", re.MULTILINE)
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]+>|\]\([^)]*\)", re.DOTALL)
PREDICT = re.compile(r"\bPredict\b")


@dataclass(frozen=True)
class Cell:
    """A cell as a student meets it."""

    name: str
    kind: Kind
    source: str  # without answers
    words: int = 0  # in view, outside boxes and questions
    task_words: int = 0  # of a box, a question or a written answer; of practice, with its answers
    folded: int = 0  # words behind a summary
    lines: int = 0  # of provided code, not empty; folded ones too
    predictions: int = 0
    minutes: int = 0  # that a box or a written answer announces

    @property
    def typed(self) -> bool:
        """Return whether the student writes code here."""
        return self.kind == "answer" or OWN_LINE in self.source

    @property
    def active(self) -> bool:
        """Return whether the student writes or decides something here."""
        return self.typed or self.kind in ("question", "practice", "written") or self.predictions > 0


def cells(notebook: NotebookNode) -> list[Cell]:
    """Return a notebook's cells as students meet them. Claims are left out: they are released to nobody."""
    found: list[Cell] = []
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if CLAIM not in tags:
            after = found[-1].kind if found else "prose"
            found.append(_text(cell, tags) if cell.cell_type == "markdown" else _code(cell, after))
    return found


def sittings(found: Iterable[Cell]) -> list[list[Cell]]:
    """Return a notebook's cells in parts, each of which ends with a good place to stop."""
    parts: list[list[Cell]] = [[]]
    for cell in found:
        parts[-1].append(cell)
        if cell.kind == "stop":
            parts.append([])
    return [part for part in parts if part]


def words(text: str) -> int:
    """Return the number of words in Markdown or HTML, without addresses and lone signs."""
    return sum(bool(re.search(r"\w", token)) for token in MARKUP.sub(" ", text).split())


def _text(cell: NotebookNode, tags: list[str]) -> Cell:
    source = REGION.sub("", cell.source)
    if cell.metadata.get("nbgrader", {}).get("solution"):
        return Cell(cell.id, "text", source)
    view = DETAILS.sub(lambda part: " ".join(SUMMARY.findall(part[0])), source)
    folded = words(source) - words(view)
    about: dict[str, Any] = {"folded": folded, "predictions": len(PREDICT.findall(view))}
    if box := BOX.search(view):
        task_words = words(view) - words(QUOTED.sub("", view))
        return Cell(cell.id, "exercise", source, words(view) - task_words, task_words, minutes=int(box[3]), **about)
    for kind, heading in TASK_HEADINGS.items():
        if match := heading.search(view):
            before, task_words = words(view[: match.start()]), words(view[match.end() :])
            if kind == "practice":
                task_words += folded
            minutes = int(match[2]) if kind == "written" else 0
            return Cell(cell.id, kind, source, before, task_words, minutes=minutes, **about)
    return Cell(cell.id, "stop" if STOP in tags else "prose", source, words(view), **about)


def _code(cell: NotebookNode, after: Kind) -> Cell:
    about, source = cell.metadata.get("nbgrader", {}), REGION.sub("", cell.source)
    lines = sum(bool(line.strip()) for line in source.splitlines())
    if about.get("solution") and OWN_LINE not in source:
        return Cell(cell.id, "choice" if after == "question" else "answer", source)
    if about.get("grade"):
        return Cell(cell.id, "test", source)
    if cell.metadata.get("jupyter", {}).get("source_hidden"):
        return Cell(cell.id, "folded", source, lines=lines)
    return Cell(cell.id, "provided", source, _shown_words(cell), lines=lines)


def _shown_words(cell: NotebookNode) -> int:
    """Return the number of words that a cell shows with the help of a module: what helpers print counts as prose."""
    texts = []
    for output in cell.outputs:
        data = output.get("data", {})
        if output.output_type == "stream" and "print(" not in cell.source:
            texts.append(output.text)
        texts += [data[kind] for kind in ("text/html", "text/markdown") if kind in data]
    return words(" ".join(texts))
