"""The monitor of a notebook: stands outside its cage, and ends everything in it when told to or when it takes too much.

The trusted side holds a leash, one end of a socket. "I" on it interrupts the running cell; when it closes, for whatever
reason, the notebook's processes die.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time

INTERRUPT = b"I"
# Of a process's status, and of its smaps_rollup since Linux 5.3: memory that is no cached file, swapped out or not.
RESIDENT, PROPORTIONAL = ("RssAnon:", "RssShmem:", "VmSwap:"), ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
EVERY = 0.05  # seconds between two looks
LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def die_with_the_grader(control: int) -> None:
    """The kernel ends this process when the one that started it has gone; if it already has, this is the end.

    To the kernel that is the thread that started it. Should only the thread go, the next notebook gets a new template.
    """
    if not LINUX:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    with contextlib.suppress(BlockingIOError), socket.socket(fileno=os.dup(control)) as line:
        if not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            os._exit(1)


def adopt_orphans() -> None:
    """Without a process namespace: processes whose parent has gone become children of this one, not of the system's."""
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def watch(child: int, leash: socket.socket, limits: dict, caged: bool) -> None:
    """Stay until the child has gone; then end what it left behind."""
    reason = _wait(child, leash, limits)
    if reason:
        with contextlib.suppress(OSError):
            leash.send(reason.encode())
    if caged:
        _kill(child)  # the first process of its namespace: all others die with it
    else:
        _kill_tree(child)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _wait(child: int, leash: socket.socket, limits: dict) -> str:
    """Why the end has come: "" when the child went by itself or the trusted side let go of it."""
    poll = select.poll()
    poll.register(leash, select.POLLIN)
    end = time.monotonic() + 4 * (limits["notebook"] + limits["cell"])
    inherited = _kilobytes("/proc/self/status", RESIDENT) * 1024  # this process is a fork of the template and no more
    while time.monotonic() < end:
        if poll.poll(EVERY * 1000):
            try:
                command = leash.recv(1)
            except OSError:
                return ""
            if command != INTERRUPT:
                return ""
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
        if LINUX and memory(child, most := inherited + limits["memory"]) > most:
            return "memory"
        if _has_ended(child):
            return ""
    return "time"


def _has_ended(child: int) -> bool:
    """Whether it has; it stays a zombie until the end, so that its number is nobody else's."""
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return True


def tree(root: int) -> list[int]:
    """A process and all its descendants."""
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    todo += map(int, file.read().split())
    return found


def memory(root: int, limit: int) -> int:
    """Bytes in use by a notebook's processes. Pages that several processes share are shared out once they matter.

    So all that they have from the template is never more than the template holds, however many they are.
    """
    pids = tree(root)
    rough = sum(_kilobytes(f"/proc/{pid}/status", RESIDENT) for pid in pids)
    if rough * 1024 <= limit:
        return rough * 1024
    exact = sum(_kilobytes(f"/proc/{pid}/smaps_rollup", PROPORTIONAL) for pid in pids)
    return (exact or rough) * 1024


def _kilobytes(path: str, names: tuple[str, ...]) -> int:
    try:
        with open(path) as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(names))
    except (OSError, ValueError):
        return 0  # it has just ended


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _kill_tree(child: int) -> None:
    """Without a cage: stop everything first, so that nothing is born while the rest dies."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in [pid for pid in (tree(os.getpid()) if LINUX else [0, child]) if pid not in (0, os.getpid())]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
    _kill(child)
