"""Tests of marking whole notebooks from outside: marks equal those in process, and a fault costs only its own cell."""

import ast
import copy
from dataclasses import replace

import nbformat
import pytest
from conftest import ROOT, cell_of, with_hidden_tests
from submissions import ANSWERS, LIMITS, NAME, POINTS, earned, insert_before, mark, mark_in, mended, verdicts_on

from autograder.judge import mark as judge
from autograder.judge.run_check import namespace_with
from autograder.judge.student import in_process
from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.marking import notebook_marker
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in
from autograder.sandbox.session import Limits, Session
from autograder.spec.course import exercises, questions

FAULTS = {
    "endless loop": "while True:\n    pass",
    "endless loop that swallows the interrupt": (
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
    ),
    "os._exit": "import os\nos._exit(0)",
    "memory bomb": "x = []\nwhile True:\n    x.append(bytearray(2**28))",
    "deep recursion": "def f():\n    return f()\nf()",
    "reads stdin": "input()",
    "closes its descriptors": "import os\nos.closerange(0, 256)",
    "breaks stdout": "import sys\nsys.stdout = None\nsys.stderr = 5",
    "deletes its directory": "import os, shutil\nshutil.rmtree(os.getcwd())",
    "lone surrogate": "print('\\ud800')",
}
IN_ANSWERS = {
    "endless loop": "def softmax(scores, dim=-1):\n    while True:\n        pass",
    "os._exit": "def softmax(scores, dim=-1):\n    import os\n    os._exit(0)",
    "kills its parent": "def softmax(scores, dim=-1):\n    import os\n    os.kill(os.getppid(), 9)\n    return scores",
    "enormous result": "def softmax(scores, dim=-1):\n    return torch.zeros(2**26)",
    "a class that is no tensor": (
        "class T:\n    shape = (5,)\n    dtype = torch.float32\ndef softmax(s, dim=-1):\n    return T()"
    ),
    "text only": "def softmax(scores, dim=-1):\n    return ['x' * 1000] * 50_000",
}
EXPERIMENT = "import time\nhelper = 1\nmeasured = [helper, 2]"


def test_right_answers_that_warn_and_print_get_full_marks(template, short):
    noisy = "import sys, warnings\ntorch.set_num_threads(2)\ny = torch.randn(700, 700) @ torch.randn(700, 700)\n"
    message = "    warnings.warn('careful')\n    print('hello', file=sys.stderr)\n    shifted"
    softmax = noisy + ANSWERS["softmax"].replace("    shifted", message)
    notebook, verdicts = mark(template, short, ANSWERS | {"softmax": softmax})
    assert earned(verdicts) == POINTS
    assert {name: mark_in(notebook, name) for name in POINTS} == POINTS


@pytest.mark.parametrize(
    ("answers", "limits", "message"),
    [({}, LIMITS, "not been answered"), (ANSWERS, replace(LIMITS, work=0.0), "used up")],
    ids=["a blank notebook", "the judge's own work has a budget"],
)
def test_zeros_are_explicit_and_have_their_reason(template, short, answers, limits, message):
    notebook, verdicts = mark(template, short, answers, limits=limits)
    assert earned(verdicts) == dict.fromkeys(POINTS, 0.0)
    assert {name: mark_in(notebook, name) for name in POINTS} == dict.fromkeys(POINTS, 0.0)
    assert all(message in verdict.remark for verdict in verdicts.values())


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 8])
def test_marks_and_names_are_the_same_as_in_process(template, short, number):
    answers, expected, chosen = dict(ANSWERS), dict(POINTS), {}
    for exercise in exercises(NAME):
        mistake = exercise.mistakes[number % len(exercise.mistakes)]
        answers[exercise.name] = mistake.source
        own = in_process(namespace_with(exercise, mistake.source))
        expected[exercise.name] = judge.mark(exercise.name, own).earned
        chosen[exercise.name] = mistake.name
    _, verdicts = mark(template, short, answers)
    assert earned(verdicts) == expected
    assert {name: verdicts[name].diagnoses[0].mistake for name in chosen} == chosen


def test_an_answer_built_on_a_broken_one_loses_nothing(template, short):
    """And an answer that stands below its test cell is found."""
    broken = "def softmax(scores, dim=-1):\n    return scores * 0"
    built = ANSWERS["scaled_dot_product_attention"].replace("torch.softmax(", "softmax(")
    submitted = filled_in(short, ANSWERS | {"softmax": broken, "scaled_dot_product_attention": built})
    [index] = [i for i, cell in enumerate(submitted.cells) if grade_id(cell) == "SelfAttention"]
    submitted.cells.append(submitted.cells.pop(index))
    marks = earned(verdicts_on(with_hidden_tests(submitted), template))
    assert marks == POINTS | {"softmax": marks["softmax"]}
    assert marks["softmax"] < 1


