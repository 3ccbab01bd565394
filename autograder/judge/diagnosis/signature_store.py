"""Load signatures (`of(name)`), compute missing ones on all cores (`compute_missing`), add them to the course (`keep`).

A worker is a separate Python process (`python -m autograder.judge.diagnosis.signature_store`), so that catalogued
programs cannot harm the process that marks. It reads lines "NAME row row …" and writes the signatures of these
versions.
"""

from __future__ import annotations

import base64
import functools
import io
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

import filelock
from tqdm.auto import tqdm

from ...spec.course import asks_for_tensors
from . import keys, signatures
from .signatures import Signatures

CHUNK = 6  # versions in one request to a worker
FEW = 12  # up to so many versions are computed in this process


@functools.cache
def of(name: str) -> Signatures:
    """Return the signatures of an exercise's catalogue, in its order; compute and store missing ones."""
    letters = keys.letter_key(name)
    ordered = signatures.cached(name, letters)
    for path in (signatures.shipped(name), ordered):
        if (known := signatures.load(path, letters=letters)) is not None:
            return known
    key = keys.exercise_key(name)
    rows = signatures.missing(name)
    if len(rows) > FEW:
        compute_missing([name])
    elif rows:
        with filelock.FileLock(signatures.lock_of(name)):  # another process may be computing them: then read its result
            rows = signatures.missing(name)
            kept = signatures.load(signatures.cached(name), key)
            if rows:
                new = signatures.compute(name, rows)
                signatures.save(new if kept is None else kept.joined(new), signatures.cached(name), key)
    found = signatures.load_stored(name, key)
    place = {version: row for row, version in enumerate(found.versions)}
    found = found.select([place[source] for source in signatures.sources_of(name)])
    found.names = signatures.names_of(name)
    signatures.save(found, ordered, key, letters)
    return found


def compute_missing(names: Iterable[str], workers: int | None = None) -> int:
    """Compute what is missing of these exercises' signatures into the user's cache. Return the number of versions."""
    rows = {name: signatures.missing(name) for name in names}
    todo: queue.SimpleQueue = queue.SimpleQueue()
    for name in sorted(rows, key=lambda name: -len(rows[name])):
        for start in range(0, len(rows[name]), CHUNK):
            todo.put((name, rows[name][start : start + CHUNK]))
    total = sum(map(len, rows.values()))
    if total:
        _run_workers(todo, {name: len(found) for name, found in rows.items() if found}, total, workers)
    return total


def unkept(name: str) -> set[str]:
    """Return the versions of an exercise whose signatures the course does not keep."""
    kept = signatures.load(signatures.shipped(name), keys.exercise_key(name))
    return set(signatures.sources_of(name)) - set(kept.versions if kept is not None else ())


def keep(names: Iterable[str]) -> list[Path]:
    """Write these exercises' signatures into the course, for the present catalogue alone. Return the files."""
    paths = []
    for name in names:
        path = signatures.shipped(name)
        signatures.save(of(name), path, keys.exercise_key(name), keys.letter_key(name))
        paths.append(path)
    return paths


def _run_workers(todo: queue.SimpleQueue, left: dict[str, int], total: int, workers: int | None) -> None:
    gathered: dict[str, list[Signatures]] = {name: [] for name in left}
    lock = threading.Lock()
    failures: list[BaseException] = []
    bar = tqdm(total=total, desc="learning what each mistake answers", unit=" versions", disable=None, leave=False)

    def work() -> None:
        try:
            with Worker() as worker:
                while not failures:
                    name, wanted = todo.get_nowait()
                    found = worker.ask(name, wanted)
                    with lock:
                        gathered[name].append(found)
                        left[name] -= len(wanted)
                        bar.update(len(wanted))
                        if not left[name]:
                            _add(name, functools.reduce(Signatures.joined, gathered.pop(name)))
        except queue.Empty:
            pass
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(workers or os.cpu_count() or 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bar.close()
    if failures:
        raise RuntimeError(f"the signatures could not be computed: {failures[0]}") from failures[0]


def _add(name: str, new: Signatures) -> None:
    """Add signatures to the user's cache; another process may have added some meanwhile."""
    key = keys.exercise_key(name)
    with filelock.FileLock(signatures.lock_of(name)):
        known = signatures.load(signatures.cached(name), key)
        signatures.save(known.joined(new) if known is not None else new, signatures.cached(name), key)


class Worker:
    """A process that computes signatures on request; `environment` overrides its environment variables."""

    def __init__(self, **environment: str) -> None:
        self.environment = environment

    def __enter__(self) -> Worker:
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ
            | {
                "OMP_NUM_THREADS": "1",
                "PYTHONHASHSEED": "0",  # as in the template: the order of a set is the same for students and mistakes
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            }
            | self.environment,
        )
        return self

    def ask(self, name: str, rows: list[int]) -> Signatures:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join([name, *map(str, rows)]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a version of {name} (one of rows {rows}) ended its process")
        return signatures.read(io.BytesIO(base64.b64decode(line)), keys.exercise_key(name))

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def main() -> None:
    """Run a worker: answer requests from standard input until it ends."""
    import logging

    if asks_for_tensors():
        import torch

        torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)  # strange answers are marked in the signatures
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of catalogued programs must not mix with the answers
    for line in sys.stdin:
        name, *rows = line.split()
        buffer = io.BytesIO()
        signatures.write(signatures.compute(name, list(map(int, rows))), buffer, keys.exercise_key(name))
        answers.write(base64.b64encode(buffer.getvalue()).decode() + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
