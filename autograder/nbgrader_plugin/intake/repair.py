"""Repair a submission: put the student's answers and cells into the released notebook, or say why it cannot be read."""

import ast
import builtins
import contextlib
import copy
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import nbformat
from nbformat import NotebookNode

from ...files import listed
from ...judge.parsing import MAX_SOURCE, cached_by_source, parse_cell
from ...judge.source_rules import defined_by, defined_in, needed_by
from ...spec.course import question_or_exercise
from ..release.released_notebook import without_space
from . import student_folder
from .merge_marks import unresolved_merge

MAX_BYTES = 256 * 2**20
MAX_READ = 8 * 2**20  # bytes of JSON read here; from larger files another process first removes the outputs
OUTPUT_REMOVAL_LIMITS = (3 * 2**30, 60, MAX_READ)  # bytes of memory, seconds, bytes of the result
OUTPUT_REMOVER = Path(__file__).with_name("remove_outputs.py")
MAX_CELLS = 1_000  # of the student's own
MAX_COPIES = 10  # of each released cell
MAX_TEXT = 200_000  # characters of a cell of text
MAX_TEXTS = 2_000_000  # characters of all of them
KEY = "autograder"  # key in the notebook's metadata for the notes on the repair

ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # nbformat's rule for a cell's id
PROVIDED = "given"  # tag of the course's own cells that came back unchanged
UNFINISHED = re.compile(r"raise NotImplementedError|= *(None|\.\.\.)(?!\w)")  # in an answer as it is handed out
GIVEN = {*dir(builtins), "In", "Out", "display", "exit", "get_ipython", "quit"}  # names that each kernel has
SETTINGS = ("grade", "solution", "locked", "task", "points")  # of a cell, in nbgrader's metadata

# Subjects of notes. CLAIMED: settings or tags that the release does not have. CUT: the submission exceeded a limit.
# MOVED: an exercise that an earlier release had here.
Kind = StrEnum("Kind", "RENAMED CLAIMED COPIED MISSING CUT MOVED")


@dataclass(frozen=True)
class Note:
    kind: Kind
    text: str  # the sentence that tells the student of a repair


class Unreadable(Exception):
    """Raised when a file holds nothing to mark; the message tells the student why and what to do."""


def load(
    path: Path,
    release: NotebookNode,
    left_out: Iterable[str] = (),
    notebooks: Set[str] = frozenset(),
    tests: Mapping[str, str] = MappingProxyType({}),
) -> NotebookNode:
    """Return the repaired submission, or a blank one. `left_out` holds sentences on files that were not read.

    `tests` holds the sources of an instructor's own tests with their hidden parts, by grade_id.
    """
    notes = [Note(Kind.CUT, sentence) for sentence in left_out]
    try:
        repaired = repair(_read(_locate(path, notes, notebooks)), release, notes, tests)
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
        if merge := unresolved_merge(raw.decode("utf-8", "replace")):
            raise Unreadable(
                "The file holds the marks of a merge that Git could not finish, and no program reads it as a notebook: "
                f"{merge} A text editor opens it; `git checkout --ours {path.name}` or `--theirs` takes one version as "
                "a whole. Then hand it in again."
            ) from None
        if raw.lstrip().startswith(b"{") and not raw.rstrip().endswith(b"}"):
            raise Unreadable(
                "The file was cut off: its end is missing, as after an interrupted upload or on a full disk. Open your "
                "notebook where you worked in it, see that your answers are there, save it, and hand it in again. If "
                "it does not open there either, take a fresh copy of the notebook and paste your answers into it."
            ) from None
        raise Unreadable(f"The file is not a notebook: its content is not JSON. {again}") from None
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


