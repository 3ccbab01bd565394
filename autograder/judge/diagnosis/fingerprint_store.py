"""Load fingerprints (`of(name)`), compute missing ones on all cores (`compute_missing`), add them to the course
(`keep`).

A worker is a separate Python process (`python -m autograder.judge.diagnosis.fingerprint_store`), so that catalogued
programs cannot harm the process that marks. It reads lines "NAME row row …" and writes the fingerprints of these
variants.
"""

import base64
import contextlib
import functools
import io
import itertools
import os
import queue
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import filelock

from ...spec.course import exercise, uses_torch
from . import fingerprints, keys
from .fingerprints import Fingerprints

CHUNK = 6  # variants in one request to a worker
FEW = 12  # up to so many variants are computed in this process


@functools.cache
def of(name: str) -> Fingerprints:
    """Return the fingerprints of an exercise's catalogue, in its order; compute and store missing ones."""
    if (known := fingerprints.load(fingerprints.shipped(name), name=name)) is not None:
        return known
    in_order = fingerprints.cached(name, keys.exact_text_hash(name))
    if (known := fingerprints.load(in_order, name=name)) is not None:
        return known
    key = keys.results_key(name)
    rows = fingerprints.missing(name)
    if len(rows) > FEW:
        compute_missing([name])
    elif rows:
        with filelock.FileLock(
            fingerprints.lock_of(name)
        ):  # another process may be computing them: then read its result
            if rows := fingerprints.missing(name):
                _add(name, fingerprints.compute(name, rows))
    found = fingerprints.load_stored(name, key)
    row_of = {variant: row for row, variant in enumerate(found.variants)}
    found = found.select([row_of[source] for source in fingerprints.sources_of(name)])
    found.names = fingerprints.names_of(name)
    fingerprints.save(found, in_order, key, name)
    return found


def compute_missing(names: Iterable[str]) -> int:
    """Compute what is missing of these exercises' fingerprints into the user's cache. Return the number of variants."""
    rows = {name: fingerprints.missing(name) for name in names}
    requests = [
        (name, rows[name][start : start + CHUNK])
        for name in sorted(rows, key=lambda name: -len(rows[name]))
        for start in range(0, len(rows[name]), CHUNK)
    ]
    total = sum(map(len, rows.values()))
    if total:
        _run_workers(requests, total, os.cpu_count() or 1)
    return total


def unkept(name: str) -> set[str]:
    """Return the variants of an exercise whose fingerprints the course does not keep."""
    kept = fingerprints.load(fingerprints.shipped(name), keys.results_key(name))
    return set(fingerprints.sources_of(name)) - set(kept.variants if kept is not None else ())


def keep(names: Iterable[str]) -> list[Path]:
    """Write these exercises' fingerprints into the course, for the present catalogue alone. Return the files."""
    paths = {name: fingerprints.shipped(name) for name in names}
    for name, path in paths.items():
        fingerprints.save(of(name), path, keys.results_key(name), name)
    return list(paths.values())


def _run_workers(requests: list[tuple[str, list[int]]], total: int, workers: int) -> None:
    """Compute these rows of these exercises, and add an exercise to the cache as soon as it is complete."""
    from rich.console import Console  # only for computing; most processes just look up
    from rich.progress import Progress

    console = Console(stderr=True)
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    def compute(request: tuple[str, list[int]]) -> Fingerprints:
        worker = idle.get()
        try:
            return worker.compute(*request)
        finally:
            idle.put(worker)

    title = "learning what each mistake answers"
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(Progress(console=console, transient=True, disable=not console.is_terminal))
        task = bar.add_task(title, total=total)
        for _ in range(min(workers, len(requests))):
            idle.put(stack.enter_context(Worker()))
        pool = ThreadPoolExecutor(workers)
        stack.callback(pool.shutdown, cancel_futures=True)
        try:
            answered = zip(requests, pool.map(compute, requests), strict=True)
            for name, parts in itertools.groupby(answered, key=lambda one: one[0][0]):
                found = Fingerprints.empty(len(exercise(name).checks))
                for (_, wanted), part in parts:
                    found = found.joined(part)
                    bar.advance(task, len(wanted))
                with filelock.FileLock(fingerprints.lock_of(name)):
                    _add(name, found)
        except Exception as error:
            raise RuntimeError(f"the fingerprints could not be computed: {error}") from error


def _add(name: str, new: Fingerprints) -> None:
    """Add fingerprints to the user's cache; the caller holds its lock, since other processes add to it, too."""
    key, path = keys.results_key(name), fingerprints.cached(name)
    kept = fingerprints.load(path, key)
    fingerprints.save(new if kept is None else kept.joined(new), path, key)


class Worker(contextlib.AbstractContextManager["Worker"]):
    """A process that computes fingerprints on request; `environment` overrides its environment variables."""

    def __init__(self, **environment: str) -> None:
        usual = {
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",  # as in the template: the order of a set is the same for students and mistakes
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | usual | environment,
        )

    def compute(self, name: str, rows: list[int]) -> Fingerprints:
        requests, answers = self.process.stdin, self.process.stdout
        assert requests is not None
        assert answers is not None
        print(name, *rows, file=requests, flush=True)
        line = answers.readline()
        if not line:
            raise RuntimeError(f"a variant of {name} (one of rows {rows}) ended its process")
        return fingerprints.read(io.BytesIO(base64.b64decode(line)), keys.results_key(name))

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def main() -> None:
    """Run a worker: answer requests from standard input until it ends."""
    import logging

    if uses_torch():
        import torch

        torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)  # strange answers are marked in the fingerprints
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of catalogued programs must not mix with the answers
    for line in sys.stdin:
        name, *rows = line.split()
        buffer = io.BytesIO()
        fingerprints.write(fingerprints.compute(name, list(map(int, rows))), buffer, keys.results_key(name))
        print(base64.b64encode(buffer.getvalue()).decode(), file=answers, flush=True)


if __name__ == "__main__":
    main()
