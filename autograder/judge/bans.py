"""Find what an exercise bans among the functions and operations of torch that run in a student's code.

A ban is about what runs, not about words in the source: another name or a layer around it makes no difference, and a
word that is only mentioned does not count. The names come from the student's process (`untrusted.tensor_calls`), so a
ban teaches and is no wall.
"""

import contextlib
from collections.abc import Iterator

from ..spec.exercise import Ban
from ..untrusted.wire import Packet
from .student import Send, Student

NAMED = 4  # how many names a remark lists


@contextlib.contextmanager
def noting_banned(ban: Ban, student: Student) -> Iterator[set[str]]:
    """Note in the yielded set the names that are banned, of all that run in calls inside the block."""
    found: set[str] = set()

    def watch(request: Packet, send: Send) -> Packet:
        parts = request.tree["dict"]
        if ["do", "call"] not in parts or ["keep", True] in parts:  # an object being built has no inputs yet
            return send(request)
        reply, names = _without_names(send(Packet({"dict": [*parts, ["watch", True]]}, request.blobs)))
        found.update(name for name in names if name.isidentifier() and ban.covers(name))
        # While a dispatch mode is on, torch takes other formulas for some gradients, and a NaN spreads further
        return send(request) if any(part[0] == "upstream" for part in parts) else reply

    with student.intercepted(watch):
        yield found


def _without_names(reply: Packet) -> tuple[Packet, list[str]]:
    """Return the reply without the names in it, which would make equal replies look different, and these names."""
    parts = reply.tree.get("dict") if isinstance(reply.tree, dict) else None
    if not isinstance(parts, list):
        return reply, []
    rest, names = [], []
    for part in parts:
        if isinstance(part, list) and part[:1] == ["used"]:
            names += part[1].split() if len(part) == 2 and isinstance(part[1], str) else []
        else:
            rest.append(part)
    return Packet({"dict": rest}, reply.blobs), names


def remark(ban: Ban, found: set[str]) -> str:
    """Return the sentence about banned names that ran, those of gradients only where there are no others."""
    names = sorted({name.strip("_")[:80] for name in found})
    names = [name for name in names if "backward" not in name] or names
    return f"{ban.sentence} Yours uses {', '.join(f'`{name}`' for name in names[:NAMED])}."