def repair(
    submitted: NotebookNode,
    release: NotebookNode,
    notes: list[Note],
    tests: Mapping[str, str] = MappingProxyType({}),
) -> NotebookNode:
    """Return the submitted cells, with each graded one exactly once. Raise Unreadable if no graded cell is there.

    An answer counts where a kernel would find it: in a cell without metadata, merged into another cell, or in a cell
    of the student's own. What a test needs is read from `tests`, as its released text may lack all that is hidden.
    """
    wanted = {name: cell for cell in release.cells if (name := grade_id(cell))}
    names = _names_of_answers(release, tests)
    cells = submitted.cells
    _cut(cells, wanted, notes)
    claimed = {cell.grade_id for cell in cells}  # texts alone prove nothing: “YOUR ANSWER HERE” stands in all notebooks
    _note_moved(cells, wanted, notes)
    _restore_grade_ids(cells, release, wanted, names)
    about = {name: cell.metadata.nbgrader for name, cell in wanted.items()}
    decisive = {name for name, own in about.items() if own.get("grade") or own.get("solution") or own.get("task")}
    code = {name for name in decisive if wanted[name].cell_type == "code"}
    if not any(cell.grade_id in (code or decisive or wanted) for cell in cells) and not claimed & decisive:
        raise Unreadable(
            "None of the assignment's cells are in this notebook. Is it the right file? Hand in the notebook of this "
            "assignment, with the cells it came with."
        )
    _note_claims(cells, wanted, release, notes)
    _drop_copies(cells, wanted, names, notes)
    _free_additions(cells, wanted, names)
    unnamed = [cell for cell in release.cells if cell.cell_type == "code" and not grade_id(cell)]
    provided = {without_space(cell.source) for cell in unnamed}
    result = [_restored_cell(cell, wanted, provided) for cell in cells]
    put_back = _add_missing(result, release, names, notes)
    _move_tests(result, put_back, provided, tests)
    notebook = NotebookNode(copy.deepcopy({**release, "cells": []}), cells=result)
    _give_ids(notebook)
    return notebook


def _note_moved(cells: list[NotebookNode], wanted: dict[str, NotebookNode], notes: list[Note]) -> None:
    """Add notes on exercises of an earlier release that are in another notebook now. Their cells claim nothing."""
    there = {cell.grade_id for cell in cells}
    for cell in cells:
        name = (cell.grade_id or "").removeprefix("test_")
        if name in wanted or not {name, f"test_{name}"} <= there:  # an answer alone was pasted: its test was not
            continue
        with contextlib.suppress(ValueError):  # the course has no such exercise
            home = question_or_exercise(name).notebook
            cell.claims, cell.tags = {}, []
            if cell.grade_id == name:
                text = f"“{name}” is now an exercise of {home}: hand it in there. Here it gets no points."
                notes.append(Note(Kind.MOVED, text))


def _names_of_answers(release: NotebookNode, tests: Mapping[str, str]) -> dict[str, set[str]]:
    """Return, by grade_id, the names by which an answer is recognised: those that no other released cell defines.

    They are the names that the released cell of the answer defines or, without any, those that the tests after it need.
    The grade_ids of an ordinary assignment do not help: nbgrader's toolbar makes them at random.
    """
    code = [cell for cell in release.cells if cell.cell_type == "code"]
    imported = set[str]().union(*(_imported_in(cell.source) for cell in code))
    defined = Counter(name for cell in code for name in defined_in(cell.source))
    found: dict[str, set[str]] = {}
    for cell, name in ((cell, grade_id(cell)) for cell in code):
        if name and is_solution(cell):
            own = {one for one in defined_in(cell.source) - imported if defined[one] == 1}
            found[name] = own | ({name} - defined.keys())
        elif found and _is_test(cell) and len(last := next(reversed(found.values()))) < 2:
            last |= needed_by(_whole(cell, tests)) - set(defined) - GIVEN - set[str]().union(*found.values())
    return found


@cached_by_source
def _imported_in(source: str) -> frozenset[str]:
    body = getattr(parse_cell(source), "body", [])
    imports = (statement for statement in body if isinstance(statement, (ast.Import, ast.ImportFrom)))
    return frozenset(name for statement in imports for name in defined_by(statement))


