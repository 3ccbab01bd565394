"""Notebook 02."""

EXERCISES: list = []
QUESTIONS: list = []
