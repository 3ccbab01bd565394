"""Tests that the judge's work is stopped at its limit, in any thread, and that nothing is stopped after it."""

import asyncio
import contextlib
import gc
import importlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from class_copies import copy_of_the_course, dask_cluster, gradebook, notebook, put, run
from conftest import ROOT
from submissions import ANSWERS, LIMITS, NAME, POINTS, earned, mark

from autograder import work_limit
from autograder.nbgrader_plugin.class_secret import CONTENT, FILE
from autograder.nbgrader_plugin.formgrader.marking_queue import MarkingQueue
from autograder.nbgrader_plugin.marking import notebook_marker
from autograder.sandbox import session
from autograder.sandbox.session import ChildChannel
from autograder.untrusted.wire import Packet
from autograder.work_limit import OverLimit, within


def forever():
    while True:
        pass


def catching():
    """Run on, three times, whatever is raised."""
    for _ in range(3):
        with contextlib.suppress(BaseException):
            forever()
    forever()


def tried(work, seconds=0.02):
    try:
        return within(seconds, work)
    except OverLimit:
        return "stopped"


def in_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("run_in", [lambda work: work(), in_a_thread], ids=["the main thread", "another"])
@pytest.mark.parametrize("work", [forever, catching, lambda: tried(forever, 3600)], ids=["loops", "catches", "nested"])
def test_work_is_stopped_in_the_thread_that_does_it(run_in, work):
    assert run_in(lambda: tried(work)) == "stopped"
    assert run_in(lambda: tried(lambda: "done", 3600)) == "done"


def test_a_limit_stops_no_other_thread_and_no_later_work():
    turns = []
    assert in_a_thread(lambda: [tried(forever) for _ in range(5)]) == ["stopped"] * 5
    for _ in range(2_000):  # the limit is reached about when the work ends
        turns.append(tried(lambda: sum(range(300)), 1e-5))
        sum(range(100))
    assert set(turns) <= {"stopped", sum(range(300))}
    assert not work_limit._watch.limits
    assert len([thread for thread in threading.enumerate() if thread.name == "work limit"]) == 1


def test_work_is_stopped_in_a_fork_too():
    assert tried(lambda: "done", 3600) == "done"  # the parent's thread is not in the fork
    child = os.fork()
    if not child:
        os._exit(tried(forever) != "stopped")
    assert os.waitpid(child, 0)[1] == 0


def test_a_shorter_limit_is_kept_while_a_long_one_waits():
    assert tried(lambda: (time.sleep(0.05), tried(forever)), 3600)[1] == "stopped"


OBSERVED = """
import sys
from autograder.work_limit import within

def double(number):
    return 2 * number

within(3600, lambda: "done")
sys.{observe}(lambda *_: None)
print(double(2))
"""


@pytest.mark.parametrize("observe", ["settrace", "setprofile"])
def test_code_that_is_observed_ends_after_limited_work(observe):
    program = [sys.executable, "-c", OBSERVED.format(observe=observe)]  # a process: what never ends heeds no signal
    assert subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60).stdout == "4\n"


NESTED = """
import random
from autograder import work_limit

def tried(work):
    try:
        return work_limit.within(random.random() * 3e-3, work)
    except work_limit.OverLimit:
        return None

work_limit.TURN = 3e-4
for _ in range(3_000):
    tried(lambda: tried(lambda: sum(number for number in range(random.randrange(40_000)))))
    sum(range(100))
print(len(work_limit._watch.limits))
"""


def test_nested_limits_end_whenever_they_are_reached():
    program = [sys.executable, "-c", NESTED]
    assert subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=120).stdout == "0\n"


