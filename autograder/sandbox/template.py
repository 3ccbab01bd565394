"""The warm template: imports once what notebooks import, then forks a child for each notebook.

Run as `python -m autograder.sandbox.template FD`, with one end of a socketpair as FD. It holds no secrets: children
inherit its memory. It stays single-threaded, since threads do not survive a fork.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys

from ..judge.wire import Channel


def warm_up() -> None:
    """Import what the course's notebooks import, and what those imports put off until first use."""
    import IPython.core.completer
    import matplotlib.pyplot
    import matplotlib_inline.backend_inline
    import torch
    import torch.optim
    import torch.utils._python_dispatch
    import tqdm.auto  # noqa: F401

    from . import shell  # noqa: F401

    torch.set_num_threads(1)
    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])  # pulls in a second and a half of lazy imports
    try:
        import transformers  # noqa: F401
    except ImportError:
        pass
    assert IPython.core.completer and matplotlib.pyplot and matplotlib_inline.backend_inline
    assert torch.utils._python_dispatch


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    channel = Channel(control)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader, which then closes the connection
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end leave no zombies
    warm_up()
    gc.collect()
    gc.freeze()
    channel.send({"ready": True})
    while True:
        try:
            request = channel.receive().tree
            _, fds, _, _ = socket.recv_fds(control, 1, 1)
        except (EOFError, OSError, IndexError):
            return
        pid = os.fork()
        if pid == 0:
            _become_child(fds[0], request)
        os.close(fds[0])
        channel.send({"pid": pid})


def _become_child(descriptor: int, request: dict) -> None:
    from .shell import start

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        start(socket.socket(fileno=descriptor), request["scratch"], request["limits"])
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
