"""Notebook 03."""

EXERCISES: list = []
QUESTIONS: list = []
