"""Tests of the rerun with working versions of other exercises, which no student can read while they still count."""

from __future__ import annotations

import functools

import nbformat
import pytest
from conftest import read, with_hidden_tests
from submissions import LIMITS

from autograder.judge.mark import Verdict
from autograder.nbgrader_plugin.intake.repair import grade_id, repair
from autograder.nbgrader_plugin.marking.isolated_rerun import LEFT_OUT, Postponed, next_to_rerun
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in
from autograder.spec.course import exercise, exercises, in_notebook, questions

NAME = "07-multi-head"
RIGHT = {e.name: e.source for e in exercises(NAME)} | {q.name: f'{q.name} = "{q.key}"' for q in questions(NAME)}
POINTS = {declared.name: declared.points for declared in in_notebook(NAME)}
OTHERS = ("split_heads", "merge_heads", "copy_from_torch", "attention_parameters")


@functools.cache
def release():
    notebook = read("course", NAME)
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell)]
    return notebook


def marked(template, answers, extra=None):
    submitted = filled_in(release(), answers)
    for name, source in (extra or {}).items():
        [index] = [i for i, cell in enumerate(submitted.cells) if grade_id(cell) == name]
        submitted.cells.insert(index, nbformat.v4.new_code_cell(source))
    for cell in submitted.cells:
        cell.grade_id = grade_id(cell)
    notebook = with_hidden_tests(repair(submitted, release(), []))
    verdicts = NotebookMarker(notebook, template, limits=LIMITS).run()
    return notebook, {verdict.exercise: verdict for verdict in verdicts.values()}


def earned(verdicts):
    return {name: verdict.earned for name, verdict in verdicts.items()}


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


def spying(*names):
    """Answers that build on all others and say which of them are working versions."""
    return {n: SPY.format(name=n, uses=", ".join(o for o in POINTS if o != n), others=tuple(POINTS)) for n in names}


class Overheard(Exception):
    pass


@pytest.fixture
def overheard(monkeypatch):
    """The texts of errors, as they came from the student's processes."""
    texts = []
    from autograder.nbgrader_plugin.marking import isolated_rerun

    class Listening(isolated_rerun.RecordedConnection):
        def ask(self, question):
            reply = super().ask(question)
            texts.extend(text for text in sorted(self.texts) if text.startswith("seen") and text not in texts[-1:])
            return reply

    monkeypatch.setattr("autograder.nbgrader_plugin.marking.notebook_marker.RecordedConnection", Listening)
    return texts


@pytest.mark.slow
def test_a_process_sees_working_versions_of_settled_exercises_only(template, overheard):
    """All build on all: each that is asked sees those that were asked before it, never one that comes after."""
    names = [e.name for e in exercises(NAME)]
    marked(template, spying(*names), {names[0]: WORKING})
    seen = [set(text.split()[1:]) for text in overheard if text != "seen"]
    assert seen, overheard
    for number, found in enumerate(seen):
        assert len(found) == number + 1
        assert found > (seen[number - 1] if number else set())
    assert all(names[-1] not in found for found in seen)


def test_what_is_said_with_working_versions_only_is_not_on_the_page(template, overheard):
    names = [e.name for e in exercises(NAME)]
    notebook, _ = marked(template, spying(*names), {names[0]: WORKING})
    assert any(text != "seen" for text in overheard)
    page = str(notebook)
    assert LEFT_OUT in page
    assert not [text for text in overheard if text != "seen" and f"RuntimeError: {text}" in page]


def test_the_notebooks_own_process_is_gone_when_working_versions_come_in(template, monkeypatch):
    from autograder.nbgrader_plugin.marking import notebook_marker
    from autograder.sandbox import monitor

    alive = []
    mark = notebook_marker.mark

    def watching(name, student, sources, own_parts=False, keep=()):
        if not own_parts:
            alive.append(len(monitor.tree(template._process.pid)))
        return mark(name, student, sources, own_parts=own_parts, keep=keep)

    monkeypatch.setattr(notebook_marker, "mark", watching)
    forks = "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(600)"
    wrong = RIGHT | {"split_heads": "def split_heads(x, num_heads):\n    return x * 0"}
    _, verdicts = marked(template, wrong, {"split_heads": forks})
    assert verdicts["MultiHeadAttention"].full
    # the template, a monitor, a notebook, the process it left behind, the fork that is asked
    assert alive
    assert all(count <= 5 for count in alive)


# --- 07 with nothing solved: what the first red team did --------------------------------------------------------------

LEAK = """
import fcntl, glob, os, threading, time, torch
places = sorted(glob.glob(os.path.dirname(torch.__file__) + "/**/*.py", recursive=True))[:1024]
OTHERS = {others!r}

def tell(data):
    opened = []
    for bit in range(len(data) * 8):
        f = open(places[bit])
        if data[bit // 8] >> (bit % 8) & 1:
            fcntl.flock(f, fcntl.LOCK_EX)
        opened.append(f)
    return opened

def hear():
    data = bytearray(len(places) // 8)
    for bit, place in enumerate(places):
        with open(place) as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                data[bit // 8] |= 1 << (bit % 8)
    return bytes(data)

def listen():
    while True:
        if any(data := hear()):
            heard.append(data)
        time.sleep(0.02)

heard = []
threading.Thread(target=listen, daemon=True).start()
"""
THIEF = """
def {name}(*arguments, **named):
    0 and ({uses})
    import time, struct
    for other in OTHERS:
        code = getattr(globals().get(other), "__code__", None)
        if code is not None and "working version" in code.co_filename:
            kept = tell(struct.pack("I", len(code.co_code)) + code.co_code[:100])
            time.sleep(1.0)
    raise RuntimeError("told")
"""
HEAR = "print('heard', bool(heard))"


def test_file_locks_tell_a_later_cell_nothing(template):
    """A cell goes on listening while other exercises are asked with working versions."""
    answers = {n: THIEF.format(name=n, uses=", ".join(OTHERS)) for n in OTHERS[:2]}
    notebook, verdicts = marked(
        template, answers, {"split_heads": LEAK.format(others=OTHERS), "MultiHeadAttention": HEAR}
    )
    [heard] = [cell for cell in notebook.cells if cell.source == HEAR]
    assert heard.outputs[0].text == "heard False\n"
    assert sum(earned(verdicts).values()) == 0


# --- the better of two ------------------------------------------------------------------------------------------------


def test_one_wrong_part_costs_itself_only(template):
    wrong = {"split_heads": "def split_heads(x, num_heads):\n    return x * 0"}
    _, verdicts = marked(template, RIGHT | wrong)
    assert earned(verdicts) == POINTS | {"split_heads": verdicts["split_heads"].earned}
    assert verdicts["split_heads"].earned < POINTS["split_heads"]


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
    assert exercise("split_heads").notebook == NAME
