"""Tests of unexpected files in students' folders: no link is followed, and every student gets a mark."""

from __future__ import annotations

import copy
import json
import os
import shutil
import socket
import subprocess
import sys

import nbformat
import pytest
from conftest import ROOT, read
from nbgrader.api import Gradebook

from autograder.nbgrader_plugin.intake import repair, student_folder
from autograder.nbgrader_plugin.intake.repair import KEY, grade_id, load
from autograder.sample_class import filled_in
from autograder.spec.course import exercises, in_notebook, questions

NAME = "05-attention"
RELEASE = read("course", NAME)
BEST = {e.name: e.source for e in exercises(NAME)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(NAME)}
FULL = sum(declared.points for declared in in_notebook(NAME))


def answered():
    filled = filled_in(RELEASE, BEST)
    filled.cells = [cell for cell in filled.cells if grade_id(cell)]
    filled.metadata.pop("name", None)
    return filled


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "submitted" / "ada" / NAME
    made.mkdir(parents=True)
    return made


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.ipynb"
    path.write_text(json.dumps(answered()))
    return path


def make_link(path, secret):
    path.symlink_to(secret)


def make_hard_link(path, secret):
    path.hardlink_to(secret)


def make_pipe(path, secret):
    os.mkfifo(path)


def make_socket(path, secret):
    with socket.socket(socket.AF_UNIX) as s:
        here = os.getcwd()
        os.chdir(path.parent)
        s.bind(path.name)
        os.chdir(here)


