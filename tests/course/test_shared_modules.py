"""Tests that the copies of shared modules in the notebooks' folders are in step with their source."""

from fnmatch import fnmatch

import pytest
from conftest import NOTEBOOKS, ROOT

from autograder.authoring import shared_copies
from autograder.spec.course import home

SHARED = home() / "shared_modules"
COPIES = sorted(
    path
    for folder in ("solutions", "course")
    for path in ROOT.glob(f"{folder}/*/*.*")
    if (SHARED / path.name).is_file()
)


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.relative_to(ROOT).as_posix())
def test_a_copy_is_its_source_below_a_line_that_says_so(copy):
    first, rest = copy.read_bytes().split(b"\n", 1)
    assert f"Copy of {SHARED.relative_to(ROOT).as_posix()}/{copy.name}: " in first.decode()
    assert rest == (SHARED / copy.name).read_bytes(), "run `make release`"


@pytest.mark.parametrize("folder", ["solutions", "course"])
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_folder_holds_the_shared_modules_that_its_notebook_needs(name, folder):
    needed = {path.name for path in shared_copies(ROOT / "solutions" / name / f"{name}.ipynb")}
    assert {path.name for path in COPIES if path.parent == ROOT / folder / name} == needed


def test_every_copy_is_marked_as_generated():
    lines = (ROOT / ".gitattributes").read_text("utf-8").splitlines()
    generated = [line.split()[0] for line in lines if line.endswith(" linguist-generated=true")]
    paths = [copy.relative_to(ROOT).as_posix() for copy in COPIES]
    assert not [path for path in paths if not any(fnmatch(path, pattern) for pattern in generated)]
