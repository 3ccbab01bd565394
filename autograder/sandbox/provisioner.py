"""A kernel provisioner for warm, sandboxed Jupyter kernels. Every Jupyter client can use it unpatched.

A kernelspec uses it if its metadata name the provisioner "caged-fork", or if they name none and the environment has
`JUPYTER_DEFAULT_PROVISIONER_NAME=caged-fork`.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import Any, ClassVar

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase

from ..untrusted.wire import Channel
from .limits import Limits, SandboxError
from .monitor import INTERRUPT
from .session import Template

PORTS = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")


class SandboxProvisioner(KernelProvisionerBase):
    """Fork sandboxed kernels from a warm template; each grader process has one template."""

    template: ClassVar[Template | None] = None
    limits: ClassVar[Limits] = Limits()
    preload: ClassVar[tuple[str, ...]] = ()  # modules that the notebooks use
    control: socket.socket | None = None
    _folder: str | None = None
    _sockets: tuple[socket.socket, ...] = ()

    @property
    def has_process(self) -> bool:
        return self.control is not None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        manager: Any = self.parent
        self._folder = tempfile.mkdtemp(prefix="kernel-")
        manager.transport, manager.ip, manager.cache_ports = "ipc", os.path.join(self._folder, "s"), False
        manager.connection_file = os.path.join(self._folder, "connection.json")
        for number, name in enumerate(PORTS, start=1):
            setattr(manager, name, number)
        manager.write_connection_file()
        self.connection_info = manager.get_connection_info()
        self._sockets = tuple(socket.socket(socket.AF_UNIX) for _ in PORTS)
        for number, sock in enumerate(self._sockets, start=1):
            sock.bind(f"{manager.ip}-{number}")
            sock.listen(16)
            sock.setblocking(False)
        return await super().pre_launch(cmd=[], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        if SandboxProvisioner.template is None:
            SandboxProvisioner.template = Template(preload=("autograder.untrusted.kernel", *self.preload))
        known: dict[str, Any] = {**self.connection_info}
        information = {name: known[name] for name in ("ip", "key", *PORTS)}
        if isinstance(information["key"], bytes):
            information["key"] = information["key"].decode()
        files = kwargs.get("cwd")
        requests, self.control = SandboxProvisioner.template.spawn(
            Path(files) if files else None, None, self.limits, information, [s.fileno() for s in self._sockets]
        )
        for sock in self._sockets:
            sock.close()
        with contextlib.closing(requests):
            greeting = Channel(requests).receive(time.monotonic() + 60).tree
        if "problem" in greeting:
            raise SandboxError(f"a kernel could not run in the sandbox: {greeting['problem']}")
        return self.connection_info

    async def poll(self) -> int | None:
        """Return None while the kernel runs, else an exit status."""
        if self.control is None:
            return 0
        try:
            return None if self.control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) else 1
        except OSError as error:
            return None if isinstance(error, BlockingIOError) else 1

    async def wait(self) -> int | None:
        while await self.poll() is None:
            await asyncio.sleep(0.005)
        self._close_control()
        return 0

    async def send_signal(self, signum: int) -> None:
        if signum == signal.SIGINT and self.control is not None:
            self.control.send(INTERRUPT)
        elif signum in (signal.SIGKILL, signal.SIGTERM):
            await self.kill()

    async def kill(self, restart: bool = False) -> None:
        if self.control is not None:
            with contextlib.suppress(OSError):
                self.control.shutdown(socket.SHUT_WR)  # the monitor kills all processes, then closes its end

    async def terminate(self, restart: bool = False) -> None:
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        self._close_control()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _close_control(self) -> None:
        if self.control is not None:
            self.control.close()
            self.control = None
