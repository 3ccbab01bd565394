"""Run the judge in the notebook's own process, for authors and nbval: `check("NAME")` at the end of a test cell.

This line never runs when submissions are marked; then it only names the exercise.
"""

from __future__ import annotations

import inspect
from typing import Any

from .mark import mark
from .student import in_process
from .verdict import bundle


def check_here(name: str, namespace: dict[str, Any]) -> float:
    # A copy, so that nothing the judge binds reaches the notebook.
    verdict = mark(name, in_process(dict(namespace)), [_source(namespace.get(name))])
    try:
        from IPython.display import display
    except ImportError:
        print(bundle(verdict)["text/plain"])
    else:
        display({key: value for key, value in bundle(verdict).items() if key.startswith("text/")}, raw=True)
    return verdict.earned


def _source(thing: Any) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):
        return ""
