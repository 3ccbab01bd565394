"""Tests of the rerun with working versions of other exercises, which no student can read while they still count."""

import functools
import re

import nbformat
from conftest import graded_only
from submissions import earned, mark

from autograder.judge.mark import Verdict
from autograder.judge.verdict import plain
from autograder.nbgrader_plugin.marking import isolated_rerun, notebook_marker
from autograder.nbgrader_plugin.marking.isolated_rerun import LEFT_OUT, Postponed, next_to_rerun
from autograder.sandbox import monitor
from autograder.spec.course import exercises, in_notebook, questions

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
    return code is not None and "working version" in code.co_filename
"""


def test_a_process_sees_working_versions_of_settled_exercises_only_and_no_page_what_it_said(template, monkeypatch):
    overheard = []

    class Listening(isolated_rerun.RecordedConnection):
        def ask(self, question):
            reply = super().ask(question)
            overheard.extend(text for text in sorted(self.heard) if text[:4] == "seen" and text not in overheard[-1:])
            return reply

    monkeypatch.setattr(notebook_marker, "RecordedConnection", Listening)
    names = [e.name for e in exercises(NAME)]
    spies = {n: SPY.format(name=n, uses=", ".join(o for o in POINTS if o != n), others=tuple(POINTS)) for n in names}
    notebook, _ = mark(template, release(), spies, {names[0]: WORKING})
    overheard = [text for text in overheard if text != "seen"]
    seen = [set(text.split()[1:]) for text in overheard]
    assert seen
    for number, found in enumerate(seen):
        assert len(found) == number + 1
        assert found > (seen[number - 1] if number else set())
    assert all(names[-1] not in found for found in seen)
    assert LEFT_OUT in str(notebook)
    assert not [text for text in overheard if f"RuntimeError: {text}" in str(notebook)]


# Ways to say on the page what a working version is made of
SECRET = """
def secret():
    code = getattr(globals().get("split_heads"), "__code__", None)
    return code.co_code.hex() if code and "working version" in code.co_filename else "nothing yet"
"""
STOP = "raise __import__('sys').modules['autograder.untrusted.responder']._Stop"
LEAKS = {
    "merge_heads": "def merge_heads(x):\n    return split_heads and type(secret(), (), {})()",
    "copy_from_torch": (
        f"def copy_from_torch(mine, theirs):\n    {STOP}({{'kind': 'missing', 'name': split_heads and secret()}})"
    ),
    "attention_parameters": (
        f"def attention_parameters(*sizes):\n    {STOP}({{'kind': 'time', 'seconds': split_heads and secret()}})"
    ),
}


def test_no_cheat_by_the_name_of_a_type_or_a_forged_problem_shows_a_working_version(template, monkeypatch):
    blanked, censor = {}, notebook_marker.without_new_texts

    def watching(verdict, *rest):
        blanked[verdict.exercise] = plain(verdict), plain(censor(verdict, *rest))
        return censor(verdict, *rest)

    monkeypatch.setattr(notebook_marker, "without_new_texts", watching)
    wrong = {"split_heads": "def split_heads(x, num_heads):\n    return x * 0"}
    mark(template, release(), wrong | LEAKS, {"split_heads": SECRET})
    assert set(blanked) == set(LEAKS)
    for said, shown in blanked.values():
        assert re.search("[0-9a-f]{40}", said)
        assert not re.search("[0-9a-f]{8}", shown)
        assert LEFT_OUT in shown


def test_the_notebooks_own_process_is_gone_when_working_versions_come_in(template, monkeypatch):
    alive = []
    ask = notebook_marker.mark

    def watching(name, student, sources, own_parts=False, keep=()):
        if not own_parts:
            alive.append(len(monitor.tree(template._process.pid)))
        return ask(name, student, sources, own_parts=own_parts, keep=keep)

    monkeypatch.setattr(notebook_marker, "mark", watching)
    forks = "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(600)"
    wrong = {"split_heads": "def split_heads(x, num_heads):\n    return x * 0"}
    _, verdicts = mark(template, release(), RIGHT | wrong, {"split_heads": forks})
    assert earned(verdicts) == POINTS | {"split_heads": verdicts["split_heads"].earned}, "one wrong part costs itself"
    assert verdicts["split_heads"].earned < POINTS["split_heads"]
    # the template, a monitor, a notebook, the process it left behind, the fork that is asked
    assert alive
    assert all(count <= 5 for count in alive)


def test_of_exercises_that_build_on_each_other_the_first_is_asked_first():
    def one(name, *needs):
        return Postponed(nbformat.v4.new_code_cell(), name, 0, frozenset(needs), Verdict(name, 1, 0), frozenset())

    names = []
    postponed = [one("c", "b", "c"), one("b", "a", "other"), one("a"), one("d", "e"), one("e", "d")]
    while postponed:
        chosen = next_to_rerun(postponed)
        postponed.remove(chosen)
        names.append(chosen.name)
    assert names == ["a", "b", "c", "d", "e"]
