"""Notebook 03: an embedding is a table look-up; similarity, neighbours, analogies; skip-gram with negative sampling."""