def test_an_import_is_not_stopped_halfway(tmp_path, monkeypatch):
    (tmp_path / "takes_long.py").write_text(
        "import time\nend = time.thread_time() + 0.1\nwhile time.thread_time() < end:\n    pass\nwhole = True\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert tried(lambda: [importlib.import_module("takes_long"), forever()]) == "stopped"
    assert sys.modules.pop("takes_long").whole


def test_no_time_left_stops_before_the_work():
    assert tried(pytest.fail, 0) == "stopped"


@pytest.mark.parametrize("reply", [Packet("x", [b"0" * 500], 3), Packet("x", [], 50)], ids=["numbers", "text"])
def test_beyond_a_bound_on_all_replies_an_exercise_is_asked_nothing_more(monkeypatch, reply):
    sent = []
    monkeypatch.setattr(session, "MAX_REPLIES", 2_000)
    monkeypatch.setattr(session._Requests, "_exchange", lambda self, packet: sent.append(packet) or reply)
    requests = session._Requests(SimpleNamespace(fork=lambda: SimpleNamespace(close=lambda: None)))
    found = [requests.send(Packet({})) for _ in range(9)]
    assert 0 < found.count(reply) < len(sent) < 9
    assert "results are too large" in str(found[-1].tree)
    assert found[found.count(reply) :] == [found[-1]] * (9 - found.count(reply))


BUSY = """
from autograder.nbgrader_plugin.marking import notebook_marker

def busy(name, *arguments, mark=notebook_marker.mark, **options):
    while name == "softmax":
        pass
    return mark(name, *arguments, **options)

notebook_marker.mark = busy
"""
REST = sum(POINTS.values()) - POINTS["softmax"]


def test_an_exercise_over_its_share_earns_nothing_and_others_are_marked(template, short, monkeypatch):
    namespace = {}
    monkeypatch.setattr(notebook_marker, "mark", notebook_marker.mark)
    exec(BUSY, namespace)
    _, verdicts = mark(template, short, ANSWERS, limits=replace(LIMITS, work=8.0))
    assert earned(verdicts) == POINTS | {"softmax": 0.0}
    assert "return only what `softmax` is to return" in verdicts["softmax"].remark


def test_reading_cells_without_end_leaves_zeros_with_a_sentence(template, short, monkeypatch):
    monkeypatch.setattr(notebook_marker, "WORK_GRACE", 0.05)
    monkeypatch.setattr(notebook_marker.NotebookMarker, "_needed_cells", lambda self: forever())
    _, verdicts = mark(template, short, ANSWERS, limits=replace(LIMITS, work=0.05))
    assert earned(verdicts) == dict.fromkeys(POINTS, 0.0)
    assert all("leave out the cells that no answer needs" in verdict.remark for verdict in verdicts.values())


def test_the_garbage_collector_goes_on_whatever_interrupts_a_message(monkeypatch):
    def interrupted():
        gc_disable()
        raise OverLimit

    gc_disable = gc.disable
    monkeypatch.setattr(gc, "disable", interrupted)
    actual, expected = socket.socketpair()
    with actual, expected, pytest.raises(OverLimit):
        ChildChannel(actual).receive()
    assert gc.isenabled()


ENDLESS = """
from autograder.nbgrader_plugin.intake import repair

def endless(path, *arguments, load=repair.load):
    while b"read for ever" in path.read_bytes():
        pass
    return load(path, *arguments)

repair.load = endless
"""
# Notes in a file which secret the inputs of an exercise are drawn from, in whatever process it is marked
NOTED = """
def noted(secret, *arguments, key_of=notebook_marker.key_of):
    with open({path!r}, "a") as file:
        file.write(secret.hex() + "\\n")
    return key_of(secret, *arguments)

notebook_marker.key_of = noted
"""


@pytest.fixture(scope="module")
def busy_course(tmp_path_factory):
    """Return a copy of the course in which marking softmax takes for ever, and reading a certain comment; a class.

    The secrets that marking uses are noted in the class's folder.
    """
    path = tmp_path_factory.mktemp("busy")
    root = copy_of_the_course(path / "course", "c.Judge.work_timeout = 3.0\n")
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(BUSY + ENDLESS + NOTED.format(path=str(path / "class" / "secrets")))
    put(path / "class", "ada", notebook())
    put(path / "class", "bob", notebook(comment="read for ever"))
    run(root, path / "class", "nbgrader", "generate_assignment", NAME)
    return root, path / "class"


async def press_the_button(root):
    """Mark both students as Formgrader's button does."""
    queue = MarkingQueue(root)
    for student in ("ada", "bob"):
        await queue.mark(NAME, student)
    await queue._end()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["grade", "autograde", "formgrader", "dask"])
def test_the_limit_and_the_secret_hold_however_a_class_is_marked(busy_course, tmp_path, way, monkeypatch):
    root, known = busy_course
    (known / "secrets").write_text("")
    classroom = shutil.copytree(known, tmp_path / "classroom")
    if way == "grade":
        run(root, classroom, "autograder", "grade", NAME, "--workers", "1")
    elif way == "autograde":
        run(root, classroom, "nbgrader", "autograde", NAME, "--create")
    elif way == "formgrader":
        monkeypatch.setenv("COURSE_CLASSROOM", str(classroom))
        monkeypatch.setenv("PYTHONPATH", str(root))
        asyncio.run(press_the_button(root))
    else:
        pytest.importorskip("distributed", reason="Dask, which the extra `cluster` names, is not installed")
        with dask_cluster(root, tmp_path, workers=1, threads=2) as (address, _):
            run(root, classroom, "autograder", "grade", NAME, "--scheduler", address)
    book = gradebook(classroom)
    assert {student: book[student]["score"][0] for student in book["students"]} == {"ada": REST, "bob": 0}
    [page] = (classroom / "autograded" / "bob").rglob("*.ipynb")
    assert "Reading this notebook took more time" in page.read_text()
    key = CONTENT.search((classroom / FILE).read_text())
    assert {*(known / "secrets").read_text().split()} == {key[1]}
