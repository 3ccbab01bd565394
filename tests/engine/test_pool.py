"""Tests of the pools and of Formgrader's queue: every task gives one result, even if processes die."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

import psutil
import pytest
from conftest import ROOT

from autograder.batch.marking import Marker
from autograder.batch.pool import Local, TaskQueue, WorkerDied, cores, pool, preload_for
from autograder.nbgrader_plugin.formgrader.marking_queue import MarkingQueue
from autograder.spec.course import course, notebooks

PARENT = """
import time
from autograder.batch.pool import Local, TaskQueue
if __name__ == "__main__":
    line = TaskQueue(Local(2), abs)
    for n in range(2):
        line.put(n, n)
    list(line.done())
    print(*line.pool.executor()._processes, flush=True)
    time.sleep(600)
"""


def square(number: int, folder: str = "") -> int:
    if folder:
        with open(f"{folder}/{number}", "a") as tries:
            tries.write("x")
    return number * number


def fall_over(number: int, folder: str, times: int) -> int:
    """End the process the first few times; refuse another number."""
    if number == 7:
        raise ValueError(f"{number} is not for me")
    if number == 3 and len(list(Path(folder).glob("3-*"))) < times:
        Path(folder, f"3-{time.monotonic_ns()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def test_everything_comes_out_once(tmp_path):
    assert Local().workers == cores() >= 1
    with pool(workers=2) as processes:
        line, found = TaskQueue(processes, square), []
        numbers = list(range(40))
        while numbers or len(line):
            while numbers and not line.full():
                number = numbers.pop()
                line.put(number, number, str(tmp_path))
            assert len(line) <= 4
            found += line.done()
    assert sorted(found) == [(n, n * n) for n in range(40)]
    assert Counter(path.stat().st_size for path in tmp_path.iterdir()) == {1: 40}


@pytest.mark.parametrize(("times", "outcome"), [(1, 9), (5, WorkerDied)])
def test_a_task_that_ends_its_process_costs_nobody_else_a_result(tmp_path, times, outcome):
    found = []
    with pool(workers=2) as processes:
        line = TaskQueue(processes, fall_over)
        for number in range(8):
            line.put(number, number, str(tmp_path), times)
        while len(line):
            found += line.done()
    assert len(found) == 8
    found = dict(found)
    assert isinstance(error := found.pop(7), ValueError), "what a task raises is its result"
    assert "7 is not for me" in str(error)
    assert {n: found[n] for n in found if n != 3} == {n: n * n for n in range(7) if n != 3}
    assert found[3] == outcome or isinstance(found[3], outcome)


def test_a_template_imports_what_its_assignments_may_use():
    everything = course().preload
    assert set(preload_for(notebooks())) == set(everything)
    assert preload_for(["my-own-assignment"]) == ()
    attention, gpt2 = preload_for(["05-attention"]), preload_for(["05-attention", "10-hugging-face-gpt2"])
    assert {"torch", "matplotlib.pyplot"} <= set(attention) < set(gpt2)
    assert "transformers" not in attention
    assert "transformers" in gpt2


@pytest.fixture
def cluster():
    """Return a scheduler with one worker, which is started again when it dies."""
    distributed = pytest.importorskip("distributed", reason="Dask, which the extra `cluster` names, is not installed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


@pytest.mark.slow
def test_a_task_that_ends_a_clusters_workers_costs_nobody_else_a_result(tmp_path, cluster):
    def fall_over(number: int, tries: Path, deaths: int) -> int:  # in here, so that workers need not import this file
        with tries.open("a") as file:
            file.write("x")
        if tries.stat().st_size <= deaths:
            time.sleep(2)  # what starts a worker anew gives up where one dies while it starts
            os._exit(1)
        return number * number

    with pool(cluster.scheduler_address) as workers:
        line = TaskQueue(workers, fall_over)
        for number, deaths in ((3, 4), (1, 0), (2, 0)):  # Dask gives up what waits behind the first, too
            line.put(number, number, tmp_path / str(number), deaths)
        assert dict(line) == {n: n * n for n in (1, 2, 3)}
        line.put(4, 4, tmp_path / "4", 99)
        [(_, outcome)] = line
    assert isinstance(outcome, WorkerDied)


@pytest.mark.slow
def test_a_cluster_without_its_scheduler_fails_no_task(cluster):
    with pool(cluster.scheduler_address) as workers:
        line = TaskQueue(workers, time.sleep)
        line.put(1, 600)
        cluster.close()
        with pytest.raises(ConnectionError, match=r"The Dask scheduler at tcp://.* no longer answers"):
            list(line.done())


def marker_folder() -> Path:
    return Marker(zlib.compress(b""))._folder


def collector() -> tuple[bool, int]:
    return gc.isenabled(), gc.get_freeze_count()


def test_workers_collect_their_own_garbage_and_no_imported_module():
    with pool(workers=1) as processes:
        enabled, frozen = processes.executor().submit(collector).result()
    assert enabled
    assert frozen > 100_000


def test_workers_leave_no_folder_behind():
    with pool(workers=1) as processes:
        line = TaskQueue(processes, marker_folder)
        line.put(1)
        [(_, folder)] = line
        assert folder.is_dir()
    assert not folder.exists()


def test_workers_end_with_their_parent(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment)
    workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert workers
    parent.kill()
    parent.communicate()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_said_in_a_sentence():
    with (
        pytest.raises(RuntimeError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"),
        pool("tcp://127.0.0.1:9"),
    ):
        pass


MARKS = """
import json, sys, time

