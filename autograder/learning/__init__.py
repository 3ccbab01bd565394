"""For a learner alone: a copy of the course in which the cell below an answer marks it, with hints and solutions.

Answers run in the notebook's own process, without a sandbox and a gradebook: it is the learner's machine and code.
"""

from .notebook import check, hint, solution

__all__ = ["check", "hint", "solution"]
