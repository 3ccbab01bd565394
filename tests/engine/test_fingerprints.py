"""Tests of the stored answers of catalogued mistakes: always complete, never outdated, never computed twice."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

from autograder.judge.diagnosis import fingerprint_store, fingerprints, keys
from autograder.judge.diagnosis.fingerprints import FIELDS, Fingerprints
from autograder.judge.diagnosis.reply_hash import compare, reply_hash
from autograder.spec.catalogue import replaced
from autograder.spec.course import exercise, exercises

NAME = "causal_mask"  # the quickest to ask
FILL = f"""
from autograder.judge.diagnosis import keys, fingerprint_store, fingerprints
fingerprints.shipped = lambda name: fingerprints.Path("/nowhere")
sources = fingerprints.sources_of("{NAME}")[:8]
fingerprints.sources_of = lambda name: sources
compute = fingerprints.compute
def counted(name, rows):
    print(len(rows), flush=True)
    return compute(name, rows)
fingerprints.compute = counted
assert len(fingerprint_store.of("{NAME}").variants) == 8
"""


@pytest.fixture
def nothing_kept(tmp_path, monkeypatch) -> Path:
    """Keep no fingerprints yet, of a course that ships none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fingerprints, "shipped", lambda name: tmp_path / "course" / "fingerprints" / f"{name}.npz")
    fingerprint_store.of.cache_clear()
    yield tmp_path
    fingerprint_store.of.cache_clear()


@pytest.fixture
def five_variants(monkeypatch) -> list[str]:
    """Return a catalogue of five variants: few enough to be asked here and now. Tests may add to it."""
    sources = fingerprints.sources_of(NAME)[:5]
    monkeypatch.setattr(fingerprints, "sources_of", lambda name: list(sources))
    monkeypatch.setattr(fingerprints, "names_of", lambda name: ("a_mistake",) * len(sources))
    monkeypatch.setattr(keys, "exact_text_hash", lambda name, modules=(): str(hash("\n".join(sources))))
    return sources


@pytest.fixture
def asked(monkeypatch) -> list[list[int]]:
    rows: list[list[int]] = []
    compute = fingerprints.compute
    monkeypatch.setattr(
        fingerprints, "compute", lambda name, wanted: rows.append(list(wanted)) or compute(name, wanted)
    )
    return rows


def again() -> Fingerprints:
    fingerprint_store.of.cache_clear()
    return fingerprint_store.of(NAME)


def forget_files() -> None:
    for path in fingerprints.cached(NAME).parent.glob("*.npz"):
        path.unlink()


def assert_equal(one: Fingerprints, other: Fingerprints) -> None:
    assert one.variants == other.variants
    assert one.names == other.names
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.slow
def test_fingerprints_hold_what_each_variant_returns(nothing_kept, five_variants, monkeypatch):
    found = fingerprint_store.of(NAME)
    declared = exercise(NAME)
    assert found.failed.shape == (5, len(declared.checks))
    for row, source in enumerate(five_variants):
        for column, answered in enumerate(fingerprints.replies_of(declared, source)):
            assert found.failed[row, column] == answered.failed
            assert compare(reply_hash(answered.replies), found.reply_hash(row, column)) is True
    assert found.failed.any(axis=1).all()
    forget_files()
    monkeypatch.setattr(fingerprint_store, "FEW", 2)  # beyond a few, processes are started: they find the same
    assert_equal(again(), found)


def test_only_variants_that_are_not_stored_are_computed(nothing_kept, five_variants, asked):
    first = fingerprint_store.of(NAME)
    assert_equal(again(), first)
    assert asked == [[0, 1, 2, 3, 4]]
    five_variants.insert(2, replaced(exercise(NAME).source, "diagonal=1", "diagonal=3"))
    found = again()
    assert asked == [[0, 1, 2, 3, 4], [2]]
    assert found.variants == tuple(five_variants)
    assert found.failed.shape[0] == 6
    del five_variants[1]  # one is gone, and the others stand elsewhere
    five_variants.reverse()
    assert_equal(again(), found.select([5, 4, 3, 2, 0]))
    assert len(asked) == 2


