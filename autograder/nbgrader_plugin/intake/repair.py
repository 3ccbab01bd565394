"""Repair a submission: put the student's answers and cells into the released notebook, or say why it cannot be read."""

import ast
import copy
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Set
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from ...judge.parsing import MAX_SOURCE, parse_cell
from ..release.released_notebook import without_space
from . import student_folder

MAX_BYTES = 256 * 2**20
MAX_READ = 8 * 2**20  # bytes of JSON read here; from larger files another process first removes the outputs
OUTPUT_REMOVAL_LIMITS = (3 * 2**30, 60, MAX_READ)  # bytes of memory, seconds, bytes of the result
OUTPUT_REMOVER = Path(__file__).with_name("size_limits.py")
MAX_CELLS = 1_000  # of the student's own
MAX_COPIES = 10  # of each released cell
MAX_TEXT = 200_000  # characters of a cell of text
MAX_TEXTS = 2_000_000  # characters of all of them
KEY = "autograder"  # key in the notebook's metadata for the notes on the repair

ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # nbformat's rule for a cell's id
GIVEN = "given"  # tag of the course's own cells that came back unchanged
SETTINGS = ("grade", "solution", "locked", "task", "points")  # of a cell, in nbgrader's metadata

# Subjects of notes. CLAIMED: settings or tags that the release does not have. CUT: the submission exceeded a limit.
Kind = StrEnum("Kind", "RENAMED CLAIMED COPIED MISSING CUT")


@dataclass(frozen=True)
class Note:
    kind: Kind
    text: str  # the sentence that tells the student of a repair


class Unreadable(Exception):
    """Raised when a file holds nothing to mark; the message tells the student why and what to do."""


def load(
    path: Path, release: NotebookNode, left_out: Iterable[str] = (), notebooks: Set[str] = frozenset()
) -> NotebookNode:
    """Return the repaired submission, or a blank one. `left_out` holds sentences on files that were not read."""
    notes = [Note(Kind.CUT, sentence) for sentence in left_out]
    try:
        repaired = repair(_read(_locate(path, notes, notebooks)), release, notes)
    except Unreadable as reason:
        return blank(release, str(reason))
    repaired.metadata[KEY] = {"notes": [asdict(note) | {"text": _writable(note.text)} for note in notes]}
    return repaired


def blank(release: NotebookNode, problem: str) -> NotebookNode:
    """Return a copy of the release with a problem in its metadata, for which it gets zero."""
    notebook = copy.deepcopy(release)
    notebook.metadata[KEY] = {"notes": [], "problem": _writable(problem)}
    _give_ids(notebook)
    return notebook


def _writable(sentence: str) -> str:
    """Replace lone surrogates, which cannot be written to a file; a sentence may quote a student's text."""
    return sentence.encode("utf-8", "replace").decode("utf-8")


