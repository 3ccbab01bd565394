"""Notebook 04."""

EXERCISES: list = []
QUESTIONS: list = []
