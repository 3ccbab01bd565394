"""What an exercise is: points, reference, checks, mistakes and alternatives, declared once and used everywhere."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


class Wrong(Exception):
    """Raised by a check: the sentence says what is wrong, in words a student can act on.

    `symptom` names a mistake that shows by itself, whatever the code looks like: an input that was changed, say.
    """

    def __init__(self, sentence: str, symptom: str = "") -> None:
        super().__init__(sentence)
        self.symptom = symptom


@dataclass(frozen=True)
class Check:
    """One line of a rubric. `ask(student)` returns if all is well and raises `Wrong` if not.

    Every check looks at a value first: leaving the inputs unchanged is no merit in a function that computes nothing.
    """

    title: str
    weight: float
    ask: Callable[[Any], None]


@dataclass(frozen=True)
class Mistake:
    """A small runnable wrong version, with the sentence a good teacher would say.

    `variants` are further wrong versions that deserve the same sentence but do not give the same results.
    """

    name: str
    sentence: str
    source: str
    variants: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source, *self.variants)


@dataclass(frozen=True)
class Alternative:
    """A right answer in another style, which must get full marks."""

    name: str
    source: str


@dataclass(frozen=True)
class Ban:
    """What an exercise may not use: names in its source, and torch operations however they were called."""

    names: frozenset[str]
    operations: frozenset[str]
    sentence: str
    trial: Callable[[Any], set[str]]  # asks the student for a call and returns the operations that ran


@dataclass
class Exercise:
    """A graded function or class."""

    name: str
    notebook: str
    points: float
    reference: Any
    checks: Sequence[Check]
    mistakes: Sequence[Mistake]
    alternatives: Sequence[Alternative]
    working: str  # source of a version made of PyTorch's own parts, bound while *other* exercises are asked about
    ban: Ban | None = None

    def __post_init__(self) -> None:
        titles = [check.title for check in self.checks]
        assert len(set(titles)) == len(titles), f"{self.name}: two checks share a title"

    @property
    def source(self) -> str:
        """The reference, as the solution cell of the notebook has it."""
        return source_of(self.reference)


@dataclass(frozen=True)
class Question:
    """A multiple-choice question; each option has its own explanation, shown to whoever chose it."""

    name: str
    notebook: str
    points: float
    key: str
    explanations: dict[str, str] = field(repr=False)


@functools.cache
def source_of(thing: Any) -> str:
    return textwrap.dedent(inspect.getsource(thing)).strip() + "\n"


def edited(reference: Any, *edits: tuple[str, str]) -> str:
    """The reference's source with some text replaced. Each text must be there, so that no edit is void."""
    text = source_of(reference)
    for old, new in edits:
        assert old in text, f"{old!r} is not in the source of {reference.__name__}"
        text = text.replace(old, new)
    ast.parse(text)
    return text


def written(source: str) -> str:
    """A source given in full, as an indented string."""
    text = textwrap.dedent(source).strip() + "\n"
    ast.parse(text)
    return text
