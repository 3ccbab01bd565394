"""Add to a release a first cell that looks for its files, fold its tests, and leave out what is not for students."""

import ast
import re
import sys
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.preprocessors import NbGraderPreprocessor

from ...cell_counts import CLAIM
from ...spec.course import home, notebooks
from ..hidden_tests import refuse_unknown_names

NAME = "ready"  # grade_id of the first cell
FIRST = "# @title Run this cell first: it looks whether everything is here, and lets tests speak plainly\n\n"
FILES = """# @title Run this cell first: it looks whether this notebook's files are beside it
def look_beside(names):
    import os

    class FilesMissing(Exception):
        def _render_traceback_(self):
            return [str(self)]  # one sentence, and no steps that led here

    if absent := [name for name in names if not os.path.exists(name)]:
        advice = "Open it in its own folder; on Colab, upload them, too (the folder icon at the left)."
        raise FilesMissing(f"✗ Not beside this notebook: {', '.join(absent)}. " + advice)


"""
TOOLS = Path("handout", "beside", "notebook_tools.py")  # in the course's package
# Functions of these tools.
INSERTED = ("look_around", "_online", "plainly", "_plain", "_is_cell", "_code", "_wrapped", "text_bars")
GOES_ON = "raises-exception"  # Jupyter's tag: Run All goes on after an error in this cell
TITLE = "# @title Test of {name}: run it, open it to read what is asked\n"  # Colab folds such cells
PASSED = 'print("✓ {name}: all tests that you can see pass. More run when you hand in.")'
ANSWERED = 'print("● {name} is answered, and not marked yet.")'
NETWORK = {"transformers"}  # notebooks that import these can download files
SELDOM = {"IPython", "PIL"}  # their packages have other names and come with Jupyter and matplotlib


class StudentVersion(NbGraderPreprocessor):
    """Insert the first cell and drop claims; fold the tests, have them report success, and let Run All pass errors."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        folder = Path(resources["metadata"]["path"])
        refuse_unknown_names(nb.cells, f"{folder.name}/{resources['metadata']['name']}.ipynb")
        if folder.name not in notebooks():  # an assignment of the instructor's own: released as nbgrader releases it
            return nb, resources
        files = [path for path in folder.iterdir() if path.suffix != ".ipynb" and path.name[0] not in "._"]
        nb.cells = [cell for cell in nb.cells if CLAIM not in cell.metadata.get("tags", [])]
        imported = _imported(nb) - {path.stem for path in files}
        beside = sorted(path.name for path in files)
        answers: dict[str, str] = {}
        for cell in nb.cells:
            about = cell.metadata.get("nbgrader", {})
            if about.get("solution"):
                answers[about["grade_id"]] = cell.source
            if cell.cell_type == "code" and about.get("grade") and not about.get("solution"):
                name = about["grade_id"].removeprefix("test_")
                letter = re.match(rf"{name} = None\b", answers.get(name, ""))
                said = (ANSWERED if letter else PASSED).format(name=name)
                cell.source = f"{TITLE.format(name=name)}{cell.source.rstrip()}\n{said}"
                cell.metadata.tags = [*cell.metadata.get("tags", []), GOES_ON]
                cell.metadata.setdefault("jupyter", {})["source_hidden"] = True
                cell.metadata["cellView"] = "form"
        if TOOLS.name in beside:
            source = f"{FILES}look_beside({beside!r})"
        else:
            call = (
                "text_bars()\nget_ipython().set_custom_exc((Exception, KeyboardInterrupt), plainly)\n"
                f"look_around({sorted(imported - SELDOM)!r},\n"
                f"            {beside!r}, network={bool(NETWORK & imported)})"
            )
            source = f"{FIRST}{plain_errors()}\n\n\n{call}"
        own = {"grade": False, "grade_id": NAME, "locked": True, "schema_version": 3, "solution": False, "task": False}
        folded = {"jupyter": {"source_hidden": True}, "cellView": "form", "nbgrader": own}
        nb.cells.insert(1, new_code_cell(id=NAME, source=source, metadata=folded))
        return nb, resources


def plain_errors() -> str:
    """Return the functions of the notebook tools that the inserted cell defines."""
    source = (home() / TOOLS).read_text("utf-8")
    found = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    return "\n\n\n".join(ast.get_source_segment(source, found[name]) or "" for name in INSERTED)


def _imported(nb: NotebookNode) -> set[str]:
    """Return the names of the libraries that a notebook imports; their packages have the same names."""
    names = set()
    for source in (cell.source for cell in nb.cells if cell.cell_type == "code"):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"autograder"}
