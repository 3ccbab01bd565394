"""Tests that the tools of the lock do to a notebook what the guide's table says, and that all answers are found."""

import ast
import copy
import json
import re
import subprocess
import sys

import nbformat
import pytest
from conftest import ROOT, graded_only
from nbconvert.preprocessors import ClearMetadataPreprocessor, ClearOutputPreprocessor
from nbdime import merge_notebooks
from nbformat.v4 import new_output
from submissions import ANSWERS, NAME

from autograder.nbgrader_plugin.intake.repair import grade_id, load
from autograder.sample_class import filled_in

PAGE = (ROOT / "docs" / "what-tools-do-to-notebooks.md").read_text("utf-8")
ROWS = {row[0]: row[1:] for row in re.findall("^" + r"\| ([^|]+) " * 9 + r"\|$", PAGE, re.MULTILINE)}
LOCK = dict(
    line.split(";")[0].strip().split("==")
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if "==" in line
)
RELEASE = graded_only(NAME)


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


def program(source):
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:  # a written answer
        return source.strip()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_does_to_a_notebook_what_the_guide_says(tool, tmp_path):
    before = filled_in(copy.deepcopy(RELEASE), ANSWERS)
    for number, cell in enumerate(before.cells):
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = number, [new_output("stream", text=f"{number}\n")]
    after = TOOLS[tool](copy.deepcopy(before), tmp_path)
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(json.dumps(after), encoding="utf-8")
    read = nbformat.read(path, 4)
    cells = after["worksheets"][0]["cells"] if "worksheets" in after else after["cells"]
    ids = [cell.get("id") for cell in cells] == [cell.id for cell in before.cells]
    for cell in read.cells:
        cell.metadata.pop("collapsed", None)  # a field of format 3
    metadata = [cell.metadata for cell in read.cells] == [cell.metadata for cell in before.cells]
    texts = [cell.source for cell in read.cells] == [cell.source for cell in before.cells]
    outputs = [cell.get("outputs") for cell in read.cells] == [cell.get("outputs") for cell in before.cells]
    found = {grade_id(cell): program(cell.source) for cell in load(path, RELEASE).cells}
    right = {grade_id(cell): program(cell.source) for cell in before.cells}
    answers = all(found[name] == right[name] for name in ANSWERS)
    assert list(ROWS[tool][1:7]) == [
        "kept" if ids else "lost",
        "kept" if metadata else "lost",
        "kept" if texts else "formatted",
        "kept" if outputs else "lost",
        f"{after['nbformat']}.{after['nbformat_minor']}",
        "found" if answers else "lost",
    ]


def test_the_guide_names_the_locks_versions_of_the_tools_that_are_run():
    packages = {"nbconvert": "nbconvert", "nbformat": "nbformat", "ruff": "ruff", "nbmerge": "nbdime"}
    named = {tool: ROWS[tool][0] for tool in TOOLS}
    assert named == {tool: LOCK[packages[re.split("[ ,]", tool)[0]]] for tool in TOOLS}
