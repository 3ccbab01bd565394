"""Notebook 07."""

EXERCISES: list = []
QUESTIONS: list = []
