"""Notebook 01."""

EXERCISES: list = []
QUESTIONS: list = []
