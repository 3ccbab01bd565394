"""Extend nbgrader's Formgrader with safe pages, a marking queue, and rubrics next to written answers."""
