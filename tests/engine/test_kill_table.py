"""Tests of the table of caught mistakes, for all exercises or for a few."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from autograder.cli import _chosen, app
from autograder.spec.course import exercises, names_in


def test_all_exercises_are_in_the_table_unless_some_are_named():
    assert _chosen(None) == exercises()


def test_exercises_and_whole_notebooks_can_be_named():
    chosen = [exercise.name for exercise in _chosen(["perplexity", "08-blocks"])]
    assert chosen[0] == "perplexity"
    assert set(chosen[1:]) == names_in("08-blocks")


def test_a_name_that_is_none_is_refused_by_name():
    with pytest.raises(typer.BadParameter, match="sofmax"):
        _chosen(["perplexity", "sofmax"])


def test_the_table_holds_what_was_asked_for():
    done = CliRunner().invoke(app, ["kill-table", "perplexity"])
    assert done.exit_code == 0, done.output
    assert "perplexity" in done.output
    assert "softmax" not in done.output
