"""Run released notebooks as a student gets them: nothing may fail but the tests of what is not answered yet.

Needs the students' environment only (requirements.txt): python .ci/as_a_student.py 05-attention …
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

COURSE = Path(__file__).resolve().parents[1] / "course"


def failures(name: str) -> tuple[int, list[str]]:
    """Return how many tests wait for an answer, and what went wrong besides."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # Windows keeps open what a kernel had open
        folder = shutil.copytree(COURSE / name, Path(place, name))  # as handed out: the folder and nothing else
        notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
        client = NotebookClient(notebook, timeout=600, allow_errors=True, resources={"metadata": {"path": str(folder)}})
        client.execute()
    waiting, wrong = 0, []
    for cell in notebook.cells:
        for error in (output for output in cell.get("outputs", []) if output.output_type == "error"):
            if cell.metadata.get("nbgrader", {}).get("grade") and "not answered yet" in error.evalue.lower():
                waiting += 1
            else:
                wrong.append(f"{error.ename}: {error.evalue}\n  in the cell\n{cell.source}")
    return waiting, wrong


def main() -> None:
    for name in sys.argv[1:]:
        waiting, wrong = failures(name)
        print(f"{name}: {waiting} tests wait for an answer, {len(wrong)} cells fail")
        if wrong or not waiting:
            sys.exit("\n\n".join(wrong) or f"{name}: no test asked for an answer, so the notebook did not run")


if __name__ == "__main__":
    main()
