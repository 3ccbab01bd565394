"""Tests of the rerun with library equivalents of other exercises, which no student can read while they still count."""

import ast
import functools
import re

import nbformat
import pytest
from conftest import graded_only
from submissions import earned, mark

from autograder.judge.mark import Verdict
from autograder.judge.source_rules import uses
from autograder.nbgrader_plugin.marking import notebook_marker
from autograder.nbgrader_plugin.marking.isolated_rerun import Postponed, next_to_rerun
from autograder.sandbox import monitor
from autograder.spec.course import exercise, exercises, in_notebook, library_equivalents, notebooks, questions

NAME = "07-multi-head"
RIGHT = {e.name: e.source for e in exercises(NAME)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(NAME)}
POINTS = {declared.name: declared.points for declared in in_notebook(NAME)}
release = functools.cache(lambda: graded_only(NAME))


# What a process that is asked finds of the others, by its own words: an error's text comes back to the judge.
SPY = """
def {name}(*arguments, **named):
    0 and ({uses})
    seen = {{other: working(other) for other in {others!r}}}
    raise RuntimeError("seen " + " ".join(sorted(other for other in seen if seen[other])))
"""
WORKING = """
def working(name):
    made = globals().get(name)
    code = getattr(made, "__code__", None) or getattr(getattr(made, "__init__", None), "__code__", None)
    return code is not None and "library equivalent" in code.co_filename
"""


def test_a_process_sees_equivalents_of_settled_exercises_only(template):
    names = [e.name for e in exercises(NAME)]
    bound = [name for name in names if name in library_equivalents(NAME)]
    spies = {n: SPY.format(name=n, uses=", ".join(o for o in POINTS if o != n), others=tuple(POINTS)) for n in names}
    _, verdicts = mark(template, release(), spies, {names[0]: WORKING})
    output = [verdicts[name].lines[0].message for name in names]
    assert all("RuntimeError: seen" in message for message in output)
    seen = [set(names) & set(message.partition("seen ")[2].partition(", at the line")[0].split()) for message in output]
    assert seen == [set(bound) & set(names[:i]) for i in range(len(names))]
    assert any(seen)


def test_the_notebooks_own_process_is_gone_when_equivalents_come_in(template, monkeypatch):
    alive = []
    ask = notebook_marker.mark

    def watching(name, student, own_parts=False, keep=(), named=True):
        if not own_parts:
            alive.append(len(monitor.tree(template._process.pid)))
        return ask(name, student, own_parts=own_parts, keep=keep, named=named)

    monkeypatch.setattr(notebook_marker, "mark", watching)
    forks = "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(600)"
    wrong = {"split_heads": "def split_heads(x, num_heads):\n    return x * 0"}
    _, verdicts = mark(template, release(), RIGHT | wrong, {"split_heads": forks})
    assert earned(verdicts) == POINTS | {"split_heads": verdicts["split_heads"].earned}, "one wrong part costs itself"
    assert verdicts["split_heads"].earned < POINTS["split_heads"]
    # the template, a monitor, a notebook, the process it left behind, the fork that is asked
    assert alive
    assert all(count <= 5 for count in alive)


@pytest.mark.parametrize("other_wrong", [False, True])
def test_an_own_known_mistake_is_not_asked_about_again(template, monkeypatch, other_wrong):
    asked = []
    ask = notebook_marker.mark

    def watching(name, student, own_parts=False, keep=(), named=True):
        asked.append((name, own_parts))
        return ask(name, student, own_parts=own_parts, keep=keep, named=named)

    monkeypatch.setattr(notebook_marker, "mark", watching)
    mistakes = exercise("MultiHeadAttention").mistakes
    answers = RIGHT | {"MultiHeadAttention": next(one.source for one in mistakes if one.name == "no_scale")}
    if other_wrong:
        answers["split_heads"] = exercise("split_heads").mistakes[0].source
    _, verdicts = mark(template, release(), answers)
    assert verdicts["MultiHeadAttention"].earned < POINTS["MultiHeadAttention"]
    assert (("MultiHeadAttention", False) in asked) == other_wrong


def test_no_mistake_is_looked_for_where_a_part_that_is_used_is_wrong(template, monkeypatch):
    asked = []
    ask = notebook_marker.mark

    def watching(name, student, own_parts=False, keep=(), named=True):
        asked.append((name, own_parts, named))
        return ask(name, student, own_parts=own_parts, keep=keep, named=named)

    monkeypatch.setattr(notebook_marker, "mark", watching)
    _, verdicts = mark(template, release(), RIGHT | {"split_heads": exercise("split_heads").mistakes[0].source})
    assert verdicts["MultiHeadAttention"].full
    assert [one for one in asked if one[0] == "MultiHeadAttention"] == [
        ("MultiHeadAttention", True, False),
        ("MultiHeadAttention", False, True),
    ]


def test_a_mistake_is_named_that_only_shows_with_the_own_parts(template):
    untransposed = RIGHT["split_heads"].replace("return x.transpose(1, 2)", "return x")
    unscaled = next(one.source for one in exercise("MultiHeadAttention").mistakes if one.name == "no_scale")
    own_way = re.sub(r"(split_heads\(.+\)), self.num_heads\)", r"\1, self.num_heads).transpose(1, 2)", unscaled)
    assert own_way != unscaled
    _, verdicts = mark(template, release(), RIGHT | {"split_heads": untransposed, "MultiHeadAttention": own_way})
    expected = mark(template, release(), RIGHT | {"MultiHeadAttention": unscaled})[1]["MultiHeadAttention"]
    found = verdicts["MultiHeadAttention"]
    assert [one.mistake for one in found.diagnoses] == ["no_scale"]
    assert found.earned == expected.earned


def test_of_exercises_that_build_on_each_other_the_first_is_asked_first():
    def one(name, *needs):
        return Postponed(nbformat.v4.new_code_cell(), name, 0, frozenset(needs), Verdict(name, 1, 0))

    names = []
    postponed = [one("c", "b", "c"), one("b", "a", "other"), one("a"), one("d", "e"), one("e", "d")]
    while postponed:
        chosen = next_to_rerun(postponed)
        postponed.remove(chosen)
        names.append(chosen.name)
    assert names == ["a", "b", "c", "d", "e"]


def test_no_solution_is_bound_in_a_students_process():
    bound = {name: text for notebook in notebooks() for name, text in library_equivalents(notebook).items()}
    assert {name for name in bound if not exercise(name).library_equivalent} == set()
    assert [name for name, text in bound.items() if _statements(exercise(name).source) & _statements(text)] == []


def _statements(source):
    """Return the longer statements of a source's functions; short ones any two answers have in common."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    return {text for node in nodes if len(text := ast.unparse(node)) > 40}


@pytest.mark.parametrize("notebook", notebooks())
def test_exercises_that_others_are_built_on_have_a_library_equivalent(notebook):
    names = {declared.name for declared in exercises(notebook)}
    for declared in exercises(notebook):
        known = [declared.source, *(one.source for one in declared.alternatives)]
        used = set().union(*(uses(declared.name, [source]) for source in known)) & names - {declared.name}
        assert used <= set(library_equivalents(notebook)), (
            f"{declared.name} uses exercises without `library_equivalent`"
        )
