"""Tests of the pools: every task gives one result, even if processes die."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from autograder.cluster.pool import Local, TaskQueue, WorkerDied, cores, pool

PARENT = """
import time
from autograder.cluster.pool import Local, TaskQueue
from test_pool import square
if __name__ == "__main__":
    line = TaskQueue(Local(2), square)
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


def test_workers_end_with_their_parent(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (here.parents[1], here)))}
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
