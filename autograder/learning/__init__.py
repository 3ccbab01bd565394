"""For a learner alone: a copy of the course in which the cell below an answer marks it, with hints and solutions.

Answers run in the notebook's own process, without a sandbox and a gradebook: it is the learner's machine and code.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .hints import check, hint, mark_yourself, practise, solution

__all__ = ["check", "hint", "mark_yourself", "practise", "solution"]


def __getattr__(name: str) -> Any:
    """Import `check`, `hint` and the others on first use: the judge takes half as long as a kernel to start."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import hints

    return getattr(hints, name)


def load_ipython_extension(shell: Any) -> None:
    """Switch marking on at the first cell of a kernel that `autograder learn` has started."""

    def first_cell(info: Any) -> None:
        shell.events.unregister("pre_run_cell", first_cell)
        from .progress import copy_around

        if copy_around(Path.cwd()) is not None:
            from . import hints

            hints.before(info)

    shell.events.register("pre_run_cell", first_cell)
