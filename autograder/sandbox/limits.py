"""Limits of a notebook, the result of a cell, and the error for faults of the sandbox itself."""

from dataclasses import dataclass, field
from typing import Any, Literal

# State that a cell may leave changed: working folder or import path (files next to the notebook are then not found);
# PyTorch's gradients, which are off
LEFT = frozenset({"folder", "path", "gradients"})
Ending = Literal["ok", "error", "time", "died"]


class SandboxError(Exception):
    """Raised when the sandbox itself does not work; the student is not to blame."""


class NoSandbox(SandboxError):
    """Raised when a process cannot run in the sandbox on this machine."""


@dataclass(frozen=True)
class Limits:
    """Limits of one notebook. Times in seconds, sizes in bytes."""

    cell: float = 120.0
    question: float = 10.0  # one request of the judge
    notebook: float = 900.0
    work: float = 180.0  # processor time that the trusted side may spend on one notebook
    memory: int = 8 * 2**30  # beyond the template's: address space of each process, real memory of all together
    output: int = 4 * 2**20  # for each cell
    file: int = 256 * 2**20
    disk: int = 256 * 2**20  # for each of the three directories that a sandboxed notebook can write to
    processes: int = 128  # and threads; has no effect for root without a sandbox
    grace: float = 3.0  # between an interrupt and the kill


@dataclass
class CellResult:
    outputs: list[dict[str, Any]] = field(default_factory=list)  # as in nbformat
    ending: Ending = "ok"
    left: frozenset[str] = frozenset()  # of LEFT
