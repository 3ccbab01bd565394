"""Extend nbgrader's Formgrader: safe pages, a marking queue, rubrics beside written answers."""
