"""Judge an exercise again with working versions of the student's other exercises, without leaking those versions.

A rerun could leak them. So reruns come last, one after the other, with working versions only of exercises whose marks
are final, and only texts that the student's process also sent without them reach the feedback page.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from nbformat import NotebookNode

from ...judge.mark import Verdict
from ...untrusted.wire import Packet, WireError, decode

MAX_HARMLESS = 4  # characters: texts up to this length reveal nothing
LEFT_OUT = "…"


@dataclass(frozen=True)
class Postponed:
    """An exercise to judge again: its test cell, that cell's index, and the exercises that the answer uses."""

    cell: NotebookNode
    name: str
    index: int
    needs: frozenset[str]
    verdict: Verdict
    texts: frozenset[str]


def next_to_rerun(postponed: list[Postponed]) -> Postponed:
    """Return the first exercise that uses none of the others; the first of all if they form a circle."""
    names = {one.name for one in postponed}
    return next((one for one in postponed if not one.needs & (names - {one.name})), postponed[0])


@dataclass
class RecordedConnection:
    """A connection to a student's process, and the texts written by the student's code that came over it."""

    line: Callable[[Packet], Packet]
    texts: set[str] = field(default_factory=set)

    def ask(self, question: Packet) -> Packet:
        reply = self.line(question)
        pairs = reply.tree.get("dict") if isinstance(reply.tree, dict) else None
        if isinstance(pairs, list) and any(isinstance(pair, list) and pair[:1] == ["problem"] for pair in pairs):
            with contextlib.suppress(WireError):  # only these few replies are decoded twice
                problem = decode(reply).get("problem")
                if isinstance(problem, dict):
                    self.texts |= {x for name in ("type", "text", "line") if isinstance(x := problem.get(name), str)}
        return reply


def without_new_texts(verdict: Verdict, texts: Collection[str], sources: Iterable[str]) -> Verdict:
    """Return the verdict with these texts replaced by LEFT_OUT, except those that also stand in the student's cells."""
    written = "\n".join(sources)
    secret = [text for text in sorted(texts, key=len, reverse=True) if len(text) > MAX_HARMLESS and text not in written]

    def censored(sentence: str) -> str:
        for text in secret:
            sentence = sentence.replace(text, LEFT_OUT)
        return sentence

    lines = [replace(line, message=censored(line.message)) for line in verdict.lines]
    diagnoses = [replace(one, sentence=censored(one.sentence)) for one in verdict.diagnoses]
    return replace(verdict, lines=lines, diagnoses=diagnoses, remark=censored(verdict.remark))
