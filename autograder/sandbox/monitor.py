"""The monitor of a notebook runs outside its sandbox, and ends its processes on request or when they exceed a limit.

The trusted side holds one end of the control socket. Writing "I" to it interrupts the running cell. When it closes,
for any reason, the monitor kills the notebook's processes.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time
from typing import Any

INTERRUPT = b"I"
# Fields of a process's status, and of its smaps_rollup (since Linux 5.3), that count memory, swapped out or not, other
# than cached files.
RESIDENT, PROPORTIONAL = ("RssAnon:", "RssShmem:", "VmSwap:"), ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
CHECK_INTERVAL = 0.05  # seconds between two checks
LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def die_with_the_grader(control: int) -> None:
    """Have the kernel kill this process when the grader that started it ends; exit at once if it has ended already.

    The kernel watches the thread that started this process. If only that thread ends, the next notebook gets a new
    template.
    """
    if not LINUX:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    with contextlib.suppress(BlockingIOError), socket.socket(fileno=os.dup(control)) as line:
        if not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            os._exit(1)


def adopt_orphans() -> None:
    """Make orphaned processes children of this one, not of the system's init. Needed without a process namespace."""
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def watch(child: int, control: socket.socket, limits: dict[str, Any], sandboxed: bool) -> None:
    """Wait until the child ends or exceeds a limit, then kill all its processes. Send the limit on `control`."""
    reason = _wait(child, control, limits)
    if reason:
        with contextlib.suppress(OSError):
            control.send(reason.encode())
    if not sandboxed:
        _kill_tree(child)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)  # in a sandbox, the first process of its namespace: all others die with it
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _wait(child: int, control: socket.socket, limits: dict[str, Any]) -> str:
    """Wait for the end, and return "memory" or "time" for an exceeded limit.

    Return "" when the child ended by itself or the trusted side closed the control socket.
    """
    poll = select.poll()
    poll.register(control, select.POLLIN)
    end = time.monotonic() + 4 * (limits["notebook"] + limits["cell"])
    inherited = _kilobytes("/proc/self/status", RESIDENT) * 1024  # the template's: this process is a plain fork of it
    while time.monotonic() < end:
        if poll.poll(CHECK_INTERVAL * 1000):
            try:
                if control.recv(1) != INTERRUPT:
                    return ""
            except OSError:
                return ""
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
        if LINUX and memory(child, limit := inherited + limits["memory"]) > limit:
            return "memory"
        if _has_ended(child):
            return ""
    return "time"


def _has_ended(child: int) -> bool:
    """Return True if the child has ended. Leave it a zombie, so that the system does not reuse its process id."""
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return True


def tree(root: int) -> list[int]:
    """Return the ids of a process and all its descendants."""
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
    """Return the bytes in use by the process `root` and its descendants.

    Above `limit`, count each shared page once, divided among its processes: then pages inherited from the template
    never add up to more than the template holds, however many processes there are.
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
        return 0  # the process has just ended


def _kill_tree(child: int) -> None:
    """Kill a notebook's processes outside the sandbox. Stop all first, so that none forks while others die."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in tree(os.getpid())[1:] if LINUX else [child]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
