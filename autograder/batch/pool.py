"""Pools that mark submissions in parallel: processes of this machine, or a Dask cluster."""

import atexit
import contextlib
import multiprocessing
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from typing import Any, Generic, TypeVar

from ..sandbox import environment, installed
from ..sandbox.session import Template
from ..spec.course import course, notebooks, sources

DASK = "distributed>=2026.7,<2027"  # the requirement of the extra `cluster` in pyproject.toml
AHEAD = 2  # submitted tasks per worker: enough that none is idle, few enough to spare memory

_shared: tuple[str, ...] | None = None  # once the process runs from which workers are forked

Task = TypeVar("Task")
Result = TypeVar("Result")
Arguments = tuple[Any, ...]


class WorkerDied(Exception):
    """Raised when the processes that worked on a task have died, also those that had nothing else to do."""


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def end_with_parent(shared_template: tuple[str, ...], variables: Mapping[str, str]) -> None:
    """Prepare a worker: it ends when its parent is killed, computes with one thread, and forks a shared template.

    `variables` are the parent's environment: the process from which the worker was forked has another one.
    """
    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None  # it may have been chosen in the other environment
    Template.shared = shared_template
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    threading.Thread(target=watch, daemon=True).start()


def start_server(preload: tuple[str, ...] | None) -> tuple[str, ...]:
    """Start the process from which workers are forked; return the value of `Template.shared` for them.

    It imports what all of them need, once. If they run notebooks, it first forks a template that imports `preload`, so
    it begins with a template's environment: no notebook finds the grader's in its memory. There is one such process;
    the workers of later pools fork the same template, or start their own if it has none.
    """
    global _shared
    if _shared is None:
        _shared = ()
        multiprocessing.set_forkserver_preload(["autograder.batch.preloaded"])  # "__main__" would come before it
        if preload is not None:
            folder = tempfile.mkdtemp(prefix="template-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            _shared = os.path.join(folder, "socket"), *preload
        with environment.replaced_by(environment.of_server(_shared, installed.paths())):
            forkserver.ensure_running()
    return _shared


def preload_for(assignments: Iterable[str]) -> tuple[str, ...]:
    """Return those modules of `Course.preload` that these assignments may use; none if none is the course's.

    Left out are packages that only other notebooks import. A student who imports one all the same waits for it.
    """
    wanted = {*assignments} & {*notebooks()}
    if not wanted:
        return ()
    packages = {module.partition(".")[0] for module in course().preload}
    own, others = set[str](), set[str]()
    for folder in sources().iterdir():
        texts = [path.read_bytes() for path in folder.glob("*") if path.suffix in (".ipynb", ".py")]
        imported = {
            name
            for name in packages
            if any(f"{word} {name}".encode() in text for text in texts for word in ("import", "from"))
        }
        (own if folder.name in wanted else others).update(imported)
    return tuple(module for module in course().preload if module.partition(".")[0] not in others - own)


class Local:
    """A pool of processes on this machine. If one dies, the pool fails all that is running."""

    died: type[BaseException] = BrokenProcessPool

    def __init__(self, workers: int | None = None, preload: tuple[str, ...] | None = None) -> None:
        """Prepare a pool of so many `workers`, else one for each core.

        If they run notebooks, `preload` has the modules that their shared template imports.
        """
        self.workers = workers or cores()
        self.preload = preload
        self._executor: ProcessPoolExecutor | None = None

    def executor(self) -> Executor:
        if self._executor is None:
            shared = start_server(self.preload)
            context = multiprocessing.get_context("forkserver")
            self._executor = ProcessPoolExecutor(self.workers, context, end_with_parent, (shared, dict(os.environ)))
        return self._executor

    def close(self) -> None:
        """Shut down; the next task starts new processes."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


class Cluster:
    """A Dask cluster whose workers have this course installed. Dask gives a dead worker's tasks to others.

    It fails a task of which four workers have died, and also what waited at these workers to be next.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client, KilledWorker
        except ImportError:
            raise RuntimeError(f"--scheduler needs Dask, which is not installed: pip install '{DASK}'") from None
        try:
            self._client = Client(address, timeout="5s", set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise RuntimeError(f"no Dask scheduler answers at {address}: {error}") from error
        self.address = address
        self.died: type[BaseException] = KilledWorker

    @property
    def workers(self) -> int:
        return max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))

    def executor(self) -> Executor:
        executor: Executor = self._client.get_executor(pure=False, retries=3)
        return executor

    def close(self) -> None:
        self._client.close()


class TaskQueue(Generic[Task, Result]):
    """A queue of tasks for a pool: `put` submits one, `done` yields finished ones with their results, in any order."""

    def __init__(self, pool: Local | Cluster, work: Callable[..., Result]) -> None:
        self.pool, self.work = pool, work
        self._running: dict[Future[Result], tuple[Task, Arguments]] = {}
        self._alone: list[tuple[Task, Arguments]] = []  # there when a process died: any of them may be the cause

    def __len__(self) -> int:
        return len(self._running) + len(self._alone)

    def full(self) -> bool:
        return len(self) >= AHEAD * self.pool.workers or bool(self._alone)

    def __iter__(self) -> Iterator[tuple[Task, Result | BaseException]]:
        while len(self):
            yield from self.done()

    def put(self, task: Task, *arguments: Any) -> None:
        try:
            self._running[self.pool.executor().submit(self.work, *arguments)] = task, arguments
        except BrokenProcessPool:
            self._after_a_death([(task, arguments)])

    def done(self, patience: float | None = None) -> Iterator[tuple[Task, Result | BaseException]]:
        """Wait up to `patience` seconds; yield finished tasks with their results, or the exceptions they raised."""
        finished, _ = wait(self._running, patience, FIRST_COMPLETED)
        victims: list[tuple[Task, Arguments]] = []
        for future in finished:
            task, arguments = self._running.pop(future)
            outcome = self._outcome(future)
            if isinstance(outcome, self.pool.died):
                victims.append((task, arguments))
            else:
                yield task, outcome
        if victims:
            self._after_a_death(victims)
        while self._alone and not self._running:
            task, arguments = self._alone.pop()
            yield task, self._try_alone(arguments)

    def _outcome(self, future: Future[Result]) -> Result | BaseException:
        """Wait for a task; return its result, or the exception it raised. Raise ConnectionError without a scheduler."""
        wait([future])
        if isinstance(self.pool, Cluster) and future.cancelled():
            raise ConnectionError(f"The Dask scheduler at {self.pool.address} no longer answers")
        error = future.exception()
        return error if error is not None else future.result()

    def _after_a_death(self, victims: list[tuple[Task, Arguments]]) -> None:
        self._alone += victims
        if isinstance(self.pool, Local):
            self._alone += self._running.values()
            self._running.clear()
            self.pool.close()

    def _try_alone(self, arguments: Arguments) -> Result | BaseException:
        try:
            outcome = self._outcome(self.pool.executor().submit(self.work, *arguments))
        except BrokenProcessPool as error:
            outcome = error
        if not isinstance(outcome, self.pool.died):
            return outcome
        if isinstance(self.pool, Local):
            self.pool.close()
        return WorkerDied("each process that marked it ended")


def pool(
    scheduler: str = "", workers: int | None = None, preload: tuple[str, ...] | None = None
) -> contextlib.closing[Local | Cluster]:
    """Open a pool: the cluster with this scheduler's address if given, else `workers` local processes (see `Local`)."""
    return contextlib.closing(Cluster(scheduler) if scheduler else Local(workers, preload))