KINDS = {
    "a symbolic link": make_link,
    "a hard link": make_hard_link,
    "a named pipe": make_pipe,
    "a socket": make_socket,
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_not_opened(folder, secret, kind):
    path = folder / f"{NAME}.ipynb"
    KINDS[kind](path, secret)
    with pytest.raises(student_folder.NotAFile):
        student_folder.read(path, 2**20)
    problem = load(path, RELEASE).metadata[KEY]["problem"]
    assert "only files themselves" in problem or "cannot be read" in problem
    found = student_folder.inspect_folder("ada", folder)
    assert kind in found.refused[f"{NAME}.ipynb"]
    assert found.taken == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_under_another_name_must_be_a_file_too(folder, secret, kind):
    KINDS[kind](folder / "homework.ipynb", secret)
    assert "no notebook" in load(folder / f"{NAME}.ipynb", RELEASE).metadata[KEY]["problem"]


def test_a_device_is_not_opened(folder):
    with pytest.raises(student_folder.NotAFile, match="a device"):
        student_folder.read(student_folder.Path("/dev/zero"), 2**20)


@pytest.mark.parametrize("part", ["ada", NAME])
def test_a_link_in_place_of_a_folder_is_not_followed(folder, tmp_path, part):
    real = tmp_path / "elsewhere" / NAME
    real.mkdir(parents=True)
    (real / f"{NAME}.ipynb").write_text(json.dumps(answered()))
    shutil.rmtree(folder.parent)
    if part == "ada":
        folder.parent.symlink_to(real.parent)
    else:
        folder.parent.mkdir()
        folder.symlink_to(real)
    assert "a symbolic link" in student_folder.inspect_folder("ada", folder).whole


def test_a_link_to_a_folder_of_data_is_not_followed(folder, tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "marks.csv").write_text("secret")
    (folder / "data").symlink_to(tmp_path / "private")
    (folder / "own").mkdir()
    (folder / "own" / "data.csv").write_text("1")
    found = student_folder.inspect_folder("ada", folder)
    assert found.taken == ["own/data.csv"]
    student_folder.copy(found, tmp_path / "copy")
    assert [str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")] == [
        "own",
        "own/data.csv",
    ]


STAMPS = {
    "garbage": b"yesterday, honestly",
    "bytes": b"\xff\xfe\x00",
    "too long": b"2026-01-01" * 1000,
    "a year too far": b"99999999999-01-01 00:00:00 UTC",
    "a zone too far": b"2026-01-01 00:00:00 99999999999999999999",
}


@pytest.mark.parametrize("content", STAMPS.values(), ids=STAMPS)
def test_a_time_stamp_that_is_none_is_left_out_and_said(folder, content):
    (folder / "timestamp.txt").write_bytes(content)
    found = student_folder.inspect_folder("ada", folder)
    assert "no point in time" in found.troubles[0]
    assert found.taken == []


def test_an_ordinary_submission_has_no_troubles(folder):
    (folder / f"{NAME}.ipynb").write_text("{}")
    (folder / "timestamp.txt").write_text("2026-01-31 12:00:00.123456 UTC\n")
    (folder / "Daten für mich.csv").write_text("1")
    found = student_folder.inspect_folder("ada", folder)
    assert found.troubles == []
    assert len(found.taken) == 3


def test_of_a_flood_of_files_a_bounded_part_is_taken(folder, monkeypatch):
    monkeypatch.setattr(student_folder, "MAX_FILES", 20)
    for number in range(30):
        (folder / f"{number}.csv").write_text("1")
    (folder / f"{NAME}.ipynb").write_text("{}")
    found = student_folder.inspect_folder("ada", folder)
    assert len(found.taken) == 20
    assert f"{NAME}.ipynb" in found.taken
    assert len(found.troubles) == 1


@pytest.mark.parametrize("name", ["new\nline", "\x1b[31mred", "\udcff", "{brace}"])
def test_what_cannot_be_a_students_name_is_said_in_print(name):
    assert student_folder.invalid_name(name)
    assert student_folder.shown(name).isprintable()


# --- notebooks made to cost -------------------------------------------------------------------------------------------

GREEDY = {
    "many empty lists": lambda: b'{"nbformat": 4, "cells": [' + b"[]," * 40_000_000 + b"[]]}",
    "many empty objects": lambda: b'{"nbformat": 4, "cells": [' + b"{}," * 20_000_000 + b"{}]}",
    "a long source": lambda: json.dumps(
        {"nbformat": 4, "cells": [{"cell_type": "code", "source": "x" * 50_000_000, "metadata": {}}]}
    ).encode(),
}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", GREEDY)
def test_reading_a_greedy_notebook_is_bounded(folder, name):
    path = folder / f"{NAME}.ipynb"
    path.write_bytes(GREEDY[name]())
    code = (
        "import resource, sys, nbformat\nfrom pathlib import Path\n"
        "from autograder.nbgrader_plugin.intake.repair import load\n"
        "release = nbformat.read(sys.argv[2], as_version=4)\nfound = load(Path(sys.argv[1]), release)\n"
        "status = Path('/proc/self/status').read_text()\n"  # ru_maxrss is that of the process it was forked from
        "memory = int(status.partition('VmHWM:')[2].split()[0]) // 1024\n"
        "seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime\n"
        "print(memory, seconds, found.metadata.autograder.problem)"
    )
    released = ROOT / "course" / NAME / f"{NAME}.ipynb"
    done = subprocess.run([sys.executable, "-c", code, str(path), str(released)], capture_output=True, text=True)
    memory, seconds, problem = done.stdout.split(" ", 2)
    assert int(memory) < 700
    assert float(seconds) < 15
    assert "than is read" in problem or "not a notebook" in problem or "None of the assignment" in problem


def test_ten_thousand_cells_of_ones_own_are_too_many():
    notebook = answered()
    notebook.cells += [nbformat.v4.new_code_cell(f"x{n} = {n}") for n in range(10_000)]
    notebook.cells += [copy.deepcopy(notebook.cells[3]) for _ in range(3_000)]
    for cell in notebook.cells:
        cell.grade_id = grade_id(cell)
    notes = []
    repaired = repair.repair(notebook, RELEASE, notes)
    assert len(repaired.cells) < repair.MAX_CELLS + 200
    assert notes[0].kind is repair.Kind.CUT
    assert {grade_id(cell): cell.source for cell in repaired.cells}["SelfAttention"] == BEST["SelfAttention"]


def test_pictures_pasted_into_text_are_bounded():
    notebook = answered()
    picture = "![](data:image/png;base64," + "A" * 900_000 + ")"
    notebook.cells += [nbformat.v4.new_markdown_cell(picture) for _ in range(30)]
    for cell in notebook.cells:
        cell.grade_id = grade_id(cell)
    repaired = repair.repair(notebook, RELEASE, [])
    assert sum(len(cell.source) for cell in repaired.cells) < 2 * repair.MAX_TEXTS


# --- nbgrader's own commands ------------------------------------------------------------------------------------------


def put(root, student, filename="05-attention.ipynb", content=None):
    path = root / "classroom" / "submitted" / student / NAME / filename
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if content is not None else json.dumps(answered()).encode())
    return path