def _defining(cells: list[NotebookNode], names: dict[str, set[str]]) -> dict[str, list[NotebookNode]]:
    """Return, by an answer's grade_id, the other cells in which a student may write that define one of its names."""
    found: dict[str, list[NotebookNode]] = {name: [] for name in names}
    of = {one: name for name, each in names.items() for one in each}
    for cell in cells:
        if cell.cell_type == "code" and (cell.grade_id is None or cell.grade_id in names):
            for name in {of[one] for one in defined_in(cell.source) & of.keys()} - {cell.grade_id}:
                found[name].append(cell)
    return found


def _is_blank(cell: NotebookNode, released: NotebookNode) -> bool:
    """Return True for an answer as it was handed out, even if its comments, docstrings or layout changed."""
    if without_space(cell.source) == without_space(released.source):
        return True
    code = _code_of(cell.source) if released.cell_type == "code" else None
    return code is not None and code == _code_of(released.source)


class _WithoutTexts(ast.NodeTransformer):
    """Removes docstrings and other texts that stand alone."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node


@cached_by_source
def _code_of(source: str) -> str | None:
    """Return the code of a cell without comments and docstrings, for comparison; None if it is not Python."""
    tree = parse_cell(source)
    return ast.dump(_WithoutTexts().visit(copy.deepcopy(tree))) if tree else None


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
        limit = f"{MAX_TEXT:,} characters in one, {MAX_TEXTS:,} in all"
        notes.append(Note(Kind.CUT, f"Cells of text hold more than is shown ({limit}); they were cut."))


def _restore_grade_ids(
    cells: list[NotebookNode], release: NotebookNode, wanted: dict[str, NotebookNode], names: dict[str, set[str]]
) -> None:
    """Give cells without metadata their grade_id back, by their text, the names they define, or their position."""
    for cell in cells:
        if cell.grade_id not in wanted:
            cell.grade_id = None
    missing = {name: cell for name, cell in wanted.items() if all(c.grade_id != name for c in cells)}
    for alike, found in _by_text(cells, missing):
        for name, cell in zip(alike, found, strict=False):
            cell.grade_id = name
            missing.pop(name)
    for name, cell in _between_neighbours(cells, release, missing, "markdown"):
        cell.grade_id = name
        missing.pop(name)
    for name, released in missing.items():
        candidates = [cell for cell in cells if cell.grade_id is None and cell.cell_type == released.cell_type]
        if released.cell_type == "code" and is_solution(released):
            if found := _defining(candidates, {name: names[name]})[name]:
                answered = [cell for cell in found if not _is_blank(cell, released)]
                (answered or found)[-1].grade_id = name
        elif released.cell_type == "markdown" and (first := without_space(released.source.split("\n")[0])):
            # a written answer still holds the first line of the release's text
            for cell in [cell for cell in candidates if first in without_space(cell.source)][:1]:
                cell.grade_id = name
    nameless = {name for name in missing if names.get(name, set()) <= {name} - defined_in(wanted[name].source)}
    nameless -= {cell.grade_id for cell in cells}
    for name, cell in _between_neighbours(cells, release, nameless, "code"):
        cell.grade_id = name


def _by_text(
    cells: list[NotebookNode], missing: Mapping[str, NotebookNode]
) -> list[tuple[list[str], list[NotebookNode]]]:
    """Return the missing locked cells and the cells with their text, by text, each in the notebook's order.

    Of cells that are alike, as tests are that are all hidden, none is recognised unless all are there.
    """
    alike: dict[str, list[str]] = {}
    for name, cell in missing.items():
        if not is_solution(cell):
            alike.setdefault(without_space(cell.source), []).append(name)
    found: dict[str, list[NotebookNode]] = {text: [] for text in alike}
    for cell in cells:
        if cell.grade_id is None and (text := without_space(cell.source)) in found:
            found[text].append(cell)
    clear = (text for text, names in alike.items() if len(names) == len(found[text]) or (text and len(names) == 1))
    return [(alike[text], found[text]) for text in clear]


def _between_neighbours(
    cells: list[NotebookNode], release: NotebookNode, missing: Container[str], kind: str
) -> Iterator[tuple[str, NotebookNode]]:
    """Yield missing answers of this kind, each the first changed cell between the released cells around it.

    Of these only such count as are there; None stands for the notebook's beginning and for its end.
    """
    there = {cell.grade_id or without_space(cell.source) for cell in cells} - {""}
    sought = [c for c in release.cells if c.cell_type == kind and is_solution(c) and grade_id(c) in missing]
    names = {cell.metadata.nbgrader.grade_id for cell in sought}
    keys = (grade_id(cell) or without_space(cell.source) for cell in release.cells)
    order = [None, *(key for key in keys if key in there or key in names), None]
    blank = {without_space(cell.source) for cell in release.cells}
    middle = zip(order, order[1:], order[2:], strict=False)
    gaps = {(before, after): name for before, name, after in middle if name in names}  # by the two cells around it
    before, between = None, list[NotebookNode]()
    for cell in [*cells, None]:
        here = None if cell is None else cell.grade_id or without_space(cell.source)
        if cell is None or here in order:
            if between and (name := gaps.pop((before, here), None)):
                yield name, min(between, key=lambda one: without_space(one.source) in blank)
            before, between = here, []
        elif cell.cell_type == kind and here:
            between.append(cell)


def _note_claims(
    cells: list[NotebookNode], wanted: dict[str, NotebookNode], release: NotebookNode, notes: list[Note]
) -> None:
    """Add notes on cells that came back with other settings or tags than in the release; these have no effect."""
    changed, tagged = [], []
    unnamed = {without_space(cell.source): cell.metadata for cell in release.cells if not grade_id(cell)}
    for cell in cells:
        claims, tags = cell.pop("claims", {}), cell.pop("tags", [])
        name = cell.grade_id or "a cell of its own"
        released = wanted[cell.grade_id].metadata if cell.grade_id else unnamed.get(without_space(cell.source), {})
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


def _drop_copies(
    cells: list[NotebookNode], wanted: dict[str, NotebookNode], names: dict[str, set[str]], notes: list[Note]
) -> None:
    """Keep one cell of each grade_id: of answers the last that is answered, of locked cells the one handed out.

    Other answers become ordinary cells. Copies of locked cells, and of answers as they were handed out, are removed,
    since they would define an answer's name anew. For that reason the only cell of an answer is emptied, too, if
    another cell holds the answer and this one would only raise an error.
    """
    others = _defining(cells, names)
    for name, released in wanted.items():
        twins = [cell for cell in cells if cell.grade_id == name]
        if is_solution(released):
            twins = _free_pieces(twins, names.get(name, set()), released)
            keep, copies, which = *_answer_to_keep(twins, others.get(name, []), released), "last answered"
        else:
            keep, copies, which = _locked_to_keep(twins, released), twins, "handed-out"
        if not (extra := [cell for cell in twins + [c for c in copies if c.grade_id is None] if cell is not keep]):
            continue
        for cell in extra:
            cell.grade_id = None
        gone = {id(cell) for cell in copies if cell is not keep}
        cells[:] = [cell for cell in cells if id(cell) not in gone]
        notes.append(Note(Kind.COPIED, f"The cell “{name}” is there {len(extra) + 1} times; the {which} one counts."))


def _free_pieces(twins: list[NotebookNode], names: set[str], released: NotebookNode) -> list[NotebookNode]:
    """Make ordinary cells of those that another piece of a split answer needs; return those that hold an answer.

    JupyterLab gives each piece of a split cell the metadata of the whole.
    """
    whole = [cell for cell in twins if names & defined_in(cell.source) or _is_blank(cell, released)]
    if all(_is_blank(cell, released) for cell in whole):
        return twins
    for cell in twins:
        if not any(cell is one for one in whole):
            cell.grade_id = None
    return whole


def _answer_to_keep(
    twins: list[NotebookNode], others: list[NotebookNode], released: NotebookNode
) -> tuple[NotebookNode | None, list[NotebookNode]]:
    """Return which of the cells of one answer is kept, and all that are as they were handed out.

    `others` are other cells that define its name.
    """
    if not others and len(twins) < 2:
        return next(iter(twins), None), []
    blank = [cell for cell in twins if _is_blank(cell, released)]
    lost = [cell for cell in others if cell.grade_id is None and _is_blank(cell, released)]  # their metadata
    if len(blank) < len(twins):
        return [cell for cell in twins if not any(cell is one for one in blank)][-1], blank + lost
    if twins and len(lost) < len(others) and UNFINISHED.search(released.source):
        twins[-1].source = ""
    return next(reversed(twins), None), blank


def _locked_to_keep(twins: list[NotebookNode], released: NotebookNode) -> NotebookNode | None:
    """Return the copy with the release's id, else the last of a test's and the first of a set-up's."""
    handed_out = [cell for cell in twins if cell.get("id") == released.get("id")]
    if len(handed_out) == 1:
        return handed_out[0]
    return next(reversed(twins) if _is_test(released) else iter(twins), None)