def say(**message):
    print(json.dumps(message), flush=True)

served = 0
while line := sys.stdin.readline():
    assignment, student = json.loads(line)
    say(done=0, of=0)
    say(done=1, of=2)
    if student == "slow":
        time.sleep(0.5)
    if student == "dies":
        sys.exit(3)
    if student == "talks":
        print("something else", flush=True)
    served += 1
    say(success=True, log=f"{student} was number {served}" + " " * 200_000)
    if student == "last":
        break
"""
ENDED = "Marking came to no end: RuntimeError: its process ended with 3; the server's log may say why"
BY_TURNS = {  # who asks, and what is answered
    "in their order": (("slow", "bo", "ada"), ["slow was number 1", "bo was number 2", "ada was number 3"]),
    "the same twice": (("slow", "slow"), ["slow was number 1"] * 2),
    "a process ends": (("dies", "bo"), [ENDED, "bo was number 1"]),
    "a process has ended": (
        ("last", "bo", "last", "ada"),
        ["last was number 1", "bo was number 1", "last was number 1", "ada was number 2"],
    ),
}


@pytest.fixture
def queue(tmp_path):
    """Return a queue with a process that answers as the real one does, at once."""
    (tmp_path / "marks.py").write_text(MARKS)
    return MarkingQueue(tmp_path, (sys.executable, "marks.py"))


def asked(queue, *students):

    async def ask():
        found = await asyncio.gather(*(queue.mark("05-attention", student) for student in students))
        await queue._end()
        return found

    return [one["log"].strip() if one["success"] else one["error"] for one in asyncio.run(ask())]


@pytest.mark.parametrize(("students", "answers"), BY_TURNS.values(), ids=BY_TURNS)
def test_one_process_marks_one_after_the_other_and_is_started_again(queue, students, answers):
    assert asked(queue, *students) == answers


def test_a_line_that_is_no_message_is_a_sentence(queue):
    first, second = asked(queue, "talks", "bo")
    assert first.startswith("Marking came to no end: JSONDecodeError")
    assert second == "bo was number 1"


def test_it_knows_how_far_each_is_and_who_waits(queue):
    async def watch():
        tasks = [asyncio.create_task(queue.mark("05-attention", student)) for student in ("slow", "bo")]
        other = asyncio.create_task(queue.mark("06-masking", "bo"))
        while queue.progress("05-attention").get("slow", {}).get("done") != 1:
            await asyncio.sleep(0.01)
        seen = queue.progress("05-attention"), queue.progress("06-masking")
        await asyncio.gather(*tasks, other)
        await asyncio.sleep(0)
        left = queue.progress("05-attention")
        await queue._end()
        return *seen, left

    attention, masking, left = asyncio.run(asyncio.wait_for(watch(), 60))
    assert attention == {"slow": {"before": 0, "done": 1, "of": 2}, "bo": {"before": 1, "done": 0, "of": 0}}
    assert masking == {"bo": {"before": 2, "done": 0, "of": 0}}
    assert left == {}


def test_it_goes_on_when_who_asked_goes_away(queue):
    async def leave():
        asking = asyncio.create_task(queue.mark("05-attention", "slow"))
        await asyncio.sleep(0.1)
        asking.cancel()
        answer = await queue.mark("05-attention", "slow")
        await queue._end()
        return answer

    assert asyncio.run(leave())["log"].startswith("slow was number 1 ")
