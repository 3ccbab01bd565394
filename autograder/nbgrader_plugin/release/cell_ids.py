"""Detect that a tool has given the cells of a source notebook other ids since its last release."""

import json
from pathlib import Path
from typing import Any


def changed(source: Path, released: Path) -> tuple[int, int]:
    """Return how many cells of a source notebook have another id in its release, and how many cells it has.

    Cells are matched by grade_id, and others by text: a cell that was added, removed, split or rewritten does not
    count, nor does one without an id.
    """
    try:
        now, before = _ids(source), _ids(released)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0, 0  # not released yet, or not a notebook: nothing to compare
    return sum(before.get(key, name) != name for key, name in now.items()), len(now)


def _ids(path: Path) -> dict[str, str]:
    return {_key(cell): cell["id"] for cell in json.loads(path.read_bytes())["cells"] if "id" in cell}


def _key(cell: dict[str, Any]) -> str:
    name: str | None = cell["metadata"].get("nbgrader", {}).get("grade_id")
    return name or "".join(cell["source"]).strip()
