"""Tests of the marking cache: what besides the submission decides whether it is marked again."""

from importlib.metadata import version

import pytest

from autograder.batch import marking_cache


@pytest.mark.parametrize("library", ["nbgrader", "torch", "tokenizers"])
def test_a_new_version_of_a_library_marks_a_class_anew(library, monkeypatch):
    """Of the engine's, and of those that the course preloads."""
    before = marking_cache.environment_of.__wrapped__("05-attention")
    monkeypatch.setattr(marking_cache.metadata, "version", lambda name: "0.0" if name == library else version(name))
    assert marking_cache.environment_of.__wrapped__("05-attention") != before