def _free_additions(cells: list[NotebookNode], wanted: dict[str, NotebookNode], names: dict[str, set[str]]) -> None:
    """Move student's code from a locked cell, or one merged with it, to a cell of its own if answers need it."""
    locked = [cell for cell in cells if cell.cell_type == "code" and _is_locked(wanted.get(cell.grade_id))]
    if not (changed := [cell for cell in locked if cell.source.strip() != wanted[cell.grade_id].source.strip()]):
        return
    written = (cell for cell in cells if cell.cell_type == "code" and not _is_locked(wanted.get(cell.grade_id)))
    needed = set[str]().union(*names.values(), *(needed_by(cell.source) for cell in written))
    for cell in changed:
        released = wanted[cell.grade_id].source.strip()
        if needed & (defined_in(cell.source) - defined_in(released)):
            before, _, after = cell.source.partition(released)
            index = next(index for index, other in enumerate(cells) if other is cell)
            parts = [_cell("code", part.strip("\n"), None) for part in (before, after) if part.strip()]
            cells[index : index + 1] = [*parts[: bool(before.strip())], cell, *parts[bool(before.strip()) :]]


def _is_locked(released: NotebookNode | None) -> bool:
    return released is not None and not is_solution(released)


def _restored_cell(cell: NotebookNode, wanted: dict[str, NotebookNode], provided: set[str]) -> NotebookNode:
    """Return a cell with the release's metadata, and its text if it is locked. Tag the course's own unchanged cells."""
    if (released := wanted.get(cell.pop("grade_id"))) is None:
        cell.metadata = NotebookNode(tags=[PROVIDED] if without_space(cell.source) in provided else [])
        return cell
    restored = copy.deepcopy(released)
    if is_solution(released):
        restored.source = cell.source
        if restored.cell_type == "markdown" and "attachments" in cell:
            restored["attachments"] = cell["attachments"]
    elif released.cell_type == "code" and not released.metadata.nbgrader.grade:
        restored.metadata.tags = [*restored.metadata.get("tags", []), PROVIDED]
    return restored