def _locate(path: Path, notes: list[Note], notebooks: Set[str]) -> Path:
    """Return `path`, or the path of the only notebook with a name of its own. Raise Unreadable if there is none."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        return path
    if path.is_dir():
        raise Unreadable(f"“{path.name}” is a folder, not a notebook file. Hand in the file {path.name} itself.")
    there = [p for p in path.parent.glob("*") if p.suffix.lower() == ".ipynb" and p.name not in notebooks]
    others = sorted(filter(student_folder.is_file, there))
    if len(others) == 1:
        text = f"The notebook was named “{others[0].name}”; it was marked as {path.name}. Please keep the name."
        notes.append(Note(Kind.RENAMED, text))
        return others[0]
    if others:
        names = ", ".join(f"“{p.name}”" for p in others[:5])
        raise Unreadable(
            f"There is no {path.name} in what you handed in, but several other notebooks ({names}), so it is not clear "
            f"which one to mark. Hand in one notebook named {path.name}."
        )
    raise Unreadable(f"There is no notebook in what you handed in. Hand in the file {path.name}.")


def _read(path: Path) -> NotebookNode:
    again = "Open your notebook in JupyterLab, save it, and hand in the saved file."
    if (size := path.lstat().st_size) > MAX_BYTES:
        raise Unreadable(
            f"The file is {size / 2**20:.0f} MiB large, more than the {MAX_BYTES // 2**20} that are read. Clear all "
            "outputs (Edit → Clear Outputs of All Cells), save, and hand it in again."
        )
    try:
        raw = student_folder.read(path, MAX_BYTES)
    except student_folder.NotAFile as reason:
        raise Unreadable(f"{reason} {again}") from None
    if not raw.strip():
        raise Unreadable(f"The file is empty. {again}")
    try:
        data = json.loads(raw if len(raw) <= MAX_READ else _remove_outputs(raw))
    except (ValueError, RecursionError):
        raise Unreadable(f"The file is not a notebook: its content is not JSON, or it was cut off. {again}") from None
    if not isinstance(data, dict) or not ("cells" in data or "worksheets" in data):
        raise Unreadable(f"The file is not a notebook: it is JSON, but it has no cells. {again}")
    if data.get("nbformat") != 4:
        try:
            data = {"cells": nbformat.convert(nbformat.from_dict(data), 4).cells}
        except Exception:
            version = str(data.get("nbformat"))[:20]
            raise Unreadable(
                f"The file says it is a notebook of version {version}, which cannot be read. {again}"
            ) from None
    return NotebookNode(cells=_cells(data.get("cells")))


def _remove_outputs(raw: bytes) -> bytes:
    """Return the JSON of a notebook without its outputs. Raise ValueError if it is no JSON, Unreadable if too large."""
    command = [sys.executable, "-I", "-S", str(OUTPUT_REMOVER), *map(str, OUTPUT_REMOVAL_LIMITS)]
    timeout = 4 * OUTPUT_REMOVAL_LIMITS[1]
    try:
        return subprocess.run(command, input=raw, capture_output=True, timeout=timeout, check=True).stdout
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        if re.search(rb"JSONDecodeError|UnicodeDecodeError|RecursionError", error.stderr or b""):
            raise ValueError("not JSON") from None
        raise Unreadable(
            f"There is more in the file than is read, even without its outputs ({len(raw) / 2**20:.0f} MiB). Take out "
            "what is not yours to hand in, such as data pasted into cells, save, and hand it in again."
        ) from None


def _cells(cells: object) -> list[NotebookNode]:
    """Return each cell's usable parts: type, text and nbgrader metadata. Drop outputs, since marking makes new ones."""
    result = []
    for cell in cells if isinstance(cells, list) else []:
        if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
            continue
        source = cell.get("source", "")
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if not isinstance(source, str):
            continue
        metadata = _dict(cell.get("metadata"))
        graded = _dict(metadata.get("nbgrader"))
        grade_id = graded.get("grade_id")
        result.append(_cell(cell["cell_type"], _writable(source), grade_id if isinstance(grade_id, str) else None))
        if isinstance(cell.get("id"), str) and ID.fullmatch(cell["id"]):
            result[-1]["id"] = cell["id"]
        if cell["cell_type"] == "markdown" and isinstance(cell.get("attachments"), dict):
            result[-1]["attachments"] = cell["attachments"]
        result[-1].claims = {key: graded[key] for key in SETTINGS if key in graded}
        result[-1].tags = metadata.get("tags", [])
    return result


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _cell(kind: str, source: str, grade_id: str | None) -> NotebookNode:
    """Return a new cell like nbformat's functions, but without a random id and not validated: that comes later."""
    runs: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return NotebookNode(cell_type=kind, metadata=NotebookNode(), source=source, grade_id=grade_id, **runs)


def grade_id(cell: NotebookNode) -> str | None:
    name: str | None = cell.metadata.get("nbgrader", {}).get("grade_id")
    return name


def is_solution(cell: NotebookNode) -> bool:
    """Return True for an answer's cell, as nbgrader's function does, whose import every solution's kernel would pay."""
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def repair(submitted: NotebookNode, release: NotebookNode, notes: list[Note]) -> NotebookNode:
    """Return the submitted cells, with each graded one exactly once. Raise Unreadable if no graded cell is there."""
    wanted = {name: cell for cell in release.cells if (name := grade_id(cell))}
    cells = submitted.cells
    _cut(cells, wanted, notes)
    claimed = {cell.grade_id for cell in cells}  # texts alone prove nothing: “YOUR ANSWER HERE” stands in all notebooks
    _restore_grade_ids(cells, release, wanted)
    about = {name: cell.metadata.nbgrader for name, cell in wanted.items()}
    decisive = {name for name, own in about.items() if own.get("grade") or own.get("solution") or own.get("task")}
    code = {name for name in decisive if wanted[name].cell_type == "code"}
    if not any(cell.grade_id in (code or decisive or wanted) for cell in cells) and not claimed & decisive:
        raise Unreadable(
            "None of the assignment's cells are in this notebook. Is it the right file? Hand in the notebook of this "
            "assignment, with the cells it came with."
        )
    _note_claims(cells, wanted, notes)
    _drop_copies(cells, wanted, notes)
    given = {without_space(cell.source) for cell in release.cells if cell.cell_type == "code" and not grade_id(cell)}
    result = [_restored_cell(cell, wanted, given) for cell in cells]
    _add_missing(result, release, notes)
    notebook = NotebookNode(copy.deepcopy({**release, "cells": []}), cells=result)
    _give_ids(notebook)
    return notebook


