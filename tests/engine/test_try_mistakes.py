"""Trying what is catalogued: what is not caught, named or told apart is said, and only what is in order is kept."""

import re
from pathlib import Path

import pytest
import typer
from class_copies import copy_of_the_course
from conftest import ROOT, python
from typer.testing import CliRunner

from autograder.cli import _chosen, app
from autograder.judge.diagnosis import fingerprint_store, fingerprints, keys
from autograder.judge.try_mistakes import Trial, _right_answers, try_exercise
from autograder.spec.catalogue import Catalogue, Misconception, replaced
from autograder.spec.course import exercise, exercises, names_in
from autograder.spec.exercise import Entry, Mistake

NAME = "causal_mask"  # the quickest to ask


def test_all_exercises_are_tried_unless_some_are_named():
    assert _chosen(None) == exercises()
    chosen = [exercise.name for exercise in _chosen(["perplexity", "08-blocks"])]
    assert chosen[0] == "perplexity"
    assert set(chosen[1:]) == names_in("08-blocks")
    with pytest.raises(typer.BadParameter, match=r"'sofmax'.* Did you mean softmax"):
        _chosen(["perplexity", "sofmax"])


class near(Misconception):
    """The next token is open."""

    edits = {"diagonal=7": "diagonal=2"}


def test_an_edit_that_changes_nothing_is_refused_with_file_and_class(monkeypatch):
    declared = exercise(NAME)
    monkeypatch.delitem(declared.__dict__, "mistakes", raising=False)
    monkeypatch.setitem(declared.__dict__, "catalogue", Catalogue([near], []))
    done = CliRunner().invoke(app, ["try-mistakes", NAME])
    assert done.exit_code == 2
    output = "".join(done.output.split()).replace("│", "")  # lines are broken within a frame
    assert re.search(r"test_try_mistakes.py:\d+:near:'diagonal=7'isnotinwhatitedits", output)


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """Try a catalogue of these mistakes, with what their variants put in the place of `diagonal=1`."""
    declared = exercise(NAME)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fingerprints, "shipped", lambda name: tmp_path / "shipped" / f"{name}.npz")

    def trial(**mistakes: tuple[str, ...]) -> Trial:
        found = [
            Mistake(name, "A sentence.", tuple(replaced(declared.source, "diagonal=1", new) for new in variants))
            for name, variants in mistakes.items()
        ]
        monkeypatch.setitem(declared.__dict__, "mistakes", found)
        monkeypatch.setitem(declared.__dict__, "sentences", {mistake.name: mistake.sentence for mistake in found})
        monkeypatch.setattr(keys, "exact_text_hash", lambda name, modules=(): "of this catalogue")
        return try_exercise(NAME)

    fingerprint_store.of.cache_clear()
    yield trial
    fingerprint_store.of.cache_clear()


def test_an_accepted_variant_is_a_fault_and_a_redundant_one_is_not(tried):
    found = tried(blocked=("diagonal=0", "diagonal=2 - 1"), ahead=("diagonal=2", "diagonal=3", "diagonal=1 + 1"))
    [fault] = found.faults
    assert fault.startswith("causal_mask, blocked: variant 2 of 2 keeps all points")
    assert found.mistakes[0].caught == 1
    assert found.mistakes[1].redundant == [3]


def test_a_mistake_that_is_caught_named_and_told_apart_has_no_fault(tried):
    found = tried(blocked=("diagonal=0",), ahead=("diagonal=2", "diagonal=3"))
    assert not found.faults
    for one, variants in zip(found.mistakes, (1, 2), strict=True):
        assert (one.variants, one.new, one.caught, one.named, one.apart) == (variants,) * 5
        assert not one.redundant
    assert found.accepted == found.right == 2 + len(exercise(NAME).alternatives)


def test_versions_that_answer_like_another_mistakes_are_said_with_its_name(tried):
    found = tried(blocked=("diagonal=0",), ahead=("diagonal=3", "diagonal=2"), again=("diagonal=1 + 1",))
    first, second = found.faults
    assert first.startswith("causal_mask, ahead: variant 2 of 2 answers every check as again does")
    assert second.startswith("causal_mask, again: variant 1 of 1 answers every check as ahead does")
    assert [one.apart for one in found.mistakes] == [1, 1, 0]


def test_a_right_answer_that_loses_marks_is_reported_with_its_line(tried, monkeypatch):
    source = replaced(exercise(NAME).source, "dtype=torch.bool", "dtype=torch.uint8")
    monkeypatch.setitem(exercise(NAME).__dict__, "alternatives", [Entry("in bytes", "", (source,))])
    [fault] = tried(blocked=("diagonal=0",)).faults
    assert fault.startswith("causal_mask: the right answer in bytes loses marks (True exactly above the diagonal: ")


def test_the_library_equivalent_may_use_what_is_banned():
    assert exercise("softmax").ban
    assert {loss for _, loss in _right_answers(exercise("softmax"))} == {""}


@pytest.fixture
def copy(tmp_path) -> Path:
    """Return a checkout of the course with one notebook, in which exercises may be changed."""
    root = copy_of_the_course(tmp_path / "copy")
    (root / "solutions" / "06-masking").symlink_to(ROOT / "solutions" / "06-masking")
    return root


@pytest.mark.slow
def test_a_mistake_that_answers_like_another_is_refused(copy):
    file = copy / "transformer_exercises" / "fingerprints" / f"{NAME}.npz"
    before = file.read_bytes()
    status, output = tried_with(copy, AHEAD)
    assert status == 1
    assert "causal_mask, ahead: variant 1 of 1 answers every check as one_step_ahead does" in output
    assert file.read_bytes() == before


@pytest.mark.slow
def test_a_mistake_is_added_by_one_class_and_one_command(copy):
    file = copy / "transformer_exercises" / "fingerprints" / f"{NAME}.npz"
    status, output = tried_with(copy, NEAR)
    assert status == 0, output
    [row] = [line.split() for line in output.splitlines() if line.split()[:1] == ["near_future_open"]]
    assert row == ["near_future_open", "1", "1", "1", "1", "1"]
    assert "near_future_open" in fingerprints.read(file, keys.results_key(NAME)).names


AHEAD = '''

class ahead(Misconception):
    """The next token is open."""

    edits = {"diagonal=1": "diagonal=1 + 1"}
'''
NEAR = '''

class near_future_open(Misconception):
    """Only far tokens are blocked."""

    edits = {"diagonal=1": "diagonal=T // 2"}
'''


def tried_with(copy: Path, entry: str) -> tuple[int, str]:
    path = Path("transformer_exercises", "masking", f"{NAME}_mistakes.py")
    (copy / path).write_text((ROOT / path).read_text("utf-8") + entry, "utf-8")
    command = ("-m", "autograder.cli", "try-mistakes", NAME)
    done = python(*command, cwd=copy, path=copy)
    return done.returncode, done.stdout + done.stderr
