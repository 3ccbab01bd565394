"""Fixtures and hooks that several test modules share."""

import contextlib
import ctypes
import functools
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

import nbformat
import nbgrader.api
import psutil
import pytest
import torch

from autograder import authoring
from autograder.judge.check_cache import shared_cache
from autograder.judge.diagnosis import fingerprint_store
from autograder.nbgrader_plugin.hidden_tests import HIDDEN
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.sandbox.session import SandboxError, Template
from autograder.spec.course import course

os.environ.setdefault("OMP_NUM_THREADS", "1")  # for small tensors a second thread only costs time,
torch.set_num_threads(1)  # and another order of summation would change the last digits
os.environ.update(authoring.environment())  # for the notebooks that nbval and tests run

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(path.parent.name for path in ROOT.glob("solutions/*/*.ipynb"))
TOP_FOLDERS = (
    "autograder",
    "transformer_exercises",
    "solutions",
    "course",
    "tests",
    "tools",
    "docs",
    "findings",
    ".ci",
)
PAGES = [  # the documents that are written for people
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / folder / "README.md" for folder in TOP_FOLDERS if folder != "docs"),
]


APART = ("test_release.py", "test_exercises.py", "test_mutants.py", "test_pasted_answers.py", "test_notebooks.py")
# Slow files that run as a whole start first; the tests that can run on any worker fill the gaps at the end
LONGEST = (
    "test_guides.py",
    "test_hub.py",
    "test_nbgrader_commands.py",
    "test_grade.py",
    "test_published_gpt2.py",
    "test_site.py",
    "test_formgrader.py",
    "test_no_loss.py",
    "test_marking.py",
    "test_mistake_costs.py",
    "test_stories.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="ask every version, and run what is marked long")


@pytest.fixture
def everything(request: pytest.FixtureRequest) -> bool:
    """Return True if every version of a mistake is tested (--all), False if one of each is."""
    return request.config.getoption("--all")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("long") and not item.config.getoption("--all"):
        pytest.skip("takes long: --all runs it")  # before its fixtures mark a class


@contextlib.contextmanager
def ends():
    """Interrupt the block after a minute of CPU time: no measure of speed, only of what grows without bound."""

    def stop(*_):
        pytest.fail("it took a minute and did not end")  # a BaseException, which the interrupted code lets through

    handler = signal.signal(signal.SIGVTALRM, stop)
    timer = signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *timer)
        signal.signal(signal.SIGVTALRM, handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file on one worker with `--dist loadgroup`: they share a template process. APART's do not."""
    rank = {name: position for position, name in enumerate((*LONGEST, None, *APART))}
    items.sort(key=lambda item: rank.get(item.path.name, rank[None]))
    for item in items:
        if item.path.name not in APART:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


def pytest_collection_finish() -> None:
    """Take what is imported and collected by now, most objects of a process, out of each search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def gradients_stay_on():
    """Switch gradients on again after each test: some catalogued mistakes switch them off for good."""
    with torch.enable_grad():
        yield


shared_cache.limit = 32 * 2**20  # answers to one exercise are asked at a time, and none again
MUCH = 64 * 2**20  # bytes by which a process may grow before it gives memory back


def resident() -> int:
    return psutil.Process().memory_info().rss


@pytest.fixture(scope="session")
def held_memory() -> dict[str, int]:
    """Return the bytes that this process held after it last gave memory back: quickly, or whatever it took."""
    return dict.fromkeys(("quickly", "wholly"), resident())


@pytest.fixture(autouse=True)
def memory_is_given_back(held_memory):
    """Return what malloc keeps between large tensors; after more growth, drop what is known of other exercises, too."""
    yield
    if resident() > held_memory["quickly"] + MUCH:
        trim()
        if resident() > held_memory["wholly"] + 2 * MUCH:
            fingerprint_store.of.cache_clear()
            gc.collect()
            trim()
            held_memory["wholly"] = resident()
        held_memory["quickly"] = resident()


def trim() -> None:
    if malloc_trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # of the GNU C library
        malloc_trim(0)


@pytest.fixture(scope="session", autouse=True)
def alembic_is_found():
    """Put alembic on PATH, because nbgrader runs it to create a gradebook, and cache its version."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        patch.setattr(nbgrader.api, "get_alembic_version", functools.cache(nbgrader.api.get_alembic_version))
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session", params=NOTEBOOKS)
def solution(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    """Return each solution notebook in turn; its name is in metadata.name."""
    return read("solutions", request.param)


@pytest.fixture(scope="session", params=NOTEBOOKS)
def release(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    return read("course", request.param)


@pytest.fixture(scope="session")
def template():
    """Yield one template process for the whole session. It restarts if a test ends it."""
    running = Template(preload=course().preload)
    yield running
    running.close()


def skip_without_sandbox(template: Template) -> None:
    """Skip where the machine has no sandbox; a sandbox that does not hold is a failure."""
    try:
        template.prove()
    except SandboxError as error:
        if "does not hold" in str(error):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def short() -> nbformat.NotebookNode:
    return graded_only("05-attention")


def graded_only(name: str) -> nbformat.NotebookNode:
    """Return a release without its experiments: only the setup and the graded cells. Marking 05 takes a second."""
    notebook = read("course", name)
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell)]
    return notebook


def python(*arguments: str, cwd: Path = ROOT, path: object = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages below `path`, and with more variables of the environment."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COURSE_CLASS")}
    environment = kept | {"PYTHONPATH": str(path)} | more
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)


def missing(text: Container[str], *words: str) -> list[str]:
    """Return which of the words a text does not contain, or a list does not."""
    return [word for word in words if word not in text]


def read(folder: str, name: str) -> nbformat.NotebookNode:
    notebook = nbformat.read(ROOT / folder / name / f"{name}.ipynb", as_version=4)
    notebook.metadata["name"] = name
    return notebook


def wait_for(condition: Callable[[], Any], seconds: float = 120.0) -> Any:
    """Return what a condition comes to, as soon as that is true."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    assert found, condition
    return found


def cell_of(notebook: nbformat.NotebookNode, name: str) -> nbformat.NotebookNode:
    """Return the one cell with this grade_id."""
    [cell] = [cell for cell in notebook.cells if grade_id(cell) == name]
    return cell


def with_hidden_tests(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Add the hidden tests to a release or a repaired submission, as the gradebook does. Return the same notebook."""
    hidden = hidden_tests(notebook.metadata["name"])
    for cell in notebook.cells:
        cell.source += hidden.get(grade_id(cell), "")
    return notebook


@functools.cache
def hidden_tests(name: str) -> dict[str | None, str]:
    return {grade_id(cell): "".join(HIDDEN.findall(cell.source)) for cell in read("solutions", name).cells}
