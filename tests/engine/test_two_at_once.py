"""Tests of two nbgrader processes that start at the same time, on a gradebook that does not exist yet."""

import shutil

import nbgrader.api
import pytest
from nbgrader.api import Gradebook
from two_processes import STUDENTS, both

from autograder.nbgrader_plugin.gradebook.locking import locked, share_engines

ROUNDS = 30


@pytest.mark.slow
def test_both_may_make_the_tables_and_the_same_students(tmp_path):
    urls = [f"sqlite:///{tmp_path}/{number}.db?timeout=60" for number in range(ROUNDS)]
    Gradebook(urls[0]).close()
    for number in range(1, ROUNDS - 3):  # the last three have no tables yet
        shutil.copy(tmp_path / "0.db", tmp_path / f"{number}.db")
    assert both(urls) == [""] * 2 * ROUNDS
    for url in urls:
        with Gradebook(url, "transformers") as gradebook:
            assert [student.id for student in gradebook.students] == STUDENTS
    with locked(url), locked(url):  # a turn may be taken within a turn
        pass


def test_a_gradebook_that_is_closed_leaves_others_of_its_address_open(tmp_path, monkeypatch):
    monkeypatch.setattr(nbgrader.api, "create_engine", nbgrader.api.create_engine)  # as it was, afterwards
    share_engines()
    url = f"sqlite:///{tmp_path}/gradebook.db"
    with Gradebook(url, "transformers") as outer:
        outer.add_student("amina")
        with Gradebook(url, "transformers") as inner:
            assert inner.engine is outer.engine
            assert [student.id for student in inner.students] == ["amina"]
        outer.add_student("bela")
    (tmp_path / "gradebook.db").unlink()
    with Gradebook(url, "transformers") as anew:
        assert anew.engine is outer.engine
        assert not anew.students, "another file by the same name"
    with Gradebook(f"sqlite:///{tmp_path}/other.db", "transformers") as other:
        assert other.engine is not anew.engine
