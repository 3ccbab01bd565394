"""Run commands of Python in processes that fork from one process, which has imported the libraries of nearly all."""

import contextlib
import functools
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import nbgrader.api

# Only libraries: a command imports the engine and the course from its own PYTHONPATH.
LIBRARIES = ("nbgrader.apps", "nbclient", "numpy", "rich.console", "sqlalchemy.dialects.sqlite", "typer")


@functools.cache
def forking() -> subprocess.Popen:
    """Start the process from which commands fork. It ends with this one, as nothing more can come to its input."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, __file__], env=environment, **streams)


def run_command(module: str, *arguments: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Return the status and the output of `python -m module …`, which finds PYTHONPATH in its environment."""
    os.umask(umask := os.umask(0))
    with tempfile.NamedTemporaryFile("r") as output:
        command = (module, arguments, str(folder), environment, umask, output.name)
        print(json.dumps(command), file=forking().stdin, flush=True)
        return int(forking().stdout.readline()), output.read()


def become(module: str, arguments: list[str], folder: str, environment: dict[str, str], umask: int, log: str) -> None:
    signal.alarm(600)  # ends a command that waits for ever
    os.umask(umask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    with open(os.devnull) as nothing, open(log, "w") as output:
        for stream, file in enumerate((nothing, output, output)):
            os.dup2(file.fileno(), stream)
    sys.path[:1] = [folder, *environment["PYTHONPATH"].split(os.pathsep)]
    with contextlib.suppress(ImportError):
        importlib.import_module("sitecustomize")  # as a new process does
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    for library in LIBRARIES:
        importlib.import_module(library)
    nbgrader.api.get_alembic_version = functools.cache(nbgrader.api.get_alembic_version)
    nbgrader.api.get_alembic_version()  # which takes a process, for each new gradebook
    for line in sys.stdin:
        if not (child := os.fork()):
            become(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
