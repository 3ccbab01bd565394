"""Notebook 09."""

EXERCISES: list = []
QUESTIONS: list = []