def nbgrader(root, *command):
    environment = {key: value for key, value in os.environ.items() if key not in ("COURSE_CLASSROOM", "PYTHONPATH")}
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *command], cwd=root, capture_output=True, text=True, env=environment
    )


@pytest.mark.long
@pytest.mark.slow
def test_a_class_full_of_what_is_no_homework(tmp_path):
    root = tmp_path / "course"
    root.mkdir()
    for item in ("autograder", "transformer_exercises", "nbgrader_config.py"):
        (shutil.copytree if (ROOT / item).is_dir() else shutil.copy)(ROOT / item, root / item)
    shutil.copytree(ROOT / "solutions" / NAME, root / "solutions" / NAME)
    assert nbgrader(root, "generate_assignment", NAME).returncode == 0
    solution = root / "solutions" / NAME / f"{NAME}.ipynb"
    deserved = {}

    deserved["honest"] = FULL
    put(root, "honest")
    put(root, "honest", "timestamp.txt", b"2026-01-31 12:00:00 UTC")
    for name in ("[bold]name[x]", '<b>o\'Neil & "quotes"', ".hidden", "..dots"):
        deserved[name] = FULL
        put(root, name)
    deserved["garbage"] = FULL
    put(root, "garbage")
    put(root, "garbage", "timestamp.txt", b"garbage")
    deserved["data"] = FULL
    put(root, "data").parent.joinpath("data").symlink_to(root / "solutions")
    deserved["pipe"] = FULL
    os.mkfifo(put(root, "pipe").parent / "timestamp.txt")
    for kind in ("a symbolic link", "a hard link", "a named pipe"):
        deserved[kind] = 0
        path = put(root, kind)
        path.unlink()
        KINDS[kind](path, solution)
    deserved["linked-folder"] = 0
    put(root, "linked-folder").unlink()
    (root / "classroom" / "submitted" / "linked-folder" / NAME).rmdir()
    (root / "classroom" / "submitted" / "linked-folder" / NAME).symlink_to(solution.parent)
    deserved["linked-student"] = 0
    (root / "classroom" / "submitted" / "linked-student").symlink_to(root / "solutions")
    deserved["a file"] = 0
    (root / "classroom" / "submitted" / "a file").mkdir()
    (root / "classroom" / "submitted" / "a file" / NAME).write_text("not a folder")
    unlisted = ["new\nline", "\x1b[31mred", os.fsdecode(b"\xff\xfe")]
    for name in unlisted:
        put(root, name)

    done = nbgrader(root, "autograde", NAME)
    last = "\n".join(done.stderr.strip().splitlines()[-4:])
    assert done.returncode == 1
    assert last.count("has no mark") == 3, done.stderr
    marks = {}
    with Gradebook(f"sqlite:///{root}/classroom/gradebook.db") as gradebook:
        for submission in gradebook.assignment_submissions(NAME):
            grades = [g for n in submission.notebooks for g in n.grades if not g.name.startswith("written")]
            marks[submission.student.id] = sum(grade.auto_score for grade in grades)
    assert marks == deserved
    assert nbgrader(root, "generate_feedback", NAME).returncode == 0
    for student in deserved:
        page = (root / "classroom" / "feedback" / student / NAME / f"{NAME}.html").read_text()
        assert deserved[student] or "only files themselves" in page, student
        assert "scores.amax" not in page or deserved[student]
    for name in unlisted:
        shutil.rmtree(root / "classroom" / "submitted" / name)
    assert nbgrader(root, "autograde", NAME).returncode == 0
