"""Finds what somebody wrote in files that a command is about to write again, and writes files whole.

What a command wrote is known by a manifest: of each file the hash of its bytes, of a notebook the hashes of its cells'
texts. Whatever is not in the manifest, somebody wrote.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

LEFT = frozenset({".ipynb_checkpoints", "__pycache__", ".DS_Store"})  # by those who opened the files
MANIFESTS = ".released"  # the folder in a release with the manifests of its parts
MOST = 5  # files that one sentence names

Manifest = Mapping[str, list[str]]  # by a file's path from its folder: hashes


class Written(Exception):
    """The sentence says what somebody wrote where a command was about to write, and what to do."""


# --- what is there ----------------------------------------------------------------------------------------------------


def files(place: Path, left: frozenset[str] = LEFT) -> Iterator[Path]:
    """Find the files below a folder (or the file itself), in order, without what programs leave in passing."""
    if place.is_file():
        yield place
        return
    for path in sorted(place.rglob("*")):
        if path.is_file() and not left & {*path.relative_to(place).parts}:
            yield path


def hashes(content: bytes, notebook: bool) -> list[tuple[str, str]]:
    """Return the hash of a file; of a notebook that can be read, of each cell's text, with the cell's name.

    Outputs, metadata and the order of cells do not count: they change where a notebook is only run.
    """
    if notebook:
        try:
            return list(_cells(json.loads(content)["cells"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # no notebook: its bytes count
    return [("", hashlib.sha256(content).hexdigest())]


def _cells(cells: list[dict]) -> Iterator[tuple[str, str]]:
    for number, cell in enumerate(cells, 1):
        text = "".join(cell["source"]).strip()
        pasted = json.dumps(cell["attachments"], sort_keys=True) if cell.get("attachments") else ""
        if text or pasted:
            name = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")
            yield name or f"cell {number}", hashlib.sha256(f"{text}\0{pasted}".encode()).hexdigest()


def hashes_of(path: Path) -> list[tuple[str, str]]:
    return hashes(path.read_bytes(), path.suffix == ".ipynb")


def manifest(folder: Path, paths: Iterable[Path]) -> dict[str, list[str]]:
    """Return the manifest of these files below a folder."""
    return {path.relative_to(folder).as_posix(): [value for _, value in hashes_of(path)] for path in paths}


def read_manifest(path: Path) -> dict[str, list[str]] | None:
    """Return the manifest that `write_manifest` left; None if there is none that can be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_manifest(path: Path, found: Manifest) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())


def written(folder: Path, paths: Iterable[Path], *known: Manifest) -> list[str]:
    """Name what somebody wrote in these files: the files, with the cells of notebooks, that no manifest knows."""
    found = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        ours = {*itertools.chain.from_iterable(one.get(name, ()) for one in known)}
        changed = [cell for cell, value in hashes_of(path) if value not in ours]
        if changed:
            cells = f" ({listed(changed)})" if any(changed) else ""
            found.append(f"{path}{cells}")
    return found


def listed(names: list[str]) -> str:
    """Return the names as one phrase, which stays short however many there are."""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more


def refuse_another(path: Path, mark: str, what: str) -> None:
    """Raise Written if there is a file at `path` without the words by which ours are known near its beginning."""
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if mark.encode() not in file.read(4096):
                raise Written(f"{path} is there and is no {what}, so it stays: name another file, or remove it")


def refuse_foreign(folder: Path, ours: Iterable[str], what: str) -> None:
    """Raise Written if a folder holds something, but none of the files by which ours are known."""
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).exists() for name in ours):
        raise Written(f"{folder} holds files and no {what}, so nothing is written there: name another folder")


# --- keeping and writing ----------------------------------------------------------------------------------------------


def keep_copies(folder: Path, paths: Iterable[Path], goal: Path) -> Path:
    """Copy files to a folder of their own below `goal`, named by the time. Returns that folder."""
    now = f"{datetime.now():%Y-%m-%dT%H-%M-%S}"
    names = itertools.chain([now], (f"{now}-{number}" for number in itertools.count(2)))
    place = next(goal / name / folder.name for name in names if not (goal / name / folder.name).exists())
    for path in paths:
        copy = place / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    return place


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a kill leaves the old one."""
    whole(path, lambda beside: beside.write_bytes(content))


def whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the file by `write`, then put it in its place: a kill leaves the old one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        write(beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
