"""Run cells in IPython's shell, in a forked child driven over a socket; fork once more to reply to the judge.

Everything here runs next to untrusted code. Outputs are sent at once, so that those before a crash are kept.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import activate_matplotlib
from traitlets import Any as AnyTrait
from traitlets import Type
from traitlets.config import Config

from .responder import Responder
from .wire import Channel, WireError, encode

FLUSH_AT = 8_192  # characters of text buffered before they are sent


class Outputs:
    """Sends a cell's outputs as nbformat dictionaries, up to a limit for each cell."""

    def __init__(self, channel: Channel, limit: int) -> None:
        self.channel, self.limit = channel, limit
        self.owner = os.getpid()
        self.begin()

    def begin(self) -> None:
        self.sent = 0
        self.stream = ""
        self.text: list[str] = []

    def write(self, stream: str, text: str) -> None:
        if stream != self.stream:
            self.flush()
            self.stream = stream
        self.text.append(text)
        if sum(map(len, self.text[-2:])) > FLUSH_AT or len(self.text) > 500:
            self.flush()

    def flush(self) -> None:
        text, self.text = "".join(self.text), []
        if text:
            self.send({"output_type": "stream", "name": self.stream, "text": text})

    def emit(self, output: dict[str, Any]) -> None:
        self.flush()
        self.send(output)

    def send(self, output: dict[str, Any]) -> None:
        if os.getpid() != self.owner or self.sent > self.limit:
            return  # a process the student forked, or more than the limit
        self.sent += len(repr(output))
        if self.sent > self.limit:
            message = f"\n[Output cut: more than {self.limit // 2**20} MiB in one cell.]\n"
            output = {"output_type": "stream", "name": "stderr", "text": message}
        self.channel.send({"output": output})


class Stream:
    """The student's sys.stdout and sys.stderr: a text stream that is only written to."""

    encoding, errors, closed = "utf-8", "replace", False

    def __init__(self, outputs: Outputs, name: str) -> None:
        self._outputs, self.name = outputs, name

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._outputs.write(self.name, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    close, readable = flush, isatty


class _Publisher(DisplayPublisher):
    def publish(self, data: dict[str, Any], metadata: Any = None, source: Any = None, **_: Any) -> None:
        assert self.shell is not None
        self.shell.outputs.emit({"output_type": "display_data", "data": _bundle(data), "metadata": metadata or {}})

    def clear_output(self, wait: bool = False) -> None:
        pass  # graders want to see what was shown


class _Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        assert self.shell is not None
        output = {"output_type": "execute_result", "data": _bundle(format_dict), "metadata": md_dict or {}}
        self.shell.outputs.emit(output)


def _bundle(data: dict[str, Any]) -> dict[str, Any]:
    import base64

    text = {kind: base64.b64encode(value).decode() for kind, value in data.items() if isinstance(value, bytes)}
    return {str(kind): text.get(kind, value) for kind, value in data.items()}


class Shell(InteractiveShell):
    """IPython as in a notebook, without a terminal and without ZMQ."""

    displayhook_class = Type(_Hook)
    display_pub_class = Type(_Publisher)
    outputs = AnyTrait()

    def init_sys_modules(self) -> None:
        super().init_sys_modules()
        sys.modules["__main__"] = self.user_module

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[Any]) -> None:
        name = str(getattr(etype, "__name__", etype))
        self.outputs.emit({"output_type": "error", "ename": name, "evalue": str(evalue), "traceback": stb})

    def system(self, cmd: str) -> None:
        """Run a `!command` without the pseudo-terminal that IPython would open."""
        command = self.var_expand(cmd, depth=1)
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        sys.stdout.write(done.stdout)
        self.user_ns["_exit_code"] = done.returncode

    def _skip(self, gui: Any = None) -> None:
        """There is no event loop to start, and no terminal to leave."""

    enable_gui = ask_exit = _skip
    exit_now = False


