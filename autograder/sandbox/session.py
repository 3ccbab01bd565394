"""The trusted side: start the template and run notebooks in its children. Every wait has a time limit."""

import atexit
import contextlib
import gc
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from ..untrusted.wire import Channel, Packet, WireError, encode
from . import environment, installed, selftest
from .isolation import copy_files
from .limits import LEFT, CellResult, Limits, NoSandbox, SandboxError
from .monitor import INTERRUPT
from .private import data_folders, private_folders

MAX_MESSAGES = 200_000  # per cell; a loop that displays something at each step reaches the output limit far earlier
MAX_HEADER = 4 * 2**20  # bytes of text in a reply; numbers come separately
MAX_REPLIES = 64 * 2**20  # bytes of all replies while one exercise is marked: they are kept for the diagnosis
TEXT_SIZE = 16  # bytes that a byte of a reply's text counts as: it becomes lists, dictionaries and numbers
TOO_LARGE = "its results are too large: more than {size} MiB for one exercise"
MAX_OUTPUTS = 1_000  # outputs kept per cell
MISSING = (
    "Nothing was marked: notebooks in the sandbox do not find the package {name}. They see what is installed in "
    "{folders}: install it there with `{python} -m pip install …`."
)
SMALL_PAGES = " This kernel merges no memory into huge pages (Linux 6.1 and later do), so each fork costs more."
MAX_LOST = 2  # forks that one exercise may kill or stall before its remaining requests are refused


