"""Tests that the tools of the lock do to a notebook what the guide's table says, and that all answers are found."""

import copy
import json
import subprocess
import sys

import nbformat
import pytest
from conftest import ROOT, graded_only
from nbconvert.preprocessors import ClearMetadataPreprocessor, ClearOutputPreprocessor
from nbdime import merge_notebooks
from nbformat.v4 import new_output
from submissions import ANSWERS, NAME

from autograder.sample_class import filled_in
from tools.crossings.cross import TREATMENTS, _run, changes, finds_all, npm_versions, rows

FOLDER = ROOT / "tools" / "crossings"
ROWS = rows()
RELEASE = graded_only(NAME)


def pins(file):
    lines = [line.split(";")[0].strip() for line in file.read_text().splitlines() if "==" in line]
    return {name.lower().replace("-", "_"): version for name, version in (line.split("==") for line in lines)}


def formatted(notebook, folder):
    path = folder / "formatted.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--isolated", "--quiet", path], check=True)
    return json.loads(path.read_text("utf-8"))


def merged(notebook, folder):
    both, decisions = merge_notebooks(notebook, copy.deepcopy(notebook), copy.deepcopy(notebook))
    assert not any(decision.conflict for decision in decisions)
    return both


TOOLS = {
    "nbconvert, clear outputs": lambda notebook, _: ClearOutputPreprocessor().preprocess(notebook, {})[0],
    "nbconvert, clear metadata": lambda notebook, _: ClearMetadataPreprocessor().preprocess(notebook, {})[0],
    "nbformat, written as version 3": lambda notebook, _: json.loads(
        nbformat.v3.writes_json(nbformat.convert(notebook, 3))
    ),
    "ruff format": formatted,
    "nbmerge, both sides the same": merged,
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_does_to_a_notebook_what_the_guide_says(tool, tmp_path):
    before = filled_in(copy.deepcopy(RELEASE), ANSWERS)
    for number, cell in enumerate(before.cells):
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = number, [new_output("stream", text=f"{number}\n")]
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(json.dumps(TOOLS[tool](copy.deepcopy(before), tmp_path)), encoding="utf-8")
    assert changes(path, before) == ROWS[tool][1:7]
    assert finds_all(path, RELEASE, before)
    assert ROWS[tool][7] == "found"


def test_the_guide_has_a_row_for_each_treatment_and_its_locks_version():
    packages = {treatment.tool: treatment.package for treatment in TREATMENTS}
    assert list(ROWS) == list(packages)
    pinned = pins(FOLDER / "constraints.txt") | npm_versions() | {"": "–"}
    assert {tool: row[0] for tool, row in ROWS.items()} == {
        tool: pinned[name.replace("-", "_")] for tool, name in packages.items()
    }


def test_what_both_environments_run_here_has_one_version_in_both():
    ours, theirs = pins(ROOT / "constraints.txt"), pins(FOLDER / "constraints.txt")
    for tool in ("nbconvert", "nbformat", "ruff", "nbdime"):
        assert ours[tool] == theirs[tool]


def test_shell_commands_of_the_runner_say_what_failed(tmp_path):
    assert _run("echo fine", tmp_path) == ""
    assert _run("echo said; exit 3", tmp_path) == "said\n"
    assert _run("exit 3", tmp_path) == "exit status 3"
