"""Find the folders that no notebook may see: answer keys, checks and solutions, wherever they are installed."""

from __future__ import annotations

import functools
import importlib.util
from importlib.metadata import entry_points
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1]
GROUP = "autograder.courses"
SETTINGS = "nbgrader_config.py"  # beside a package, it marks a checkout: all of that is private


@functools.cache
def private_folders() -> tuple[str, ...]:
    """Return the folders of the engine, of every installed course, and of the checkouts in which they lie."""
    names = (point.value.partition(":")[0].partition(".")[0] for point in entry_points(group=GROUP))
    folders = [str(ENGINE)]
    for name in dict.fromkeys(names):
        spec = importlib.util.find_spec(name)
        folders += (spec.submodule_search_locations or ()) if spec else ()
    found = dict.fromkeys(Path(folder).resolve() for folder in folders)
    checkouts = [folder.parent for folder in found if (folder.parent / SETTINGS).exists()]
    return tuple(map(str, dict.fromkeys([*found, *checkouts])))
