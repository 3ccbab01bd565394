"""Run the judge in the notebook's own process, for authors and nbval: `check("NAME")` at the end of a test cell.

This line never runs when submissions are marked; then it only names the exercise.
"""

from typing import Any

from .mark import mark
from .student import in_process
from .verdict import html, plain


def check_here(name: str, namespace: dict[str, Any]) -> float:
    verdict = mark(name, in_process(dict(namespace)))  # a copy: nothing the judge binds reaches the notebook
    try:
        from IPython.display import display
    except ImportError:
        print(plain(verdict))
    else:
        display({"text/plain": plain(verdict), "text/html": html(verdict)}, raw=True)
    return verdict.earned
