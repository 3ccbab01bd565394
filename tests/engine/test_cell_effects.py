"""Tests that a given cell is run again if the student's work depends on its effects, and only then."""

from __future__ import annotations

import nbformat
import pytest
from conftest import read, with_hidden_tests
from test_marking import marked_against, with_given_cells

from autograder.judge.cell_effects import Effects
from autograder.judge.source_rules import uses
from autograder.nbgrader_plugin.intake.repair import GIVEN, grade_id, repair
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker, _answer_sources
from autograder.sample_class import filled_in
from autograder.spec.course import exercises, given_names, question_or_exercise, questions

NOTEBOOK = """
import copy
import heapq
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

RATE, NAME = 0.1, "a"

def show(fig, alt):
    fig.savefig("x.png")

def heat_map(ax, values, title):
    values = np.asarray(values)
    ax.imshow(values)
    for i, j in np.ndindex(*values.shape):
        ax.text(j, i, f"{values[i, j]:.1f}")

def entropy(counts):
    p = counts / counts.sum()
    return -torch.special.xlogy(p, p).sum().item()

def by_method(thing):
    thing.train()

def by_writing(values, at):
    values[at] = 0

def by_a_part(model):
    first = model.layers[0]
    first.weight.zero_()

def by_a_loop(parts):
    for number, part in enumerate(parts):
        part.add_(number)

def by_another(thing, other):
    by_method(other)

def by_itself(items, depth):
    return by_itself(items, depth - 1) if depth else items.append(1)

def by_optimiser(model):
    optimizer = torch.optim.SGD(model.parameters())
    optimizer.step()

def by_a_copy(model):
    model = copy.deepcopy(model)
    return model

def of_the_notebooks():
    state["a"] = 1

def applied(function):
    return function()

class Holder:
    def __init__(self, config, started):
        self.size = config.size
        started.append(1)

    def cumsum(self, x):
        self.last = x
"""


@pytest.mark.parametrize(
    ("cell", "changed"),
    [
        ("unknown(model)", {"model"}),
        ("unknown(a, *b, c=d, **e)", set("abde")),
        ("unknown([a, (b, {c})], {1: d})", set("abcd")),
        ("unknown(model.layers[0])", {"model"}),
        ("trainer.fit(model)", {"trainer", "model"}),
        ("print(a, len(b), sorted(c), max(d, key=e))", set()),
        ("torch.softmax(a, -1) + F.relu(b) + nn.Linear(2, 2)(c)", set()),
        ("nn.init.zeros_(w)\nheapq.heappush(heap, 1)\nnp.random.shuffle(xs)", {"w", "heap", "xs"}),
        ("ax.plot(xs, ys)\nax.set(title=t)\nshow(fig, alt)", {"ax", "fig"}),
        ("heat_map(ax, weights, title)", {"ax"}),
        ("entropy(counts)", set()),
        ("words.index(w)\ny = x.softmax(-1)\nlegs.get(k)", {"y"}),
        ("model.to(device)\nmodel.train()\nitems.sort()\nw.zero_()", {"model", "items", "w"} | {"device"}),
        ("by_method(a)", {"a"}),
        ("by_writing(a, b)", {"a"}),
        ("by_writing(at=a, values=b)", {"b"}),
        ("by_writing(*a)", {"a"}),
        ("by_a_part(a)", {"a"}),
        ("by_a_loop(a)", {"a"}),
        ("by_another(a, b)", {"b"}),
        ("by_itself(a, b)", {"a"}),
        ("by_optimiser(a)", {"a"}),
        ("by_a_copy(a)", set()),
        ("of_the_notebooks()", {"state"}),
        ("applied(of_the_notebooks)", {"state"}),
        ("Holder(a, b)", {"b"}),
        ("holder.cumsum(x)", {"holder", "x"}),
        ("unknown(RATE, NAME, torch.float64, show)", set()),
        ("pair = unknown(lambda own: F.relu(own))", {"pair"}),
        ("for layer in layers:\n    layer.train()", {"layers", "layer"}),
    ],
)
def test_what_a_cell_changes(cell, changed):
    assert Effects([NOTEBOOK, cell]).changed_by(cell) == changed


def test_an_optimiser_that_steps_in_another_cell_changes_its_model():
    cells = [NOTEBOOK, "optimizer = torch.optim.SGD(model.parameters(), 0.1)", "optimizer.step()"]
    assert Effects(cells).changed_by("optimizer.step()") == {"optimizer", "model"}


def test_a_number_that_a_function_may_set_is_no_constant():
    cells = ["steps = 0", "def count():\n    global steps\n    steps = steps + 1", "count()"]
    assert "steps" in Effects(cells).changed_by("count()")


def test_functions_that_call_each_other_without_end_are_read_to_an_end():
    chain = "\n".join(f"def f{n}(x):\n    return f{n + 1}(x)" for n in range(3000))
    assert "model" in Effects([chain, "f0(model)"]).changed_by("f0(model)")


# --- whole notebooks --------------------------------------------------------------------------------------------------

MODEL = "import torch\nfrom torch import nn\n\nprobe = nn.Linear(1, 1)"
FIT = "def fit(model):\n    with torch.no_grad():\n        model.weight.fill_(7.0)"
LOOK = "def look(model):\n    print(model.weight.shape)"


@pytest.mark.slow
def test_a_given_cell_that_passes_an_object_on_is_run_for_a_student_who_uses_it(template, short):
    release = with_given_cells(short, MODEL, FIT, LOOK, "fit(probe)", "look(probe)")
    use = "assert probe.weight.item() == 7.0\nused = True"

    def add(notebook):
        notebook.cells.append(nbformat.v4.new_code_cell(use))
        notebook.cells.append(nbformat.v4.new_code_cell("assert used\nbuilt = used"))

    _, ran = marked_against(release, template, add)
    assert {MODEL, FIT, "fit(probe)", use} <= ran
    assert "look(probe)" not in ran


def test_the_student_sees_the_model_that_the_given_cell_trained(template, short):
    release = with_given_cells(short, MODEL, FIT, "fit(probe)")
    submitted = filled_in(release, {})
    submitted.cells.append(nbformat.v4.new_code_cell("print(probe.weight.item())"))
    for cell in submitted.cells:
        cell.grade_id = grade_id(cell)
    notebook = with_hidden_tests(repair(submitted, release, []))
    NotebookMarker(notebook, template).run()
    [output] = notebook.cells[-1].outputs
    assert output.text == "7.0\n"


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
    answers = {e.name: e.source for e in exercises(name)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(name)}
    submitted = filled_in(release, answers)
    for cell in submitted.cells:
        cell.grade_id = grade_id(cell)
    marker = Dry(with_hidden_tests(repair(submitted, release, [])), None)
    marker.ran = []
    marker.run()
    given = [cell for cell in marker.ran if GIVEN in cell.metadata.get("tags", [])]
    assert 1 <= len(given) <= 3
    assert not any(".backward()" in cell.source or ".step()" in cell.source for cell in given)


def test_a_cell_too_long_to_be_cached_is_read_all_the_same():
    cell = "def double(x):\n    return 2 * x\n" + "# a comment\n" * 4_500
    assert Effects([cell]).changed_by(cell) == {"double"}
