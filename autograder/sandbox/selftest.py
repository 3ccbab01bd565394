"""Test the sandbox before the first notebook: run a cell that tries to break out in every way listed here."""

import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from . import environment, installed
from .filters import landlock_version
from .isolation import hidden, visible
from .limits import CellResult, Limits, NoSandbox, SandboxError
from .private import data_folders, packages

Run = Callable[[str, Limits], CellResult]  # runs a cell as the first of a notebook with these limits

PROCESSES = 8  # limit of the test notebook

# Actions that a cell must not be able to do. Each has an expression that is true if the action succeeded.
ATTEMPTS = {
    "read a file of yours": "token in open(secret).read()",
    "read the checks of the exercises": "any(map(os.listdir, filter(os.path.isdir, packages)))",
    "list your home, your working folder or the classroom": "any(map(lists, own))",
    "see other processes": "bool(set(map(int, filter(str.isdigit, os.listdir('/proc')))) - {os.getpid()})",
    "read the memory of other processes": "bool(open('/proc/%d/mem' % grader, 'rb'))",
    "signal other processes": "os.kill(grader, 0) is None",
    "reach a port of this machine": "connects(socket.AF_INET, ('127.0.0.1', port))",
    "reach an abstract socket of this machine": "connects(socket.AF_UNIX, abstract)",
    "reach a socket file of this machine": "connects(socket.AF_UNIX, path)",
    "reach the internet": "bool(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9)))",
    "write outside its folder": "any(map(writes, [os.path.dirname(secret), '/', '/usr/lib', sys.prefix, '/home']))",
    "see your environment variables": "bool(set(os.environ) & set(variables))",
    "be root": "os.geteuid() == 0",
    "make a namespace": "libc.unshare(0x10000000) == 0",
    "trace processes": "libc.ptrace(0x4206, grader, 0, 0) == 0",
    "hold memory that no limit counts": "bool(os.memfd_create('x'))",
    "raise its limits": "resource.setrlimit(resource.RLIMIT_NPROC, (max_processes + 1, max_processes + 1)) is None",
    "start processes without bound": "forks(2 * max_processes) > max_processes",
}
SOURCE = """
import ctypes, json, os, resource, signal, socket, sys
globals().update(json.loads(FACTS))
libc = ctypes.CDLL(None)

def connects(family, address):
    with socket.socket(family) as s:
        s.settimeout(0.2)
        return s.connect(address) is None

def writes(folder):
    name = os.path.join(folder, token)
    try:
        open(name, "w").close()
    except OSError:
        return False
    return not name.startswith("/tmp/")  # a cell has a /tmp of its own, which is looked at from outside

def lists(folder):
    try:
        return bool(set(os.listdir(folder)) & set(own[folder]))
    except OSError:
        return False

def forks(count):
    children = []
    try:
        for _ in range(count):
            pid = os.fork()
            if not pid:
                signal.pause()
            children.append(pid)
    except OSError:
        pass
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return len(children)

def succeeds(attempt):
    try:
        return bool(eval(attempt))
    except Exception:
        return False

open("own", "w").write("a cell can write in its own folder")
unseen = [path for path in installed if not os.access(path, os.R_OK)]
print(json.dumps([[attempt for attempt in attempts if succeeds(attempts[attempt])], unseen]))
"""

REMEDY = (
    "Nothing was marked. The sandbox needs Linux, and either root or user namespaces. On Windows and macOS: mark in "
    "WSL 2 or in a Linux machine. In Docker: `docker run --security-opt seccomp=unconfined --security-opt "
    "apparmor=unconfined`, or `--privileged`. On Ubuntu 24.04: "
    "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or mark as root. To run students' programs with "
    "your own rights all the same, set `c.Judge.sandbox = False` in nbgrader_config.py, or give "
    "`--Judge.sandbox=False` to `nbgrader autograde` or `--no-sandbox` to `autograder grade`."
)


def check_sandbox(run: Run) -> str:
    """Test the sandbox and return a sentence on how `run` isolates. Raise SandboxError if it does not hold."""
    if not sys.platform.startswith("linux"):
        raise SandboxError(f"Notebooks cannot run in the sandbox: this system is not Linux. {REMEDY}")
    try:
        succeeded, unseen = _broken_out(run)
    except NoSandbox as error:
        raise SandboxError(f"{error}. {REMEDY}") from error
    if succeeded:
        raise SandboxError(f"The sandbox does not hold: a notebook could {', '.join(succeeded)}. {REMEDY}")
    if unseen:
        raise SandboxError(
            f"Nothing was marked: notebooks in the sandbox may not read the packages in {', '.join(unseen)}. Let other "
            "users read them (`chmod -R a+rX`), or install them elsewhere."
        )
    way = "as a user of its own" if os.geteuid() == 0 else "in a user namespace"
    landlock = f"Landlock {landlock_version()}" if landlock_version() else "no Landlock"
    return (
        f"Each notebook runs in a sandbox: {way}, without network, alone in its own file and process namespaces, "
        f"behind seccomp and {landlock}. {len(ATTEMPTS)} ways out were tried; all are closed."
    )


def _broken_out(run: Run) -> tuple[list[str], list[str]]:
    """Run the test cell; return the names of ATTEMPTS that succeeded, and the folders of packages that it cannot read.

    Raise NoSandbox if it did not finish.
    """
    token = f"probe-{os.getpid()}-{os.urandom(6).hex()}"
    limits = replace(Limits(), processes=PROCESSES, cell=10)
    with (
        tempfile.TemporaryDirectory(prefix="sandbox-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        os.chmod(folder, 0o777)  # file permissions must not protect these: only the sandbox may
        secret, path = Path(folder, "secret"), os.path.join(folder, "socket")
        secret.write_text(token)
        abstract.bind("\0" + token)
        named.bind(path)
        os.chmod(path, 0o777)
        abstract.listen()
        named.listen()
        facts = {
            "attempts": ATTEMPTS,
            "token": token,
            "secret": str(secret),
            "packages": [*packages(), *hidden(packages(), installed.paths())],
            "own": {folder: _own_names(Path(folder)) for folder in data_folders() if folder != "/"},
            "installed": installed.paths(),
            "grader": os.getpid(),
            "port": server.getsockname()[1],
            "abstract": "\0" + token,
            "path": path,
            "variables": sorted(set(os.environ) - environment.visible_names()),
            "max_processes": PROCESSES,
        }
        result = run(SOURCE.replace("FACTS", repr(json.dumps(facts))), limits)
        written = set(os.listdir(folder)) - {"secret", "socket"}
    text = "".join(output.get("text", "") for output in result.outputs)
    try:
        succeeded, unseen = json.loads(text)
    except ValueError:
        raise NoSandbox(f"the test of the sandbox did not finish ({result.ending}): {result.outputs}") from None
    return list(dict.fromkeys(succeeded + ["write outside its folder"] * bool(written))), unseen


def _own_names(folder: Path) -> list[str]:
    """Return the names in a person's folder that no notebook may see: all but what leads to packages.

    The interpreter, packages, or a link to them may lie there; then the sandbox shows the folders on the way to them.
    """
    shown = [Path(path) for path, _ in visible(installed.paths())]
    names = os.listdir(folder) if os.path.isdir(folder) and os.access(folder, os.R_OK) else []
    ways = {name: (folder / name, (folder / name).resolve()) for name in names}
    return [name for name in names if not any(path.is_relative_to(way) for path in shown for way in ways[name])]
