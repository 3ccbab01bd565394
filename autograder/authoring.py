"""For authors: run solution notebooks and keep their outputs, without what changes from one machine to the next."""

from __future__ import annotations

import ast
import math
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
from huggingface_hub import snapshot_download
from jupyter_client.client import KernelClient
from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm.auto import tqdm

from .files import write_whole
from .spec.course import home

# Notebook 10 takes the published model where it can be had; outputs that are kept and compared come from the small one.
OFFLINE = {"HF_HUB_OFFLINE": "1", "COURSE_GPT2": "gpt2-stories"}
# Notebooks 01 and 02 take a book where it can be had. Kept outputs come from the book; tests and marking do without it.
WITHOUT_BOOK = {"COURSE_BOOK": "stories"}


class Client(NotebookClient):
    """nbclient that looks at least once a second whether a reply is there.

    Where a cell shows widgets, nbclient answers them on the socket on which it waits for the cell's reply, and may lose
    the signal that the reply has come: it then sleeps until the timeout (jupyter/nbclient, issue 312).
    """

    async def async_start_new_kernel_client(self) -> KernelClient:
        client = await super().async_start_new_kernel_client()
        client.shell_channel.get_msg = looking_again(client.shell_channel.get_msg)
        return client


def looking_again(
    get: Callable[..., Awaitable[dict[str, Any]]], every: float = 1.0
) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Waits for a message as `get` does, but in turns of so many seconds."""

    async def get_message(timeout: float | None = None) -> dict[str, Any]:
        end = time.monotonic() + (math.inf if timeout is None else timeout)
        while True:
            try:
                return await get(timeout=max(0.0, min(every, end - time.monotonic())))
            except Empty:
                if time.monotonic() >= end:
                    raise

    return get_message


def run(path: Path) -> float:
    """Execute a solution notebook in a fresh kernel and write it back. Returns the seconds it took."""
    notebook = nbformat.read(path, as_version=4)
    started = time.monotonic()
    client = Client(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}})
    client.execute(env=os.environ | OFFLINE)
    write_whole(path, text_of(tidied(notebook)))
    return time.monotonic() - started


@dataclass(frozen=True)
class Claims:
    """What a run of a notebook says of what its text claims: cells tagged `claim` that assert it, by their ids."""

    held: list[str]
    failed: dict[str, str]  # with what the assertion says
    stopped: dict[str, str]  # other cells that ended in an error: what follows from them is not to be trusted
    notebook: NotebookNode  # with its outputs


def check_claims(path: Path, environment: Mapping[str, str]) -> Claims:
    """Execute a solution notebook without writing it, its tests left out, and go on where something fails."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if not _grade_id(cell).startswith("test_")]
    client = Client(notebook, timeout=None, allow_errors=True, resources={"metadata": {"path": str(path.parent)}})
    code = sum(cell.cell_type == "code" for cell in notebook.cells)
    with tqdm(total=code, desc=path.stem, unit=" cells") as bar:
        client.on_cell_complete = lambda cell, cell_index: bar.update()
        client.execute(env=os.environ | environment)
    held: list[str] = []
    failed: dict[str, str] = {}
    stopped: dict[str, str] = {}
    for cell in notebook.cells:
        errors = [out for out in cell.get("outputs", []) if out.output_type == "error"]
        claim = "claim" in cell.metadata.get("tags", [])
        if errors:
            said = f"{errors[0].ename}: {errors[0].evalue}".strip(": ")
            (failed if claim and errors[0].ename == "AssertionError" else stopped)[cell.id] = said
        elif claim:
            held.append(cell.id)
    return Claims(held, failed, stopped, notebook)


def fetch(model: str, path: Path) -> Path:
    """A published model's files in the cache, downloaded if they are not there: those that the notebook asks for."""
    cells = nbformat.read(path, as_version=4).cells
    [wanted] = [found[1] for cell in cells if (found := re.search(r"^FILES = (\(.*\))$", cell.source, re.MULTILINE))]
    return Path(snapshot_download(model, allow_patterns=list(ast.literal_eval(wanted))))


def _grade_id(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def tidy(path: Path) -> bool:
    """Tidy a notebook without running it. Returns whether there was anything to do."""
    before = path.read_bytes()
    after = text_of(tidied(nbformat.reads(before.decode(), as_version=4)))
    if after != before:
        write_whole(path, after)
    return after != before


def text_of(notebook: NotebookNode) -> bytes:
    """Return the file of a notebook, as nbformat writes it."""
    return (nbformat.writes(notebook).rstrip("\n") + "\n").encode()


def put_beside(path: Path) -> list[Path]:
    """Write beside a solution notebook the course's own modules that it imports. Returns the files that changed."""
    source = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    changed = []
    for module in sorted((home() / "handout" / "beside").glob("*.py")):
        if re.search(rf"^\s*(?:from|import) {module.stem}\b", source, re.MULTILINE):
            for file in module.parent.glob(f"{module.stem}.*"):
                goal = path.with_name(file.name)
                if not goal.exists() or goal.read_bytes() != file.read_bytes():
                    write_whole(goal, file.read_bytes())
                    changed.append(goal)
    return changed


def tidied(notebook: NotebookNode) -> NotebookNode:
    """Without times of execution, widget states and versions of the kernel: they would make every run a change."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.pop("checksum", None)
    notebook.metadata = NotebookNode(
        kernelspec={"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        language_info={"name": "python"},
    )
    return notebook
