"""Tests that no release holds hidden tests or a mark scheme whose delimiter nbgrader does not know."""

import pytest
from nbformat.v4 import new_notebook
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from own_assignments import graded
from traitlets.config import Config

from autograder.nbgrader_plugin.configuration import configure, mark_with_autograder
from autograder.nbgrader_plugin.release.delimiters import RefuseDelimiters

RESOURCES = {"metadata": {"path": "source/ps1", "name": "sheet"}}


def sheet(source):
    return new_notebook(cells=[graded("test_encode", source, 1)])


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("### begin hidden tests", "BEGIN HIDDEN TESTS"),
        ("    # End Hidden Test", "END HIDDEN TESTS"),
        ("=== BEGIN MARK_SCHEME ===", "BEGIN MARK SCHEME"),
    ],
)
def test_a_delimiter_that_nbgrader_does_not_know_is_refused(line, meant):
    notebook = sheet(f"assert encode\n{line}\nassert hidden")
    with pytest.raises(NbGraderException, match=rf"^ps1/sheet\.ipynb: .*“{line.strip()}”.*“test_encode”.*{meant}\.$"):
        RefuseDelimiters().preprocess(notebook, RESOURCES)


def test_known_delimiters_an_instructors_own_and_prose_pass():
    own = Config()
    own.ClearHiddenTests.begin_test_delimeter = "begin hidden tests"
    own.ClearHiddenTests.end_test_delimeter = "end hidden tests"
    prose = "# begin hidden tests with the empty text\nassert encode"
    for config, begin, end in (
        (Config(), "###BEGIN HIDDEN TESTS", "# END HIDDEN TESTS"),
        (own, "#begin hidden tests", "#end hidden tests"),
    ):
        notebook = sheet(f"{prose}\n{begin}\nassert hidden\n{end}")
        assert RefuseDelimiters(config=config).preprocess(notebook, RESOURCES)[0] is notebook


@pytest.mark.parametrize("how", ["course", "ordinary"])
def test_a_course_and_an_ordinary_configuration_look_for_them_first(how, tmp_path):
    config = Config()
    if how == "course":
        configure(config, tmp_path)
    else:
        mark_with_autograder(config)
    first, *others = map(str, GenerateAssignment(config=config).preprocessors)
    assert "RefuseDelimiters" in first
    assert any("ClearHiddenTests" in one for one in others)
