"""Tests that a strange cell affects only itself, and that a given cell is run if a student's work needs its effects."""

import copy

import nbformat
import pytest
from conftest import NOTEBOOKS, ends, read
from programs import cells
from submissions import ANSWERS, POINTS, answers, earned, mark, mended

from autograder.judge.cell_effects import Effects
from autograder.judge.parsing import MAX_SOURCE, parse_cell, reason_not_parsed
from autograder.judge.source_rules import defined_in, needed_by, uses
from autograder.nbgrader_plugin.intake.repair import PROVIDED, grade_id
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in

REFUSED = {  # by Python's compiler, though most of them not by its parser
    "an argument twice": "def helper(a, a):\n    return a",
    "global after use": "def helper():\n    b = 1\n    global b",
    "nonlocal without a place": "def helper():\n    nonlocal nowhere",
    "a starred import in a class": "class Helper:\n    from math import *",
    "yield in a class": "class Helper:\n    yield 1",
    "return at the top": "return 1",
    "a walrus in a comprehension": "[e := 1 for e in range(3)]",
    "two stars": "a, *b, *c = 1, 2, 3",
    "a future that is none": "from __future__ import braces",
    "an assignment to debug": "__debug__ = 1",
    "an escape that ends": "'\\N{no such letter}'",
    "a sum of 10,000 terms": "g = " + "+".join(["1"] * 10_000),
    "a chain of attributes": "h = print" + ".a" * 3_000,
    "a chain of comparisons": "i = " + " < ".join(["1"] * 5_000),
    "many lambdas": "k = " + "lambda: " * 2_000 + "1",
    "many brackets": "(" * 30_000,
    "nested blocks": "\n".join(" " * n + "if 1:" for n in range(99)) + "\n" + " " * 99 + "pass",
    "elif without end": "if 0: pass\n" + "elif 0: pass\n" * 3_000,
    "a very long string": "m = '" + "x" * 3_000_000 + "'",
    "a very long line of names": "; ".join(f"n{i} = {i}" for i in range(200_000)),
    "a null": "x = '\0'",
    "a lone surrogate": "x = '\ud800'",
    "shell commands without end": "x = !true\n" * 2_000,
    "calls by a comma without end": "," * 3_000 + "zr" * 3_000,
    "questions without end": "x?\n" * 600 + "case x:\n" * 600,
    "magics in what is no Python": "case x:\n%a\n" * 600,
    "an enormous number": "x = " + "9" * 50_000,
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_reading_a_strange_cell_ends_and_stops_nothing(source):
    sources = [source, ANSWERS["softmax"]]
    uses("softmax", sources[1:])  # reads the rooms, once in a process
    with ends():
        parse_cell(source)
        effects = Effects(sources)
        for one in sources:
            effects.changed_by(one), needed_by(one), defined_in(one)
        uses("softmax", sources)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4))
def test_a_refused_cell_costs_that_cell(template, short, first):
    sources = [source.replace("\ud800", "?") for source in list(REFUSED.values())[first::4]]
    assert len(sources) <= len(ANSWERS)
    _, verdicts = mark(template, short, ANSWERS, extra=dict(zip(ANSWERS, sources, strict=False)))
    assert earned(verdicts) == POINTS


def test_an_answer_that_cannot_be_read_costs_its_exercise(template, short):
    strange = {
        "simple_attention": "a sum of 10,000 terms",
        "scaled_dot_product_attention": "a very long string",
        "SelfAttention": "many brackets",
    }
    answers = {name: f"{ANSWERS[name]}\n{REFUSED[strange[name]]}" for name in strange}
    hidden = "softmax = torch.softmax\n#".ljust(MAX_SOURCE + 1)  # what is not read is not run: no rule would see it
    assert reason_not_parsed(hidden[:-1]) is None
    notebook, verdicts = mark(template, short, ANSWERS | answers | {"softmax": hidden})
    assert earned(verdicts) == POINTS | dict.fromkeys([*strange, "softmax"], 0.0)
    assert reason_not_parsed(hidden) in str(notebook)
    assert all(verdicts[name].remark for name in strange)


@pytest.mark.parametrize("end", ["def helper(a, a): pass", "files = !true", "len?", "%time 1"])
def test_a_line_that_is_no_python_hides_nothing_from_the_rules(end):
    assert "softmax" in defined_in("softmax = torch.softmax\n" + end)


def test_every_cell_of_the_course_is_read(solution):
    """And a long cell with one magic is, however often it divides and compares."""
    assert parse_cell("%time pass\n" + "if a % b != c:\n    print('%d' % a, a // b)\n" * 300) is not None
    for cell in solution.cells:
        assert reason_not_parsed(cell.source) is None
        assert cell.cell_type != "code" or parse_cell(cell.source) is not None


(_, NOTEBOOK), *BESIDE = cells("cell_effects")


@pytest.mark.parametrize(("title", "cell"), BESIDE, ids=[cell for _, cell in BESIDE])
def test_what_a_cell_changes(title, cell):
    changed = Effects([NOTEBOOK, cell]).changed_by(cell)
    assert title == f"changes {' '.join(sorted(changed)) or 'nothing'}"


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


def given_cells_needed(submitted, release):
    """Return the given cells that are run in marking, none of which trains a model."""
    notebook = mended(submitted, release)
    needed = [notebook.cells[index] for index in sorted(NotebookMarker(notebook, None)._needed_cells())]
    assert all(PROVIDED in cell.metadata.get("tags", []) for cell in needed), "and no test"
    assert not any(".backward()" in cell.source or ".step()" in cell.source for cell in needed)
    return [cell.id for cell in needed]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_right_answers_need_the_setup_and_no_experiment(name):
    release = read("course", name)
    submitted = filled_in(release, answers(name))
    needed = given_cells_needed(submitted, release)
    assert 1 <= len(needed) <= 4
    for own in (
        "%cd ..",
        "torch.manual_seed(0)\nprint(torch.rand(2))",
        "plt.savefig('x.png')",
        "import os\nos._exit(1)",
    ):
        assert given_cells_needed(with_a_cell_at_the_end(submitted, own), release) == needed, own


def with_a_cell_at_the_end(notebook, source):
    longer = copy.deepcopy(notebook)
    longer.cells.append(nbformat.v4.new_code_cell(source))
    return longer


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_nothing_is_trained_where_a_deleted_test_is_put_back(name):
    release = read("course", name)
    submitted = filled_in(release, answers(name))
    first = next(one for one in submitted.cells if grade_id(one) and grade_id(one).startswith("test_"))
    submitted.cells.remove(first)
    given_cells_needed(submitted, release)


def test_a_cell_too_long_to_be_cached_is_read_all_the_same():
    cell = "def double(x):\n    return 2 * x\n" + "# a comment\n" * 4_500
    assert Effects([cell]).changed_by(cell) == {"double"}


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("try:\n    r = f(3)\n    assert r\nexcept OSError as e:\n    raise e", {"f", "OSError"}),
        ("for i in xs:\n    t = t + i", {"xs", "t"}),
        ("with f(a) as b:\n    c = b\n    c.read()", {"f", "a"}),
        ("if q:\n    z = 1\nz", {"q"}),
        ("if q:\n    z = 1\nelse:\n    z = z + 1", {"q", "z"}),
        ("try:\n    r = f()\nexcept OSError:\n    s = r\nfinally:\n    r.close()", {"f", "OSError", "r"}),
        ("while k:\n    k -= 1", {"k"}),
        ("with lock:\n    pass", {"lock"}),
    ],
)
def test_what_a_statement_binds_before_it_uses_it_is_not_needed(source, needed):
    assert needed_by(source) == needed