class Template:
    """A running template process. It starts on first use, and again if it has died.

    Its children run in the sandbox, and the sandbox is tested before the first of them; with `sandboxed=False` they are
    only separate processes. It has imported the modules that every notebook needs and those in `preload`.
    """

    proof: ClassVar[str] = ""  # describes the sandbox, once it was tested
    shared: ClassVar[tuple[str, ...]] = ()  # where a shared template listens, and the modules that it has imported

    def __init__(self, sandboxed: bool = True, preload: Sequence[str] = ()) -> None:
        self.sandboxed, self.preload = sandboxed, tuple(preload)
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._huge_pages = True
        self.pid: int | None = None  # of the process from which notebooks fork, while there is one
        atexit.register(self.close)

    def spawn(
        self,
        files: Path | None,
        scratch: Path | None,
        limits: Limits,
        kernel: dict[str, Any] | None = None,
        sockets: Sequence[int] = (),
    ) -> tuple[socket.socket, socket.socket]:
        """Fork a child that runs a notebook. Return a connection to it, and the control socket of its monitor.

        A sandboxed child gets copies of `files` in its own scratch directory; one outside the sandbox works in
        `scratch`. With `kernel` (connection information) it is a Jupyter kernel that listens on `sockets`. Raise
        SandboxError if the sandbox does not hold or the template does not reply.
        """
        self.prove()
        paths: dict[str, Any] = {"files": files and str(files.absolute()), "scratch": scratch and str(scratch)}
        paths["private"], paths["installed"] = [*data_folders(), *private_folders()], installed.paths()
        for _ in range(2):
            channel = self._running()
            (own_end, child_end), (control, monitors_end) = socket.socketpair(), socket.socketpair()
            with child_end, monitors_end:
                try:
                    channel.send(paths | {"limits": asdict(limits), "sandboxed": self.sandboxed, "kernel": kernel})
                    socket.send_fds(channel.sock, [b"F"], [child_end.fileno(), monitors_end.fileno(), *sockets])
                    channel.receive(time.monotonic() + 30)
                    return own_end, control
                except (OSError, EOFError, WireError):
                    own_end.close()
                    control.close()
                    self.close()
        raise SandboxError("the template process does not answer")

    def prove(self) -> str:
        """Return a sentence that says how notebooks are isolated. Raise SandboxError if the sandbox does not hold."""
        if not self.sandboxed:
            return "Notebooks run WITHOUT a sandbox: students' programs can do whatever you can."
        if not Template.proof:
            Template.proof = "being tried out"
            try:
                Template.proof = self.try_out()
            except BaseException:
                Template.proof = ""
                raise
        return Template.proof

    def try_out(self) -> str:
        """Have a notebook try to break out; describe the sandbox. Raise SandboxError if it succeeds."""

        def run(source: str, limits: Limits) -> CellResult:
            with Session(self, limits=limits) as session:
                return session.run(source)

        outcome = selftest.check_sandbox(run)
        return outcome if self._huge_pages else outcome + SMALL_PAGES

    def _forked(self) -> Channel | None:
        """Return a connection to a fork of the shared template, or None if there is none, or it has other modules.

        If it lacks some, a notebook that uses them imports them itself.
        """
        if not Template.shared or not {*Template.shared[1:]} <= {*self.preload}:
            return None
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(Template.shared[0])
            channel = Channel(line)
            greeting = channel.receive(time.monotonic() + 180).tree
            self._huge_pages, self.pid = greeting["huge_pages"], greeting["pid"]
            return channel
        except (OSError, EOFError, WireError):  # it has ended
            line.close()
            return None

    def _running(self) -> Channel:
        if self._channel is not None and (self._process is None or self._process.poll() is None):
            return self._channel
        self.close()
        self._channel = self._forked()
        if self._channel is not None:
            return self._channel
        self._channel = self._start()
        try:
            greeting = self._channel.receive(time.monotonic() + 180).tree
        except (OSError, EOFError, WireError) as error:
            self.close()
            raise SandboxError(f"the template process did not start: {error}") from error
        if "problem" in greeting:
            self.close()
            raise SandboxError(greeting["problem"])
        self._huge_pages = greeting["huge_pages"]
        return self._channel

    def _start(self) -> Channel:
        if not hasattr(os, "fork"):
            raise SandboxError(
                "Marking forks processes, which Windows cannot do. Mark on Linux or macOS, or in the Windows Subsystem "
                "for Linux (`wsl --install`)."
            )
        own_end, child_end = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "autograder.sandbox.template", str(child_end.fileno()), *self.preload],
            pass_fds=[child_end.fileno()],
            env=environment.of_template(installed.paths()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        child_end.close()
        self.pid = self._process.pid
        return Channel(own_end)

    def close(self) -> None:
        self.pid = None
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Session(contextlib.AbstractContextManager["Session"]):
    """A student's notebook in a child process. After "died" the session is over: start another and rerun the cells."""

    def __init__(self, template: Template, files: Path | None = None, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.reason = ""  # why the monitor ended the child, if it did: "memory" or "time"
        self.busy = 0.0  # seconds spent waiting for the child; they count against the student's limit
        self.scratch: Path | None = None
        if not template.sandboxed:
            self.scratch = Path(tempfile.mkdtemp(prefix="notebook-"))
            if files is not None:
                copy_files(str(files), str(self.scratch))
        sock, self._control = template.spawn(files, self.scratch, self.limits)
        self._channel = ChildChannel(sock, 8 * self.limits.output)
        self.alive = True
        try:
            greeting = self._channel.receive(time.monotonic() + 60).tree
        except (OSError, EOFError, WireError) as error:
            self.close()
            raise SandboxError(f"a child process did not start: {error}") from error
        if "problem" in greeting:
            self.close()
            if missing := greeting.get("missing"):
                folders = ", ".join([sys.prefix, *installed.paths()])
                raise SandboxError(MISSING.format(name=missing, folders=folders, python=sys.executable))
            raise NoSandbox(f"a notebook could not run in the sandbox: {greeting['problem']}")

    @contextlib.contextmanager
    def counted_as_busy(self) -> Iterator[None]:
        """Count the time of the `with` block as the child's work, not the grader's."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.busy += time.monotonic() - started

    def run(self, source: str, limit: float | None = None) -> CellResult:
        """Run one cell and return its result. Interrupt it at its time limit (seconds), and kill it soon after."""
        if not self.alive:
            return CellResult(ending="died")
        with self.counted_as_busy():
            return self._run(source, self.limits.cell if limit is None else limit)

    def _run(self, source: str, limit: float) -> CellResult:
        result, deadline = CellResult(), time.monotonic() + limit
        interrupted, size = False, 0
        try:
            self._channel.send({"do": "cell", "source": source})
            for _ in range(MAX_MESSAGES):
                try:
                    message = self._channel.receive(deadline).tree
                except TimeoutError:
                    if interrupted:
                        raise
                    interrupted = True
                    deadline = time.monotonic() + self.limits.grace
                    self.interrupt()
                    continue
                if not isinstance(message, dict):
                    raise WireError("not a message")
                size += len(repr(message))
                if size > 4 * self.limits.output:
                    raise WireError("too much output")
                if "output" in message:
                    if len(result.outputs) < MAX_OUTPUTS:
                        result.outputs.append(message["output"])
                elif message.get("done"):
                    result.ending = "time" if interrupted else "error" if message.get("failed") else "ok"
                    left = message.get("left")
                    result.left = LEFT.intersection(map(str, left)) if isinstance(left, list) else frozenset()
                    return result
            raise WireError("too many messages")
        except (OSError, EOFError, WireError) as error:
            result.ending = "time" if isinstance(error, TimeoutError) else "died"
            self.kill()
        return result

    def responds(self) -> bool:
        """Return True if the child replies; kill it if it does not."""
        return self.alive and self._request("pong", {"do": "ping"}) is not None

    def _request(self, key: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the child's reply, the message that has this key; kill a child that does not reply."""
        try:
            self._channel.sock.settimeout(self.limits.grace)
            self._channel.send(request)
            while True:  # past what a student's thread printed meanwhile
                reply = self._channel.receive(time.monotonic() + self.limits.grace).tree
                if isinstance(reply, dict) and key in reply:
                    return reply
        except (OSError, EOFError, WireError):
            self.kill()
            return None

    def peek(self, name: str) -> dict[str, Any]:
        """Return the value of a name: {"peek": "plain", "value": …}, {"peek": "missing"}, or {"peek": "other"}.

        An "other" value is no plain data; only a fork can examine it. A child that does not reply is killed.
        """
        with self.counted_as_busy():
            return self._request("peek", {"do": "peek", "name": name}) or {"peek": "other"}

    @contextlib.contextmanager
    def requests(self) -> Iterator[Callable[[Packet], Packet]]:
        """Yield a function that sends the judge's requests to a fork of the child and returns the replies.

        If a request kills or stalls the fork, the next one goes to a new fork.
        """
        with contextlib.closing(_Requests(self)) as requests:
            yield requests.send

    def fork(self) -> Channel:
        own_end, child_end = socket.socketpair()
        with child_end:
            self._channel.send({"do": "fork"})
            socket.send_fds(self._channel.sock, [b"F"], [child_end.fileno()])
        return ChildChannel(own_end, max_header=MAX_HEADER)

    def interrupt(self) -> None:
        with contextlib.suppress(OSError):
            self._control.send(INTERRUPT)

    def kill(self) -> None:
        """End the child and everything it started: its monitor does so when the control socket is closed."""
        if self.alive:
            self.alive = False
            self._channel.close()
            self._control.setblocking(False)
            with contextlib.suppress(OSError):
                self.reason = self._control.recv(16).decode("ascii", "replace")
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)

    def end(self, patience: float = 10.0) -> bool:
        """End the child and wait, at most `patience` seconds, until no process of it is left. Return True if none is.

        The monitor ends last, and no other process holds its end of the control socket.
        """
        self.kill()
        until = time.monotonic() + patience
        gone = self._control.fileno() < 0
        with contextlib.suppress(OSError):
            while not gone and (left := until - time.monotonic()) > 0:
                self._control.settimeout(left)
                gone = not self._control.recv(16)
        self.close()
        return gone

    def close(self) -> None:
        self.kill()
        self._control.close()
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def __exit__(self, *_: object) -> None:
        self.close()


class ChildChannel(Channel):
    """A child's channel. It pauses the garbage collector, which walks over all of torch every few thousand lists."""

    def receive(self, deadline: float | None = None) -> Packet:
        was_enabled = gc.isenabled()
        try:
            gc.disable()  # inside the try: after any interrupt the collector is enabled again
            return super().receive(deadline)
        finally:
            if was_enabled:
                gc.enable()


class _Requests:
    """Sends the judge's requests to forks of a session, one fork at a time."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.channel: Channel | None = None
        self.setup: list[Packet] = []  # requests to send to a new fork first
        self.sent_at = float("inf")  # when the last request was sent; a fork that fails before has died, not stalled
        self.lost = 0
        self.size = 0  # of the replies
        self.refusal: dict[str, Any] | None = None  # the reply to every further request, once too many forks were lost

    def send(self, packet: Packet) -> Packet:
        if self.refusal is not None:
            return encode({"problem": self.refusal})
        try:
            if self.channel is None:
                self.sent_at = float("inf")
                self.channel = self.session.fork()
                for earlier in self.setup:
                    self._exchange(earlier)
            reply = self._exchange(packet)
        except (OSError, EOFError, WireError) as error:
            self.close()
            limit = self.session.limits.question
            stalled = isinstance(error, TimeoutError) or time.monotonic() - self.sent_at >= limit
            facts = {"kind": "time", "seconds": round(limit)} if stalled else {"kind": "died"}
            if isinstance(error, WireError):
                facts = {"kind": "unreadable", "text": str(error)}
            self.lost += 1
            if self.lost >= MAX_LOST:
                self.refusal = facts
            return encode({"problem": facts})
        if packet.tree and ["do", "bind"] in packet.tree.get("dict", []):
            self.setup = [packet]
        self.size += sum(map(len, reply.blobs)) + TEXT_SIZE * reply.text
        if self.size > MAX_REPLIES:
            self.close()
            self.refusal = {"kind": "unreadable", "text": TOO_LARGE.format(size=MAX_REPLIES // 2**20)}
            return encode({"problem": self.refusal})
        return reply

    def _exchange(self, packet: Packet) -> Packet:
        assert self.channel is not None
        self.sent_at = time.monotonic()
        self.channel.sock.settimeout(self.session.limits.question + self.session.limits.grace)
        with self.session.counted_as_busy():
            self.channel.send(packet.tree, packet.blobs)
            return self.channel.receive(self.sent_at + self.session.limits.question + self.session.limits.grace)

    def close(self) -> None:
        if self.channel is not None:
            self.channel.close()
            self.channel = None
