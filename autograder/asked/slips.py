"""What can go wrong everywhere, declared once: each slip makes wrong versions of any reference, under one name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Slip:
    """A mistake that needs no exercise in particular. `versions(source, name)` writes it into a reference."""

    name: str
    sentence: str
    versions: Callable[[str, str], tuple[str, ...]]


SLIPS: tuple[Slip, ...] = ()
