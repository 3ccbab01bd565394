"""What several tests share."""

from __future__ import annotations

import functools
import gc
import os
import sys
from pathlib import Path

import nbformat
import nbgrader.api
import pytest
import torch

from autograder.authoring import OFFLINE, WITHOUT_BOOK
from autograder.nbgrader_plugin.hidden_tests import HIDDEN
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.sandbox.session import SandboxError, Template
from autograder.spec.course import course

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small tensors: a second thread only costs,
torch.set_num_threads(1)  # and another order of adding up would change last digits
os.environ.update(OFFLINE | WITHOUT_BOOK)  # for the notebooks that nbval and tests run

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(path.parent.name for path in ROOT.glob("solutions/*/*.ipynb"))


APART = ("test_release.py", "test_exercises.py", "test_mutants.py", "test_pasted_answers.py", "test_notebooks.py")
# What takes long as one begins first: at the end, when a worker has nothing left, tests that go anywhere fill the other
LONGEST = (
    *("test_guides.py", "test_hub.py", "test_nbgrader.py", "test_grade.py", "test_published_gpt2.py", "test_site.py"),
    *("test_formgrader.py", "test_handed_in.py", "test_marking.py", "test_costs.py", "test_corpus.py"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="ask every version, and run what is marked long")


@pytest.fixture
def everything(request: pytest.FixtureRequest) -> bool:
    """Whether every version of a mistake is asked, or one of each."""
    return request.config.getoption("--all")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("long") and not item.config.getoption("--all"):
        pytest.skip("takes long: --all runs it")  # before its fixtures mark a class


@pytest.fixture(scope="module")
def undisturbed():
    """What other tests have left is not walked over by Python's collector while the processor's time is measured."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup`, tests of one file stay together, as those that share a template process must.

    The tests of the files named above need nothing of each other: they go wherever a worker is free.
    """
    order = {name: place for place, name in enumerate(LONGEST)} | {
        name: len(LONGEST) + 1 + place for place, name in enumerate(APART)
    }
    items.sort(key=lambda item: order.get(item.path.name, len(LONGEST)))
    for item in items:
        if item.path.name not in APART:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(autouse=True)
def gradients_stay_on():
    """Some catalogued mistakes switch gradients off for good; here they do so for their own test only."""
    with torch.enable_grad():
        yield


@pytest.fixture(scope="session", autouse=True)
def alembic_is_found():
    """nbgrader calls it as a program when it makes a gradebook; nbgrader_config.py sees to the same. Here, once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        patch.setattr(nbgrader.api, "get_alembic_version", functools.cache(nbgrader.api.get_alembic_version))
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


@pytest.fixture(scope="session")
def template():
    """One for all files: it starts anew if a test ends it."""
    running = Template(preload=course().preload)
    yield running
    running.close()


def skip_without_cage(template: Template) -> None:
    """Skip where the machine has no cage to be had; a cage that does not hold is a failure."""
    try:
        template.prove()
    except SandboxError as error:
        if "does not hold" in str(error):
            raise
        pytest.skip(str(error))


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


def with_hidden_tests(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A release, or a mended submission, whose test cells are complete, as the gradebook makes them for the marker."""
    solved = read("solutions", notebook.metadata["name"])
    hidden = {grade_id(cell): HIDDEN.findall(cell.source) for cell in solved.cells}
    for cell in notebook.cells:
        cell.source += "".join(hidden.get(grade_id(cell), []))
    return notebook
