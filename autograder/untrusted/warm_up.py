"""Run once, before any notebook is forked, the work that IPython and PyTorch put off until first use.

A fork inherits everything that was imported, looked up and prepared; otherwise each fork would pay for it again.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from types import SimpleNamespace
from typing import Any

from .responder import Responder
from .shell import Outputs, Shell, make_shell, run_cell
from .wire import Ref, encode

ANSWER = """
def counted(words):
    return {word: words.count(word) for word in words}
"""
TENSORS = """
import torch
from torch import nn


class Rehearsal(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, width)

    def forward(self, x):
        return torch.softmax(self.project(self.norm(x)) @ x.transpose(-2, -1), dim=-1).masked_fill(x[..., :1] > 9, 0)


def rehearsed(x, model=None):
    if model is not None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    return x.exp() / x.exp().sum(dim=-1, keepdim=True)
"""


def rehearse() -> None:
    """Make a shell, run an answer in it, send requests about it, and remove all traces."""
    kept, main = dict(os.environ), sys.modules["__main__"]
    streams = sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as scratch:
        discard: Any = SimpleNamespace(send=lambda tree: None)  # a channel, of which only `send` is used
        outputs = Outputs(discard, 2**20)
        shell = make_shell(outputs, scratch)
        try:
            for answer in (ANSWER, TENSORS) if "torch" in sys.modules else (ANSWER,):
                run_cell(shell, outputs, answer)
            _send_requests(dict(shell.user_ns))
        finally:
            atexit.unregister(shell.atexit_operations)
            shell.restore_sys_module_state()
            Shell.clear_instance()
            if (inline := sys.modules.get("matplotlib_inline.config")) is not None:
                inline.InlineBackend.clear_instance()
                inline.InlineBackendConfig.clear_instance()
            sys.modules["__main__"] = main
            sys.stdout, sys.stderr = streams[:2]
            vars(sys).update(__stdout__=streams[2], __stderr__=streams[3])
            os.environ.clear()
            os.environ.update(kept)


def _send_requests(namespace: dict[str, Any]) -> None:
    responder = Responder(namespace)

    def request(do: str, **options: Any) -> None:
        responder.respond(encode({"do": do, **options}))

    def call(target: Any, *args: Any, **options: Any) -> None:
        request("call", target=target, args=list(args), kwargs={}, **options)

    request("has", name="counted")
    call("counted", ["a", "b", "a"], after=True)
    request("define", name="probe", source="def probe(x):\n    return x + 1")
    if "torch" not in sys.modules:
        return
    import torch

    x = torch.linspace(-1, 1, 24).reshape(2, 3, 4)
    call("rehearsed", x, watch=True)
    call("rehearsed", x.double(), upstream=[x.double()], after=True)
    call("Rehearsal", 4, keep=True)
    module = Ref(1)  # after the probe
    for device in ({}, {"device": "elsewhere"}):
        call("rehearsed", x, **device)
        call(module, x, training=True, **device)
    call(module, x, upstream=[torch.ones(2, 3, 3)], trace=True)
    call("rehearsed", x, module)
    request("state", target=module)
    request("move", target=module, to="float64")
