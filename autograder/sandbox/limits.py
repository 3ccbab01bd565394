"""What a notebook may use, what comes of a cell, and what is raised when no student is to blame."""

from __future__ import annotations

from dataclasses import dataclass, field


class SandboxError(Exception):
    """The sandbox itself does not work: no student is to blame."""


@dataclass(frozen=True)
class Limits:
    """What one notebook may use. Times in seconds, sizes in bytes."""

    cell: float = 120.0
    question: float = 10.0
    notebook: float = 900.0
    work: float = 900.0  # of a processor, that the trusted side may spend on one notebook
    memory: int = 8 * 2**30  # besides the template's: address space of each process, real memory of all
    output: int = 4 * 2**20  # for each cell
    file: int = 256 * 2**20
    disk: int = 256 * 2**20  # for each of the three places that a caged notebook can write to
    processes: int = 128  # and threads; void for root without a cage
    grace: float = 3.0  # between an interrupt and the end


@dataclass
class CellResult:
    """What came of a cell: nbformat outputs, and how it ended ("ok", "error", "time" or "died")."""

    outputs: list[dict] = field(default_factory=list)
    ending: str = "ok"
