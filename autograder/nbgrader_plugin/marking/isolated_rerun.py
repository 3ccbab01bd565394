"""Questions with working versions in the place of a student's other exercises, and why those versions stay unknown.

Whoever is asked such a question can read the working versions, and no wall between two processes of one machine is
without cracks: locks on files, counters, what is cached, the time that things take. So nothing is left to be gained by
it. Such questions come last, when the notebook's own process has gone; they are asked in one process after the other;
and each sees working versions of those exercises only whose marks are settled. What one may tell the next is of no use
to it. What they say in words does not reach the feedback page unless it was said without the working versions too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from nbformat import NotebookNode

from ...judge.mark import Verdict
from ...untrusted.wire import Packet, WireError, decode

MAX_UNHEARD = 4  # characters: shorter texts tell nothing
LEFT_OUT = "…"


@dataclass(frozen=True)
class Postponed:
    """An exercise that is to be asked about again: its test cell, where that stands, what the answer builds on."""

    cell: NotebookNode
    name: str
    index: int
    needs: frozenset[str]
    verdict: Verdict
    heard: frozenset[str]


def next_of(postponed: list[Postponed]) -> Postponed:
    """The first that builds on none of the others; the first of all if they go round in a circle."""
    names = {one.name for one in postponed}
    return next((one for one in postponed if not one.needs & (names - {one.name})), postponed[0])


@dataclass
class Hearing:
    """A line to a student's process, and the texts of its own making that came over it."""

    line: Callable[[Packet], Packet]
    heard: set[str] = field(default_factory=set)

    def ask(self, question: Packet) -> Packet:
        reply = self.line(question)
        if _names_a_problem(reply.tree):  # few do, and only these are read a second time
            with contextlib.suppress(WireError):
                problem = decode(reply).get("problem")
                if isinstance(problem, dict):
                    self.heard |= {x for name in ("type", "text", "line") if isinstance(x := problem.get(name), str)}
        return reply


def _names_a_problem(tree: Any) -> bool:
    """Whether a reply, as it came, is a dictionary with that entry."""
    pairs = tree.get("dict") if isinstance(tree, dict) else None
    return isinstance(pairs, list) and any(isinstance(pair, list) and pair[:1] == ["problem"] for pair in pairs)


def without_unheard(verdict: Verdict, texts: Collection[str], sources: Iterable[str]) -> Verdict:
    """The verdict without these texts, where it repeats them. What stands in the student's cells may stay."""
    written = "\n".join(sources)
    secret = [text for text in sorted(texts, key=len, reverse=True) if len(text) > MAX_UNHEARD and text not in written]

    def told(sentence: str) -> str:
        for text in secret:
            sentence = sentence.replace(text, LEFT_OUT)
        return sentence

    changed: dict[str, Any] = {
        "lines": [replace(line, message=told(line.message)) for line in verdict.lines],
        "diagnoses": [replace(one, sentence=told(one.sentence)) for one in verdict.diagnoses],
        "remark": told(verdict.remark),
    }
    return replace(verdict, **changed)
