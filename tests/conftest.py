"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
import torch

from autograder.asked.course import course
from autograder.authoring import OFFLINE

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small tensors: a second thread only costs
os.environ.update(OFFLINE)  # for the notebooks that nbval and tests run

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(path.parent.name for path in ROOT.glob("solutions/*/*.ipynb"))


@pytest.fixture(autouse=True)
def gradients_stay_on():
    """Some catalogued mistakes switch gradients off for good; here they do so for their own test only."""
    with torch.enable_grad():
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session", params=NOTEBOOKS)
def solution(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    """Each solution notebook in turn; its name is in metadata.name."""
    return read("solutions", request.param)


@pytest.fixture(scope="session", params=NOTEBOOKS)
def release(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    return read("course", request.param)


@pytest.fixture(scope="module")
def template():
    from autograder.sandbox.session import Template

    running = Template(preload=course().preload)
    yield running
    running.close()


@pytest.fixture(scope="module")
def short() -> nbformat.NotebookNode:
    """Notebook 05 without its experiments: the setup and the graded cells. Marking it takes a second."""
    notebook = read("course", "05-attention")
    notebook.cells = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id")]
    return notebook


def read(folder: str, name: str) -> nbformat.NotebookNode:
    notebook = nbformat.read(ROOT / folder / name / f"{name}.ipynb", as_version=4)
    notebook.metadata["name"] = name
    return notebook