def test_a_mistake_that_a_later_answer_makes_up_for_costs_marks_once(template, short):
    parts = "return weights @ V, weights"
    swapped = ANSWERS["scaled_dot_product_attention"].replace(parts, "return weights, weights @ V")
    call = "scaled_dot_product_attention(Q, K, V, mask)"
    using = f"weights, output = {call}\n        return output, weights"
    user = ANSWERS["SelfAttention"].replace(f"return {call}", using)
    _, verdicts = mark(template, short, ANSWERS | {"scaled_dot_product_attention": swapped, "SelfAttention": user})
    assert verdicts["scaled_dot_product_attention"].earned < 8
    assert verdicts["SelfAttention"].full


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_in_one_cell_costs_nothing_elsewhere(template, short, fault):
    _, verdicts = mark(template, short, ANSWERS, extra={"scaled_dot_product_attention": fault})
    assert earned(verdicts) == POINTS


@pytest.mark.long
@pytest.mark.parametrize("source", IN_ANSWERS.values(), ids=IN_ANSWERS)
def test_a_fault_while_the_judge_asks_costs_that_exercise_only(template, short, source):
    _, verdicts = mark(template, short, ANSWERS | {"softmax": source})
    assert earned(verdicts) == POINTS | {"softmax": 0.0}
    assert verdicts["softmax"].remark or any(line.message for line in verdicts["softmax"].lines)


def test_what_became_of_an_answers_cell_is_said_where_its_name_is_missing(template, short):
    sources = {
        "simple_attention": ("1 / 0", "the cell of the answer stopped with ZeroDivisionError: division by zero."),
        "softmax": ("while True: pass", "the cell of the answer was stopped at its time limit of 4 seconds."),
        "scaled_dot_product_attention": ("x = 1", "is the name unchanged, and did its cell run without an error?"),
        "SelfAttention": ("import os\nos._exit(1)", "the cell of the answer ended the Python process."),
    }
    _, verdicts = mark(template, short, ANSWERS | {name: source for name, (source, _) in sources.items()})
    for name, (_, what) in sources.items():
        assert verdicts[name].remark == f"`{name}` is not defined: {what}"


def test_a_notebook_shows_no_trace_of_the_judges_calls(template, short):
    counting = "calls = []\n" + ANSWERS["softmax"].replace("    shifted", "    calls.append(scores)\n    shifted")
    extra = {"scaled_dot_product_attention": "len(calls)"}
    notebook, verdicts = mark(template, short, ANSWERS | {"softmax": counting}, extra=extra)
    assert verdicts["softmax"].full
    [cell] = [cell for cell in notebook.cells if cell.source == "len(calls)"]
    assert cell.outputs[0].data["text/plain"] == "0"


def test_a_cell_that_ends_the_process_says_so(template, short):
    ending = "import os\nos._exit(0)"
    notebook, _ = mark(template, short, ANSWERS, extra={"SelfAttention": ending})
    [cell] = [cell for cell in notebook.cells if cell.source == ending]
    assert "ended the Python process" in "".join(output.get("text", "") for output in cell.outputs)


@pytest.mark.long
def test_exercises_are_asked_when_the_notebooks_time_is_up_after_them(template, short):
    limits = Limits(cell=30, question=2, grace=1, notebook=4)
    stalls = {"SelfAttention": "import time\ntime.sleep(60)"}
    notebook, verdicts = mark(template, short, ANSWERS, extra=stalls, limits=limits)
    assert earned(verdicts) == POINTS | dict.fromkeys(("SelfAttention", "q5_6", "q5_7", "recall_step"), 0.0)
    assert "used up" in str([cell.outputs for cell in notebook.cells if cell.cell_type == "code"])


def test_a_new_template_has_neither_the_environment_nor_the_exercises(template, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "do not tell")
    template._running()
    template._process.kill()  # it is started again
    template._process.wait()
    with Session(template) as session:
        result = session.run("import os, sys\nprint(sorted(os.environ), sorted(sys.modules))")
    message = result.outputs[0]["text"]
    assert "torch" in message
    assert "SECRET_TOKEN" not in message
    assert "'transformer_exercises" not in message


LOADED = "import sys\n_loaded = vars(sys)['modules '[:-1]]"  # its name is not allowed where something is banned


