"""Tests of two nbgrader processes that start at the same time, on a gradebook that does not exist yet."""

import multiprocessing
import os
import shutil
import subprocess
import sys

import nbgrader.api
import pytest
from nbgrader.api import Gradebook

from autograder.nbgrader_plugin.gradebook.locking import locked, make_ready, share_engines

ROUNDS = 30
STUDENTS = [f"student-{n}" for n in range(5)]


def run(folder, *commands):
    environment = {key: value for key, value in os.environ.items() if key not in ("COURSE_CLASSROOM", "PYTHONPATH")}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    programs = [[sys.executable, "-m", "nbgrader", *command] for command in commands]
    running = [subprocess.Popen(program, cwd=folder, env=environment, **streams) for program in programs]
    said = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(running), "\n".join(said)
    return said


def take_in(urls, barrier, outcomes):
    for url in urls:
        barrier.wait()
        try:
            make_ready(url, "transformers", STUDENTS)
            for student in STUDENTS:
                with Gradebook(url, "transformers") as gradebook:
                    gradebook.update_or_create_student(student)
            outcomes.put("")
        except Exception as problem:
            outcomes.put(f"{type(problem).__name__}: {problem}")
        barrier.wait()


def both(urls):
    context = multiprocessing.get_context("spawn")
    barrier, outcomes = context.Barrier(2), context.Queue()
    processes = [context.Process(target=take_in, args=(urls, barrier, outcomes)) for _ in range(2)]
    for process in processes:
        process.start()
    found = [outcomes.get(timeout=120) for _ in range(2 * len(urls))]
    for process in processes:
        process.join()
    return found


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
