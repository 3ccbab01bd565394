"""Find the folders that no notebook may see: answer keys, checks and solutions, wherever they are installed."""

from __future__ import annotations

import functools
import importlib.util
from importlib.metadata import entry_points
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1]
GROUP = "autograder.courses"
SETTINGS = "nbgrader_config.py"  # a folder that holds it beside a package is a checkout: all of it is private


@functools.cache
def packages() -> tuple[Path, ...]:
    """Return the folders of the engine and of every installed course."""
    names = (point.value.partition(":")[0].partition(".")[0] for point in entry_points(group=GROUP))
    folders = [str(ENGINE)]
    for name in dict.fromkeys(names):
        spec = importlib.util.find_spec(name)
        folders += (spec.submodule_search_locations or ()) if spec else ()
    return tuple(dict.fromkeys(Path(folder).resolve() for folder in folders))


def private_folders() -> list[str]:
    """Return these packages' folders, and the checkouts in which they lie."""
    checkouts = [folder.parent for folder in packages() if (folder.parent / SETTINGS).exists()]
    return list(map(str, dict.fromkeys([*packages(), *checkouts])))
