"""The warm template imports the modules that notebooks need once, then forks a child for each notebook.

Run as `python -m autograder.sandbox.template FD [MODULE...]`, with one end of a socketpair as FD. A shared template is
forked by the process that forks a class's workers, and forks another template for each of them. A template holds no
secrets, since children inherit its memory. It stays single-threaded, since threads do not survive a fork.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from . import monitor

if __name__ == "__main__":  # first: the other imports take seconds, and the grader may die meanwhile
    monitor.die_with_the_grader(int(sys.argv[1]))

from ..untrusted.torch_internals import UnsupportedTorch
from ..untrusted.wire import Channel
from . import environment, isolation

HUGE_PAGE = 2 * 2**20  # bytes
MADV_COLLAPSE = 25  # of <linux/mman.h>, since Linux 6.1

# Modules that notebooks of every course need. Those of one course are named on the command line.
PRELOADED = (
    *("IPython.core.completer", "matplotlib.pyplot", "matplotlib_inline.backend_inline"),
    "autograder.untrusted.shell",
)


def warm_up(more: list[str]) -> None:
    """Import the modules that notebooks use, and trigger the imports that those delay until first use."""
    for name in (*PRELOADED, *more):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if "torch" in sys.modules:  # a course's notebooks use it
        warm_up_torch()
        from ..untrusted import tensor_calls  # noqa: F401  # in the sandbox, our files are out of reach
    from ..untrusted.warm_up import rehearse

    gc.freeze()  # imports leave hardly anything to collect
    rehearse()
    if (inline := sys.modules.get("matplotlib_inline.backend_inline")) is not None:
        # Else the notebook's shell would not set PNG figures.
        vars(inline.configure_inline_support).pop("current_backend", None)


def warm_up_torch() -> None:
    import torch

    torch.set_num_threads(1)
    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])  # triggers 1.5 s of lazy imports


def use_huge_pages() -> bool:
    """Merge this process's memory into huge pages, so that a fork copies and misses a fraction of the page entries.

    Return False if the kernel cannot do it on request.
    """
    if not monitor.LINUX:
        return False
    madvise, merged = ctypes.CDLL(None).madvise, False
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, rights, _, _, inode, *name = line.split(maxsplit=5)
        start, end = (int(address, 16) for address in addresses.split("-"))
        start, end = -(-start // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE
        if rights == "rw-p" and inode == "0" and name in ([], ["[heap]"]) and start < end:
            merged |= not madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_COLLAPSE)
    return merged


def fork_shared() -> None:
    """Fork a template if the environment says where it listens: so torch lies in memory once for both.

    Call it before this process imports or reads anything that a student must not find in a notebook's memory.
    """
    if environment.SHARED not in os.environ:
        return
    path, modules, graders = json.loads(os.environ.pop(environment.SHARED))
    with contextlib.suppress(ImportError):  # a course may do without
        warm_up_torch()
    gc.freeze()
    huge_pages = use_huge_pages()  # before the fork: later, each process would copy all of them for itself
    own_end, child_end = socket.socketpair()
    if os.fork():
        child_end.close()
        own_end.detach()  # stays open as long as this process runs
        return
    try:
        os.setsid()
        _close_all_but([child_end.fileno()])
        monitor.die_with_the_grader(child_end.fileno())
        sys.path[:] = [entry for entry in sys.path if entry not in graders]
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(128)
            serve(child_end, modules, listener, huge_pages)
    finally:
        os._exit(1)


def serve(
    requests: socket.socket, modules: list[str], listener: socket.socket | None = None, huge_pages: bool | None = None
) -> None:
    """Import `modules`, then fork a child for each request, and a template for each connection to `listener`."""
    channel = Channel(requests)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader, which then closes the connection
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end leave no zombies
    gc.disable()  # it would walk again and again over half a million new objects, all of which stay
    try:
        warm_up(modules)
    except UnsupportedTorch as error:
        channel.send({"problem": str(error)})
        return
    gc.enable()
    gc.collect()
    gc.freeze()
    ready = {"ready": True, "huge_pages": use_huge_pages() if huge_pages is None else huge_pages}
    channel.send(ready)
    while True:
        if listener is not None and requests not in select.select([requests, listener], [], [])[0]:
            line, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                requests.close()
                listener, requests, channel = None, line, Channel(line)
                os.setsid()  # whoever connected may lower the priority of this session, and of no other
                channel.send(ready | {"pid": os.getpid()})
            else:
                line.close()
            continue
        try:
            request = channel.receive().tree
            _, fds, _, _ = socket.recv_fds(requests, 1, 8)
        except (EOFError, OSError):
            return
        pid = os.fork()
        if pid == 0:
            try:
                _become_monitor(request, fds)
            finally:
                os._exit(1)
        for descriptor in fds:
            os.close(descriptor)
        channel.send({"pid": pid})


def _become_monitor(request: dict[str, Any], fds: list[int]) -> None:
    """Fork the notebook's process, in the sandbox if the request says so, and watch it.

    `fds` are the socket for requests, the control socket of the monitor, and a kernel's five sockets.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _close_all_but(fds)
    requests, control = socket.socket(fileno=fds[0]), socket.socket(fileno=fds[1])
    sandboxed, uid = request["sandboxed"], -1
    try:
        if sandboxed:
            uid = isolation.detach()
        else:
            monitor.adopt_orphans()
    except (OSError, isolation.NoIsolation) as error:
        Channel(requests).send({"problem": str(error)})
        return
    child = os.fork()
    if child == 0:
        control.close()
        _become_notebook(request, requests, uid, fds[2:])
    requests.close()
    for descriptor in fds[2:]:
        os.close(descriptor)
    monitor.watch(child, control, request["limits"], sandboxed)


def _become_notebook(request: dict[str, Any], requests: socket.socket, uid: int, fds: list[int]) -> None:
    from ..untrusted import shell

    try:
        os.setsid()
        if request["sandboxed"]:
            isolation.enter(uid, request["limits"], request["files"], request["private"], request["installed"])
        else:
            os.chdir(request["scratch"])
            isolation.limit_resources(request["limits"], isolation.address_space())
        _set_environment(os.getcwd(), "/tmp" if request["sandboxed"] else request["scratch"])
        if request["kernel"]:
            from ..untrusted import kernel

            kernel.serve(requests, request["kernel"], fds)
        else:
            shell.serve(requests, request["limits"])
    except Exception as error:
        missing = isinstance(error, ImportError) and error.name
        Channel(requests).send({"problem": f"{type(error).__name__}: {error}", "missing": missing or ""})
        os._exit(1)


def _close_all_but(kept: list[int]) -> None:
    """Close the template's file descriptors except `kept`, and point the standard streams to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    for descriptor in map(int, os.listdir(folder)):
        if descriptor not in (0, 1, 2, *kept):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _set_environment(home: str, temporary: str) -> None:
    """Set the notebook's environment variables and import path, and keep none of the grader's."""
    variables = environment.of_notebook(home, temporary)
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None
    own = {*environment.CHECKOUT, sys.path[0]}
    sys.path[:] = ["", *(entry for entry in sys.path if entry not in own)]
    sys.argv[:] = [""]
    time.tzset()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
