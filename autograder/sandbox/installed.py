"""Find where packages are installed besides the interpreter's own folders: notebooks see these folders, read-only.

Packages of the user site (pip's `--user`), of a folder on PYTHONPATH (pip's `--target`, the modules of a
cluster), and of what a `.pth` file adds, an editable installation among them, are the marking process's to import. A
notebook may import them too; it may see nothing else in the same folders.
"""

import contextlib
import functools
import importlib.util
import json
import os
import site
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path

from .private import data_folders, homes, private_folders

FOUND = "*.dist-info"  # in every folder into which pip has installed something


@functools.cache
def paths() -> tuple[str, ...]:
    """Return the folders and modules that the sandbox shows: none that is private, or that holds a person's files."""
    private, data = private_folders(), data_folders()
    added = {*_added_by_pth(site_folders())}
    folders = [entry for entry in sys.path if entry in added or any(Path(entry or ".").glob(FOUND))]
    found = dict.fromkeys(os.path.abspath(path) for path in [*folders, *_editable()] if os.path.exists(path))
    return tuple(path for path in found if not _withheld(path, private, data))


def _withheld(path: str, private: Iterable[str], data: Iterable[str]) -> bool:
    """Return True for a path in a private folder, and for one that is a person's folder or holds one."""
    real = os.path.realpath(path)
    inside = any(f"{real}/".startswith(f"{folder}/") for folder in private)
    return real in ("/", *homes()) or inside or any(f"{folder}/".startswith(f"{real}/") for folder in data)


def site_folders() -> list[str]:
    """Return the folders whose `.pth` files Python reads when it starts."""
    return [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]


def _added_by_pth(folders: Iterable[str]) -> Iterator[str]:
    """Yield the folders that lines of `.pth` files name, as `site` puts them on the import path."""
    for folder in folders:
        for path in sorted(Path(folder).glob("*.pth")):
            with contextlib.suppress(OSError, ValueError):
                for line in path.read_text("utf-8-sig").splitlines():
                    if line.strip() and not line.startswith(("#", "import ", "import\t")):
                        yield os.path.abspath(os.path.join(folder, line.rstrip()))


def _editable() -> Iterator[str]:
    """Yield the packages and modules of editable installations, which a `.pth` may find by other ways than the path."""
    for one in distributions():
        with contextlib.suppress(Exception):  # broken metadata or a failing import hook of another package
            if json.loads(one.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable"):
                for name in (one.read_text("top_level.txt") or "").split():
                    spec = importlib.util.find_spec(name)
                    yield from (spec.submodule_search_locations or [spec.origin or ""]) if spec else ()
