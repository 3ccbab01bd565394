"""Run a whole Jupyter kernel in a forked, sandboxed child, for clients of Jupyter's protocol (nbclient, JupyterLab).

Its five sockets are bound outside and passed in as open descriptors, so it shares nothing of the file system, and a
client can connect before the kernel listens. This module runs next to untrusted code.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from typing import Any

import zmq
from ipykernel.heartbeat import Heartbeat
from ipykernel.iostream import IOPubThread
from ipykernel.kernelapp import IPKernelApp
from zmq.eventloop.zmqstream import ZMQStream

from .shell import Shell, make_ready
from .wire import Channel

PORTS = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")


class SandboxKernelApp(IPKernelApp):
    """ipykernel's application with sockets that are already bound, and without a connection file."""

    descriptors: dict[int, int]  # by port
    information: dict[str, Any]

    def init_connection_file(self) -> None:
        self.transport, self.ip = "ipc", self.information["ip"]
        for name in PORTS:
            setattr(self, name, self.information[name])
        self.session.key = self.information["key"].encode()
        self.connection_file = os.path.join(tempfile.gettempdir(), "connection.json")

    def _skip(self, **_: Any) -> None:
        """Leave a step out: there is no connection file, and the monitor ends this process with its parent."""

    write_connection_file = cleanup_connection_file = cleanup_ipc_files = log_connection_info = init_poller = _skip

    def _try_bind_socket(self, s: zmq.Socket[Any], port: int) -> int:
        s.setsockopt(zmq.USE_FD, self.descriptors[port])
        bound: int = super()._try_bind_socket(s, port)
        return bound

    def init_heartbeat(self) -> None:
        self.heartbeat = _SandboxHeartbeat(zmq.Context(), (self.transport, self.ip, self.hb_port))
        self.heartbeat.descriptor = self.descriptors[self.hb_port]
        self.heartbeat.start()


class _SandboxHeartbeat(Heartbeat):
    descriptor: int

    def _try_bind_socket(self) -> None:
        self.socket.setsockopt(zmq.USE_FD, self.descriptor)
        super()._try_bind_socket()


def _pipe_in(self: IOPubThread) -> None:
    """Receive the output of forked children through a pipe; ipykernel's is a TCP port, which the sandbox lacks."""
    self._pipe_uuid = os.urandom(16)
    pipe = self.socket.context.socket(zmq.PULL)
    pipe.linger = 0
    self._pipe_port = f"ipc://{tempfile.gettempdir()}/children-{os.getpid()}"
    pipe.bind(self._pipe_port)
    self._pipe_in = ZMQStream(pipe, self.io_loop)
    self._pipe_in.on_recv(self._handle_pipe_msg)


def _pipe_out(self: IOPubThread) -> tuple[zmq.Context[Any], zmq.Socket[Any]]:
    context = zmq.Context()
    pipe = context.socket(zmq.PUSH)
    pipe.linger = 3000
    pipe.connect(self._pipe_port)
    return context, pipe


def serve(control: socket.socket, information: dict[str, Any], descriptors: list[int]) -> None:
    """Run a child as a kernel: start ipykernel on these descriptors, report readiness, and serve."""
    threads: Any = IOPubThread
    threads._setup_pipe_in, threads._setup_pipe_out = _pipe_in, _pipe_out
    SandboxKernelApp.information = information
    SandboxKernelApp.descriptors = dict(zip((information[name] for name in PORTS), descriptors, strict=True))
    os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="ipython-")
    app = SandboxKernelApp.instance()
    app.initialize(["--HistoryManager.enabled=False"])
    assert app.shell is not None
    type(app.shell).system = Shell.system  # without the pseudo-terminal that a sandbox does not have
    make_ready(app.shell)
    sys.argv[:] = [""]
    Channel(control).send({"ready": True})
    app.start()
