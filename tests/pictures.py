"""The interactive figures, with values to show."""

import sys
from types import ModuleType

import numpy as np
import pytest

from autograder.spec.course import home

SHARED = home() / "shared_modules"
sys.path.append(str(SHARED))
WORDS = ["the", "<dog>", "&", "drinks"]
MERGES = [("t", "h"), ("th", "e")]
CUTS = {"the": [["t", "h", "e"], ["th", "e"], ["the"]], "<b>": [["<", "b", ">"]] * 3}
TOKENS, SPEEDS = [9, 7, 6], [1.0, 0.5]


def spun(vector):
    """Return a vector of two pairs at 12 positions."""
    z = np.array(vector).reshape(2, 2) @ [1, 1j] * np.exp(1j * np.outer(np.arange(12), SPEEDS))
    return np.stack([z.real, z.imag], axis=-1).reshape(12, 4)


HANDS = {"query": spun([1.0, 0.0, 0.5, 0.5]), "key": spun([0.5, 0.5, 1.0, 0.0])}
SCORES = {"turned": HANDS["query"] @ HANDS["key"].T, "added": np.arange(144.0).reshape(12, 12) / 24}


def module(name: str, patch: pytest.MonkeyPatch) -> tuple[ModuleType, list[dict]]:
    """Return a shared module, and the list of what it displays."""
    found, made = __import__(name), []
    patch.setattr(found, "display", lambda bundle, raw: made.append(bundle))
    return found, made


def show_all(figures):
    figures.step_merges(MERGES, CUTS, TOKENS)
    figures.turn({"position": HANDS["key"]}, SPEEDS)
    figures.turn(HANDS, SPEEDS, SCORES)
