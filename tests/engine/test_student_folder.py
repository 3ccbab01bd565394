"""Tests of unexpected files in students' folders: no link is followed, and every student gets a mark."""

import copy
import json
import shutil

import nbformat
import pytest
from class_copies import BEST, NAME, notebook
from conftest import ROOT, python, read
from special_files import KINDS

from autograder.nbgrader_plugin.intake import repair, student_folder
from autograder.nbgrader_plugin.intake.repair import KEY, grade_id, load

RELEASE = read("course", NAME)
GREEDY = {
    "many empty lists": lambda: b'{"nbformat": 4, "cells": [' + b"[]," * 40_000_000 + b"[]]}",
    "many empty objects": lambda: b'{"nbformat": 4, "cells": [' + b"{}," * 20_000_000 + b"{}]}",
    "a long source": lambda: json.dumps({"nbformat": 4, "cells": [{"source": "x" * 50_000_000, **CODE}]}).encode(),
}
CODE = {"cell_type": "code", "metadata": {}}
LOAD = """
import sys, nbformat
from pathlib import Path
from autograder.nbgrader_plugin.intake.repair import load
found = load(Path(sys.argv[1]), nbformat.read(sys.argv[2], as_version=4))
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2]  # ru_maxrss is that of the process it came from
print(int(peak.split()[0]) // 1024, found.metadata.autograder.problem)
"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "submitted" / "ada" / NAME
    made.mkdir(parents=True)
    return made


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.ipynb"
    path.write_text(json.dumps(notebook()))
    return path


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
    path.rename(folder / "homework.ipynb")
    assert "no notebook" in load(path, RELEASE).metadata[KEY]["problem"]
    with pytest.raises(student_folder.NotAFile, match="a device"):
        student_folder.read(student_folder.Path("/dev/zero"), 2**20)


@pytest.mark.parametrize("part", ["ada", NAME])
def test_a_link_in_place_of_a_folder_is_not_followed(folder, tmp_path, part):
    real = tmp_path / "elsewhere" / NAME
    real.mkdir(parents=True)
    (real / f"{NAME}.ipynb").write_text(json.dumps(notebook()))
    shutil.rmtree(folder.parent)
    if part == "ada":
        folder.parent.symlink_to(real.parent)
    else:
        folder.parent.mkdir()
        folder.symlink_to(real)
    assert "a symbolic link" in student_folder.inspect_folder("ada", folder).whole


def test_files_themselves_are_taken_up_to_a_bound_and_no_linked_folder(folder, tmp_path, monkeypatch):
    (folder / f"{NAME}.ipynb").write_text("{}")
    (folder / "timestamp.txt").write_text("2026-01-31 12:00:00.123456 UTC\n")
    (folder / "own").mkdir()
    (folder / "own" / "Daten für mich.csv").write_text("1")
    found = student_folder.inspect_folder("ada", folder)
    assert found.troubles == []
    assert len(found.taken) == 3
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "marks.csv").write_text("secret")
    (folder / "data").symlink_to(tmp_path / "private")
    (folder / "\x1b[31m").write_text("its name cannot be written")
    deep = folder.joinpath(*"abcdefghijklmnopqrstuvwxyz")
    deep.mkdir(parents=True)
    (deep / "too deep").write_text("1")
    student_folder.copy(student_folder.inspect_folder("ada", folder), tmp_path / "copy")
    copied = {path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*")}
    assert copied == {f"{NAME}.ipynb", "timestamp.txt", "own", "own/Daten für mich.csv"}
    for name in ("data", "\x1b[31m"):
        (folder / name).unlink()
    (folder / "timestamp.txt").write_text(" ")  # says no time
    assert "timestamp.txt" in student_folder.inspect_folder("ada", folder).taken
    monkeypatch.setattr(student_folder, "MAX_FILES", 20)
    for number in range(30):
        (folder / f"{number}.csv").write_text("1")
    found = student_folder.inspect_folder("ada", folder)
    assert len(found.taken) == 20
    assert f"{NAME}.ipynb" in found.taken
    assert len(found.troubles) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00",
        b"2026-01-01" * 1000,
        b"99999999999-01-01 00:00:00 UTC",
        b"2026-01-01 00:00:00 99999999999999999999",
    ],
    ids=["bytes", "too long", "a year too far", "a zone too far"],
)
def test_a_time_stamp_that_is_none_is_left_out_and_said(folder, content):
    (folder / "timestamp.txt").write_bytes(content)
    found = student_folder.inspect_folder("ada", folder)
    assert "no point in time" in found.troubles[0]
    assert found.taken == []


@pytest.mark.parametrize("path", ["timestamp.txt/x", "tools.py/x", "data/table.csv/x/y", "data"])
def test_a_folder_in_place_of_a_file_or_the_reverse_is_left_out(folder, path):
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("1")
    found = student_folder.inspect_folder("ada", folder, {"tools.py", "data/table.csv"})
    assert found.taken == []
    assert "only files themselves" in found.troubles[0]


@pytest.mark.parametrize("name", ["new\nline", "\x1b[31mred", "\udcff", "{brace}"])
def test_what_cannot_be_a_students_name_is_said_in_print(name):
    assert student_folder.invalid_name(name)
    assert student_folder.shown(name).isprintable()


@pytest.mark.long
@pytest.mark.parametrize("name", GREEDY)
def test_reading_a_greedy_notebook_is_bounded(folder, name):
    path = folder / f"{NAME}.ipynb"
    path.write_bytes(GREEDY[name]())
    output = python("-c", LOAD, str(path), str(ROOT / "course" / NAME / f"{NAME}.ipynb")).stdout
    memory, problem = output.split(" ", 1)
    assert int(memory) < 700
    assert "than is read" in problem or "not a notebook" in problem or "None of the assignment" in problem


def test_thousands_of_cells_and_pictures_pasted_into_text_are_bounded():
    submitted, notes = notebook(), []
    picture = "![](data:image/png;base64," + "A" * 900_000 + ")"
    submitted.cells += [nbformat.v4.new_markdown_cell(picture) for _ in range(30)]
    submitted.cells += [nbformat.v4.new_code_cell(f"x{n} = {n}") for n in range(10_000)]
    submitted.cells += [copy.deepcopy(submitted.cells[3]) for _ in range(3_000)]
    for cell in submitted.cells:
        cell.grade_id = grade_id(cell)
    mended = repair.repair(submitted, RELEASE, notes)
    assert len(mended.cells) < repair.MAX_CELLS + 200
    assert sum(len(cell.source) for cell in mended.cells) < 2 * repair.MAX_TEXTS
    assert notes[0].kind is repair.Kind.CUT
    assert {grade_id(cell): cell.source for cell in mended.cells}["SelfAttention"] == BEST["SelfAttention"]
