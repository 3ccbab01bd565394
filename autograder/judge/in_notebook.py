"""Run the judge in the notebook's own process, for authors and nbval: `check("NAME")` at the end of a test cell.

This line never runs when submissions are marked; then it only names the exercise.
"""

import inspect
from typing import Any

from .mark import mark
from .student import in_process
from .verdict import html, plain


def source_of(answer: Any) -> str:
    """Return the source of a function or class; "" where there is none, or the answer is something else."""
    try:
        return inspect.getsource(answer)
    except (OSError, TypeError):
        return ""


def check_here(name: str, namespace: dict[str, Any]) -> float:
    source = source_of(namespace.get(name))
    verdict = mark(name, in_process(dict(namespace)), [source])  # a copy: nothing the judge binds reaches the notebook
    try:
        from IPython.display import display
    except ImportError:
        print(plain(verdict))
    else:
        display({"text/plain": plain(verdict), "text/html": html(verdict)}, raw=True)
    return verdict.earned
