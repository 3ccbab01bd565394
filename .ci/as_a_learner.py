"""Answer an exercise wrongly in a learner's own copy: the cell below must name the mistake, on every system.

Needs both wheels and nothing else of this repository: python .ci/as_a_learner.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from autograder.learning.course_copy import lay_out

NAME = "05-attention"
ONE_MAXIMUM = """def softmax(scores, dim=-1):
    exps = torch.exp(scores - scores.max())
    return exps / exps.sum(dim=dim, keepdim=True)"""
MISTAKE = "The maximum of the whole tensor is subtracted"


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # Windows keeps open what a kernel had open
        lay_out(Path(place) / "learn")
        folder = Path(place) / "learn" / NAME
        notebook = nbformat.read(folder / f"{NAME}.ipynb", as_version=4)
        cells = {cell.id: cell for cell in notebook.cells}
        cells["softmax"].source = ONE_MAXIMUM
        notebook.cells = [cells[name] for name in ("learning", "ready", "setup", "softmax", "test_softmax")]
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
        said = str(cells["test_softmax"].outputs)
        start = (Path(place) / "learn" / "START.md").read_text("utf-8")
    if MISTAKE not in said or "1 of 12 tried" not in start:
        sys.exit(f"The mistake was not named: {said}")
    print("The mistake was named below the answer.")


if __name__ == "__main__":
    main()
