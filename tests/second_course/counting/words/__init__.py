"""Exercises about words."""