def _cut(cells: list[NotebookNode], wanted: dict[str, NotebookNode], notes: list[Note]) -> None:
    from . import sanitize  # slow to import, and not every command reads submissions

    copies, own = Counter[str](), []
    for cell in reversed(cells):
        copies[cell.grade_id] += 1
        if cell.grade_id not in wanted or copies[cell.grade_id] > MAX_COPIES:
            own.append(cell)
    if len(own) > MAX_CELLS:
        left_out = {id(cell) for cell in own[:-MAX_CELLS]}
        cells[:] = [cell for cell in cells if id(cell) not in left_out]
        notes.append(Note(Kind.CUT, f"There are {len(own):,} cells of your own; the first {MAX_CELLS:,} were read."))
    room, shortened = {True: MAX_TEXTS, False: MAX_TEXTS}, False
    for cell in cells:
        is_code = cell.cell_type == "code"
        allowed = min(MAX_TEXT, room[is_code])
        too_long = len(cell.source) > allowed
        room[is_code] -= min(allowed, len(cell.source))
        if not is_code:
            shortened |= too_long
            cell.source = sanitize.markdown(cell.source[:allowed])
            if pictures := sanitize.pictures_of(cell.pop("attachments", None)):
                cell["attachments"] = pictures
        elif too_long:  # longer than the judge reads, so it is not run either
            cell.source = cell.source[: MAX_SOURCE + 1].ljust(MAX_SOURCE + 1, "#")
    if shortened:
        most = f"{MAX_TEXT:,} characters in one, {MAX_TEXTS:,} in all"
        notes.append(Note(Kind.CUT, f"Cells of text hold more than is shown ({most}); they were cut."))


def _restore_grade_ids(cells: list[NotebookNode], release: NotebookNode, wanted: dict[str, NotebookNode]) -> None:
    """Give cells without metadata their grade_id back, by their text, the names they define, or their place."""
    for cell in cells:
        if cell.grade_id not in wanted:
            cell.grade_id = None
    missing = {name: cell for name, cell in wanted.items() if all(c.grade_id != name for c in cells)}
    by_text = {without_space(cell.source): name for name, cell in missing.items() if not is_solution(cell)}
    for cell in cells:
        if cell.grade_id is None and (text := without_space(cell.source)) in by_text:
            cell.grade_id = by_text.pop(text)
            missing.pop(cell.grade_id)
    for name, cell in _in_place(cells, release, missing):
        cell.grade_id = name
        missing.pop(name)
    for name, released in missing.items():
        candidates = [cell for cell in cells if cell.grade_id is None and cell.cell_type == released.cell_type]
        if released.cell_type == "code" and is_solution(released):
            for cell in [cell for cell in candidates if name in _defines(cell.source)][-1:]:
                cell.grade_id = name
        elif released.cell_type == "markdown" and (first := without_space(released.source.split("\n")[0])):
            # a written answer still holds the first line of the release's text
            for cell in [cell for cell in candidates if first in without_space(cell.source)][:1]:
                cell.grade_id = name


def _in_place(
    cells: list[NotebookNode], release: NotebookNode, missing: Container[str]
) -> Iterator[tuple[str, NotebookNode]]:
    """Yield missing written answers, each the first changed text between the two cells that it had beside it."""
    order = [grade_id(cell) or without_space(cell.source) for cell in release.cells]
    blank = {without_space(cell.source) for cell in release.cells}
    places = {}
    for before, cell, after in zip(order, release.cells[1:], order[2:], strict=False):
        if cell.cell_type == "markdown" and is_solution(cell) and grade_id(cell) in missing:
            places[before, after] = cell.metadata.nbgrader.grade_id
    before, between = "", list[NotebookNode]()
    for cell in cells:
        here = cell.grade_id or without_space(cell.source)
        if here in order:
            if between and (name := places.pop((before, here), None)):
                yield name, min(between, key=lambda one: without_space(one.source) in blank)
            before, between = here, []
        elif cell.cell_type == "markdown" and here:
            between.append(cell)


