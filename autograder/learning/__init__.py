"""For a learner alone: a copy of the course in which the cell below an answer marks it, with hints and solutions.

A notebook of that copy begins with `from autograder.learning import check, hint, solution`. Answers run in the
notebook's own process: it is the learner's machine and code. There is no sandbox, no gradebook, and nbgrader is not used.
"""

from .notebook import check, hint, solution

__all__ = ["check", "hint", "solution"]
