"""Detect user edits, which no manifest of a command lists, in files to be overwritten; write files atomically.

What is about students is written for its owner only, or for the group where nbgrader's `groupshared` says so.
"""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

MODELS = "my-models"  # the folder beside a notebook in which it keeps what its reader trained
# Left by programs that opened the files, or that ran them
LEFT = frozenset({".ipynb_checkpoints", "__pycache__", ".DS_Store", MODELS})
MANIFESTS = ".released"  # the folder in a release with the manifests of its parts
MAX_NAMED = 5  # files that one sentence names

Manifest = Mapping[str, list[str]]  # hashes by a file's relative path


class WouldOverwrite(Exception):
    """Raised when a command would overwrite a user's edits. The message names them and says what to do."""


def files(top: Path, left_out: frozenset[str] = LEFT) -> Iterator[Path]:
    """Yield the files below a folder (or the file itself) in order, without those that `left_out` names."""
    if top.is_file():
        yield top
        return
    for path in sorted(top.rglob("*")):
        if path.is_file() and not left_out & {*path.relative_to(top).parts}:
            yield path


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files below a folder, by their paths in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files(folder)}


def hashes(content: bytes, notebook: bool) -> list[tuple[str, str]]:
    """Return (name, hash) of each cell's text if the file is a readable notebook, else ("", hash) of its bytes."""
    if notebook:
        try:
            return list(_cells(json.loads(content)["cells"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # not a notebook: hash its bytes
    return [("", hashlib.sha256(content).hexdigest())]


def _cells(cells: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for number, cell in enumerate(cells, 1):
        text = "".join(cell["source"]).strip()
        pasted = json.dumps(cell["attachments"], sort_keys=True) if cell.get("attachments") else ""
        if text or pasted:
            name = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")
            yield name or f"cell {number}", hashlib.sha256(f"{text}\0{pasted}".encode()).hexdigest()


def hashes_of(path: Path) -> list[tuple[str, str]]:
    return hashes(path.read_bytes(), path.suffix == ".ipynb")


def manifest_of(contents: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return the manifest of files with these contents, by their names. Notebooks' bytes count, too."""
    return {name: [hashlib.sha256(content).hexdigest()] for name, content in contents.items()}


def manifest(folder: Path, paths: Iterable[Path]) -> dict[str, list[str]]:
    return {path.relative_to(folder).as_posix(): [value for _, value in hashes_of(path)] for path in paths}


def read_manifest(path: Path) -> dict[str, list[str]] | None:
    """Return the manifest at `path`, or None if there is none that can be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_manifest(path: Path, found: Manifest) -> None:
    write_with_folders(path, (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())


def edited_by_user(folder: Path, paths: Iterable[Path], *known: Manifest) -> list[str]:
    """Return the files, with the names of notebook cells, whose content is in no manifest: a user wrote it."""
    found = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        ours = {*itertools.chain.from_iterable(one.get(name, ()) for one in known)}
        changed = [cell for cell, value in hashes_of(path) if value not in ours]
        if changed:
            cells = f" ({listed(changed)})" if any(changed) else ""
            found.append(f"{path}{cells}")
    return found


def listed(names: list[str], limit: int = MAX_NAMED) -> str:
    """Return the names as one phrase, shortened after the first `limit`."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def refuse_another(path: Path, mark: str, what: str) -> None:
    """Raise WouldOverwrite if the file at `path` is not empty and lacks `mark`, our files' mark, near its beginning."""
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if mark.encode() not in file.read(4096):
                raise WouldOverwrite(f"{path} is there and is no {what}, so it stays: name another file, or remove it")


def refuse_foreign(folder: Path, ours: Iterable[str], what: str) -> None:
    """Raise WouldOverwrite if a folder is not empty and has none of the files `ours`."""
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).exists() for name in ours):
        raise WouldOverwrite(f"{folder} holds files and no {what}, so nothing is written there: name another folder")


def keep_copies(folder: Path, paths: Iterable[Path], target: Path) -> Path:
    """Copy files to a new folder below `target`, named by the time. Return that folder."""
    now = f"{datetime.now():%Y-%m-%dT%H-%M-%S}"
    names = itertools.chain([now], (f"{now}-{number}" for number in itertools.count(2)))
    copies = next(target / name / folder.name for name in names if not (target / name / folder.name).exists())
    for path in paths:
        copy = copies / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    return copies


@contextlib.contextmanager
def all_or_nothing(folder: Path) -> Iterator[None]:
    """Make a folder, or take an empty one, for what the block writes; if the block fails, leave things as before.

    Raises WouldOverwrite if the folder is not empty.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise WouldOverwrite(f"{folder} is not empty, so nothing was written: name a new folder.")
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        if folder.is_dir():
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in made:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def write_with_folders(path: Path, content: bytes) -> None:
    """Write a file atomically, and make the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically: a kill leaves the old one."""
    replace_atomically(path, lambda temporary: temporary.write_bytes(content))


def replace_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write` on a temporary file next to `path`, then move it to `path`: a kill leaves the old one."""
    temporary = path.with_name(f".{path.name}.new")  # what a killed process left is written over
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def only_for_owner(group: bool = False) -> Iterator[None]:
    """Let the process make files and folders in the `with` block for their owner only, with `group` for the group too.

    Umask is the process's: use it where other code writes the files.
    """
    before = os.umask(0o007 if group else 0o077)
    try:
        yield
    finally:
        os.umask(before)


def private(path: Path, group: bool = False) -> None:
    """Take other users' rights to a file or folder, and its group's unless `group` says that these are the owner's.

    A folder that the group shares hands its group down, as nbgrader's do. Someone else's file stays as it is.
    """
    with contextlib.suppress(FileNotFoundError, PermissionError):
        mode = stat.S_IMODE(path.stat().st_mode)
        wanted = mode & 0o700 | ((mode & 0o700) >> 3 if group else 0)
        if group and path.is_dir():
            wanted |= stat.S_ISGID
        if mode != wanted:
            path.chmod(wanted)


def make_private(path: Path, group: bool = False) -> None:
    """Make an empty file that was its owner's only from the start, or make the one that is there so."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    private(path, group)


def write_private(path: Path, content: bytes, group: bool = False) -> None:
    """Write a file atomically that was its owner's only from the start, with `group` the group's too."""

    def write(temporary: Path) -> None:
        temporary.unlink(missing_ok=True)  # of a killed process
        make_private(temporary, group)
        temporary.write_bytes(content)

    replace_atomically(path, write)