def test_fingerprints_of_another_state_of_an_exercise_are_never_used(nothing_kept, five_variants, asked, monkeypatch):
    fingerprint_store.of(NAME)
    folder, old = fingerprints.cached(NAME), keys.results_key(NAME)
    in_order = fingerprints.cached(NAME, keys.exact_text_hash(NAME))
    monkeypatch.setattr(keys, "results_key", lambda name: "another")
    monkeypatch.setattr(keys, "exact_text_hash", lambda name, modules=(): "other letters")
    again()
    assert asked == [[0, 1, 2, 3, 4]] * 2
    assert fingerprints.cached(NAME) != folder
    folder.replace(fingerprints.cached(NAME))  # even where the file's name is right
    in_order.replace(fingerprints.cached(NAME, "other letters"))
    with pytest.raises(ValueError, match="another state of the exercise"):
        fingerprints.read(fingerprints.cached(NAME), "another")
    assert fingerprints.load(fingerprints.cached(NAME), "another") is None
    assert fingerprints.load(fingerprints.cached(NAME), old) is not None
    again()
    assert asked == [[0, 1, 2, 3, 4]] * 3


def test_what_the_course_ships_is_used_and_of_an_older_course_is_not(nothing_kept, five_variants, asked, monkeypatch):
    first = fingerprint_store.of(NAME)
    fingerprints.save(first, fingerprints.shipped(NAME), keys.results_key(NAME))
    forget_files()
    assert_equal(again(), first)
    assert len(asked) == 1
    assert not fingerprints.cached(NAME).exists()
    monkeypatch.setattr(keys, "environment", lambda: "python 3.99, torch 1.0")  # what is shipped is right for all
    assert_equal(again(), first)
    assert len(asked) == 1
    forget_files()
    fingerprints.save(first, fingerprints.shipped(NAME), "of an older course")
    assert_equal(again(), first)
    assert len(asked) == 2
    monkeypatch.setattr(keys, "environment", lambda: "python 4.0, torch 2.0")  # what is cached is not
    again()
    assert len(asked) == 3


@pytest.mark.parametrize(
    "broken", [lambda w: w[: len(w) // 2], lambda w: w[:-9], lambda w: b"", lambda w: b"no archive"]
)
def test_a_broken_file_is_ignored_and_replaced(nothing_kept, five_variants, asked, broken: Callable[[bytes], bytes]):
    first = fingerprint_store.of(NAME)
    folder = fingerprints.cached(NAME)
    for path in (folder, fingerprints.cached(NAME, keys.exact_text_hash(NAME))):
        path.write_bytes(broken(path.read_bytes()))
    assert fingerprints.load(folder, keys.results_key(NAME)) is None
    assert_equal(again(), first)
    assert len(asked) == 2
    assert fingerprints.load(folder, keys.results_key(NAME)) is not None


def test_a_write_that_fails_leaves_the_old_file_and_no_other(nothing_kept, five_variants, monkeypatch):
    first = fingerprint_store.of(NAME)
    key, folder = keys.results_key(NAME), fingerprints.cached(NAME)

    def half(found: Fingerprints, file, key: str, letters: str) -> None:
        file.write(b"PK half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(fingerprints, "write", half)
    with pytest.raises(OSError, match="no space"):
        fingerprints.save(first, folder, key)
    assert fingerprints.load(folder, key).variants == first.variants
    assert not list(folder.parent.glob("*.part"))


def test_the_course_ships_fingerprints_of_its_present_state():
    stale = [asked.name for asked in exercises() if fingerprint_store.unkept(asked.name)]
    assert not stale, "run `make mistakes` and commit what it writes"


def start(program: str, cache: Path) -> subprocess.Popen:
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_processes_that_need_the_same_compute_it_once(tmp_path):
    both = [start(FILL, tmp_path) for _ in range(2)]
    computed = [process.communicate(timeout=120)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(computed) == [[], ["8"]]


@pytest.mark.slow
def test_a_computation_that_was_killed_is_completed_by_the_next(tmp_path):
    slow = FILL.replace("    return compute(", "    import time; time.sleep(60)\n    return compute(")
    killed = start(slow, tmp_path)
    assert killed.stdout.readline() == "8\n"  # it has begun, and holds the lock
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not list(tmp_path.rglob("*.npz"))
    following = start(FILL, tmp_path)
    assert following.communicate(timeout=120)[0].split() == ["8"]
    assert following.returncode == 0
    for path in tmp_path.rglob("*.npz"):
        assert len(np.load(path)["failed"]) == 8
