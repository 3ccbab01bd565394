"""Notebook 08."""

EXERCISES: list = []
QUESTIONS: list = []
