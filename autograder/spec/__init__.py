"""Declare exercises: checks and their inputs, comparisons, catalogued mistakes, and common mistakes."""
