"""Tests of the ledger: what else than the submission decides whether it is marked anew."""

from importlib.metadata import version

import pytest

from autograder.cluster import ledger


@pytest.mark.parametrize("library", ["nbgrader", "torch", "tokenizers"])
def test_a_new_version_of_a_library_marks_a_class_anew(library, monkeypatch):
    """Of the engine's, and of those that the course preloads."""
    before = ledger.environment_of.__wrapped__("05-attention")
    monkeypatch.setattr(ledger.metadata, "version", lambda name: "0.0" if name == library else version(name))
    assert ledger.environment_of.__wrapped__("05-attention") != before
