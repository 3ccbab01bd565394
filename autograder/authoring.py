"""For authors: run and tidy solution notebooks, and copy the modules that several notebooks share."""

import math
import os
import re
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
from jupyter_client.client import KernelClient
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from .files import LEFT, write_atomically
from .nbgrader_plugin.intake.repair import grade_id
from .spec.course import NO_COURSE, course, home, notebooks, package
from .workload import RUNNING, opening

QUIET = {"TQDM_DISABLE": "1"}  # progress bars tell how fast a machine is
TOOLS = re.compile(r"^from \w+_tools import ", re.MULTILINE)  # importing them prints facts about the machine
IMPORTED = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
SHARED = "shared_modules"  # the folder in the course's package
COMMENT = {".py": "# {}", ".j2": "{{# {} -#}}"}  # by the suffix of a shared file
MERGING = "<<<<<<< "  # git's mark between lines of the file, and nbmerge's in a cell or in one of its own


class Client(NotebookClient):
    """nbclient, looking once a second: while widgets are shown, it may miss the signal of a reply (its issue 312)."""

    async def async_start_new_kernel_client(self) -> KernelClient:
        client = await super().async_start_new_kernel_client()
        client.shell_channel.get_msg = looking_again(client.shell_channel.get_msg)
        return client


def looking_again(
    get: Callable[..., Awaitable[dict[str, Any]]], every: float = 1.0
) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return a function that waits for a message as `get` does, but checks again after `every` seconds."""

    async def get_message(timeout: float | None = None) -> dict[str, Any]:
        end = time.monotonic() + (math.inf if timeout is None else timeout)
        while True:
            try:
                return await get(timeout=max(0.0, min(every, end - time.monotonic())))
            except Empty:
                if time.monotonic() >= end:
                    raise

    return get_message


def environment() -> dict[str, str]:
    """Return the environment variables with which solutions are run, so that their outputs are the same anywhere.

    A course may add some of its own: the dictionary ENVIRONMENT in its package.
    """
    own: dict[str, str] = {} if course() is NO_COURSE else getattr(package(), "ENVIRONMENT", {})
    return QUIET | own


def code_cells(path: Path) -> int:
    """Return the number of a notebook's code cells that do something."""
    cells = nbformat.read(path, as_version=4).cells
    return sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in cells)


def run(path: Path, ran: Callable[[], object] = lambda: None) -> float:
    """Execute a solution notebook in a fresh kernel and write it back. Return the seconds it took.

    Calls `ran` after each code cell. Raises ValueError if a cell stops, or if a solution earns other points than its
    test cell gives.
    """
    notebook = nbformat.read(path, as_version=4)
    started = time.monotonic()
    client = Client(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}})
    client.on_cell_executed = lambda **_: ran()
    try:
        client.execute(env=os.environ | environment())
    except CellExecutionError as error:
        stopped = next(cell for cell in notebook.cells if results(cell, "error"))
        raise ValueError(f"{error.ename}: {error.evalue}, in this cell:\n{stopped.source}") from error
    seconds = time.monotonic() - started
    notebook.metadata[RUNNING] = round(seconds)
    write_atomically(path, text_of(tidied(notebook)))
    for cell in notebook.cells:
        points = float(cell.metadata.get("nbgrader", {}).get("points") or 0)
        for result in results(cell, "execute_result") if "check(" in cell.source else ():
            if result.data["text/plain"] not in (str(points), str(int(points))):
                raise ValueError(f"{grade_id(cell)}: {result.data['text/plain']} of {points:g} points; see its output.")
    return seconds


def results(cell: NotebookNode, kind: str) -> list[NotebookNode]:
    """Return a cell's outputs of a kind, such as `error`."""
    return [output for output in cell.get("outputs", []) if output.output_type == kind]


class NotReleasable(Exception):
    """Raised when a solution notebook cannot be released as it is. The message says what to do."""


def stage(sources: Path, target: Path, wanted: Sequence[str]) -> list[Path]:
    """Copy the course's notebooks from `sources` to `target`; tidy the `wanted` ones, copy shared modules there.

    Return the paths in `target` of the files that changed. Raise NotReleasable if a merge has conflicts in a
    notebook, or if it was never run.
    """
    changed = []
    for name in notebooks():
        shutil.copytree(sources / name, target / name, ignore=shutil.ignore_patterns(*LEFT))
    for name in wanted:
        path = target / name / f"{name}.ipynb"
        checkout = f"take it back with `git checkout HEAD {sources.name}/{name}`"
        if MERGING in path.read_text("utf-8"):
            raise NotReleasable(
                f"{path.name} holds both sides of a merge with conflicts, so nothing was released: choose one wherever "
                f"<<<<<<< stands, or {checkout}."
            )
        if not any(cell.get("outputs") for cell in nbformat.read(path, as_version=4).cells):
            raise NotReleasable(
                f"{path.name} has no outputs, as nbstripout leaves it, so nothing was released: run "
                f"`autograder run-solutions {name}`, or {checkout}."
            )
        changed += [path] if tidy(path) else []
        changed += copy_shared_modules(path)
    return changed


def tidy(path: Path) -> bool:
    """Tidy a notebook without running it. Return True if it changed."""
    before = path.read_bytes()
    after = text_of(tidied(nbformat.reads(before.decode(), as_version=4)))
    if after != before:
        write_atomically(path, after)
    return after != before


def text_of(notebook: NotebookNode) -> bytes:
    text: str = nbformat.writes(notebook)
    return (text.rstrip("\n") + "\n").encode()


def copy_shared_modules(path: Path) -> list[Path]:
    """Copy the shared modules that a solution notebook needs to its folder. Return the files that changed."""
    needed = shared_copies(path)
    changed = [copy for copy, content in needed.items() if not copy.exists() or copy.read_bytes() != content]
    for copy in changed:
        write_atomically(copy, needed[copy])
    return changed


def shared_copies(path: Path) -> dict[Path, bytes]:
    """Return the copies of shared modules that a solution notebook needs: their paths and their contents.

    The notebook, a module of its own or a shared module imports them. A template is copied with its module.
    """
    cells = nbformat.read(path, as_version=4).cells
    shared = {module.stem: module for module in sorted((home() / SHARED).glob("*.py"))}
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    sources += [module.read_text("utf-8") for module in path.parent.glob("*.py") if module.stem not in shared]
    copies = {}
    while imported := set(shared) & set(IMPORTED.findall("\n".join(sources))):
        for name in sorted(imported):
            sources.append(shared.pop(name).read_text("utf-8"))
            for source in sorted((home() / SHARED).glob(f"{name}.*")):
                copies[path.with_name(source.name)] = _copy_of(source)
    return copies


def _copy_of(source: Path) -> bytes:
    """Return a file's content below a first line that says what it is a copy of."""
    where = source.relative_to(home().parent).as_posix()
    line = COMMENT[source.suffix].format(f"Copy of {where}: edit that file, then run `autograder release`.")
    return f"{line}\n".encode() + source.read_bytes()


def tidied(notebook: NotebookNode) -> NotebookNode:
    """Remove what differs by run or machine, except RUNNING; state the minutes anew. Return the notebook."""
    for cell in [cell for cell in notebook.cells if cell.cell_type == "code" and TOOLS.search(cell.source)][:1]:
        cell.outputs = []
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.pop("checksum", None)
    notebook.metadata = NotebookNode(
        kernelspec={"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        language_info={"name": "python"},
        **{key: value for key, value in notebook.metadata.items() if key == RUNNING},
    )
    notebook.cells[0].source = opening(notebook)
    return notebook
