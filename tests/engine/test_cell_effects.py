"""Tests that a given cell is run again if the student's work depends on its effects, and only then."""

import tomllib

import pytest
from conftest import ROOT, read
from submissions import answers, mended

from autograder.judge.cell_effects import Effects
from autograder.judge.source_rules import uses
from autograder.nbgrader_plugin.intake.repair import GIVEN
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker, _answer_sources
from autograder.sample_class import filled_in
from autograder.spec.course import given_names, question_or_exercise

PROGRAMS = tomllib.loads((ROOT / "tests" / "cell_effects.toml").read_text("utf-8"))
NOTEBOOK = PROGRAMS["notebook"]


@pytest.mark.parametrize("cell", PROGRAMS["changes"])
def test_what_a_cell_changes(cell):
    assert sorted(Effects([NOTEBOOK, cell]).changed_by(cell)) == PROGRAMS["changes"][cell]


@pytest.mark.parametrize(
    ("before", "cell", "changed"),
    [
        (["optimizer = torch.optim.SGD(model.parameters(), 0.1)"], "optimizer.step()", {"optimizer", "model"}),
        (["steps = 0", "def count():\n    global steps\n    steps = steps + 1"], "count()", {"steps"}),
    ],
    ids=["an optimiser's model", "a number that a function may set"],
)
def test_what_a_cell_changes_by_what_other_cells_made(before, cell, changed):
    assert changed == Effects([NOTEBOOK, *before, cell]).changed_by(cell)


def test_functions_that_call_each_other_without_end_are_read_to_an_end():
    chain = "\n".join(f"def f{n}(x):\n    return f{n + 1}(x)" for n in range(3000))
    assert "model" in Effects([chain, "f0(model)"]).changed_by("f0(model)")


class Dry(NotebookMarker):
    """Notes which cells would be run."""

    def _run(self, index, cell):
        self.ran.append(cell)

    def _mark(self, cell, name):
        used = uses(name, _answer_sources(self.notebook))
        self._run_skipped(used | {name} | given_names(question_or_exercise(name).notebook))

    def _judge_late_answers(self):
        pass


@pytest.mark.parametrize("name", ["05-attention", "06-masking", "07-multi-head", "08-blocks", "09-gpt"])
def test_right_answers_need_the_setup_and_no_experiment(name):
    release = read("course", name)
    marker = Dry(mended(filled_in(release, answers(name)), release), None)
    marker.ran = []
    marker.run()
    given = [cell for cell in marker.ran if GIVEN in cell.metadata.get("tags", [])]
    assert 1 <= len(given) <= 3
    assert not any(".backward()" in cell.source or ".step()" in cell.source for cell in given)


def test_a_cell_too_long_to_be_cached_is_read_all_the_same():
    cell = "def double(x):\n    return 2 * x\n" + "# a comment\n" * 4_500
    assert Effects([cell]).changed_by(cell) == {"double"}
