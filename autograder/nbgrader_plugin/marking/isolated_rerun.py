"""Judge an exercise again with working versions of the student's other exercises, without leaking those versions.

A rerun could leak them. So reruns come last, one after the other, with working versions only of exercises whose marks
are final, and what the student's process says for the first time in a rerun does not reach the feedback page.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from typing import Any

from nbformat import NotebookNode

from ...judge.mark import Verdict
from ...untrusted.wire import DTYPES, Packet

HARMLESS = 8  # characters: pieces of a text that are shorter reveal little
LONGEST_NAME = 40
LEFT_OUT = "…"
WORD = re.compile(r"[^\W_]+")
LONG_NUMBER = re.compile(r"\d{6,}")
# Words of the replies themselves, whatever the student's code says in them
PROTOCOL = frozenset(
    WORD.findall(f"{DTYPES} dict list tuple set float int opaque tensor shape device cpu meta blob order")
) | {
    *("differentiable", "value", "inputs", "gradients", "parameters", "buffers", "trainable", "children", "operations"),
    *("after", "kept", "rng", "moved", "problem", "kind", "type", "base", "text", "line", "own", "raised", "used"),
    *("missing", "name", "device", "weight", "bias", "ran", "called", "gave", "aten"),
}


@dataclass(frozen=True)
class Postponed:
    """An exercise to judge again: its test cell, that cell's index, and the exercises that the answer uses."""

    cell: NotebookNode
    name: str
    index: int
    needs: frozenset[str]
    verdict: Verdict
    said: Set[str]  # in the first run


def next_to_rerun(postponed: list[Postponed]) -> Postponed:
    """Return the first exercise that uses none of the others; the first of all if they form a circle."""
    names = {one.name for one in postponed}
    return next((one for one in postponed if not one.needs & (names - {one.name})), postponed[0])


@dataclass
class RecordedConnection:
    """A connection to a student's process, and the texts that the judge and the process said over it."""

    line: Callable[[Packet], Packet]
    asked: set[str] = field(default_factory=set)
    heard: set[str] = field(default_factory=set)

    def ask(self, question: Packet) -> Packet:
        reply = self.line(question)
        if ["do", "bind"] not in question.tree["dict"]:  # that one holds the working versions
            self.asked.update(_texts(question.tree))
        self.heard.update(_texts(reply.tree))
        return reply


def _texts(tree: Any) -> Iterator[str]:
    todo = [tree]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, (list, dict)):
            todo += one.values() if isinstance(one, dict) else one


def _is_name(text: str, words: frozenset[str]) -> bool:
    return len(text) < LONGEST_NAME and " " not in text and words.issuperset(WORD.findall(text))


def without_new_texts(
    verdict: Verdict, connection: RecordedConnection, said: Set[str], sources: Iterable[str]
) -> Verdict:
    """Return the verdict of a rerun with LEFT_OUT in place of what the process says only there.

    `said` are the texts of the first run. What stands in these, in the judge's questions or in the student's cells may
    be said again, and so may names made of their words, such as `q_proj.weight`. Of longer texts every piece counts,
    since a sentence may quote a piece. A large number may hold a text, too.
    """
    known = "\n".join([*said, *connection.asked, *sources])
    words = PROTOCOL | set(WORD.findall(known))
    new = [text for text in connection.heard if text not in known and not _is_name(text, words)]
    secret = "\n".join([*new, *(repr(text)[1:-1] for text in new)])

    def censored(sentence: str) -> str:
        for text in sorted(new, key=len, reverse=True):
            sentence = sentence.replace(text, LEFT_OUT) if HARMLESS > len(text) > HARMLESS // 2 else sentence
        hidden = [False] * len(sentence)
        for start in range(len(sentence) - HARMLESS + 1):
            if sentence[start : start + HARMLESS] in secret:
                hidden[start : start + HARMLESS] = [True] * HARMLESS
        shown = "".join("\0" if hide else sign for sign, hide in zip(sentence, hidden, strict=True))
        return LONG_NUMBER.sub(LEFT_OUT, re.sub("\0+", LEFT_OUT, shown))

    lines = [replace(line, message=censored(line.message)) for line in verdict.lines]
    diagnoses = [replace(one, sentence=censored(one.sentence)) for one in verdict.diagnoses]
    return replace(verdict, lines=lines, diagnoses=diagnoses, remark=censored(verdict.remark))