def _add_missing(
    cells: list[NotebookNode], release: NotebookNode, names: dict[str, set[str]], notes: list[Note]
) -> Container[str]:
    """Insert missing released cells, each after the released cell that precedes it; return their grade_ids.

    An answer that stands in another cell is put back empty: the cell as it was handed out would overwrite it.
    """
    position = -1
    present = {grade_id(cell): cell for cell in cells if grade_id(cell)}
    released_texts = {"", *(without_space(cell.source) for cell in release.cells)}
    others = (cell for cell in cells if not grade_id(cell) and without_space(cell.source) not in released_texts)
    own = {cell.cell_type for cell in others}  # an answer that a person marks may be among them
    written = filter(_is_written, cells)
    defined = set[str]().union(*(defined_in(cell.source) for cell in written))
    put_back, elsewhere = list[str](), list[str]()
    for released in release.cells:
        name = grade_id(released)
        if name in present:
            position = cells.index(present[name])
        elif name is not None:
            position += 1
            source = released.source
            if names.get(name, set()) & defined:
                source = ""
                elsewhere.append(name)
            elif released.cell_type in own and _is_marked_by_hand(released):
                what, form = ("code", "# {}") if released.cell_type == "code" else ("text", "*{}*")
                text = f"{_listed([name])} missing and has been put back."
                text += f" Your instructor will look for your answer in your other cells of {what}."
                source = form.format(text)  # nbgrader gives zero for the release's text, leaves any other to a person
                notes.append(Note(Kind.MISSING, text))
            else:
                put_back.append(name)
            blank_cell = _cell(released.cell_type, source, name)
            cells.insert(position, _restored_cell(blank_cell, {name: released}, set()))
    if put_back:
        have = "has" if len(put_back) == 1 else "have"
        notes.append(Note(Kind.MISSING, f"{_listed(put_back)} missing and {have} been put back."))
    if elsewhere:
        notes.append(Note(Kind.MISSING, f"{_listed(elsewhere)} missing; what another cell of yours defines counts."))
    return put_back


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return f"The cell “{names[0]}” was"
    return f"{len(names)} cells ({listed([f'“{name}”' for name in names], 6)}) were"


