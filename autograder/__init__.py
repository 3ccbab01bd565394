"""Marks nbgrader assignments with a judge that runs outside the student's process.

This file imports nothing: the sandbox loads the package too, and must not load the exercises with it.
"""

__version__ = "1.0.0"


def check(name: str) -> float:
    """Mark one exercise in the calling notebook, show the rubric, and return the points."""
    import sys

    from .judge.in_notebook import check_here

    return check_here(name, sys._getframe(1).f_globals)
