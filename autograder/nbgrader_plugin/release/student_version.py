"""Add to a release a first cell that looks for its files, fold its tests, and leave out assertion cells."""

import ast
import re
import sys
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.preprocessors import NbGraderPreprocessor

from ...cell_counts import CLAIM
from ...spec.course import notebooks
from ..hidden_tests import refuse_unknown_names
from .glossary_links import link_glossary

NAME = "ready"  # grade_id of the first cell
LOOK = """# @title Run this cell first: it checks that everything this notebook needs is here
def look_beside(files, libraries):
    import importlib.util
    import os

    class Missing(Exception):
        def _render_traceback_(self):
            return [f"✗ {self}"]  # one sentence, and no steps that led here

    if absent := [name for name in files if not os.path.exists(name)]:
        advice = "Open it in its own folder; on Colab, upload them too (the folder icon at the left)."
        raise Missing(f"Not beside this notebook: {', '.join(absent)}. {advice}")
    if absent := " ".join(name for name in libraries if importlib.util.find_spec(name) is None):
        raise Missing(f"Not installed here: {absent}. Run %pip install {absent} in a cell, then restart the kernel.")


"""
GOES_ON = "raises-exception"  # Jupyter's tag: Run All goes on after an error in this cell
# Colab folds such cells. No colon follows the name: “coding:” in a first line declares a file's encoding (PEP 263).
TITLE = "# @title Test of {name} (run it, open it to read what is asked)\n"
PASSED = 'print("✓ {name}: all tests that you can see pass. More run when you hand in.")'
ANSWERED = 'print("● {name} is answered, and not marked yet.")'
SELDOM = {"IPython", "PIL"}  # their packages have other names and come with Jupyter and matplotlib


class StudentVersion(NbGraderPreprocessor):
    """Insert the first cell, drop assertion cells; fold tests, have them report success, let Run All pass errors."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        folder = Path(resources["metadata"]["path"])
        refuse_unknown_names(nb.cells, f"{folder.name}/{resources['metadata']['name']}.ipynb")
        if folder.name not in notebooks():  # an assignment of the instructor's own: released as nbgrader releases it
            return nb, resources
        files = [path for path in folder.iterdir() if path.suffix != ".ipynb" and path.name[0] not in "._"]
        nb.cells = [cell for cell in nb.cells if CLAIM not in cell.metadata.get("tags", [])]
        sources = [cell.source for cell in nb.cells if cell.cell_type == "code"]
        sources += [path.read_text("utf-8") for path in files if path.suffix == ".py"]
        libraries = _imported(sources) - {path.stem for path in files} - SELDOM
        answers: dict[str, str] = {}
        for cell in nb.cells:
            about = cell.metadata.get("nbgrader", {})
            if about.get("solution"):
                answers[about["grade_id"]] = cell.source
            if cell.cell_type == "code" and about.get("grade") and not about.get("solution"):
                name = about["grade_id"].removeprefix("test_")
                letter = re.match(rf"{name} = None\b", answers.get(name, ""))
                report = (ANSWERED if letter else PASSED).format(name=name)
                cell.source = f"{TITLE.format(name=name)}{cell.source.rstrip()}\n{report}"
                cell.metadata.tags = [*cell.metadata.get("tags", []), GOES_ON]
                cell.metadata.setdefault("jupyter", {})["source_hidden"] = True
                cell.metadata["cellView"] = "form"
        link_glossary(nb)
        source = f"{LOOK}look_beside(\n    {sorted(path.name for path in files)!r},\n    {sorted(libraries)!r},\n)"
        own = {"grade": False, "grade_id": NAME, "locked": True, "schema_version": 3, "solution": False, "task": False}
        folded = {"jupyter": {"source_hidden": True}, "cellView": "form", "nbgrader": own}
        nb.cells.insert(1, new_code_cell(id=NAME, source=source, metadata=folded))
        return nb, resources


def _imported(sources: list[str]) -> set[str]:
    """Return the names of the libraries that these programs import; their packages have the same names."""
    names = set()
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"autograder"}