def _move_tests(
    cells: list[NotebookNode], put_back: Container[str | None], provided: Container[str], tests: Mapping[str, str]
) -> None:
    """Move each test that stands above the student's definition of a name that it uses behind it.

    So it is with helpers of an answer, in cells that the student added: in the student's kernel they were there.
    For tests that were put back, all definitions that these use count: where they stood is not known.
    """
    code = [cell for cell in cells if cell.cell_type == "code"]
    added = [cell for cell in code if not grade_id(cell) and without_space(cell.source) not in provided]
    helpers = set[str]().union(*(defined_in(cell.source) for cell in added))
    above = set(GIVEN)
    for place, cell in enumerate(code):
        used = needed_by(_whole(cell, tests)) if _is_test(cell) else set()
        late = helpers - above
        if used and (late or grade_id(cell) in put_back):  # few submissions have either
            reached = _needed(used, code[:place], code[place:])
            used = reached if grade_id(cell) in put_back else used | (reached & late)
        if missing := used - above:
            index = next(index for index, other in enumerate(cells) if other is cell)
            below = [(at, other) for at, other in enumerate(cells) if at > index and _is_written(other)]
            if defining := [at for at, other in below if missing & defined_in(other.source)]:
                cells.insert(defining[-1], cells.pop(index))
        above |= defined_in(_whole(cell, tests))


def _whole(cell: NotebookNode, tests: Mapping[str, str]) -> str:
    """Return a cell's source, of an instructor's own test with its hidden part."""
    return tests.get(grade_id(cell) or "", cell.source) if _is_test(cell) else cell.source


def _needed(used: Iterable[str], above: list[NotebookNode], below: list[NotebookNode]) -> set[str]:
    """Return the names that a test uses, directly or through cells that the student wrote.

    What a cell above the test defines is that, even if one below it gives the name to something else.
    """
    needed, todo = set[str](), set(used)
    while todo:
        needed |= todo
        used = set[str]()
        for cells in (above, below):
            found = [(cell, todo & defined_in(cell.source)) for cell in cells if _is_written(cell)]
            used = used.union(*(needed_by(cell.source) for cell, names in found if names))
            todo = todo.difference(*(names for _, names in found))
        todo = used - needed
    return needed


def _is_written(cell: NotebookNode) -> bool:
    """Return True for a cell of code in which the student may write, once the release's metadata are restored."""
    return cell.cell_type == "code" and (is_solution(cell) or not grade_id(cell))


def _is_marked_by_hand(cell: NotebookNode) -> bool:
    return is_solution(cell) and (cell.cell_type == "markdown" or bool(cell.metadata.nbgrader.get("grade")))


def _is_test(cell: NotebookNode) -> bool:
    graded = cell.metadata.get("nbgrader", {})
    return bool(graded.get("grade")) and not graded.get("solution")


def _give_ids(notebook: NotebookNode) -> None:
    """Give each cell an id of its own. A release in a format older than ids comes into the one that has them."""
    notebook.nbformat_minor = max(notebook.nbformat_minor, 5)
    seen: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        if cell.get("id") in seen or "id" not in cell:
            cell["id"] = next(new for n in itertools.count(number) if (new := f"cell-{n}") not in seen)
        seen.add(cell["id"])