@pytest.mark.slow
def test_marking_right_answers_gives_full_marks_and_imports_nothing_more(template, release, everything):
    """In other styles, too. The template holds what marking needs, but for a handful of small modules."""
    name = release.metadata["name"]
    styles = [[e.source, *(other.source for other in e.alternatives)] for e in exercises(name)]
    for number in range(max(map(len, styles)) if everything else 2):
        answers = {e.name: style[number % len(style)] for e, style in zip(exercises(name), styles, strict=True)}
        answers |= {q.name: f'{q.name} = "{q.key}"' for q in questions(name)}
        submitted = filled_in(release, answers)
        submitted.cells.insert(0, nbformat.v4.new_code_cell(f"{LOADED}\n_before = set(_loaded)"))
        submitted.cells.append(nbformat.v4.new_code_cell("print(sorted(set(_loaded) - _before))"))
        notebook = mended(submitted, release)
        verdicts = NotebookMarker(notebook, template, ROOT / "course" / name).run()
        assert not [verdict for verdict in verdicts.values() if not verdict.full], number
        assert len(verdicts) == len(answers)
        late = ast.literal_eval(notebook.cells[-1].outputs[0].text)
        assert len(late) <= 5 or number, " ".join(late)


def with_given_cells(notebook, *sources):
    return insert_before(copy.deepcopy(notebook), "softmax", *sources)


def marked_against(release, template, change=lambda notebook: None):
    """Mark the release as if it were the course's own, with all answers and this change.

    Return verdicts and the cells that were run.
    """
    submitted = filled_in(release, ANSWERS)
    change(submitted)
    notebook = mended(submitted, release)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook_marker, "given_cells", lambda _: {cell.source for cell in release.cells})
        verdicts = verdicts_on(notebook, template)
    return verdicts, {cell.source for cell in notebook.cells if cell.cell_type == "code" and cell.execution_count}


def test_a_given_cell_is_run_when_a_cell_or_an_answer_builds_on_it(template, short):
    chain = (EXPERIMENT, "measured.append(6)", "another = measured[2]")
    release = with_given_cells(short, *chain, "unrelated = 1")

    build_on_it = nbformat.v4.new_code_cell("print(another)")
    _, ran = marked_against(release, template, lambda notebook: notebook.cells.append(build_on_it))
    assert {*chain, "print(another)"} <= ran
    assert "unrelated = 1" not in ran

    def use_it(notebook):
        cell = cell_of(notebook, "softmax")
        cell.source = cell.source.replace("\n    ", "\n    assert another == 6\n    ", 1)

    verdicts, ran = marked_against(release, template, use_it)
    assert earned(verdicts) == POINTS
    assert set(chain) <= ran


def test_a_function_beside_a_used_one_needs_no_experiment_until_called(template, short):
    both = "def used(scores):\n    return scores\n\n\ndef look():\n    return measured"
    release = with_given_cells(short, EXPERIMENT, both)

    def use_one(notebook):
        cell = cell_of(notebook, "softmax")
        cell.source = cell.source.replace("\n    ", "\n    used(scores)\n    ", 1)

    def use_both(notebook):
        use_one(notebook)
        notebook.cells.append(nbformat.v4.new_code_cell("print(look())"))

    verdicts, ran = marked_against(release, template, use_one)
    assert earned(verdicts) == POINTS
    assert both in ran
    assert EXPERIMENT not in ran
    _, ran = marked_against(release, template, use_both)
    assert {both, EXPERIMENT, "print(look())"} <= ran


def test_an_answers_own_helper_is_not_replaced_by_a_given_one_of_its_name(template, short):
    """The given one stands above it, is passed over, and defines something else that a later cell needs."""
    given = "def helper(scores, dim):\n    return scores * 0\n\n\nhelp_too = 3"
    own = "def helper(scores, dim):\n    return (scores - scores.amax(dim, keepdim=True)).exp()\n\n\n"
    body = "def softmax(scores, dim=-1):\n    return helper(scores, dim) / helper(scores, dim).sum(dim, keepdim=True)"

    def with_a_helper(notebook):
        cell_of(notebook, "softmax").source = own + body
        insert_before(notebook, "test_softmax", "print(help_too)")

    verdicts, ran = marked_against(with_given_cells(short, given), template, with_a_helper)
    assert given in ran
    assert earned(verdicts) == POINTS


def test_unneeded_provided_cells_are_skipped_and_changed_ones_run(template, short):
    def change(notebook):
        [cell] = [cell for cell in notebook.cells if cell.source == "given = 1"]
        cell.source = "given = 2"
        notebook.cells.insert(3, nbformat.v4.new_code_cell("own = 1", metadata={"tags": ["given"]}))

    release = with_given_cells(short, EXPERIMENT, "another = measured * 2", "given = 1")
    verdicts, ran = marked_against(release, template, change)
    assert earned(verdicts) == POINTS
    assert EXPERIMENT not in ran
    assert {"given = 2", "own = 1"} <= ran