def serve(control: socket.socket, limits: dict[str, Any]) -> None:
    """Run a child: execute requests until the other side closes the connection."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    channel = Channel(control)
    outputs = Outputs(channel, limits["output"])
    shell = make_shell(outputs, tempfile.mkdtemp(prefix="ipython-"))
    home = os.getcwd()
    channel.send({"ready": True})
    while True:
        try:
            request = channel.receive().tree
        except (EOFError, OSError):
            os._exit(0)
        except KeyboardInterrupt:  # an interrupt that arrived after the cell's end
            continue
        if request["do"] == "ping":
            channel.send({"pong": True})
        elif request["do"] == "cell":
            failed = run_cell(shell, outputs, request["source"])
            channel.send({"done": True, "failed": failed, "left": left_behind(home)})
        elif request["do"] == "peek":
            channel.send(peek(shell.user_ns, request["name"]))
        elif request["do"] == "fork":
            _, fds, _, _ = socket.recv_fds(control, 1, 1)
            _fork_responder(shell, control, socket.socket(fileno=fds[0]), limits)


def left_behind(home: str) -> list[str]:
    """Return the names, from `sandbox.limits.LEFT`, of the state that cells have left changed."""
    left = []
    try:
        moved = os.getcwd() != home
    except OSError:  # it was removed
        moved = True
    if moved:
        left.append("folder")
    elif not {"", home} & {entry for entry in sys.path if isinstance(entry, str)}:
        left.append("path")
    with contextlib.suppress(Exception):  # a student may have replaced it by anything
        if "torch" in sys.modules and not sys.modules["torch"].is_grad_enabled():
            left.append("gradients")
    return left


def peek(names: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the value of a name if it is None or a short text, else only whether it exists; no student code runs."""
    value = names.get(name, ...)  # a released notebook may leave `...` to replace: that is missing, too
    if value is ...:
        return {"peek": "missing"}
    if value is None or (type(value) is str and len(value) <= 100):
        return {"peek": "plain", "value": value}
    return {"peek": "other"}


def run_cell(shell: Shell, outputs: Outputs, source: str) -> bool:
    """Run a cell, sending its outputs, and return whether it failed."""
    outputs.begin()
    sys.stdout, sys.stderr = Stream(outputs, "stdout"), Stream(outputs, "stderr")  # a cell may have replaced them
    try:
        failed = not shell.run_cell(source, store_history=True).success
    except BaseException as error:  # any that IPython does not catch
        failed = True
        outputs.emit({"output_type": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": []})
    outputs.flush()
    return failed


def _fork_responder(shell: Shell, control: socket.socket, requests: socket.socket, limits: dict[str, Any]) -> None:
    """Fork; the child replies to the judge's requests about the present state, and exits."""
    if os.fork():
        requests.close()
        return
    try:
        if (torch := sys.modules.get("torch")) is not None:
            torch.set_num_threads(1)  # a pool of threads does not survive a fork
            # Requests run with PyTorch's own settings, also if a cell has left them changed.
            torch.set_grad_enabled(True)
            torch.set_default_dtype(torch.float32)
            torch.set_default_device(None)
        control.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends this process, whatever it is doing
        channel = Channel(requests)
        responder = Responder(shell.user_ns)
        while True:
            packet = channel.receive()
            signal.setitimer(signal.ITIMER_REAL, limits["question"])
            try:
                reply = responder.respond(packet)
                channel.send(reply.tree, reply.blobs)
            except WireError as error:
                channel.send(encode({"problem": {"kind": "unreadable", "text": str(error)}}).tree)
            signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException:
        pass
    finally:
        os._exit(0)


def make_shell(outputs: Outputs, scratch: str) -> Shell:
    """Return the process's shell, which keeps its own files in the folder `scratch`."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    os.environ["IPYTHONDIR"] = scratch
    shell = Shell.instance(config=config, ipython_dir=scratch, user_module=None)
    shell.outputs = outputs
    vars(sys).update(__stdout__=Stream(outputs, "stdout"), __stderr__=Stream(outputs, "stderr"))
    make_ready(shell)
    return shell


def make_ready(shell: InteractiveShell) -> None:
    """Show figures at the end of their cell, as PNG, and seed random numbers for this child."""
    if importlib.util.find_spec("matplotlib") is not None:
        from matplotlib_inline.backend_inline import configure_inline_support

        activate_matplotlib(os.environ["MPLBACKEND"])  # interactive: a figure is drawn without `plt.show()`
        configure_inline_support(shell, os.environ["MPLBACKEND"])
    np.random.seed()  # as in a fresh process: no child copies the template's generators
    random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].seed()
