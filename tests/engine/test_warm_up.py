"""Tests that the rehearsal of the warm template, before it forks the first notebook, leaves nothing behind."""

import subprocess
import sys

import pytest
from conftest import ROOT

from autograder.sandbox import environment
from autograder.sandbox.session import Session

TOLD = """
import gc, os, sys
from traitlets.config import SingletonConfigurable
from autograder.untrusted import responder, shell, warm_up
from autograder.sandbox import template

template.warm_up(["torch"])  # imports leave folders: Matplotlib's, PyTorch's

def everything(kind):
    return [kind, *(one for below in kind.__subclasses__() for one in everything(below))]

def outside():
    streams = sys.stdout, sys.stderr, sys.__stdout__
    return dict(os.environ), os.getcwd(), sys.modules["__main__"], sys.excepthook, sys.displayhook, streams

before, folders = outside(), os.listdir(os.environ["TMPDIR"])
answer = responder.Responder.respond
problems = []

def listening(self, packet):
    reply = answer(self, packet)
    problems.extend(part for part in reply.tree["dict"] if part[0] == "problem")
    return reply

responder.Responder.respond = listening
for _ in range(2):
    warm_up.rehearse()
    assert outside() == before, [pair for pair in zip(before, outside()) if pair[0] != pair[1]]
    assert os.listdir(os.environ["TMPDIR"]) == folders
    assert not [kind for kind in everything(SingletonConfigurable) if vars(kind).get("_instance") is not None]
assert not problems, problems
gc.collect()
assert not [one for one in gc.get_objects() if isinstance(one, shell.Shell)]
assert [line.split()[1] for line in open("/proc/self/status") if line.startswith("Threads")] == ["1"]
print("nothing")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_rehearsal_asks_without_a_problem_and_leaves_nothing_behind(tmp_path):
    """No shell, no thread (none would survive a fork), no variable, no file; and it can be done again."""
    surroundings = environment.of_template() | {"TMPDIR": str(tmp_path)}
    messages = subprocess.run([sys.executable, "-c", TOLD], env=surroundings, cwd=ROOT, capture_output=True, text=True)
    assert messages.stdout == "nothing\n", messages.stderr


def test_a_notebook_knows_nothing_of_it(template):
    with Session(template) as session:
        for name in ("Rehearsal", "rehearsed"):
            assert session.run(name).outputs[-1]["ename"] == "NameError"
        assert session.run("In").outputs[-1]["data"]["text/plain"] == "['', 'Rehearsal', 'rehearsed', 'In']"