def _defines(source: str) -> set[str]:
    names: set[str] = set()
    for statement in getattr(parse_cell(source), "body", []):
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return names


def _note_claims(cells: list[NotebookNode], wanted: dict[str, NotebookNode], notes: list[Note]) -> None:
    """Add notes on cells that came back with other settings or tags than in the release; these have no effect."""
    changed, tagged = [], []
    for cell in cells:
        claims, tags = cell.pop("claims", {}), cell.pop("tags", [])
        name = cell.grade_id or "a cell of its own"
        released = wanted[cell.grade_id].metadata if cell.grade_id else {}
        own, handed_out = released.get("nbgrader", {}), released.get("tags", [])
        if any(value != own.get(key) for key, value in claims.items() if own or (key in ("grade", "points") and value)):
            changed.append(name)
        added = [str(tag) for tag in tags if tag not in handed_out] if isinstance(tags, list) else []
        if any("skip" in tag or "raises" in tag for tag in added):
            tagged.append(name)
    for what, names in (("settings", changed), ("tags", tagged)):
        if listed := ", ".join(f"“{name}”" for name in dict.fromkeys(names[:8])):
            text = f"The {what} of some cells were changed ({listed}); those of the release count."
            notes.append(Note(Kind.CLAIMED, text))


def _drop_copies(cells: list[NotebookNode], wanted: dict[str, NotebookNode], notes: list[Note]) -> None:
    """Keep the last changed of several answers, and let others be ordinary cells; keep the first of locked cells."""
    for name, released in wanted.items():
        if len(twins := [cell for cell in cells if cell.grade_id == name]) < 2:
            continue
        answered = [cell for cell in twins if cell.source.strip() != released.source.strip()]
        keep = (answered or twins)[-1] if is_solution(released) else twins[0]
        for cell in twins:
            if cell is not keep:
                cell.grade_id = None
                if not is_solution(released):
                    cells.remove(cell)
        which = "last answered" if is_solution(released) else "first"
        notes.append(Note(Kind.COPIED, f"The cell “{name}” is there {len(twins)} times; the {which} one counts."))


def _restored_cell(cell: NotebookNode, wanted: dict[str, NotebookNode], given: set[str]) -> NotebookNode:
    """Return a cell with the release's metadata, and its text if it is locked. Tag the course's own unchanged cells."""
    if (released := wanted.get(cell.pop("grade_id"))) is None:
        cell.metadata = NotebookNode(tags=[GIVEN] if without_space(cell.source) in given else [])
        return cell
    restored = copy.deepcopy(released)
    if is_solution(released):
        restored.source = cell.source
        if restored.cell_type == "markdown" and "attachments" in cell:
            restored["attachments"] = cell["attachments"]
    elif released.cell_type == "code" and not released.metadata.nbgrader.grade:
        restored.metadata.tags = [*restored.metadata.get("tags", []), GIVEN]
    return restored


def _add_missing(cells: list[NotebookNode], release: NotebookNode, notes: list[Note]) -> None:
    """Insert missing released cells, each after the released cell that precedes it."""
    position = -1
    present = {grade_id(cell): cell for cell in cells if grade_id(cell)}
    given = {"", *(without_space(cell.source) for cell in release.cells)}
    texts = [cell for cell in cells if cell.cell_type == "markdown" and not grade_id(cell)]
    own = any(without_space(cell.source) not in given for cell in texts)  # a written answer may be among them
    for released in release.cells:
        name = grade_id(released)
        if name in present:
            position = cells.index(present[name])
        elif name is not None:
            position += 1
            text, source = f"The cell “{name}” was missing and has been put back.", released.source
            if own and released.cell_type == "markdown" and is_solution(released):
                text += " Your instructor will look for your answer in your other cells of text."
                source = f"*{text}*"  # nbgrader gives zero for the release's text, and leaves any other to a person
            blank_cell = _cell(released.cell_type, source, name)
            cells.insert(position, _restored_cell(blank_cell, {name: released}, set()))
            notes.append(Note(Kind.MISSING, text))


def _give_ids(notebook: NotebookNode) -> None:
    """Give each cell an id of its own. A release in a format older than ids comes into the one that has them."""
    notebook.nbformat_minor = max(notebook.nbformat_minor, 5)
    seen: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        if cell.get("id") in seen or "id" not in cell:
            cell["id"] = next(new for n in itertools.count(number) if (new := f"cell-{n}") not in seen)
        seen.add(cell["id"])
